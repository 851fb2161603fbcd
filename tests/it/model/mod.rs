//! Embedding models: from a folder, a hub or an API, and models that are gone.

mod api;
mod hub;
mod missing;
mod model2vec;
