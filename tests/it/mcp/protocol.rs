//! The MCP protocol: handshake, lists, errors, streams, shutdown. No message of a client ends the server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::{FILES, TestRepo, program, skip, wait_for, wait_until};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn code(response: &Value) -> i64 {
    response["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {response:#}"))
}

/// The tokens of a list of tools in the tokeniser o200k, of which one has 4.3 bytes here. The program's
/// own count is meant for code and is two thirds higher.
fn tokens_of_list(json: &str) -> usize {
    json.len() * 10 / 43
}

#[test]
fn the_handshake_lists_capabilities_and_touches_no_repository() {
    // Not even one that cannot be opened.
    let repo = TestRepo::empty_dir();
    repo.write(".git/HEAD", "damaged");
    let mut client = McpClient::spawn(&repo, &[]);
    let hello = client.handshake();
    assert_eq!(hello["protocolVersion"], "2025-11-25");
    for capability in ["tools", "resources", "logging"] {
        assert!(hello["capabilities"][capability].is_object(), "{hello:#}");
    }
    let instructions = hello["instructions"].as_str().unwrap();
    for word in ["find_code", "find_text", "find_symbol", "call_graph", "read_code", "cursor"] {
        assert!(instructions.contains(word), "{word}");
    }
    assert!(tokens::count(instructions) <= 400, "{} tokens", tokens::count(instructions));
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = tools.as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["find_code", "find_text", "find_symbol", "call_graph", "read_code", "manage_index"]);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object");
        assert!(tool.get("outputSchema").is_none(), "{tool:#}");
        let text = tool.to_string();
        for noise in ["$ref", "$schema", "anyOf", "oneOf", "null", "minimum", "title", "\"format\":\""] {
            assert!(!text.contains(noise), "{noise}: {tool:#}");
        }
        for (name, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(schema["type"].is_string(), "{name}: {schema}");
        }
        assert_eq!(tool["annotations"]["readOnlyHint"] == true, tool["name"] != "manage_index");
        // What begins with an underscore is for clients.
        let meta = tool.get("_meta").map_or(0, |meta| meta.to_string().len());
        let n_tokens = tokens_of_list(&text[meta..]);
        assert!(n_tokens <= 350, "{}: {n_tokens} tokens", tool["name"]);
        // What structured content looks like is told to those who ask.
        let uri = format!("codeweaver://schema/{}", tool["name"].as_str().unwrap());
        let read = client.request("resources/read", json!({ "uri": uri }))["result"]["contents"][0].clone();
        let schema: Value = serde_json::from_str(read["text"].as_str().unwrap()).unwrap();
        assert_eq!(schema["type"], "object");
    }
    let n_tokens = tokens_of_list(&tools.to_string());
    assert!(n_tokens <= 1600, "{n_tokens} tokens");
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    assert_eq!(client.close(), 0);
}

#[test]
fn older_and_newer_protocol_revisions_are_supported() {
    let repo = indexed();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = McpClient::spawn(&repo, &[]);
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        assert_eq!(client.request("initialize", params)["result"]["protocolVersion"], version);
        assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
    }
    // The protocol revision without a handshake is named in every request.
    let mut client = McpClient::spawn(&repo, &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
    });
    let hello = client.request("server/discover", json!({ "_meta": meta }));
    assert!(
        hello["result"]["supportedVersions"].as_array().is_some_and(|v| v.contains(&json!("2026-07-28"))),
        "{hello:#}"
    );
    let call = json!({ "name": "find_code", "arguments": { "query": "parse_header", "format": "json" }, "_meta": meta });
    let answer = client.request("tools/call", call);
    assert_eq!(
        answer["result"]["structuredContent"]["matches"][0]["file"]["path"], "src/parse.rs",
        "{answer:#}"
    );
}

