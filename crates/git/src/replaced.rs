//! Objects that `git replace` replaces. They are read as they are, so that an oid always names the same
//! bytes; this module finds out whether that shows.

use gix::objs::Kind;

use crate::{GitError, Oid, Repo};

const PREFIX: &str = "refs/replace/";

impl Repo {
    /// Counts the objects that git shows otherwise than they are read here: replaced files and directories,
    /// in whichever revision, and the commit of HEAD. Other replaced commits have only another history.
    ///
    /// Cost: a look at the references where nothing is replaced.
    ///
    /// # Errors
    /// The references cannot be read.
    pub fn n_replaced(&self) -> Result<usize, GitError> {
        let local = self.local();
        let config = local.config_snapshot();
        // Our own setting is that objects are not replaced.
        let is_theirs = |meta: &gix::config::file::Metadata| meta.source != gix::config::Source::Api;
        let is_used = config.plumbing().boolean_filter("core.useReplaceRefs", is_theirs);
        if matches!(is_used, Ok(Some(false))) || self.is_catalogue() {
            return Ok(0);
        }

        let platform = local.references().map_err(|error| self.unreadable(&error))?;
        let references = platform.prefixed(PREFIX).map_err(|error| self.unreadable(&error))?;
        let names = references.filter_map(Result::ok).map(|reference| reference.name().as_bstr().to_owned());
        let replaced = names.filter_map(|name| Oid::from_hex(name.strip_prefix(PREFIX.as_bytes())?).ok());

        let replaced: Vec<Oid> = replaced.collect();
        if replaced.is_empty() {
            return Ok(0);
        }

        let head = self.head()?.commit;
        let mut objects = self.objects();
        let mut is_shown = |oid: &Oid| match objects.try_header(oid) {
            Ok(Some(header)) => header.kind != Kind::Commit || Some(*oid) == head,
            Ok(None) | Err(_) => false,
        };
        Ok(replaced.iter().filter(|oid| is_shown(oid)).count())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn replaced_files_and_the_replaced_head_are_counted() {
        let repo = TestRepo::with_files(&[("a", "1\n"), ("b", "2\n")]);
        repo.write("a", "3\n").commit("second");
        repo.write("a", "4\n").commit("third");
        let n_replaced = || repo.open().n_replaced().unwrap();
        assert_eq!(n_replaced(), 0);
        repo.git(["replace", "--graft", "HEAD~1"]);
        assert_eq!(n_replaced(), 0, "only the history is another");
        repo.git(["replace", "HEAD:a", "HEAD:b"]);
        assert_eq!(n_replaced(), 1);
        repo.git(["replace", "HEAD", "HEAD~1"]).git(["pack-refs", "--all"]);
        assert_eq!(n_replaced(), 2);
        repo.git(["config", "core.useReplaceRefs", "false"]);
        assert_eq!(n_replaced(), 0);
    }
}
