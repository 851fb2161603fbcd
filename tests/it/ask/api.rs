//! `ask` with a language model: a local server speaks the protocol of OpenAI, and fails in every way.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use codeweaver_testkit::http::Request;
use codeweaver_testkit::{Run, TestRepo, Tool};

const GUIDE: &str = "# Guide\n\n## Hooks\n\nTo turn hooks off, run `program hooks disable`. The index is then updated by \
    queries.\n\n## Port\n\nThe server listens on port 8765.\n";

/// What the server does with one request.
#[derive(Clone)]
enum Reply {
    /// A stream of these parts, with its end.
    Stream(Vec<&'static str>),
    /// A stream of these parts, without an end.
    Broken(Vec<&'static str>),
    /// A reply that is not a stream.
    Whole(&'static str),
    /// A status with a header and a body.
    Status(u16, &'static str, &'static str),
    /// Nothing until the client gives up.
    Silence,
}

/// A server on this machine that answers the requests in turn, the last reply also to all further ones.
struct Server {
    url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(replies: Vec<Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let n = seen.lock().unwrap().len();
                let reply = replies[n.min(replies.len() - 1)].clone();
                let Some(request) = Request::read(&stream) else { return };
                seen.lock().unwrap().push(request);
                // The client may have gone.
                let _ = write_reply(stream, &reply);
            }
        });
        Server { url, requests }
    }

