//! The definitions that are compared: functions, methods and types of the files that a request is about.

use std::ops::Range;

use codeweaver_chunk::document::{is_document, is_document_language};
use codeweaver_chunk::{LanguageId, SymbolKind};
use codeweaver_git::{BString, BlobReader, Oid};
use codeweaver_index::Codebase;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::segment::Segment;
use codeweaver_store::symbols::SymbolRecord;

use super::DuplicatesRequest;
use crate::query::QueryError;
use crate::query::definitions::is_of_kind;
use crate::query::retrieve::parallel;
use crate::query::view::View;
use crate::query::view::scope::passes_path;

/// Minimum number of definitions for which threads are used.
const MIN_PARALLEL: usize = 64;
/// Names of modules that hold the tests of the file that they are in.
const TEST_MODULES: [&str; 2] = ["test", "tests"];

/// A file, once for all its copies.
#[derive(Debug, Clone)]
pub struct Doc {
    /// Position of its segment in the view.
    pub segment: usize,
    pub oid: Oid,
    /// Ascending, at least one.
    pub paths: Vec<BString>,
    pub n_lines: u32,
    /// Positions of its definitions.
    pub definitions: Range<usize>,
}

/// A definition. Those of a file are in the order of the text, an enclosing one before those inside it.
#[derive(Debug, Clone)]
pub struct Definition {
    /// Position of its file.
    pub doc: usize,
    /// Row of the segment that it begins in.
    pub row: u32,
    pub symbol: SymbolRecord,
}

impl Definition {
    pub fn kind(&self) -> SymbolKind {
        SymbolKind::from_u8(self.symbol.kind).unwrap_or(SymbolKind::Other)
    }

    /// First and last line, 1-based, inclusive.
    pub fn lines(&self) -> (u32, u32) {
        (self.symbol.start_line, self.symbol.end_line)
    }

    pub fn n_lines(&self) -> u32 {
        (self.symbol.end_line + 1).saturating_sub(self.symbol.start_line)
    }
}

/// All definitions of a request, by path and place.
pub struct Definitions<'a> {
    codebase: &'a Codebase,
    view: &'a View,
    pub docs: Vec<Doc>,
    pub list: Vec<Definition>,
}

impl<'a> Definitions<'a> {
    /// Collects the definitions of `view` that `request` is about.
    pub fn collect(codebase: &'a Codebase, view: &'a View, request: &DuplicatesRequest) -> Definitions<'a> {
        let scope = view.scope(&request.filters);
        let languages = request.filters.languages.iter();
        let with_documents = languages.filter_map(|name| LanguageId::by_name(name)).any(is_document_language);

        let mut found: Vec<(Doc, Vec<Definition>)> = Vec::new();

        for (at, rows) in scope.rows.iter().enumerate() {
            let segment = &view.reader.segments[at];
            for (ordinal, doc) in segment.docs().iter().enumerate() {
                let range = segment.doc_rows(ordinal as u32);
                if rows.count(range.start, range.end) == 0 {
                    continue;
                }

                let doc_id = view.reader.state.segments[at].doc_base + ordinal as u32;
                let paths = paths(view, doc_id, request, with_documents);
                let list = of_rows(segment, range.clone(), request);
                if paths.is_empty() || list.is_empty() {
                    continue;
                }

                let n_lines = segment.rows()[range.start as usize..range.end as usize].iter();
                let n_lines = n_lines.map(|row| row.end_line).max().unwrap_or(0);
                let oid = segment.blob_oid(doc);
                found.push((Doc { segment: at, oid, paths, n_lines, definitions: 0..0 }, list));
            }
        }

