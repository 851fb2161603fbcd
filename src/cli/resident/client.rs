//! The client: a command that a daemon answers needs no repository, no settings and no parser of arguments.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use codeweaver_daemon::Address;
use codeweaver_daemon::client::{self, Outcome, Sink};
use codeweaver_daemon::identity::{Directory, Identity};
use codeweaver_daemon::protocol::Call;

use super::{Paged, VERSION};
use crate::cli::args::ColorWhen;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::stdout;
use crate::cli::streams::Streams;
use crate::cli::surroundings::Surroundings;

/// Commands that a daemon may run. Whether it does so for these arguments is decided there.
const COMMANDS: [&str; 6] = ["search", "tool", "similar", "read", "outline", "graph"];
/// Variable with which a command asks no daemon: `off`.
const SWITCH: &str = "CODEWEAVER_DAEMON";
/// Messages are logged by the process that was called.
const LOG: &str = "CODEWEAVER_LOG";

/// Has the daemon of the repository around the current directory run the command of `arguments`. `None` if
/// this process is to run it: there is no daemon, or it does not run this command.
pub fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let is_served = arguments.get(1).is_some_and(|first| COMMANDS.iter().any(|command| first == command));
    let is_logged = std::env::var_os(LOG).is_some_and(|value| !value.is_empty());
    // Standard input is read by this process.
    if !is_served || is_off() || is_logged || arguments.iter().any(|argument| argument == "-") {
        return None;
    }

    let directory = std::env::current_dir().ok()?;
    let address = Address::from_directory(&directory)?;
    let surroundings = Surroundings::of_process();
    let call = Call {
        identity: Identity::of_process(VERSION).ok()?,
        directory: Directory::from_path(&directory).ok()?,
        arguments: arguments.to_vec(),
        surroundings: serde_json::to_value(&surroundings).ok()?,
    };

    let failure = match client::run(&address, call, &mut Terminal(Streams::Process)) {
        Outcome::Exited(code) => return Some(ExitCode::from(code)),
        Outcome::NotServed(_) => return None,
        Outcome::Unwritable(error) => CliError::from(error),
        Outcome::Lost(error) => CliError::new(
            "the answer is incomplete",
            format!("the daemon ended while it answered: {error}"),
            "run the command again",
        ),
    };
    Some(failure.report(&Streams::Process, Context::err_paint(ColorWhen::Auto, &surroundings), false))
}

/// Returns whether the user wants no daemon for this command.
pub fn is_off() -> bool {
    std::env::var_os(SWITCH).is_some_and(|value| value == "off")
}

/// The streams of this process.
struct Terminal(Streams);

impl Sink for Terminal {
    fn out(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.out(bytes)
    }

    fn err(&mut self, bytes: &[u8]) {
        self.0.err(bytes);
    }

    fn page(&mut self, payload: &[u8]) -> io::Result<()> {
        let Paged { pager, text, err_paint } = serde_json::from_slice(payload)?;
        stdout::show(&self.0, &pager, &text, err_paint)
    }
}
