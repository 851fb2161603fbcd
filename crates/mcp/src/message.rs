//! Parsing of a line of input into a message, or into the protocol error that answers it.
//!
//! The module has neither streams nor state. An invalid line is answered with an error that carries the id of
//! the request if it can be determined, so that no client waits forever.

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::RxJsonRpcMessage;
use serde_json::Value;

/// A message of the client.
pub type Incoming = RxJsonRpcMessage<RoleServer>;

/// Maximum size of a message. Calls are short; no tool takes files.
pub const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The answer to a line that is not a valid message.
#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    /// The id of the request, if it can be determined.
    pub id: Option<RequestId>,
    pub error: ErrorData,
}

/// Splits a batch, a JSON array of messages, into its messages; `None` if `line` is no array or an empty one.
/// Revision 2025-03-26 of the protocol has batches; each message is answered by itself.
pub fn batch(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    // Almost no line is a batch, and others are not parsed twice.
    if !line.trim_ascii_start().starts_with(b"[") {
        return None;
    }

    let messages: Vec<Value> = serde_json::from_slice(line).ok()?;
    let messages: Vec<Vec<u8>> = messages.iter().map(|message| message.to_string().into_bytes()).collect();

    Some(messages).filter(|messages| !messages.is_empty())
}

/// Parses a line without its line ending. Returns `Ok(None)` for a blank line and for invalid notifications,
/// which the protocol forbids to answer.
pub fn parse(line: &[u8]) -> Result<Option<Incoming>, Box<Rejection>> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Some programs on Windows begin their output with a byte order mark.
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }

    let value: Value = serde_json::from_slice(line).map_err(|e| {
        // The error message contains positions only, never content.
        reject(None, ErrorCode::PARSE_ERROR, format!("this line is not JSON: {e}"))
    })?;

    let Value::Object(fields) = &value else {
        let what = if value.is_array() { "a batch is not empty" } else { "a message is a JSON object" };
        return Err(reject(None, ErrorCode::INVALID_REQUEST, what));
    };

    let id = fields.get("id").map(|id| serde_json::from_value::<RequestId>(id.clone()));
    if let Some(Err(_)) = id {
        return Err(reject(None, ErrorCode::INVALID_REQUEST, "an id is a string or an integer"));
    }
    let id = id.and_then(Result::ok);

    if id.is_some() && fields.get("params").is_some_and(|params| !params.is_object()) {
        return Err(reject(id, ErrorCode::INVALID_PARAMS, "params are an object"));
    }

    let is_notification = id.is_none() && fields.contains_key("method");

    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        Err(_) if is_notification => Ok(None),
        Err(_) => Err(reject(id, ErrorCode::INVALID_REQUEST, "this is not a JSON-RPC 2.0 message")),
    }
}

/// The answer to a line above [`MAX_MESSAGE_BYTES`], with the id that was found in it.
pub fn too_long(id: Option<RequestId>) -> Box<Rejection> {
    reject(
        id,
        ErrorCode::INVALID_REQUEST,
        format!("a message may have at most {MAX_MESSAGE_BYTES} bytes; this one was dropped"),
    )
}

pub fn reject(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Box<Rejection> {
    Box::new(Rejection { id, error: ErrorData::new(code, message.into(), None) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(line: &[u8]) -> (Option<RequestId>, i32) {
        let rejection = parse(line).expect_err("it is rejected");
        (rejection.id, rejection.error.code.0)
    }

    #[test]
    fn an_invalid_message_is_answered_with_an_error() {
        assert_eq!(rejected(b"{"), (None, -32700));
        assert_eq!(rejected(b"\xff\xfe"), (None, -32700));
        assert_eq!(rejected(&[b'['; 100_000]), (None, -32700));
        assert_eq!(rejected(b"[]"), (None, -32600));
        assert_eq!(rejected(b"7"), (None, -32600));
        assert_eq!(rejected(b"{}"), (None, -32600));
        assert_eq!(rejected(br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#), (None, -32600));
        assert_eq!(rejected(br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#), (None, -32600));
        assert_eq!(
            rejected(br#"{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}"#),
            (Some(RequestId::Number(7)), -32602)
        );
        assert_eq!(
            rejected(br#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#),
            (Some(RequestId::Number(7)), -32600)
        );
        assert_eq!(
            rejected(br#"{"jsonrpc":"2.0","id":"a","method":5}"#),
            (Some(RequestId::String("a".into())), -32600)
        );
    }

    #[test]
    fn messages_are_parsed_and_blank_lines_ignored() {
        assert!(matches!(parse(b" \r"), Ok(None)));
        let ping = b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r";
        assert!(matches!(parse(ping), Ok(Some(Incoming::Request(_)))));
        let note = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert!(matches!(parse(note), Ok(Some(Incoming::Notification(_)))));
        let odd = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#;
        assert!(parse(odd).is_ok(), "a notification is never answered");
    }
}