#[test]
fn invalid_messages_are_answered_and_do_not_end_the_server() {
    let repo = indexed();
    let mut client = McpClient::spawn(&repo, &[]);
    // Also before the handshake.
    client.notify("notifications/initialized", json!({}));
    client.send_raw(br#"{"jsonrpc":"2.0","id":77,"result":{}}"#);
    client.send_raw(b"GET / HTTP/1.1");
    assert_eq!(code(&client.wait_for(|m| m.get("error").is_some())), -32700);
    assert!(code(&client.request("tools/list", json!({}))) < 0, "no session yet");
    client.handshake();

    let without_id = |client: &mut McpClient, line: &[u8]| {
        client.send_raw(line);
        let answer = client.wait_for(|m| m.get("error").is_some());
        assert!(answer.get("id").is_none_or(Value::is_null), "{answer}");
        code(&answer)
    };
    assert_eq!(without_id(&mut client, b"{\"jsonrpc\":"), -32700);
    assert_eq!(without_id(&mut client, b"\xff\xfe\x00garbage"), -32700);
    assert_eq!(without_id(&mut client, &[b'['; 50_000]), -32700);
    assert_eq!(without_id(&mut client, b"[]"), -32600);
    assert_eq!(without_id(&mut client, br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#), -32600);
    assert_eq!(without_id(&mut client, br#"{"hello":"world"}"#), -32600);
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"ping","params":{{"x":"{}"}}}}"#, "x".repeat(3 << 20));
    client.send_raw(long.as_bytes());
    let too_long = client.wait_for(|m| m.get("error").is_some());
    assert_eq!((&too_long["id"], code(&too_long)), (&json!(5), -32600));
    client.send_raw(b"");
    client.notify("notifications/nonsense", json!({ "a": [1, 2] }));
    client.notify("notifications/cancelled", json!({ "requestId": 4711 }));

    assert_eq!(code(&client.request("no/such/method", json!({}))), -32601);
    assert_eq!(code(&client.request("tools/call", json!({ "name": 7 }))), -32602);
    assert_eq!(code(&client.request("tools/call", json!([]))), -32602);
    assert_eq!(code(&client.request("resources/read", json!({ "uri": "file:///etc/passwd" }))), -32002);
    assert_eq!(
        code(&client.request("resources/read", json!({ "uri": "codeweaver://status/nowhere/at/all" }))),
        -32002
    );
    let unknown =
        client.request("tools/call", json!({ "name": "drop_tables", "arguments": {} }))["error"].clone();
    assert_eq!(unknown["code"], -32602);
    assert!(unknown["message"].as_str().unwrap().contains("find_code"), "it says what there is: {unknown}");
    assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
    assert_eq!(client.close(), 0);
}

#[test]
fn arguments_that_make_no_sense_are_errors_that_say_so() {
    let repo = indexed();
    repo.write("secret/outside.txt", "x");
    std::fs::create_dir_all(repo.root().parent().unwrap().join("outside")).unwrap();
    std::fs::write(repo.root().parent().unwrap().join("outside/secret.txt"), "TOP SECRET").unwrap();
    std::os::unix::fs::symlink("../outside", repo.path("link")).unwrap();
    let mut client = McpClient::start(&repo);
    let outside = repo.root().parent().unwrap().join("outside/secret.txt");
    let outside = outside.to_str().unwrap();
    for (tool, arguments) in [
        ("find_code", json!({})),
        ("find_code", json!({ "query": { "text": "x" } })),
        ("find_code", json!({ "query": "   " })),
        ("find_code", json!({ "query": "x", "colour": "red" })),
        ("find_code", json!({ "query": "x", "max_results": 0 })),
        ("find_code", json!({ "query": "x", "max_results": -3 })),
        ("find_code", json!({ "query": "x", "token_limit": 0 })),
        ("find_code", json!({ "query": "x", "token_limit": "many" })),
        ("find_code", json!({ "query": "x path:../outside" })),
        ("find_code", json!({ "query": "x", "cursor": "nonsense" })),
        ("find_code", json!({ "query": "x", "cursor": "5-0123456789abcdef" })),
        ("find_code", json!({ "query": "x", "path": "/tmp/\u{0}x" })),
        ("find_similar", json!({ "file": "src/parse.rs", "line": 0 })),
        ("find_similar", json!({ "file": "../outside/secret.txt", "line": 1 })),
        ("file_outline", json!({ "file": "/etc/passwd", "path": repo.root().to_str().unwrap() })),
        ("call_graph", json!({})),
        ("call_graph", json!({ "symbol": " " })),
        ("call_graph", json!({ "symbol": "x", "direction": "sideways" })),
        ("call_graph", json!({ "symbol": "x", "depth": 0 })),
        ("call_graph", json!({ "symbol": "x", "depth": 6 })),
        ("call_graph", json!({ "symbol": "x", "limit": -1 })),
        ("call_graph", json!({ "symbol": "x", "note_limit": -1 })),
        ("call_graph", json!({ "symbol": format!("{outside}:1"), "path": repo.root().to_str().unwrap() })),
        ("read_file", json!({ "file": "../outside/secret.txt" })),
        ("read_file", json!({ "file": "src/../../outside/secret.txt" })),
        ("read_file", json!({ "file": outside, "path": repo.root().to_str().unwrap() })),
        ("read_file", json!({ "file": "link/secret.txt" })),
        ("read_file", json!({ "file": "src/parse.rs\u{0}.txt" })),
        ("read_file", json!({ "file": "" })),
        ("read_file", json!({ "file": ".git/config" })),
        ("read_file", json!({ "file": "src/parse.rs", "start_line": 0 })),
        ("read_file", json!({ "file": "src/parse.rs", "start_line": 9, "end_line": 3 })),
        ("read_file", json!({ "file": "../outside/secret.txt", "rev": "HEAD" })),
        ("manage_index", json!({ "action": "explode" })),
        ("manage_index", json!({ "action": "status", "wait_seconds": -1 })),
        ("manage_index", json!({ "action": "create", "wait_seconds": 1_000_000 })),
    ] {
        let error = client.refused(tool, arguments.clone());
        assert!(!error.contains("TOP SECRET"));
    }
    // A missing file is a failed call with an explanation.
    for (tool, arguments) in [
        ("find_code", json!({ "query": "x", "path": "/no/such/directory" })),
        ("find_code", json!({ "query": "x", "rev": "no-such-branch" })),
        ("read_file", json!({ "file": "src/nothing.rs" })),
        ("read_file", json!({ "file": "/etc/passwd" })),
        ("find_similar", json!({ "file": "src/parse.rs", "line": 9999 })),
    ] {
        let result = client.call(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result:#}");
        assert_eq!(result["structuredContent"]["status"], "not_found", "{tool} {arguments}: {result:#}");
    }
}

#[test]
fn duplicate_ids_and_too_many_requests_are_refused() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let line = |id: u64| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "find_code", "arguments": { "query": "header", "format": "json" } } })
            .to_string()
    };
    // All at once: each is answered, with matches or with a refusal.
    let n = 300;
    let all: Vec<String> = (1000..1000 + n).map(line).collect();
    client.send_raw(all.join("\n").as_bytes());
    let mut n_answered = 0;
    for id in 1000..1000 + n {
        let answer = client.wait_for(|message| message["id"] == id);
        match answer.get("error") {
            Some(error) => assert_eq!(error["code"], -32000, "{answer:#}"),
            None => n_answered += 1,
        }
    }
    assert!(n_answered > 0);
    let twice = [line(5000), line(5000)].join("\n");
    client.send_raw(twice.as_bytes());
    let first = client.wait_for(|message| message["id"] == 5000);
    let second = client.wait_for(|message| message["id"] == 5000);
    // Unless the first was answered before the second was read.
    let refused = [&first, &second].iter().filter(|answer| answer.get("error").is_some()).count();
    assert!(refused <= 1);
}

