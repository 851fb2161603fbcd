//! Model: the embedder of the settings, or the reason why there is none.

use std::sync::Arc;

use codeweaver_config::Settings;
use codeweaver_embed::{self as embed, EmbedError, Embedder};

use super::request::Mode;
use super::retrieve::QueryVector;

/// Warning of answers without dense retrieval, as a specification words it; the next warning says why.
const DENSE_UNAVAILABLE: &str = "Dense embedding service unavailable, using sparse search only";

/// The model that embeds queries.
pub struct QueryModel {
    embedder: Option<Arc<dyn Embedder>>,
    /// Why there is no embedder.
    failure: Option<EmbedError>,
}

impl QueryModel {
    /// Opens the model of `settings`. If that fails, each query without its vector gets a warning.
    pub fn open(settings: &Settings) -> QueryModel {
        match embed::open(&settings.model) {
            Ok(embedder) => QueryModel { embedder: Some(embedder), failure: None },
            Err(e) => QueryModel { embedder: None, failure: Some(e) },
        }
    }

    /// The embedder, if it could be opened.
    pub fn embedder(&self) -> Option<&dyn Embedder> {
        self.embedder.as_deref()
    }

    /// The embedder, for a cache that keeps it.
    pub fn shared(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.clone()
    }

    /// The name of the model, or `none`.
    pub fn name(&self) -> &str {
        self.embedder().map_or("none", Embedder::name)
    }

    /// Embeds `text` if `mode` needs a vector. If that fails, returns a warning in its place.
    pub fn vector(&self, mode: Mode, text: &str) -> (Option<QueryVector>, Vec<String>) {
        if matches!(mode, Mode::Keyword | Mode::Symbol) {
            return (None, Vec::new());
        }

        let failure = match (&self.embedder, &self.failure) {
            (Some(embedder), _) => match embedder.embed_query(text) {
                Ok(components) => {
                    return (Some(QueryVector { components, scale: embedder.scale() }), Vec::new());
                }
                Err(e) => Some(e),
            },
            (None, failure) => failure.clone(),
        };

        let mut warnings = vec![DENSE_UNAVAILABLE.to_owned()];
        if let Some(failure) = failure {
            tracing::warn!(component = "searcher", operation = "embed", error = %failure, "{DENSE_UNAVAILABLE}");
            warnings.push(format!("{failure}; {}", failure.fix()));
        }

        (None, warnings)
    }
}
