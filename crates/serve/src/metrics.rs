//! Metrics: figures of the running server, for [`super::health`] and in the text format of Prometheus.
//!
//! Durations are milliseconds in the health document, and seconds in histograms for Prometheus, as its
//! conventions require. `docs/serve.md` has a table of both names.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use prometheus::{
    CounterVec, Gauge, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};

use codeweaver::query::grep::Found;
use codeweaver::query::{Intent, Response};
use codeweaver_base::sync;
use codeweaver_embed::ApiFigures;
use codeweaver_index::status::StatusReport;
use codeweaver_store::chunking;
use codeweaver_store::state::RunRecord;

use super::window::{Percentiles, Window};

/// Upper bounds of the histograms of durations, in seconds.
const SECONDS: [f64; 13] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// Upper bounds of the histogram of results.
const RESULTS: [f64; 8] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// The figures of a server.
pub struct Metrics {
    registry: Registry,
    queries: IntCounter,
    latency: Histogram,
    results: Histogram,
    intents: IntCounterVec,
    requests: IntCounterVec,
    shed: IntCounter,
    store: Histogram,
    chunks_created: IntCounter,
    chunking_chunks: IntCounterVec,
    chunking_time: CounterVec,
    chunk_sizes: Histogram,
    index_errors: IntCounter,
    scraped: Scraped,
    recent: Mutex<Recent>,
}

/// The last values of the figures for which the health document has percentiles.
#[derive(Default)]
struct Recent {
    latency_ms: Window,
    results: Window,
    store_ms: Window,
}

/// Gauges that are set when they are read.
struct Scraped {
    files_per_second: Gauge,
    index_seconds: Gauge,
    files: IntGauge,
    chunks: IntGauge,
    index_bytes: IntGauge,
    is_current: IntGauge,
    uptime: Gauge,
    api_requests: IntGauge,
    api_errors: IntGauge,
    api_latency: Gauge,
    breaker: IntGaugeVec,
    breaker_opened: IntGauge,
}

/// Metrics of the health document, with the names of its specification.
#[derive(Debug, Clone, serde::Serialize, schemars::JsonSchema)]
pub struct MetricsReport {
    /// Milliseconds, of the last 100 searches; `null` before the first.
    pub search_query_latency_ms: Option<Percentiles>,
    pub search_queries_total: u64,
    pub search_results_returned: ResultsReturned,
    /// Number of searches by the intent that was given or detected; `none` if there was none.
    pub search_intent_distribution: BTreeMap<String, u64>,
    /// Files per second of the run in progress; 0 if there is none.
    pub indexing_files_per_second: f64,
    /// Chunks that runs have created since the server was started.
    pub indexing_chunks_created_total: u64,
    /// Runs that have failed since the server was started.
    pub indexing_errors_total: u64,
    /// Duration of the last complete run; `null` if there is none.
    pub indexing_duration_seconds: Option<f64>,
    pub embedding_api_requests_total: u64,
    pub embedding_api_errors_total: u64,
    /// Milliseconds, of the last 100 requests; `null` before the first.
    pub embedding_api_latency_ms: Option<Percentiles>,
    /// Milliseconds to find candidates in the index, of the last 100 searches by meaning; `null` before the
    /// first.
    pub vector_store_operation_latency_ms: Option<Percentiles>,
    /// `closed`, `open` or `half_open`.
    pub circuit_breaker_state: &'static str,
    pub circuit_breaker_open_count: u64,
}

/// Number of results of the last 100 searches.
#[derive(Debug, Clone, Copy, serde::Serialize, schemars::JsonSchema)]
pub struct ResultsReturned {
    pub avg: f64,
    pub p50: f64,
    pub p95: f64,
}

impl Metrics {
    /// # Errors
    /// A metric has a name that Prometheus does not allow.
    pub fn new() -> Result<Metrics, prometheus::Error> {
        let registry = Registry::new();
        let make = Maker(&registry);
        let sizes = chunking::SIZES.map(f64::from);

        Ok(Metrics {
            queries: make.counter("search_queries_total", "Searches that were answered")?,
            latency: make.histogram("search_query_latency_seconds", "Time to answer a search", &SECONDS)?,
            results: make.histogram("search_results_returned", "Results of a search", &RESULTS)?,
            intents: make.counters("search_intent_distribution_total", "Searches by intent", "intent")?,
            requests: make.counters(
                "http_requests_total",
                "Requests by the status of their response",
                "code",
            )?,
            shed: make
                .counter("http_requests_shed_total", "Requests refused because too many were waiting")?,
            store: make.histogram(
                "vector_store_operation_latency_seconds",
                "Time to find the candidates of a search in the index",
                &SECONDS,
            )?,
            chunks_created: make.counter("indexing_chunks_created_total", "Chunks that runs have created")?,
            chunking_chunks: make.counters(
                "chunk_count_total",
                "Chunks that runs have created, by chunker",
                "chunker",
            )?,
            chunking_time: make.float_counters(
                "chunking_seconds_total",
                "Time of all threads in a chunker",
                "chunker",
            )?,
            chunk_sizes: make.histogram(
                "chunk_size_tokens",
                "Tokens of the chunks that runs have created",
                &sizes,
            )?,
            index_errors: make.counter("indexing_errors_total", "Runs that have failed")?,
            scraped: Scraped::new(&make)?,
            recent: Mutex::default(),
            registry,
        })
    }

