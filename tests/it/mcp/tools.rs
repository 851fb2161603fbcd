//! Results of the tools: parameters, limits, cursors, locations, provenance.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A repository with many functions about the same thing.
fn large() -> TestRepo {
    let repo = TestRepo::init();
    for i in 0..60 {
        let body: String = (0..4)
            .map(|j| format!("/// Parses the header of kind {i}.{j} into its parts.\npub fn parse_header_{i}_{j}(line: &str) -> Vec<String> {{\n    line.split(':').map(str::trim).map(str::to_owned).collect()\n}}\n\n"))
            .collect();
        repo.write(&format!("src/header_{i}.rs"), body);
    }
    repo.commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn tokens_of(result: &Value) -> (u32, u32) {
    let text = result["content"][0]["text"].as_str().unwrap();
    (tokens::count(text), tokens::count(&result["structuredContent"].to_string()))
}

#[test]
fn find_code_returns_all_documented_fields() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_code", json!({ "query": "retry with backoff", "intent": "understand" }));
    for field in [
        "status",
        "matches",
        "summary",
        "query_intent",
        "candidates",
        "total_matches",
        "total_results",
        "token_count",
        "execution_time_ms",
        "search_strategy",
        "languages_found",
        "warnings",
        "index",
        "codebaseRoot",
    ] {
        assert!(answer.get(field).is_some(), "{field} is missing: {answer:#}");
    }
    assert_eq!(answer["query_intent"]["type"], "understand");
    let found = &answer["matches"][0];
    for field in [
        "file",
        "content",
        "span",
        "relevance_score",
        "match_type",
        "related_symbols",
        "blob",
        "rev",
        "state",
        "more_in_file",
    ] {
        assert!(found.get(field).is_some(), "{field} is missing: {found:#}");
    }
    assert_eq!(found["blob"].as_str().unwrap(), repo.git_text(["rev-parse", "HEAD:src/retry.py"]).trim());
    assert_eq!(answer["index"]["commit"].as_str().unwrap(), repo.git_text(["rev-parse", "HEAD"]).trim());
    assert_eq!(
        (&answer["index"]["freshness"], &answer["index"]["dirty_files"]),
        (&json!("fresh"), &json!(0))
    );

    // The other name, filters, unknown intents.
    let same =
        client.ask("search_codebase", json!({ "query": "retry with backoff", "intent": "understand" }));
    assert_eq!(same["matches"], answer["matches"]);
    assert_eq!(client.found(json!({ "query": "header", "focus_languages": ["markdown"] })), ["README.md"]);
    assert_eq!(client.found(json!({ "query": "header", "paths": ["src/*.rs"] })), ["src/parse.rs"]);
    // Paths are relative to the root, or absolute and inside it.
    let absolute = repo.path("src/*.rs");
    assert_eq!(client.found(json!({ "query": "header", "paths": [absolute] })), ["src/parse.rs"]);
    assert!(
        client.refused("find_code", json!({ "query": "header", "paths": ["/etc"] })).starts_with("`paths`")
    );
    let nowhere = client.ask("find_code", json!({ "query": "header", "paths": ["nowhere"] }));
    assert_eq!(nowhere["summary"], "Nothing was searched: no indexed file matches the path 'nowhere'");
    let without_tests = client.found(json!({ "query": "parse_header" }));
    assert!(!without_tests.contains(&"tests/parse_test.rs".to_owned()));
    let with_tests = client.found(json!({ "query": "parse_header", "include_tests": true }));
    assert!(with_tests.contains(&"tests/parse_test.rs".to_owned()));
    assert_eq!(client.ask("find_code", json!({ "query": "header", "intent": "ponder" }))["status"], "ok");
    for (task, intent) in [("DEBUG", "debug"), ("LOCAL_EDIT", "implement"), ("REVIEW", "review")] {
        let answer = client.ask("find_code", json!({ "query": "header", "task": task }));
        assert_eq!((&answer["status"], &answer["query_intent"]["type"]), (&json!("ok"), &json!(intent)));
    }
    let nothing = client.ask("find_code", json!({ "query": "zzqx", "focus_languages": ["cobol"] }));
    assert_eq!((&nothing["matches"], &nothing["total_results"]), (&json!([]), &json!(0)));
    assert!(nothing["summary"].as_str().unwrap().starts_with("No matches found for query"), "{nothing:#}");
}

