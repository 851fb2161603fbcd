//! `serve`: the API, who may ask, MCP over HTTP, and the life of the server.

mod health;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_index::{Meter, Target, UpdateOptions, updater};
use codeweaver_testkit::{FILES, TestRepo, Tool, program, wait_for, wait_until};

use crate::support::server::{Server, raw};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// Without what differs between two answers to the same question.
fn timeless(mut answer: Value) -> Value {
    if let Some(object) = answer.as_object_mut() {
        object.remove("execution_time_ms");
    }
    answer
}

#[test]
fn the_api_answers_as_the_command_line_does() {
    let repo = indexed();
    repo.write("src/new.rs", "/// Counts retries.\npub fn count_retries() {}\n");
    let server = Server::start(&repo, &[]);
    let run = |args: &[&str]| timeless(repo.codeweaver(args).json());
    let asked = timeless(server.json("api/search?q=call+again+after+a+failure&token_limit=10000"));
    assert_eq!(asked, run(&["search", "-o", "json", "call again after a failure"]));
    let asked = timeless(server.json("api/search?q=lang:rust+%22fn%22"));
    assert_eq!(asked, run(&["search", "-o", "json", "--mode", "exact", "--lang", "rust", "fn"]));
    let asked = timeless(server.json("api/outline?path=src/parse.rs"));
    assert_eq!(asked, run(&["outline", "-o", "json", "src/parse.rs"]));
    let asked = server.json("api/graph?symbol=parse_header&direction=callers");
    assert_eq!(asked["roots"], json!(["src/parse.rs:2#parse_header"]), "{asked:#}");
    let asked = server.json("api/file?path=src/parse.rs&first=2&last=2");
    assert!(asked["text"].as_str().unwrap().starts_with("pub fn parse_header"), "{asked:#}");
    let asked = server.json("api/search?q=state:untracked+count+retries");
    let paths: Vec<&Value> =
        asked["matches"].as_array().unwrap().iter().map(|it| &it["file"]["path"]).collect();
    assert_eq!(paths, ["src/new.rs"], "{asked:#}");
    let asked = server.json("api/search?q=count+retries+state:committed");
    assert!(!asked.to_string().contains("src/new.rs"), "{asked:#}");
    let asked = server.json("api/files?path=src");
    assert!(asked["total"].as_u64().unwrap() >= 2, "{asked:#}");
    let asked = server.json("api/history?path=src/parse.rs");
    assert_eq!(asked["commits"].as_array().unwrap().len(), 1, "{asked:#}");
    let status = server.json("api/status");
    assert_eq!((&status["state"], &status["current"]), (&json!("indexed"), &json!(true)), "{status:#}");
}

#[test]
fn permanent_links_name_contents() {
    let repo = indexed();
    let blob = repo.git_text(["rev-parse", "HEAD:src/parse.rs"]);
    let blob = blob.trim();
    repo.write("src/parse.rs", "// empty now\n").commit("Empty it");
    let server = Server::start(&repo, &[]);
    let asked = server.json(&format!("api/file?path=src/parse.rs&blob={blob}"));
    assert!(asked["text"].as_str().unwrap().contains("fn parse_header"), "{asked:#}");
    assert_eq!(server.get("api/file?path=src/parse.rs&blob=0123").status, 404);
}

#[test]
fn long_lists_of_lines_are_streamed() {
    let repo = TestRepo::init();
    for n in 0..300 {
        repo.write(&format!("src/f{n}.rs"), format!("pub fn needle_{n}() {{}}\n").repeat(5));
    }
    repo.commit("Add files").codeweaver(["init", "--no-hooks"]).success();
    let server = Server::start(&repo, &[]);
    let answer = server.get("api/search?q=/needle_\\d/&stream=1");
    let lines: Vec<Value> = answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, files) = lines.split_last().unwrap();
    assert_eq!(files.len(), 300);
    assert_eq!(end, &json!({ "total_lines": 1500, "total_files": 300, "warnings": [] }));
    let shown: usize = files.iter().map(|file| file["lines"].as_array().unwrap().len()).sum();
    assert_eq!(shown, 1500);
    // Without `stream` there is a limit, which the answer tells.
    let answer = server.json("api/search?q=/needle_\\d/&limit=10");
    assert_eq!((&answer["total_lines"], &answer["omitted_lines"]), (&json!(1500), &json!(1490)));
    let refused = server.get("api/search?q=words&stream=1");
    assert_eq!(refused.status, 400, "{refused:#?}");
    let refused = server.get("api/search?q=/(/&stream=1");
    assert_eq!(refused.status, 400, "{refused:#?}");
}

