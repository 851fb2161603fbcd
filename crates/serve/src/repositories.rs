//! Repositories: the members of a catalogue, and the access of clients to them.

use std::ffi::OsString;
use std::io;
use std::process::Child;

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use codeweaver_index::catalogue::{Catalogue, CatalogueError, Listed};
use codeweaver_index::{Codebase, background, updater};

use super::failure::Failure;
use super::job::{Job, Work};

/// The repositories that are served.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Repositories {
    /// Whether there can be more than one.
    pub is_catalogue: bool,
    /// The repositories by name.
    #[schemars(description = "By name.")]
    pub repositories: Vec<Repository>,
}

/// A repository that is served.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct Repository {
    pub name: String,
    /// `current`, `behind`, `empty`, `missing`, `no_ref` or `unreadable`.
    pub state: &'static str,
    /// Hex oid of the commit that is indexed.
    pub commit: Option<String>,
    /// The branch or tag that is indexed, or `HEAD`.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Number of indexed files.
    pub files: u64,
    /// Number of files that are not indexed.
    pub skipped: u64,
    /// When the indexed commit last changed, in seconds since 1970; 0 if unknown.
    pub updated: u64,
    /// Why the repository is not current; empty if it is.
    pub error: String,
}

impl From<Listed> for Repository {
    fn from(listed: Listed) -> Repository {
        Repository {
            name: listed.name,
            state: listed.state.name(),
            commit: listed.commit,
            reference: listed.reference,
            files: listed.files,
            skipped: listed.skipped,
            updated: listed.updated,
            error: listed.error,
        }
    }
}

/// `GET /api/repositories`
pub async fn list(job: Job) -> Result<Response, Failure> {
    job.json(repositories).await
}

/// The repositories that the client may see.
pub fn repositories(work: &Work) -> Result<Repositories, Failure> {
    let is_catalogue = work.app.is_catalogue;

    if is_catalogue {
        let listed = catalogue(work.codebase())?.list().map_err(Failure::internal)?;
        let repositories = listed.into_iter().filter(|member| work.access.allows(&member.name));
        return Ok(Repositories { is_catalogue, repositories: repositories.map(Repository::from).collect() });
    }

    let status =
        work.app.status(work.codebase()).ok_or_else(|| Failure::internal("the status cannot be read"))?;
    let repository = Repository {
        name: work.app.name.clone(),
        state: if status.current { "current" } else { "behind" },
        commit: status.indexed.as_ref().and_then(|place| place.commit.clone()),
        reference: status.head.reference.clone().unwrap_or_else(|| "HEAD".to_owned()),
        files: status.files,
        skipped: status.skipped.values().sum(),
        updated: status.last_run.as_ref().map_or(0, |run| run.finished_seconds),
        error: status.last_failure.clone().unwrap_or_default(),
    };

    Ok(Repositories { is_catalogue, repositories: vec![repository] })
}

/// `POST /api/update`: requests an update of the index, as a hook does after a push. `repo` names members of
/// a catalogue; by default, all are updated.
pub async fn update(job: Job) -> Result<Response, Failure> {
    job.run(|work| {
        let codebase = work.codebase();
        if work.app.is_catalogue {
            let members = catalogue(codebase)?.members().map_err(Failure::internal)?;
            let names: Vec<&str> = work.params.all("repo").collect();

            if names.is_empty() {
                work.check_all("an update of all repositories")?;
            }

            let unknown =
                names.iter().find(|&&name| members.get(name).is_none() || !work.access.allows(name));
            if let Some(name) = unknown {
                return Err(Failure::not_found(format!("there is no repository {name:?}")));
            }

            return sync(codebase, &names).map_err(Failure::internal);
        }

        updater::request_update(codebase).map_err(Failure::internal)?;
        work.update_if_due(true);

        Ok(())
    })
    .await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

/// Starts a process that syncs the members of a catalogue with these names; all if `names` is empty.
///
/// # Errors
/// The process cannot be started.
pub fn sync(codebase: &Codebase, names: &[&str]) -> io::Result<()> {
    background::spawn(codebase, &sync_arguments(names)).map(drop)
}

/// As [`sync`] of all members, with the message of its error on the stderr of the process.
///
/// # Errors
/// As [`sync`].
pub fn start_sync(codebase: &Codebase) -> io::Result<Child> {
    background::start(codebase, &sync_arguments(&[]))
}

fn sync_arguments(names: &[&str]) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["catalogue", "sync", "--quiet", "--"].map(OsString::from).into();
    args.extend(names.iter().map(OsString::from));
    args
}

fn catalogue(codebase: &Codebase) -> Result<Catalogue, Failure> {
    Catalogue::from_repo(codebase.repo.clone()).map_err(|error: CatalogueError| Failure::internal(error))
}

impl Work {
    /// Refuses a request about the catalogue as a whole, unless the client may see all of it.
    ///
    /// # Errors
    /// The client may not see all repositories.
    pub fn check_all(&self, what: &str) -> Result<(), Failure> {
        self.access.check_all(what)
    }
}
