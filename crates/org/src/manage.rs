//! Everything that changes documents of an index besides pushes.

use std::time::Duration;

use serde_json::{Value, json};

use super::error::OrgError;
use super::http::{Method, checked};
use super::lease::Lease;
use super::members::{OrgMember, PushState};
use super::org::Org;
use super::push::PushOptions;
use super::schema::Kind;

pub use super::members::{Numbers, OrgMember as Repository, PushState as RepositoryState};

/// Time between two looks at a task of the engine.
const POLL: Duration = Duration::from_millis(200);
/// Number of files that leave a repository at once.
const PAGE: usize = 500;
/// Number of times that documents which changed meanwhile are looked at again.
const MAX_ROUNDS: usize = 20;

/// The state of an index.
#[derive(Debug, Clone, serde::Serialize)]
pub struct OrgStatus {
    /// `green`, `yellow` or `red`, in the engine's words: all copies, all shards, or not all shards.
    pub health: String,
    /// Number of nodes.
    pub nodes: u64,
    /// Number of rows and of files, dead ones included.
    pub rows: u64,
    /// See `rows`.
    pub files: u64,
    /// Bytes on the disks of all nodes.
    pub bytes: u64,
    /// Whether the texts of files are kept.
    pub texts: bool,
    /// The repositories.
    pub repositories: Vec<OrgMember>,
}

impl Org {
    /// The state of the index.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn status(&self) -> Result<OrgStatus, OrgError> {
        let indices = Kind::ALL.map(|kind| self.alias(kind)).join(",");
        let health = self.connection.ask(Method::Get, &format!("_cluster/health/{indices}"), None)?;
        let stats = self.connection.ask(Method::Get, &format!("{indices}/_stats/docs,store"), None)?;

        let of = |kind: Kind, what: &str| -> u64 {
            let start = format!("{}-", self.alias(kind));
            let indices = stats["indices"].as_object().into_iter().flatten();
            let own = indices.filter(|(name, _)| name.starts_with(&start));
            own.filter_map(|(_, index)| index.pointer(what)?.as_u64()).sum()
        };
        Ok(OrgStatus {
            health: health["status"].as_str().unwrap_or("unknown").to_owned(),
            nodes: health["number_of_nodes"].as_u64().unwrap_or(0),
            rows: of(Kind::Rows, "/primaries/docs/count"),
            files: of(Kind::Files, "/primaries/docs/count"),
            bytes: Kind::ALL.iter().map(|kind| of(*kind, "/total/store/size_in_bytes")).sum(),
            texts: self.meta.texts,
            repositories: self.members()?,
        })
    }

    /// Removes a repository. Its rows stay until they are collected.
    ///
    /// # Errors
    /// [`OrgError::NoMember`], [`OrgError::Outdated`], [`OrgError::Busy`] if it is being pushed, and those
    /// of the connection.
    pub fn remove(&self, name: &str) -> Result<usize, OrgError> {
        self.check_version()?;
        let Some(known) = self.member(name)? else {
            return Err(OrgError::NoMember { member: name.to_owned() });
        };
        // What a push sent behind the scan below would stay for ever.
        let PushOptions { stall, patience, .. } = PushOptions::default();
        let (lease, _) = Lease::take(self, name, Some(known), PushState::Removing, (stall, patience))?;

        let n_files = lease.beating(|| {
            self.refresh()?;
            let mut ids = Vec::new();
            self.scan_files(&json!({ "term": { "repo": name } }), &["file"], |source| {
                ids.extend(source["file"].as_str().map(str::to_owned));
                Ok(())
            })?;

            self.take_out(name, &ids, &mut || lease.beat())?;
            self.refresh()?;
            Ok::<usize, OrgError>(ids.len())
        })?;

        self.delete_member(name)?;
        Ok(n_files)
    }

    /// Takes a repository out of the documents of files. `beat` is called now and then.
    pub(super) fn take_out(
        &self,
        name: &str,
        files: &[String],
        beat: &mut dyn FnMut() -> Result<(), OrgError>,
    ) -> Result<(), OrgError> {
        if files.is_empty() {
            return Ok(());
        }
        // Searches by which documents are updated see only what is refreshed.
        self.refresh()?;

        for ids in files.chunks(PAGE) {
            for kind in [Kind::Rows, Kind::Files] {
                let body = json!({
                    "query": { "bool": { "filter": [{ "terms": { "file": ids } }, { "term": { "repo": name } }] } },
                    "script": { "id": self.script(), "params": self.place_params(name, json!([]), kind) },
                });
                self.repeat_until_whole(&format!("{}/_update_by_query", self.alias(kind)), &body)?;
            }
            beat()?;
        }
        Ok(())
    }

    /// Deletes documents that no repository has. Returns the numbers of rows and of files.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn collect(&self) -> Result<(u64, u64), OrgError> {
        self.refresh()?;
        let body = json!({ "query": { "bool": { "must_not": { "exists": { "field": "repo" } } } } });
        // Files first: a push takes rows for complete whose file is there.
        let files = self.task(&format!("{}/_delete_by_query", self.alias(Kind::Files)), &body)?;
        let rows = self.task(&format!("{}/_delete_by_query", self.alias(Kind::Rows)), &body)?;
        self.refresh()?;
        let deleted = |answer: &Value| answer["deleted"].as_u64().unwrap_or(0);
        Ok((deleted(&rows), deleted(&files)))
    }

    /// Runs a task that changes documents until none has met another change.
    fn repeat_until_whole(&self, path: &str, body: &Value) -> Result<(), OrgError> {
        for _ in 0..MAX_ROUNDS {
            let answer = self.task(path, body)?;
            if answer["version_conflicts"].as_u64().unwrap_or(0) == 0 {
                return Ok(());
            }
            self.refresh()?;
        }
        Err(OrgError::Degraded { why: "documents change again and again".to_owned() })
    }

    /// Runs a task of the engine and waits for its end. Conflicts are counted and do not stop it.
    pub(super) fn task(&self, path: &str, body: &Value) -> Result<Value, OrgError> {
        let conflicts = if path == "_reindex" { "" } else { "&conflicts=proceed" };
        let path = format!("{path}?wait_for_completion=false{conflicts}");
        let started = self.connection.ask(Method::Post, &path, Some(body))?;
        let Some(task) = started["task"].as_str() else {
            return Err(OrgError::Answer { status: 200, why: "a task has no name".to_owned() });
        };

        loop {
            let answer = checked(self.connection.send(Method::Get, &format!("_tasks/{task}"), None)?)?;
            if answer["completed"] == json!(true) {
                if answer["error"].is_object() {
                    return Err(super::http::error_of(500, &answer["error"]));
                }
                let response = &answer["response"];
                if let Some(why) = response["canceled"].as_str() {
                    return Err(OrgError::Degraded {
                        why: format!("a task of the engine was cancelled {why}"),
                    });
                }
                let failure = response["failures"].as_array().and_then(|failures| failures.first());
                return match failure {
                    Some(failure) => Err(super::http::error_of(
                        failure["status"].as_u64().unwrap_or(500) as u16,
                        &failure["cause"],
                    )),
                    None => Ok(response.clone()),
                };
            }
            std::thread::sleep(POLL);
        }
    }
}
