//! What a model pays for answers: one form unless it asks for two, within the limit, whatever the form of the
//! arguments.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A file with many functions.
fn wide() -> TestRepo {
    let repo = TestRepo::init();
    let body: String = (0..500)
        .map(|i| format!("/// Parses the header of kind {i}.\npub fn parse_header_{i}(line: &str) -> Vec<String> {{\n    line.split(':').map(str::to_owned).collect()\n}}\n\n"))
        .collect();
    repo.write("src/header.rs", body).commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn answers_are_text_and_structured_on_request() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    for (tool, arguments) in [
        ("find_code", json!({ "query": "parse_header" })),
        ("find_similar", json!({ "file": "src/parse.rs", "line": 2 })),
        ("file_outline", json!({ "file": "src/parse.rs" })),
        ("call_graph", json!({ "symbol": "parse_header" })),
        ("read_code", json!({ "file": "src/parse.rs" })),
        ("manage_index", json!({ "action": "status" })),
    ] {
        let text = client.text(tool, arguments.clone());
        assert!(!text.is_empty(), "{tool}");
        let mut with = arguments;
        with["format"] = json!("json");
        let result = client.call_plainly(tool, with);
        assert!(result["structuredContent"]["status"].is_string(), "{tool}: {result:#}");
    }
    // Failures as well.
    let missing = client.call_plainly("read_code", json!({ "file": "src/nothing.rs" }));
    assert_eq!((&missing["isError"], &missing["structuredContent"]), (&json!(true), &Value::Null));
    assert!(missing["content"][0]["text"].as_str().unwrap().starts_with("not_found: "), "{missing:#}");
}

#[test]
fn the_limit_of_the_settings_holds_without_an_argument() {
    let repo = wide();
    let mut client = McpClient::start(&repo);
    let calls = [
        ("find_code", json!({ "query": "parse header" })),
        ("file_outline", json!({ "file": "src/header.rs" })),
        ("call_graph", json!({ "symbol": "parse_header_7", "direction": "references" })),
        ("read_code", json!({ "file": "src/header.rs" })),
    ];
    let ceiling = |client: &mut McpClient, limit: u32| {
        for (tool, arguments) in &calls {
            let text = client.text(tool, arguments.clone());
            assert!(tokens::count(&text) <= limit, "{tool}: {} tokens", tokens::count(&text));
        }
    };
    ceiling(&mut client, 2000);
    repo.write("codeweaver.toml", "[mcp]\ntoken_limit = 700\n");
    ceiling(&mut client, 700);
}

#[test]
fn arguments_mean_the_same_in_every_form() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let plain = json!({ "query": "header", "paths": ["src"], "max_results": 1, "include_tests": true });
    let other = json!({ "query": ["header"], "paths": "src", "maxResults": "1", "include_tests": "true",
        "cursor": null, "rev": null });
    assert_eq!(client.text("find_code", plain), client.text("find_code", other));
    // Names of other programs.
    let plain = json!({ "pattern": "header", "max_results": 1, "paths": ["src"] });
    let other = json!({ "query": "header", "limit": 1, "glob": "src" });
    assert_eq!(client.text("find_text", plain), client.text("find_text", other));
    let lines = json!({ "file": "src/parse.rs", "start_line": "1", "end_line": 2.0 });
    let read = client.text("read_code", lines.clone());
    assert!(read.starts_with("src/parse.rs:1-2 "), "{read}");
    // Other names of both tools.
    assert_eq!(client.text("read_file", lines), read);
    assert!(client.text("search_codebase", json!({ "query": "header" })).contains("src/parse.rs"));
}

#[test]
fn errors_of_arguments_say_what_would_do() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    for (tool, arguments, expected) in [
        ("find_code", json!({ "queri": "x" }), "did you mean `query`?"),
        ("find_code", json!({}), "needs the argument `query`"),
        ("find_code", json!({ "query": "x lang:pyhton" }), "did you mean `python`?"),
        (
            "call_graph",
            json!({ "symbol": "x", "direction": "up" }),
            "one of callers, callees, both, references",
        ),
        (
            "call_graph",
            json!({ "symbol": "x", "depth": 9 }),
            "`depth` must be a whole number between 1 and 5, not \"9\"",
        ),
        ("manage_index", json!({ "action": "explode" }), "status, create, reindex, sync, clear"),
        ("read_code", json!({ "file": "src/parse.rs", "line": 3 }), "start_line"),
        (
            "find_text",
            json!({ "pattern": "x", "max_result": 3 }),
            "find_text has no argument \"max_result\"; did you mean `max_results`? It has max_results, ",
        ),
    ] {
        let message = client.refused(tool, arguments.clone());
        assert!(message.contains(expected), "{tool} {arguments}: {message}");
    }
    // Any intent is accepted.
    let text = client.text("find_code", json!({ "query": "header", "intent": "ponder" }));
    assert!(text.contains("unknown intent 'ponder'") && text.contains("src/parse.rs"), "{text}");
}

