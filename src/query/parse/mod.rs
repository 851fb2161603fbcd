//! What is derived from the text of a query.

pub mod intent;
