//! Held: an index in memory that answers questions without reading a file.

use std::sync::Arc;
use std::time::Instant;

use rustc_hash::FxHashMap;

use codeweaver_chunk::document;
use codeweaver_git::Oid;
use codeweaver_index::Codebase;

use crate::ask::extract::{self, Limits};
use crate::ask::{self, Answer, collection};
use crate::query::view::View;
use crate::query::{QueryError, Searcher, ViewRequest};

/// The documents of a codebase at one moment. Later changes are not noticed.
pub struct Held {
    searcher: Searcher,
    view: View,
    texts: FxHashMap<Oid, Arc<str>>,
    /// Whether the paths are those of a collection.
    is_collection: bool,
    min_relevance: f32,
}

impl Held {
    /// Opens the index of `codebase` and reads its documents. Passages that are less relevant than
    /// `min_relevance` are no answer.
    ///
    /// # Errors
    /// As [`Searcher::search`].
    pub fn open(codebase: Codebase, is_collection: bool, min_relevance: f32) -> Result<Held, QueryError> {
        let searcher = Searcher::new(codebase);
        let request = ViewRequest::new(&searcher.codebase.settings);
        let view = searcher.view(&request, &crate::never_update)?;

        let mut texts = FxHashMap::default();
        let mut blobs = searcher.codebase.repo.blobs();

        for (id, _, path) in view.reader.live_entries(&view.snapshot.entries) {
            let Some(oid) = view.reader.blob_of(id).filter(|_| document::is_document(path)) else { continue };
            // Files with the same contents share one text.
            if !texts.contains_key(&oid)
                && let Some(bytes) = view.blob_from(&mut blobs, &oid)?
            {
                texts.insert(oid, String::from_utf8_lossy(&bytes).into());
            }
        }

        let held = Held { searcher, view, texts, is_collection, min_relevance };
        // A first answer loads everything that is read on first use.
        held.answer_silently("what is this about", ask::SHOWN_PASSAGES)?;

        Ok(held)
    }

    /// Number of different documents.
    pub fn n_documents(&self) -> usize {
        self.texts.len()
    }

    /// The extractive answer to `question` in at most `max_passages` passages.
    ///
    /// # Errors
    /// As [`Searcher::passages_of`].
    pub fn answer(&self, question: &str, max_passages: usize) -> Result<Answer, QueryError> {
        let started = Instant::now();
        let answer = self.answer_silently(question, max_passages)?;
        ask::log(&self.searcher, &answer, started);
        Ok(answer)
    }

    /// As [`Self::answer`], without a record in the log.
    fn answer_silently(&self, question: &str, max_passages: usize) -> Result<Answer, QueryError> {
        let request = ask::request(question, &self.searcher);
        let limits = Limits { min_relevance: self.min_relevance, max_passages };

        let answer = ask::in_best_spelling(question, &request, |question, request| {
            let passages =
                self.searcher.passages_of(request, &self.view, &|oid| self.texts.get(oid).cloned())?;
            Ok(extract::answer(question, passages, limits, self.searcher.embedder()))
        })?;
        Ok(if self.is_collection { answer.with_paths(collection::disk_path) } else { answer })
    }
}
