//! The repositories that a session may use.
//!
//! Calls name repositories by `path`, and an agent may follow instructions in a text that it has read. A
//! session may therefore use, without asking:
//!
//! * the repository in which the server was started, with all of its worktrees, and repositories below that
//!   directory, unless it is the home directory or above it;
//! * repositories in the workspace folders that the client announces (roots), and their linked worktrees;
//! * repositories that the user has allowed by the setting `mcp.allow`.
//!
//! Everything else needs the consent of the user, which is asked for if the client supports that. A client
//! that announces no folders may also read repositories that are already indexed, if it names them by a plain
//! path: their owner has indexed them. Nothing outside is ever indexed, updated on demand or deleted without
//! consent.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use gix::glob::wildmatch;

use codeweaver_base::{real_path, sync};
use codeweaver_git::{ByteSlice as _, Repo};
use codeweaver_index::Codebase;
use codeweaver_store::layout::Trust as StoreTrust;

use super::checkout::checkout_of;
use super::error::{ErrorKind, ServiceError};

/// Maximum time that a call waits for the client to name its workspace folders.
const PATIENCE: Duration = Duration::from_secs(3);

/// The use that a call makes of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Reads its contents.
    Read,
    /// Builds, updates or deletes its index.
    Manage,
}

impl Purpose {
    fn verb(self) -> &'static str {
        match self {
            Purpose::Read => "read",
            Purpose::Manage => "index",
        }
    }
}

/// The way in which a call names a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// The path leads where it says.
    Plain,
    /// The path has `..` or leads elsewhere through a symbolic link, so a reader of the call cannot see which
    /// repository is meant.
    Indirect,
}

/// The answer of the client about its workspace folders.
#[derive(Default)]
enum Announced {
    /// The client cannot name any.
    #[default]
    Nothing,
    /// The client has been asked and has not answered yet.
    Awaited,
    Folders(Vec<PathBuf>),
}

/// The repositories that a session may use.
pub struct Trust {
    /// The directory in which the server was started.
    start: PathBuf,
    announced: Mutex<Announced>,
    has_answered: Condvar,
    /// The common git directory of the repository at `start`, once there is one.
    own: Mutex<Option<PathBuf>>,
    /// Answers of the user, by common git directory and purpose.
    answers: Mutex<HashMap<(PathBuf, Purpose), bool>>,
}

/// A repository that may not be used.
pub struct Refusal {
    repository: PathBuf,
    common_dir: PathBuf,
    purpose: Purpose,
    why: Box<Why>,
    /// Value of `mcp.allow` that allows it, to be put between single quotes.
    setting: String,
}

/// The reason of a refusal, as a part of a sentence about the repository.
#[derive(Debug, thiserror::Error)]
enum Why {
    /// The user was asked before.
    #[error("the user has declined it")]
    Declined,
    /// It is outside of the directory in which the server was started, and of these workspace folders, of
    /// which there is at least one.
    #[error("it is outside of {} and of the workspace ({})", start.display(), listed(folders))]
    OutsideWorkspace { start: PathBuf, folders: Vec<PathBuf> },
    /// It is outside of that directory, and has no index that could be read.
    #[error("it is outside of {} and not indexed", start.display())]
    NotIndexed { start: PathBuf },
    /// The path of the call looks like one in that directory and leads out of it.
    #[error("the path leads out of {}, by `..` or a symbolic link", start.display())]
    Indirect { start: PathBuf },
    /// It is outside of that directory.
    #[error("it is outside of {}, where this server was started", start.display())]
    Outside { start: PathBuf },
}

