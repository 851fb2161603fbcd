//! Clients that have the server in their configuration, and checks of the command that they start.
//!
//! Only JSON and TOML configurations are read. The file of a project is untrusted: the program it names is
//! looked up but never started. Among the user's own entries, only programs called `git-codeweaver` are
//! started, with `--version`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use codeweaver_base::real_path;

use super::Scope;
use super::entry::NAME;
use super::places::Environment;
use super::table::{CLIENTS, Client};

/// Maximum size of a configuration.
const MAX_BYTES: u64 = 8 << 20;
/// Time within which a program must print its version.
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// An entry of the server in a configuration.
#[derive(Debug)]
pub struct Registered {
    pub client: &'static Client,
    pub scope: Scope,
    pub file: PathBuf,
    /// The command with its arguments, or the reason for which the file cannot be parsed.
    pub command: Result<Vec<String>, String>,
}

/// Finds the entries in the user's own files and in those of the project at `root`.
pub fn find(environment: &Environment, root: Option<&Path>) -> Vec<Registered> {
    let mut found = Vec::new();
    for client in &CLIENTS {
        let Some(format) = client.format else { continue };
        let user = client.user.iter().filter_map(|place| environment.find(place));
        let user = user.map(|file| (Scope::User, file));
        let project = root.into_iter().flat_map(|root| client.project.iter().map(|file| root.join(file)));

        for (scope, file) in user.chain(project.map(|file| (Scope::Project, file))) {
            let Some(text) = read(&file) else { continue };
            let command = match format.command(&text, client.tables) {
                Ok(None) => continue,
                Ok(Some(command)) => Ok(command),
                // An invalid file that does not contain the name of the server is ignored.
                Err(_) if !text.contains(NAME) => continue,
                Err(error) => Err(error.to_string()),
            };

            found.push(Registered { client, scope, file, command });
        }
    }
    found
}

fn read(file: &Path) -> Option<String> {
    let metadata = fs::metadata(file).ok().filter(|metadata| metadata.is_file())?;
    (metadata.len() <= MAX_BYTES)
        .then(|| fs::read(file).ok())?
        .and_then(|bytes| String::from_utf8(bytes).ok())
}

impl Registered {
    /// The reason for which the client cannot use the entry; `None` if it can.
    pub fn problem(&self, environment: &Environment) -> Option<String> {
        let words = match &self.command {
            Ok(words) => words,
            Err(why) => return Some(format!("its configuration cannot be read: {why}")),
        };

        let Some((program, args)) = words.split_first() else {
            return Some("its entry has no command".to_owned());
        };

        let path = match Path::new(program) {
            path if path.is_absolute() => path.to_path_buf(),
            path if path.components().count() > 1 => {
                return Some(format!(
                    "it starts {program}, which is relative to where the client is started"
                ));
            }
            _ => match environment.program(program) {
                Some(path) => path,
                None => return Some(format!("it starts {program}, which is not on the PATH")),
            },
        };

        if !is_program(&path) {
            return Some(format!("it starts {program}, but there is no such program"));
        }
        if !args.iter().any(|word| word == "mcp") {
            return Some(format!("it starts {}, which does not start the server", words.join(" ")));
        }

        let is_ours = path.file_stem().is_some_and(|stem| stem == NAME);
        let is_this = std::env::current_exe().and_then(real_path::canonicalize).ok()
            == real_path::canonicalize(&path).ok();

        // Starting the program is the slowest check, and only safe for a program that the user has
        // configured.
        if self.scope == Scope::User && is_ours && !is_this && !prints_version(&path) {
            return Some(format!("it starts {program}, which does not run"));
        }
        None
    }

    /// The command that fixes the entry.
    pub fn fix(&self) -> String {
        let scope = if self.scope == Scope::Project { " --scope project" } else { "" };
        match self.command {
            Ok(_) => format!("git codeweaver mcp --install {}{scope}", self.client.id),
            Err(_) => {
                format!("correct the file, then git codeweaver mcp --install {}{scope}", self.client.id)
            }
        }
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// True if the program succeeds with `--version` within [`TIMEOUT`].
fn prints_version(path: &Path) -> bool {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };

    let started = Instant::now();

    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if started.elapsed() < TIMEOUT => std::thread::sleep(POLL),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