    /// Counts the answer to a request.
    pub fn requested(&self, status: u16) {
        self.requests.with_label_values(&[status.to_string().as_str()]).inc();
    }

    /// Counts a request that was refused because too many were waiting.
    pub fn shed(&self) {
        self.shed.inc();
    }

    /// Counts a search by meaning.
    pub fn searched(&self, response: &Response) {
        let intent = response.query_intent.intent.map_or("none", Intent::name);
        self.count_search(response.execution_time_ms, response.matches.len(), intent);

        self.store.observe(response.retrieval.as_secs_f64());
        sync::lock(&self.recent).store_ms.push(response.retrieval.as_secs_f64() * 1000.0);
    }

    /// Counts a search for lines.
    pub fn searched_lines(&self, found: &Found<'_>) {
        self.count_search(found.execution_time_ms, found.n_files(), "none");
    }

    fn count_search(&self, ms: u64, n_results: usize, intent: &str) {
        self.queries.inc();
        self.intents.with_label_values(&[intent]).inc();
        self.latency.observe(ms as f64 / 1000.0);
        self.results.observe(n_results as f64);

        let mut recent = sync::lock(&self.recent);
        recent.latency_ms.push(ms as f64);
        recent.results.push(n_results as f64);
    }

    /// Counts the chunks of a run that has ended.
    pub fn indexed(&self, run: &RunRecord) {
        self.chunks_created.inc_by(run.chunks_created);

        for (chunker, step) in &run.chunking.steps {
            self.chunking_chunks.with_label_values(&[chunker.as_str()]).inc_by(step.chunks);
            self.chunking_time.with_label_values(&[chunker.as_str()]).inc_by(step.micros as f64 / 1e6);
        }

        // The sum of each class of sizes is exact if its chunks count with their mean.
        for size in run.chunking.sizes.iter().filter(|size| size.chunks > 0) {
            let mean = size.tokens as f64 / size.chunks as f64;
            (0..size.chunks).for_each(|_| self.chunk_sizes.observe(mean));
        }
    }

    /// Counts a run that has failed.
    pub fn index_failed(&self) {
        self.index_errors.inc();
    }

    /// Number of searches, and their mean time in milliseconds over the last 100.
    pub fn searches(&self) -> (u64, Option<f64>) {
        (self.queries.get(), sync::lock(&self.recent).latency_ms.mean())
    }

    /// Median of the last 100 times to find candidates in the index, in milliseconds.
    pub fn store_latency_ms(&self) -> Option<f64> {
        Some(sync::lock(&self.recent).store_ms.percentiles()?.p50)
    }

    /// The metrics by their names in the specification of the health document.
    pub fn report(&self, status: Option<&StatusReport>, api: Option<&ApiFigures>) -> MetricsReport {
        let recent = sync::lock(&self.recent);
        let results = recent.results.percentiles();

        MetricsReport {
            search_query_latency_ms: recent.latency_ms.percentiles(),
            search_queries_total: self.queries.get(),
            search_results_returned: ResultsReturned {
                avg: recent.results.mean().unwrap_or_default(),
                p50: results.map_or(0.0, |results| results.p50),
                p95: results.map_or(0.0, |results| results.p95),
            },
            search_intent_distribution: self.intent_counts(),
            indexing_files_per_second: status.map_or(0.0, files_per_second),
            indexing_chunks_created_total: self.chunks_created.get(),
            indexing_errors_total: self.index_errors.get(),
            indexing_duration_seconds: status.and_then(index_seconds),
            embedding_api_requests_total: api.map_or(0, |api| api.n_requests),
            embedding_api_errors_total: api.map_or(0, |api| api.n_errors),
            embedding_api_latency_ms: api.and_then(api_latency),
            vector_store_operation_latency_ms: recent.store_ms.percentiles(),
            circuit_breaker_state: api.map_or("closed", |api| api.breaker_state),
            circuit_breaker_open_count: api.map_or(0, |api| api.n_opened),
        }
    }

    fn intent_counts(&self) -> BTreeMap<String, u64> {
        let names = Intent::names().chain(["none"]);
        names.map(|name| (name.to_owned(), self.intents.with_label_values(&[name]).get())).collect()
    }

