//! Health: whether the server and the services that it depends on work, as a document for monitors.

use codeweaver::service::ServiceError;
use codeweaver_config::ModelSettings;
use codeweaver_embed::ApiFigures;
use codeweaver_index::status::StatusReport;
use codeweaver_store::time;

use super::access::Access;
use super::app::App;
use super::failure::Failure;
use super::job::Work;
use super::metrics::MetricsReport;

/// The answer to `GET /health/`.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct Health {
    pub status: HealthStatus,
    /// RFC 3339, UTC.
    pub timestamp: String,
    pub uptime_seconds: u64,
    /// Absent, as the statistics and the metrics, for a token for some repositories only: they count all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indexing: Option<Indexing>,
    pub services: Services,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<Statistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<MetricsReport>,
    /// Problems that an operator has to mend, in sentences; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// `healthy` if all services are up; `degraded` if something is down, or the index cannot be brought up to
/// date, but searches are answered; `unhealthy` if no search is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "documented at the type")]
pub enum HealthStatus {
    Healthy,
    Degraded,
    Unhealthy,
}

/// The state of the index.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
#[schemars(description = "What is indexed.")]
pub struct Indexing {
    /// `idle`, `starting` (a run has not read a file yet), `indexing` or `error`.
    pub state: &'static str,
    /// Why no search is answered, or why the index is not brought up to date.
    pub error: Option<String>,
    /// The run in progress, or the last one; at most 5 s old.
    pub progress: Progress,
    /// When the last run ended.
    pub last_indexed: Option<String>,
}

/// Progress of a run.
#[derive(Debug, Clone, Default, serde::Serialize, schemars::JsonSchema)]
pub struct Progress {
    pub files_discovered: u64,
    pub files_processed: u64,
    pub chunks_created: u64,
    pub errors: u64,
    /// One of the files that are being read; `null` in the states other than `indexing`.
    pub current_file: Option<String>,
    pub start_time: Option<String>,
    pub estimated_completion: Option<String>,
    pub estimated_time_remaining_seconds: Option<u64>,
}

/// The services that answers depend on.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct Services {
    pub vector_store: VectorStore,
    pub embedding_provider: EmbeddingProvider,
    pub sparse_embedding: Service,
    pub reranker: Service,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServiceStatus {
    Up,
    Down,
    Degraded,
    /// No answer depends on it.
    NotConfigured,
}

/// The store of the index.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct VectorStore {
    pub status: ServiceStatus,
    #[serde(rename = "type")]
    pub store_type: &'static str,
    /// Median time to find the candidates of a search in it; `null` before the first search.
    pub latency_ms: Option<f64>,
    pub last_check: String,
}

/// The embedding model.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct EmbeddingProvider {
    pub status: ServiceStatus,
    /// `builtin`, `local` or the URL of an API.
    pub provider: String,
    pub model: String,
    /// Time of the last request to an API; `null` for other models, and before the first request.
    pub latency_ms: Option<f64>,
    pub last_check: String,
    /// `closed`, `open` or `half_open`.
    pub circuit_breaker_state: &'static str,
}

/// Another service.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct Service {
    pub status: ServiceStatus,
    pub provider: &'static str,
    pub model: String,
    pub last_check: String,
}

/// The size of the index, and the number and time of searches.
#[derive(Debug, Clone, Default, serde::Serialize, schemars::JsonSchema)]
pub struct Statistics {
    pub total_chunks_indexed: u64,
    pub total_files_indexed: u64,
    pub languages_indexed: Vec<String>,
    pub index_size_mb: f64,
    pub queries_processed: u64,
    /// `null` before the first search.
    pub avg_query_latency_ms: Option<f64>,
}

/// The health of the server for a client with `access`. `work` is an error if the repository cannot be
/// opened.
pub fn health(app: &App, access: &Access, work: Result<&Work, &Failure>) -> Health {
    let now = time::now();
    // The cached status is that of the whole index.
    let whole = app.searcher().ok();
    let status = whole.as_ref().and_then(|searcher| app.status(&searcher.codebase));
    let api = work.ok().and_then(|work| work.searcher().embedder()?.api_figures());
    let settings = work.ok().map(|work| &work.codebase().settings);
    let last_check = time::rfc3339(now);

    let refusal = work.ok().and_then(|work| work.searcher().check().err()).map(ServiceError::from);
    let store = if refusal.is_some() { ServiceStatus::Down } else { store_status(status.as_deref()) };
    let problem = app.problem();
    let embedding_provider = EmbeddingProvider {
        status: work.map_or(ServiceStatus::Down, |work| embedding_status(work, api.as_ref())),
        provider: settings.map(|settings| provider(&settings.model)).unwrap_or_default(),
        model: status.as_ref().map(|status| status.model.name.clone()).unwrap_or_default(),
        latency_ms: api.as_ref().and_then(last_latency_ms),
        last_check: last_check.clone(),
        circuit_breaker_state: api.as_ref().map_or("closed", |api| api.breaker_state),
    };
    let sparse_embedding = Service {
        status: store,
        provider: "builtin",
        model: "bm25".to_owned(),
        last_check: last_check.clone(),
    };
    let sees_all = *access == Access::All;
    let problems: Vec<String> =
        app.tokens.iter().filter_map(|tokens| tokens.problem()).map(|it| it.to_string()).collect();
    // It may name files of any repository.
    let error = problem.clone().or(refusal.map(|error| error.why)).filter(|_| sees_all);

    Health {
        status: match (store, embedding_provider.status) {
            (ServiceStatus::Down, _) => HealthStatus::Unhealthy,
            (ServiceStatus::Up, ServiceStatus::Up) if problems.is_empty() && problem.is_none() => {
                HealthStatus::Healthy
            }
            _ => HealthStatus::Degraded,
        },
        timestamp: last_check.clone(),
        uptime_seconds: app.started.elapsed().as_secs(),
        indexing: sees_all.then(|| indexing(status.as_deref(), error, now)),
        services: Services {
            vector_store: VectorStore {
                status: store,
                store_type: "parquet",
                latency_ms: app.metrics.store_latency_ms().filter(|_| sees_all),
                last_check: last_check.clone(),
            },
            embedding_provider,
            sparse_embedding,
            reranker: reranker(settings.and_then(|settings| settings.search.rerank.clone()), last_check),
        },
        statistics: sees_all.then(|| statistics(app, status.as_deref())),
        metrics: sees_all.then(|| app.metrics.report(status.as_deref(), api.as_ref())),
        problems: if sees_all { problems } else { Vec::new() },
    }
}

