//! Collects the places that name a symbol and are no edges of the answer.

use std::collections::{BTreeMap, BTreeSet};

use codeweaver_git::quoting::printed;

use super::response::{Unlisted, UnlistedFile, UnlistedReason};

/// Maximum number of files listed, and of lines of each.
const MAX_FILES: usize = 20;
const MAX_LINES: usize = 5;

/// The places found so far.
#[derive(Debug, Default)]
pub(super) struct UnlistedPlaces {
    /// Lines by reason and path.
    places: BTreeMap<(UnlistedReason, String), BTreeSet<u32>>,
    candidates: Option<usize>,
    /// Number of indexed files that were not looked at.
    pub n_unchecked: usize,
    /// Number of left-out files that were not looked at.
    pub n_unsearched: usize,
}

impl UnlistedPlaces {
    pub fn add(&mut self, reason: UnlistedReason, path: &str, line: u32) {
        self.places.entry((reason, path.to_owned())).or_default().insert(line);
    }

    /// Adds a place that may mean any of `n` definitions.
    pub fn add_candidates(&mut self, path: &str, line: u32, n: usize) {
        self.candidates = self.candidates.max(Some(n));
        self.add(UnlistedReason::ManyCandidates, path, line);
    }

    /// The places in order; `None` if there are none. Beside edges, imports say nothing.
    pub fn finish(mut self, has_edges: bool) -> Option<Unlisted> {
        self.places.retain(|(reason, _), _| !has_edges || *reason != UnlistedReason::Import);
        let unchecked_files = self.n_unchecked + self.n_unsearched;
        if self.places.is_empty() && unchecked_files == 0 {
            return None;
        }

        let paths: BTreeSet<&String> = self.places.keys().map(|(_, path)| path).collect();
        let file_count = paths.len();
        let line_count = self.places.values().map(BTreeSet::len).sum();

        let places = self.places.into_iter().take(MAX_FILES);
        let files = places.map(|((reason, file), lines)| UnlistedFile {
            file,
            reason,
            line_count: lines.len(),
            lines: lines.into_iter().take(MAX_LINES).collect(),
        });

        Some(Unlisted {
            file_count,
            line_count,
            files: files.collect(),
            candidates: self.candidates,
            unchecked_files,
        })
    }
}

impl Unlisted {
    /// One line for each reason, with the first `n` files of each: `named and not resolved: a.ts:3,9;
    /// b.ts:4`.
    pub fn lines(&self, n: usize) -> Vec<String> {
        let mut reasons: Vec<UnlistedReason> = self.files.iter().map(|file| file.reason).collect();
        reasons.dedup();

        let mut lines = Vec::new();
        let mut n_shown = 0;
        for reason in reasons {
            let of_reason = self.files.iter().filter(|file| file.reason == reason).take(n);
            let places: Vec<String> = of_reason.map(place).collect();
            n_shown += places.len();
            lines.push(format!("{}: {}", self.explain(reason), places.join("; ")));
        }

        if n_shown < self.files.len() || self.files.len() < self.file_count {
            let (lines_of_all, files) = (self.line_count, self.file_count);
            lines.push(format!("in all {lines_of_all} lines in {files} files"));
        }
        if self.unchecked_files > 0 {
            lines.push(format!("{} files that may name it were not looked at", self.unchecked_files));
        }
        lines
    }

    /// The number of files that name the symbol: `5 files name it`.
    pub fn summary(&self) -> String {
        match self.file_count {
            0 => format!("{} files were not looked at", self.unchecked_files),
            1 => "1 file names it".to_owned(),
            n => format!("{n} files name it"),
        }
    }

    fn explain(&self, reason: UnlistedReason) -> String {
        let text = match reason {
            UnlistedReason::NotACall => "named without a call (references)",
            UnlistedReason::Import => "imported",
            UnlistedReason::ManyCandidates => {
                return format!("may be any of {} definitions", self.candidates.unwrap_or_default());
            }
            UnlistedReason::Unresolved => "named and not resolved",
            UnlistedReason::Literal => "named in a string",
            UnlistedReason::OtherFile => "named in files whose calls are not read",
            UnlistedReason::LeftOut => "named in files that are not indexed",
        };

        text.to_owned()
    }
}

/// A file with its lines: `a.ts:3,9,…`.
fn place(file: &UnlistedFile) -> String {
    let lines: Vec<String> = file.lines.iter().map(u32::to_string).collect();
    let more = if file.line_count > lines.len() { ",…" } else { "" };
    format!("{}:{}{more}", printed(&file.file), lines.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ordered_by_reason_and_bounded() {
        let mut places = UnlistedPlaces::default();
        for line in 1..=9 {
            places.add(UnlistedReason::Literal, "a.py", line);
        }
        for file in 0..30 {
            places.add_candidates(&format!("b{file:02}.py"), 1, file);
        }
        places.add(UnlistedReason::Import, "c.py", 1);

        let found = places.finish(true).unwrap();
        assert_eq!((found.file_count, found.line_count, found.candidates), (31, 39, Some(29)));
        assert_eq!(found.files.len(), MAX_FILES);
        assert_eq!(found.files[0].file, "b00.py", "what is most likely a use comes first");

        let mut import = UnlistedPlaces::default();
        import.add(UnlistedReason::Import, "c.py", 1);
        assert_eq!(import.finish(true), None, "beside edges an import says nothing");
    }
}
