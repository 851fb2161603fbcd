//! Places in files as they are printed: relative to the current directory, and linked.

use super::context::Context;
use super::render::{Paint, safe};
use crate::git::Prefix;
use crate::index::Codebase;

/// How the paths of one answer are printed.
#[derive(Debug, Clone)]
pub struct Places {
    prefix: Prefix,
    paint: Paint,
    /// Whether the lines are those of files on disk.
    has_links: bool,
}

impl Places {
    /// The places of an answer about `rev`, or about the working tree. Files of a revision are not linked,
    /// because a link would open the file on disk.
    pub fn new(context: &Context, codebase: &Codebase, rev: Option<&str>) -> Places {
        Places { prefix: context.prefix(codebase), paint: context.paint, has_links: rev.is_none() }
    }

    /// A repository path, as it is named from the current directory.
    pub fn path(&self, path: &str) -> String {
        safe(&self.prefix.shown(path)).into_owned()
    }

    /// `text` as a link to a line of the file at a repository path.
    pub fn link(&self, path: &str, line: u32, text: &str) -> String {
        match self.prefix.on_disk(path).filter(|_| self.has_links) {
            Some(file) => self.paint.link(&file, line, text),
            None => text.to_owned(),
        }
    }
}
