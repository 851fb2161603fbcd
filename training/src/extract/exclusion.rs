//! Repositories that are excluded because they belong to evaluation sets.

use std::collections::HashSet;
use std::path::Path;

use anyhow::Context as _;
use sha2::{Digest as _, Sha256};

/// Hex digits of a hash in the list.
const DIGITS: usize = 16;

/// The list of hashes of excluded repositories, checked before a repository is opened.
pub struct Exclusion(HashSet<String>);

impl Exclusion {
    /// Reads one hash per line; `#` starts a comment. A list without any hash is an error: it would exclude
    /// nothing.
    pub fn read(path: &Path) -> anyhow::Result<Exclusion> {
        let list =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let hashes: HashSet<String> = list
            .lines()
            .map(|line| line.split('#').next().unwrap_or_default().trim().to_ascii_lowercase())
            .filter(|line| !line.is_empty())
            .collect();
        let is_hash =
            |hash: &&String| hash.len() == DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        anyhow::ensure!(
            !hashes.is_empty(),
            "{} contains no hash, so nothing would be excluded",
            path.display()
        );
        if let Some(wrong) = hashes.iter().find(|hash| !is_hash(hash)) {
            anyhow::bail!("{}: '{wrong}' is not a hash of {DIGITS} hex digits", path.display());
        }
        Ok(Exclusion(hashes))
    }

    /// Whether `owner/name` or the bare name is on the list, ignoring case.
    pub fn refuses(&self, repository: &str) -> bool {
        let repository = repository.to_lowercase();
        let name = repository.rsplit('/').next().unwrap_or_default();
        self.0.contains(&hash(&repository)) || self.0.contains(&hash(name))
    }
}

fn hash(name: &str) -> String {
    let digest = Sha256::digest(name.as_bytes());
    digest.iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(content: &str) -> anyhow::Result<Exclusion> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("excluded");
        std::fs::write(&path, content).unwrap();
        Exclusion::read(&path)
    }

    #[test]
    fn names_are_refused_with_and_without_owner() {
        // sha256("abc") begins with ba7816bf8f01cfea.
        let exclusion = list("# comment\nba7816bf8f01cfea\n").unwrap();
        assert!(exclusion.refuses("someone/ABC"));
        assert!(exclusion.refuses("abc"));
        assert!(!exclusion.refuses("abc/other"));
        let whole = hash("owner/name");
        let exclusion = list(&whole).unwrap();
        assert!(exclusion.refuses("Owner/Name"));
        assert!(!exclusion.refuses("fork/name"));
    }

    #[test]
    fn an_empty_or_broken_list_is_an_error() {
        assert!(list("# nothing\n").is_err());
        assert!(list("xyz\n").is_err());
    }
}
