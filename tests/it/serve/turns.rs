//! `serve` under a client that takes all it can get: another one, with an address of its own, is answered
//! first.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use serde_json::json;

use codeweaver_index::updater;
use codeweaver_testkit::{FILES, TestRepo};

use super::load::{AGENT, begin_session, repo_of_needles, say, status};
use crate::support::sandbox::open;
use crate::support::server::Server;

/// `n` connections of another client, which has an address of its own; each has sent `bytes`.
fn connections_of_another(server: &Server, n: usize, bytes: &str) -> Vec<TcpStream> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let address: SocketAddr = server.address().parse().unwrap();
    let connect = || async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 0, 0, 2), 0).into()).unwrap();
        socket.connect(address).await.unwrap().into_std().unwrap()
    };

    let bytes = bytes.replace("HOST", server.address());
    (0..n)
        .map(|_| {
            let mut stream = runtime.block_on(connect());
            stream.set_nonblocking(false).unwrap();
            stream.write_all(bytes.as_bytes()).unwrap();
            stream
        })
        .collect()
}

/// The number of connections on which nothing has arrived.
fn unanswered(connections: &[TcpStream]) -> usize {
    let nothing_on = |stream: &&TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        peeked.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    connections.iter().filter(nothing_on).count()
}

#[test]
fn a_client_that_asks_much_waits_for_itself() {
    let repo = repo_of_needles();
    let server = Server::start(&repo, &[]);
    assert_eq!(status(&server, "api/search?q=needle"), Some(200));

    // Many more than are worked on at a time, and as many as may wait.
    let n = (48 * std::thread::available_parallelism().unwrap().get()).min(250);
    let request = "GET /api/search?q=(a_)%2Blong_nam.*string&mode=regex HTTP/1.1\r\nhost: HOST\r\n\r\n";
    let asked = connections_of_another(&server, n, request);
    for _ in 0..3 {
        assert_eq!(status(&server, "api/file?path=src/f0.rs&first=1&last=1"), Some(200));
    }

    let n_waiting = unanswered(&asked);
    assert!(n_waiting > n / 3, "{n_waiting} of {n} wait");
}

#[test]
fn a_stream_does_not_wait_behind_those_that_nobody_reads() {
    let repo = repo_of_needles();
    let server = Server::start(&repo, &[]);

    let request = "GET /api/search?q=/needle/&stream=1 HTTP/1.1\r\nhost: HOST\r\n\r\n";
    let unread = connections_of_another(&server, 280, request);
    let answer = server.get("api/search?q=/needle/&path=src/f0.rs&stream=1");
    assert_eq!(answer.status, 200, "{answer:#?}");
    assert!(answer.body.contains("\"total_files\":1"), "{}", answer.body);
    let n = unanswered(&unread);
    assert!(n > 100, "{n} wait");
}

#[test]
fn calls_that_wait_for_an_index_do_not_keep_others_out() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let server = Server::start(&repo, &[]);
    let session = begin_session(&server);
    assert_eq!(say(&server, &session), 202);
    // Every index run waits for this one.
    let lease = updater::lease(&open(repo.root())).unwrap();

    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call",
        "params": { "name": "manage_index", "arguments": { "action": "sync" } },
    });
    let mut head = "POST /mcp HTTP/1.1\r\nhost: HOST\r\n".to_owned();
    AGENT.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    let length = call.to_string().len();
    head.push_str(&format!("mcp-session-id: {session}\r\ncontent-length: {length}\r\n\r\n{call}"));
    let calls = connections_of_another(&server, 150, &head);

    for path in ["api/search?q=parse+header", "api/file?path=src/parse.rs", "health/"] {
        assert_eq!(status(&server, path), Some(200), "{path}");
    }
    drop((calls, lease));
}
