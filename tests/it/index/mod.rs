//! The index: what is indexed, at what cost, and its states.

mod asked_revisions;
mod catalogue;
mod encodings;
mod freshness;
mod generated_docs;
mod incremental;
mod interchange;
mod lifecycle;
mod many_changes;
mod recompute;
mod update;
