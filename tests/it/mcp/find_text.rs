//! `find_text`: complete lines, compact form, pages, limits, errors.

use std::ops::RangeInclusive;

use serde_json::json;

use codeweaver_chunk::tokens;
use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

fn repository() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/page.py", "def fetch_page(n):\n    url = base + str(n)\n    return get(url)\n")
        .write(
            "deep/er/use.py",
            "import page\n\nclass Job:\n    def run(self):\n        x = page.fetch_page(1)\n",
        )
        .write("package-lock.json", "{ \"fetch_page\": 1 }\n")
        .write("image.bin", b"\x00fetch_page")
        .commit("pages");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("new.py", "fetch_page(2)\n");
    repo
}

#[test]
fn lines_are_grouped_by_file_with_the_definition_first() {
    let repo = repository();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_text", json!({ "pattern": "fetch_page" }));
    let expected = "5 matches in 5 files\nsrc/page.py\n1: def fetch_page(n):  [1-3]\nnew.py, untracked\n\
                    1: fetch_page(2)\ndeep/er/use.py\n5: x = page.fetch_page(1)  [run 4-5]\n\
                    image.bin, binary\npackage-lock.json\n1: { \"fetch_page\": 1 }\n";
    assert_eq!(text, expected);
    let text =
        client.text("find_text", json!({ "pattern": r"fetch_\w+\(\d", "regex": true, "output": "count" }));
    assert_eq!(text, "2 matches in 2 files\nnew.py:1, untracked\ndeep/er/use.py:1\n");
    let text = client
        .text("find_text", json!({ "pattern": "str(N)", "ignore_case": true, "context": 1, "paths": "src" }));
    let expected = "1 match in 1 file\nsrc/page.py\n1- def fetch_page(n):\n2:     url = base + str(n)\n\
                    3-     return get(url)\n";
    assert_eq!(text, expected);
    let text = client.text("find_text", json!({ "pattern": "fetch", "word": true, "ignore_case": false }));
    assert!(text.starts_with("no line matches (searched "), "{text}");
    let text = client.text("find_text", json!({ "pattern": "fetch_page", "rev": "HEAD~1" }));
    assert!(text.starts_with("no line matches (searched "), "{text}");
}

#[test]
fn the_lines_of_a_function_are_given_once() {
    let repo = TestRepo::with_files(&[(
        "src/job.py",
        "class Job:\n    def run(self):\n        self.tick = 1\n        self.tick = 2\n\n\
         \x20   def stop(self):\n        self.tick = 0\n",
    )]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_text", json!({ "pattern": "self.tick" }));
    let expected = "3 matches in 1 file\nsrc/job.py\n3: self.tick = 1  [run 2-4]\n4: self.tick = 2\n\
                    7: self.tick = 0  [stop 6-7]\n";
    assert_eq!(text, expected);
    let json = client.ask("find_text", json!({ "pattern": "self.tick = 0" }));
    let line = &json["files"][0]["lines"][0];
    assert_eq!((&line["symbol"], &line["symbol_span"]), (&json!("Job.stop"), &json!([6, 7])), "{json:#}");
}

#[test]
fn a_pattern_is_read_as_what_finds_something() {
    let repo = repository();
    let mut client = McpClient::start(&repo);
    let mut head = |pattern: &str| -> String {
        let text = client.text("find_text", json!({ "pattern": pattern, "paths": "src" }));
        text.lines().next().unwrap().to_owned()
    };
    assert_eq!(head("str(n)"), "1 match in 1 file");
    assert_eq!(head(r"fetch_\w+"), "1 match in 1 file, as regex");
    assert_eq!(head("fetch.page"), "1 match in 1 file, as regex");
    assert_eq!(head("FETCH_page("), "1 match in 1 file, in any case");
    assert!(head("a || b").starts_with("no line matches"));
}

#[test]
fn of_several_files_each_shows_some_lines() {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/many.py", "wanted = 1\n".repeat(45)).write("src/one.py", "wanted = 2\n").commit("many");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_text", json!({ "pattern": "wanted" }));
    assert!(text.starts_with("46 matches in 2 files; showing 9\n"), "{text}");
    let rest = numbers(9..=45);
    let expected = format!("8: wanted = 1\n… 37 more: {rest}\nsrc/one.py\n1: wanted = 2\n");
    assert!(text.contains(&expected), "{text}");
    // Who asks for as many as there are gets all of them.
    let text = client.text("find_text", json!({ "pattern": "wanted", "max_results": 46 }));
    assert!(text.starts_with("46 matches in 2 files\n") && text.contains("\n45: wanted"), "{text}");
    let text = client.text("find_text", json!({ "pattern": "wanted", "paths": "src/many.py" }));
    assert!(text.starts_with("45 matches in 1 file\n") && text.contains("45: wanted"), "{text}");
    // Few enough to show them all.
    repo.write("src/few.py", "needed = 1\n".repeat(30)).write("src/one.py", "needed = 2\n").commit("few");
    let text = client.text("find_text", json!({ "pattern": "needed", "paths": ["*.py", "*.none"] }));
    assert!(text.starts_with("31 matches in 2 files\nsrc/"), "{text}");
}