    /// All metrics in the text format of Prometheus.
    ///
    /// # Errors
    /// A metric cannot be written.
    pub fn text(
        &self,
        uptime: Duration,
        status: Option<&StatusReport>,
        api: Option<&ApiFigures>,
    ) -> Result<String, prometheus::Error> {
        self.scraped.set(uptime, status, api);
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

impl Scraped {
    fn new(make: &Maker<'_>) -> Result<Scraped, prometheus::Error> {
        Ok(Scraped {
            files_per_second: make
                .gauge("indexing_files_per_second", "Files a second of the run in progress")?,
            index_seconds: make.gauge("indexing_duration_seconds", "Time of the last complete run")?,
            files: make.int_gauge("indexed_files", "Files in the index")?,
            chunks: make.int_gauge("indexed_chunks", "Chunks in the index")?,
            index_bytes: make.int_gauge("index_size_bytes", "Size of the index on disk")?,
            is_current: make.int_gauge("index_current", "Whether the index answers for HEAD")?,

            uptime: make.gauge("uptime_seconds", "Time since the server was started")?,

            api_requests: make.int_gauge("embedding_api_requests", "Requests to the embedding API")?,
            api_errors: make
                .int_gauge("embedding_api_errors", "Requests to the embedding API that failed")?,
            api_latency: make.gauge(
                "embedding_api_latency_seconds",
                "Median time of the last 100 requests to the embedding API",
            )?,
            breaker: make.int_gauges(
                "circuit_breaker_state",
                "1 for the state of the circuit breaker",
                "state",
            )?,
            breaker_opened: make
                .int_gauge("circuit_breaker_opened", "How often the circuit breaker has opened")?,
        })
    }

    fn set(&self, uptime: Duration, status: Option<&StatusReport>, api: Option<&ApiFigures>) {
        self.uptime.set(uptime.as_secs_f64());
        if let Some(status) = status {
            self.files_per_second.set(files_per_second(status));
            self.index_seconds.set(index_seconds(status).unwrap_or_default());
            self.files.set(status.files as i64);
            self.chunks.set(status.chunks as i64);
            self.index_bytes.set(status.size_bytes.total as i64);
            self.is_current.set(i64::from(status.current));
        }

        // Prometheus has no text values, so each state has a gauge of its own.
        let state = api.map_or("closed", |api| api.breaker_state);
        for name in ["closed", "open", "half_open"] {
            self.breaker.with_label_values(&[name]).set(i64::from(name == state));
        }

        if let Some(api) = api {
            self.api_requests.set(api.n_requests as i64);
            self.api_errors.set(api.n_errors as i64);
            self.api_latency.set(api_latency(api).map_or(0.0, |latency| latency.p50 / 1000.0));
            self.breaker_opened.set(api.n_opened as i64);
        }
    }
}

fn files_per_second(status: &StatusReport) -> f64 {
    match status.progress.as_ref().filter(|progress| progress.is_running && progress.elapsed_seconds > 0) {
        Some(progress) => progress.files_processed as f64 / progress.elapsed_seconds as f64,
        None => 0.0,
    }
}

fn index_seconds(status: &StatusReport) -> Option<f64> {
    status.last_run.as_ref().map(|run| run.duration_ms as f64 / 1000.0)
}

fn api_latency(api: &ApiFigures) -> Option<Percentiles> {
    Window::new(api.latencies.iter().map(|time| time.as_secs_f64() * 1000.0)).percentiles()
}

/// Makes metrics and registers them.
struct Maker<'a>(&'a Registry);

impl Maker<'_> {
    fn registered<T: prometheus::core::Collector + Clone + 'static>(
        &self,
        metric: T,
    ) -> Result<T, prometheus::Error> {
        self.0.register(Box::new(metric.clone()))?;
        Ok(metric)
    }

    fn counter(&self, name: &str, help: &str) -> Result<IntCounter, prometheus::Error> {
        self.registered(IntCounter::new(name, help)?)
    }

    fn counters(&self, name: &str, help: &str, label: &str) -> Result<IntCounterVec, prometheus::Error> {
        self.registered(IntCounterVec::new(Opts::new(name, help), &[label])?)
    }

    fn float_counters(&self, name: &str, help: &str, label: &str) -> Result<CounterVec, prometheus::Error> {
        self.registered(CounterVec::new(Opts::new(name, help), &[label])?)
    }

    fn gauge(&self, name: &str, help: &str) -> Result<Gauge, prometheus::Error> {
        self.registered(Gauge::new(name, help)?)
    }

    fn int_gauge(&self, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
        self.registered(IntGauge::new(name, help)?)
    }

    fn int_gauges(&self, name: &str, help: &str, label: &str) -> Result<IntGaugeVec, prometheus::Error> {
        self.registered(IntGaugeVec::new(Opts::new(name, help), &[label])?)
    }

    fn histogram(&self, name: &str, help: &str, bounds: &[f64]) -> Result<Histogram, prometheus::Error> {
        self.registered(Histogram::with_opts(HistogramOpts::new(name, help).buckets(bounds.to_vec()))?)
    }
}
