//! Repository, terminal and output streams of one invocation.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use codeweaver::query::Searcher;
use codeweaver::service::{Caller, Codebases, Patience, Progress};
use codeweaver_base::real_path;
use codeweaver_git::{GitError, Prefix, Repo};
use codeweaver_index::{Codebase, IndexError};
use codeweaver_mcp::one_call::Session;

use super::args::{ColorWhen, GlobalArgs};
use super::error::CliError;
use super::pager::Pager;
use super::render::{self, Paint};
use super::screen::Screen;
use super::stdout::Output;
use super::streams::Streams;
use super::surroundings::Surroundings;

/// Time a search waits for a damaged index to be repaired, and for a deleted one to be rebuilt. It is then
/// answered from the part that is complete.
pub const PATIENCE: Patience = Patience { repair: Duration::from_secs(60), rebuild: Duration::from_secs(10) };

/// A call of the command line: by this process, or in a daemon by a client.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The directory that arguments are relative to.
    pub current_dir: PathBuf,
    pub surroundings: Arc<Surroundings>,
    pub streams: Streams,
    /// Codebases that are open already.
    pub open: Option<OpenCodebases>,
}

/// The codebases of a daemon.
#[derive(Clone)]
pub struct OpenCodebases(pub Arc<Codebases>);

impl fmt::Debug for OpenCodebases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OpenCodebases")
    }
}

impl Invocation {
    /// The call of this process.
    pub fn of_process() -> Invocation {
        Invocation {
            current_dir: PathBuf::from("."),
            surroundings: Arc::new(Surroundings::of_process()),
            streams: Streams::Process,
            open: None,
        }
    }
}

/// Environment of a command.
#[derive(Debug, Clone)]
pub struct Context {
    /// Directory from which the repository is discovered.
    pub dir: PathBuf,
    /// Whether `dir` was given with `--project` or `--catalogue`.
    pub is_explicit: bool,
    /// Whether `dir` was given with `--catalogue`.
    pub is_catalogue: bool,
    /// Colours of stdout.
    pub paint: Paint,
    /// Colours of stderr.
    pub err_paint: Paint,
    /// The terminal that stdout is displayed on.
    pub screen: Screen,
    /// The pager of stdout.
    pub pager: Option<Pager>,
    /// Whether the user can be prompted: stdin and stderr are terminals, and `CI` is not set.
    pub is_interactive: bool,
    pub err_is_terminal: bool,
    pub debug: bool,
    pub surroundings: Arc<Surroundings>,
    pub streams: Streams,
    open: Option<OpenCodebases>,
}

impl Context {
    /// The environment of a command; `displays` is whether its output is for a person to read. The
    /// configuration of git is read only if such output goes to a terminal.
    pub fn new(args: &GlobalArgs, displays: bool, call: Invocation) -> Context {
        let Invocation { current_dir, surroundings, streams, open } = call;
        let around = surroundings.clone();
        let named = args.catalogue.as_ref().or(args.project.as_ref());

        let dir = match named {
            Some(named) if open.is_some() => current_dir.join(named),
            Some(named) => named.clone(),
            None => current_dir,
        };

        let plain = Context {
            dir,
            is_explicit: named.is_some(),
            is_catalogue: args.catalogue.is_some(),
            paint: Paint::off(),
            err_paint: Context::err_paint(args.color, &around),
            screen: Screen::default(),
            pager: None,
            is_interactive: around.is_interactive(),
            err_is_terminal: around.stderr_is_terminal,
            debug: args.debug,
            surroundings,
            streams,
            open,
        };

        if !displays || !around.is_displayed() {
            return Context { paint: paint(args.color, false, &around), ..plain };
        }

        let settings = plain.repo().map(|repo| repo.display_settings()).unwrap_or_default();
        let err_paint = if settings.is_plain { paint(args.color, false, &around) } else { plain.err_paint };

        Context {
            paint: paint(args.color, !settings.is_plain, &around),
            err_paint,
            screen: Screen::from_surroundings(&around),
            pager: if args.no_pager { None } else { Pager::choose(&settings, &around) },
            ..plain
        }
    }

    /// The colours of stderr, without the configuration of git.
    pub fn err_paint(color: ColorWhen, around: &Surroundings) -> Paint {
        paint(color, around.stderr_is_terminal, around)
    }

    /// The searcher of the codebase that contains the directory; in a daemon the one that is open already.
    /// Warnings about its settings are printed to stderr.
    pub fn searcher(&self) -> Result<Arc<Searcher>, CliError> {
        if self.open.is_none() {
            return Ok(Arc::new(Searcher::new(self.codebase()?)));
        }

        let searcher = self.open_searcher()?;
        for warning in &searcher.codebase.loaded.warnings {
            self.warn(warning);
        }
        Ok(searcher)
    }

    /// Returns whether a daemon has the codebase around the directory open, or opens it, and its store is in
    /// `store`.
    #[cfg(unix)]
    pub fn opens_store(&self, store: &std::path::Path) -> bool {
        self.open_searcher().is_ok_and(|searcher| searcher.codebase.layout.root() == store)
    }

