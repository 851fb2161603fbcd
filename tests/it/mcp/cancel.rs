//! Cancelled requests: the work stops, not only the waiting for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use codeweaver::query::{Cancel, QueryError, Request, Searcher, SimilarRequest};
use codeweaver_testkit::TestRepo;
use codeweaver_xref::{CallGraphRequest, Direction, Xref};

use crate::support::mcp_client::McpClient;
use crate::support::sandbox::{open, searcher};

/// Many files that call each other, some of them not committed.
fn busy() -> TestRepo {
    let repo = TestRepo::init();
    for i in 0..120 {
        let mut text = format!("from part_{} import work as other\n\n\n", (i + 1) % 120);
        for j in 0..8 {
            text.push_str(&format!("def helper_{i}_{j}(value):\n    \"\"\"Parses part {j} of a header.\"\"\"\n    return other(value, {j})\n\n\n"));
        }
        text.push_str(&format!("def work(value, n):\n    return helper_{i}_0(value + n)\n"));
        repo.write(&format!("part_{i}.py"), text);
    }
    repo.commit("parts");
    repo.codeweaver(["init", "--no-hooks"]).success();
    for i in 0..10 {
        repo.write(&format!("new_{i}.py"), format!("def fresh_{i}(header):\n    return header\n"));
    }
    repo
}

type Ask = fn(&Searcher, Cancel) -> Result<usize, QueryError>;

fn search(searcher: &Searcher, cancel: Cancel) -> Result<usize, QueryError> {
    let settings = &searcher.codebase.settings;
    let mut request = Request::new("where is a part of a header parsed", settings);
    request.view.cancel = cancel;
    searcher.search(&request, &|_, _| false).map(|response| response.matches.len())
}

fn similar(searcher: &Searcher, cancel: Cancel) -> Result<usize, QueryError> {
    let mut request = SimilarRequest::new("part_3.py", 5, &searcher.codebase.settings);
    request.filters.include_tests = false;
    request.limit = 20;
    request.min_score = 0.0;
    request.view.cancel = cancel;
    searcher.similar(&request, &|_, _| false).map(|response| response.matches.len())
}

fn call_graph(searcher: &Searcher, cancel: Cancel) -> Result<usize, QueryError> {
    let request = CallGraphRequest { depth: 5, cancel, ..CallGraphRequest::new("work", Direction::Both) };
    Xref::new(searcher).query(&request, &|_, _| false).map(|response| response.edges.len())
}

const REQUESTS: [(&str, Ask); 3] = [("search", search), ("similar", similar), ("call_graph", call_graph)];

#[test]
fn a_cancelled_request_stops_at_any_point() {
    let repo = busy();
    let searcher = searcher(open(repo.root()));
    for (name, ask) in REQUESTS {
        // Complete and repeated: all caches are warm.
        assert!(ask(&searcher, Cancel::default()).unwrap() > 0, "{name}");
        let counted = |stop_at: usize| {
            let asked = Arc::new(AtomicUsize::new(0));
            let count = asked.clone();
            let cancel = Cancel::when(move || count.fetch_add(1, Ordering::Relaxed) >= stop_at);
            (ask(&searcher, cancel), asked.load(Ordering::Relaxed))
        };
        let (whole, n_checks) = counted(usize::MAX);
        assert!(whole.unwrap() > 0 && n_checks >= 5, "{name} asks {n_checks} times whether to go on");
        for stop_at in [0, 1, n_checks / 4, n_checks / 2, n_checks - 1] {
            let (stopped, asked) = counted(stop_at);
            assert!(
                matches!(stopped, Err(QueryError::Cancelled)),
                "{name}, {stop_at} of {n_checks}: {stopped:?}"
            );
            assert!(asked <= n_checks + 1, "{name} goes on: {asked} of {n_checks}");
        }
        // No state of a cancelled request is left.
        assert_eq!(counted(usize::MAX).0.unwrap(), ask(&searcher, Cancel::default()).unwrap(), "{name}");
    }
}

#[test]
fn another_thread_can_cancel_a_request() {
    let repo = busy();
    let searcher = searcher(open(repo.root()));
    for (name, ask) in REQUESTS {
        let (begun, has_begun) = channel();
        let (go_on, may_go_on) = channel();
        let (n_checks, is_cancelled) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
        let flag = is_cancelled.clone();
        let may_go_on = std::sync::Mutex::new(may_go_on);
        // In the middle of the work it waits for the other thread, which cancels it.
        let cancel = Cancel::when(move || {
            if n_checks.fetch_add(1, Ordering::Relaxed) == 2 {
                begun.send(()).unwrap();
                may_go_on.lock().unwrap().recv().unwrap();
            }
            flag.load(Ordering::Relaxed)
        });
        std::thread::scope(|scope| {
            let answer = scope.spawn(|| ask(&searcher, cancel));
            has_begun.recv().unwrap();
            is_cancelled.store(true, Ordering::Relaxed);
            go_on.send(()).unwrap();
            assert!(matches!(answer.join().unwrap(), Err(QueryError::Cancelled)), "{name}");
        });
    }
}

#[test]
fn a_cancelled_call_stops_working_in_the_server() {
    let repo = busy();
    let mut client = McpClient::start(&repo);
    client.request("logging/setLevel", json!({ "level": "info" }));
    let is_stop = |message: &Value| {
        message["method"] == "notifications/message" && message["params"]["data"]["operation"] == "stop"
    };
    for (tool, arguments) in [
        ("find_code", json!({ "query": "where is a part of a header parsed" })),
        ("find_similar", json!({ "file": "part_3.py", "line": 5 })),
        ("call_graph", json!({ "symbol": "work", "direction": "both", "depth": 5 })),
    ] {
        // On a busy machine the answer is often there before the server reads on.
        let was_stopped = (0..500).any(|_| {
            let id = client.begin("tools/call", json!({ "name": tool, "arguments": arguments }));
            client
                .notify("notifications/cancelled", json!({ "requestId": id, "reason": "no longer needed" }));
            // The server logs the end of the work. An answer that was ready earlier is logged too, but may no
            // longer be sent.
            let is_answered = |message: &Value| message["params"]["data"]["operation"] == tool;
            let said = client.wait_for(|message| is_stop(message) || is_answered(message));
            is_stop(&said) && said["params"]["data"]["message"] == "a cancelled call has ended"
        });
        assert!(was_stopped, "{tool}");
        let again = client.ask(tool, arguments);
        assert!(again["status"] != "error", "{again:#}");
    }
}
