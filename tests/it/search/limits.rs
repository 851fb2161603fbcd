//! Limits of answers: what they cut is counted, and nothing is lost silently.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

/// A repository with twelve files about the same thing, and one function that calls all of their functions.
fn indexed() -> TestRepo {
    let repo = TestRepo::init();
    for i in 0..12 {
        let body = format!("    line.split(':').map(str::trim).nth({i}).map(str::to_owned)\n").repeat(8);
        let head =
            format!("/// Parses header {i}.\npub fn parse_header_{i}(line: &str) -> Option<String> {{\n");
        repo.write(&format!("src/header_{i}.rs"), format!("{head}{body}}}\n"));
    }
    let calls: String = (0..12).map(|i| format!("    parse_header_{i}(\"\");\n")).collect();
    repo.write("src/all.rs", format!("pub fn run_everything() {{\n{calls}}}\n"));
    repo.commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn search(repo: &TestRepo, args: &[&str]) -> Value {
    let all = [&["search", "-o", "json"], args, &["parse header"]].concat();
    repo.codeweaver(all).success().json()
}

#[test]
fn a_limit_of_matches_counts_those_beyond_it() {
    let repo = indexed();
    let found = search(&repo, &["-l", "3"]);
    let total = found["total_matches"].as_u64().unwrap();
    assert!(total >= 12, "{found:#}");
    assert_eq!((&found["status"], &found["total_results"]), (&json!("ok"), &json!(3)));
    let omitted = json!({ "by_limit": total - 3, "by_token_limit": 0, "shortened": 0 });
    assert_eq!(found["omitted"], omitted);
    let count = format!("3 of {total} matches");
    assert!(found["summary"].as_str().unwrap().starts_with(&count), "{found:#}");
    let more = format!("{} more matches beyond the limit of 3", total - 3);
    for format in ["table", "markdown"] {
        let run = repo.codeweaver(["search", "-l", "3", "-o", format, "parse header"]);
        run.success().says(&["Found 3 matches (", &more]);
    }
    let all = search(&repo, &["-l", "100", "--token-limit", "100000"]);
    assert_eq!((&all["total_matches"], &all["total_results"]), (&json!(total), &json!(total)));
    assert_eq!(all.get("omitted"), None);
}

#[test]
fn every_match_keeps_a_line_before_any_has_its_text() {
    let repo = indexed();
    let whole = search(&repo, &["-l", "10", "--token-limit", "100000"]);
    let places = |found: &Value| -> Vec<Value> {
        found["matches"].as_array().unwrap().iter().map(|m| json!([m["file"]["path"], m["span"]])).collect()
    };
    for limit in [300, 500, 900, 1500] {
        let found = search(&repo, &["-l", "10", "--token-limit", &limit.to_string()]);
        assert_eq!(places(&found), places(&whole), "{limit}");
        assert!(found["token_count"].as_u64().unwrap() <= limit, "{found:#}");
        let matches = found["matches"].as_array().unwrap();
        let n_elided = matches.iter().filter(|m| m["content"]["elided"] == true).count();
        assert_eq!(found["omitted"]["shortened"], n_elided, "{limit}: {found:#}");
        let needed = found["omitted"]["tokens_needed"].as_u64().unwrap();
        let enough = search(&repo, &["-l", "10", "--token-limit", &needed.to_string()]);
        assert_eq!((&enough["omitted"]["shortened"], &enough["matches"]), (&json!(0), &whole["matches"]));
        // They name no related symbols, so they need less.
        for format in ["table", "markdown"] {
            let run = |limit: &str| {
                repo.codeweaver(["search", "-l", "10", "--token-limit", limit, "-o", format, "parse header"])
            };
            let said = run(&limit.to_string()).success().says(&["src/header_"]).stdout();
            let needed = said.split(&format!(" shortened by the token limit ({limit}, ")).nth(1);
            let needed = needed.and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{said}"));
            assert!(!run(needed).success().stdout().contains("shortened"), "{format}: {needed} of {said}");
        }
    }
}

#[test]
fn a_limit_too_small_for_any_match_says_what_it_would_take() {
    let repo = indexed();
    let found = search(&repo, &["-l", "10", "--token-limit", "5"]);
    assert_eq!((&found["status"], &found["matches"]), (&json!("degraded"), &json!([])), "{found:#}");
    assert_eq!(found["omitted"]["by_token_limit"], 10);
    let needed = found["omitted"]["tokens_needed"].as_u64().unwrap().to_string();
    assert_eq!(search(&repo, &["-l", "10", "--token-limit", &needed])["total_results"], 1);
    for command in [&["search", "parse header"][..], &["similar", "src/header_3.rs:2"]] {
        let run = repo.codeweaver([command, &["--token-limit", "5"]].concat());
        run.success().says(&["10 matches left out by the token limit (5, ", " needed)"]);
        assert!(!run.stdout().contains("No results"), "{}", run.stdout());
    }
}

#[test]
fn a_limit_of_edges_counts_those_beyond_it() {
    let repo = indexed();
    for format in ["table", "markdown"] {
        let args = ["graph", "callees", "run_everything", "--limit", "5", "-o", format];
        let run = repo.codeweaver(args);
        run.success().says(&["Callees of run_everything: 5 of 12 edges", "7 edges more: --limit 12"]);
    }
    let all = repo.codeweaver(["graph", "callees", "run_everything", "--limit", "12"]);
    assert!(all.success().stdout().starts_with("Callees of run_everything: 12 edges"), "{}", all.stdout());
    assert!(!all.stdout().contains("more: --limit"));
}

#[test]
fn tools_count_what_the_token_limit_cuts() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let wide = "x ".repeat(3000);
    repo.write("wide.txt", format!("{wide}\nsecond\n"));
    for limit in [700, 1200, 2500] {
        let arguments = json!({ "query": "parse header", "token_limit": limit, "max_results": 50 });
        let answer = client.ask("find_code", arguments.clone());
        let (shown, total) =
            (answer["matches"].as_array().unwrap().len() as u64, answer["total_matches"].as_u64().unwrap());
        assert!(shown > 0 && total >= 12, "{answer:#}");
        assert_eq!(answer["total_results"], shown);
        let (by_limit, by_tokens) = (&answer["omitted"]["by_limit"], &answer["omitted"]["by_token_limit"]);
        assert_eq!((by_limit, by_tokens), (&json!(0), &json!(total - shown)), "{answer:#}");
        let summary = answer["summary"].as_str().unwrap();
        assert!(summary.is_empty() || summary.starts_with(&format!("{shown} of {total}")), "{summary}");
        // The text has room for more of them.
        let text = client.text("find_code", arguments);
        let in_text = text.lines().filter(|line| line.starts_with("src/")).count() as u64;
        let head = if in_text < total {
            format!("{in_text} of {total} matches")
        } else {
            format!("{total} matches")
        };
        assert!(text.starts_with(&head) && in_text >= shown, "{text}");
        for form in [text, answer.to_string()] {
            assert!(tokens::count(&form) <= limit, "{limit}: {}", tokens::count(&form));
        }
    }
    let tiny = client.call("find_code", json!({ "query": "parse header", "token_limit": 30 }));
    let needed = tiny["structuredContent"]["omitted"]["tokens_needed"].as_u64().unwrap();
    assert!(tiny["content"][0]["text"].as_str().unwrap().contains(&format!("{needed} would do")), "{tiny:#}");
    let text = client.text("find_code", json!({ "query": "parse header", "token_limit": 20 }));
    assert!(text.contains("no room for any match"), "{text}");
    let more = client.ask("find_code", json!({ "query": "parse header", "token_limit": needed }));
    assert_eq!(more["total_results"], 1, "{more:#}");

    for (tool, argument, item) in
        [("file_outline", "src/header_1.rs", "definition"), ("read_file", "wide.txt", "line")]
    {
        let small = client.call(tool, json!({ "file": argument, "token_limit": 10 }));
        let answer = &small["structuredContent"];
        let warning = answer["warnings"][0].as_str().unwrap_or_else(|| panic!("{answer:#}"));
        assert!(warning.contains(item) && warning.contains("token_limit"), "{warning}");
        assert!(small["content"][0]["text"].as_str().unwrap().contains(warning));
        assert_eq!(answer.get("next_cursor"), None, "nothing is skipped: {answer:#}");
    }
    // A line that is too long is cut, and the next answer begins with the next line.
    let long = client.ask("read_file", json!({ "file": "wide.txt", "token_limit": 300 }));
    assert!(long["warnings"][0].as_str().unwrap().contains("line 1"), "{long:#}");
    let cursor = &long["next_cursor"];
    let rest = client.ask("read_file", json!({ "file": "wide.txt", "token_limit": 300, "cursor": cursor }));
    assert_eq!((&rest["text"], rest.get("warnings")), (&json!("second\n"), None), "{rest:#}");

    let two = client
        .call("call_graph", json!({ "symbol": "run_everything", "direction": "callees", "token_limit": 30 }));
    let warnings = two["structuredContent"]["warnings"].to_string();
    assert!(warnings.contains("0 of 12 edges fit into 30 tokens; raise token_limit to "), "{warnings}");
}
