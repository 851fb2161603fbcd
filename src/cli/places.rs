//! Places in files as they are printed: relative to the current directory, and linked.

use codeweaver_git::Prefix;
use codeweaver_index::Codebase;

use super::context::Context;
use super::render::{Paint, safe};
use super::screen::Screen;

/// The form in which the paths of one answer are printed.
#[derive(Debug, Clone)]
pub struct Places {
    pub screen: Screen,
    prefix: Prefix,
    paint: Paint,
    /// The revision of the lines, if they are not read from the files on disk.
    rev: Option<String>,
    /// Whether paths may be relative to another directory than the current one.
    is_elsewhere: bool,
}

impl Places {
    /// The places of an answer about `rev`, or about the working tree. Files of a revision are not linked,
    /// because a link would open the file on disk.
    pub fn new(context: &Context, codebase: &Codebase, rev: Option<&str>) -> Places {
        Places {
            screen: context.screen,
            prefix: context.prefix(codebase),
            paint: context.paint,
            rev: rev.map(str::to_owned),
            is_elsewhere: context.is_explicit,
        }
    }

    /// A repository path, as it is named from the current directory.
    pub fn path(&self, path: &str) -> String {
        safe(&self.prefix.shown(path)).into_owned()
    }

    /// A repository path, as an editor opens it from the current directory: absolute with `--project`. A file
    /// of a revision is `REV:PATH`, as `git show` takes it, and so is one outside of a sparse checkout.
    pub fn editor_path(&self, path: &str) -> String {
        let file = self.prefix.on_disk(path);
        let is_missing = file.as_ref().is_some_and(|file| file.symlink_metadata().is_err());
        let rev = self.rev.as_deref().or(is_missing.then_some("HEAD"));

        match (rev, file.filter(|_| self.is_elsewhere)) {
            (Some(rev), _) => safe(&format!("{rev}:{path}")).into_owned(),
            (None, Some(file)) => safe(&file.to_string_lossy()).into_owned(),
            (None, None) => self.path(path),
        }
    }

    /// `text` as a link to a line of the file at a repository path.
    pub fn link(&self, path: &str, line: u32, text: &str) -> String {
        match self.prefix.on_disk(path).filter(|_| self.rev.is_none()) {
            Some(file) => self.paint.link(&file, line, text),
            None => text.to_owned(),
        }
    }
}
