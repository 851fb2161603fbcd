//! The repository, the terminal and the streams of one invocation.

use super::args::{ColorWhen, GlobalArgs};
use super::error::CliError;
use super::render::{self, Paint};
use crate::git::{GitError, Repo};
use crate::index::{Codebase, IndexError};
use std::io::{BufWriter, IsTerminal, StdoutLock, Write};
use std::path::{Path, PathBuf};

/// What every verb needs to know of its surroundings.
#[derive(Debug, Clone)]
pub struct Context {
    /// Where the repository is looked for.
    pub dir: PathBuf,
    /// `--project` was given.
    pub is_named: bool,
    /// Colours of stdout, and of stderr.
    pub paint: Paint,
    pub err_paint: Paint,
    /// Both ends of a dialogue are there: a question can be asked.
    pub is_interactive: bool,
    pub err_is_terminal: bool,
    pub debug: bool,
}

impl Context {
    pub fn new(args: &GlobalArgs) -> Context {
        let paints = |is_terminal: bool| match args.color {
            ColorWhen::Always => Paint::on(),
            ColorWhen::Never => Paint::off(),
            ColorWhen::Auto => Paint::when(is_terminal && terminal_takes_colour()),
        };
        let (stdout, stderr) = (std::io::stdout().is_terminal(), std::io::stderr().is_terminal());
        Context {
            dir: args.project.clone().unwrap_or_else(|| PathBuf::from(".")),
            is_named: args.project.is_some(),
            paint: paints(stdout),
            err_paint: paints(stderr),
            is_interactive: std::io::stdin().is_terminal() && stderr && std::env::var_os("CI").is_none(),
            err_is_terminal: stderr,
            debug: args.debug,
        }
    }

    /// The codebase around the directory. What the settings ignore is said on stderr.
    pub fn codebase(&self) -> Result<Codebase, CliError> {
        if !self.dir.is_dir() {
            return Err(CliError::no_such_directory(&self.dir));
        }
        let codebase = self.open()?;
        for warning in &codebase.loaded.warnings {
            self.warn(warning);
        }
        Ok(codebase)
    }

    /// The codebase around the directory, and nothing else: `--project` means what it says, also in a hook, where git has
    /// set `GIT_DIR`.
    pub fn open(&self) -> Result<Codebase, IndexError> {
        if self.is_named { Codebase::open_named(&self.dir, &[]) } else { Codebase::open(&self.dir, &[]) }
    }

    /// The repository around the directory.
    pub fn repo(&self) -> Result<Repo, GitError> {
        if self.is_named { Repo::discover_named(&self.dir) } else { Repo::discover(&self.dir) }
    }

    /// A path as the user typed it → relative to the root of the repository. What lies below the current directory comes
    /// first, as everywhere in git; anything else is taken as relative to the root already.
    pub fn repository_path(&self, codebase: &Codebase, typed: &str) -> String {
        let root = codebase.root();
        let here = std::fs::canonicalize(&self.dir).unwrap_or_else(|_| root.clone());
        let below = |path: PathBuf| Some(path.strip_prefix(&root).ok()?.to_string_lossy().into_owned());
        let from_here = here.join(typed.trim_start_matches("./"));
        if from_here.exists() || Path::new(typed).is_absolute() {
            return below(from_here).unwrap_or_else(|| typed.to_owned());
        }
        typed.to_owned()
    }

    pub fn out(&self) -> BufWriter<StdoutLock<'static>> {
        BufWriter::new(std::io::stdout().lock())
    }

    /// One line on stderr; an unwritable stderr is nobody's problem.
    pub fn warn(&self, message: &str) {
        let label = self.err_paint.warning("warning:");
        let _ = writeln!(std::io::stderr(), "{label} {}", render::safe(message));
    }

    /// One line on stderr for a person.
    pub fn note(&self, message: &str) {
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}

/// `path` as seen from the current directory if it lies below it.
pub fn shown_path(path: &Path) -> String {
    let below = std::env::current_dir().ok().and_then(|cwd| Some(path.strip_prefix(cwd).ok()?.to_path_buf()));
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Some(below) => render::safe(&below.to_string_lossy()).into_owned(),
        None => render::safe(&path.to_string_lossy()).into_owned(),
    }
}

fn terminal_takes_colour() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
