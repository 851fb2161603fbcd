//! Cross-references: definitions, references, callers and callees of a symbol, computed on request.
//!
//! The input is a symbol and a view, the same that searches are answered from: uncommitted changes and other
//! revisions are included, files excluded by the policy are not. The output is nodes, edges with a grade, and
//! notes on what could not be resolved.
//!
//! No edges are stored, so none can be stale. Definitions come from the symbols of the index. Call sites are
//! found on request: the postings name the files that contain the terms of a name, and these files are parsed
//! and queried.
//!
//! Modules, in the order of data flow:
//!
//! * [`request`], [`response`]: input and output; [`symbol_spec`]: the notation of symbols.
//! * [`dialect`]: the naming rules of a language; [`queries`]: its syntax, from `queries/<language>.scm`.
//! * [`facts`]: call sites, imports, bindings and bases of one file; [`reader`], [`import_syntax`]: query
//!   matches and import statements → facts; [`extract`]: bytes → facts.
//! * [`definitions`]: names → definitions; [`sources`]: entries → facts, within limits; [`modules`],
//!   [`path_modules`] and [`tsconfig`]: import paths → files.
//! * Resolution of a [`site`] to a [`resolution`], in stages: [`candidates`] (kind, [`arity`], bodies),
//!   [`name_lookup`], [`module_names`] and [`rust_paths`] (imports, packages), [`grading`],
//!   [`members`] (types and bases), [`scopes`], [`receivers`], [`linkage`] (C), and [`resolver`], which tries
//!   them in order.
//! * [`walk`]: callers, callees and references, level by level; [`overrides`]: members that override others;
//!   [`attributes`]: decorators and annotations by which a framework calls.
//!   [`xref`] is the entry: it gets the view, and walks again for files that changed meanwhile.
//! * [`name_check`]: what holds the name and was not resolved, by [`syntax_position`], in [`other_files`] and
//!   in those that are [`left_out`]. [`unsearched`]: sources that no answer covers.
//! * [`response_builder`], [`notes`], [`unlisted`]: assemble the answer.
//! * [`about`]: everything about one definition.
//! * [`pages`]: an answer in parts, for clients with a token limit. [`call_sites`]: every call of a view, for
//!   measurements.
//!
//! | grade | meaning |
//! |---|---|
//! | `exact` | proven by scope, import, package or the declared type of the receiver |
//! | `unique_name` | not proven, but the repository has only one definition that fits |
//! | `ambiguous` | several definitions fit, or the standard library has the name as well; all are listed |
//! | `unresolved` | no definition found in the repository: a library, or a value that is called |

pub mod about;
mod arity;
mod attributes;
mod call_sites;
mod callable_values;
mod candidates;
mod definitions;
mod dialect;
mod extract;
mod facts;
mod grading;
mod haskell_imports;
mod import_syntax;
mod left_out;
mod linkage;
mod members;
mod module_names;
mod modules;
mod name_check;
mod name_lookup;
mod notes;
mod other_files;
mod overrides;
mod pages;
mod path_modules;
mod queries;
mod reader;
mod receivers;
mod request;
mod resolution;
mod resolver;
mod response;
mod response_builder;
mod rust_paths;
mod scopes;
mod site;
mod sources;
mod symbol_spec;
mod syntax_position;
mod tsconfig;
mod unlisted;
mod unsearched;
mod walk;
mod word_search;
mod xref;

pub use call_sites::{CallSite, CallTarget};
pub use pages::Pages;
pub use request::{CallGraphRequest, Direction, MAX_LIMIT};
pub use response::{
    CallGraphResponse, CallGraphStatus, Coverage, Edge, EdgeKind, Grade, Node, Note, Site, Unlisted,
    UnlistedFile, UnlistedReason,
};
pub use symbol_spec::parse_location;
pub use xref::Xref;
