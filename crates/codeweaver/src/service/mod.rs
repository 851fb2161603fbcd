//! Service: requests to open codebases, for every front-end in the same way.
//!
//! ```text
//! front-end ─► codebases (trust) ─► requests (gate, repair, retry) ─► query
//!     ▲                                          │
//!     └────────── answer, or ServiceError ◄──────┘
//! ```
//!
//! The command line, the MCP server and the HTTP server parse requests and render answers. Everything that
//! they have in common is here, so that the same request has the same answer or the same error everywhere:
//!
//! * [`codebases`]: open codebases by path, opened at the first request and cached; [`checkout`]: the
//!   checkout around a directory.
//! * [`trust`]: the repositories that a session may use.
//! * [`gate`]: whether a codebase may answer, and the reason if it may not.
//! * [`requests`]: runs queries; an index that is lost or damaged is repaired, and the query is run again.
//!   `small` says which repositories a request may index.
//! * [`caller`]: a front-end as it is seen from here: how long it waits, and how it is told about
//!   [`progress`]; [`waits`]: what it was told, for its answer.
//! * [`follow_up()`]: updates that an answer shows to be due.
//! * [`error`]: an error with its kind, its reason and its remedy; `causes`: made from the errors of the
//!   libraries.
//! * [`request_id`]: ids of requests in the log; [`sender`]: whether a request over HTTP is meant for a
//!   server.

pub mod caller;
mod causes;
pub mod checkout;
pub mod codebases;
pub mod error;
mod follow_up;
pub mod gate;
pub mod progress;
pub mod request_id;
pub mod requests;
pub mod sender;
mod small;
pub mod trust;
pub mod waits;

pub use caller::{Caller, Patience};
pub use causes::root_cause;
pub use checkout::repositories_below;
pub use codebases::Codebases;
pub use error::{ErrorKind, Fix, ServiceError};
pub use follow_up::follow_up;
pub use progress::Progress;
pub use request_id::RequestId;
pub use requests::Requests;
pub use waits::Waits;