#[test]
fn token_limits_are_hard_and_a_cursor_goes_on() {
    let repo = large();
    let mut client = McpClient::start(&repo);
    for limit in [450, 600, 1500, 4000] {
        let result = client.call("find_code", json!({ "query": "parse header", "token_limit": limit }));
        let (text, structured) = tokens_of(&result);
        assert!(text <= limit && structured <= limit, "{limit}: {text} and {structured} tokens");
    }
    let whole =
        client.found(json!({ "query": "parse header", "max_results": 1000, "token_limit": 1_000_000 }));
    assert!(whole.len() > 30, "{}", whole.len());
    let (mut pages, mut cursor) = (Vec::new(), Value::Null);
    let mut n_pages = 0;
    loop {
        let mut arguments = json!({ "query": "parse header", "token_limit": 2000 });
        if cursor.is_string() {
            arguments["cursor"] = cursor.clone();
        }
        let result = client.call("find_code", arguments);
        let (text, structured) = tokens_of(&result);
        assert!(text <= 2000 && structured <= 2000, "{text} and {structured} tokens");
        let answer = &result["structuredContent"];
        let paths = answer["matches"].as_array().unwrap().iter();
        pages.extend(paths.map(|found| found["file"]["path"].as_str().unwrap().to_owned()));
        n_pages += 1;
        match answer.get("next_cursor") {
            Some(next) => {
                let said = result["content"][0]["text"].as_str().unwrap();
                assert!(said.contains(next.as_str().unwrap()), "the text says how to go on");
                cursor = next.clone();
            }
            None => break,
        }
    }
    assert_eq!(pages, whole, "page by page the same as at once");
    assert!(n_pages > 3);
    // A cursor belongs to its query.
    let other = json!({ "query": "another query", "cursor": cursor });
    assert!(client.refused("find_code", other).starts_with("`cursor`"));
    // Locations only: more of them for the same tokens.
    let places = client
        .ask("find_code", json!({ "query": "parse header", "token_limit": 2000, "locations_only": true }));
    let with_code = client.ask("find_code", json!({ "query": "parse header", "token_limit": 2000 }));
    assert!(places["total_results"].as_u64() > with_code["total_results"].as_u64());
    assert!(places["matches"].as_array().unwrap().iter().all(|found| found["content"]["text"] == ""));
    // A limit too small for any match is reported with a way to go on.
    let tiny = client.ask("find_code", json!({ "query": "parse header", "token_limit": 1 }));
    assert_eq!((&tiny["status"], &tiny["matches"]), (&json!("degraded"), &json!([])));
    assert!(tiny["warnings"].to_string().contains("token limit"), "{tiny:#}");
}

