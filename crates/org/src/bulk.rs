//! Many changes in one request.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::error::OrgError;
use super::http::error_of;
use super::org::Org;
use super::schema::Kind;

/// Without a failure, the answer needs no items. A shard that is gone is waited for as long as there are
/// rounds, and no longer.
const PATH: &str = "_bulk?timeout=5s&filter_path=errors,items.*.status,items.*.error";
/// Size from which a request is sent.
const MAX_BYTES: usize = 3 << 20;
/// Number of times that changes are sent again that the engine was too busy for.
const MAX_ROUNDS: u32 = 6;
/// Number of times that the engine repeats an update which met another.
const RETRIES_ON_CONFLICT: u32 = 20;

/// The documents of which something is to be changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// A new document. If there is one, its places are set.
    Create {
        /// The index.
        kind: Kind,
        /// The name of the document.
        id: String,
        /// The document in JSON.
        source: String,
    },
    /// The places of a document in one repository.
    Place {
        /// The index.
        kind: Kind,
        /// The name of the document.
        id: String,
    },
}

impl Change {
    fn kind(&self) -> Kind {
        match self {
            Change::Create { kind, .. } | Change::Place { kind, .. } => *kind,
        }
    }
}

/// The changes that were sent and not made.
#[derive(Default)]
struct Round {
    /// Whether they are sent for the last time, so that a failure is an error.
    is_last: bool,
    again: Vec<(String, Change)>,
    /// Those whose documents are not there.
    missing: Vec<(String, Change)>,
    /// Whether some failed for want of time or place, and not because a document is there.
    is_busy: bool,
}

/// The places that changes give to their documents.
pub struct Places<'a> {
    /// The repository.
    pub repo: &'a str,
    /// Those of a document, by the name of its file.
    pub of: &'a dyn Fn(&str) -> Value,
}

impl Org {
    /// Applies `changes`, each with the name of the file that its places are of, and returns those of
    /// documents that do not exist. The order is not kept.
    ///
    /// # Errors
    /// The first change that fails for good.
    pub(super) fn apply(
        &self,
        changes: Vec<(String, Change)>,
        places: &Places<'_>,
    ) -> Result<Vec<(String, Change)>, OrgError> {
        let mut missing = Vec::new();
        let mut waiting = changes;

        for number in 0..=MAX_ROUNDS {
            let mut round = Round { is_last: number == MAX_ROUNDS, ..Round::default() };
            let mut rest = waiting.into_iter().peekable();
            while rest.peek().is_some() {
                let mut body = Vec::new();
                let mut sent = Vec::new();
                while let Some(change) = rest.next_if(|_| body.len() < MAX_BYTES) {
                    self.write(&change, places, &mut body);
                    sent.push(change);
                }
                self.send_bulk(&body, sent, &mut round)?;
            }

            missing.extend(round.missing);
            waiting = round.again;
            if waiting.is_empty() {
                break;
            }
            if round.is_busy {
                std::thread::sleep(codeweaver_http::backoff(number, 0.5));
            }
        }

        Ok(missing)
    }

    /// Sends one request, and sorts the changes that are not done.
    fn send_bulk(&self, body: &[u8], sent: Vec<(String, Change)>, round: &mut Round) -> Result<(), OrgError> {
        let answer = self.connection.ask_lines(PATH, body)?;
        if answer["errors"] == json!(false) {
            return Ok(());
        }

        let items = answer["items"].as_array().map(Vec::as_slice).unwrap_or_default();
        if items.len() != sent.len() {
            return Err(OrgError::Answer { status: 200, why: "a bulk request has other items".to_owned() });
        }

        for (item, (file, change)) in items.iter().zip(sent) {
            let result = item.as_object().and_then(|item| item.values().next()).unwrap_or(&Value::Null);
            let status = result["status"].as_u64().unwrap_or(0) as u16;
            let error = error_of(status, &result["error"]);
            match (status, change) {
                (200..300, _) => {}
                // Waiting does not make room.
                _ if matches!(error, OrgError::Full { .. }) => return Err(error),
                (404, change @ Change::Place { .. }) => round.missing.push((file, change)),
                _ if round.is_last => return Err(error),
                (409, Change::Create { kind, id, .. }) => {
                    round.again.push((file, Change::Place { kind, id }))
                }
                (409 | 429 | 503, change) => {
                    round.is_busy = true;
                    round.again.push((file, change));
                }
                (_, change) if matches!(error, OrgError::Blocked { .. }) => {
                    round.is_busy = true;
                    round.again.push((file, change));
                }
                _ => return Err(error),
            }
        }
        Ok(())
    }

    /// Appends the lines of a change.
    fn write(&self, (file, change): &(String, Change), places: &Places<'_>, out: &mut Vec<u8>) {
        let index = self.alias(change.kind());

        let (action, source) = match change {
            Change::Create { id, source, .. } => {
                (json!({ "create": { "_index": index, "_id": id } }), Cow::Borrowed(source.as_str()))
            }
            Change::Place { kind, id } => {
                let action = json!({
                    "update": { "_index": index, "_id": id, "retry_on_conflict": RETRIES_ON_CONFLICT }
                });
                let params = self.place_params(places.repo, (places.of)(file), *kind);
                (
                    action,
                    Cow::Owned(json!({ "script": { "id": self.script(), "params": params } }).to_string()),
                )
            }
        };

        out.extend_from_slice(action.to_string().as_bytes());
        out.push(b'\n');
        out.extend_from_slice(source.as_bytes());
        out.push(b'\n');
    }

    /// The parameters of the script that sets places.
    pub(super) fn place_params(&self, repo: &str, at: Value, kind: Kind) -> Value {
        let words = kind == Kind::Files;
        let at = match (words, at) {
            (false, Value::Array(mut places)) => {
                // Rows are not found by the words of paths.
                for place in &mut places {
                    if let Some(place) = place.as_object_mut() {
                        place.remove("t");
                    }
                }
                Value::Array(places)
            }
            (_, at) => at,
        };

        json!({ "repo": repo, "at": at, "words": words, "test": super::schema::TEST_FLAG })
    }
}