    fn n_requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

fn event(text: &str) -> String {
    let event = serde_json::json!({ "object": "chat.completion.chunk", "choices": [{ "index": 0, "delta": { "content": text } }] });
    format!("data: {event}\n\n")
}

fn write_reply(mut stream: TcpStream, reply: &Reply) -> std::io::Result<()> {
    let head = |status: u16, kind: &str, more: &str| {
        format!("HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\n{more}Connection: close\r\n\r\n")
    };
    match reply {
        Reply::Stream(parts) | Reply::Broken(parts) => {
            stream.write_all(head(200, "text/event-stream", "").as_bytes())?;
            stream.write_all(b": a comment\n\n")?;
            for part in parts {
                stream.write_all(event(part).as_bytes())?;
                stream.flush()?;
            }
            if matches!(reply, Reply::Stream(_)) {
                stream.write_all(
                    b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
                )?;
            }
        }
        Reply::Whole(text) => {
            let body =
                serde_json::json!({ "choices": [{ "message": { "role": "assistant", "content": text } }] });
            stream.write_all(format!("{}{body}", head(200, "application/json", "")).as_bytes())?;
        }
        Reply::Status(status, header, body) => {
            stream.write_all(format!("{}{body}", head(*status, "application/json", header)).as_bytes())?;
        }
        // Until the client hangs up.
        Reply::Silence => drop(stream.read_to_end(&mut Vec::new())?),
    }
    Ok(())
}

/// An indexed repository with a guide, whose questions the API at `url` answers.
pub fn repo(url: &str) -> TestRepo {
    let repo = TestRepo::with_files(&[("docs/guide.md", GUIDE)])
        .env("MARKDOWN_QA_API_BASE_URL", url)
        .env("MARKDOWN_QA_API_KEY", "sk-very-secret");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

pub fn ask(repo: &TestRepo) -> Run {
    repo.codeweaver(["ask", "how do I turn hooks off"])
}

const GOOD: [&str; 3] = ["Run `program ", "hooks disable`", " [1]."];

#[test]
fn scenario_streaming_answer_generation() {
    let server = Server::start(vec![Reply::Stream(GOOD.to_vec())]);
    let repo = repo(&server.url);
    ask(&repo).success().says(&["Run `program hooks disable` [1].", "Sources", "[1] docs/guide.md"]);
    let requests = server.requests.lock().unwrap();
    let request = &requests[0];
    assert!(request.head.starts_with("POST /v1/chat/completions"), "{}", request.head);
    assert!(request.head.contains("Bearer sk-very-secret"), "{}", request.head);
    let body = request.json();
    assert_eq!((&body["model"], &body["stream"]), (&"qwen-flash".into(), &true.into()));
    let sent = body["messages"][1]["content"].as_str().unwrap();
    assert!(
        sent.contains("[1] docs/guide.md:") && sent.ends_with("Question: how do I turn hooks off"),
        "{sent}"
    );
    drop(requests);
    let json = repo.codeweaver(["ask", "--json", "how do I turn hooks off"]).success().json();
    assert_eq!(json["generated"]["cited"], serde_json::json!([1]), "{json:#}");
    assert_eq!(json["generated"]["unknown"], serde_json::json!([]), "{json:#}");
    // Without the model on request.
    let n = server.n_requests();
    repo.codeweaver(["ask", "--extractive", "how do I turn hooks off"]).success().says(&["word for word"]);
    assert_eq!(server.n_requests(), n);
}

#[test]
fn a_reply_that_is_not_a_stream_is_accepted() {
    let server = Server::start(vec![Reply::Whole("Run `program hooks disable` [1].")]);
    ask(&repo(&server.url)).success().says(&["Run `program hooks disable` [1].", "[1] docs/guide.md"]);
}

#[test]
fn citations_of_what_was_not_retrieved_are_marked() {
    let server = Server::start(vec![Reply::Stream(vec!["Run it [7]. ", "\nAnd this has no source at all."])]);
    ask(&repo(&server.url))
        .success()
        .says(&["the answer cites [7], which was not retrieved", "has no source"]);
}

/// Whatever fails, the error says what, the key is not printed, and the documents are quoted instead.
#[test]
fn failures_are_told_and_the_extractive_answer_is_shown() {
    let unauthorised = "{\"error\":{\"message\":\"Incorrect API key provided: sk-very-secret\"}}";
    let limited = "{\"error\":{\"message\":\"slow down\"}}";
    for (replies, said, n_requests) in [
        (vec![Reply::Status(401, "", unauthorised)], "refuses the key", 1),
        (
            vec![Reply::Status(429, "Retry-After: 0\r\n", limited)],
            "too many requests (status 429): slow down",
            3,
        ),
        (vec![Reply::Status(429, "Retry-After: 3600\r\n", limited)], "status 429", 1),
        (vec![Reply::Status(404, "", "{}")], "status 404", 1),
        (vec![Reply::Status(503, "Retry-After: 0\r\n", "")], "status 503", 3),
        (vec![Reply::Broken(vec!["Run it"])], "broke off", 1),
        (vec![Reply::Stream(vec![])], "answered nothing", 3),
        (vec![Reply::Status(200, "", "<html>")], "is not JSON", 1),
        (vec![Reply::Status(302, "Location: http://127.0.0.1:1/\r\n", "")], "status 302", 1),
    ] {
        let server = Server::start(replies);
        let run = ask(&repo(&server.url));
        run.success().says(&[said, "program hooks disable", "Passages"]);
        assert!(!(run.stdout() + &run.stderr()).contains("sk-very-secret"), "{}", run.explain());
        assert_eq!(server.n_requests(), n_requests, "{}", run.explain());
    }
}

#[test]
fn a_request_is_repeated_until_it_is_answered() {
    let server = Server::start(vec![
        Reply::Status(500, "Retry-After: 0\r\n", ""),
        Reply::Status(429, "Retry-After: 0\r\n", ""),
        Reply::Stream(GOOD.to_vec()),
    ]);
    ask(&repo(&server.url)).success().says(&["Run `program hooks disable` [1]."]);
    assert_eq!(server.n_requests(), 3);
}

#[test]
fn a_server_that_does_not_respond_is_given_up() {
    let server = Server::start(vec![Reply::Silence]);
    let repo = repo(&server.url).env("CODEWEAVER_ASK_TIMEOUT_MS", "200");
    ask(&repo).success().says(&["did not respond within 200 ms", "program hooks disable"]);
    let repo = self::repo("http://127.0.0.1:9/v1");
    ask(&repo).success().says(&["cannot be reached", "program hooks disable"]);
}

#[test]
fn scenario_configure_api_settings() {
    let server = Server::start(vec![Reply::Stream(GOOD.to_vec())]);
    let with = TestRepo::with_files(&[("docs/guide.md", GUIDE)]);
    with.codeweaver(["init", "--no-hooks"]).success();
    // A key without a URL names what is missing.
    let half = with
        .command(codeweaver_testkit::program())
        .env("MARKDOWN_QA_API_KEY", "k")
        .args(["ask", "hooks"])
        .output()
        .unwrap();
    let stderr = String::from_utf8(half.stderr).unwrap();
    assert!(half.status.code() == Some(2) && stderr.contains("ask.api_base_url is not set"), "{stderr}");
    // Without a key, the message names the own spelling.
    let keyless = with.at(".").env("CODEWEAVER_ASK_API_BASE_URL", "https://api.example.com/v1");
    ask(&keyless).fails(2).says(&["CODEWEAVER_ASK_API_KEY is not set, and ask.api_key_command neither"]);
    // The own spelling is enough, and wins over the compatible one.
    let own = with
        .at(".")
        .env("CODEWEAVER_ASK_API_BASE_URL", &server.url)
        .env("CODEWEAVER_ASK_LLM_MODEL", "own-model")
        .env("CODEWEAVER_ASK_API_KEY", "own-key");
    let both = own
        .at(".")
        .env("MARKDOWN_QA_API_BASE_URL", "http://127.0.0.1:9/v1")
        .env("MARKDOWN_QA_LLM_MODEL", "compatible-model")
        .env("MARKDOWN_QA_API_KEY", "compatible-key");
    for spelled in [own, both] {
        ask(&spelled).success().says(&["Run `program hooks disable` [1]."]);
        let request = server.requests.lock().unwrap().pop().unwrap();
        assert_eq!(request.json()["model"], "own-model");
        assert!(request.head.contains("Bearer own-key"), "{}", request.head);
    }
    // A file of the user has precedence over the environment; the key may come from a command.
    let config = with.beside("home/.config/codeweaver");
    std::fs::create_dir_all(&config).unwrap();
    let text = format!(
        "ask:\n  api_base_url: {}\n  llm_model: from-file\n  api_key_command: echo from-command\n",
        server.url
    );
    std::fs::write(config.join("config.yaml"), text).unwrap();
    let with = with
        .env("MARKDOWN_QA_API_BASE_URL", "http://127.0.0.1:9/v1")
        .env("MARKDOWN_QA_LLM_MODEL", "from-environment");
    ask(&with).success().says(&["Run `program hooks disable` [1]."]);
    let requests = server.requests.lock().unwrap();
    assert_eq!(requests[0].json()["model"], "from-file");
    assert!(requests[0].head.contains("Bearer from-command"), "{}", requests[0].head);
}

/// The file of the compatible program has an API with its key, which no other address gets.
#[test]
fn the_api_of_the_compatible_program_is_used() {
    let server = Server::start(vec![Reply::Stream(GOOD.to_vec())]);
    let repo = TestRepo::with_files(&[("docs/guide.md", GUIDE)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let file = repo.beside("home/.md-qa/config.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let api = format!("api:\n  base_url: {}\n  api_key: sk-of-file\n  llm_model: of-file\n", server.url);
    std::fs::write(&file, api).unwrap();

    ask(&repo).success().says(&["Run `program hooks disable` [1]."]);
    let request = server.requests.lock().unwrap().pop().unwrap();
    assert_eq!(request.json()["model"], "of-file");
    assert!(request.head.contains("Bearer sk-of-file"), "{}", request.head);
    let shown = repo.codeweaver(["config", "--show"]);
    assert!(shown.success().stdout().contains(".md-qa/config.yaml:2"), "{}", shown.explain());
    assert!(!shown.stdout().contains("sk-of-file"), "{}", shown.explain());

    let elsewhere = repo.env("CODEWEAVER_ASK_API_BASE_URL", &server.url);
    std::fs::write(&file, "api:\n  api_key: sk-of-file\n").unwrap();
    ask(&elsewhere).success().says(&["Run `program hooks disable` [1]."]);
    let request = server.requests.lock().unwrap().pop().unwrap();
    assert!(!request.head.contains("sk-of-file"), "{}", request.head);
}

/// A repository cannot make its users send questions and documents to a server of its choice.
#[test]
fn a_repository_cannot_turn_the_model_on() {
    let server = Server::start(vec![Reply::Stream(GOOD.to_vec())]);
    let setting = format!("[ask]\napi_base_url = \"{}\"\napi_key_command = \"touch run\"\n", server.url);
    let repo = TestRepo::with_files(&[("docs/guide.md", GUIDE), ("codeweaver.toml", &setting)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    ask(&repo).success().says(&["word for word", "ask.api_base_url"]);
    assert_eq!((server.n_requests(), repo.path("run").exists()), (0, false));
}

/// The client of OpenAI reads the streams of the server of these tests, so that it speaks the protocol.
#[test]
fn the_client_of_openai_understands_the_test_server() {
    let Some(python) = Tool::PYTHON_OPENAI.find() else { return };
    let server = Server::start(vec![Reply::Stream(GOOD.to_vec()), Reply::Whole("In one piece.")]);
    let script = format!(
        "import openai\nclient = openai.OpenAI(base_url='{}', api_key='k', max_retries=0)\n\
         messages = [{{'role': 'user', 'content': 'q'}}]\n\
         for part in client.chat.completions.create(model='m', messages=messages, stream=True):\n    \
         print(part.choices[0].delta.content or '', end='')\n\
         print('|' + client.chat.completions.create(model='m', messages=messages).choices[0].message.content)\n",
        server.url
    );
    let output = std::process::Command::new(python).args(["-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        text.trim(),
        format!("{}|In one piece.", GOOD.concat()),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
