//! `serve --ask` and `ask --server`: the WebSocket protocol, reloads, limits, and clients.

mod client;
mod settings;

use std::io::{ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

use codeweaver_testkit::{Run, ServerProcess, TestRepo, Tool, program, wait_for, wait_until};

const GUIDE: &str = "# Guide\n\n## Hooks\n\nTo turn hooks off, run `program hooks disable`. The index is then updated by \
    queries.\n\n## Port\n\nThe server listens on port 8765.\n";
const BACKUP: &str =
    "# Backup\n\nBackups are encrypted with a passphrase. The port of the server is not part of a backup.\n";

fn repo() -> TestRepo {
    let repo = TestRepo::with_files(&[("docs/guide.md", GUIDE), ("docs/backup.md", BACKUP)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A running server, which is ended when dropped.
pub struct Server {
    pub process: ServerProcess,
    pub url: String,
}

impl Server {
    /// Starts a server on a free port and waits until it listens.
    pub fn start(repo: &TestRepo, args: &[&str]) -> Server {
        Server::new(repo.command(program()), args)
    }

    /// As [`Self::start`], with the program as `command` runs it.
    pub fn new(mut command: Command, args: &[&str]) -> Server {
        command.args(["serve", "--ask", "--port", "0"]).args(args);
        let process = ServerProcess::start(command);
        let line = process.wait_for("Listening on ws://");
        let url = line.split_whitespace().nth(2).unwrap().trim_end_matches(',').to_owned();
        Server { process, url }
    }

    /// Starts a server and waits until it is ready.
    pub fn ready(repo: &TestRepo, args: &[&str]) -> Server {
        let server = Server::start(repo, args);
        server.wait_for("Ready: ");
        server
    }

    /// Waits for a line of stderr that has `words`.
    pub fn wait_for(&self, words: &str) -> String {
        self.process.wait_for(words)
    }

    fn address(&self) -> &str {
        self.url.strip_prefix("ws://").unwrap()
    }

    pub fn connect(&self) -> Client {
        connect(&self.url)
    }
}

pub fn connect(url: &str) -> Client {
    let stream = TcpStream::connect(url.strip_prefix("ws://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let (socket, _) = tungstenite::client(url, stream).unwrap();
    Client { socket }
}

pub struct Client {
    socket: WebSocket<TcpStream>,
}

impl Client {
    pub fn send(&mut self, text: impl Into<String>) {
        self.socket.send(Message::text(text.into())).unwrap();
    }

    pub fn receive(&mut self) -> Value {
        loop {
            match self.socket.read() {
                Ok(Message::Text(text)) => return serde_json::from_str(&text).unwrap(),
                Ok(_) => {}
                // Reading with a timeout ends like this where the process was stopped and continued.
                Err(tungstenite::Error::Io(error)) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// All messages of the answer to a question.
    pub fn ask(&mut self, question: &str) -> Vec<Value> {
        self.send(json!({ "type": "query", "question": question }).to_string());
        let mut messages = Vec::new();
        loop {
            let message = self.receive();
            let kind = message["type"].as_str().unwrap().to_owned();
            messages.push(message);
            if ["stream_end", "error", "status"].contains(&kind.as_str()) {
                return messages;
            }
        }
    }
}

/// The chunks of an answer, joined.
pub fn text(messages: &[Value]) -> String {
    messages.iter().filter_map(|message| message["chunk"].as_str()).collect()
}

fn client(repo: &TestRepo, server: &Server, args: &[&str]) -> Run {
    repo.codeweaver([&["ask", "--server", &server.url], args].concat())
}

#[test]
fn scenario_client_connects_to_server() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut client = server.connect();
    assert_eq!(client.receive(), json!({ "type": "status", "status": "ready" }));
    // The connection stays open for questions.
    assert_eq!(client.ask("how do I turn hooks off").last().unwrap()["type"], "stream_end");
    assert_eq!(client.ask("which port").last().unwrap()["type"], "stream_end");
}

#[test]
fn scenario_streaming_response_format() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut client = server.connect();
    client.receive();
    let messages = client.ask("how do I turn hooks off");
    assert_eq!(messages[0], json!({ "type": "stream_start" }));
    let (end, chunks) = messages[1..].split_last().unwrap();
    assert!(!chunks.is_empty());
    for chunk in chunks {
        assert!(
            chunk["type"] == "stream_chunk"
                && chunk["chunk"].is_string()
                && chunk.as_object().unwrap().len() == 2
        );
    }
    assert!(text(&messages).starts_with("To turn hooks off, run `program hooks disable`."), "{messages:#?}");
    assert_eq!(end["type"], "stream_end");
}

#[test]
fn scenario_response_format_with_sources() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut client = server.connect();
    client.receive();
    let messages = client.ask("the port of the server");
    let mut sources: Vec<&str> = messages.last().unwrap()["sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap())
        .collect();
    sources.sort();
    assert_eq!(sources, ["docs/backup.md", "docs/guide.md"], "paths only, each once");
    let nothing = client.ask("what is the capital of Mongolia");
    assert_eq!(text(&nothing), "No relevant information found");
    assert_eq!(nothing.last().unwrap(), &json!({ "type": "stream_end", "sources": [] }));
}

#[test]
fn scenario_query_message_format() {
    let repo = repo();
    repo.write("../other/house.md", "# House\n\nThe rent is due on the third working day.\n");
    repo.codeweaver(["docs", "add", "house", "../other"]).success();
    let server = Server::ready(&repo, &["--index", "house"]);
    let mut client = server.connect();
    client.receive();
    client.send(r#"{"type":"query","question":"when is the rent due","index":"house"}"#);
    assert_eq!(client.receive(), json!({ "type": "stream_start" }));
    assert!(client.receive()["chunk"].as_str().unwrap().starts_with("The rent is due"));
    while client.receive()["type"] != "stream_end" {}
    client.send(r#"{"type":"query","question":"hooks","index":"unknown"}"#);
    let error = client.receive();
    assert!(error["message"].as_str().unwrap().starts_with("unknown index \"unknown\""), "{error}");
}

#[test]
fn scenario_invalid_message_handling() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut client = server.connect();
    client.receive();
    for message in [
        "{",
        "[]",
        "null",
        "{\"type\":\"x\"}",
        "{\"type\":\"query\"}",
        "{\"type\":\"query\",\"question\":3}",
        "\u{0}",
    ] {
        client.send(message);
        let reply = client.receive();
        assert!(
            reply["type"] == "error" && !reply["message"].as_str().unwrap().is_empty(),
            "{message}: {reply}"
        );
    }
    client.socket.send(Message::binary(vec![1, 2, 3])).unwrap();
    assert_eq!(client.receive()["type"], "error");
    assert_eq!(client.ask("how do I turn hooks off").last().unwrap()["type"], "stream_end", "still open");
}

/// A text frame of a client, of at most 125 bytes.
fn frame_of(text: &str, mask: u32) -> Vec<u8> {
    let mask = mask.to_be_bytes();
    let masked = text.bytes().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask);
    [0x81, 0x80 | text.len() as u8].into_iter().chain(mask).chain(masked).collect()
}

/// Random bytes on the socket, before and after the handshake, end at most their own connection.
#[test]
fn malformed_frames_do_no_harm() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut random = fastrand::Rng::with_seed(7);
    for round in 0..60 {
        let length = random.usize(1..300);
        let mut bytes: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(length).collect();
        let mut stream = if round % 3 == 0 {
            TcpStream::connect(server.address()).unwrap()
        } else {
            let mut client = server.connect();
            client.receive();
            if round % 3 == 1 {
                // A text frame with a mask, its length and a random rest.
                bytes.splice(..0, [0x81, 0x80 | random.u8(0..126)]);
            }
            client.socket.get_ref().try_clone().unwrap()
        };
        let _ = stream.write_all(&bytes);
    }
    // Frames of a question in which bytes are changed, lost or repeated.
    let n = std::env::var("CODEWEAVER_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for _ in 0..n {
        let mut frame = frame_of(r#"{"type":"query","question":"how do I turn hooks off"}"#, random.u32(..));
        for _ in 0..random.usize(1..4) {
            let at = random.usize(..frame.len());
            match random.u8(..4) {
                0 => frame[at] ^= 1 << random.u8(..8),
                1 => frame[at] = random.u8(..),
                2 => frame.truncate(at.max(1)),
                _ => frame.extend_from_within(at..),
            }
        }
        let client = server.connect();
        let mut stream = client.socket.get_ref().try_clone().unwrap();
        let _ = stream.write_all(&frame);
    }
    let huge = format!("{{\"type\":\"query\",\"question\":\"{}\"}}", "x".repeat(100_000));
    let mut client = server.connect();
    client.receive();
    client.send(huge);
    assert!(client.receive()["message"].as_str().unwrap().contains("at most 65536 bytes"));
    let mut client = server.connect();
    client.receive();
    assert_eq!(client.ask("how do I turn hooks off").last().unwrap()["type"], "stream_end");
}

/// A page of another host cannot ask, nor can a name that only resolves to this machine.
#[test]
fn only_this_machine_may_ask() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    for (header, value, allowed) in [
        ("origin", "https://evil.example", false),
        ("origin", "null", false),
        ("origin", "http://localhost:3000", true),
        ("host", "evil.example:8765", false),
        ("host", "127.0.0.1:8765", true),
    ] {
        let mut request = server.url.as_str().into_client_request().unwrap();
        request.headers_mut().insert(header, value.parse().unwrap());
        let stream = TcpStream::connect(server.address()).unwrap();
        assert_eq!(tungstenite::client(request, stream).is_ok(), allowed, "{header}: {value}");
    }
}

#[test]
fn too_many_questions_are_refused() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut client = server.connect();
    client.receive();
    for _ in 0..100 {
        client.send("{}");
    }
    let replies: Vec<Value> = (0..100).map(|_| client.receive()).collect();
    assert!(replies.iter().any(|reply| reply["message"].as_str().unwrap().contains("messages a second")));
}

/// While an index is being loaded, and without documents, the status says so.
#[test]
fn scenario_handle_server_not_ready() {
    let place = TestRepo::empty_dir();
    for i in 0..1500 {
        place.write(
            &format!("many/{i}.md"),
            format!("# Title {i}\n\n{}\n", format!("Sentence {i} of words. ").repeat(40)),
        );
    }
    let server = Server::start(&place, &["--dir", "many"]);
    let mut client = server.connect();
    assert_eq!(client.receive(), json!({ "type": "status", "status": "not_ready" }));
    assert_eq!(client.ask("sentence 7"), [json!({ "type": "status", "status": "not_ready" })]);
    server.wait_for("Ready: 1,500 documents");
    assert_eq!(client.ask("sentence 7").last().unwrap()["type"], "stream_end");
}

#[test]
fn a_server_without_documents_says_so() {
    let place = TestRepo::empty_dir();
    let server = Server::start(&place, &["--dir", "missing"]);
    server.wait_for("missing does not exist");
    server.wait_for("no indexed content");
    let mut client = server.connect();
    assert_eq!(client.receive(), json!({ "type": "status", "status": "no_content" }));
    assert_eq!(client.ask("anything"), [json!({ "type": "status", "status": "no_content" })]);
    self::client(&place, &server, &["anything"])
        .fails(1)
        .says(&["without documents", "No relevant information found"]);
}

/// Without directories and outside of a repository, the server starts, and has nothing to answer from.
#[test]
fn a_server_without_directories_starts_without_content() {
    let place = TestRepo::empty_dir();
    let server = Server::start(&place, &[]);
    server.wait_for("Ready: 0 documents");
    let mut client = server.connect();
    assert_eq!(client.receive(), json!({ "type": "status", "status": "no_content" }));
    assert_eq!(client.ask("anything"), [json!({ "type": "status", "status": "no_content" })]);
    place
        .codeweaver(["serve", "--ask", "--port", "0", "-p", "gone"])
        .fails(2)
        .is_an_error("gone is not a directory", "check the path");
}

/// A failure to load at the start ends the server.
#[test]
fn scenario_load_index_at_server_startup() {
    let not_indexed = TestRepo::with_files(&[("a.md", "# A\n")]);
    let run = not_indexed.codeweaver(["serve", "--ask", "--port", "0"]);
    run.fails(2).is_an_error("not indexed", "git codeweaver init");
    // The second start uses what the first has indexed.
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    for _ in 0..2 {
        let server = Server::ready(&place, &["--dir", "notes"]);
        let mut client = server.connect();
        client.receive();
        assert!(text(&client.ask("when is the rent due")).starts_with("The rent is due"));
    }
}

#[test]
fn scenario_periodic_index_reload_with_incremental_updates() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    let server = Server::ready(&place, &["--dir", "notes", "--reload-interval", "1"]);
    let mut client = server.connect();
    client.receive();
    place.write("notes/house.md", "# House\n\nThe rent is due on the first Friday.\n");
    // Questions are answered all the time, from the old index or the new one.
    wait_until("the new text is answered", || {
        let answer = text(&client.ask("when is the rent due"));
        let is_old = answer.starts_with("The rent is due on the third working day.");
        assert!(is_old || answer.starts_with("The rent is due on the first Friday."), "{answer}");
        !is_old
    });
}

/// The store and the documents may be gone: what is in memory answers.
#[test]
fn scenario_keep_indexes_in_memory() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    let server = Server::ready(&place, &["--dir", "notes"]);
    let mut client = server.connect();
    client.receive();
    let before = text(&client.ask("when is the rent due"));
    std::fs::remove_dir_all(place.path("notes")).unwrap();
    std::fs::remove_dir_all(place.beside("home/.cache")).unwrap();
    // Messages are received, not read.
    let reads = || {
        let io =
            std::fs::read_to_string(format!("/proc/{}/io", server.process.child.id())).unwrap_or_default();
        io.lines().find_map(|line| line.strip_prefix("syscr: ")).map(str::to_owned)
    };
    let reads_before = reads();
    for _ in 0..20 {
        assert_eq!(text(&client.ask("when is the rent due")), before);
    }
    assert_eq!(reads(), reads_before, "read calls of the server");
}

/// No thread but that of the configuration opens, reads or looks at a file while questions are answered.
#[test]
fn scenario_handle_queries_without_disk_io() {
    let Some(strace) = Tool::STRACE.find() else { return };
    let repo = repo();
    let server = Server::ready(&repo, &["--reload-interval", "3600"]);
    let mut client = server.connect();
    client.receive();
    client.ask("how do I turn hooks off");
    let process = server.process.child.id().to_string();
    let log = repo.beside("calls");
    let mut tracer = Command::new(strace)
        .args([
            "-f",
            "-qq",
            "-e",
            "trace=%file,read,pread64,readv,preadv,mmap,getdents64",
            "-p",
            &process,
            "-o",
        ])
        .arg(&log)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let is_traced = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        status.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|pid| pid.trim() != "0"))
    };
    wait_until("the tracer is attached or has given up", || {
        is_traced() || tracer.try_wait().unwrap().is_some()
    });
    if !is_traced() {
        return codeweaver_testkit::skip("the right to trace a process");
    }
    // What is traced shows the looks at the configuration.
    let calls = || std::fs::read_to_string(&log).unwrap_or_default();
    wait_for("a look at the configuration is traced", || {
        let calls = calls();
        if calls.contains("config.toml") { Ok(()) } else { Err(calls) }
    });
    for i in 0..30 {
        let question = ["how do I turn hooks off", "which port does the server listen on"][i % 2];
        assert_eq!(client.ask(question).last().unwrap()["type"], "stream_end");
    }
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    let calls = calls();
    let of_others = |line: &&str| !line.starts_with(&format!("{process} "));
    let is_memory = |line: &&str| line.contains("MAP_ANONYMOUS");
    let files: Vec<&str> = calls.lines().filter(of_others).filter(|line| !is_memory(line)).collect();
    let files: Vec<&&str> =
        files.iter().filter(|line| !line.contains("---") && !line.contains("+++")).collect();
    assert!(files.is_empty(), "{files:#?}");
}

