//! Scope: the rows of a view that pass the filters of a request.
//!
//! Filters narrow the results only. Term statistics are those of the whole snapshot.

use std::collections::BTreeSet;

use codeweaver_chunk::{LanguageId, SemanticClass, SymbolKind, document};
use codeweaver_git::Pathspec;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::StoreReader;
use codeweaver_store::live::LiveRows;
use codeweaver_store::records::RowRecord;
use codeweaver_store::segment::Segment;
use codeweaver_store::snapshot::Snapshot;

use crate::query::filters::{Filters, LineSet};

/// The rows of a view that pass some filters.
pub struct Scope {
    /// The rows that pass, by segment.
    pub rows: Vec<LiveRows>,
    /// Number of rows of all segments.
    pub n_rows: u64,
    /// Languages of the filter that no live row has.
    pub absent_languages: Vec<String>,
    /// Paths of the filter that match no indexed file.
    pub absent_paths: Vec<AbsentPath>,
}

/// A pathspec that matches no indexed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentPath {
    /// The path that it names, from the root.
    pub pathspec: String,
    /// Number of files that it matches and that are not indexed.
    pub n_skipped: usize,
}

impl Scope {
    /// Selects the rows that pass `filters`. `live` are all live rows of `snapshot`, by segment.
    pub fn new(reader: &StoreReader, snapshot: &Snapshot, live: &[LiveRows], filters: &Filters) -> Scope {
        let languages: Vec<String> = filters.languages.iter().map(|name| canonical_language(name)).collect();

        let by_file = !languages.is_empty() || filters.are_about_paths();
        let rows = if by_file {
            let entries = reader.live_entries(&snapshot.entries);
            let passing =
                entries.filter(|(_, record, path)| passes_path(filters, path, PathFlags(record.flags as u8)));
            reader.rows_of(passing.map(|(_, record, _)| record))
        } else {
            live.to_vec()
        };

        let mut scope = Scope { rows, n_rows: 0, absent_languages: Vec::new(), absent_paths: Vec::new() };
        if let Some(lines) = &filters.lines {
            scope.retain_lines(reader, snapshot, lines);
        }
        if let Some(lines) = &filters.without_lines {
            scope.remove_lines(reader, snapshot, lines);
        }
        if !languages.is_empty() || !filters.kinds.is_empty() {
            scope.retain_rows(reader, &languages, &filters.kinds);
        }

        scope.n_rows = scope.rows.iter().map(|rows| u64::from(rows.n_live())).sum();

        scope.absent_languages = absent_languages(reader, live, &languages);
        scope.absent_paths = absent_paths(reader, snapshot, filters);
        scope
    }

    /// Keeps the rows that have one of `lines`.
    fn retain_lines(&mut self, reader: &StoreReader, snapshot: &Snapshot, lines: &LineSet) {
        let mut passing: Vec<LiveRows> =
            reader.segments.iter().map(|segment| LiveRows::empty(segment.n_rows())).collect();

        for (segment, row) in rows_with(reader, snapshot, lines) {
            if self.rows[segment].contains(row) {
                passing[segment].insert(row, row + 1);
            }
        }

        passing.iter_mut().for_each(LiveRows::seal);
        self.rows = passing;
    }

    /// Removes the rows that have one of `lines`.
    fn remove_lines(&mut self, reader: &StoreReader, snapshot: &Snapshot, lines: &LineSet) {
        for (segment, row) in rows_with(reader, snapshot, lines) {
            self.rows[segment].remove(row);
        }
        self.rows.iter_mut().for_each(LiveRows::seal);
    }

    /// Keeps the rows in one of `languages` and of one of `kinds`; an empty list keeps all.
    fn retain_rows(&mut self, reader: &StoreReader, languages: &[String], kinds: &[String]) {
        for (segment, rows) in reader.segments.iter().zip(&mut self.rows) {
            rows.retain(|row| {
                let record = &segment.rows()[row as usize];
                let has_language = languages.is_empty()
                    || languages.iter().any(|name| name == segment.language(record.language));
                has_language && (kinds.is_empty() || is_of_any_kind(segment, record, kinds))
            });
        }
    }
}

