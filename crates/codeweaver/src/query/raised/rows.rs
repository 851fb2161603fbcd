//! Rows: the chunks with most of the words of a message.

use rustc_hash::FxHashMap;

use codeweaver_chunk::LanguageId;
use codeweaver_index::policy::PathFlags;
use codeweaver_store::postings::Field;
use codeweaver_text::{self as text, QueryTerm};

use super::message::Message;
use crate::query::retrieve::{lexical, row_key};
use crate::query::view::scope::Scope;
use crate::query::view::{RowId, View};

/// Maximum number of terms that are looked up, the rarest.
const MAX_TERMS: usize = 48;
/// Maximum number of postings that are read. A message has enough rare words.
const MAX_POSTINGS: u32 = 400_000;
/// Maximum number of rows of code, and of rows of tests, examples and documents.
const MAX_ROWS: usize = 160;
const MAX_OTHER_ROWS: usize = 32;

/// Roles of files in which messages are repeated rather than raised.
const OTHERS: [PathFlags; 4] = [PathFlags::TEST, PathFlags::EXAMPLE, PathFlags::DOCS, PathFlags::BENCH];

/// Returns the rows of `scope` with most of the words of `message`, weighted by rarity: the best of code,
/// then those of tests, examples and documents. Prose has no literals.
pub fn find(view: &View, scope: &Scope, message: &Message) -> Vec<RowId> {
    let mut terms: Vec<QueryTerm> = text::query_terms(&message.text);
    terms.retain(QueryTerm::is_word);
    let idf = lexical::idf_of(view, &terms);

    let mut known: Vec<(f32, &str)> = Vec::new();
    for (term, &idf) in terms.iter().zip(&idf) {
        if idf > 0.0 {
            known.push((idf, &term.term));
        }
    }
    known.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    known.truncate(MAX_TERMS);

    let scores = scores(view, scope, &known);
    let mut rows: Vec<(f32, RowId)> = scores.into_iter().map(|(id, score)| (score, id)).collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| row_key(view, a.1).cmp(&row_key(view, b.1))));

    let (mut code, mut others) = (Vec::new(), Vec::new());
    for (_, id) in rows {
        if code.len() == MAX_ROWS && others.len() == MAX_OTHER_ROWS {
            break;
        }
        match role(view, id) {
            Some(true) if code.len() < MAX_ROWS => code.push(id),
            Some(false) if others.len() < MAX_OTHER_ROWS => others.push(id),
            _ => {}
        }
    }

    code.extend(others);
    code
}

/// Returns for each row the sum of the rarity of the terms that it has.
fn scores(view: &View, scope: &Scope, terms: &[(f32, &str)]) -> FxHashMap<RowId, f32> {
    let mut scores: FxHashMap<RowId, f32> = FxHashMap::default();
    let mut n_read = 0;

    for &(idf, term) in terms {
        for (s, segment) in view.reader.segments.iter().enumerate() {
            let Some(list) = segment.list(Field::Body, term) else { continue };
            n_read += list.df();
            list.for_each(|row, _| {
                if scope.rows[s].contains(row) {
                    *scores.entry(RowId { segment: s as u32, row }).or_default() += idf;
                }
            });
        }

        // The rarest terms come first, so the others only repeat what these say.
        if n_read > MAX_POSTINGS {
            break;
        }
    }

    scores
}

/// Returns whether a row is code that runs, in contrast to tests, examples and documents; `None` for prose.
fn role(view: &View, id: RowId) -> Option<bool> {
    let (segment, row) = view.row(id);
    let language = LanguageId::by_name(segment.language(row.language));
    if language.is_some_and(LanguageId::is_prose) {
        return None;
    }

    let is_code = |entry: u32| !OTHERS.iter().any(|&flag| view.entry(entry).1.contains(flag));
    Some(view.entries_of(view.doc_of(id)).any(is_code))
}