impl Trust {
    /// The repositories of a session of a server that was started in the directory `start`.
    pub fn new(start: &Path) -> Trust {
        Trust {
            start: canonical(start),
            announced: Mutex::default(),
            has_answered: Condvar::new(),
            own: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    /// Records that the client is being asked for its workspace folders. Folders that it named earlier stay
    /// valid until it answers.
    pub fn await_folders(&self) {
        let mut announced = sync::lock(&self.announced);
        if matches!(*announced, Announced::Nothing) {
            *announced = Announced::Awaited;
        }
    }

    /// Records the client's answer: its folders, or `None` if it cannot name them after all.
    pub fn announce(&self, folders: Option<Vec<PathBuf>>) {
        *sync::lock(&self.announced) = match folders {
            None => Announced::Nothing,
            Some(folders) => Announced::Folders(folders.iter().map(|folder| canonical(folder)).collect()),
        };

        self.has_answered.notify_all();
    }

    /// Decides whether `codebase`, which the call names in this way, may be used for `purpose`. Waits for the
    /// client's folders if they matter.
    pub fn check(&self, codebase: &Codebase, purpose: Purpose, naming: Naming) -> Result<(), Refusal> {
        let place = Place::new(codebase);

        let allow = &codebase.settings.mcp.allow;

        if self.is_own(&place)
            || self.is_below_start(&place)
            || allow.iter().any(|value| is_allowed(value, &place))
        {
            return Ok(());
        }

        let folders = self.folders();
        if folders.iter().flatten().any(|folder| place.belongs_to(folder)) {
            return Ok(());
        }

        // The store is looked at last, since that reads files.
        if folders.is_none()
            && purpose == Purpose::Read
            && naming == Naming::Plain
            && matches!(codebase.layout.trust(), Ok(StoreTrust::Ours))
        {
            return Ok(());
        }

        let answer = sync::lock(&self.answers).get(&(place.common_dir.clone(), purpose)).copied();
        if answer == Some(true) {
            return Ok(());
        }
        Err(self.refusal(place, (purpose, naming), folders, answer, allow))
    }

    /// Records the user's answer about a refused repository. Permission to index includes reading.
    pub fn remember(&self, refusal: &Refusal, is_allowed: bool) {
        let mut answers = sync::lock(&self.answers);
        answers.insert((refusal.common_dir.clone(), refusal.purpose), is_allowed);
        if is_allowed {
            answers.insert((refusal.common_dir.clone(), Purpose::Read), true);
        }
    }

    /// Returns whether `codebase` is of another repository than that of the server. If the server is in none,
    /// a codebase is of another one only if its path leads elsewhere than it says.
    pub fn is_elsewhere(&self, codebase: &Codebase, naming: Naming) -> bool {
        let is_own = self.is_own(&Place::new(codebase));
        let has_own = sync::lock(&self.own).is_some();
        !is_own && (has_own || naming == Naming::Indirect)
    }

    fn refusal(
        &self,
        place: Place,
        (purpose, naming): (Purpose, Naming),
        folders: Option<Vec<PathBuf>>,
        answer: Option<bool>,
        allow: &[String],
    ) -> Refusal {
        let start = self.start.clone();
        let why = match (answer, folders) {
            (Some(false), _) => Why::Declined,
            (_, Some(folders)) if !folders.is_empty() => Why::OutsideWorkspace { start, folders },
            (_, None) if naming == Naming::Indirect => Why::Indirect { start },
            (_, None) if purpose == Purpose::Read => Why::NotIndexed { start },
            _ => Why::Outside { start },
        };

        let repository = place.root;
        let values = allow.iter().cloned().chain([repository.to_string_lossy().into_owned()]);
        // The user pastes the value between single quotes of a shell.
        let setting = serde_json::Value::from_iter(values).to_string().replace('\'', r"'\''");
        Refusal { repository, common_dir: place.common_dir, purpose, why: Box::new(why), setting }
    }

    /// The folders of the client; `None` if it cannot name any.
    pub fn folders(&self) -> Option<Vec<PathBuf>> {
        let announced = sync::lock(&self.announced);
        let waited = self
            .has_answered
            .wait_timeout_while(announced, PATIENCE, |announced| matches!(announced, Announced::Awaited));
        let (announced, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);

        match &*announced {
            Announced::Folders(folders) => Some(folders.clone()),
            // Without an answer in time, the call goes on as if the client had no folders.
            Announced::Nothing | Announced::Awaited => None,
        }
    }

    /// Returns whether this is a worktree of the repository in which the server was started.
    fn is_own(&self, place: &Place) -> bool {
        let mut own = sync::lock(&self.own);

        // The repository may be created after the start of the server.
        if own.is_none() {
            *own = Repo::discover_named(&self.start).ok().map(|repo| canonical(repo.common_dir()));
        }

        own.as_ref() == Some(&place.common_dir)
    }

    /// Returns whether the repository is below the start directory and that is a workspace. Clients start
    /// servers in the workspace, or, without one, in the home directory or the root.
    fn is_below_start(&self, place: &Place) -> bool {
        let home = std::env::home_dir().map(|home| canonical(&home));
        let is_workspace =
            self.start.parent().is_some() && home.is_none_or(|home| !home.starts_with(&self.start));
        is_workspace && place.belongs_to(&self.start)
    }
}

impl Refusal {
    /// The question that is shown to the user.
    pub fn question(&self) -> String {
        let repository = self.repository.display();
        let verb = self.purpose.verb();
        format!(
            "May git-codeweaver {verb} the repository {repository} for this session? It was named by the agent, and {}.",
            self.why
        )
    }

    /// Returns whether the user was asked before and has declined.
    pub fn is_final(&self) -> bool {
        matches!(*self.why, Why::Declined)
    }
}

impl From<Refusal> for ServiceError {
    fn from(refusal: Refusal) -> ServiceError {
        let Refusal { repository, purpose, why, setting, .. } = refusal;
        let what = format!("this session may not {} {}", purpose.verb(), repository.display());
        let fix = format!(
            "the user can allow it: add the folder to the workspace, or run \
             `git codeweaver config set --user mcp.allow '{setting}'`; it holds from the next call on"
        );
        ServiceError::new(ErrorKind::NotAllowed, what, why.to_string(), fix)
    }
}

/// The location of a codebase. All paths are canonical.
struct Place {
    root: PathBuf,
    main_root: Option<PathBuf>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    is_linked: bool,
}

impl Place {
    fn new(codebase: &Codebase) -> Place {
        let repo = &codebase.repo;
        Place {
            root: canonical(&codebase.root()),
            main_root: repo.main_root().map(|root| canonical(&root)),
            git_dir: canonical(repo.git_dir()),
            common_dir: canonical(repo.common_dir()),
            is_linked: repo.is_linked(),
        }
    }

    /// Returns whether the codebase is at or below `folder`, or contains `folder`, or its main worktree is at
    /// or below it.
    fn belongs_to(&self, folder: &Path) -> bool {
        // A linked worktree belongs to the folder of its main worktree.
        if self.main_root.as_ref().is_some_and(|main| self.is_linked && main.starts_with(folder)) {
            return true;
        }

        if folder.starts_with(&self.root) {
            // A folder below the root may be a repository of its own, or in one.
            return folder == self.root || checkout_of(folder) == Some(&*self.root);
        }

        self.root.starts_with(folder) && self.has_own_git_dir(folder)
    }

    /// Returns whether the git directory is that of this working tree: a `.git` file could name that of any
    /// other repository.
    fn has_own_git_dir(&self, folder: &Path) -> bool {
        if self.git_dir.starts_with(folder) {
            return true;
        }
        if !self.is_linked {
            return false;
        }

        // A linked worktree has its git directory elsewhere, which names the worktree in turn.
        let backlink = std::fs::read_to_string(self.git_dir.join("gitdir")).unwrap_or_default();
        canonical(Path::new(backlink.trim())) == canonical(&self.root.join(".git"))
    }
}

/// Returns whether a value of `mcp.allow` allows `place`: a directory with all below it, in which `*` stands
/// for a part of a name.
fn is_allowed(value: &str, place: &Place) -> bool {
    let expanded = match (value.strip_prefix("~"), std::env::home_dir()) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            format!("{}{rest}", home.display())
        }
        _ => value.to_owned(),
    };

