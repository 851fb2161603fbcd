//! Messages of the WebSocket protocol: JSON objects with a `type`, one a frame.
//!
//! Client: `query`. Server: `status` on connect and while it cannot answer; `stream_start`, `stream_chunk`
//! and `stream_end` for an answer; `error`, after which the connection stays open.

use serde::{Deserialize, Serialize};

/// Port that servers listen on by default.
pub const PORT: u16 = 8765;
/// Maximum size of a message of a client, in bytes.
pub const MAX_QUERY_BYTES: usize = 64 * 1024;
/// Maximum number of characters of a question.
pub const MAX_QUESTION_CHARS: usize = 4000;

/// Whether a server can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    Ready,
    /// The index is being loaded.
    NotReady,
    /// There is no document.
    NoContent,
}

/// A message of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    Status {
        status: Readiness,
    },
    StreamStart,
    StreamChunk {
        chunk: String,
    },
    /// `sources` are paths, each once.
    StreamEnd {
        sources: Vec<String>,
    },
    Error {
        message: String,
    },
}

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Query {
    Query {
        question: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<String>,
    },
}

impl Query {
    /// Parses the message `text`.
    ///
    /// # Errors
    /// The message is no valid query; the error is a text for the client.
    pub fn parse(text: &str) -> Result<Query, String> {
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| format!("the message is not JSON: {error}"))?;
        let kind = value.get("type").and_then(serde_json::Value::as_str);

        match kind {
            Some("query") => {}
            Some(other) => {
                let other: String = other.chars().take(40).collect();
                return Err(format!("there is no message of type {other:?}; send \"query\""));
            }
            None => {
                return Err(
                    "the message has no \"type\"; send {\"type\":\"query\",\"question\":\"…\"}".to_owned()
                );
            }
        }

        let query: Query =
            serde_json::from_value(value).map_err(|error| format!("the query is malformed: {error}"))?;
        let Query::Query { question, .. } = &query;

        if question.trim().is_empty() {
            return Err("the question is empty".to_owned());
        }
        if question.chars().count() > MAX_QUESTION_CHARS {
            return Err(format!("the question has more than {MAX_QUESTION_CHARS} characters"));
        }

        Ok(query)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_documented_form() {
        let text = |reply: Reply| serde_json::to_string(&reply).unwrap();
        assert_eq!(
            text(Reply::Status { status: Readiness::NoContent }),
            r#"{"type":"status","status":"no_content"}"#
        );
        assert_eq!(text(Reply::StreamStart), r#"{"type":"stream_start"}"#);
        assert_eq!(text(Reply::StreamChunk { chunk: "a".into() }), r#"{"type":"stream_chunk","chunk":"a"}"#);
        assert_eq!(
            text(Reply::StreamEnd { sources: vec!["a".into()] }),
            r#"{"type":"stream_end","sources":["a"]}"#
        );
        assert_eq!(text(Reply::Error { message: "m".into() }), r#"{"type":"error","message":"m"}"#);
    }

    #[test]
    fn malformed_queries_say_what_is_wrong() {
        assert!(Query::parse(r#"{"type":"query","question":"q","index":"i"}"#).is_ok());
        for (text, said) in [
            ("{", "not JSON"),
            ("[]", "no \"type\""),
            (r#"{"type":"ask"}"#, "no message of type \"ask\""),
            (r#"{"type":"query"}"#, "malformed"),
            (r#"{"type":"query","question":7}"#, "malformed"),
            (r#"{"type":"query","question":" "}"#, "empty"),
        ] {
            assert!(Query::parse(text).is_err_and(|message| message.contains(said)), "{text}");
        }
        let long = format!(r#"{{"type":"query","question":"{}"}}"#, "x".repeat(4001));
        assert!(Query::parse(&long).is_err());
    }
}