#[test]
fn cancelled_calls_get_no_answer_and_their_runs_end() {
    let repo = TestRepo::with_files(FILES);
    for i in 0..400 {
        let body: String =
            (0..60).map(|j| format!("pub fn f_{i}_{j}(x: u32) -> u32 {{ x * {j} + {i} }}\n")).collect();
        repo.write(&format!("src/many_{i}.rs"), body);
    }
    repo.commit("many");
    let mut client = McpClient::start(&repo);
    let id = client.begin(
        "tools/call",
        json!({
            "name": "manage_index", "arguments": { "action": "create" }, "_meta": { "progressToken": "p" },
        }),
    );
    client.wait_for(|message| message["method"] == "notifications/progress");
    client.notify("notifications/cancelled", json!({ "requestId": id, "reason": "no longer needed" }));
    // The session goes on, and the run that the call started ends by itself, with or without having finished.
    wait_until("the run ends", || {
        client.ask("manage_index", json!({ "action": "status" }))["index"]["state"] != "indexing"
    });
    assert!(client.others().iter().all(|message| message["id"] != id), "a cancelled call is not answered");
    // The process may still be ending.
    let built = wait_for("the process has ended", || {
        let answer = client.ask("manage_index", json!({ "action": "create" }));
        if answer["status"] == "not_ready" { Err(answer) } else { Ok(answer) }
    });
    assert_eq!(built["index"]["state"], "indexed");
}

