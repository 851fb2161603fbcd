//! `find_symbol` over the protocol: names, patterns and places, and everything about one definition.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

fn sample() -> TestRepo {
    let repo = TestRepo::with_files(&[
        (
            "src/retry.py",
            "\"\"\"Retries.\"\"\"\n\n\ndef pause(seconds):\n    return seconds\n\n\n# Calls again until it succeeds.\ndef retry_call(call, attempts=5):\n    for _ in range(attempts):\n        pause(1)\n        return call()\n\n\nclass Policy:\n    limit = 3\n\n    def apply(self, call):\n        return retry_call(call, self.limit)\n",
        ),
        ("src/app.py", "from retry import retry_call\n\n\ndef run():\n    return retry_call(lambda: 1)\n"),
        (
            "tests/test_retry.py",
            "from retry import retry_call\n\n\ndef test_retry():\n    assert retry_call(lambda: 2) == 2\n",
        ),
        ("docs/guide.md", "# Guide\n\n## Retrying\n\nUse `retry_call` for everything that fails at times.\n"),
        ("src/other.py", "class Other:\n    def apply(self):\n        pass\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn one_definition_is_answered_with_everything_about_it() {
    let repo = sample();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_symbol", json!({ "symbol": "retry_call" }));
    for part in [
        "src/retry.py:9-12 function retry_call\n",
        "\n8\t# Calls again until it succeeds.\n9\tdef retry_call(call, attempts=5):\n",
        "src/app.py: ",
        "5 run",
        "19 apply",
        "calls: pause 4\n",
        "tests/test_retry.py: ",
        "documentation: docs/guide.md:5 ",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    let (uses, tests) = text.split_once("\ntests ").unwrap();
    assert!(uses.contains("src/app.py:") && !uses.contains("tests/test_retry.py"), "{text}");
    assert!(tests.contains("5 test_retry"), "{text}");
    assert!(tokens::count(&text) <= 400, "{text}");
    let code = client.text("find_symbol", json!({ "symbol": "retry_call", "code_only": true }));
    assert_eq!(code, format!("{}\n", text.split_once("\nused ").unwrap().0));
    // Places, in every form, are the same definition.
    for place in ["src/retry.py:9", "src/retry.py:11", "src/retry.py:9#retry_call"] {
        assert_eq!(client.text("find_symbol", json!({ "symbol": place })), text, "{place}");
    }
    let absolute = format!("{}:9", repo.path("src/retry.py").display());
    assert_eq!(client.text("find_symbol", json!({ "symbol": absolute })), text);
    let answer = client.ask("find_symbol", json!({ "symbol": "retry_call" }));
    let about = &answer["results"][0]["about"];
    assert_eq!((&about["total_tests"], &about["first_line"]), (&json!(1), &json!(8)));
    // A type has its members if its text is too long.
    let class = client.text("find_symbol", json!({ "symbol": "Policy" }));
    assert!(class.contains("class Policy:") && class.contains("no test refers to it"), "{class}");
    let small = client.text("find_symbol", json!({ "symbol": "Policy", "token_limit": 60 }));
    assert!(tokens::count(&small) <= 60 && small.contains("src/retry.py:15"), "{small}");
    // Uncommitted code counts, a revision is without it.
    repo.write("src/more.py", "from retry import retry_call\n\n\ndef more():\n    retry_call(None)\n");
    assert!(client.text("find_symbol", json!({ "symbol": "retry_call" })).contains("src/more.py: "));
    let old = client.text("find_symbol", json!({ "symbol": "retry_call", "rev": "HEAD" }));
    assert!(!old.contains("src/more.py"), "{old}");
}

#[test]
fn of_a_common_name_only_what_names_the_owner_too_is_told() {
    let mut files: Vec<(String, String)> = ["Queue", "Stack", "Ring", "Heap"]
        .iter()
        .map(|name| {
            let file = format!("{}.py", name.to_lowercase());
            (file, format!("class {name}:\n    def push_item(self, item):\n        pass\n"))
        })
        .collect();
    files.push(("guide.md".to_owned(), "# Guide\n\n`Stack.push_item` is for stacks.\n".to_owned()));
    files.push(("test_ring.py".to_owned(), "def test_push_item_of_ring():\n    pass\n".to_owned()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repo = TestRepo::with_files(&files);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let stack = client.text("find_symbol", json!({ "symbol": "Stack.push_item" }));
    assert!(stack.contains("documentation: guide.md:3"), "{stack}");
    let heap = client.text("find_symbol", json!({ "symbol": "Heap.push_item" }));
    assert!(!heap.contains("guide.md") && !heap.contains("test_ring"), "{heap}");
}

#[test]
fn a_constructor_is_part_of_its_type() {
    let java = "class Parser {\n    Parser(String text) {\n    }\n\n    void run() {\n    }\n}\n";
    let repo = TestRepo::with_files(&[("Parser.java", java)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let text = McpClient::start(&repo).text("find_symbol", json!({ "symbol": "Parser" }));
    assert!(text.starts_with("Parser.java:1-7 class Parser\n"), "{text}");
}

#[test]
fn several_definitions_are_one_line_each() {
    let repo = sample();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_symbol", json!({ "symbol": "apply" }));
    assert!(text.starts_with("2 definitions of apply; FILE:LINE shows one\n"), "{text}");
    assert!(text.contains("src/other.py:2 method def apply(self) in Other\n"), "{text}");
    assert!(text.contains("src/retry.py:18 method def apply(self, call) in Policy\n"), "{text}");
    let one = client.text("find_symbol", json!({ "symbol": "Policy.apply" }));
    assert!(one.starts_with("src/retry.py:18-19 method Policy.apply\n"), "{one}");
    let pattern = client.ask("find_symbol", json!({ "symbol": "*retry*", "kinds": "function" }));
    assert_eq!(
        (&pattern["results"][0]["fit"], &pattern["results"][0]["total"]),
        (&json!("exact"), &json!(1))
    );
    let any_case = client.text("find_symbol", json!({ "symbol": "*RETRY*", "kinds": "function" }));
    assert!(any_case.starts_with("src/retry.py:9-12 function retry_call\n"), "{any_case}");
    let part = client.text("find_symbol", json!({ "symbol": "y_call" }));
    assert!(part.contains("not \"y_call\", but 1 with it in the name"), "{part}");
    let case = client.text("find_symbol", json!({ "symbol": "RETRY_CALL", "paths": ["src"] }));
    assert!(case.starts_with("not \"RETRY_CALL\", but 1 in another case\nsrc/retry.py:9-12"), "{case}");
    let several = client.text("find_symbol", json!({ "symbols": ["pause", "apply", "nowhere_at_all"] }));
    for part in [
        "## pause\nsrc/retry.py:4-5 ",
        "## apply\n2 definitions",
        "no definition of \"nowhere_at_all\" in the index",
    ] {
        assert!(several.contains(part), "{part:?} in {several}");
    }
}

#[test]
fn declarations_and_third_party_copies_are_not_the_definition() {
    let repo = TestRepo::with_files(&[
        ("src/set.h", "void setCommand(int c);\n"),
        ("src/set.c", "#include \"set.h\"\n\nvoid setCommand(int c) {\n    (void)c;\n}\n"),
        ("tests/helper.c", "void setCommand(int c) {\n    (void)c;\n}\n"),
        ("src/a.dart", "lonely() {\n  lonely();\n}\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let text = client.text("find_symbol", json!({ "symbol": "setCommand" }));
    assert!(text.starts_with("src/set.c:3-5 function setCommand\n"), "{text}");
    assert!(text.contains("same name: "), "{text}");
    // Where calls are not read, none are denied.
    let text = client.text("find_symbol", json!({ "symbol": "lonely" }));
    assert!(text.contains("uses and tests are not known in dart: find_text \"lonely\""), "{text}");
    assert!(!text.contains("no use found") && !text.contains("no test refers"), "{text}");
}

#[test]
fn a_name_that_is_not_there_is_answered_with_those_that_are_like_it() {
    let repo = sample();
    let mut client = McpClient::start(&repo);
    for (wrong, near) in [("retry_cal1", "retry_call"), ("call_retry", "retry_call"), ("Policies", "Policy")]
    {
        let text = client.text("find_symbol", json!({ "symbol": wrong }));
        assert!(
            text.contains(&format!("no definition of {wrong:?} in the index; like it: {near}")),
            "{text}"
        );
    }
    assert!(client.refused("find_symbol", json!({})).contains("`symbol`"));
    assert!(
        client
            .refused("find_symbol", json!({ "symbol": "x", "kinds": ["functoin"] }))
            .contains("did you mean `function`?")
    );
    let missing = client.call_plainly("find_symbol", json!({ "symbol": "src/nothing.py:1" }));
    assert_eq!(missing["isError"], true, "{missing:#}");
}

#[test]
fn a_line_behind_the_end_of_a_file_is_answered_with_the_number_of_its_lines() {
    let repo = sample();
    let mut client = McpClient::start(&repo);
    let said = |result: &Value| result["content"][0]["text"].as_str().unwrap().to_owned();
    let expected = "src/other.py has no line 99: it has 3 lines; name lines from 1 to 3";
    for (tool, arguments) in [
        ("find_symbol", json!({ "symbol": "src/other.py:99" })),
        ("find_similar", json!({ "file": "src/other.py", "line": 99 })),
    ] {
        let text = said(&client.call_plainly(tool, arguments));
        assert!(text.contains(expected), "{tool}: {text}");
    }
    let graph = client.text("call_graph", json!({ "symbol": "src/other.py:99" }));
    assert!(graph.contains("src/other.py has no line 99: it has 3\n"), "{graph}");
    // A line that is there is in no definition.
    let text = said(&client.call_plainly("find_symbol", json!({ "symbol": "src/retry.py:7" })));
    assert!(text.contains("no definition is around line 7 of src/retry.py"), "{text}");
}

/// The names are looked up by their words, which differ from what an outline shows in each of these.
#[test]
fn every_name_of_an_outline_is_found_as_it_is_written() {
    let repo = TestRepo::with_files(&[
        ("docs/a.md", "# Getting Started: v1.2/v2\n\nText.\n\n## x\n\nMore.\n\n## Größe der Öse\n\nEnd.\n"),
        ("web/a.css", ".btn-primary > a.on {\n  color: red;\n}\n\n#main {\n  color: blue;\n}\n"),
        (
            "src/a.cpp",
            "struct V {\n  V operator+(const V& o) const { return o; }\n  bool operator()(int) { return true; }\n};\n",
        ),
        (
            "src/a.py",
            "def größe():\n    pass\n\n\ndef _():\n    pass\n\n\ndef deadbeefdeadbeefdeadbeefdeadbeef():\n    pass\n",
        ),
        ("src/a.rb", "class A\n  def empty?\n    true\n  end\n\n  def []=(k, v)\n    v\n  end\nend\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);

    for path in ["docs/a.md", "web/a.css", "src/a.cpp", "src/a.py", "src/a.rb"] {
        let outline = repo.codeweaver(["outline", "--json", path]).json();
        let symbols = outline["symbols"].as_array().unwrap().clone();
        assert!(!symbols.is_empty(), "{path}: {outline:#}");

        for symbol in symbols {
            let answer = client.ask("find_symbol", json!({ "symbol": symbol["name"] }));
            let (found, name) = (&answer["results"][0], &symbol["name"]);
            assert_eq!(found["fit"], "exact", "{name} of {path}: {found:#}");
            assert!(found.to_string().contains(path), "{name} of {path}: {found:#}");
        }
    }
}

#[test]
fn tests_are_found_by_name_if_none_refers_to_the_definition() {
    let repo = TestRepo::with_files(&[
        (
            "src/load.rs",
            "pub fn load_state() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn reload_state_twice() {}\n}\n",
        ),
        ("tests/checks.py", "def check_loadState():\n    pass\n"),
        ("src/other.py", "def preload_state():\n    pass\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let text = McpClient::start(&repo).text("find_symbol", json!({ "symbol": "load_state" }));

    let by_name = text.lines().find(|line| line.contains("tests by name")).unwrap_or_default();
    assert!(by_name.contains("reload_state_twice") && by_name.contains("check_loadState"), "{text}");
    assert!(!by_name.contains("preload_state"), "{text}");
}

#[test]
fn long_lists_have_pages_and_long_answers_are_cut() {
    let repo = TestRepo::init();
    let mut text = String::new();
    for i in 0..150 {
        text.push_str(&format!("pub fn handle_{i:03}(request: u32) -> u32 {{\n    shared(request)\n}}\n\n"));
    }
    text.push_str("pub fn shared(request: u32) -> u32 {\n");
    for i in 0..400 {
        text.push_str(&format!("    let value_{i} = request + {i};\n"));
    }
    text.push_str("    request\n}\n");
    repo.write("src/lib.rs", text).commit("many");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let (mut seen, mut cursor) = (Vec::new(), json!(null));
    for _ in 0..20 {
        let answer = client
            .call("find_symbol", json!({ "symbol": "handle_*", "token_limit": 1000, "cursor": cursor }));
        assert!(tokens::count(answer["content"][0]["text"].as_str().unwrap()) <= 1000);
        let answer = &answer["structuredContent"];
        let definitions = answer["results"][0]["definitions"].as_array().unwrap();
        seen.extend(definitions.iter().map(|it| it["name"].as_str().unwrap().to_owned()));
        let Some(next) = answer.get("next_cursor") else { break };
        cursor = next.clone();
    }
    let expected: Vec<String> = (0..150).map(|i| format!("handle_{i:03}")).collect();
    assert_eq!(seen, expected);
    for limit in [300, 800, 2000] {
        let text = client.text("find_symbol", json!({ "symbol": "shared", "token_limit": limit }));
        assert!(tokens::count(&text) <= limit, "{limit}: {text}");
        assert!(text.contains("used 150:") && text.contains("more: call_graph src/lib.rs:601"), "{text}");
        assert!(text.contains("… read_code from line "), "{text}");
    }
}

#[test]
fn callees_are_grouped_by_file() {
    let repo = TestRepo::with_files(&[
        (
            "src/cart.py",
            "from src.money import round_to_cents, with_tax\n\n\ndef add(prices):\n    return sum(prices)\n\n\n\
             def total(prices):\n    return round_to_cents(with_tax(add(prices)))\n",
        ),
        (
            "src/money.py",
            "def round_to_cents(value):\n    return value\n\n\ndef with_tax(value):\n    return value\n",
        ),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let text = McpClient::start(&repo).text("find_symbol", json!({ "symbol": "total" }));
    let calls = text.lines().find(|line| line.starts_with("calls: ")).unwrap();
    assert!(calls.starts_with("calls: add 4; src/money.py: "), "{text}");
    assert!(calls.contains("round_to_cents 1") && calls.contains("with_tax 5"), "{text}");
    assert_eq!(calls.matches("src/money.py").count(), 1, "{text}");
}
