//! Api: a chat completion of an OpenAI-compatible API, as a stream of text.
//!
//! Blocking: one request, answered by server-sent events. Each `data:` line is a JSON object, until `data:
//! [DONE]`. A reply that is not a stream is read as a whole. A request is repeated only while no part of the
//! answer has arrived, after growing pauses or after the pause that the server asks for.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_config::{ASK_KEY_VARIABLE, AskSettings, spellings};
use codeweaver_http::api::{ApiNames, ApiSettings, Endpoint, Failure, shortened};
use codeweaver_http::header;

pub use codeweaver_http::api::ApiError;

/// The names of the settings.
pub static NAMES: ApiNames = ApiNames {
    base_url: "ask.api_base_url",
    key_variable: ASK_KEY_VARIABLE,
    key_command: "ask.api_key_command",
    model: "ask.llm_model",
    timeout: Some("ask.timeout_ms"),
};
/// Number of requests for one answer.
const MAX_ATTEMPTS: u32 = 3;
/// Pause before the second request; it doubles for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A server that asks for a longer pause gets no further request.
const MAX_PAUSE: Duration = Duration::from_secs(20);
/// Maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Maximum size of one line of the stream.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// An API with the model that answers.
#[derive(Debug)]
pub struct Api(Endpoint);

impl Api {
    /// The API of the settings; `None` if none is configured. `key` is that of [`key_of_environment`], which
    /// the one of the settings replaces: files override the environment.
    ///
    /// # Errors
    /// Those of [`Endpoint::open`].
    pub fn open(settings: &AskSettings, key: Option<String>) -> Result<Option<Api>, ApiError> {
        let endpoint = Endpoint::open(ApiSettings {
            names: &NAMES,
            base_url: settings.api_base_url.as_deref(),
            model: &settings.llm_model,
            key: settings.api_key.as_ref().map(|key| key.expose().to_owned()).or(key),
            key_command: settings.api_key_command.as_deref(),
            timeout: Duration::from_millis(settings.timeout_ms),
        });
        Ok(endpoint?.map(Api))
    }

    /// Name of the model.
    pub fn model(&self) -> &str {
        self.0.model()
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
        let empty = || ApiError::Empty { model: self.model().to_owned() };
        let mut pause = FIRST_PAUSE;

        for attempt in 1.. {
            let mut arrived = String::new();
            let failure = match self.attempt(messages, &mut arrived, chunk) {
                Ok(()) if !arrived.trim().is_empty() => return Ok(arrived),
                Ok(()) => Failure::Passing(empty(), None),
                Err(failure) => failure,
            };

            // A repeated request would pass parts on twice, so it is made only if none has arrived.
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

        Err(empty())
    }

    /// Makes one request, and appends each part of the answer to `arrived`.
    fn attempt(
        &self,
        messages: &Value,
        arrived: &mut String,
        chunk: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), Failure> {
        let body = json!({ "model": self.model(), "messages": messages, "stream": true, "temperature": 0 });
        let response = self.0.post("/chat/completions", "text/event-stream", &body, None)?;
        let is_stream = header(&response, "content-type").is_some_and(|kind| kind.contains("event-stream"));
        let mut reader = BufReader::new(response.into_body().into_reader());

        if !is_stream {
            return self.whole(reader, arrived, chunk);
        }

        loop {
            let mut line = Vec::new();
            let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            match read {
                Ok(0) => return Err(Failure::broken("the connection was closed before the end")),
                Ok(_) if !line.ends_with(b"\n") && line.len() as u64 == MAX_LINE_BYTES => {
                    return Err(Failure::unreadable("a line of the stream is too long"));
                }
                Ok(_) => {}
                Err(error) => return Err(self.0.read_failure(&error, None)),
            }

            let line = String::from_utf8_lossy(&line);
            let Some(data) = line.trim_end().strip_prefix("data:").map(str::trim) else { continue };
            if data == "[DONE]" {
                return Ok(());
            }

            let event: Value = serde_json::from_str(data)
                .map_err(|_| Failure::unreadable("an event of the stream is not JSON"))?;
            if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
                return Err(Failure::broken(&shortened(error["message"].as_str().unwrap_or("error"))));
            }

            let choice = &event["choices"][0];
            let text = choice["delta"]["content"].as_str().unwrap_or_default();
            if !take(text, arrived, chunk) {
                return Ok(());
            }

            // An answer cut off at the limit of the model is an error, although its text has been passed on.
            if choice["finish_reason"].as_str().is_some_and(|reason| reason == "length") {
                return Err(Failure::broken("the model reached its token limit"));
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
        read.map_err(|error| self.0.read_failure(&error, None))?;

        let reply: Value =
            serde_json::from_slice(&bytes).map_err(|_| Failure::unreadable("it is not JSON"))?;
        let text = reply["choices"][0]["message"]["content"].as_str();

        take(text.ok_or_else(|| Failure::unreadable("it has no message"))?, arrived, chunk);
        Ok(())
    }
}

/// Returns the key in the environment: the value of [`ASK_KEY_VARIABLE`], or else of its compatible spelling.
/// Blank values count as unset.
pub fn key_of_environment() -> Option<String> {
    let mut values = spellings(ASK_KEY_VARIABLE).filter_map(|name| std::env::var(name).ok());
    values.find(|key| !key.trim().is_empty())
}

/// Passes on a part of the answer. Returns false if no more should be read.
fn take(text: &str, arrived: &mut String, chunk: &mut dyn FnMut(&str) -> bool) -> bool {
    if text.is_empty() {
        return true;
    }
    arrived.push_str(text);
    chunk(text) && arrived.len() < MAX_ANSWER_BYTES
}