    let pattern = Path::new(&expanded);
    if !pattern.is_absolute() {
        return false;
    }

    if place.root.starts_with(pattern) || place.root.starts_with(canonical(pattern)) {
        return true;
    }
    let pattern = expanded.trim_end_matches('/').as_bytes().as_bstr();
    place.root.ancestors().any(|dir| matches_glob(pattern, dir))
}

fn matches_glob(pattern: &codeweaver_git::BStr, dir: &Path) -> bool {
    let mode = wildmatch::Mode::NO_MATCH_SLASH_LITERAL;
    gix::glob::wildmatch(pattern, dir.as_os_str().as_encoded_bytes().as_bstr(), mode)
}

/// The paths of `folders`, separated by commas.
fn listed(folders: &[PathBuf]) -> String {
    let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    folders.join(", ")
}

/// Returns `path` without symbolic links, or as an absolute path if it does not exist.
fn canonical(path: &Path) -> PathBuf {
    real_path::canonicalize(path)
        .or_else(|_| std::path::absolute(path))
        .unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use codeweaver_testkit::TestRepo;

    use super::*;

    /// The reason names folders, whose names may have any words.
    #[test]
    fn only_the_answer_of_the_user_is_final() {
        let (workspace, repo) = (TestRepo::empty_dir(), TestRepo::with_files(&[("a.txt", "x\n")]));
        let start = workspace.path("declined");
        std::fs::create_dir(&start).unwrap();
        let trust = Trust::new(&start);
        let codebase = Codebase::open(repo.root(), &[]).unwrap();

        let refusal = trust.check(&codebase, Purpose::Manage, Naming::Plain).unwrap_err();
        assert!(refusal.question().contains("declined") && !refusal.is_final());

        trust.remember(&refusal, false);
        assert!(trust.check(&codebase, Purpose::Manage, Naming::Plain).unwrap_err().is_final());
    }
}
