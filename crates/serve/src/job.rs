//! Job: the work of one request, on a thread of the pool.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use codeweaver::query::response::IndexInfo;
use codeweaver::query::view::freshness::RequestUpdate;
use codeweaver::query::{Cancel, FileText, Outline, QueryError, Searcher};
use codeweaver::service::{self, Caller, Patience, Progress, RequestId, Requests, Waits};
use codeweaver_base::sync;
use codeweaver_index::{Codebase, background};
use codeweaver_mcp::queue::{Client, Place};
use codeweaver_text::safe_json;
use tokio::runtime::Handle;

use super::TIME_LIMIT;
use super::access::Access;
use super::app::App;
use super::failure::Failure;
use super::params::Params;

/// A request: its parameters, and the state of the server.
pub struct Job {
    pub app: Arc<App>,
    pub params: Params,
    /// The repositories that the client may see.
    pub access: Access,
    pub client: Client,
    id: RequestId,
}

impl FromRequestParts<Arc<App>> for Job {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Job, Failure> {
        let params = Params::parse(&parts.uri)?;
        let id = parts.extensions.get::<RequestId>().cloned().unwrap_or_else(RequestId::random);
        let access =
            parts.extensions.get::<Access>().cloned().unwrap_or_else(|| Access::Repositories(Arc::new([])));
        let client = parts.extensions.get::<Client>().cloned().unwrap_or_default();
        Ok(Job { app: app.clone(), params, access, client, id })
    }
}

/// The context of the work of a request.
pub struct Work {
    pub app: Arc<App>,
    searcher: Arc<Searcher>,
    pub params: Params,
    /// The repositories that the client may see.
    pub access: Access,
    pub cancel: Cancel,
    /// The reasons for which the request has waited for its index, for the warnings of its answer.
    pub waits: Waits,
    /// The place among those that work; `None` during a pause.
    slot: Mutex<Option<Place>>,
}

impl Work {
    /// The repository as the client may see it.
    pub fn searcher(&self) -> &Searcher {
        &self.searcher
    }

    pub fn codebase(&self) -> &Codebase {
        &self.searcher.codebase
    }

    /// Calls `wait`, which waits for the client, while another request works in place of this one. It then
    /// goes on, without a place if too many wait for one.
    pub fn pause<T>(&self, wait: impl FnOnce() -> T) -> T {
        let due = sync::lock(&self.slot).take().map(|slot| slot.due());
        let waited = wait();
        if let Some(due) = due {
            *sync::lock(&self.slot) = Handle::current().block_on(self.app.slots.place_again(due)).ok();
        }
        waited
    }

    /// Runs `query`, which may start an update. If the index is damaged, it is repaired and `query` runs
    /// again.
    pub fn run<T>(&self, query: impl Fn(RequestUpdate<'_>) -> Result<T, QueryError>) -> Result<T, Failure> {
        let answer = Requests::new(self.codebase(), self).run(query);
        Ok(answer.map_err(|error| self.waits.explain(error))?)
    }

    /// Reads `lines` of a file (all if `None`) in `rev`, or in the working tree; or the contents `blob`.
    pub fn read(&self, path: &str, lines: Option<(u32, u32)>) -> Result<FileText, Failure> {
        let (rev, blob) = (self.params.text("rev"), self.params.text("blob"));

        // A blob belongs to no repository, so access to the path does not imply access to it.
        if let Some(blob) = blob.filter(|_| self.access == Access::All) {
            return self.run(|_| self.searcher().read_blob(path, blob));
        }

        let file = self.run(|_| self.searcher().read_or_suggest(path, lines, rev))?;
        if blob.is_some_and(|blob| blob != file.blob) {
            self.check_all("an older version")?;
        }

        Ok(file)
    }

    /// The definitions of a file in `rev`, or in the working tree.
    pub fn outline(&self, path: &str, rev: Option<&str>) -> Result<Outline, Failure> {
        let outline = self.run(|update| self.searcher().outline(path, rev, update))?;
        self.follow_up(&outline.index);
        Ok(outline)
    }

    /// Starts the updates that an answer from the state `index` shows to be due.
    pub fn follow_up(&self, index: &IndexInfo) {
        service::follow_up(self.codebase(), index);
    }

    /// Starts an update in the background if `needs_update`.
    pub fn update_if_due(&self, needs_update: bool) {
        background::update_if_due(self.codebase(), needs_update);
    }
}

impl Caller for Work {
    fn patience(&self, _: &Codebase) -> Patience {
        Patience { repair: TIME_LIMIT, rebuild: TIME_LIMIT }
    }

    fn is_stopped(&self) -> bool {
        self.cancel.is_cancelled()
    }

    fn tell(&self, _: &Codebase, progress: Progress<'_>) {
        tracing::warn!(component = "server", operation = "repair", "{progress}");
        self.waits.add(progress);
    }
}

impl Job {
    /// Runs `work` on a thread of the pool as soon as a slot is free. It is cancelled at the time limit, and
    /// when the client disconnects.
    pub async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce(&Work) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let Job { app, params, access, client, id } = self;

        let Ok(slot) = app.slots.place(&client).await else {
            app.metrics.shed();
            return Err(Failure::busy());
        };

        let is_cancelled = Arc::new(AtomicBool::new(false));
        // Dropped together with this future if the client disconnects.
        let _cancel_on_drop = CancelOnDrop(is_cancelled.clone());
        let deadline = Instant::now() + TIME_LIMIT;
        let cancel = Cancel::when(move || is_cancelled.load(Ordering::Relaxed) || Instant::now() > deadline);

        let done = tokio::task::spawn_blocking(move || {
            // The slot is free when the work ends, not when the client has gone.
            let slot = Mutex::new(Some(slot));
            id.run(|| {
                let searcher = app.searcher_for(&access)?;
                work(&Work { app, searcher, params, access, cancel, waits: Waits::default(), slot })
            })
        });

        done.await.unwrap_or_else(|_| Err(Failure::internal("an error in git-codeweaver broke off the work")))
    }

    /// As [`Self::run`], with the answer as JSON.
    pub async fn json<T: serde::Serialize + Send + 'static>(
        self,
        work: impl FnOnce(&Work) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Response, Failure> {
        // Serialised on the pool, since it may be large.
        let text = self.run(|request| serde_json::to_string(&work(request)?).map_err(Failure::internal));
        Ok(([(header::CONTENT_TYPE, "application/json")], safe_json(text.await?)).into_response())
    }
}

/// Cancels the work of a request when its handler is dropped, as happens when the client disconnects.
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