#[test]
fn find_similar_and_file_outline_answer_with_their_proof() {
    let repo = large();
    let mut client = McpClient::start(&repo);
    let similar = client.ask(
        "find_similar",
        json!({ "file": "src/header_3.rs", "line": 2, "max_results": 5, "token_limit": 10_000 }),
    );
    assert_eq!(similar["total_results"], 5);
    assert!(similar["matches"][0]["relevance_score"].as_f64().unwrap() > 0.8, "{similar:#}");
    let next = client.ask(
        "find_similar",
        json!({
            "file": "src/header_3.rs", "line": 2, "max_results": 5, "token_limit": 10_000, "cursor": similar["next_cursor"],
        }),
    );
    assert_ne!(next["matches"][0]["file"], similar["matches"][0]["file"]);

    let path = repo.path("src/header_3.rs");
    let outline = client.ask("file_outline", json!({ "file": path.to_str().unwrap() }));
    assert_eq!((&outline["path"], &outline["total_symbols"]), (&json!("src/header_3.rs"), &json!(4)));
    assert_eq!(outline["symbols"][0]["name"], "parse_header_3_0");
    assert!(outline["symbols"][0]["signature"].as_str().unwrap().starts_with("pub fn parse_header_3_0"));
    assert_eq!(outline["index"]["freshness"], "fresh");
    assert_eq!(
        outline["blob"].as_str().unwrap(),
        repo.git_text(["rev-parse", "HEAD:src/header_3.rs"]).trim()
    );

    // Page by page. One token less than the whole takes needs a second page, however long the path of the
    // repository is.
    let (text, structured) = tokens_of(&client.call("file_outline", json!({ "file": "src/header_3.rs" })));
    let limit = text.max(structured) - 1;
    let mut names = Vec::new();
    let mut n_pages = 0;
    let mut cursor = Value::Null;
    loop {
        let mut arguments = json!({ "file": "src/header_3.rs", "token_limit": limit });
        if cursor.is_string() {
            arguments["cursor"] = cursor.clone();
        }
        let result = client.call("file_outline", arguments);
        let (text, structured) = tokens_of(&result);
        assert!(text <= limit && structured <= limit, "{text} and {structured} tokens");
        let answer = result["structuredContent"].clone();
        n_pages += 1;
        names.extend(answer["symbols"].as_array().unwrap().iter().map(|symbol| symbol["name"].clone()));
        match answer.get("next_cursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    assert_eq!(names, (0..4).map(|j| json!(format!("parse_header_3_{j}"))).collect::<Vec<_>>());
    assert!(n_pages > 1);

    repo.write("notes.txt", "just words\n").commit("words");
    let words = client.call("file_outline", json!({ "file": "notes.txt" }));
    assert_eq!(
        (&words["isError"], &words["structuredContent"]["status"]),
        (&json!(true), &json!("unsupported"))
    );
}

#[test]
fn read_file_is_bounded_and_reads_on() {
    let repo = indexed();
    let long: String = (1..=3000).map(|i| format!("line {i} of a long file\n")).collect();
    repo.write("long.txt", &long)
        .write("wide.txt", "x ".repeat(100_000))
        .write("binary.bin", b"a\0b")
        .commit("long");
    let mut client = McpClient::start(&repo);
    let (mut text, mut cursor, mut n_pages) = (String::new(), Value::Null, 0);
    loop {
        let mut arguments = json!({ "file": "long.txt", "token_limit": 3000 });
        if cursor.is_string() {
            arguments["cursor"] = cursor.clone();
        }
        let result = client.call("read_file", arguments);
        let (said, structured) = tokens_of(&result);
        assert!(said <= 3000 && structured <= 3000, "{said} and {structured} tokens");
        let answer = result["structuredContent"].clone();
        text.push_str(answer["text"].as_str().unwrap());
        n_pages += 1;
        match answer.get("next_cursor") {
            Some(next) => cursor = next.clone(),
            None => break,
        }
    }
    assert_eq!(text, long, "page by page the whole file");
    assert!(n_pages > 3);
    let some = client.ask("read_file", json!({ "file": "long.txt", "start_line": 10, "end_line": 11 }));
    assert_eq!(
        (&some["text"], &some["span"]),
        (&json!("line 10 of a long file\nline 11 of a long file\n"), &json!([10, 11]))
    );
    assert_eq!(
        (&some["truncated"], &some["total_lines"], &some["state"]),
        (&json!(false), &json!(3000), &json!("committed"))
    );
    // A line larger than any limit is cut, and the answer says so.
    let wide = client.call("read_file", json!({ "file": "wide.txt", "token_limit": 500 }));
    assert!(tokens_of(&wide).1 <= 500 && wide["structuredContent"]["truncated"] == true);
    assert!(wide["structuredContent"]["text"].as_str().unwrap().starts_with("x x"));
    let binary = client.call("read_file", json!({ "file": "binary.bin" }));
    assert_eq!(
        (&binary["isError"], &binary["structuredContent"]["status"]),
        (&json!(true), &json!("unsupported"))
    );
    // Another revision.
    repo.write("long.txt", "short now\n").commit("short");
    assert_eq!(client.ask("read_file", json!({ "file": "long.txt" }))["text"], "short now\n");
    let old = client.ask("read_file", json!({ "file": "long.txt", "rev": "HEAD~1", "end_line": 1 }));
    assert_eq!((&old["text"], &old["rev"]), (&json!("line 1 of a long file\n"), &json!("HEAD~1")));
}

#[test]
fn manage_index_goes_through_the_life_of_an_index() {
    let repo = TestRepo::with_files(FILES);
    let mut client = McpClient::start(&repo);
    let status = client.ask("manage_index", json!({ "action": "status" }));
    assert_eq!((&status["index"]["state"], &status["index"]["chunks"]), (&json!("not_indexed"), &json!(0)));
    let created = client.ask("manage_index", json!({ "action": "create" }));
    assert_eq!((&created["index"]["state"], &created["index"]["files"]), (&json!("indexed"), &json!(4)));
    assert_eq!(created["index"]["freshness"], "fresh");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "", "git does not see the index");
    let again = client.ask("manage_index", json!({ "action": "create" }));
    assert!(again["message"].as_str().unwrap().contains("already"), "{again:#}");
    let run = |client: &mut McpClient| {
        let uri = format!("codeweaver://status{}", repo.root().to_str().unwrap());
        let read = client.request("resources/read", json!({ "uri": uri }));
        let report: Value =
            serde_json::from_str(read["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
        report["last_run"]["embedded_chunks"].as_u64().unwrap()
    };
    client.ask("manage_index", json!({ "action": "create", "force": true }));
    assert!(run(&mut client) > 0, "built anew");
    repo.write("src/new.rs", "pub fn brand_new() {}\n").commit("second");
    let status = client.ask("manage_index", json!({ "action": "status" }));
    assert_eq!(status["index"]["freshness"], "stale");
    let synced = client.ask("manage_index", json!({ "action": "sync" }));
    assert_eq!((&synced["index"]["freshness"], &synced["index"]["files"]), (&json!("fresh"), &json!(5)));
    assert_eq!(run(&mut client), 1, "only what is new");
    client.ask("manage_index", json!({ "action": "reindex" }));
    assert!(run(&mut client) > 1);

    let cleared = client.ask("manage_index", json!({ "action": "clear" }));
    assert_eq!(cleared["index"]["state"], "not_indexed");
    assert_eq!(client.ask("manage_index", json!({ "action": "clear" }))["message"], "there was no index");
    let gated = client.call("find_code", json!({ "query": "header" }));
    assert_eq!(gated["structuredContent"]["reason"], "not_indexed", "nothing builds it again by itself");
    assert_eq!(
        client.call("manage_index", json!({ "action": "sync" }))["structuredContent"]["reason"],
        "not_indexed"
    );
    client.ask("manage_index", json!({ "action": "create" }));
    assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
}

#[test]
fn clearing_one_worktree_leaves_the_other_its_index() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = repo.at("../linked");
    let path = linked.root().to_str().unwrap();
    let mut client = McpClient::start(&repo);
    client.ask("manage_index", json!({ "action": "create", "path": path }));
    client.ask("manage_index", json!({ "action": "clear", "path": path }));
    assert_eq!(
        client.call("find_code", json!({ "query": "x", "path": path }))["structuredContent"]["reason"],
        "not_indexed"
    );
    assert_eq!(client.found(json!({ "query": "parse_header" }))[0], "src/parse.rs");
    client.ask("manage_index", json!({ "action": "create", "path": path }));
    assert_eq!(client.found(json!({ "query": "parse_header", "path": path }))[0], "src/parse.rs");
}

#[test]
fn a_failed_run_reports_the_reason() {
    let repo = TestRepo::with_files(FILES);
    // Tracked by git, so it could come from any author.
    repo.write(".codeweaver/nonce", "crafted\n");
    repo.git(["add", "-f", "."]).git(["commit", "-q", "-m", "hostile"]);
    let mut client = McpClient::start(&repo);
    let failed = client.call("manage_index", json!({ "action": "create" }));
    assert_eq!(failed["isError"], true, "{failed:#}");
    assert_eq!(failed["structuredContent"]["status"], "failed");
    assert!(failed["content"][0]["text"].as_str().unwrap().contains(".codeweaver"), "{failed:#}");
    let refused = client.call("find_code", json!({ "query": "header" }));
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["status"]),
        (&json!(true), &json!("failed"))
    );
}

