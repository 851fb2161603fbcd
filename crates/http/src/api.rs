//! An OpenAI-compatible API: its address, its key, one request, and the reason why there is no answer.
//!
//! The key is sent in one header and appears in no message. A redirect is not followed: it could carry the
//! request to another host.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::{Limits, agent, check_base, header, pause_of};

/// Maximum number of bytes that are read of the body of an error.
const MAX_ERROR_BYTES: u64 = 1024 * 1024;
/// Maximum number of characters of a message of the API that are shown.
const MAX_MESSAGE_CHARS: usize = 300;

/// The reason why the API gives no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// A setting is missing or invalid.
    #[error("{setting} {why}")]
    Setting { setting: &'static str, why: String },
    /// The server cannot be reached, or does not speak the protocol.
    #[error("the API at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    /// It took longer than allowed.
    #[error("the API did not respond within {timeout_ms} ms")]
    TimedOut { timeout_ms: u64 },
    /// 401 or 403.
    #[error("the API refuses the key (status {status}): {message}")]
    Unauthorised { status: u16, message: String },
    /// 429, also after the pauses that the API asked for.
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
    /// The answer does not follow the protocol.
    #[error("the answer of the API cannot be read: {why}")]
    Unreadable { why: String },
}

impl ApiError {
    /// Returns one sentence on the remedy, with the names of the settings.
    pub fn fix(&self, names: &ApiNames) -> String {
        let ApiNames { base_url, key_variable, key_command, model, timeout } = names;

        match self {
            ApiError::Setting { .. } => {
                format!("git codeweaver config set --user {base_url} URL, and export {key_variable}")
            }
            ApiError::Unreachable { .. } => format!("check {base_url} and the network"),
            ApiError::TimedOut { .. } => match timeout {
                Some(timeout) => format!("try again, or raise {timeout}"),
                None => format!("try again, or check {base_url}"),
            },
            ApiError::Unauthorised { .. } => format!("check {key_variable} or {key_command}"),
            ApiError::RateLimited { .. } => "wait a moment, or check the quota of the key".to_owned(),
            ApiError::Status { .. } => format!("check {model} and {base_url}"),
            ApiError::BrokenOff { .. } | ApiError::Empty { .. } | ApiError::Unreadable { .. } => {
                format!("try again, or another {model}")
            }
        }
    }
}

/// A failed request: whether another one may succeed, and when.
#[derive(Debug)]
pub enum Failure {
    Final(ApiError),
    /// With the pause that the server asks for.
    Passing(ApiError, Option<Duration>),
}

impl Failure {
    /// The connection broke off while the answer was read.
    pub fn broken(why: &str) -> Failure {
        Failure::Passing(ApiError::BrokenOff { why: why.to_owned() }, None)
    }

    /// The answer does not follow the protocol.
    pub fn unreadable(why: &str) -> Failure {
        Failure::Final(ApiError::Unreadable { why: why.to_owned() })
    }
}

/// Names of the settings of an API in messages.
#[derive(Debug)]
pub struct ApiNames {
    pub base_url: &'static str,
    /// Environment variable with the key.
    pub key_variable: &'static str,
    pub key_command: &'static str,
    pub model: &'static str,
    /// `None` if the time is fixed.
    pub timeout: Option<&'static str>,
}

/// The settings of an API.
pub struct ApiSettings<'a> {
    pub names: &'static ApiNames,
    pub base_url: Option<&'a str>,
    pub model: &'a str,
    /// The value of the environment variable.
    pub key: Option<String>,
    pub key_command: Option<&'a str>,
    pub timeout: Duration,
}

/// An API with a model.
pub struct Endpoint {
    base: String,
    model: String,
    key: Option<String>,
    timeout: Duration,
    agent: ureq::Agent,
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Endpoint")
            .field("base", &self.base)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// Opens the API of the settings; `None` if none is configured.
    ///
    /// # Errors
    /// [`ApiError::Setting`] for a key without a URL, an invalid URL, a URL of another machine without a key,
    /// and a command that prints no key.
    pub fn open(settings: ApiSettings<'_>) -> Result<Option<Endpoint>, ApiError> {
        let names = settings.names;
        let invalid = |setting, why: &str| Err(ApiError::Setting { setting, why: why.to_owned() });

        let key = settings.key.filter(|key| !key.trim().is_empty());
        let base = settings.base_url.unwrap_or_default();

        if base.trim().is_empty() {
            if key.is_some() || settings.key_command.is_some() {
                return invalid(names.base_url, "is not set, although there is a key for it");
            }
            return Ok(None);
        }

        let (base, is_local) = match check_base(base) {
            Ok(checked) => checked,
            Err(why) => return invalid(names.base_url, why),
        };
        if settings.model.trim().is_empty() {
            return invalid(names.model, "is empty");
        }

        let key = match (key, settings.key_command) {
            // The command runs only if no key is in the environment.
            (None, Some(command)) => Some(printed_key(command, names)?),
            (key, _) => key,
        };

        if key.is_none() && !is_local {
            let why = format!("is not set, and {} neither", names.key_command);
            return invalid(names.key_variable, &why);
        }
        if key.as_ref().is_some_and(|key| key.contains(|c: char| c.is_control() || !c.is_ascii())) {
            return invalid(names.key_variable, "has characters that no key has");
        }

        let timeout = settings.timeout;
        let agent = agent(Limits { timeout, max_redirects: 0, is_local });
        let (base, model) = (base.to_owned(), settings.model.to_owned());
        Ok(Some(Endpoint { base, model, key, timeout, agent }))
    }

