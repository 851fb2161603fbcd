//! Which clients have the server in their configuration, and whether what they would start is there and runs (U5).
//!
//! Reads only. The file of a project may come from anyone, so what it names is looked for and never started; nothing but
//! this very program is started in any case.

use super::Scope;
use super::entry::NAME;
use super::places::Surroundings;
use super::table::{CLIENTS, Client};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No configuration is as long.
const MAX_BYTES: u64 = 8 << 20;
/// A program that does not say its version within this time does not run.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(10);

/// The entry of the server in one file.
#[derive(Debug)]
pub struct Registered {
    pub client: &'static Client,
    pub scope: Scope,
    pub file: PathBuf,
    /// What the client starts, with its arguments; why the entry cannot be told if it cannot.
    pub command: Result<Vec<String>, String>,
}

/// The entries in the user's own files and, below `root`, in those of a project.
pub fn find(surroundings: &Surroundings, root: Option<&Path>) -> Vec<Registered> {
    let mut found = Vec::new();
    for client in &CLIENTS {
        let user = client.user.iter().filter_map(|place| surroundings.find(place));
        let user = user.map(|file| (Scope::User, file));
        let project = root.into_iter().flat_map(|root| client.project.iter().map(|file| root.join(file)));
        for (scope, file) in user.chain(project.map(|file| (Scope::Project, file))) {
            let Some(text) = read(&file) else { continue };
            let command = match client.format.command(&text, client.tables) {
                Ok(None) => continue,
                Ok(Some(command)) => Ok(command),
                // What cannot be read and does not even name the server is nothing of ours.
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
    /// Why the client cannot use the entry; `None` if it can.
    pub fn problem(&self, surroundings: &Surroundings) -> Option<String> {
        let words = match &self.command {
            Ok(words) => words,
            Err(why) => return Some(format!("its file cannot be read: {why}")),
        };
        let Some((program, args)) = words.split_first() else {
            return Some("its entry names no command".to_owned());
        };
        let path = match Path::new(program) {
            path if path.is_absolute() => path.to_path_buf(),
            path if path.components().count() > 1 => {
                return Some(format!("it starts {program}, which depends on where the client is started"));
            }
            _ => match surroundings.program(program) {
                Some(path) => path,
                None => return Some(format!("it starts {program}, which is not on the PATH")),
            },
        };
        if !is_program(&path) {
            return Some(format!("it starts {program}, and there is no such program"));
        }
        if !args.iter().any(|word| word == "mcp") {
            return Some(format!("it starts {}, which does not serve", words.join(" ")));
        }
        let is_ours = path.file_stem().is_some_and(|stem| stem == NAME);
        let is_this = std::env::current_exe().and_then(fs::canonicalize).ok() == fs::canonicalize(&path).ok();
        if self.scope == Scope::User && is_ours && !is_this && !says_its_version(&path) {
            return Some(format!("it starts {program}, which does not run"));
        }
        None
    }

    /// The command that sets it right.
    pub fn fix(&self) -> String {
        let scope = if self.scope == Scope::Project { " --scope project" } else { "" };
        match self.command {
            Ok(_) => format!("git codeweaver mcp --install {}{scope}", self.client.id),
            Err(_) => format!("mend the file, then git codeweaver mcp --install {}{scope}", self.client.id),
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

fn says_its_version(path: &Path) -> bool {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let started = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if started.elapsed() < PATIENCE => std::thread::sleep(POLL),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return false;
            }
        }
    }
}
