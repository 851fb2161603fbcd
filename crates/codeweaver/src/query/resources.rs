//! Resources: everything that requests about one codebase are answered with, besides its views.

use codeweaver_index::Codebase;

use super::model::QueryModel;
use super::path_facts::PathCache;
use super::rerank::LazyReranker;
use super::retrieve::Tuning;

/// A codebase with the models and caches that it is searched with.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    pub codebase: &'a Codebase,
    pub model: &'a QueryModel,
    pub reranker: &'a LazyReranker,
    pub paths: &'a PathCache,
    pub tuning: Tuning,
}
