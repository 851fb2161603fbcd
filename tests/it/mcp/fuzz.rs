//! Random lines to a server in this process: every request is answered, nothing panics, the session ends with
//! its input.
//!
//! The client is an object that the server reads from and writes to. It sends the next line when an answer
//! arrives, so that calls are executed instead of being refused for their number. `CODEWEAVER_FUZZ_CASES`
//! sets the number of lines (a million take hours in an unoptimised build). The seed is fixed and printed
//! with a failure.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_mcp::{self as mcp, Options, log, message};
use codeweaver_testkit::{FILES, TestRepo};

const SEED: u64 = 0x6d63_7021;

fn number_of_cases() -> usize {
    std::env::var("CODEWEAVER_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(400)
}

/// Valid messages, to be mutated.
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
    for case in 0..(20 * number_of_cases()).min(1_000_000) {
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

/// Maximum number of unanswered lines; the server would refuse more.
const IN_FLIGHT: usize = 32;
/// Lines of one session.
const SESSION: usize = 5000;
/// Time limit of every wait, generous for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Both ends of a session, without a process and without a pipe.
#[derive(Clone)]
struct Duplex(Arc<(Mutex<Session>, Condvar)>);

struct Session {
    rng: fastrand::Rng,
    cases: std::ops::Range<usize>,
    /// What the server reads next.
    unread: VecDeque<u8>,
    /// Requests without an answer, by id, with the case that asked last.
    asked: HashMap<String, (usize, usize)>,
    n_asked: usize,
    cancelled: HashSet<String>,
    n_answers: usize,
    /// The beginning of a line that the server is writing.
    unfinished: Vec<u8>,
    is_over: bool,
}

impl Duplex {
    fn new(cases: std::ops::Range<usize>) -> Duplex {
        let hello = sources().remove(0).to_string() + "\n";
        let session = Session {
            rng: fastrand::Rng::with_seed(SEED + cases.start as u64),
            cases,
            unread: hello.into_bytes().into(),
            asked: HashMap::new(),
            n_asked: 0,
            cancelled: HashSet::new(),
            n_answers: 0,
            unfinished: Vec::new(),
            is_over: false,
        };
        Duplex(Arc::new((Mutex::new(session), Condvar::new())))
    }

    fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.0.lock().unwrap()
    }

    /// Waits until `is_enough`.
    fn wait(&self, is_enough: impl Fn(&Session) -> bool) -> MutexGuard<'_, Session> {
        let (session, timeout) =
            self.0.1.wait_timeout_while(self.lock(), PATIENCE, |session| !is_enough(session)).unwrap();
        assert!(!timeout.timed_out(), "seed {SEED}: no answer to {:?}", session.asked);
        session
    }
}

impl Session {
    /// The next line goes to the server; false at the end.
    fn send(&mut self) -> bool {
        let Some(case) = self.cases.next() else { return false };
        let line = line(&mut self.rng, case);
        match message::parse(&line) {
            Ok(Some(message::Incoming::Request(request))) => {
                let asked =
                    self.asked.entry(serde_json::to_string(&request.id).unwrap()).or_insert((0, case));
                *asked = (asked.0 + 1, case);
                self.n_asked += 1;
            }
            Ok(Some(message::Incoming::Notification(_))) => {
                let value: Value = serde_json::from_slice(&line).unwrap_or_default();
                let id = &value["params"]["requestId"];
                if value["method"] == "notifications/cancelled" && !id.is_null() {
                    // What a cancellation names is rightly left without an answer.
                    self.asked.remove(&id.to_string());
                    self.cancelled.insert(id.to_string());
                }
            }
            _ => {}
        }
        self.unread.extend(line);
        self.unread.push_back(b'\n');
        true
    }

    fn answered(&mut self, line: &[u8]) {
        let answer: Value = serde_json::from_slice(line).unwrap_or_else(|e| {
            panic!("not a message: {e}: {}", String::from_utf8_lossy(line));
        });
        assert!(!answer.to_string().contains("root:x:"), "nothing from outside comes back");
        if answer.get("method").is_some() {
            return;
        }
        self.n_answers += 1;
        if answer["error"]["code"] == -32603 {
            panic!("seed {SEED}: a call broke off: {answer}");
        }
        let id = answer["id"].to_string();
        if let Some(left) = self.asked.get_mut(&id) {
            left.0 -= 1;
            if left.0 == 0 {
                self.asked.remove(&id);
            }
        }
    }
}

impl Read for Duplex {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut session = self.wait(|session| session.asked.len() < IN_FLIGHT || session.is_over);
        while session.unread.is_empty() && session.send() {}
        if session.unread.is_empty() {
            // What was asked is answered before the input ends.
            drop(session);
            session = self.wait(|session| session.asked.is_empty());
            session.is_over = true;
        }
        session.unread.read(buffer)
    }
}

impl Write for Duplex {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut session = self.lock();
        session.unfinished.extend_from_slice(bytes);
        while let Some(end) = session.unfinished.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = session.unfinished.drain(..=end).collect();
            session.answered(&line);
        }
        self.0.1.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_server_survives_random_lines_and_answers_every_request() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let (last, started) = (100 + number_of_cases(), Instant::now());
    let (mut n_asked, mut n_answers) = (0, 0);
    for first in (100..last).step_by(SESSION) {
        let duplex = Duplex::new(first..last.min(first + SESSION));
        let (_, records) = log::channel();
        let options = Options { dir: repo.root().to_path_buf(), debug: false, records, engine: None };
        mcp::serve_on(options, BufReader::new(duplex.clone()), duplex.clone()).unwrap();
        let session = duplex.lock();
        assert!(session.is_over, "seed {SEED}: the session from case {first} did not last to its end");
        (n_asked, n_answers) = (n_asked + session.n_asked, n_answers + session.n_answers);
    }
    let n_lines = last - 100;
    eprintln!("{n_lines} lines, {n_asked} requests, {n_answers} answers in {:.1?}", started.elapsed());
    assert!(n_answers > 0 && n_asked > n_lines / 8);
}