        Definitions { codebase, view, docs: Vec::new(), list: Vec::new() }.with(found)
    }

    /// Adds `found`, in the order of the paths.
    fn with(mut self, mut found: Vec<(Doc, Vec<Definition>)>) -> Self {
        found.sort_by(|(one, _), (two, _)| one.paths.cmp(&two.paths));

        for (mut doc, list) in found {
            let first = self.list.len();
            let at = self.docs.len();
            self.list.extend(list.into_iter().map(|definition| Definition { doc: at, ..definition }));
            doc.definitions = first..self.list.len();
            self.docs.push(doc);
        }
        self
    }

    fn segment(&self, doc: usize) -> &Segment {
        &self.view.reader.segments[self.docs[doc].segment]
    }

    /// The name of a definition, with those of the definitions around it.
    pub fn qualified_name(&self, at: usize) -> &str {
        let definition = &self.list[at];
        self.segment(definition.doc).name(definition.symbol.qualified_name)
    }

    pub fn name(&self, at: usize) -> &str {
        let definition = &self.list[at];
        self.segment(definition.doc).name(definition.symbol.name)
    }

    /// The segment of a definition, and its record.
    pub fn record(&self, at: usize) -> (&Segment, &SymbolRecord) {
        let definition = &self.list[at];
        (self.segment(definition.doc), &definition.symbol)
    }

    /// The vector of the chunk that a definition begins in.
    pub fn chunk_vector(&self, at: usize) -> &[i8] {
        let definition = &self.list[at];
        self.segment(definition.doc).vector(definition.row)
    }

    pub fn language(&self, at: usize) -> &str {
        let definition = &self.list[at];
        let segment = self.segment(definition.doc);
        segment.language(segment.rows()[definition.row as usize].language)
    }

    /// The language of a definition, as far as it is in the language table.
    pub fn language_id(&self, at: usize) -> Option<LanguageId> {
        LanguageId::by_name(self.language(at))
    }

    /// Returns the results of `task` for the definitions at `wanted`, ascending positions, with the texts of
    /// their files. Each file is read once. A definition whose file cannot be read is left out.
    ///
    /// # Errors
    /// Those of reading blobs.
    pub fn map<T: Send>(
        &self,
        wanted: &[usize],
        task: impl Fn(usize, &str) -> T + Sync + Send,
    ) -> Result<Vec<(usize, T)>, QueryError> {
        let by_doc: Vec<&[usize]> =
            wanted.chunk_by(|&one, &two| self.list[one].doc == self.list[two].doc).collect();

        let results: Vec<Result<Vec<(usize, T)>, QueryError>> = parallel::map_with(
            by_doc.len(),
            wanted.len() >= MIN_PARALLEL,
            || self.codebase.repo.blobs(),
            |blobs, at| self.map_doc(blobs, by_doc[at], &task),
        );

        let mut all = Vec::with_capacity(wanted.len());
        for result in results {
            all.extend(result?);
        }
        Ok(all)
    }

    /// Does the work of [`Self::map`] for definitions of one file.
    fn map_doc<T>(
        &self,
        blobs: &mut BlobReader,
        wanted: &[usize],
        task: &impl Fn(usize, &str) -> T,
    ) -> Result<Vec<(usize, T)>, QueryError> {
        let Some(&first) = wanted.first() else { return Ok(Vec::new()) };
        let doc = &self.docs[self.list[first].doc];
        let Some(bytes) = self.view.blob_from(blobs, &doc.oid)? else { return Ok(Vec::new()) };

        let of_one = |&at: &usize| {
            let symbol = &self.list[at].symbol;
            let own = bytes.get(symbol.start_byte as usize..symbol.end_byte as usize)?;
            Some((at, task(at, std::str::from_utf8(own).ok()?)))
        };
        Ok(wanted.iter().filter_map(of_one).collect())
    }
}

/// The paths of a doc that a request is about, ascending. Documents count only `with_documents`: examples in
/// them resemble each other so that each can be read alone.
fn paths(view: &View, doc: u32, request: &DuplicatesRequest, with_documents: bool) -> Vec<BString> {
    let entries = view.entries_of(doc).map(|entry| view.entry(entry));
    let wanted = entries.filter(|(path, flags)| {
        passes_path(&request.filters, path, *flags)
            && (request.include_vendored || !flags.contains(PathFlags::VENDORED_LIKE))
            && (with_documents || !is_document(path))
    });

    let mut paths: Vec<BString> = wanted.map(|(path, _)| BString::from(path)).collect();
    paths.sort();
    paths
}

/// The definitions that begin in one of `rows`.
fn of_rows(segment: &Segment, rows: Range<u32>, request: &DuplicatesRequest) -> Vec<Definition> {
    let mut found: Vec<Definition> = Vec::new();
    for row in rows {
        let symbols = segment.symbols_of(&segment.rows()[row as usize]);
        let wanted = symbols.filter(|symbol| is_wanted(segment, symbol, request));
        found.extend(wanted.map(|symbol| Definition { doc: 0, row, symbol }));
    }

    // A type and its alias may have the same text.
    let key = |it: &Definition| (it.symbol.start_byte, std::cmp::Reverse(it.symbol.end_byte));
    found.sort_by_key(|it| (key(it), it.symbol.nesting));
    found.dedup_by_key(|it| key(it));
    found
}

fn is_wanted(segment: &Segment, symbol: &SymbolRecord, request: &DuplicatesRequest) -> bool {
    let kind = SymbolKind::from_u8(symbol.kind).unwrap_or(SymbolKind::Other);
    let is_code = kind.is_callable() || kind.has_members();
    // A line has no room for as many tokens as are compared.
    if !is_code || symbol.end_line <= symbol.start_line || !is_of_kind(symbol, &request.filters.kinds) {
        return false;
    }

    request.filters.include_tests
        || kind != SymbolKind::Test && !is_in_test_module(segment.name(symbol.qualified_name))
}

/// Returns whether one of the names before the last is that of a module of tests.
fn is_in_test_module(qualified_name: &str) -> bool {
    let mut names = qualified_name.rsplit(['.', ':', '#', '/']);
    names.next();
    names.any(|name| TEST_MODULES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_tests_are_known_by_their_names() {
        assert!(is_in_test_module("parse::tests::sample"));
        assert!(!is_in_test_module("parse::tests"));
        assert!(!is_in_test_module("parse::latest::sample"));
    }
}