/// The numbers of lines, as an answer lists them.
fn numbers(lines: RangeInclusive<u32>) -> String {
    lines.map(|line| line.to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn lines_that_are_not_shown_are_numbered_by_the_function_around_them() {
    let function = |name: &str| format!("def {name}():\n{}", "    hit()\n".repeat(20));
    let repo = TestRepo::with_files(FILES);
    repo.write("src/a.py", ["first", "second", "third"].map(function).concat()).write("src/b.py", "hit()\n");
    repo.commit("hits");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);

    let text = client.text("find_text", json!({ "pattern": "hit()" }));
    let expected = format!(
        "61 matches in 2 files; showing 9\nsrc/a.py\n2: hit()  [first 1-21]\n{}… 52 more: {} [first 1-21]; {} \
         [second 22-42]; {} [third 43-63]; all with this file alone in `paths`\nsrc/b.py\n1: hit()\n",
        (3..=9).map(|line| format!("{line}: hit()\n")).collect::<String>(),
        numbers(10..=21),
        numbers(23..=42),
        numbers(44..=51),
    );
    assert_eq!(text, expected);
    let answer = client.ask("find_text", json!({ "pattern": "hit()", "token_limit": 4000 }));
    let file = &answer["files"][0];
    assert_eq!((&file["count"], &file["n_further"]), (&json!(60), &json!(52)), "{answer:#}");
    let first =
        json!({ "symbol": "first", "symbol_span": [1, 21], "lines": (10..=21).collect::<Vec<u32>>() });
    assert_eq!(file["further"][0], first, "{answer:#}");

    // The numbers never keep a page from going on.
    let mut arguments = json!({ "pattern": "hit()", "token_limit": 80 });
    let (mut n_lines, mut n_rests, mut n_pages) = (0, 0, 0);
    loop {
        let text = client.text("find_text", arguments.clone());
        assert!(tokens::count(&text) <= 80, "{text}");
        n_pages += 1;
        n_lines += text.lines().filter(|line| line.contains(": hit()")).count();
        n_rests += text.matches("… 52 more: 10 [first 1-21]; all with this file alone").count();
        let Some((_, rest)) = text.split_once("more: cursor \"") else { break };
        arguments["cursor"] = json!(rest.trim_end().trim_end_matches('"'));
    }
    assert_eq!((n_lines, n_rests, n_pages > 1), (9, 1, true));

    let (mut arguments, mut n_lines) = (json!({ "pattern": "hit()", "paths": "src/a.py" }), 0);
    loop {
        let text = client.text("find_text", arguments.clone());
        n_lines += text.lines().filter(|line| line.contains(": hit()")).count();
        let Some((_, rest)) = text.split_once("more: cursor \"") else { break };
        arguments["cursor"] = json!(rest.trim_end().trim_end_matches('"'));
    }
    assert_eq!(n_lines, 60);
}

#[test]
fn pages_have_every_line_once_and_keep_the_limit() {
    let repo = TestRepo::with_files(FILES);
    for file in 0..9 {
        let lines: String = (0..7).map(|line| format!("value {file}.{line} = wanted_word\n\n")).collect();
        repo.write(&format!("data/{file}.txt"), lines);
    }
    repo.commit("many");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let mut arguments = json!({ "pattern": "wanted_word", "token_limit": 150 });
    let (mut seen, mut n_pages) = (Vec::new(), 0);
    loop {
        let text = client.text("find_text", arguments.clone());
        assert!(tokens::count(&text) <= 150, "{text}");
        assert!(text.starts_with("63 matches in 9 files; showing "), "{text}");
        seen.extend(text.lines().filter(|line| line.contains(": value")).map(|line| line.to_owned()));
        n_pages += 1;
        let Some((_, rest)) = text.split_once("more: cursor \"") else { break };
        arguments["cursor"] = json!(rest.trim_end().trim_end_matches('"'));
    }
    seen.sort();
    seen.dedup();
    assert_eq!((seen.len(), n_pages > 3), (63, true));
    let json = client.ask("find_text", json!({ "pattern": "wanted_word", "max_results": 3 }));
    assert_eq!(json["total_lines"], 63);
    assert_eq!(json["files"][0]["lines"].as_array().unwrap().len(), 3, "{json:#}");
    assert!(json["next_cursor"].is_string());
    let text = client.text("find_text", json!({ "pattern": "wanted_word", "token_limit": 5 }));
    assert!(text.contains("token_limit is too small for the first, which needs "), "{text}");
}

#[test]
fn a_pattern_that_is_no_expression_is_an_error_of_the_argument() {
    let repo = repository();
    let mut client = McpClient::start(&repo);
    let message = client.refused("find_text", json!({ "pattern": "a(", "regex": true }));
    assert!(message.contains("`pattern`") && message.contains("unclosed group"), "{message}");
    assert!(client.refused("find_text", json!({ "pattern": "" })).contains("`pattern`"));
    let text = client.text("find_text", json!({ "pattern": "x", "paths": ["nowhere/"] }));
    assert!(text.contains("no file matches the path 'nowhere/'"), "{text}");
    let two = client.text("find_text", json!({ "pattern": "x", "paths": ["nowhere/", "*.none"] }));
    assert!(two.contains("no file matches the path 'nowhere/' or '*.none'"), "{two}");
}
