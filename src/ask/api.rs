//! Api: a chat completion of an OpenAI-compatible API, as a stream of text.
//!
//! Blocking: one request, and server-sent events of which each `data:` line is a JSON object, until `data:
//! [DONE]`. A reply that is not a stream is taken as a whole. Requests are repeated while nothing of the
//! answer has arrived, after growing pauses or those that the server asks for. The key is in one header and
//! in no message.

use crate::config::QaSettings;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Environment variable with the key.
pub const KEY_VARIABLE: &str = "MARKDOWN_QA_API_KEY";
/// Number of requests for one answer.
const MAX_ATTEMPTS: u32 = 3;
/// Pause before the second request; it doubles for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A server that asks for a longer pause gets no further request.
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// Time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Maximum size of one line of the stream, and of what is read of an error.
const MAX_LINE_BYTES: u64 = 1024 * 1024;
/// Maximum number of characters of a message of the API that are shown.
const MAX_MESSAGE_CHARS: usize = 300;

/// Why the API gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// A setting is missing or invalid.
    #[error("{setting} {why}")]
    Setting { setting: &'static str, why: String },
    /// The server cannot be reached, or does not speak the protocol.
    #[error("the API at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    /// It took longer than `qa.timeout_ms`.
    #[error("the API did not respond within {timeout_ms} ms")]
    TimedOut { timeout_ms: u64 },
    /// 401 or 403.
    #[error("the API refuses the key (status {status}): {message}")]
    Unauthorised { status: u16, message: String },
    /// 429, also after the pauses it asked for.
    #[error("the API has received too many requests (status 429): {message}")]
    RateLimited { message: String },
    /// Another status.
    #[error("the API answered with status {status}: {message}")]
    Status { status: u16, message: String },
    /// The stream ended before the answer did.
    #[error("the answer of the API broke off: {why}")]
    BrokenOff { why: String },
    /// The answer has no text.
    #[error("the model {model} answered nothing")]
    Empty { model: String },
    /// It is not what the protocol says.
    #[error("the answer of the API cannot be read: {why}")]
    Unreadable { why: String },
}

impl ApiError {
    /// What to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            ApiError::Setting { .. } => {
                "git codeweaver config set --user qa.api_base_url URL, and export MARKDOWN_QA_API_KEY"
            }
            ApiError::Unreachable { .. } => "check qa.api_base_url and the network",
            ApiError::TimedOut { .. } => "try again, or raise qa.timeout_ms",
            ApiError::Unauthorised { .. } => "check MARKDOWN_QA_API_KEY or qa.api_key_command",
            ApiError::RateLimited { .. } => "wait a moment, or check the quota of the key",
            ApiError::Status { .. } => "check qa.llm_model and qa.api_base_url",
            ApiError::BrokenOff { .. } | ApiError::Empty { .. } | ApiError::Unreadable { .. } => {
                "try again, or another qa.llm_model"
            }
        }
    }
}

/// Whether another request may succeed, and when.
enum Failure {
    Final(ApiError),
    Passing(ApiError, Option<Duration>),
}

/// An API with the model that answers.
pub struct Api {
    url: String,
    key: Option<String>,
    model: String,
    timeout: Duration,
    agent: ureq::Agent,
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("url", &self.url).field("model", &self.model).finish_non_exhaustive()
    }
}

impl Api {
    /// The API of the settings; `None` if none is configured. `key` is the value of [`KEY_VARIABLE`].
    ///
    /// # Errors
    /// [`ApiError::Setting`] for a key without a URL, an invalid URL, a URL of another machine without a key,
    /// and a command that prints no key.
    pub fn open(settings: &QaSettings, key: Option<String>) -> Result<Option<Api>, ApiError> {
        let setting = |setting, why: &str| Err(ApiError::Setting { setting, why: why.to_owned() });
        let key = key.filter(|key| !key.trim().is_empty());
        let base = settings.api_base_url.as_deref().unwrap_or_default().trim().trim_end_matches('/');
        let command = settings.api_key_command.as_deref();
        if base.is_empty() {
            if key.is_some() || command.is_some() {
                return setting("qa.api_base_url", "is not set, although there is a key for it");
            }
            return Ok(None);
        }
        let Some((scheme, rest)) = base.split_once("://").filter(|(_, rest)| !rest.is_empty()) else {
            return setting("qa.api_base_url", "is not a URL such as https://host/v1");
        };
        if !["http", "https"].contains(&scheme) || rest.contains(['@', '?', '#', ' ']) {
            return setting("qa.api_base_url", "must be http://HOST/PATH or https://HOST/PATH");
        }
        let is_local = is_loopback(rest);
        if scheme == "http" && !is_local {
            return setting("qa.api_base_url", "must be https:// unless the host is this machine");
        }
        if settings.llm_model.trim().is_empty() {
            return setting("qa.llm_model", "is empty");
        }
        let key = match (key, command) {
            (None, Some(command)) => Some(printed_key(command)?),
            (key, _) => key,
        };
        if key.is_none() && !is_local {
            return setting(KEY_VARIABLE, "is not set, and qa.api_key_command neither");
        }
        if key.as_ref().is_some_and(|key| key.contains(|c: char| c.is_control() || !c.is_ascii())) {
            return setting(KEY_VARIABLE, "has characters that no key has");
        }
        let timeout = Duration::from_millis(settings.timeout_ms);
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // A redirect could carry the question to another host.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_TIMEOUT.min(timeout)))
            .timeout_recv_response(Some(timeout))
            .timeout_per_read(Some(timeout))
            .build()
            .new_agent();
        let (url, model) = (format!("{base}/chat/completions"), settings.llm_model.clone());
        Ok(Some(Api { url, key, model, timeout, agent }))
    }

