//! Names in files that the index leaves out: vendored, generated, minified or too large. Such a file can
//! use a symbol, so an answer that does not look there proves no absence.

use codeweaver::query::left_out::{self, Naming};
use codeweaver::query::view::View;
use codeweaver::query::{QueryError, Searcher, ViewRequest};

use super::definitions::Definitions;
use super::dialect;
use super::other_files;
use super::response::UnlistedReason;
use super::syntax_position::is_plain_word;
use super::unlisted::UnlistedPlaces;

/// The left-out files of one request.
#[derive(Clone, Copy)]
pub(super) struct LeftOutFiles<'a> {
    pub searcher: &'a Searcher,
    pub view: &'a View,
    /// The request for the view.
    pub asked: &'a ViewRequest,
}

impl LeftOutFiles<'_> {
    /// Adds the places that use `name`, a name of `family`.
    ///
    /// # Errors
    /// Those of [`left_out::naming`].
    pub fn add_uses(
        &self,
        name: &str,
        family: &str,
        defs: &Definitions<'_>,
        found: &mut UnlistedPlaces,
    ) -> Result<(), QueryError> {
        let Naming { files, n_unsearched } = self.naming(name)?;
        found.n_unchecked += n_unsearched;

        for file in files.iter().filter(|file| other_files::may_use(&file.language)) {
            // Another language has the name for itself, or has it by chance.
            let other = dialect::for_language(&file.language).map(|dialect| dialect.family);
            let is_foreign = other.is_some_and(|other| {
                other != family && (is_plain_word(name) || !defs.named(name, other).is_empty())
            });
            if is_foreign {
                continue;
            }

            let lines = file.lines.iter().map(|line| (line.line as u32, line.text.as_str()));
            for line in other_files::uses_in_lines(lines, &file.language, name) {
                found.add(UnlistedReason::LeftOut, &file.path, line);
            }
        }
        Ok(())
    }

    /// Adds all places that have `name`, which no indexed file defines.
    ///
    /// # Errors
    /// Those of [`left_out::naming`].
    pub fn add_all(&self, name: &str, found: &mut UnlistedPlaces) -> Result<(), QueryError> {
        let Naming { files, n_unsearched } = self.naming(name)?;
        found.n_unchecked += n_unsearched;

        for file in files {
            for line in &file.lines {
                found.add(UnlistedReason::LeftOut, &file.path, line.line as u32);
            }
        }
        Ok(())
    }

    /// The left-out files with `name`; none if the name is not one word, which lines are not searched for.
    fn naming(&self, name: &str) -> Result<Naming, QueryError> {
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        if !is_word {
            return Ok(Naming::default());
        }
        left_out::naming(self.view, self.asked, name, |request| self.searcher.grep(request))
    }
}
