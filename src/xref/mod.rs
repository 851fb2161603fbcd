//! Who defines, calls and mentions a symbol.
//!
//! In: a view (the one that searches are answered from, so dirty files and any revision count, and what the policy leaves
//! out is left out here), and a symbol. Out: nodes, edges with a grade, and notes on what could not be settled.
//!
//! Nothing is stored for it. Definitions come from the symbols of the index; call sites are found when they are asked for:
//! the postings name the few files that hold the terms of a name, and these are parsed and queried. So no edge is stale.
//!
//! * [`request`], [`response`], [`notes`]: what is asked, what is answered.
//! * [`symbol_spec`]: the symbol as people write it → definitions.
//! * [`dialect`]: what a language says about names; [`queries`]: its syntax, from `queries/<language>.scm`.
//! * [`facts`], [`reader`]: one file → its call sites, imports, bindings and bases; [`import_syntax`]: import statements as text.
//! * [`definitions`]: names → definitions; [`sources`]: bytes → facts, within bounds; [`modules`]: imports → files.
//! * [`resolver`], [`members`], [`name_lookup`], [`candidates`]: a site → the definitions it may mean, and how sure that is.
//! * [`walk`]: callers, callees and references, level by level; [`response_builder`]: what was found → the answer.
//! * [`pages`]: an answer in parts, for readers with little room.
//!
//! | grade | what it says |
//! |---|---|
//! | `exact` | the definition is proven by scope, import, package or the declared type of the receiver |
//! | `unique_name` | not proven, but the repository has only this one definition that fits |
//! | `ambiguous` | several fit, or the standard library has the name as well: all are listed |
//! | `unresolved` | no definition in the repository: a library, or a value that is called |

mod arity;
mod candidates;
mod definitions;
mod dialect;
mod extract;
mod facts;
mod grading;
mod import_syntax;
mod members;
mod modules;
mod name_lookup;
mod notes;
mod pages;
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
mod walk;

pub use pages::Pages;
pub use request::{CallGraphRequest, Direction, MAX_LIMIT};
pub use response::{CallGraphResponse, CallGraphStatus, Coverage, Edge, EdgeKind, Grade, Node, Note, Site};
pub(crate) use symbol_spec::place;
pub use walk::Xref;
