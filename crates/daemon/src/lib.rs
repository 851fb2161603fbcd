//! The daemon: a resident process of one repository that answers commands over a socket.
//!
//! ```text
//! command ─► client ─► socket in .codeweaver/daemon/ ─► server ─► handler (the command line)
//!    ▲                                                               │
//!    └─── stdout, stderr, exit code ◄── replies ◄────────────────────┘
//! ```
//!
//! A command that finds no daemon, or one that does not serve it, does the work itself. So the daemon changes
//! how long an answer takes, and never what it says: it answers only a process of the same user with the same
//! program file, the same relevant environment and the same view of the file system ([`identity`]), and the
//! handler declines what depends on anything else of the process that was called.
//!
//! * [`address`]: where the socket is, with its lock; [`identity`]: what must be equal on both sides.
//! * [`protocol`]: messages and frames.
//! * [`client`]: one request; [`server`]: the loop that accepts them; [`replies`]: the output of one request.
//!
//! Commands and their output are not known here. Unix only: elsewhere, this crate is empty.
#![cfg(unix)]

pub mod address;
pub mod client;
mod error;
pub mod identity;
pub mod protocol;
pub mod replies;
pub mod server;

pub use address::Address;
pub use error::DaemonError;