    /// Name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Calls `chunk` with each part of the answer to `messages` as it arrives, and returns the whole. If
    /// `chunk` returns false, the rest is not read.
    ///
    /// # Errors
    /// Any [`ApiError`]; parts may have arrived before.
    pub fn complete(
        &self,
        messages: &Value,
        chunk: &mut dyn FnMut(&str) -> bool,
    ) -> Result<String, ApiError> {
        let mut pause = FIRST_PAUSE;
        for attempt in 1.. {
            let mut arrived = String::new();
            let failure = match self.attempt(messages, &mut arrived, chunk) {
                Ok(()) if !arrived.trim().is_empty() => return Ok(arrived),
                Ok(()) => Failure::Passing(ApiError::Empty { model: self.model.clone() }, None),
                Err(failure) => failure,
            };
            let (error, wanted) = match failure {
                Failure::Passing(error, wanted) if arrived.is_empty() => (error, wanted),
                Failure::Passing(error, _) | Failure::Final(error) => return Err(error),
            };
            if attempt == MAX_ATTEMPTS || wanted.is_some_and(|wanted| wanted > MAX_PAUSE) {
                return Err(error);
            }
            tracing::info!(component = "ask", operation = "retry", attempt, error = %error, "the API is asked again");
            std::thread::sleep(wanted.unwrap_or(pause));
            pause *= 2;
        }
        Err(ApiError::Empty { model: self.model.clone() })
    }

    fn attempt(
        &self,
        messages: &Value,
        arrived: &mut String,
        chunk: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), Failure> {
        let body = json!({ "model": self.model, "messages": messages, "stream": true, "temperature": 0 });
        let mut request = self.agent.post(&self.url).header("Content-Type", "application/json");
        request = request.header("Accept", "text/event-stream");
        if let Some(key) = &self.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        let response = request.send(body.to_string().as_bytes());
        let response = response.map_err(|error| self.failure(&error))?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let (wanted, is_stream) = (
            header("retry-after").and_then(pause_of),
            header("content-type").is_some_and(|kind| kind.contains("event-stream")),
        );
        let mut reader = BufReader::new(response.into_body().into_reader());
        if status != 200 {
            return Err(refusal(status, &message_of(reader), wanted));
        }
        if !is_stream {
            return self.whole(reader, arrived, chunk);
        }
        loop {
            let mut line = Vec::new();
            let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            match read {
                Ok(0) => return Err(broken("the connection was closed before the end")),
                Ok(_) if !line.ends_with(b"\n") && line.len() as u64 == MAX_LINE_BYTES => {
                    return Err(unreadable("a line of the stream is too long"));
                }
                Ok(_) => {}
                Err(error) => return Err(self.read_failure(&error)),
            }
            let line = String::from_utf8_lossy(&line);
            let Some(data) = line.trim_end().strip_prefix("data:").map(str::trim) else { continue };
            if data == "[DONE]" {
                return Ok(());
            }
            let event: Value =
                serde_json::from_str(data).map_err(|_| unreadable("an event of the stream is not JSON"))?;
            if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
                return Err(broken(&shortened(error["message"].as_str().unwrap_or("error"))));
            }
            let choice = &event["choices"][0];
            let text = choice["delta"]["content"].as_str().unwrap_or_default();
            if !take(text, arrived, chunk) {
                return Ok(());
            }
            if choice["finish_reason"].as_str().is_some_and(|reason| reason == "length") {
                return Err(broken("the model reached its token limit"));
            }
        }
    }

    /// Reads a reply that is not a stream.
    fn whole(
        &self,
        reader: impl Read,
        arrived: &mut String,
        chunk: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let read = reader.take(MAX_LINE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| self.read_failure(&error))?;
        let reply: Value = serde_json::from_slice(&bytes).map_err(|_| unreadable("it is not JSON"))?;
        let text = reply["choices"][0]["message"]["content"].as_str();
        take(text.ok_or_else(|| unreadable("it has no message"))?, arrived, chunk);
        Ok(())
    }

    fn failure(&self, error: &ureq::Error) -> Failure {
        let timed_out = ApiError::TimedOut { timeout_ms: self.timeout.as_millis() as u64 };
        match error {
            ureq::Error::Timeout(_) => Failure::Final(timed_out),
            ureq::Error::Io(io) if is_timeout(io) => Failure::Final(timed_out),
            other => {
                let error =
                    ApiError::Unreachable { url: self.url.clone(), why: shortened(&other.to_string()) };
                Failure::Passing(error, None)
            }
        }
    }

    fn read_failure(&self, error: &std::io::Error) -> Failure {
        if is_timeout(error) || error.to_string().contains("timeout") {
            Failure::Final(ApiError::TimedOut { timeout_ms: self.timeout.as_millis() as u64 })
        } else {
            broken(&shortened(&error.to_string()))
        }
    }
}