#[test]
fn bad_requests_get_a_reason_and_a_remedy() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    for (path, status, words) in [
        ("api/search", 400, "`q` must be given"),
        ("api/search?q=x&limit=many", 400, "`limit` must be a number"),
        ("api/search?q=x&mode=magic", 400, "hybrid, semantic"),
        ("api/search?q=x&lang=klingon", 400, "klingon"),
        ("api/search?q=x&rev=nowhere", 404, "nowhere"),
        ("api/file?path=../../etc/passwd", 400, "inside it"),
        ("api/file?path=/etc/passwd", 400, "inside it"),
        ("api/file?path=.git/config", 400, "working tree"),
        ("api/file?path=src/none.rs", 404, "none.rs"),
        ("api/outline?path=none.rs", 404, "none.rs"),
        ("api/none", 404, "/api/none"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, status, "{path}: {answer:#?}");
        let told = answer.json();
        let text = format!("{}: {}", told["error"].as_str().unwrap(), told["why"].as_str().unwrap());
        assert!(text.contains(words), "{path}: {answer:#?}");
    }
    assert_eq!(server.request("PUT", "api/search", &[], "").status, 405);
    let long = format!("api/search?q={}", "x".repeat(300_000));
    assert!([414, 431].contains(&server.get(&long).status));
}

#[test]
fn credentials_and_ignored_files_are_not_served() {
    let repo = TestRepo::with_files(FILES);
    repo.write(".gitignore", "*.local\n").write("notes.local", "private\n");
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ\n-----END RSA PRIVATE KEY-----\n";
    repo.write("deploy/id_rsa", key).write("src/token.rs", format!("{key}// the key\n")).commit("Add keys");
    // A credential by its name alone, which is left out for another reason as well.
    repo.write(".codeweaverignore", ".env\n").write(".env", "WORD=private\n").commit("Add settings");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("draft.rs", "fn draft() {}\n");

    let server = Server::start(&repo, &[]);
    for path in ["notes.local", "deploy/id_rsa", "src/token.rs", ".env", ".git/config"] {
        for query in [format!("api/file?path={path}"), format!("api/file?path={path}&rev=HEAD")] {
            let answer = server.get(&query);
            assert!([400, 403, 404].contains(&answer.status), "{query}: {answer:#?}");
            assert!(!answer.body.contains("MIIEp") && !answer.body.contains("private\\n"), "{answer:#?}");
        }
    }
    let blob = repo.git_text(["rev-parse", "HEAD:deploy/id_rsa"]);
    let answer = server.get(&format!("api/file?path=src/parse.rs&blob={}", blob.trim()));
    assert_eq!(answer.status, 403, "{answer:#?}");
    assert_eq!(server.json("api/file?path=draft.rs")["state"], "untracked");
    // Owners read their own files.
    repo.codeweaver(["read", "deploy/id_rsa"]).success();
}

#[test]
fn other_hosts_and_origins_are_refused() {
    let repo = indexed();
    let server = Server::start(&repo, &["--allow-host", "code.example"]);
    let status = |headers: &[(&str, &str)]| server.request("GET", "health/", headers, "").status;
    let own = format!("http://{}", server.address());
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[("host", "code.example")]), 200);
    assert_eq!(status(&[("origin", &own)]), 200);
    assert_eq!(status(&[("host", "evil.example")]), 403);
    for host in ["[::1]evil", "[::1].evil.com", "localhost:80.evil.com", "evil@localhost"] {
        assert_eq!(status(&[("host", host)]), 403, "{host}");
    }
    assert_eq!(status(&[("origin", &own.replace("http:", "https:"))]), 403);
    let proxied = [("host", "code.example"), ("origin", "https://code.example")];
    assert_eq!(status(&proxied), 200);
    assert_eq!(status(&[("origin", "http://evil.example")]), 403);
    assert_eq!(status(&[("origin", "null")]), 403);
    let refused = server.request("POST", "api/update", &[("origin", "http://evil.example")], "");
    assert_eq!(refused.status, 403);
}

