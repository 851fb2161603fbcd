//! Embedding models: from a folder, a hub or an API, and models that are gone.

pub mod api;
mod hub;
mod litellm;
mod missing;
mod model2vec;
