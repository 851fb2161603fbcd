//! The automatic start of a daemon, with `daemon.auto`.

use codeweaver_base::process;
use codeweaver_config::{Settings, Sources};
use codeweaver_daemon::Address;

/// Starts a daemon for the repository around the current directory if the user has set `daemon.auto`, the
/// repository has a store and no daemon runs.
///
/// Only the user can set it, so no file of the repository is read. A daemon that cannot start leaves the next
/// command as it is without one.
pub fn start() {
    let wanted = Settings::load(&Sources::discover(None)).is_ok_and(|loaded| loaded.settings.daemon.auto);
    if !wanted {
        return;
    }

    let Ok(directory) = std::env::current_dir() else { return };
    let Some(address) = Address::from_directory(&directory) else { return };
    if address.connect().is_ok() {
        return;
    }

    let started = std::env::current_exe().and_then(|program| {
        let none: [(&str, &str); 0] = [];
        process::spawn_detached(&program, &["daemon", "run", "--detached"].map(Into::into), &directory, none)
    });
    if let Err(error) = started {
        tracing::warn!(component = "daemon", operation = "start", %error, "it could not be started");
    }
}