#[test]
fn a_bad_file_of_tokens_lets_in_only_those_that_are_still_in_it() {
    const REMOVED: &str = "removed-0123456789abcdef";
    let repo = indexed();
    let file = repo.beside("token");
    std::fs::write(&file, format!("{TOKEN}\n{REMOVED}\n")).unwrap();
    let server = Server::start(&repo, &["--token-file", file.to_str().unwrap()]);
    let status = |token: &str| {
        let headers = [("authorization", &*format!("Bearer {token}"))];
        server.request("GET", "api/search?q=retry", &headers, "").status
    };
    assert_eq!((status(TOKEN), status(REMOVED)), (200, 200));

    std::fs::write(&file, format!("{TOKEN}\nshort\n")).unwrap();
    assert_eq!((status(TOKEN), status(REMOVED)), (200, 401));
    server.process.wait_for("the token in line 2");
    let health =
        server.request("GET", "health/", &[("authorization", &format!("Bearer {TOKEN}"))], "").json();
    assert_eq!(health["status"], "degraded", "{health:#}");
    assert!(health["problems"][0].as_str().unwrap().contains("too short"), "{health:#}");

    std::fs::remove_file(&file).unwrap();
    assert_eq!(status(TOKEN), 401);
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    assert_eq!(status(TOKEN), 200);

    let guesses: Vec<u16> = (0..60).map(|n| status(&format!("guess-0123456789-{n}"))).collect();
    assert_eq!(guesses[59], 429, "{guesses:?}");
    assert_eq!(status(TOKEN), 200, "it was right before");
}

#[test]
fn a_token_is_needed_where_one_is_set() {
    let repo = indexed();
    let file = repo.beside("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let server = Server::start(&repo, &["--token-file", file.to_str().unwrap()]);
    let refused = server.get("api/search?q=retry");
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").unwrap().starts_with("Bearer"));
    assert_eq!(server.request("POST", "mcp", &[], "{}").status, 401);
    let with =
        |value: &str| server.request("GET", "api/search?q=retry", &[("authorization", value)], "").status;
    assert_eq!(with(&format!("Bearer {TOKEN}")), 200);
    assert_eq!(with("Bearer 0123456789abcdef0123456789abcdee"), 401);
    // A browser gets a cookie for it.
    let page = server.request("GET", "", &[("accept", "text/html")], "");
    assert!(page.status == 401 && page.body.contains("name=\"token\""), "{page:#?}");
    assert_eq!(server.request("POST", "login", &[], "token=wrong-and-long-enough").status, 401);
    let welcome = server.request("POST", "login", &[], &format!("token={TOKEN}"));
    assert_eq!(welcome.status, 303, "{welcome:#?}");
    let cookie = welcome.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN));
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(server.request("GET", "api/status", &[("cookie", cookie)], "").status, 200);
}

#[test]
fn a_browser_gets_a_page_where_there_is_none() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let browser = [("accept", "text/html,application/xhtml+xml;q=0.9")];

    let page = server.request("GET", "nosuch", &browser, "");
    assert_eq!((page.status, page.header("content-type")), (404, Some("text/html; charset=utf-8")));
    assert!(
        page.body.contains("there is no page /nosuch") && page.body.contains("href=\"/help\""),
        "{page:#?}"
    );

    // Programs and the API answer in JSON.
    for (path, headers) in [("nosuch", &[][..]), ("api/nosuch", &browser[..])] {
        let answer = server.request("GET", path, headers, "");
        assert_eq!((answer.status, answer.json()["kind"].as_str()), (404, Some("not_found")), "{path}");
    }
}

#[test]
fn a_server_for_other_machines_needs_a_token() {
    let repo = indexed();
    let refused = repo.codeweaver(["serve", "--host", "0.0.0.0", "--port", "0"]);
    refused.fails(2).is_an_error("the server does not start without a token", "--token-file");
    let file = repo.beside("token");
    std::fs::write(&file, "short\n").unwrap();
    let refused = repo.codeweaver(["serve", "--token-file", file.to_str().unwrap()]);
    refused.fails(2).is_an_error("there is no token", "openssl rand");
}

#[test]
fn a_second_server_on_the_port_is_refused() {
    let repo = indexed();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let refused = repo.codeweaver(["serve", "--port", &port]);
    refused.fails(2).is_an_error(&format!("Server already running on port {port}"), "--port");
}

