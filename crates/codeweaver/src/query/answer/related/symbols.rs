//! Definitions and mentions of a name in a view, from the postings.
//!
//! The results and their order follow from paths and positions, never from the order of rows.

use std::cmp::Reverse;

use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::{Field, Postings};
use codeweaver_store::symbols::SymbolRecord;
use codeweaver_text::{self as text, TermKind};

use super::words;
use super::{is_test, is_type};
use crate::query::answer::focus::rows_before;
use crate::query::definitions::{self, kind_of};
use crate::query::locate;
use crate::query::view::{RowId, View};

/// Maximum number of rows with a name; a name in more rows is common.
const MAX_ROWS: u64 = 200;
/// Rows of the same file on each side of a chunk in which siblings are looked for.
const ROWS_NEAR: u32 = 12;

/// A definition in a view.
#[derive(Clone)]
pub struct Found<'a> {
    /// The chunk in which the definition begins.
    pub id: RowId,
    pub doc: u32,
    pub record: SymbolRecord,
    pub name: &'a str,
    pub qualified: &'a str,
    pub path: &'a [u8],
    flags: PathFlags,
}

impl<'a> Found<'a> {
    pub fn is_test(&self) -> bool {
        is_test(self.flags, &self.record)
    }

    /// Returns whether it is in a test, an example, a benchmark or documentation.
    pub fn is_aside(&self) -> bool {
        let aside = [PathFlags::EXAMPLE, PathFlags::BENCH, PathFlags::DOCS];
        self.is_test() || aside.into_iter().any(|flag| self.flags.contains(flag))
    }

    /// Returns whether `inner`, a definition of the same file, is in it.
    pub fn contains(&self, inner: &SymbolRecord) -> bool {
        self.record.start_byte <= inner.start_byte
            && inner.end_byte <= self.record.end_byte
            && (self.record.start_byte, self.record.end_byte) != (inner.start_byte, inner.end_byte)
    }

    /// The distance from `other`, for sorting: code before tests and examples, then the same file, then files
    /// with most directories in common; equals by path and position.
    pub fn distance(&self, other: &Found<'_>) -> (bool, bool, Reverse<usize>, &'a [u8], u32) {
        let shared = Reverse(n_shared_directories(self.path, other.path));
        (self.is_aside(), self.doc != other.doc, shared, self.path, self.record.start_byte)
    }

    /// The name of a type, or of the type of an `impl` block.
    pub fn owner_name(&self) -> &'a str {
        let name = self.name.rsplit(" for ").next().unwrap_or(self.name);
        let name = name.strip_prefix("impl ").unwrap_or(name).split(['<', ' ']).next().unwrap_or(name);
        name.rsplit([':', '.']).next().unwrap_or(name)
    }

    /// The names of the types that a type is derived from, by its declaration.
    pub fn bases(&self, symbols: &Symbols<'a>) -> Vec<String> {
        let (segment, _) = symbols.view.row(self.id);
        let signature = segment.signature(&self.record);
        let own = self.owner_name();
        let are_parenthesised = symbols.language_of(self.id) == "python";
        let bases = words::bases(&signature, are_parenthesised).into_iter().filter(|name| *name != own);
        bases.map(str::to_owned).collect()
    }

    /// Returns whether a type is derived from the one called `base`.
    pub fn is_derived_from(&self, base: &str, symbols: &Symbols<'a>) -> bool {
        self.bases(symbols).iter().any(|name| name == base)
    }
}

/// Number of directories, from the root, that two paths have in common.
fn n_shared_directories(a: &[u8], b: &[u8]) -> usize {
    let n_equal = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    a[..n_equal].iter().filter(|&&byte| byte == b'/').count()
}

/// The definitions of a view, by name.
pub struct Symbols<'a> {
    pub view: &'a View,
    postings: Vec<Option<Postings<'a>>>,
}

impl<'a> Symbols<'a> {
    pub fn new(view: &'a View) -> Symbols<'a> {
        Symbols { view, postings: view.postings() }
    }

    /// The definition `record` in the chunk `id`, in the file of `entry`.
    pub fn found(&self, id: RowId, record: SymbolRecord, entry: u32) -> Found<'a> {
        let (path, flags) = self.view.entry(entry);
        let (segment, _) = self.view.row(id);

        Found {
            id,
            doc: self.view.doc_of(id),
            record,
            name: segment.name(record.name),
            qualified: segment.name(record.qualified_name),
            path,
            flags,
        }
    }

