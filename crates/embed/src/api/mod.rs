//! Embedding by an OpenAI-compatible API: `POST {model.api_base_url}/embeddings`.
//!
//! The texts of chunks and queries leave the machine. So only the user's own settings can name an API, and a
//! host other than this machine is sent nothing without the user's consent to it. Text that looks like a
//! secret is not sent at all (`index::build`).
//!
//! While indexing, a request may take 30 s and is retried; at most ten are in progress at the same time. A
//! query waits two seconds in all. After some failures in sequence it does not wait at all ([`breaker`]): the
//! answer then rests on words alone.

pub(crate) mod breaker;
mod figures;

use std::io::Read as _;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_base::random;
use codeweaver_base::sync;
use codeweaver_chunk::tokens;
use codeweaver_config::ModelSettings;
use codeweaver_http::api::{ApiError, ApiNames, ApiSettings, Endpoint, Failure};
use codeweaver_http::{backoff, check_base};

use super::known;
use super::local;
use super::model_input::MODEL_INPUT_VERSION;
use super::quantise::{QUANTISATION, quantise, scale_for, shorten};
use super::{EmbedCost, EmbedError, Embedder};
use breaker::{Breaker, PAUSE, State};
use figures::Figures;

pub use figures::ApiFigures;

/// Environment variable that has the key.
pub const KEY_VARIABLE: &str = "CODEWEAVER_EMBEDDING_KEY";
/// The names of the settings.
pub static NAMES: ApiNames = ApiNames {
    base_url: "model.api_base_url",
    key_variable: KEY_VARIABLE,
    key_command: "model.api_key_command",
    model: "model.name",
    timeout: None,
};
/// The model of an API if `model.name` is not set.
const DEFAULT_MODEL: &str = "text-embedding-3-small";
/// Maximum number of requests in progress at the same time.
pub const MAX_REQUESTS: usize = 10;
/// Maximum time of a request while indexing, and of a query with its retries.
const INDEX_TIMEOUT: Duration = Duration::from_secs(30);
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// Number of retries of a request.
const MAX_RETRIES: u32 = 3;
/// Maximum pause. A server that asks for a longer one gets no further request.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// Maximum number of texts of one request. Self-hosted servers accept 32 by default.
const MAX_TEXTS: usize = 32;
/// Maximum size of a response.
const MAX_RESPONSE_BYTES: u64 = 64 << 20;

/// A model behind an API.
pub(super) struct ApiModel {
    endpoint: Endpoint,
    name: String,
    fingerprint: String,
    dim: usize,
    batch_tokens: usize,
    health: Mutex<Health>,
    figures: Mutex<Figures>,
    /// Number of requests that may still be started.
    free: Mutex<usize>,
    freed: Condvar,
}

/// Health of the API, according to the requests so far.
#[derive(Default)]
struct Health {
    breaker: Breaker,
    /// Error of the last request; `None` after a success.
    failure: Option<ApiError>,
}

/// Returns the name of the model at the API.
pub(super) fn model_name(settings: &ModelSettings) -> &str {
    if settings.name == ModelSettings::BUILTIN { DEFAULT_MODEL } else { &settings.name }
}

/// Returns the fingerprint, which depends on the server and the model that it names, since no file can be
/// hashed.
pub(super) fn fingerprint(settings: &ModelSettings) -> Result<String, EmbedError> {
    let (name, dim) = (model_name(settings), dimension(settings)?);
    let base = settings.api_base_url.as_deref().unwrap_or_default().trim().trim_end_matches('/');
    let rest = format!("api|{base}|{name}|{dim}|{QUANTISATION}|{MODEL_INPUT_VERSION}");
    local::fingerprint(&name.to_ascii_lowercase(), [], &rest)
}

/// Returns the dimension of the vectors: the setting, or that of a known model.
pub(super) fn dimension(settings: &ModelSettings) -> Result<usize, EmbedError> {
    let name = model_name(settings);
    let known = settings.dimension.or_else(|| known::api_dimension(name));
    known.ok_or_else(|| EmbedError::DimensionUnknown { name: name.to_owned() })
}

/// Returns the host of the settings if texts may not be sent to it without the user's consent.
pub fn wants_consent(settings: &ModelSettings) -> Option<&str> {
    let (base, is_local) = check_base(settings.api_base_url.as_deref()?).ok()?;
    let consent = settings.api_consent.as_deref().map(|url| url.trim().trim_end_matches('/'));
    (!is_local && consent != Some(base)).then_some(base)
}