#[test]
fn progress_is_reported_while_an_index_is_built() {
    let repo = TestRepo::with_files(FILES);
    let mut client = McpClient::start(&repo);
    let params = json!({ "name": "manage_index", "arguments": { "action": "create", "format": "json" }, "_meta": { "progressToken": 9 } });
    let id = client.begin("tools/call", params);
    let response = client.response(id);
    assert_eq!(response["result"]["structuredContent"]["index"]["state"], "indexed", "{response:#}");
    let steps: Vec<f64> = client
        .others()
        .iter()
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| {
            assert_eq!(
                (&message["params"]["progressToken"], &message["params"]["total"]),
                (&json!(9), &json!(100.0))
            );
            message["params"]["progress"].as_f64().unwrap()
        })
        .collect();
    assert!(steps.len() >= 2 && steps.windows(2).all(|pair| pair[0] < pair[1]), "{steps:?}");
    assert_eq!(steps.last(), Some(&100.0));
    // A call that does not wait says how far it is instead.
    let gated = client.call("manage_index", json!({ "action": "reindex", "wait_seconds": 0 }));
    assert_eq!(gated["structuredContent"]["reason"], "indexing", "{gated:#}");
    wait_until("the index is built again", || {
        client.ask("manage_index", json!({ "action": "status" }))["index"]["state"] != "indexing"
    });
    assert_eq!(client.ask("find_code", json!({ "query": "header" }))["status"], "ok");
}

#[test]
fn resources_and_logs_go_through_the_protocol() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
    let uri = listed[0]["uri"].as_str().unwrap();
    assert_eq!(uri, format!("codeweaver://status{}", repo.root().to_str().unwrap()));
    let read = client.request("resources/read", json!({ "uri": uri }))["result"]["contents"][0].clone();
    let report: Value = serde_json::from_str(read["text"].as_str().unwrap()).unwrap();
    assert_eq!((&report["state"], &report["current"]), (&json!("indexed"), &json!(true)));
    let templates = client.request("resources/templates/list", json!({}))["result"].clone();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "codeweaver://status{+path}");
    assert_eq!(templates["resourceTemplates"][1]["uriTemplate"], "codeweaver://schema/{tool}");

    client.found(json!({ "query": "header" }));
    assert!(client.others().is_empty(), "nothing is logged unless something is wrong");
    client.request("logging/setLevel", json!({ "level": "info" }));
    client.found(json!({ "query": "header" }));
    let log = client.wait_for(|message| message["method"] == "notifications/message");
    assert_eq!((&log["params"]["level"], &log["params"]["logger"]), (&json!("info"), &json!("mcp")));
    assert_eq!(log["params"]["data"]["operation"], "find_code");
    assert!(log["params"]["data"]["duration_ms"].is_u64());
    // Every call has an id of its own.
    let first = log["params"]["data"]["request_id"].as_str().unwrap().to_owned();
    client.found(json!({ "query": "header" }));
    let log = client.wait_for(|message| message["method"] == "notifications/message");
    let second = log["params"]["data"]["request_id"].as_str().unwrap();
    assert!(first.len() == 36 && second.len() == 36 && first != second, "{first} {second}");
}

/// A call about another repository is logged for that one.
#[test]
fn the_log_names_the_codebase_of_the_call() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = repo.at("../linked");
    let mut client = McpClient::start(&repo);
    client.request("logging/setLevel", json!({ "level": "info" }));
    for root in [repo.root(), linked.root()] {
        client.ask("manage_index", json!({ "action": "status", "path": root }));
        let log = client.wait_for(|message| message["method"] == "notifications/message");
        assert_eq!(log["params"]["data"]["codebase_root"], root.to_str().unwrap(), "{log:#}");
    }
}

/// The log has no texts of the library of the protocol, unless they are asked for.
#[test]
fn the_library_of_the_protocol_logs_warnings_only() {
    let repo = indexed();
    let logged = |level: &str| {
        let mut command = repo.command(program());
        command.args(["mcp"]).env("CODEWEAVER_LOG", level);
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let input = format!("{hello}\n{ready}\n");
        codeweaver_testkit::Run::with_input(&mut command, input.as_bytes()).success().stderr()
    };
    assert!(!logged("info").contains("rmcp"));
    assert!(logged("info,rmcp=info").contains("rmcp"), "they can be asked for");
}

#[test]
fn the_server_ends_with_its_input_a_signal_or_its_parent() {
    let repo = indexed();
    // The input ends before anything was said, and after.
    assert_eq!(McpClient::spawn(&repo, &[]).close(), 0);
    assert_eq!(McpClient::start(&repo).close(), 0);
    // Requests sent before the end of the input are answered.
    let mut command = repo.command(program());
    let mut child = command
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "find_code", "arguments": { "query": "header", "format": "json" } } }),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let said: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(said.len(), 2, "nothing but messages: {said:#?}");
    assert_eq!(said[1]["result"]["structuredContent"]["matches"][0]["file"]["path"], "src/parse.rs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));

    for signal in ["-TERM", "-INT", "-HUP"] {
        let mut client = McpClient::start(&repo);
        assert!(Command::new("kill").arg(signal).arg(client.id().to_string()).status().unwrap().success());
        assert_eq!(client.wait(), 0, "{signal}");
    }
    // Also while a call waits.
    let other = TestRepo::with_files(FILES);
    let mut client = McpClient::start(&other);
    client.begin("tools/call", json!({ "name": "manage_index", "arguments": { "action": "create" } }));
    assert!(Command::new("kill").arg("-TERM").arg(client.id().to_string()).status().unwrap().success());
    assert_eq!(client.wait(), 0);
}