#[test]
fn a_second_server_on_the_port_is_refused() {
    let repo = repo();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let run = repo.codeweaver(["serve", "--ask", "--port", &port]);
    run.fails(2).is_an_error(&format!("Server already running on port {port}"), "--port");
    drop(listener);
    // Two servers: the first one stays.
    let server = Server::ready(&repo, &[]);
    let port = server.address().rsplit_once(':').unwrap().1;
    let run = repo.codeweaver(["serve", "--ask", "--port", port]);
    run.fails(2).is_an_error(&format!("Server already running on port {port}"), "--port");
    let mut client = server.connect();
    client.receive();
    assert_eq!(client.ask("how do I turn hooks off").last().unwrap()["type"], "stream_end");
}

#[test]
fn two_clients_ask_at_once_and_a_thousand_questions_leak_nothing() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.child.id()))
            .unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).map(str::to_owned);
        line.and_then(|line| line.trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let url = server.url.clone();
    let ask = |n: usize| {
        let mut client = connect(&url);
        client.receive();
        for i in 0..n {
            let started = Instant::now();
            let messages =
                client.ask(["how do I turn hooks off", "which port does the server listen on"][i % 2]);
            assert_eq!(messages.last().unwrap()["type"], "stream_end");
            // Within the allowance of messages.
            std::thread::sleep(Duration::from_millis(52).saturating_sub(started.elapsed()));
        }
    };
    ask(50);
    let before = resident();
    std::thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(|| ask(125)))));
    let after = resident();
    assert!(after < before + 20_000, "{before} kB before, {after} kB after");
}

