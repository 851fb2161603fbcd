//! Logging to stderr, enabled by `--debug` or `CODEWEAVER_LOG`. Nothing is logged by default.
//!
//! `CODEWEAVER_LOG=debug` (or `codeweaver::index=trace,info`) selects the messages,
//! `CODEWEAVER_LOG_FORMAT=json` their format. A JSON record has `timestamp`, `level`, `component`,
//! `operation`, `duration_ms`, `request_id`, `codebase_root`, `error`, `message`, and all other fields in
//! `context`; absent values are omitted. Each request of a server has an id of its own, and records about a
//! codebase have its root, also if the server runs elsewhere. Searches are logged by their hash, and with
//! their text at the level `debug`.

use std::fmt::{Debug, Result as FmtResult};
use std::time::SystemTime;

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::prelude::*;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use codeweaver::service::RequestId;
use codeweaver_base::real_path;
use codeweaver_mcp::log::ProtocolLayer;
use codeweaver_store::time;

use super::context::Context;

/// Top-level fields of a JSON record. All others go into `context`.
const FIELDS: [&str; 6] = ["component", "operation", "duration_ms", "codebase_root", "error", "message"];

/// Starts logging to stderr if it is enabled.
pub fn start(context: &Context) {
    if let Some(directives) = directives(context) {
        start_with(&directives, std::io::stderr, context);
    }
}

/// As [`start`]; also logs to the client of the MCP server, even if logging to stderr is disabled.
pub fn start_with_protocol(context: &Context, client: ProtocolLayer) {
    // The client knows what it has searched for.
    let own = Targets::new()
        .with_target("codeweaver", LevelFilter::DEBUG)
        .with_target("codeweaver::searcher", LevelFilter::OFF);
    let stderr = directives(context).map(|directives| layer(&directives, std::io::stderr, context));
    // Fails if a subscriber is already set, which is then kept.
    let _ = tracing_subscriber::registry().with(stderr).with(client.with_filter(own)).try_init();
}

/// The filter directives of stderr; `None` if logging is disabled.
fn directives(context: &Context) -> Option<String> {
    let from_environment = std::env::var("CODEWEAVER_LOG").ok().filter(|text| !text.trim().is_empty());
    from_environment.or_else(|| context.debug.then(|| "codeweaver=debug".to_owned()))
}

/// Starts logging to `writer`, filtered by `directives`. A second call has no effect.
pub fn start_with<W>(directives: &str, writer: W, context: &Context)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Fails if a subscriber is already set, which is then kept.
    let _ = tracing_subscriber::registry().with(layer(directives, writer, context)).try_init();
}

/// A layer that writes messages selected by `directives`, as text or JSON.
fn layer<W>(
    directives: &str,
    writer: W,
    context: &Context,
) -> Box<dyn Layer<Registry> + Send + Sync + 'static>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // The library of the protocol logs its values as Rust writes them, which helps those who ask for it.
    let directives = format!("rmcp=warn,{directives}");
    // Invalid directives fall back to the default instead of disabling the log.
    let filter = EnvFilter::try_new(directives).unwrap_or_else(|_| EnvFilter::new("codeweaver=debug"));
    let as_json =
        std::env::var("CODEWEAVER_LOG_FORMAT").is_ok_and(|format| format.eq_ignore_ascii_case("json"));

    let root = real_path::canonicalize(&context.dir).unwrap_or_else(|_| context.dir.clone());
    let json = Json { process: RequestId::random(), codebase_root: root.to_string_lossy().into_owned() };
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_ansi(context.err_paint.is_on());

    if as_json {
        layer.event_format(json).with_filter(filter).boxed()
    } else {
        layer.with_filter(filter).boxed()
    }
}

/// Formats each event as a JSON object on one line.
struct Json {
    /// The id of records outside of the requests of a server.
    process: RequestId,
    codebase_root: String,
}

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, _: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> FmtResult {
        let mut fields = Fields::default();
        event.record(&mut fields);

        let mut record = Map::new();
        record.insert("timestamp".to_owned(), time::rfc3339_with_milliseconds(SystemTime::now()).into());
        record.insert("level".to_owned(), level_name(*event.metadata().level()).into());
        record.insert("component".to_owned(), event.metadata().target().into());

        let request_id = RequestId::current().unwrap_or_else(|| self.process.clone());
        record.insert("request_id".to_owned(), request_id.to_string().into());
        record.insert("codebase_root".to_owned(), self.codebase_root.as_str().into());

        // The component of an event replaces its target.
        record.extend(fields.known);
        if !fields.context.is_empty() {
            record.insert("context".to_owned(), fields.context.into());
        }

        writeln!(writer, "{}", Value::Object(record))
    }
}

/// The name of a level in a record; those of syslog, where they differ.
fn level_name(level: Level) -> &'static str {
    if level == Level::WARN { "WARNING" } else { level.as_str() }
}

#[derive(Default)]
struct Fields {
    known: Map<String, Value>,
    context: Map<String, Value>,
}

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let is_known = FIELDS.contains(&field.name());
        let map = if is_known { &mut self.known } else { &mut self.context };
        map.insert(field.name().to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, format!("{value:?}").into());
    }
}