#[test]
fn hidden_folders_are_searched_and_outlined_like_others() {
    let repo = TestRepo::with_files(FILES);
    repo.write(".tools/build.py", "def assemble_everything():\n    return 1\n").commit("hidden");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    assert_eq!(client.found(json!({ "query": "assemble_everything" }))[0], ".tools/build.py");
    let outline = client.ask("file_outline", json!({ "file": ".tools/build.py" }));
    assert_eq!(outline["symbols"][0]["name"], "assemble_everything");
}

#[test]
fn a_small_limit_still_gives_the_first_place() {
    let repo = large();
    let mut client = McpClient::start(&repo);
    for (tool, arguments) in [
        ("find_code", json!({ "query": "parse header" })),
        ("find_similar", json!({ "file": "src/header_3.rs", "line": 2 })),
    ] {
        let with = |limit: u32| {
            let mut arguments = arguments.clone();
            arguments["token_limit"] = limit.into();
            arguments
        };
        let best = client.ask(tool, with(20_000))["matches"][0].clone();
        let mut least = None;
        for limit in (40..=700).step_by(5) {
            let result = client.call(tool, with(limit));
            let answer = &result["structuredContent"];
            let matches = answer["matches"].as_array().unwrap();
            let (in_text, structured) = tokens_of(&result);
            if matches.is_empty() {
                assert!(answer["warnings"].to_string().contains("token limit"), "{limit}: {answer:#}");
                assert!(least.is_none(), "{limit}: what fits into {least:?} tokens fits into more");
                continue;
            }
            assert!(in_text <= limit && structured <= limit, "{in_text} and {structured} of {limit} tokens");
            let place = |found: &Value| (found["file"].clone(), found["focus"]["start_line"].clone());
            assert_eq!(place(&matches[0]), place(&best));
            assert!(answer["next_cursor"].is_string(), "{answer:#}");
            if least.is_none() {
                // Only the location.
                assert_eq!(matches[0]["content"]["text"], "", "{answer:#}");
                least = Some(limit);
            }
        }
        // The answer names the root of the codebase, whose length is that of the temporary directory.
        let root = tokens::count(&repo.root().to_string_lossy());
        eprintln!("{tool}: a place from {least:?} tokens on, {root} of them for the root");
        assert!(least.is_some_and(|least| least <= 560 + root), "{tool}: {least:?}");
    }
}

