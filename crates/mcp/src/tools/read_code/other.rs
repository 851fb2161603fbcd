//! Places that are no lines of a file: directories and globs, and ranges of revisions. The tools that are not
//! listed for them answer.

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver_git::quoting::printed;

use super::Arguments;
use crate::target::CallTarget;
use crate::tools::changes::{self, ChangesTool};
use crate::tools::list_files::{self, ListFiles};
use crate::tools::{Answer, Call, CallError, Tool as _};

/// Tokens of one of several places, unless the call sets a limit: the files of a directory are rarely worth
/// more.
const ENOUGH_TOKENS: u32 = 1000;

/// A place that is no lines of a file.
pub(super) enum Other<'a> {
    /// A directory or glob, as typed; empty for the whole repository.
    Files(&'a str),
    /// `A..B`, `A...B` or `A^!`.
    Changes(&'a str),
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Output {
    Files(Box<list_files::Output>),
    Changes(Box<changes::Output>),
}

impl<'a> Other<'a> {
    /// Reads `place`. `None` if it can only be a file or a name.
    pub(super) fn parse(place: &'a str, target: &CallTarget) -> Option<Other<'a>> {
        if [".", "./", "/"].contains(&place) {
            return Some(Other::Files(""));
        }
        // Paths that lead out are refused by the reader of files.
        if place.split('/').any(|part| part == "..") {
            return None;
        }

        let on_disk = target.file(place).ok().map(|path| target.codebase().root().join(path));
        let is_glob = place.contains('*') && place.contains(['/', '.']);
        if is_glob || place.ends_with('/') || on_disk.as_ref().is_some_and(|path| path.is_dir()) {
            return Some(Other::Files(place));
        }

        let is_range = place.contains("..") || place.ends_with("^!");
        let is_file = on_disk.is_some_and(|path| path.symlink_metadata().is_ok());
        (is_range && !is_file).then_some(Other::Changes(place))
    }

    /// The answer about this place alone, which continues from a cursor.
    pub(super) fn answer(
        &self,
        target: &CallTarget,
        arguments: &Arguments,
        call: &Call,
    ) -> Result<Answer<Output>, CallError> {
        self.run(target, (arguments, arguments.token_limit, arguments.cursor.clone()), call)
    }

    /// The answer beside those about other places, in at most `share` tokens.
    pub(super) fn part(
        &self,
        target: &CallTarget,
        arguments: &Arguments,
        share: u32,
        call: &Call,
    ) -> Result<Answer<Output>, CallError> {
        let limit = if arguments.token_limit.is_some() { share } else { share.min(ENOUGH_TOKENS) };
        let mut answer = self.run(target, (arguments, Some(limit), None), call)?;

        // A cursor continues one place.
        let end = answer.text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        if answer.text[end..].starts_with("more: cursor ") {
            answer.text.truncate(end);
            answer.text.push_str(&format!("… read {} alone for the rest\n", printed(self.typed())));
        }
        Ok(answer)
    }

    fn typed(&self) -> &'a str {
        match self {
            Other::Files("") => ".",
            Other::Files(place) | Other::Changes(place) => place,
        }
    }

    fn run(
        &self,
        target: &CallTarget,
        (arguments, token_limit, cursor): (&Arguments, Option<u32>, Option<String>),
        call: &Call,
    ) -> Result<Answer<Output>, CallError> {
        let root = target.codebase().root();
        // The repository may have been selected by an absolute place.
        let path = arguments.path.clone().or_else(|| root.to_str().map(str::to_owned));

        match self {
            Other::Files(place) => {
                let paths = (!place.is_empty()).then(|| vec![(*place).to_owned()]);
                let rev = arguments.rev.clone();
                let list =
                    list_files::Arguments { paths, rev, path, token_limit, cursor, ..Default::default() };
                let Answer { structured, text } = ListFiles::run(list, call)?;
                Ok(Answer { structured: Output::Files(Box::new(structured)), text })
            }
            Other::Changes(place) => {
                let from = Some((*place).to_owned());
                let changes = changes::Arguments { from, path, token_limit, cursor, ..Default::default() };
                let Answer { structured, text } = ChangesTool::run(changes, call)?;
                Ok(Answer { structured: Output::Changes(Box::new(structured)), text })
            }
        }
    }
}