#[test]
fn every_response_forbids_foreign_content() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    for path in ["health/", "api/search?q=x", "none", "metrics"] {
        let answer = server.get(path);
        assert!(
            answer.header("content-security-policy").unwrap().starts_with("default-src 'none'"),
            "{path}"
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-request-id").map(str::len), Some(36), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

/// Both forms of the command, with a settings file that was named: it reaches the process that indexes, too.
#[test]
fn a_server_is_started_with_a_settings_file() {
    let repo = TestRepo::with_files(FILES);
    let file = repo.beside("named.toml");
    std::fs::write(&file, "[policy]\nexclude = [\"src/**\"]\n").unwrap();
    let mut command = repo.command(program());
    command
        .args(["server", "--project"])
        .arg(repo.root())
        .args(["--port", "0", "--debug", "--config"])
        .arg(&file);
    let server = Server::new(command);
    server.process.wait_for("The index is complete");
    let found = server.json("api/search?q=parse_header");
    let paths = found["matches"].as_array().unwrap().iter().map(|it| it["file"]["path"].as_str().unwrap());
    assert!(paths.into_iter().all(|path| !path.starts_with("src/")), "{found:#}");

    repo.codeweaver(["serve", "--port", "0", "--config", "no.toml"])
        .fails(2)
        .is_an_error("no.toml cannot be read", "make ");
}

#[test]
fn a_damaged_index_is_repaired_while_it_is_served() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let before = timeless(server.json("api/search?q=retry"));
    for file in
        walk(&repo.path(".codeweaver")).iter().filter(|path| path.to_string_lossy().contains("segment"))
    {
        std::fs::write(file, b"damaged").unwrap();
    }
    wait_for("the answer is that before the damage", || {
        let answer = server.get("api/search?q=retry");
        let is_right = answer.status == 200 && answer.json()["matches"] == before["matches"];
        if is_right { Ok(()) } else { Err(format!("{answer:#?}")) }
    });
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let children: Vec<_> = std::fs::read_dir(dir).unwrap().flatten().map(|child| child.path()).collect();
    children.into_iter().flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_push_is_found_at_once_and_indexed() {
    let repo = indexed();
    let bare = TestRepo::empty_dir();
    bare.git(["clone", "--quiet", "--bare", repo.root().to_str().unwrap(), "."]);
    let server = Server::start(&bare, &[]);
    server.process.wait_for("The index is complete");
    repo.write(
        "src/pushed.rs",
        "/// Reverses the polarity of the neutron flow.\npub fn reverse_polarity() {}\n",
    );
    repo.commit("Add it").git(["push", "--quiet", bare.root().to_str().unwrap(), "HEAD"]);
    let found = server.json("api/search?q=reverse+polarity");
    assert_eq!(found["matches"][0]["file"]["path"], "src/pushed.rs", "{found:#}");
    assert_eq!(found["index"]["head"], repo.git_text(["rev-parse", "HEAD"]).trim());
    assert_eq!(server.request("POST", "api/update", &[], "").status, 202);
    wait_until("the push is indexed", || server.json("api/status")["current"] == true);
}

#[test]
fn slow_and_half_open_connections_do_not_stop_others() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let open: Vec<TcpStream> = (0..500)
        .map(|n| {
            let mut stream = TcpStream::connect(server.address()).unwrap();
            if n % 2 == 0 {
                stream.write_all(b"GET /api/search?q=slow HTTP/1.1\r\nhost: loc").unwrap();
            }
            stream
        })
        .collect();
    let started = Instant::now();
    assert_eq!(server.get("api/search?q=retry").status, 200);
    assert!(started.elapsed() < Duration::from_secs(20));
    drop(open);
    let nonsense = raw(server.address(), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n");
    assert_eq!(nonsense.status, 400);
}

#[test]
#[cfg(unix)]
fn the_server_ends_gracefully() {
    let repo = indexed();
    let mut server = Server::start(&repo, &[]);
    assert_eq!(server.get("health/").status, 200);
    let idle = TcpStream::connect(server.address()).unwrap();
    let started = Instant::now();
    assert_eq!(server.process.terminate(), Some(0));
    assert!(started.elapsed() < Duration::from_secs(15));
    drop(idle);
    repo.codeweaver(["verify"]).success();
}

#[test]
fn agents_use_the_tools_over_http() {
    let Some(python) = Tool::PYTHON_MCP.find() else { return };
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/agent.py");
    let mut command = repo.command(python);
    command.arg(script).arg(format!("{}mcp", server.url)).arg(repo.beside("other"));
    let run = codeweaver_testkit::Run::new(&mut command);
    assert_eq!(run.success().stdout().trim(), "ok");
}

#[test]
fn clients_of_the_tools_cannot_take_the_index_away() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let session = std::cell::OnceCell::new();
    let post = |message: serde_json::Value| {
        let mut headers =
            vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        headers.extend(session.get().map(|id: &String| ("mcp-session-id", id.as_str())));
        server.request("POST", "mcp", &headers, &message.to_string())
    };

    let params = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let begun = post(json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    session.set(begun.header("mcp-session-id").unwrap().to_owned()).unwrap();
    post(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));

    for (arguments, expected) in [
        (json!({ "action": "clear" }), "not_allowed"),
        (json!({ "action": "reindex" }), "not_allowed"),
        (json!({ "action": "create", "force": true }), "not_allowed"),
        (json!({ "action": "status" }), "indexed"),
    ] {
        let params = json!({ "name": "manage_index", "arguments": arguments });
        let answer = post(json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params }));
        assert!(answer.body.contains(expected), "{arguments}: {answer:#?}");
    }
    assert_eq!(server.get("api/search?q=retry").status, 200);
}