#[test]
fn a_file_is_read_by_the_places_that_other_answers_name() {
    let repo = large();
    repo.write("notes:2", "first\nsecond\nthird\n").commit("a name like a place");
    let mut client = McpClient::start(&repo);
    let whole = client.ask("read_code", json!({ "file": "src/header_3.rs", "start_line": 2, "end_line": 3 }));
    let place = client.ask("read_code", json!({ "file": "src/header_3.rs:2-3" }));
    assert_eq!((&place["text"], &place["span"]), (&whole["text"], &json!([2, 3])));
    assert_eq!(client.ask("read_code", json!({ "file": "src/header_3.rs:2" }))["span"], json!([2, 2]));
    assert_eq!(client.ask("read_code", json!({ "file": "notes:2" }))["span"], json!([1, 3]));
}

#[test]
fn several_places_are_read_in_one_call_with_their_line_numbers() {
    let long: String = (1..=400).map(|i| format!("pub fn step_{i}() {{}}\n")).collect();
    let repo = TestRepo::with_files(&[
        (
            "src/a.rs",
            "struct Cart;\n\nimpl Cart {\n    fn total(&self) -> u32 {\n        let sum = 1;\n        sum\n    }\n}\n",
        ),
        ("src/b.rs", "fn first() {}\n\nfn second() {}\n\n\n\n\n\n\n\nfn last() {}\n"),
        ("src/long.rs", &long),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);

    let places = ["src/a.rs:5-6", "src/b.rs:1", "src/b.rs:3", "last", "src/none.rs:2", "Cart.total"];
    let text = client.text("read_code", json!({ "places": places }));
    let expected = "src/a.rs:4-7 of 8 lines, in impl Cart\n4\t    fn total(&self) -> u32 {\n5\t        let sum = 1;\n\
        6\t        sum\n7\t    }\n\
        src/b.rs:1-3 of 11 lines\n1\tfn first() {}\n2\t\n3\tfn second() {}\n\
        src/b.rs:11-11 of 11 lines\n11\tfn last() {}\n\
        src/none.rs:2: ";
    assert!(text.starts_with(expected), "{text}");

    // A long file is its outline; the limit is kept, and what is left out is named.
    let text = client.text("read_code", json!({ "places": ["src/long.rs"], "token_limit": 600 }));
    assert!(text.starts_with("src/long.rs: ") && text.contains("\n7 function pub fn step_7()\n"), "{text}");
    assert!(tokens::count(&text) <= 600 && text.contains(" more definitions\n"), "{text}");
    let text = client
        .text("read_code", json!({ "places": ["src/long.rs:1-300", "src/b.rs:1"], "token_limit": 600 }));
    assert!(
        text.contains("\n1\tpub fn step_1() {}\n") && text.contains("… left out: src/long.rs:"),
        "{text}"
    );
    assert!(text.contains("-300\n") && text.contains("\n1\tfn first() {}\n"), "{text}");
    assert!(tokens::count(&text) <= 600, "{text}");

    // The limit is that of the form that is sent.
    let places_of_long = ["src/long.rs", "src/long.rs:1-300", "src/b.rs:1"];
    let result = client
        .call("read_code", json!({ "places": &places_of_long[1..], "token_limit": 900, "format": "json" }));
    let cut = &result["structuredContent"]["places"][0];
    assert!(tokens_of(&result).1 <= 900, "{result:#}");
    let last = cut["span"][1].as_u64().unwrap();
    assert_eq!((&cut["left_out"], last > 1 && last < 300), (&json!([last + 1, 300]), true), "{cut:#}");
    assert_eq!(cut["text"].as_str().unwrap().lines().count() as u64, last, "{cut:#}");
    let result =
        client.call("read_code", json!({ "places": places_of_long, "token_limit": 900, "format": "json" }));
    assert!(tokens_of(&result).1 <= 900, "{result:#}");

    let answer = client.ask("read_code", json!({ "places": places }));
    assert_eq!(answer["places"][0]["span"], json!([4, 7]), "{answer:#}");
    assert_eq!(answer["places"][3]["status"], "not_found", "{answer:#}");
    for (arguments, said) in [
        (json!({}), "the argument `places`"),
        (json!({ "places": [] }), "the argument `places`"),
        (json!({ "places": ["src/a.rs"], "start_line": 2 }), "not `places`"),
    ] {
        let refused = client.refused("read_code", arguments);
        assert!(refused.contains(said), "{refused}");
    }
    let none = client.call_plainly("read_code", json!({ "places": ["src/none.rs"] }));
    let said = none["content"][0]["text"].as_str().unwrap();
    assert!(
        none["isError"] == true && said.starts_with("not_found: ") && said.contains("src/none.rs"),
        "{said}"
    );
}

/// By default an answer has 8 matches in 2,000 tokens. The setting asks for more matches and more code, as a
/// larger limit of a call does: 50 matches, of which the best six have code, in 10,000 tokens.
#[test]
fn the_setting_of_the_token_limit_asks_for_more_matches() {
    let repo = large();
    let mut client = McpClient::start(&repo);
    let places = |client: &mut McpClient| {
        let text = client.text("find_code", json!({ "query": "parse header", "locations_only": true }));
        text.lines().filter(|line| line.starts_with("src/header_")).count()
    };
    assert_eq!(places(&mut client), 8);

    let generous = repo.env("CODEWEAVER_MCP_TOKEN_LIMIT", "10000");
    let mut client = McpClient::start(&generous);
    let n = places(&mut client);
    assert!((30..=50).contains(&n), "{n}");
    let text = client.text("find_code", json!({ "query": "parse header" }));
    assert!(text.lines().next().unwrap().contains(" matches, 6 with code"), "{text}");
    assert!(tokens::count(&text) <= 10_000, "{text}");
}

#[test]
fn a_question_about_a_flow_shows_the_short_functions_that_make_it_up() {
    let repo = TestRepo::with_files(&[
        (
            "src/sign.py",
            "def sign_request(request, key):\n    \"\"\"Signs a request.\"\"\"\n    digest = hash_request(request)\n    \
             return attach_signature(request, digest, key)\n",
        ),
        (
            "src/digest.py",
            "def hash_request(request):\n    \"\"\"Computes the digest of a request that is signed.\"\"\"\n    \
             return request.body\n",
        ),
        (
            "src/attach.py",
            "def attach_signature(request, digest, key):\n    \"\"\"Attaches the signature to a request.\"\"\"\n    \
             request.headers[\"signature\"] = digest + key\n    return request\n",
        ),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let n_codes = |text: &str| text.lines().filter(|line| line.starts_with("1\tdef ")).count();
    let flow = client.text("find_code", json!({ "query": "how does a request get its signature" }));
    assert!((2..=4).contains(&n_codes(&flow)), "{flow}");
    let place = client.text("find_code", json!({ "query": "where does a request get its signature" }));
    assert_eq!(n_codes(&place), 1, "{place}");
    let only = json!({ "query": "how does a request get its signature", "locations_only": true });
    assert_eq!(n_codes(&client.text("find_code", only)), 0);
}