/// The client of the package ws prints what it receives, one message a line.
#[test]
fn wscat_is_a_client() {
    let Some(wscat) = Tool::WSCAT.find() else { return };
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let query = json!({ "type": "query", "question": "how do I turn hooks off" }).to_string();
    let mut command = Command::new(wscat);
    command.args(["--no-color", "--connect", &server.url, "--wait", "3", "--execute", &query]);
    let mut wscat = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // It ends with its input, and otherwise after it has waited.
    let stdin = wscat.stdin.take();
    let output = wscat.wait_with_output().unwrap();
    drop(stdin);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages: Vec<Value> = said
        .lines()
        .filter_map(|line| serde_json::from_str(line.trim_start_matches(['<', ' ']).trim()).ok())
        .collect();
    let kinds: Vec<&str> = messages.iter().filter_map(|message| message["type"].as_str()).collect();
    assert_eq!((kinds.first(), kinds.get(1)), (Some(&"status"), Some(&"stream_start")), "{output:?}");
    assert_eq!(messages.last().unwrap()["sources"], json!(["docs/guide.md"]), "{said}");
    assert!(text(&messages).starts_with("To turn hooks off"), "{said}");
}

/// Another implementation of the protocol is a client as well.
#[test]
fn the_websockets_package_is_a_client() {
    let Some(python) = Tool::PYTHON_WEBSOCKETS.find() else { return };
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let script = format!(
        "import json\nfrom websockets.sync.client import connect\nwith connect('{}') as socket:\n    \
         print(json.loads(socket.recv())['status'])\n    \
         socket.send(json.dumps({{'type': 'query', 'question': 'how do I turn hooks off'}}))\n    \
         while True:\n        message = json.loads(socket.recv())\n        print(message.get('chunk', message['type']))\n        \
         if message['type'] == 'stream_end':\n            print(message['sources'])\n            break\n",
        server.url
    );
    let output = std::process::Command::new(python).args(["-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.starts_with("ready\nstream_start\nTo turn hooks off"),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.trim_end().ends_with("['docs/guide.md']"), "{text}");
}

#[test]
fn scenario_connect_to_server() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    // The address is shown with the state of the server; the default port is that of `serve`.
    let run = client(&repo, &server, &["which port does the server listen on"]);
    assert!(
        run.success().stderr().starts_with(&format!("Connected to {} (ready)", server.url)),
        "{}",
        run.explain()
    );
    assert_eq!(repo.codeweaver(["config", "get", "ask.port"]).success().stdout().trim(), "8765");
}

#[test]
fn scenario_server_startup_and_index_loading() {
    let repo = repo();
    let server = Server::start(&repo, &[]);
    assert!(server.url.starts_with("ws://127.0.0.1:"), "{}", server.url);
    assert!(server.wait_for("Ready").ends_with("2 documents"));
}

/// After an error the same connection answers.
#[test]
fn scenario_error_handling() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let mut client = server.connect();
    client.receive();
    client.send(r#"{"type":"query","question":"hooks","index":"gone"}"#);
    let error = client.receive();
    assert_eq!(error.as_object().unwrap().keys().collect::<Vec<_>>(), ["message", "type"]);
    assert_eq!(error["type"], "error");
    assert_eq!(client.ask("how do I turn hooks off").last().unwrap()["type"], "stream_end");
}

#[test]
fn silent_clients_do_not_keep_others_out() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let greeted: Vec<Client> = (0..64).map(|_| server.connect()).collect();
    let mut client = server.connect();
    client.receive();
    let silent: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    let mut other = server.connect();
    other.receive();
    assert_eq!(other.ask("which port").last().unwrap()["type"], "stream_end");
    drop((greeted, silent));
}