#[test]
fn an_answer_is_what_is_needed_and_not_what_the_limit_allows() {
    let repo = many_files();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": "parse header" }));
    assert!(text.starts_with("8 of 40 matches"), "{text}");
    assert_eq!(locations(&text), 8, "{text}");
    assert!(tokens::count(&text) <= 900, "{} tokens: {text}", tokens::count(&text));
    // Code of the best, cut to what answers.
    assert!(text.contains("pub fn parse_header_"), "{text}");
    assert!(!text.contains("pub const UNRELATED"), "{text}");
    // The rest on request.
    let cursor = text.trim_end().rsplit('"').nth(1).unwrap();
    let next = client.text("find_code", json!({ "query": "parse header", "cursor": cursor }));
    assert!(next.starts_with("9-16 of 40 matches"), "{next}");
    let all = client.text("find_code", json!({ "query": "parse header", "max_results": 40 }));
    assert!(all.starts_with("40 matches"), "{all}");
    assert_eq!(locations(&all), 40);
    // A larger limit gets more code, and is not filled.
    let large = client.text("find_code", json!({ "query": "parse header", "token_limit": 8000 }));
    assert!(large.matches("pub fn parse_header_").count() > text.matches("pub fn parse_header_").count());
    for limit in [8_000, 100_000] {
        let large = client.text("find_code", json!({ "query": "parse header", "token_limit": limit }));
        assert!(large.starts_with("40 matches, 6 with code"), "{limit}: {large}");
    }

    let places = client
        .text("find_code", json!({ "query": "parse header", "locations_only": true, "max_results": 10 }));
    assert_eq!(locations(&places), 10);
    assert!(tokens::count(&places) <= 350, "{} tokens: {places}", tokens::count(&places));
    // A small limit still has the best, with some of its code.
    let small = client.text("find_code", json!({ "query": "parse header", "token_limit": 150 }));
    assert!(small.contains("pub fn parse_header_"), "{small}");
    assert!(tokens::count(&small) <= 150, "{} tokens: {small}", tokens::count(&small));
}

/// Number of lines of `text` that name a place.
fn locations(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("src/")).count()
}

