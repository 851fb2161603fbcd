//! Messages: the files that have a text of the report verbatim.
//!
//! Postings say which files have all words of a window. These few files are read and compared.

use std::sync::Arc;

use memchr::memmem;
use rustc_hash::FxHashMap;

use codeweaver_git::BlobReader;
use codeweaver_index::Codebase;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::Field;
use codeweaver_text::{self as text, QueryTerm};

use crate::query::error::QueryError;
use crate::query::parse::report::messages::Message;
use crate::query::view::View;

/// Maximum number of files that have a window. A text in more files does not tell them apart.
const MAX_HOLDERS: usize = 5;
/// Maximum number of files that have the words of a window. A window with more is not looked for.
const MAX_CANDIDATES: usize = 40;
/// Maximum number of files that are read for one report.
const MAX_READ: usize = 160;
/// Maximum number of terms of a window that are looked up.
const MAX_TERMS: usize = 6;

/// Looks for messages in the docs of a view.
pub struct MessageSearch<'a> {
    view: &'a View,
    blobs: BlobReader,
    /// Contents that were read, by doc.
    read: FxHashMap<u32, Arc<[u8]>>,
    /// The docs of each term that was looked up, ascending.
    docs: FxHashMap<String, Vec<u32>>,
}

impl<'a> MessageSearch<'a> {
    pub fn new(codebase: &Codebase, view: &'a View) -> MessageSearch<'a> {
        let blobs = codebase.repo.blobs();
        MessageSearch { view, blobs, read: FxHashMap::default(), docs: FxHashMap::default() }
    }

    /// Returns docs that have a window of `message`, with the weight of that, 0–1: less if other docs have it
    /// too.
    pub fn docs(&mut self, message: &Message) -> Result<FxHashMap<u32, f32>, QueryError> {
        let mut found: FxHashMap<u32, f32> = FxHashMap::default();

        for window in &message.windows {
            let holders = self.holders(window)?;
            // Tests that repeat a message do not make it less distinctive.
            let n = holders.iter().filter(|&&doc| !self.is_test(doc)).count();
            if n == 0 || n > MAX_HOLDERS {
                continue;
            }

            for doc in holders {
                *found.entry(doc).or_default() += 1.0 / n as f32;
            }
        }

        found.values_mut().for_each(|share| *share = share.min(1.0));
        Ok(found)
    }

    /// Returns whether all paths of a doc are those of tests.
    fn is_test(&self, doc: u32) -> bool {
        self.view.entries_of(doc).all(|entry| self.view.entry(entry).1.contains(PathFlags::TEST))
    }

    /// Returns the docs that have `window`; none if its words are too common.
    fn holders(&mut self, window: &str) -> Result<Vec<u32>, QueryError> {
        let terms = text::query_terms(window);
        let mut lists: Vec<Vec<u32>> = terms
            .iter()
            .filter(|term| term.is_word())
            .take(MAX_TERMS)
            .map(|term| self.docs_with(term).to_vec())
            .collect();

        // The shortest list has the fewest docs to look up in the others.
        lists.sort_by_key(Vec::len);
        let Some((first, others)) = lists.split_first() else { return Ok(Vec::new()) };
        let in_others = first.iter().filter(|doc| others.iter().all(|list| list.binary_search(doc).is_ok()));
        let candidates: Vec<u32> = in_others.copied().collect();
        if candidates.len() > MAX_CANDIDATES {
            return Ok(Vec::new());
        }

        let finder = memmem::Finder::new(window);
        let mut holders = Vec::new();
        for doc in candidates {
            if self.bytes(doc)?.is_some_and(|bytes| finder.find(bytes).is_some()) {
                holders.push(doc);
            }
        }

        Ok(holders)
    }

    /// Returns the live docs with `term` in their text, ascending.
    fn docs_with(&mut self, term: &QueryTerm) -> &[u32] {
        let view = self.view;
        self.docs.entry(term.term.clone()).or_insert_with(|| live_docs_with(view, &term.term))
    }

    /// Returns the contents of a doc; `None` if too many were read already.
    fn bytes(&mut self, doc: u32) -> Result<Option<&[u8]>, QueryError> {
        if !self.read.contains_key(&doc) {
            if self.read.len() >= MAX_READ {
                return Ok(None);
            }

            let blob = self.view.reader.locate_doc(doc).and_then(|(s, ordinal)| {
                let segment = &self.view.reader.segments[s];
                Some(segment.blob_oid(segment.docs().get(ordinal as usize)?))
            });

            let bytes = match blob {
                Some(oid) => self.view.blob_from(&mut self.blobs, &oid)?.unwrap_or_default(),
                None => Arc::default(),
            };
            self.read.insert(doc, bytes);
        }

        Ok(self.read.get(&doc).map(|bytes| &**bytes))
    }
}

/// Looks up the live docs of `view` with `term` in their text, ascending.
fn live_docs_with(view: &View, term: &str) -> Vec<u32> {
    let mut docs = Vec::new();
    for (s, segment) in view.reader.segments.iter().enumerate() {
        let Some(base) = view.reader.state.segments.get(s).map(|it| it.doc_base) else { continue };
        for field in [Field::Body, Field::Doc] {
            let Some(list) = segment.list(field, term) else { continue };
            list.for_each(|row, _| {
                if view.live()[s].contains(row)
                    && let Some(record) = segment.rows().get(row as usize)
                {
                    docs.push(base + record.doc);
                }
            });
        }
    }

    docs.sort_unstable();
    docs.dedup();
    docs
}