/// The rows that have one of `lines`, by segment, in ascending order.
fn rows_with(reader: &StoreReader, snapshot: &Snapshot, lines: &LineSet) -> BTreeSet<(usize, u32)> {
    let mut rows = BTreeSet::new();

    for (path, lines) in lines {
        let entry = reader.find_entry(&snapshot.entries, path).and_then(|id| reader.entry(id));
        let Some((segment, ordinal)) = entry.and_then(|(record, _)| reader.locate_doc(record.doc)) else {
            continue;
        };

        for row in reader.segments[segment].doc_rows(ordinal) {
            let record = &reader.segments[segment].rows()[row as usize];
            let first = lines.partition_point(|&line| line < record.start_line);
            // Several paths may have the same blob, and with it the same rows.
            if lines.get(first).is_some_and(|&line| line <= record.end_line) {
                rows.insert((segment, row));
            }
        }
    }

    rows
}

/// Returns whether a row has one of `kinds` as its class, or a symbol of one of them.
fn is_of_any_kind(segment: &Segment, record: &RowRecord, kinds: &[String]) -> bool {
    let class = SemanticClass::from_u8(record.class).map_or("", SemanticClass::name);
    has_name(kinds, class)
        || segment
            .symbols_of(record)
            .filter_map(|symbol| SymbolKind::from_u8(symbol.kind))
            .any(|kind| has_name(kinds, kind.name()))
}

fn has_name(names: &[String], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// Returns whether `filters` allow a file at `path`. The language and kind filters are about rows and are not
/// tested.
pub fn passes_path(filters: &Filters, path: &[u8], flags: PathFlags) -> bool {
    (filters.include_tests || !flags.contains(PathFlags::TEST))
        && (!filters.only_documents || document::is_document(path))
        && (filters.paths.is_empty() || matches_any(&filters.paths, path))
        && !matches_any(&filters.exclude_paths, path)
        && filters.have_file(path)
}

fn matches_any(pathspecs: &[Pathspec], path: &[u8]) -> bool {
    pathspecs.iter().any(|pathspec| pathspec.matches(path))
}

/// The name of a language in the language table, or `name` in lower case if it is unknown.
pub fn canonical_language(name: &str) -> String {
    LanguageId::by_name(name).map_or_else(|| name.to_lowercase(), |language| language.name().to_owned())
}

/// The languages among `wanted` that no live row has.
fn absent_languages(reader: &StoreReader, live: &[LiveRows], wanted: &[String]) -> Vec<String> {
    let mut wanted: Vec<String> = wanted.to_vec();
    wanted.retain(|name| lacks_language(reader, live, name));
    wanted
}

/// Returns whether no live row is in the language called `name`.
pub fn lacks_language(reader: &StoreReader, live: &[LiveRows], name: &str) -> bool {
    !live.iter().zip(&reader.segments).any(|(live, segment)| {
        live.runs().flatten().any(|row| segment.language(segment.rows()[row as usize].language) == name)
    })
}

/// The paths of the filters that match no indexed file.
fn absent_paths(reader: &StoreReader, snapshot: &Snapshot, filters: &Filters) -> Vec<AbsentPath> {
    filters.paths.iter().filter_map(|pathspec| absent_path(reader, snapshot, pathspec)).collect()
}

/// The files that a path matches, counted; `None` if one of them is indexed.
fn absent_path(reader: &StoreReader, snapshot: &Snapshot, pathspec: &Pathspec) -> Option<AbsentPath> {
    let mut n_skipped = 0;
    for (_, record, path) in reader.live_entries(&snapshot.entries) {
        if !pathspec.matches(path) {
            continue;
        }
        // One indexed file is enough, so most walks end early.
        if record.skipped == 0 {
            return None;
        }
        n_skipped += 1;
    }

    Some(AbsentPath { pathspec: pathspec.to_string(), n_skipped })
}