/// Files with a function about the same thing, and constants about something else.
fn many_files() -> TestRepo {
    let repo = TestRepo::init();
    for i in 0..40 {
        let noise: String = (0..20).map(|j| format!("pub const UNRELATED_{i}_{j}: u32 = {j};\n")).collect();
        repo.write(
            &format!("src/header_{i}.rs"),
            format!("{noise}\n/// Parses the header of kind {i}.\npub fn parse_header_{i}(line: &str) -> usize {{\n    line.len() * {i}\n}}\n"),
        );
    }
    repo.commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn several_queries_share_one_limit_and_show_code_once() {
    let repo = many_files();
    let mut client = McpClient::start(&repo);
    let queries = ["parse_header_7", "the header of kind 7", "parse_header_11"];
    let text = client.text("find_code", json!({ "queries": queries, "token_limit": 1500 }));
    for query in queries {
        assert!(text.contains(&format!("# {query}\n")), "{text}");
    }
    assert_eq!(text.matches("line.len() * 7\n").count(), 1, "{text}");
    assert!(text.contains("line.len() * 11\n") && tokens::count(&text) <= 1500, "{text}");
    let both = client.ask(
        "find_code",
        json!({ "query": "parse_header_7", "queries": "parse_header_11", "token_limit": 4000 }),
    );
    assert_eq!(both["answers"][0]["matches"][0]["file"]["path"], "src/header_7.rs");
    assert_eq!(both["answers"][1]["matches"][0]["file"]["path"], "src/header_11.rs");
    assert!(client.refused("find_code", json!({ "queries": [] })).contains("`query` or `queries`"));
}

#[test]
fn a_mistake_in_one_of_several_queries_does_not_cost_the_other_answers() {
    let repo = many_files();
    let mut client = McpClient::start(&repo);
    let queries = ["parse_header_7 rev:no-such-branch", "parse_header_11"];
    let text = client.text("find_code", json!({ "queries": queries }));
    assert!(text.contains("error: ") && text.contains("no-such-branch"), "{text}");
    assert!(text.contains("line.len() * 11\n"), "{text}");
    let answer = client.ask("find_code", json!({ "queries": queries }));
    assert_eq!(answer["status"], "degraded", "{answer:#}");
    assert_eq!(answer["answers"][0]["status"], "not_found", "{answer:#}");
    assert_eq!(answer["answers"][1]["matches"][0]["file"]["path"], "src/header_11.rs", "{answer:#}");
    // A call of which nothing can be answered is refused as one query is.
    let none = client.call_plainly("find_code", json!({ "queries": [queries[0], "rev:nor-this x"] }));
    let said = none["content"][0]["text"].as_str().unwrap();
    assert!(none["isError"] == true && said.contains("no-such-branch"), "{said}");
}

#[test]
fn the_best_functions_of_a_file_reach_the_text() {
    let repo = TestRepo::init();
    let filler: String = (0..120).map(|i| format!("    let step_{i} = {i};\n")).collect();
    let function =
        |name: &str| format!("/// Refreshes the expired session token.\nfn {name}() {{\n{filler}}}\n\n");
    repo.write("src/token.rs", function("refresh_expired_token") + &function("refresh_session_token"));
    repo.commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": "refresh the expired session token" }));
    assert!(text.contains("refresh_expired_token") && text.contains("refresh_session_token"), "{text}");
    assert!(text.contains("  also "), "{text}");
    assert!(text.contains("more lines\n"), "long code is cut: {text}");
}

#[test]
fn only_what_is_unusual_is_said() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_code", json!({ "query": "parse_header" }));
    assert!(!text.contains("fresh") && !text.contains("committed"), "{text}");
    repo.write("src/new.rs", "pub fn parse_footer() {}\n");
    let text = client.text("find_code", json!({ "query": "parse_footer" }));
    assert!(text.contains("src/new.rs:1-1 function parse_footer, untracked"), "{text}");
    assert!(text.lines().next().unwrap().contains("1 uncommitted"), "{text}");
    let outline = client.text("file_outline", json!({ "file": "src/parse.rs" }));
    assert!(outline.starts_with("src/parse.rs: 1 definition\n"), "{outline}");
    repo.symlink("src/linked.rs", "parse.rs");
    let read = client.text("read_code", json!({ "file": "src/linked.rs", "end_line": 1 }));
    assert!(
        read.starts_with("src/parse.rs:1-1 ") && read.contains("src/linked.rs is a symbolic link"),
        "{read}"
    );
}

#[test]
fn filters_that_match_nothing_are_named() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let mut with = |arguments: Value| {
        let mut all = json!({ "query": "parse header" });
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        client.text("find_code", all)
    };
    // Braces, a slash before the path or after it, and an absolute path work.
    let root = repo.root().to_str().unwrap().to_owned();
    for paths in ["{lib,src}/**", "/src", "src/", "/src/*.rs", &format!("{root}/src")] {
        let text = with(json!({ "paths": paths }));
        assert!(text.contains("src/parse.rs"), "{paths}: {text}");
    }
    for paths in ["lib", "/nowhere", "src/parse.rs/", "{lib,include}/*.h"] {
        let text = with(json!({ "paths": paths }));
        let name = paths.trim_start_matches('/').trim_start_matches('{');
        let name = &name[..3];
        assert!(text.starts_with("Nothing was searched") && text.contains(name), "{paths}: {text}");
    }
    let text = with(json!({ "focus_languages": "cobol" }));
    assert!(text.contains("there is no cobol here"), "{text}");
}

#[test]
fn who_intends_to_test_gets_tests() {
    let repo = TestRepo::with_files(FILES);
    repo.write(
        "tests/test_header.py",
        "def test_header_is_split():\n    assert split_header('a: b') == ['a', 'b']\n",
    );
    repo.commit("tests");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let has_tests = |text: &str| text.contains("tests/test_header.py");
    let query = json!({ "query": "header is split", "intent": "test" });
    assert!(has_tests(&client.text("find_code", query)));
    assert!(!has_tests(&client.text("find_code", json!({ "query": "header is split" }))));
    let without = json!({ "query": "header is split", "intent": "test", "include_tests": false });
    assert!(!has_tests(&client.text("find_code", without)));
}

#[test]
fn batches_are_answered() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let call = |id: u64| {
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "file_outline", "arguments": { "file": "src/parse.rs" } } })
    };
    let note =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 99 } });
    client.send_raw(json!([call(101), note, call(102), 7]).to_string().as_bytes());
    for id in [101, 102] {
        let answer = client.response(id);
        assert!(
            answer["result"]["content"][0]["text"].as_str().unwrap().contains("parse_header"),
            "{answer:#}"
        );
    }
    let refused = client.wait_for(|message| message.get("error").is_some());
    assert_eq!(refused["error"]["code"], -32600, "{refused:#}");
}
