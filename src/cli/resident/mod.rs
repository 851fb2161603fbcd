//! The command line on both sides of the daemon.
//!
//! * [`client`]: a command asks the daemon before it does anything itself.
//! * [`handler`]: the daemon runs the command with the client's surroundings, on codebases that stay open.
//! * [`auto`]: a command that found no daemon starts one, if the user wants that.

#[cfg(unix)]
pub mod auto;
#[cfg(unix)]
pub mod client;
#[cfg(unix)]
pub mod handler;

use std::path::Path;

use serde_json::Value;

/// Version of this program, the first part of its identity.
#[cfg(unix)]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Output for the pager of the client.
#[cfg(unix)]
#[derive(serde::Serialize, serde::Deserialize)]
struct Paged {
    pager: super::pager::Pager,
    text: String,
    /// Colours of a warning that there is no such pager.
    err_paint: super::render::Paint,
}

/// The report of the daemon of the store directory `store` about itself; `None` if none runs, or it does not
/// answer.
#[cfg(unix)]
pub fn status(store: &Path) -> Option<Value> {
    use codeweaver_daemon::protocol::Message;
    use codeweaver_daemon::{Address, client};

    client::control(&Address::of_store(store), &Message::Status).ok().flatten()
}

/// There is none on this system.
#[cfg(not(unix))]
pub fn status(_: &Path) -> Option<Value> {
    None
}