impl ApiModel {
    /// Opens the API of the settings. Sends nothing.
    pub(super) fn open(settings: &ModelSettings, key: Option<String>) -> Result<ApiModel, EmbedError> {
        let name = model_name(settings);
        let consent = wants_consent(settings);
        let endpoint = Endpoint::open(ApiSettings {
            names: &NAMES,
            base_url: settings.api_base_url.as_deref(),
            model: name,
            key,
            // Without consent the command that prints the key is not run either.
            key_command: settings.api_key_command.as_deref().filter(|_| consent.is_none()),
            timeout: INDEX_TIMEOUT,
        });
        if let Some(url) = consent {
            return Err(EmbedError::Consent { url: url.to_owned() });
        }

        let not_set = ApiError::Setting { setting: NAMES.base_url, why: "is not set".to_owned() };
        let endpoint = endpoint
            .and_then(|endpoint| endpoint.ok_or(not_set))
            .map_err(|error| EmbedError::Api { name: name.to_owned(), error })?;
        Ok(ApiModel {
            endpoint,
            name: name.to_owned(),
            fingerprint: fingerprint(settings)?,
            dim: dimension(settings)?,
            batch_tokens: settings.api_batch_tokens as usize,
            health: Mutex::default(),
            figures: Mutex::default(),
            free: Mutex::new(MAX_REQUESTS),
            freed: Condvar::new(),
        })
    }

    fn failed(&self, error: ApiError) -> EmbedError {
        EmbedError::Api { name: self.name.clone(), error }
    }

    /// Requests the vectors of `inputs`, within `patience` in all if that is given. Passes the breaker.
    fn request(&self, inputs: &[&str], patience: Option<Duration>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut health = sync::lock(&self.health);
        if !health.breaker.admits(Instant::now()) {
            let url = self.endpoint.base().to_owned();
            return Err(EmbedError::CircuitOpen { url, pause: PAUSE, failure: health.failure.clone() });
        }
        drop(health);

        let _slot = self.slot();
        let started = Instant::now();
        let result = self.retried(inputs, patience);
        sync::lock(&self.figures).requested(started.elapsed(), result.is_err());

        let mut health = sync::lock(&self.health);
        let before = health.breaker.state(Instant::now());
        match &result {
            Ok(_) => health.breaker.succeeded(),
            Err(_) => health.breaker.failed(Instant::now()),
        }
        health.failure = result.as_ref().err().cloned();
        let after = health.breaker.state(Instant::now());

        if before != after {
            if after == State::Open {
                sync::lock(&self.figures).opened();
            }
            tracing::warn!(
                component = "embedder",
                operation = "circuit breaker",
                url = self.endpoint.base(),
                state = after.name(),
                "the state of the embedding API has changed"
            );
        }

        result.map_err(|error| self.failed(error))
    }

    /// Sends a request until it succeeds, its retries are used up or `patience` is over.
    fn retried(&self, inputs: &[&str], patience: Option<Duration>) -> Result<Vec<Vec<f32>>, ApiError> {
        let started = Instant::now();
        let mut n_retries = 0;
        loop {
            let left = patience.map(|patience| patience.saturating_sub(started.elapsed()));
            let failure = match self.attempt(inputs, left.unwrap_or(INDEX_TIMEOUT)) {
                Ok(vectors) => return Ok(vectors),
                Err(failure) => failure,
            };
            // A query has no time for another request after one that took too long.
            let (error, asked_pause) = match failure {
                Failure::Final(error @ ApiError::TimedOut { .. }) if patience.is_none() => (error, None),
                Failure::Passing(error, pause) => (error, pause),
                Failure::Final(error) => return Err(error),
            };

            let jitter = random::bits64() as f64 / u64::MAX as f64;
            let pause = asked_pause.unwrap_or_else(|| backoff(n_retries, jitter));
            let is_over = patience.is_some_and(|patience| started.elapsed() + pause >= patience);
            if n_retries == MAX_RETRIES || pause > MAX_PAUSE || is_over {
                return Err(error);
            }

            n_retries += 1;
            tracing::info!(component = "embedder", operation = "retry", n_retries, error = %error, "the embedding API is asked again");
            std::thread::sleep(pause);
        }
    }

    /// Sends one request.
    fn attempt(&self, inputs: &[&str], timeout: Duration) -> Result<Vec<Vec<f32>>, Failure> {
        let body = json!({ "model": self.name, "input": inputs, "encoding_format": "float" });
        let total = Some(timeout);
        let response = self.endpoint.post("/embeddings", "application/json", &body, total)?;

        let mut bytes = Vec::new();
        let read = response.into_body().into_reader().take(MAX_RESPONSE_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| self.endpoint.read_failure(&error, total))?;
        vectors_in(&bytes, inputs.len()).map_err(Failure::unreadable)
    }

    /// Waits until fewer than [`MAX_REQUESTS`] requests are on their way.
    fn slot(&self) -> Slot<'_> {
        let mut free = sync::lock(&self.free);
        while *free == 0 {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= 1;
        Slot(self)
    }

    /// Appends the row of a vector. A longer vector is cut if the model allows it.
    fn push(&self, vector: Vec<f32>, out: &mut Vec<i8>) -> Result<(), EmbedError> {
        let found = vector.len();
        if found != self.dim && !(found > self.dim && known::is_matryoshka(&self.name)) {
            return Err(EmbedError::Dimension { name: self.name.clone(), expected: self.dim, found });
        }

        quantise(&shorten(vector, self.dim, known::has_layer_norm(&self.name)), scale_for(self.dim), out);
        Ok(())
    }
}

/// The right to send one request, returned on drop.
struct Slot<'a>(&'a ApiModel);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *sync::lock(&self.0.free) += 1;
        self.0.freed.notify_one();
    }
}