/// Passes on a part of the answer. False if there should be no more.
fn take(text: &str, arrived: &mut String, chunk: &mut dyn FnMut(&str) -> bool) -> bool {
    if text.is_empty() {
        return true;
    }
    arrived.push_str(text);
    chunk(text) && arrived.len() < MAX_ANSWER_BYTES
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock)
}

fn broken(why: &str) -> Failure {
    Failure::Passing(ApiError::BrokenOff { why: why.to_owned() }, None)
}

fn unreadable(why: &str) -> Failure {
    Failure::Final(ApiError::Unreadable { why: why.to_owned() })
}

/// The failure that a status other than 200 stands for.
fn refusal(status: u16, message: &str, wanted: Option<Duration>) -> Failure {
    let message = shortened(message);
    match status {
        401 | 403 => Failure::Final(ApiError::Unauthorised { status, message }),
        429 => Failure::Passing(ApiError::RateLimited { message }, wanted),
        408 | 500 | 502..=504 => Failure::Passing(ApiError::Status { status, message }, wanted),
        _ => Failure::Final(ApiError::Status { status, message }),
    }
}

/// The message in the body of an error.
fn message_of(reader: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = reader.take(MAX_LINE_BYTES).read_to_end(&mut bytes);
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = body["error"]["message"].as_str().or_else(|| body["message"].as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(&bytes).into_owned(), str::to_owned);
    if text.trim().is_empty() { "without a message".to_owned() } else { text }
}

/// The start of `text` on one line. An API may repeat the key in its message, so what looks like one is cut.
fn shortened(text: &str) -> String {
    let is_key = |word: &str| word.starts_with("sk-") || word.len() > 40 && !word.contains(['/', '.']);
    let words = text.split_whitespace().map(|word| if is_key(word) { "…" } else { word });
    let text = words.collect::<Vec<_>>().join(" ");
    text.trim_end_matches('.').chars().take(MAX_MESSAGE_CHARS).collect()
}

/// The pause that a header `Retry-After` asks for, in seconds or as a date.
fn pause_of(value: &str) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return (0.0..=86_400.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds));
    }
    let then = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
    let seconds = then.as_second() - jiff::Timestamp::now().as_second();
    Some(Duration::from_secs(seconds.max(0) as u64))
}

/// Whether `HOST[:PORT][/PATH]` is this machine.
fn is_loopback(rest: &str) -> bool {
    let authority = rest.split('/').next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The key that `command` prints.
fn printed_key(command: &str) -> Result<String, ApiError> {
    let failed = |why: String| ApiError::Setting { setting: "qa.api_key_command", why };
    let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let output =
        Command::new(shell).args([flag, command]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("cannot be run: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("failed ({})", output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().next().map(str::trim).filter(|key| !key.is_empty()) {
        Some(key) => Ok(key.to_owned()),
        None => Err(failed("prints no key".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(base: &str, key: Option<&str>) -> Result<Option<Api>, ApiError> {
        let settings = QaSettings { api_base_url: Some(base.to_owned()), ..QaSettings::default() };
        Api::open(&settings, key.map(str::to_owned))
    }

    #[test]
    fn half_a_configuration_names_the_setting_that_is_missing() {
        assert!(open("", None).is_ok_and(|api| api.is_none()));
        let setting = |result: Result<Option<Api>, ApiError>| match result {
            Err(ApiError::Setting { setting, .. }) => setting,
            other => panic!("{other:?}"),
        };
        assert_eq!(setting(open("", Some("k"))), "qa.api_base_url");
        assert_eq!(setting(open("https://api.example.com/v1", None)), KEY_VARIABLE);
        assert_eq!(setting(open("https://api.example.com/v1", Some("a\nb"))), KEY_VARIABLE);
        for wrong in ["api.example.com", "ftp://x/v1", "http://api.example.com/v1", "https://u:p@x/v1"] {
            assert_eq!(setting(open(wrong, Some("k"))), "qa.api_base_url", "{wrong}");
        }
        for local in ["http://localhost:1/v1/", "http://127.0.0.1:1", "http://[::1]:1/v1"] {
            assert!(open(local, None).is_ok_and(|api| api.is_some()), "{local}");
        }
    }

    #[test]
    fn the_key_is_in_no_message() {
        let api = open("https://api.example.com/v1", Some("sk-secret")).unwrap();
        assert!(!format!("{api:?}").contains("secret"));
        assert_eq!(shortened("wrong key sk-secret given"), "wrong key … given");
    }

    #[test]
    fn pauses_are_seconds_or_dates() {
        assert_eq!(pause_of("2"), Some(Duration::from_secs(2)));
        assert_eq!(pause_of("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert_eq!((pause_of("-1"), pause_of("soon")), (None, None));
    }
}
