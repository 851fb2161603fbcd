//! Shared: the state that all connections of a server have in common, replaced as a whole.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};

use super::held::Held;
use super::protocol::Readiness;
use crate::ask::api::Api;

/// The state of a server.
pub struct Shared {
    /// Name of the index that is asked if a query names none.
    default: String,
    /// The indexes by name; `None` until one is loaded.
    indexes: RwLock<BTreeMap<String, Option<Arc<Held>>>>,
    api: RwLock<Option<Arc<Api>>>,
    is_ending: AtomicBool,
}

impl Shared {
    /// The state of a server of the indexes `names`, of which none is loaded. The first is the default.
    pub fn new(names: &[String], api: Option<Api>) -> Shared {
        let default = names.first().cloned().unwrap_or_default();
        let indexes = names.iter().map(|name| (name.clone(), None)).collect();

        Shared {
            default,
            indexes: RwLock::new(indexes),
            api: RwLock::new(api.map(Arc::new)),
            is_ending: AtomicBool::new(false),
        }
    }

    /// Whether the default index can answer.
    pub fn readiness(&self) -> Readiness {
        match self.index(None) {
            Ok(Some(held)) if held.n_documents() == 0 => Readiness::NoContent,
            Ok(Some(_)) => Readiness::Ready,
            Ok(None) | Err(_) => Readiness::NotReady,
        }
    }

    /// The index `name`, or the default one; `None` until it is loaded.
    ///
    /// # Errors
    /// There is no index of this name; the error is a text for the client.
    pub fn index(&self, name: Option<&str>) -> Result<Option<Arc<Held>>, String> {
        let indexes = self.indexes.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let name = name.unwrap_or(&self.default);

        indexes.get(name).cloned().ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            let known: Vec<&str> = indexes.keys().map(String::as_str).collect();
            format!("unknown index {shown:?}; there is {}", known.join(", "))
        })
    }

    /// Replaces an index. Questions that are being answered keep the old one.
    pub fn replace(&self, name: &str, held: Held) {
        let mut indexes = self.indexes.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        indexes.insert(name.to_owned(), Some(Arc::new(held)));
    }

    /// The language model.
    pub fn api(&self) -> Option<Arc<Api>> {
        self.api.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Replaces the language model.
    pub fn set_api(&self, api: Option<Api>) {
        *self.api.write().unwrap_or_else(std::sync::PoisonError::into_inner) = api.map(Arc::new);
    }

    /// Returns whether the server is ending.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }

    /// Ends all connections.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }
}