#[test]
fn a_foreign_tool_reads_the_description_of_the_api() {
    let Some(python) = Tool::PYTHON_MCP.find() else { return };
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/openapi.py");
    let mut command = repo.command(python);
    command.arg(script).arg(&server.url).arg(repo.beside("client"));
    let run = codeweaver_testkit::Run::new(&mut command);
    assert_eq!(run.success().stdout().trim(), "ok");
}

#[test]
fn a_path_that_no_file_system_has_is_not_found() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    let long = "%E3%81%82".repeat(3_000);
    for path in
        [format!("api/file?path={long}"), format!("file?path={long}"), format!("api/outline?path={long}")]
    {
        assert_eq!(server.get(&path).status, 404, "{}", &path[..40]);
    }
    let deep = "src/%E3%81%82/".repeat(1_500);
    assert_eq!(server.get(&format!("api/file?path={deep}x.rs")).status, 404);
}

#[test]
fn a_damaged_history_is_shown_as_far_as_it_goes() {
    let repo = indexed();
    let tree = repo.git_text(["rev-parse", "HEAD^{tree}"]);
    let absent = "1234567890123456789012345678901234567890";
    let who = "A U Thor <a@example.com> 1700000000 +0000";
    let write = |text: String| {
        let mut command = repo.command("git");
        command.args(["hash-object", "-t", "commit", "-w", "--literally", "--stdin"]);
        let run = codeweaver_testkit::Run::with_input(&mut command, text.as_bytes());
        run.success().stdout().trim().to_owned()
    };

    let tree = tree.trim();
    let good = repo.git_text(["rev-parse", "HEAD"]);
    let no_tree =
        write(format!("tree {absent}\nparent {}\nauthor {who}\ncommitter {who}\n\nno tree\n", good.trim()));
    let no_parent =
        write(format!("tree {tree}\nparent {absent}\nauthor {who}\ncommitter {who}\n\nno parent\n"));
    let no_author = write(format!("tree {tree}\nparent {no_parent}\ncommitter {who}\n\nno author\n"));
    let child = write(format!("tree {tree}\nparent {no_tree}\nauthor {who}\ncommitter {who}\n\nchild\n"));

    let server = Server::start(&repo, &[]);
    let subjects = |query: &str| -> Vec<String> {
        let answer = server.json(&format!("api/history?{query}"));
        let commits = answer["commits"].as_array().unwrap();
        commits.iter().map(|it| it["subject"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(subjects(&format!("rev={no_author}")), ["no author", "no parent"]);
    assert_eq!(subjects(&format!("rev={child}")), ["child", "no tree", "first"]);
    assert_eq!(subjects(&format!("rev={child}&path=src/parse.rs")), ["first"]);
    let warned = server.json(&format!("api/history?rev={child}&path=src/parse.rs"))["warnings"].to_string();
    assert!(warned.contains("cannot be compared"), "{warned}");
}