    /// The definition `record` in the chunk `id`, in the file with the first path; `None` if it is at none.
    fn at_first_path(&self, id: RowId, record: SymbolRecord) -> Option<Found<'a>> {
        let entries = self.view.entries_of(self.view.doc_of(id));
        let first = entries.min_by_key(|&entry| self.view.entry(entry).0)?;
        Some(self.found(id, record, first))
    }

    /// The name of a definition in the segment of `id`.
    pub fn name_of(&self, id: RowId, record: &SymbolRecord) -> &'a str {
        self.view.row(id).0.name(record.name)
    }

    /// The name of the language of a chunk.
    pub fn language_of(&self, id: RowId) -> &'a str {
        let (segment, row) = self.view.row(id);
        segment.language(row.language)
    }

    /// Path and flags of the file of a chunk, of the first path if it has several; `None` if it has none.
    pub fn file_of(&self, id: RowId) -> Option<(&'a [u8], PathFlags)> {
        self.view.entries_of(self.view.doc_of(id)).map(|entry| self.view.entry(entry)).min_by_key(|it| it.0)
    }

    /// The definitions called `name`; `None` if the name is common.
    pub fn named(&self, name: &str) -> Option<Vec<Found<'a>>> {
        let mut found = Vec::new();
        for id in self.rows_with(Field::Symbol, name)? {
            let (segment, row) = self.view.row(id);
            for record in segment.symbols_of(row).filter(|symbol| segment.name(symbol.name) == name) {
                found.extend(self.at_first_path(id, record));
            }
        }
        Some(found)
    }

    /// Types and `impl` blocks in chunks that mention `name`; none if the name is common.
    pub fn types_that_mention(&self, name: &str) -> Vec<Found<'a>> {
        let mut found = Vec::new();
        for id in self.rows_with(Field::Body, name).unwrap_or_default() {
            let (segment, row) = self.view.row(id);
            for record in segment.symbols_of(row).filter(|symbol| is_type(kind_of(symbol))) {
                if segment.signature(&record).contains(name) {
                    found.extend(self.at_first_path(id, record));
                }
            }
        }
        found
    }

    /// The live rows that have `name` as a whole in `field`; `None` if the name is common or no term.
    pub fn rows_with(&self, field: Field, name: &str) -> Option<Vec<RowId>> {
        let mut whole = None;
        text::visit_terms(name, |term, kind| {
            if matches!(kind, TermKind::Word | TermKind::Whole) {
                whole = Some(term.to_owned());
            }
        });
        let term = whole?;

        let lists = self.postings.iter().enumerate().filter_map(|(s, postings)| {
            let list = postings.as_ref()?.get(field, &term)?;
            Some((s, list))
        });
        let lists: Vec<_> = lists.collect();
        // A common name is recognised by its counts, before its lists are walked.
        let n_live: u64 = lists.iter().map(|(s, list)| u64::from(list.df_live(&self.view.live()[*s]))).sum();
        if n_live > MAX_ROWS {
            return None;
        }

        let mut rows = Vec::new();
        for (s, list) in lists {
            let (live, n_rows) = (&self.view.live()[s], self.view.reader.segments[s].n_rows());
            list.for_each(|row, _| {
                if row < n_rows && live.contains(row) {
                    rows.push(RowId { segment: s as u32, row });
                }
            });
        }
        Some(rows)
    }

    /// The innermost type or `impl` block around a definition.
    pub fn around(&self, inner: &Found<'a>) -> Option<Found<'a>> {
        let before = rows_before(self.view, inner.id);
        let mut around = definitions::of_rows(self.view, before, |_, outer| {
            kind_of(outer).has_members()
                && outer.start_byte <= inner.record.start_byte
                && inner.record.end_byte <= outer.end_byte
                && outer.nesting < inner.record.nesting
        });

        let (id, record) = around.pop()?;
        let outer = self.found(id, record, 0);
        Some(Found { path: inner.path, flags: inner.flags, ..outer })
    }

    /// The innermost definition around a byte of a chunk, callables before others.
    pub fn at_byte(&self, id: RowId, byte: u32) -> Option<Found<'a>> {
        let around = definitions::of_rows(self.view, rows_before(self.view, id), |_, outer| {
            outer.start_byte <= byte && byte < outer.end_byte
        });
        let callable = around.iter().rposition(|(_, outer)| kind_of(outer).is_callable());
        let (id, record) = *around.get(callable.unwrap_or(around.len().wrapping_sub(1)))?;
        self.at_first_path(id, record)
    }

    /// The definitions that fit in the chunks around `focus`, in the same file.
    pub fn near(&self, focus: &Found<'a>, fits: impl Fn(&SymbolRecord) -> bool) -> Vec<Found<'a>> {
        let rows = locate::rows(self.view, focus.doc).filter(|id| id.row.abs_diff(focus.id.row) <= ROWS_NEAR);

        let mut near = Vec::new();
        for (id, record) in definitions::of_rows(self.view, rows, |_, record| fits(record)) {
            let found = self.found(id, record, 0);
            near.push(Found { path: focus.path, flags: focus.flags, ..found });
        }
        near
    }
}
