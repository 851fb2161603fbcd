//! The rows of a view that contain words, by the postings of its segments.

use codeweaver_store::postings::{Field, Postings};
use codeweaver_text as text;

use super::{RowId, View};

/// The postings of a view, opened once for several names.
pub struct TermRows<'v> {
    view: &'v View,
    postings: Vec<Option<Postings<'v>>>,
}

impl<'v> TermRows<'v> {
    pub fn new(view: &'v View) -> TermRows<'v> {
        TermRows { view, postings: view.postings() }
    }

    /// Returns whether the postings of all live rows can be read. Rows of others are not visited.
    pub fn is_whole(&self) -> bool {
        self.postings
            .iter()
            .zip(self.view.live())
            .all(|(postings, live)| postings.is_some() || live.n_live() == 0)
    }

    /// Visits the live rows that contain all `terms` in `field`, in the order of segments and rows.
    pub fn with_all(&self, field: Field, terms: &[String], visit: &mut dyn FnMut(RowId)) {
        for (s, postings) in self.postings.iter().enumerate() {
            let Some(postings) = postings else { continue };
            let lists: Option<Vec<_>> = terms.iter().map(|term| postings.get(field, term)).collect();
            let Some(mut lists) = lists else { continue };

            // The rarest term first, so that the intersection is small from the start.
            lists.sort_by_key(|list| list.df());
            let (live, n_rows) = (&self.view.live()[s], self.view.reader.segments[s].n_rows());

            let mut rows: Vec<u32> = Vec::new();
            for (i, list) in lists.iter().enumerate() {
                let mut here = Vec::new();
                list.for_each(|row, _| {
                    // A damaged list may have rows that there are not.
                    let is_live = row < n_rows && live.contains(row);
                    if is_live && (i == 0 || rows.binary_search(&row).is_ok()) {
                        here.push(row);
                    }
                });
                rows = here;
            }

            rows.into_iter().for_each(|row| visit(RowId { segment: s as u32, row }));
        }
    }
}

/// The terms under which a name is indexed, sorted, each once; empty if it yields none.
pub fn terms_of(name: &str) -> Vec<String> {
    let mut terms = Vec::new();
    text::for_each_term(name, &mut |term| terms.push(term.to_owned()));
    terms.sort();
    terms.dedup();
    terms
}