    /// The searcher that a daemon has open, without warnings.
    fn open_searcher(&self) -> Result<Arc<Searcher>, IndexError> {
        let not_found = || GitError::NotARepository { path: self.dir.clone() };
        let Some(OpenCodebases(open)) = &self.open else { return Err(not_found().into()) };
        let dir = real_path::canonicalize(&self.dir).map_err(|_| not_found())?;
        open.open(&dir)
    }

    /// This command as a caller of a tool.
    pub fn session(&self) -> Session {
        Session {
            dir: self.dir.clone(),
            debug: self.debug,
            open: self.open.as_ref().map(|OpenCodebases(open)| open.clone()),
            is_cancelled: match &self.streams {
                Streams::Process => Arc::new(AtomicBool::new(false)),
                Streams::Client(client) => client.cancellation(),
            },
        }
    }

    /// Opens the codebase that contains the directory. Warnings about its settings are printed to stderr.
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

    /// Opens the codebase that contains the directory even if its settings are invalid or its model is
    /// missing (see [`Codebase::open_despite_settings`]).
    pub fn codebase_despite_settings(&self) -> Result<(Codebase, Option<IndexError>), CliError> {
        if !self.dir.is_dir() {
            return Err(CliError::no_such_directory(&self.dir));
        }
        Ok(Codebase::open_despite_settings(self.repo()?)?)
    }

    /// Opens the codebase that contains the directory. `--project` has precedence over `GIT_DIR`, which git
    /// sets for hooks.
    pub fn open(&self) -> Result<Codebase, IndexError> {
        let codebase = if self.is_explicit {
            Codebase::open_named(&self.dir, &[])?
        } else {
            Codebase::open(&self.dir, &[])?
        };
        self.check_catalogue(&codebase.repo)?;
        Ok(codebase)
    }

    /// Opens the repository that contains the directory.
    pub fn repo(&self) -> Result<Repo, GitError> {
        if self.open.is_some()
            && let Ok(searcher) = self.open_searcher()
        {
            return Ok(searcher.codebase.repo.clone());
        }

        let repo =
            if self.is_explicit { Repo::discover_named(&self.dir)? } else { Repo::discover(&self.dir)? };
        self.check_catalogue(&repo)?;
        Ok(repo)
    }

    fn check_catalogue(&self, repo: &Repo) -> Result<(), GitError> {
        match self.is_catalogue && !repo.is_catalogue() {
            true => Err(GitError::NotACatalogue { path: repo.git_dir().to_owned() }),
            false => Ok(()),
        }
    }

    /// The directory that paths are relative to: the current one, or that of `--project`.
    pub fn prefix(&self, codebase: &Codebase) -> Prefix {
        Prefix::new(&codebase.repo, &self.dir)
    }

    /// The repository path of the file that `typed` names, in `rev` or in the working tree.
    ///
    /// `typed` cannot be a file, is a directory of the working tree, or is a file relative to the root and
    /// not to the current directory.
    pub fn file(&self, codebase: &Codebase, typed: &str, rev: Option<&str>) -> Result<String, CliError> {
        let prefix = self.prefix(codebase);
        let path = prefix.file(typed)?;
        // Files of a revision are not on disk; the command reports a missing one itself.
        let Some(file) = prefix.on_disk(&path).filter(|_| rev.is_none()) else { return Ok(path) };

        if file.is_dir() {
            return Err(CliError::new(
                format!("'{typed}' is a directory"),
                "the command takes one file",
                "name a file in it; `search --path` takes directories",
            ));
        }

        match prefix.misplaced(typed) {
            Some(from_root) => Err(CliError::new(
                format!("there is no file {}", file.display()),
                "paths are relative to the current directory",
                format!("{from_root} names the file from the root"),
            )),
            None => Ok(path),
        }
    }

    /// Stdout, through the pager if there is one.
    pub fn out(&self) -> Output {
        Output::new(self.streams.clone(), self.pager.clone(), self.err_paint)
    }

    /// Prints a warning line to stderr. Write errors on stderr are ignored.
    pub fn warn(&self, message: &str) {
        self.note(&render::warning(self.err_paint, message));
    }

    /// Prints a line without a label to stderr. Write errors on stderr are ignored.
    pub fn note(&self, message: &str) {
        self.streams.err(format!("{message}\n").as_bytes());
    }
}

/// The colours for an option; `auto` is whether stdout is a terminal that should have them.
fn paint(color: ColorWhen, auto: bool, around: &Surroundings) -> Paint {
    match color {
        ColorWhen::Always => Paint::on(),
        ColorWhen::Never => Paint::off(),
        ColorWhen::Auto => Paint::when(auto && terminal_supports_colour(around)),
    }
}

fn terminal_supports_colour(around: &Surroundings) -> bool {
    let is_without_colour = around.variable("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_without_colour || around.variable("TERM").is_some_and(|term| term == "dumb") {
        return false;
    }

    // A console of Windows understands escape sequences once it is told to, which this does.
    #[cfg(windows)]
    return crossterm::ansi_support::supports_ansi();
    #[cfg(not(windows))]
    true
}

impl Caller for Context {
    fn patience(&self, _: &Codebase) -> Patience {
        PATIENCE
    }

    fn is_stopped(&self) -> bool {
        self.streams.cancel().is_cancelled()
    }

    fn tell(&self, _: &Codebase, progress: Progress<'_>) {
        self.warn(&progress.to_string());
    }
}
