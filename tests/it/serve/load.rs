//! `serve` under clients that wait on purpose: others are answered all the same.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use codeweaver_testkit::{FILES, TestRepo, program, wait_until};

use crate::support::server::Server;

/// Number of files that the server may have open.
const DESCRIPTORS: usize = 256;

/// A server that may have few files open.
fn limited(repo: &TestRepo) -> Server {
    let mut command = repo.command("sh");
    command.args(["-c", &format!("ulimit -n {DESCRIPTORS}; exec \"$@\""), "sh"]).arg(program());
    command.args(["serve", "--port", "0"]);
    Server::new(command)
}

/// A connection on which `bytes` were sent. It may have ended already.
fn connection(server: &Server, bytes: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let _ = stream.write_all(bytes.replace("HOST", server.address()).as_bytes());
    stream
}

/// The status of the answer to a request; `None` if the connection ends without one.
pub(super) fn status(server: &Server, path: &str) -> Option<u16> {
    let request = format!("GET /{path} HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    // What arrived before a reset counts.
    let _ = connection(server, &request).read_to_end(&mut answer);
    let head = String::from_utf8_lossy(&answer);
    head.split(' ').nth(1)?.parse().ok()
}

/// Large files with the word `needle` in every line.
pub(super) fn repo_of_needles() -> TestRepo {
    let repo = TestRepo::init();
    let text = "pub fn needle() { let a_long_name = \"and a string\"; }\n".repeat(2000);
    for n in 0..40 {
        repo.write(&format!("src/f{n}.rs"), format!("// {n}\n{text}"));
    }
    repo.commit("Add files").codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn silent_clients_do_not_keep_others_out() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let server = limited(&repo);

    let begun = [
        "",
        "GET / HTTP/1.1\r\nhost: HOST\r\n",
        "POST /login HTTP/1.1\r\nhost: HOST\r\ncontent-length: 9\r\n\r\ntok",
        "GET /api/search?q=/fn/&stream=1 HTTP/1.1\r\nhost: HOST\r\n\r\n",
    ];
    for bytes in begun {
        let silent: Vec<TcpStream> = (0..DESCRIPTORS).map(|_| connection(&server, bytes)).collect();
        for path in ["health/", "api/file?path=src/parse.rs", "api/search?q=parse+header"] {
            // While all connections are being answered, one more is refused, and its client tries again.
            wait_until(&format!("{path} is answered after {bytes:?}"), || status(&server, path) == Some(200));
        }
        drop(silent);
    }

    // Updates have descriptors too.
    let silent: Vec<TcpStream> = (0..DESCRIPTORS).map(|_| connection(&server, "")).collect();
    repo.write("src/new.rs", "pub fn new_one() {}\n").commit("another");
    wait_until("the server answers", || status(&server, "api/status") == Some(200));
    wait_until("the index is current", || server.json("api/status")["current"] == true);
    drop(silent);
}

#[test]
fn answers_that_nobody_reads_do_not_keep_others_out() {
    let repo = repo_of_needles();
    let server = Server::start(&repo, &[]);

    let request = "GET /api/search?q=/needle/&stream=1 HTTP/1.1\r\nhost: HOST\r\n\r\n";
    let mut unread: Vec<TcpStream> = (0..60).map(|_| connection(&server, request)).collect();
    for _ in 0..20 {
        let answer = server.get("api/file?path=src/f0.rs&first=1&last=1");
        assert_eq!(answer.status, 200, "{answer:#?}");
    }

    // A client that reads late gets the whole answer, or one that is visibly broken off.
    let mut text = Vec::new();
    let is_whole = unread[0].read_to_end(&mut text).is_ok() && text.ends_with(b"0\r\n\r\n");
    assert!(!is_whole || String::from_utf8_lossy(&text).contains("\"total_files\":40"));
}

/// Headers of an agent.
pub(super) const AGENT: [(&str, &str); 2] =
    [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];

/// Begins a session of an agent; returns its name.
pub(super) fn begin_session(server: &Server) -> String {
    let initialize = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        },
    });
    let answer = server.request("POST", "mcp", &AGENT, &initialize.to_string());
    answer.header("mcp-session-id").unwrap_or_else(|| panic!("{answer:#?}")).to_owned()
}

/// Says in a session that it has begun; returns the status of the answer.
pub(super) fn say(server: &Server, session: &str) -> u16 {
    let headers = [&AGENT[..], &[("mcp-session-id", session)]].concat();
    let message = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    server.request("POST", "mcp", &headers, &message.to_string()).status
}

#[test]
fn sessions_of_agents_are_bounded() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let server = Server::start(&repo, &[]);

    let used = begin_session(&server);
    assert_eq!(say(&server, &used), 202);
    let silent = begin_session(&server);
    for _ in 0..256 {
        begin_session(&server);
    }
    assert_eq!(say(&server, &silent), 404, "the oldest of the silent ones has ended");
    assert_eq!(say(&server, &used), 202);
}
