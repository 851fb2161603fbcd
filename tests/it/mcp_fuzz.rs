//! Lines that nobody would send, to a server in this very process: every request is answered, nothing panics, the session
//! ends with its input (requirement X3).
//!
//! `CODEWEAVER_FUZZ_CASES` sets how many lines there are; the seed is fixed, and printed with a failure.

use crate::harness::{FILES, TestRepo};
use codeweaver::mcp::{self, Options, log, message};
use serde_json::{Value, json};
use std::io::{self, Cursor, Write};
use std::sync::{Arc, Mutex};

const SEED: u64 = 0x6d63_7021;

/// What the server writes.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn number_of_cases() -> usize {
    std::env::var("CODEWEAVER_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// Lines that mean something, to be mutated.
fn sources() -> Vec<Value> {
    let call = |name: &str, arguments: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
    vec![
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "f", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } }),
        json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": { "cursor": "x" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": { "uri": "codeweaver://status/tmp" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "logging/setLevel", "params": { "level": "error" } }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "x" } }),
        call("find_code", json!({ "query": "header", "max_results": 3, "paths": ["src"], "cursor": "1-0" })),
        call("read_file", json!({ "file": "src/parse.rs", "start_line": 1, "end_line": 2, "rev": "HEAD" })),
        call("file_outline", json!({ "file": "src/parse.rs", "token_limit": 20 })),
        call("find_similar", json!({ "file": "src/parse.rs", "line": 2 })),
        call(
            "call_graph",
            json!({ "symbol": "src/parse.rs:2", "direction": "both", "depth": 2, "note_limit": 1 }),
        ),
        call("manage_index", json!({ "action": "status" })),
    ]
}

/// Changes a value somewhere inside, in a way that keeps it JSON.
fn mutate(value: &mut Value, rng: &mut fastrand::Rng) {
    let strange = || {
        [
            json!(null),
            json!(-1),
            json!(0),
            json!(1e300),
            json!(u64::MAX),
            json!(""),
            json!("\u{0}"),
            json!("../../etc/passwd"),
            json!("/etc/passwd"),
            json!([]),
            json!({}),
            json!("\u{202e}\u{1b}[2J"),
            json!("x".repeat(5000)),
            json!([[[[]]]]),
            json!(true),
        ]
    };
    match value {
        Value::Object(fields) if !fields.is_empty() && rng.u8(..) > 40 => {
            let at = rng.usize(..fields.len());
            let key = fields.keys().nth(at).unwrap().clone();
            match rng.u8(..10) {
                0 => drop(fields.remove(&key)),
                1 => {
                    let moved = fields.remove(&key).unwrap();
                    fields.insert(format!("{key}x"), moved);
                }
                _ => mutate(&mut fields[&key], rng),
            }
        }
        Value::Array(items) if !items.is_empty() && rng.bool() => {
            let at = rng.usize(..items.len());
            mutate(&mut items[at], rng);
        }
        other => *other = rng.choice(strange()).unwrap(),
    }
}

/// A line: a mutated message, with some of its bytes changed now and then.
fn line(rng: &mut fastrand::Rng, id: usize) -> Vec<u8> {
    let mut value = rng.choice(sources()).unwrap();
    if value.get("id").is_some() {
        value["id"] = json!(id);
    }
    for _ in 0..rng.usize(..4) {
        mutate(&mut value, rng);
    }
    let mut bytes = value.to_string().into_bytes();
    if rng.u8(..4) == 0 {
        for _ in 0..rng.usize(1..6) {
            let at = rng.usize(..bytes.len().max(1));
            match rng.u8(..3) {
                _ if bytes.is_empty() => break,
                0 => bytes[at] = rng.u8(..),
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
    }
    bytes.retain(|&byte| byte != b'\n');
    bytes
}

#[test]
fn random_lines_are_parsed_or_refused() {
    let mut rng = fastrand::Rng::with_seed(SEED);
    for case in 0..20 * number_of_cases() {
        let line = line(&mut rng, case);
        if let Err(rejection) = message::parse(&line) {
            assert!([-32700, -32600, -32602].contains(&rejection.error.code.0), "seed {SEED}, case {case}");
            assert!(
                rejection.error.message.len() < 300,
                "no content comes back: {}",
                rejection.error.message
            );
        }
    }
}

#[test]
fn a_server_survives_random_lines_and_answers_every_request() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut rng = fastrand::Rng::with_seed(SEED);
    let lines: Vec<Vec<u8>> = (100..100 + number_of_cases()).map(|id| line(&mut rng, id)).collect();
    let hello = sources().remove(0).to_string().into_bytes();
    let mut input = hello;
    // In portions: a server that has too many requests at once refuses some, which is an answer too.
    for line in &lines {
        input.push(b'\n');
        input.extend_from_slice(line);
    }
    input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n");
    let output = Output::default();
    let (_, records) = log::channel();
    let options = Options { dir: repo.root().to_path_buf(), debug: false, records };
    mcp::serve_on(options, Cursor::new(input), output.clone()).unwrap();

    let said = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
    let answers: Vec<Value> =
        said.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect();
    let answered = |id: &Value| answers.iter().any(|answer| answer.get("id") == Some(id));
    assert!(answered(&json!("last")), "seed {SEED}: the session did not last: {} answers", answers.len());
    // What a cancellation names is rightly left without an answer.
    let cancelled: Vec<Value> = lines
        .iter()
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
        .filter(|message| message["method"] == "notifications/cancelled")
        .map(|message| message["params"]["requestId"].clone())
        .collect();
    for (case, line) in lines.iter().enumerate() {
        let Ok(Some(message::Incoming::Request(request))) = message::parse(line) else { continue };
        let id = serde_json::to_value(&request.id).unwrap();
        assert!(
            answered(&id) || cancelled.contains(&id),
            "seed {SEED}, case {case}: no answer to {}",
            String::from_utf8_lossy(line)
        );
    }
    assert!(!said.contains("root:x:"), "nothing from outside comes back");
}
