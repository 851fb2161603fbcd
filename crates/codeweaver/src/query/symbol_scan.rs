//! Definitions of a view by any condition on their names.
//!
//! [`scan`] reads every definition of the view, which takes about 0.1 µs each; [`scan_named`] reads those in
//! the posting lists of a name.

use codeweaver_chunk::SymbolKind;
use codeweaver_git::quoting;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::Field;

use super::request::Filters;
use super::retrieve::parallel;
use super::view::scope::passes_path;
use super::view::term_rows::{TermRows, terms_of};
use super::view::{RowId, View};
use super::{definitions, locate};

/// Minimum number of rows for which segments are divided among threads.
const MIN_PARALLEL_ROWS: u64 = 16 * 1024;

/// A definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSymbol {
    /// Relative to the root of the repository.
    pub path: String,
    pub language: String,
    pub name: String,
    pub qualified_name: String,
    pub kind: SymbolKind,
    /// Empty if it has none.
    pub signature: String,
    /// First and last line, 1-based, inclusive.
    pub lines: (u32, u32),
    pub flags: PathFlags,
    pub nesting: u8,
}

impl FoundSymbol {
    /// Returns whether it is a test or in a file of tests.
    pub fn is_test(&self) -> bool {
        self.flags.contains(PathFlags::TEST) || self.kind == SymbolKind::Test
    }
}

/// A condition on a name and a qualified name.
type NameTest<'t> = dyn Fn(&str, &str) -> bool + Sync + 't;
/// A condition on the bytes of a name that holds for all wanted names, and is tested in less time.
type NameFilter<'t> = dyn Fn(&[u8]) -> bool + Sync + 't;

/// Returns the definitions whose name and qualified name fit, in files that pass `filters`; ordered by path
/// and line.
pub fn scan(view: &View, filters: &Filters, is_wanted: &NameTest<'_>) -> Vec<FoundSymbol> {
    scan_some(view, filters, &|_| true, is_wanted)
}

/// Scans as [`scan`] does, where `is_wanted` holds only for names for which `may_be_wanted` does.
pub fn scan_some(
    view: &View,
    filters: &Filters,
    may_be_wanted: &NameFilter<'_>,
    is_wanted: &NameTest<'_>,
) -> Vec<FoundSymbol> {
    let scope = view.scope(filters);
    let by_segment = parallel::map(scope.rows.len(), scope.n_rows, MIN_PARALLEL_ROWS, |s| {
        let rows = scope.rows[s].runs().flatten();
        let rows = rows.map(|row| RowId { segment: s as u32, row });
        some_of_rows(view, rows, filters, may_be_wanted, is_wanted)
    });

    sorted(by_segment.into_iter().flatten().collect())
}

/// Scans as [`scan`] does, where `is_wanted` holds only for names that contain the words of `name`.
pub fn scan_named(view: &View, filters: &Filters, name: &str, is_wanted: &NameTest<'_>) -> Vec<FoundSymbol> {
    let (terms, postings) = (terms_of(name), TermRows::new(view));
    // A name without terms is in no posting list.
    if terms.is_empty() || !postings.is_whole() {
        return scan(view, filters, is_wanted);
    }

    let scope = view.scope(filters);
    let mut rows = Vec::new();
    postings.with_all(Field::Symbol, &terms, &mut |id| {
        if scope.rows[id.segment as usize].contains(id.row) {
            rows.push(id);
        }
    });

    sorted(of_rows(view, rows.into_iter(), filters, is_wanted))
}

/// Scans as [`scan`] does, for tests: definitions that are tests, and all definitions in files of tests.
pub fn scan_tests(view: &View, filters: &Filters, is_wanted: &NameTest<'_>) -> Vec<FoundSymbol> {
    let scope = view.scope(filters);
    let by_segment = parallel::map(scope.rows.len(), scope.n_rows, MIN_PARALLEL_ROWS, |s| {
        // Rows of a file follow each other.
        let (mut last_doc, mut is_of_tests) = (None, false);
        let rows = scope.rows[s].runs().flatten().map(|row| RowId { segment: s as u32, row });

        let rows = rows.filter(|&id| {
            let doc = view.doc_of(id);
            if last_doc != Some(doc) {
                last_doc = Some(doc);
                is_of_tests = view.entries_of(doc).any(|it| view.entry(it).1.contains(PathFlags::TEST));
            }
            is_of_tests || has_test(view, id)
        });
        of_rows(view, rows, filters, is_wanted)
    });

    let mut found: Vec<FoundSymbol> = by_segment.into_iter().flatten().collect();
    found.retain(FoundSymbol::is_test);
    sorted(found)
}

/// Returns whether a definition of a row is a test.
fn has_test(view: &View, id: RowId) -> bool {
    let (segment, row) = view.row(id);
    segment.symbols_of(row).any(|symbol| symbol.kind == SymbolKind::Test as u8)
}

/// Scans as [`scan`] does, in the files with the doc `doc`.
pub fn of_doc(view: &View, doc: u32, filters: &Filters, is_wanted: &NameTest<'_>) -> Vec<FoundSymbol> {
    sorted(of_rows(view, locate::rows(view, doc), filters, is_wanted))
}

fn of_rows(
    view: &View,
    rows: impl Iterator<Item = RowId>,
    filters: &Filters,
    is_wanted: &NameTest<'_>,
) -> Vec<FoundSymbol> {
    some_of_rows(view, rows, filters, &|_| true, is_wanted)
}

fn some_of_rows(
    view: &View,
    rows: impl Iterator<Item = RowId>,
    filters: &Filters,
    may_be_wanted: &NameFilter<'_>,
    is_wanted: &NameTest<'_>,
) -> Vec<FoundSymbol> {
    let mut found = Vec::new();
    for id in rows {
        let segment = &view.reader.segments[id.segment as usize];
        let Some(record) = segment.rows().get(id.row as usize) else { continue };
        for symbol in segment.symbols_of(record) {
            if !may_be_wanted(segment.name_bytes(symbol.name)) {
                continue;
            }
            let (name, qualified) = (segment.name(symbol.name), segment.name(symbol.qualified_name));
            if !is_wanted(name, qualified) || !definitions::is_of_kind(&symbol, &filters.kinds) {
                continue;
            }

            for entry in view.entries_of(view.doc_of(id)) {
                let (path, flags) = view.entry(entry);
                // Other copies of the file may be outside of the filters.
                if !passes_path(filters, path, flags) {
                    continue;
                }

                found.push(FoundSymbol {
                    path: quoting::text(path),
                    language: segment.language(record.language).to_owned(),
                    name: name.to_owned(),
                    qualified_name: qualified.to_owned(),
                    kind: SymbolKind::from_u8(symbol.kind).unwrap_or(SymbolKind::Other),
                    signature: segment.signature(&symbol),
                    lines: (symbol.start_line, symbol.end_line),
                    flags,
                    nesting: symbol.nesting,
                });
            }
        }
    }

    found
}

fn sorted(mut found: Vec<FoundSymbol>) -> Vec<FoundSymbol> {
    found.sort_by(|a, b| {
        (&a.path, a.lines, a.nesting, &a.qualified_name).cmp(&(
            &b.path,
            b.lines,
            b.nesting,
            &b.qualified_name,
        ))
    });

    found.dedup_by(|a, b| (&a.path, a.lines, &a.qualified_name) == (&b.path, b.lines, &b.qualified_name));
    found
}
