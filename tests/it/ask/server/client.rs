//! `ask --server`: the client of the command line.

use super::*;

#[test]
fn scenario_send_query_via_cli() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let run = client(&repo, &server, &["how", "do", "I", "turn", "hooks", "off"]);
    run.success().says(&[
        "Connected to ws://",
        "(ready)",
        "program hooks disable",
        "Sources",
        "docs/guide.md",
    ]);
    let json = client(&repo, &server, &["--json", "how do I turn hooks off"]).success().json();
    assert_eq!(
        (&json["status"], &json["sources"]),
        (&json!("answered"), &json!(["docs/guide.md"])),
        "{json:#}"
    );
    client(&repo, &server, &["what is the capital of Mongolia"])
        .fails(1)
        .says(&["No relevant information found"]);
    client(&repo, &server, &["--index", "unknown", "hooks"]).fails(2).says(&["unknown index"]);
}

#[test]
fn scenario_interactive_question_mode() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let input = b"how do I turn hooks off\n\nwhich port does the server listen on\nquit\nnever asked\n";
    for args in [vec!["ask", "--interactive", "--server", &server.url], vec!["ask", "--interactive"]] {
        let run = Run::with_input(repo.command(program()).args(&args), input);
        run.success().says(&["program hooks disable", "port 8765"]);
        assert!(!run.stdout().contains("never asked"));
    }
}

#[test]
fn scenario_handle_server_unavailable() {
    let repo = TestRepo::empty_dir();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = repo.codeweaver(["ask", "--server", &format!("ws://{free}"), "hooks"]);
    run.fails(2).is_an_error("cannot be reached", "git codeweaver serve");
    repo.codeweaver(["ask", "--server", "localhost", "hooks"])
        .fails(2)
        .is_an_error("not the address of a server", "ws://");
}

/// Where there is no repository and no directory is named, the client asks the server on this machine.
#[test]
fn outside_of_a_repository_the_client_asks_the_server() {
    let repo = repo();
    let server = Server::ready(&repo, &[]);
    let port = server.address().rsplit_once(':').unwrap().1;
    let outside = TestRepo::empty_dir().env("CODEWEAVER_ASK_PORT", port);
    outside
        .codeweaver(["ask", "how do I turn hooks off"])
        .success()
        .says(&[&format!("Connected to ws://localhost:{port} (ready)"), "program hooks disable"]);

    drop(server);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let nothing = TestRepo::empty_dir().env("CODEWEAVER_ASK_PORT", &free);
    nothing.codeweaver(["ask", "hooks"]).fails(2).is_an_error(
        &format!("there is no repository here, and no server at ws://localhost:{free}"),
        "git codeweaver serve --ask",
    );
    nothing
        .codeweaver(["ask", "--extractive", "hooks"])
        .fails(2)
        .is_an_error("not in a git repository", "init");
}

/// A server that answers in one message is understood as well.
#[test]
fn scenario_streaming_response_display() {
    let repo = TestRepo::empty_dir();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for replies in [
            vec![json!({ "type": "answer", "answer": "In one piece.", "sources": ["a.md"] })],
            vec![
                json!({ "type": "stream_start" }),
                json!({ "type": "stream_chunk", "chunk": "In two " }),
                json!({ "type": "stream_chunk", "chunk": "pieces." }),
                json!({ "type": "stream_end", "sources": ["b.md"] }),
            ],
            vec![json!({ "type": "error", "message": "the disk is on fire" })],
        ] {
            let mut socket = tungstenite::accept(listener.accept().unwrap().0).unwrap();
            socket.send(Message::text(r#"{"type":"status","status":"ready"}"#)).unwrap();
            socket.read().unwrap();
            replies.iter().for_each(|reply| socket.send(Message::text(reply.to_string())).unwrap());
        }
    });
    let ask = || repo.codeweaver(["ask", "--server", &url, "anything"]);
    ask().success().says(&["In one piece.", "a.md"]);
    ask().success().says(&["In two pieces.", "b.md"]);
    ask().fails(2).says(&["the disk is on fire"]);
}
