//! The files that may hold a name, and the names under which files export or import it.

use std::collections::BTreeSet;
use std::rc::Rc;

use codeweaver_chunk::readable;

use super::Walk;
use crate::definitions::{DefId, FileDefs, segments};
use crate::dialect::{self, Modules};
use crate::facts::Facts;
use crate::other_files;
use crate::request::Direction;
use crate::response::UnlistedReason;

/// Maximum number of times that an exported name is exported under another name.
const MAX_RENAMES: usize = 4;

/// Folders that builds write to. Bundles there are large and repeat the sources.
const OUTPUTS: &[&str] = &["_build", "build", "bundle", "bundles", "dist", "out"];

/// The files that may hold a name, and the name with those under which the files export it.
pub(super) struct NamedFiles {
    pub files: Vec<Rc<FileDefs>>,
    pub names: BTreeSet<String>,
    /// The last words of the paths by which default exports are imported.
    pub modules: BTreeSet<String>,
}

impl Walk<'_, '_> {
    /// Files that may hold one of `names`, or a name under which one of them is exported, with their facts
    /// loaded; files near those of the symbols come first.
    pub(super) fn files_with(
        &mut self,
        names: &BTreeSet<String>,
        family: &'static str,
        near: &[DefId],
    ) -> NamedFiles {
        let mut names = names.clone();
        let modules = self.default_imports_of(near);
        let mut words: BTreeSet<String> = names.union(&modules).cloned().collect();
        let mut known: BTreeSet<String> = BTreeSet::new();
        let mut files: Vec<Rc<FileDefs>> = Vec::new();

        for _ in 0..MAX_RENAMES {
            let new: Vec<String> = words.difference(&known).cloned().collect();
            if new.is_empty() {
                break;
            }

            for file in self.load_with(&new, &names, family, near) {
                if !files.iter().any(|known| known.entry == file.entry) {
                    files.push(file);
                }
            }
            known.extend(new);

            let renamed: Vec<String> =
                files.iter().flat_map(|file| self.exported_names(file, &names)).collect();
            names.extend(renamed.iter().cloned());
            words.extend(renamed);
        }

        NamedFiles { files, names, modules }
    }

    /// Loads the files that may hold one of `words`, for references with the occurrences of `names`.
    fn load_with(
        &mut self,
        words: &[String],
        names: &BTreeSet<String>,
        family: &'static str,
        near: &[DefId],
    ) -> Vec<Rc<FileDefs>> {
        let mut entries = BTreeSet::new();
        for word in words {
            entries.extend(self.defs.mentioning(word, family));
        }

        let homes: BTreeSet<String> =
            near.iter().filter_map(|id| Some(self.defs.file(id.entry)?.path.clone())).collect();
        let mut files: Vec<Rc<FileDefs>> =
            entries.iter().filter_map(|&entry| self.defs.file(entry)).collect();
        // If a limit is reached, the files that are most likely to matter have been read.
        files.sort_by_cached_key(|file| {
            (is_output(&file.path), distance(&homes, &file.path), file.path.clone())
        });

        let is_of_references = self.request.direction == Direction::References;
        self.sources.prefetch(
            &files,
            words,
            is_of_references.then_some(&|facts: &Facts| local_names(facts, names)),
        );
        for file in &files {
            let is_known = self.answer.candidate_files.contains(&file.entry);
            if self.note_unread(file) && !is_known {
                self.answer.unlisted.n_unchecked += 1;
            }
        }
        self.answer.candidate_files.extend(&entries);

        files.retain(|file| self.sources.is_loaded(file.entry));
        files
    }

    /// The names under which a file exports one of `names`.
    fn exported_names(&self, file: &FileDefs, names: &BTreeSet<String>) -> Vec<String> {
        let Some(facts) = self.sources.facts(file) else { return Vec::new() };
        // Every import of Python is visible from outside; only those of a package are meant to be.
        let is_private = file.language == "python" && !file.path.ends_with("__init__.py");

        let mut exported = Vec::new();
        for import in facts.imports.iter().filter(|import| import.export && !is_private) {
            let original = import.name.as_deref().or_else(|| segments(&import.path).last());
            if let (Some(alias), Some(original)) = (&import.alias, original)
                && names.contains(original)
                && !names.contains(&**alias)
                && **alias != *"default"
            {
                exported.push(alias.to_string());
            }
        }
        exported
    }

    /// The words in imports of the default exports among `symbols`, which the importing files name as they
    /// like.
    fn default_imports_of(&self, symbols: &[DefId]) -> BTreeSet<String> {
        let mut words = BTreeSet::new();
        for &id in symbols {
            let Some(file) = self.defs.file(id.entry) else { continue };
            let is_script = file.dialect.is_some_and(|dialect| dialect.modules == Modules::Script);
            let Some(facts) = self.sources.facts(&file).filter(|_| is_script) else { continue };
            if facts.default_export.as_deref() != Some(file.def(id.symbol).name.as_str()) {
                continue;
            }

            let mut parts = file.path.rsplit('/');
            let stem = parts.next().unwrap_or_default().split('.').next().unwrap_or_default();
            // The specifier of `a/index.ts` ends in the folder.
            let word = if stem == "index" { parts.next().unwrap_or_default() } else { stem };
            words.insert(word.to_owned());
        }

        words.remove("");
        words
    }
}

impl Walk<'_, '_> {
    /// Adds the places of a script that import one of `modules` while it runs: what they do with the default
    /// export is not known.
    pub(super) fn add_late_imports(&mut self, file: &FileDefs, facts: &Facts, modules: &BTreeSet<String>) {
        for word in modules {
            for line in other_files::imports_of(&facts.text, word, &["import("]) {
                self.answer.unlisted.add(UnlistedReason::Unresolved, &file.path, line);
            }
        }
    }

    /// Adds the places in files of other languages than those of `family` that import one of `modules`.
    pub(super) fn add_imports_of_others(&mut self, modules: &BTreeSet<String>, family: &str) {
        for word in modules {
            for (entry, language) in self.defs.mentioning_outside(word, family) {
                if !other_files::may_use(language) || dialect::for_language(language).is_some() {
                    continue;
                }

                let Some(file) = self.defs.file(entry) else { continue };
                let Ok(Some(bytes)) = self.sources.bytes(&file.oid) else {
                    self.answer.unlisted.n_unchecked += 1;
                    continue;
                };
                let (text, _) = readable(&bytes);
                for line in other_files::imports_of(&text, word, &["import(", "import", "from", "require("]) {
                    self.answer.unlisted.add(UnlistedReason::OtherFile, &file.path, line);
                }
            }
        }
    }
}

/// Returns whether a path is where builds write their output.
pub(super) fn is_output(path: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| OUTPUTS.contains(&folder))
}

/// The sort key of a file by its distance from `homes`: these first, then by the folders shared with them.
fn distance(homes: &BTreeSet<String>, path: &str) -> (bool, std::cmp::Reverse<usize>) {
    let shared = homes
        .iter()
        .map(|home| home.split('/').zip(path.split('/')).take_while(|(a, b)| a == b).count())
        .max();
    (!homes.contains(path), std::cmp::Reverse(shared.unwrap_or(0)))
}

/// `names`, and the aliases that imports of the file give them.
pub(super) fn local_names(facts: &Facts, names: &BTreeSet<String>) -> BTreeSet<String> {
    let mut local = names.clone();

    for import in &facts.imports {
        let original = import.name.as_deref().or_else(|| segments(&import.path).last());
        if let (Some(alias), Some(original)) = (&import.alias, original)
            && (names.contains(original) || import.default)
        {
            local.insert(alias.to_string());
        }
    }

    local
}
