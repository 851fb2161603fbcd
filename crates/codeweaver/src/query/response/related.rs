//! Related: symbols that have to do with the definition that answers a query.

use codeweaver_chunk::tokens;

/// The relation of a symbol to the definition that answers a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[allow(
    missing_docs,
    reason = "documented at the fields of `RelatedSymbol`: variants with documentation have another schema"
)]
pub enum Relation {
    Caller,
    Callee,
    Overrides,
    OverriddenBy,
    SameBase,
    Supertype,
    Subtype,
    Test,
    Type,
    Sibling,
}

/// A symbol that is related to the definition that answers a query.
#[derive(Debug, Clone, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[non_exhaustive]
pub struct RelatedSymbol {
    /// Qualified name.
    pub symbol: String,
    /// Its relation to the definition: its `caller` or `callee`, a `test` that names it, what it `overrides`
    /// or is `overridden_by`, the same member of a type of the `same_base`, its `supertype` or `subtype`, a
    /// `type` that it names, or a `sibling`, which is the nearest of its kind in the same place.
    pub relation: Relation,
    /// Relative to the root of the repository.
    pub path: String,
    /// The first line.
    pub line: u32,
}

impl RelatedSymbol {
    /// Number of tokens of its place.
    pub(crate) fn n_tokens(&self) -> u32 {
        tokens::count(&self.path) + 2
    }
}
