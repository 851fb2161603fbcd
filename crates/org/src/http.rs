//! Requests to the engine.

use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use codeweaver_base::random;
use codeweaver_http::{Limits, agent, backoff};

use super::address::Address;
use super::error::OrgError;

/// Time in which the engine begins to answer. A search of candidates takes milliseconds; a bulk of rows,
/// seconds on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Number of retries of a request that the engine is too busy for, or that finds no connection: while
/// documents are sent, and while a request waits for its answer.
pub const PATIENT: u32 = 6;
pub const QUICK: u32 = 2;
/// Maximum size of a response.
const MAX_RESPONSE_BYTES: u64 = 512 << 20;
/// Maximum number of characters of the engine's words that are shown.
const MAX_REASON_CHARS: usize = 300;

/// A connection to an engine.
pub struct Connection {
    pub address: Address,
    agent: ureq::Agent,
    max_retries: u32,
    n_sent: AtomicU64,
}

/// A response other than an error of the connection.
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

/// The method of a request.
#[derive(Clone, Copy)]
pub enum Method {
    Get,
    Put,
    Post,
    Delete,
}

impl Connection {
    pub fn new(address: Address, max_retries: u32) -> Connection {
        // A redirect could carry the key to another host.
        let agent = agent(Limits { timeout: TIMEOUT, max_redirects: 0, is_local: address.is_local });
        Connection { address, agent, max_retries, n_sent: AtomicU64::new(0) }
    }

    /// Number of bytes of the bodies that were sent.
    pub fn n_sent(&self) -> u64 {
        self.n_sent.load(Relaxed)
    }

    /// Sends a request and returns the response if its status is one of success.
    ///
    /// # Errors
    /// [`OrgError`] by the status and the engine's words.
    pub fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, OrgError> {
        let body = body.map(ToString::to_string);
        checked(self.send(method, path, body.as_deref().map(str::as_bytes))?)
    }

    /// As [`Self::ask`], for a body of several lines of JSON.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn ask_lines(&self, path: &str, lines: &[u8]) -> Result<Value, OrgError> {
        checked(self.send(Method::Post, path, Some(lines))?)
    }

    /// Sends a request, again after a pause if the engine is too busy or cannot be reached.
    ///
    /// # Errors
    /// [`OrgError::Unreachable`] if it cannot be reached.
    pub fn send(&self, method: Method, path: &str, body: Option<&[u8]>) -> Result<Answer, OrgError> {
        let mut n_failed = 0;
        loop {
            let answer = self.send_once(method, path, body);
            let may_pass = match &answer {
                Ok(answer) => matches!(answer.status, 429 | 502 | 503 | 504),
                Err(_) => true,
            };
            if !may_pass || n_failed >= self.max_retries {
                return answer;
            }

            std::thread::sleep(backoff(n_failed, random::bits64() as f64 / u64::MAX as f64));
            n_failed += 1;
        }
    }

    fn send_once(&self, method: Method, path: &str, body: Option<&[u8]>) -> Result<Answer, OrgError> {
        let url = format!("{}/{path}", self.address.url);
        let name = match method {
            Method::Get => "GET",
            Method::Put => "PUT",
            Method::Post => "POST",
            Method::Delete => "DELETE",
        };

        // The key is sent in this header alone, and appears in no message.
        let mut request = ureq::http::Request::builder().method(name).uri(&url);
        if let Some(authorisation) = &self.address.authorisation {
            request = request.header("Authorization", authorisation);
        }

        let unreachable = |why: String| OrgError::Unreachable { url: self.address.url.clone(), why };
        let sent = match body {
            Some(bytes) => {
                let bytes = zipped(bytes).map_err(|error| unreachable(error.to_string()))?;
                self.n_sent.fetch_add(bytes.len() as u64, Relaxed);
                let request = request.header("Content-Type", "application/x-ndjson");
                let request = request.header("Content-Encoding", "gzip").body(&bytes[..]);
                self.agent.run(request.map_err(|error| unreachable(error.to_string()))?)
            }
            None => self.agent.run(request.body(()).map_err(|error| unreachable(error.to_string()))?),
        };

        let mut response = sent.map_err(|error| unreachable(error.to_string()))?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        reader
            .take(MAX_RESPONSE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| unreachable(format!("the answer broke off: {error}")))?;

        let body = match bytes.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&bytes)
                .map_err(|_| OrgError::Answer { status, why: shortened(&String::from_utf8_lossy(&bytes)) })?,
        };
        Ok(Answer { status, body })
    }
}

/// Compresses the body of a request: rows are mostly words and numbers, which take a fifth.
fn zipped(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Returns the body of a response of success, or the error of another.
pub fn checked(answer: Answer) -> Result<Value, OrgError> {
    match answer.status {
        200..300 => Ok(answer.body),
        status => Err(error_of(status, &answer.body["error"])),
    }
}

/// The error for a status and the engine's description.
pub fn error_of(status: u16, error: &Value) -> OrgError {
    let kind = error["type"].as_str().unwrap_or_default();
    let reason = error["reason"].as_str().map_or_else(|| error.to_string(), str::to_owned);
    let why = shortened(&reason);

    match status {
        _ if kind == "cluster_block_exception" && reason.contains("disk usage") => OrgError::Full { why },
        _ if kind == "cluster_block_exception" && reason.contains("read-only-allow-delete") => {
            OrgError::Full { why }
        }
        401 | 403 if kind != "cluster_block_exception" => OrgError::Unauthorised { status, why },
        429 | 502 | 503 | 504 => OrgError::Degraded { why },
        _ => OrgError::Answer { status, why },
    }
}

/// The beginning of a text from the engine.
pub fn shortened(text: &str) -> String {
    let text = codeweaver_text::safe(text);
    text.chars().take(MAX_REASON_CHARS).collect()
}
