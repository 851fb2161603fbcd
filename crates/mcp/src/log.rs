//! Log notifications of the protocol.
//!
//! A `tracing` layer puts records of this program into a bounded queue, from which the server sends them to
//! the client. Records of libraries are excluded, since they would log the sending of logs. A full queue
//! drops records, so that logs never delay answers.

#![expect(
    deprecated,
    reason = "the next revision of the protocol drops log notifications; clients of today have no other"
)]

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use rmcp::model::LoggingLevel;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use codeweaver::service::RequestId;

const QUEUE: usize = 256;

/// A log record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub level: LoggingLevel,
    /// The component that logged it.
    pub logger: String,
    pub data: Value,
}

/// The receiving end of the queue, with the minimum level.
pub struct Records {
    receiver: mpsc::Receiver<Record>,
    threshold: Arc<AtomicU8>,
}

/// The sending end of the queue, a layer for the subscriber.
pub struct ProtocolLayer {
    sender: mpsc::Sender<Record>,
    threshold: Arc<AtomicU8>,
}

/// Creates both ends. The minimum level is `warning` until the client sets another.
pub fn channel() -> (ProtocolLayer, Records) {
    let (sender, receiver) = mpsc::channel(QUEUE);
    let threshold = Arc::new(AtomicU8::new(LoggingLevel::Warning as u8));
    (ProtocolLayer { sender, threshold: threshold.clone() }, Records { receiver, threshold })
}

impl Records {
    pub async fn next(&mut self) -> Option<Record> {
        self.receiver.recv().await
    }

    /// A handle that sets the minimum level.
    pub fn threshold(&self) -> Threshold {
        Threshold(self.threshold.clone())
    }
}

/// The minimum level of records that are sent.
#[derive(Clone)]
pub struct Threshold(Arc<AtomicU8>);

impl Threshold {
    pub fn set(&self, level: LoggingLevel) {
        self.0.store(level as u8, Ordering::Relaxed);
    }
}

impl<S: Subscriber> Layer<S> for ProtocolLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = level(*event.metadata().level());
        // Most records end here, before their fields are copied.
        if (level as u8) < self.threshold.load(Ordering::Relaxed) {
            return;
        }

        let mut fields = Fields::default();
        event.record(&mut fields);
        if let Some(id) = RequestId::current() {
            fields.0.insert("request_id".to_owned(), id.to_string().into());
        }

        let component = fields.0.get("component").and_then(Value::as_str);
        let logger = component.unwrap_or(event.metadata().target()).to_owned();
        // A full queue drops the record.
        let _ = self.sender.try_send(Record { level, logger, data: Value::Object(fields.0) });
    }
}

fn level(level: Level) -> LoggingLevel {
    match level {
        Level::ERROR => LoggingLevel::Error,
        Level::WARN => LoggingLevel::Warning,
        Level::INFO => LoggingLevel::Info,
        _ => LoggingLevel::Debug,
    }
}

#[derive(Default)]
struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}