/// The status of the store, by the status of the index; it is down if that cannot be read.
fn store_status(status: Option<&StatusReport>) -> ServiceStatus {
    match status.map(|status| status.state) {
        None | Some("unreadable") => ServiceStatus::Down,
        Some("indexed" | "indexing") => ServiceStatus::Up,
        Some(_) => ServiceStatus::Degraded,
    }
}

/// The service of the configured reranking model.
fn reranker(model: Option<String>, last_check: String) -> Service {
    let (status, provider) = match model {
        Some(_) => (ServiceStatus::Up, "local"),
        None => (ServiceStatus::NotConfigured, "none"),
    };
    Service { status, provider, model: model.unwrap_or_default(), last_check }
}

/// Time of the last request to an API, in milliseconds; `None` if there was none.
fn last_latency_ms(api: &ApiFigures) -> Option<f64> {
    api.latencies.last().map(|time| time.as_secs_f64() * 1000.0)
}

fn provider(model: &ModelSettings) -> String {
    match &model.api_base_url {
        Some(url) if model.is_api() => url.clone(),
        _ if model.is_builtin() => "builtin".to_owned(),
        _ => "local".to_owned(),
    }
}

fn embedding_status(work: &Work, api: Option<&ApiFigures>) -> ServiceStatus {
    match (work.searcher().embedder(), api) {
        (None, _) => ServiceStatus::Down,
        (Some(_), Some(api)) if api.breaker_state == "open" => ServiceStatus::Down,
        (Some(_), Some(api)) if api.breaker_state == "half_open" => ServiceStatus::Degraded,
        (Some(_), _) => ServiceStatus::Up,
    }
}

fn statistics(app: &App, status: Option<&StatusReport>) -> Statistics {
    let (queries_processed, avg_query_latency_ms) = app.metrics.searches();
    let searches = Statistics { queries_processed, avg_query_latency_ms, ..Statistics::default() };
    let Some(status) = status else { return searches };

    Statistics {
        total_chunks_indexed: status.chunks,
        total_files_indexed: status.files,
        languages_indexed: status.languages.iter().map(|count| count.language.clone()).collect(),
        index_size_mb: status.size_bytes.total as f64 / 1e6,
        ..searches
    }
}

/// The state of the index. `error` is the reason for which it does not answer or is not brought up to date.
fn indexing(status: Option<&StatusReport>, error: Option<String>, now: u64) -> Indexing {
    let Some(status) = status else {
        return Indexing { state: "error", error, progress: Progress::default(), last_indexed: None };
    };

    let running = status.progress.as_ref().filter(|progress| progress.is_running);
    let last_indexed = status.last_run.as_ref().map(|run| run.finished_at.clone());

    let progress = match running {
        Some(progress) => Progress {
            files_discovered: progress.files_total,
            files_processed: progress.files_processed,
            chunks_created: progress.chunks_created,
            errors: progress.errors,
            current_file: progress.current_file.clone(),
            start_time: Some(time::rfc3339(now.saturating_sub(progress.elapsed_seconds))),
            estimated_completion: progress.eta_seconds.map(|left| time::rfc3339(now + left)),
            estimated_time_remaining_seconds: progress.eta_seconds,
        },
        None => Progress {
            files_discovered: status.files,
            files_processed: status.files,
            chunks_created: status.chunks,
            ..Progress::default()
        },
    };

    let state = match running {
        Some(progress) if progress.current_file.is_some() => "indexing",
        Some(_) => "starting",
        // A run of another process may not have reported any progress yet.
        None if status.lock_holder.is_some() => "starting",
        None if error.is_some() || status.last_failure.is_some() || status.state == "index_failed" => "error",
        None => "idle",
    };

    Indexing { state, error, progress, last_indexed }
}
