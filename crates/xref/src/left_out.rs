//! Names in files that the index leaves out: vendored, generated, minified or too large. Such a file can
//! use a symbol, so an answer that does not look there proves no absence.

use std::collections::BTreeSet;

use codeweaver::query::left_out::{self, Naming};
use codeweaver::query::view::View;
use codeweaver::query::{QueryError, Searcher, ViewRequest};

use super::definitions::Definitions;
use super::dialect;
use super::other_files;
use super::response::UnlistedReason;
use super::syntax_position::is_plain_word;
use super::unlisted::UnlistedPlaces;
use super::word_search;

/// The left-out files of one request.
pub(super) struct LeftOutFiles<'a> {
    searcher: &'a Searcher,
    view: &'a View,
    /// The request for the view.
    asked: &'a ViewRequest,
    /// The names that were searched for, and the files with one of them, once for each search.
    searched: BTreeSet<String>,
    found: Vec<Naming>,
}

impl<'a> LeftOutFiles<'a> {
    pub fn new(searcher: &'a Searcher, view: &'a View, asked: &'a ViewRequest) -> LeftOutFiles<'a> {
        LeftOutFiles { searcher, view, asked, searched: BTreeSet::new(), found: Vec::new() }
    }

    /// Searches the files for those of `names` that were not searched for. All files are read for that, so
    /// names that are known early are searched for together. Counts in `places` the files that were not
    /// searched.
    ///
    /// # Errors
    /// Those of [`left_out::naming`].
    pub fn search(
        &mut self,
        names: &BTreeSet<String>,
        places: &mut UnlistedPlaces,
    ) -> Result<(), QueryError> {
        // A line cannot have such a name.
        let can_be_found = |name: &str| !name.is_empty() && !name.contains(['\n', '\r']);
        let new = names.iter().filter(|name| !self.searched.contains(*name) && can_be_found(name));
        let new: Vec<String> = new.cloned().collect();

        let found = left_out::naming(self.view, self.asked, &new, |request| self.searcher.grep(request))?;
        // Every search has the same files.
        places.n_unsearched = places.n_unsearched.max(found.n_unsearched);
        self.found.push(found);
        self.searched.extend(new);
        Ok(())
    }

    /// Adds the places that use one of `names`, names of `family`.
    ///
    /// # Errors
    /// Those of [`Self::search`].
    pub fn add_uses(
        &mut self,
        names: &BTreeSet<String>,
        family: &str,
        defs: &Definitions<'_>,
        places: &mut UnlistedPlaces,
    ) -> Result<(), QueryError> {
        self.search(names, places)?;

        let files = self.found.iter().flat_map(|naming| &naming.files);
        for file in files.filter(|file| other_files::may_use(&file.language)) {
            // Another language has the name for itself, or has it by chance.
            let other = dialect::for_language(&file.language).map(|dialect| dialect.family);
            let is_foreign = |name: &str| {
                other.is_some_and(|other| {
                    other != family && (is_plain_word(name) || !defs.named(name, other).is_empty())
                })
            };

            for name in names.iter().filter(|name| !is_foreign(name)) {
                let lines = file.lines.iter().map(|line| (line.line as u32, line.text.as_str()));
                for line in other_files::uses_in_lines(lines, &file.language, name) {
                    places.add(UnlistedReason::LeftOut, &file.path, line);
                }
            }
        }
        Ok(())
    }

    /// Adds all places that have `name`, which no indexed file defines.
    ///
    /// # Errors
    /// Those of [`Self::search`].
    pub fn add_all(&mut self, name: &str, places: &mut UnlistedPlaces) -> Result<(), QueryError> {
        self.search(&BTreeSet::from([name.to_owned()]), places)?;

        for file in self.found.iter().flat_map(|naming| &naming.files) {
            for line in &file.lines {
                if word_search::occurrences(&line.text, name).next().is_some() {
                    places.add(UnlistedReason::LeftOut, &file.path, line.line as u32);
                }
            }
        }
        Ok(())
    }
}