/// Reads the `n` vectors of a response, in the order of the texts.
fn vectors_in(bytes: &[u8], n: usize) -> Result<Vec<Vec<f32>>, &'static str> {
    let reply: Value = serde_json::from_slice(bytes).map_err(|_| "it is not JSON")?;
    let data = reply["data"].as_array().ok_or("it has no `data`")?;

    let mut vectors = vec![Vec::new(); n];
    for (position, entry) in data.iter().enumerate() {
        let index = entry["index"].as_u64().map_or(position, |index| index as usize);
        let numbers = entry["embedding"].as_array().ok_or("it has no numbers")?;
        let vector: Option<Vec<f32>> = numbers.iter().map(|number| Some(number.as_f64()? as f32)).collect();
        let vector = vector.filter(|vector| vector.iter().all(|number| number.is_finite()));
        *vectors.get_mut(index).ok_or("it has more vectors than texts were sent")? =
            vector.ok_or("it has what is no number")?;
    }

    if vectors.iter().any(Vec::is_empty) {
        Err("it has fewer vectors than texts were sent")
    } else {
        Ok(vectors)
    }
}

/// Returns the number of `inputs` that make up the next request: at most [`MAX_TEXTS`] with at most
/// `batch_tokens` tokens, and at least one.
fn batch_len(inputs: &[&str], batch_tokens: usize) -> usize {
    let (mut n, mut n_tokens) = (0, 0);
    for input in inputs.iter().take(MAX_TEXTS) {
        n_tokens += tokens::count(input) as usize;
        if n_tokens > batch_tokens {
            break;
        }
        n += 1;
    }
    n.max(1)
}

impl Embedder for ApiModel {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Api
    }

    /// Sends one request after the other. Blank texts, which APIs refuse, get the zero vector.
    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError> {
        let mut rest = inputs;
        while !rest.is_empty() {
            let (batch, after) = rest.split_at(batch_len(rest, self.batch_tokens));
            let sent: Vec<&str> = batch.iter().copied().filter(|text| !text.trim().is_empty()).collect();

            let mut vectors =
                if sent.is_empty() { Vec::new() } else { self.request(&sent, None)? }.into_iter();

            for text in batch {
                match text.trim().is_empty() {
                    true => out.resize(out.len() + self.dim, 0),
                    false => self.push(vectors.next().unwrap_or_default(), out)?,
                }
            }
            rest = after;
        }
        Ok(())
    }

    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError> {
        let mut row = Vec::with_capacity(self.dim);
        let vector = self.request(&[query], Some(QUERY_TIMEOUT))?.pop();
        self.push(vector.unwrap_or_default(), &mut row)?;
        Ok(row)
    }

    fn embed_path(&self, _: &str) -> Option<Vec<i8>> {
        None
    }

    fn api_figures(&self) -> Option<ApiFigures> {
        let state = sync::lock(&self.health).breaker.state(Instant::now());
        Some(sync::lock(&self.figures).report(state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_end_at_their_tokens_and_texts() {
        let text = "one two three four";
        let each = tokens::count(text) as usize;
        let inputs = vec![text; 100];
        assert_eq!(batch_len(&inputs, 3 * each), 3);
        assert_eq!(batch_len(&inputs, 1), 1, "a long text is a request of its own");
        assert_eq!(batch_len(&inputs, 100_000), MAX_TEXTS);
    }

    #[test]
    fn vectors_are_taken_by_their_index() {
        let reply = |data: Value| vectors_in(json!({ "data": data }).to_string().as_bytes(), 2);
        let entry = |index: usize, number: f64| json!({ "index": index, "embedding": [number] });
        assert_eq!(reply(json!([entry(1, 2.0), entry(0, 1.0)])), Ok(vec![vec![1.0], vec![2.0]]));
        for wrong in [
            json!([entry(0, 1.0)]),
            json!([entry(0, 1.0), entry(2, 1.0)]),
            json!([{ "embedding": ["a"] }, { "embedding": [] }]),
            json!([{ "embedding": "AAAA" }]),
            json!(null),
        ] {
            assert!(reply(wrong.clone()).is_err(), "{wrong}");
        }
        assert!(vectors_in(b"<html>", 1).is_err());
    }

    #[test]
    fn consent_is_to_one_server() {
        let with = |url: &str, consent: Option<&str>| ModelSettings {
            api_base_url: Some(url.to_owned()),
            api_consent: consent.map(str::to_owned),
            ..ModelSettings::default()
        };
        let open = |settings: &ModelSettings| ApiModel::open(settings, Some("k".to_owned())).map(drop);
        let url = "https://api.example.com/v1";
        assert!(matches!(open(&with(url, None)), Err(EmbedError::Consent { .. })));
        assert!(matches!(
            open(&with(url, Some("https://other.example.com/v1"))),
            Err(EmbedError::Consent { .. })
        ));
        assert!(open(&with(url, Some("https://api.example.com/v1/"))).is_ok());
        assert!(open(&with("http://127.0.0.1:1/v1", None)).is_ok(), "nothing leaves the machine");
    }
}