#[test]
fn a_parent_that_dies_takes_the_server_with_it() {
    if !std::path::Path::new("/proc/self/status").exists() {
        skip("/proc");
        return;
    }
    let repo = indexed();
    // A shell that starts the server and waits for it; the input is kept open by this test.
    let mut command = repo.command("sh");
    command.args(["-c", "exec 3<&0; \"$0\" mcp <&3 & echo $!; wait"]).arg(program());
    let mut shell =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut id = String::new();
    let mut stdout = BufReader::new(shell.stdout.take().unwrap());
    stdout.read_line(&mut id).unwrap();
    let status = format!("/proc/{}/status", id.trim());
    // A zombie counts as ended: its new parent may not have waited for it yet.
    let is_alive = || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ"));
    // Time in which it would end if it took the shell for gone: what does not happen cannot be waited for.
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_alive(), "it ended while its parent and its input were there");
    shell.kill().unwrap();
    wait_until("it ends with its parent", || !is_alive());
    // Only now does its input end.
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn variables_of_git_do_not_pin_the_server_to_one_repository() {
    let (repo, other) = (indexed(), indexed());
    let mut command = repo.command(program());
    command.arg("mcp").env("GIT_DIR", other.path(".git")).env("GIT_WORK_TREE", other.root());
    let mut client = McpClient::new(command);
    client.handshake();
    let status = client.ask("manage_index", json!({ "action": "status" }));
    assert_eq!(status["codebaseRoot"], repo.root().to_str().unwrap());
}

#[test]
fn a_client_that_no_longer_reads_ends_the_server() {
    let repo = indexed();
    let mut command = repo.command(program());
    let mut child = command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ping = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
    let mut stdin = child.stdin.take().unwrap();
    let status = wait_for("the server ends", || {
        // The write fails once it has ended.
        let _ = stdin.write_all(ping);
        child.try_wait().unwrap().ok_or("it runs")
    });
    assert!(status.success(), "{status}");
}

#[test]
fn git_codeweaver_mcp_works_through_git() {
    let repo = indexed();
    let mut command = repo.command("git");
    command.args(["codeweaver", "mcp"]);
    let mut client = McpClient::new(command);
    client.handshake();
    assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
    assert_eq!(client.close(), 0);
}

#[test]
fn two_servers_of_one_repository_do_not_disturb_each_other() {
    let repo = indexed();
    let (mut one, mut other) = (McpClient::start(&repo), McpClient::start(&repo));
    for i in 0..10 {
        repo.write("src/counter.rs", format!("/// Counts to {i}.\npub fn count_to_{i}() {{}}\n"));
        let query = json!({ "query": format!("count_to_{i}"), "max_results": 1, "format": "json" });
        let ids = (
            one.begin("tools/call", json!({ "name": "find_code", "arguments": query })),
            other.begin("tools/call", json!({ "name": "find_code", "arguments": query })),
        );
        let answers = (one.response(ids.0), other.response(ids.1));
        for answer in [answers.0, answers.1] {
            assert_eq!(
                answer["result"]["structuredContent"]["matches"][0]["file"]["path"], "src/counter.rs",
                "{answer:#}"
            );
        }
    }
    assert_eq!(one.ask("manage_index", json!({ "action": "sync" }))["status"], "ok");
    assert_eq!(other.ask("find_code", json!({ "query": "parse_header" }))["status"], "ok");
}

#[test]
fn a_thousand_calls_do_not_make_the_server_grow() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let ask = |client: &mut McpClient, i: usize| {
        let words = ["parse a header", "call again after a failure", "retry_with_backoff", "network"];
        match i % 5 {
            4 => drop(client.ask("read_file", json!({ "file": "src/parse.rs" }))),
            n => drop(client.ask("find_code", json!({ "query": words[n] }))),
        }
    };
    (0..200).for_each(|i| ask(&mut client, i));
    let before = client.memory_kib();
    (0..1000).for_each(|i| ask(&mut client, i));
    let after = client.memory_kib();
    eprintln!("memory of the server: {before} KiB after 200 calls, {after} KiB after 1,200");
    if before == 0 {
        skip("/proc");
        return;
    }
    assert!(after as f64 <= before as f64 * 1.3, "{before} KiB grew to {after} KiB");
}