    /// The base URL without a slash at its end.
    pub fn base(&self) -> &str {
        &self.base
    }

    /// Name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Posts `body` to `path`, and returns a response with status 200. `accept` is the wanted media type;
    /// `total` limits the whole request including the reading of its response.
    pub fn post(
        &self,
        path: &str,
        accept: &str,
        body: &Value,
        total: Option<Duration>,
    ) -> Result<ureq::http::Response<ureq::Body>, Failure> {
        let request = self.agent.post(format!("{}{path}", self.base)).config().timeout_global(total).build();
        let mut request = request.header("Content-Type", "application/json").header("Accept", accept);
        if let Some(key) = &self.key {
            request = request.header("Authorization", format!("Bearer {key}"));
        }

        let response = request.send(body.to_string().as_bytes());
        let response = response.map_err(|error| self.failure(&error, total))?;

        let status = response.status().as_u16();
        if status == 200 {
            return Ok(response);
        }

        let pause = header(&response, "retry-after").and_then(pause_of);
        Err(refusal(status, &message_of(response.into_body().into_reader()), pause))
    }

    fn timed_out(&self, total: Option<Duration>) -> ApiError {
        ApiError::TimedOut { timeout_ms: total.unwrap_or(self.timeout).as_millis() as u64 }
    }

    /// Classifies an error of sending a request.
    fn failure(&self, error: &ureq::Error, total: Option<Duration>) -> Failure {
        match error {
            ureq::Error::Timeout(_) => Failure::Final(self.timed_out(total)),
            ureq::Error::Io(io) if is_timeout(io) => Failure::Final(self.timed_out(total)),
            other => {
                let error =
                    ApiError::Unreachable { url: self.base.clone(), why: shortened(&other.to_string()) };
                Failure::Passing(error, None)
            }
        }
    }

    /// Classifies an error of reading the body of a response of [`Self::post`] with the same `total`.
    pub fn read_failure(&self, error: &std::io::Error, total: Option<Duration>) -> Failure {
        if is_timeout(error) || error.to_string().contains("timeout") {
            Failure::Final(self.timed_out(total))
        } else {
            Failure::broken(&shortened(&error.to_string()))
        }
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock)
}

/// Classifies a status other than 200. `pause` is the one that the server asks for.
fn refusal(status: u16, message: &str, pause: Option<Duration>) -> Failure {
    let message = shortened(message);
    match status {
        401 | 403 => Failure::Final(ApiError::Unauthorised { status, message }),
        429 => Failure::Passing(ApiError::RateLimited { message }, pause),
        408 | 500 | 502..=504 => Failure::Passing(ApiError::Status { status, message }, pause),
        _ => Failure::Final(ApiError::Status { status, message }),
    }
}

/// Reads the message in the body of an error.
fn message_of(reader: impl Read) -> String {
    let mut bytes = Vec::new();
    let _ = reader.take(MAX_ERROR_BYTES).read_to_end(&mut bytes);
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let message = body["error"]["message"].as_str().or_else(|| body["message"].as_str());
    let text = message.map_or_else(|| String::from_utf8_lossy(&bytes).into_owned(), str::to_owned);
    if text.trim().is_empty() { "without a message".to_owned() } else { text }
}

/// Returns the start of `text` on one line. An API may repeat the key in its message, so words that look like
/// a key are left out.
pub fn shortened(text: &str) -> String {
    let words = text.split_whitespace().map(|word| if looks_like_key(word) { "…" } else { word });
    let text = words.collect::<Vec<_>>().join(" ");
    text.trim_end_matches('.').chars().take(MAX_MESSAGE_CHARS).collect()
}

fn looks_like_key(word: &str) -> bool {
    word.starts_with("sk-") || word.len() > 40 && !word.contains(['/', '.'])
}

/// Runs `command` and returns the key that it prints.
fn printed_key(command: &str, names: &'static ApiNames) -> Result<String, ApiError> {
    let failed = |why: String| ApiError::Setting { setting: names.key_command, why };

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

    static NAMES: ApiNames = ApiNames {
        base_url: "url",
        key_variable: "KEY",
        key_command: "command",
        model: "model",
        timeout: None,
    };

    fn open(base: &str, key: Option<&str>) -> Result<Option<Endpoint>, ApiError> {
        Endpoint::open(ApiSettings {
            names: &NAMES,
            base_url: Some(base),
            model: "m",
            key: key.map(str::to_owned),
            key_command: None,
            timeout: Duration::from_secs(1),
        })
    }

    #[test]
    fn half_a_configuration_names_the_setting_that_is_missing() {
        assert!(open("", None).is_ok_and(|api| api.is_none()));
        let setting = |result: Result<Option<Endpoint>, ApiError>| match result {
            Err(ApiError::Setting { setting, .. }) => setting,
            other => panic!("{other:?}"),
        };
        assert_eq!(setting(open("", Some("k"))), "url");
        assert_eq!(setting(open("https://api.example.com/v1", None)), "KEY");
        assert_eq!(setting(open("https://api.example.com/v1", Some("a\nb"))), "KEY");
        for wrong in ["api.example.com", "ftp://x/v1", "http://api.example.com/v1", "https://u:p@x/v1"] {
            assert_eq!(setting(open(wrong, Some("k"))), "url", "{wrong}");
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
}
