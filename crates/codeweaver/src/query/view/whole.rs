//! Whole: the counts of everything that an engine has, for a view that has only the candidates.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use codeweaver_base::sync;

use crate::query::engine::{Engine, TermTotals, Whole};

use super::parts::Parts;

/// Counts of terms, asked for when they are first needed.
pub struct WholeCounts {
    engine: Arc<dyn Engine>,
    known: Mutex<FxHashMap<String, TermTotals>>,
    pub(super) parts: Parts,
    failure: Mutex<Option<String>>,
}

impl WholeCounts {
    pub fn new(engine: Arc<dyn Engine>, whole: &Whole) -> WholeCounts {
        WholeCounts {
            engine,
            known: Mutex::default(),
            parts: Parts::from_counts(&whole.parts),
            failure: Mutex::default(),
        }
    }

    /// Returns the counts of `terms`. If the engine does not answer, they are zero, and [`Self::failure`]
    /// says so.
    pub fn counts(&self, terms: &[&str]) -> Vec<TermTotals> {
        let unknown: Vec<&str> = {
            let known = sync::lock(&self.known);
            terms.iter().copied().filter(|term| !known.contains_key(*term)).collect()
        };

        // The lock is not held while the engine answers: two threads may ask for the same.
        if !unknown.is_empty() {
            match self.engine.counts(&unknown) {
                Ok(counts) => {
                    let counts = unknown.iter().map(|term| (*term).to_owned()).zip(counts);
                    sync::lock(&self.known).extend(counts);
                }
                Err(error) => *sync::lock(&self.failure) = Some(error.to_string()),
            }
        }

        let known = sync::lock(&self.known);
        terms.iter().map(|term| known.get(*term).copied().unwrap_or_default()).collect()
    }

    /// The reason why counts are missing, if any are.
    pub fn failure(&self) -> Option<String> {
        sync::lock(&self.failure).clone()
    }
}
