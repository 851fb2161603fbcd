//! Requests to the engine.

use std::borrow::Cow;
use std::io::{Read as _, Write as _};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use codeweaver_base::random;
use codeweaver_http::{Limits, agent, backoff};

use super::address::Address;
use super::error::OrgError;

/// The patience of requests: times, and the number of attempts if the engine is too busy or not reached.
#[derive(Clone, Copy)]
pub struct Patience {
    /// Time in which the engine begins to answer.
    timeout: Duration,
    /// Number of further attempts.
    retries: u32,
    /// Whether a URL is asked again that has not answered in time.
    is_persistent: bool,
}

/// While documents are sent: a bulk of rows takes seconds on a busy machine.
pub const PATIENT: Patience = Patience { timeout: Duration::from_secs(60), retries: 6, is_persistent: true };
/// While a user waits for an answer: the engine is told to answer with what it has before that.
pub const QUICK: Patience = Patience { timeout: Duration::from_secs(10), retries: 2, is_persistent: false };

/// Length from which a body is sent as it is to an engine on the same machine: there is no network to spare.
const MAX_ZIPPED_LOCALLY: usize = 1 << 20;
/// Maximum size of a response.
const MAX_RESPONSE_BYTES: u64 = 512 << 20;
/// Maximum number of characters of the engine's words that are shown.
const MAX_REASON_CHARS: usize = 300;

/// A connection to an engine.
pub struct Connection {
    pub address: Address,
    agent: ureq::Agent,
    patience: Patience,
    /// Position of the URL that answered last.
    at: AtomicUsize,
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
    pub fn new(address: Address, patience: Patience) -> Connection {
        // A redirect could carry the key to another host.
        let limits = Limits { timeout: patience.timeout, max_redirects: 0, is_local: address.is_local };
        Connection {
            address,
            agent: agent(limits),
            patience,
            at: AtomicUsize::new(0),
            n_sent: AtomicU64::new(0),
        }
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

    /// Sends a request. If the engine is too busy or cannot be reached, sends it to the other URLs, and again
    /// after a pause.
    ///
    /// # Errors
    /// [`OrgError::Unreachable`] if no URL answers.
    pub fn send(&self, method: Method, path: &str, body: Option<&[u8]>) -> Result<Answer, OrgError> {
        let n_urls = self.address.urls.len();
        let mut n_failed = 0;
        let mut is_silent = vec![false; n_urls];

        loop {
            let at = self.at.load(Relaxed) % n_urls;
            let answer = self.send_once(&self.address.urls[at], (method, path, body));
            let may_pass = match &answer {
                Ok(answer) => {
                    matches!(answer.status, 429 | 502 | 503 | 504)
                        || self.patience.is_persistent && is_copied(&answer.body["error"])
                }
                Err(failure) => {
                    is_silent[at] = failure.is_timeout && !self.patience.is_persistent;
                    true
                }
            };

            let next = (1..=n_urls).map(|n| (at + n) % n_urls).find(|other| !is_silent[*other]);
            let Some(next) = next.filter(|_| may_pass && n_failed < self.patience.retries as usize * n_urls)
            else {
                return answer.map_err(|failure| failure.error);
            };

            // Another request may have moved on already.
            let _ = self.at.compare_exchange(at, next, Relaxed, Relaxed);
            n_failed += 1;
            if n_failed % n_urls == 0 {
                let round = (n_failed / n_urls - 1) as u32;
                std::thread::sleep(backoff(round, random::bits64() as f64 / u64::MAX as f64));
            }
        }
    }

    fn send_once(
        &self,
        base: &str,
        (method, path, body): (Method, &str, Option<&[u8]>),
    ) -> Result<Answer, Failure> {
        let url = format!("{base}/{path}");
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

        let failure = |why: String, is_timeout: bool| Failure {
            error: OrgError::Unreachable { url: base.to_owned(), why },
            is_timeout,
        };
        let unreachable =
            |error: ureq::Error| failure(error.to_string(), matches!(error, ureq::Error::Timeout(_)));
        let sent = match body {
            Some(bytes) => {
                let is_zipped = !self.address.is_local || bytes.len() <= MAX_ZIPPED_LOCALLY;
                let bytes = match is_zipped {
                    true => Cow::Owned(zipped(bytes).map_err(|error| failure(error.to_string(), false))?),
                    false => Cow::Borrowed(bytes),
                };
                self.n_sent.fetch_add(bytes.len() as u64, Relaxed);

                let mut request = request.header("Content-Type", "application/x-ndjson");
                if is_zipped {
                    request = request.header("Content-Encoding", "gzip");
                }
                let request = request.body(&bytes[..]).map_err(|error| unreachable(error.into()))?;
                self.agent.run(request)
            }
            None => self.agent.run(request.body(()).map_err(|error| unreachable(error.into()))?),
        };

        let mut response = sent.map_err(unreachable)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let reader = response.body_mut().as_reader();
        reader
            .take(MAX_RESPONSE_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| failure(format!("the answer broke off: {error}"), false))?;

        let body = match bytes.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&bytes).map_err(|_| Failure {
                error: OrgError::Answer { status, why: shortened(&String::from_utf8_lossy(&bytes)) },
                is_timeout: false,
            })?,
        };
        Ok(Answer { status, body })
    }
}

/// Why a URL has not answered.
struct Failure {
    error: OrgError,
    /// Whether it took the request, and too long.
    is_timeout: bool,
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

/// Returns whether the engine takes no changes of an index because `org reindex` copies it.
fn is_copied(error: &Value) -> bool {
    error["type"] == "cluster_block_exception"
        && error["reason"].as_str().is_some_and(|reason| reason.contains("index write"))
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
        _ if is_copied(error) => OrgError::Blocked { why },
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
