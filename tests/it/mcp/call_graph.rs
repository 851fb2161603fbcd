//! `call_graph` over the protocol: edges, statuses, places, revisions, and the token limit.

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::TestRepo;

use crate::graph::command::{edges, fixture, has};
use crate::support::mcp_client::McpClient;

fn with(files: &[(&str, &str)]) -> TestRepo {
    let repo = TestRepo::with_files(files);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[test]
fn an_edge_is_shown_with_its_grade_and_call_site() {
    let repo = with(&[
        ("lib.py", "def helper(x):\n    return x\n"),
        ("app.py", "from lib import helper\n\n\ndef run():\n    # helper is best\n    return helper(1)\n"),
    ]);
    let mut client = McpClient::start(&repo);
    let result = client.call("call_graph", json!({ "symbol": "helper" }));
    assert_eq!(result["isError"], false, "{result:#}");
    let answer = &result["structuredContent"];
    assert_eq!((&answer["status"], &answer["direction"]), (&json!("ok"), &json!("callers")));
    assert_eq!(answer["roots"], json!(["lib.py:1#helper"]));
    assert_eq!(answer["codebaseRoot"], repo.root().to_str().unwrap());
    assert_eq!(answer["commit"].as_str().unwrap(), repo.git_text(["rev-parse", "HEAD"]).trim());
    let [edge] = answer["edges"].as_array().unwrap().as_slice() else { panic!("{answer:#}") };
    assert_eq!((&edge["srcSymbolId"], &edge["grade"]), (&json!("app.py:4#run"), &json!("exact")));
    assert_eq!(edge["sites"], json!([{ "file": "app.py", "startLine": 6 }]));
    let caller = answer["nodes"].as_array().unwrap().iter().find(|node| node["name"] == "run").unwrap();
    assert_eq!(caller["blob"].as_str().unwrap(), repo.git_text(["rev-parse", "HEAD:app.py"]).trim());
    let shown = client.text("call_graph", json!({ "symbol": "helper" }));
    assert_eq!(shown, "callers of helper\nlib.py:1-2 def helper(x)\napp.py: 6 run\n");
    // By position with a relative or an absolute path; the latter also selects the repository.
    let place = format!("{}:1", repo.path("lib.py").to_str().unwrap());
    let elsewhere = TestRepo::empty_dir();
    let mut stranger = McpClient::start(&elsewhere);
    for same in [
        client.ask("call_graph", json!({ "symbol": "lib.py:1" })),
        stranger.ask("call_graph", json!({ "symbol": place })),
    ] {
        assert_eq!((&same["edges"], &same["roots"]), (&answer["edges"], &answer["roots"]));
    }
    let callees = client.ask("call_graph", json!({ "symbol": "run", "direction": "callees", "depth": 2 }));
    has(&callees, &["exact run -> helper"]);
    // An edit counts at once, a revision stays what it was.
    repo.write("app.py", "from lib import helper\n\n\ndef other():\n    return helper(2)\n");
    assert_eq!(edges(&client.ask("call_graph", json!({ "symbol": "helper" }))), ["exact other -> helper"]);
    let before = client.ask("call_graph", json!({ "symbol": "helper", "rev": "HEAD" }));
    assert_eq!(edges(&before), ["exact run -> helper"]);
}

#[test]
fn statuses_say_how_completely_a_query_was_answered() {
    let repo = fixture("python");
    repo.write("a.jl", "function lonely()\n  lonely()\nend\n").commit("another language");
    let mut client = McpClient::start(&repo);
    for (symbol, status, said) in [
        ("helper", "ok", "callers of helper"),
        ("render", "ambiguous", "ambiguous: ask about one of these"),
        ("nothing_like_it", "not_found", "was found in the index: look for it with find_symbol"),
        ("nowhere.py:1", "not_found", "look for it with find_symbol"),
        ("lonely", "unsupported", "use find_text"),
    ] {
        let result = client.call("call_graph", json!({ "symbol": symbol }));
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["status"]),
            (&json!(false), &json!(status))
        );
        assert!(result["structuredContent"].get("reason").is_none(), "no gate: {result:#}");
        let text = client.text("call_graph", json!({ "symbol": symbol }));
        assert!(text.contains(said), "{text}");
    }
    let definitions = client.ask("call_graph", json!({ "symbol": "render", "direction": "definitions" }));
    assert_eq!(definitions["roots"].as_array().unwrap().len(), 2);
    // Names in one answer are valid in the next query.
    let one = client.ask("call_graph", json!({ "symbol": definitions["roots"][1] }));
    assert_eq!((&one["status"], &one["roots"]), (&json!("ok"), &json!([definitions["roots"][1]])));
}

#[test]
fn the_text_has_one_line_for_a_call_site() {
    let repo = with(&[
        (
            "shapes.py",
            "class Box:\n    def area(self):\n        pass\n\n\nclass Disc:\n    def area(self):\n        pass\n",
        ),
        (
            "app.py",
            "from shapes import Box\n\n\ndef sure():\n    box = Box()\n    box.area()\n    box.area()\n\n\ndef unsure(x):\n    \
             x.area()\n    print(x)\n    sure()\n",
        ),
    ]);
    let mut client = McpClient::start(&repo);
    let mut ask = |arguments: Value| client.text("call_graph", arguments);
    assert_eq!(
        ask(json!({ "symbol": "Box.area" })),
        "callers of Box.area\nshapes.py:2-3 def area(self)\napp.py: 6,7 sure, 11 unsure (2 candidates)\n"
    );
    // Definitions have numbers if there are several, and one site names all that it may call.
    assert_eq!(
        ask(json!({ "symbol": "area" })),
        "callers of area, ambiguous: ask about one of these\n#1 shapes.py:2-3 def area(self)\n#2 shapes.py:7-8 def \
         area(self)\napp.py: 6,7 sure → #1, 11 unsure → any (2 candidates)\n"
    );
    assert_eq!(
        ask(json!({ "symbol": "unsure", "direction": "callees" })),
        "callees of unsure\napp.py:10-13 def unsure(x)\n11 x.area → 2 candidates: shapes.py:2 Box.area, \
         shapes.py:7 Disc.area\n13 → :4 sure\n1 of libraries or values: print\n"
    );
    // Several symbols in one call, of which one does not exist.
    let several = ask(json!({ "symbols": ["sure", "Disc.area", "nothing_like_it"], "limit": 1 }));
    assert_eq!(several.lines().next(), Some("callers of sure, Disc.area, nothing_like_it: 1 of 2 edges"));
    assert!(several.contains("CALL_GRAPH_NOT_FOUND: no definition of nothing_like_it"), "{several}");
    assert!(several.contains("13 unsure → #1"), "{several}");
    assert!(
        client.refused("call_graph", json!({ "direction": "callers" })).contains("`symbol` or `symbols`")
    );
}

#[test]
fn what_is_not_proven_is_marked_and_a_class_is_named_once() {
    let repo = with(&[
        ("log.py", "class Log:\n    def write_line(self, text):\n        pass\n"),
        (
            "app.py",
            "class App:\n    def start(self, log):\n        log.write_line('a')\n\n    def stop(self, log):\n        \
             log.write_line('b')\n",
        ),
    ]);
    let mut client = McpClient::start(&repo);
    assert_eq!(
        client.text("call_graph", json!({ "symbol": "Log.write_line" })),
        "callers of Log.write_line (? is unproven)\nlog.py:2-3 def write_line(self, text)\napp.py: 3? App.start, 6? .stop\n"
    );
}

#[test]
fn bases_come_first_and_tests_last() {
    let mut tests = String::from("from shapes import Shape\n\n\n");
    for i in 0..9 {
        tests.push_str(&format!("def test_{i}():\n    Shape()\n\n\n"));
    }
    let repo = with(&[
        ("shapes.py", "class Shape:\n    pass\n\n\nclass Box(Shape):\n    pass\n"),
        ("app.py", "from shapes import Shape\n\n\ndef run():\n    known = [Shape]\n    Shape()\n"),
        ("tests/test_shapes.py", &tests),
    ]);
    let mut client = McpClient::start(&repo);
    let query = json!({ "symbol": "Shape", "direction": "references", "token_limit": 20_000 });
    assert_eq!(
        client.text("call_graph", query.clone()),
        "references to Shape\nshapes.py:1-2 class Shape\ninherited by:\nshapes.py: 5 Box\ncalls:\napp.py: 6 run\n\
         tests, by number: tests/test_shapes.py 9\nmentions:\napp.py: 1, 5 run\ntests/test_shapes.py: 1\n"
    );
    let answer = client.ask("call_graph", query);
    let edges = answer["edges"].as_array().unwrap();
    assert!(edges.iter().any(|edge| edge["kind"] == "inherit" && edge["srcSymbolId"] == "shapes.py:5#Box"));
}

#[test]
fn a_codebase_without_an_index_answers_with_a_status_envelope() {
    let repo = TestRepo::with_files(&[("a.py", "def f():\n    pass\n")]);
    let repo = repo.env("CODEWEAVER_MCP_INDEX_SMALL", "false");
    let mut client = McpClient::start(&repo);
    let result = client.call("call_graph", json!({ "symbol": "f" }));
    let envelope: Value = serde_json::from_str(text(&result)).unwrap();
    assert_eq!((&envelope["status"], &envelope["reason"]), (&json!("not_indexed"), &json!("not_indexed")));
    assert_eq!(result["structuredContent"], envelope);
    let create = &envelope["hints"]["create"];
    client.ask(create["tool"].as_str().unwrap(), create["args"].clone());
    assert_eq!(client.ask("call_graph", json!({ "symbol": "f" }))["status"], "ok");
}

#[test]
fn the_token_limit_cuts_the_least_certain_edges_with_a_warning() {
    let mut many = String::from(
        "class A:\n    def go(self):\n        pass\n\n\nclass B:\n    def go(self):\n        pass\n\n\n",
    );
    for i in 0..60 {
        many.push_str(&format!("def unsure_{i}(x):\n    x.go()\n\n\n"));
    }
    many.push_str("def sure():\n    a = A()\n    a.go()\n");
    let repo = with(&[("many.py", &many)]);
    let mut client = McpClient::start(&repo);
    let whole = client.ask("call_graph", json!({ "symbol": "A.go", "token_limit": 200_000 }));
    assert_eq!(
        (&whole["edgesTruncated"], &whole["warnings"][0]),
        (&json!(false), &json!("CALL_GRAPH_NOTES_TRUNCATED"))
    );
    let n_whole = whole["edges"].as_array().unwrap().len();
    assert_eq!(n_whole, 61, "{whole:#}");
    let mut shown = Vec::new();
    for limit in [600, 1000, 2000, 5000] {
        let result = client.call("call_graph", json!({ "symbol": "A.go", "token_limit": limit }));
        let answer = &result["structuredContent"];
        let (in_text, structured) = (tokens::count(text(&result)), tokens::count(&answer.to_string()));
        assert!(in_text <= limit && structured <= limit, "{in_text} and {structured} of {limit} tokens");
        let n = answer["edges"].as_array().unwrap().len();
        assert_eq!((&answer["edgesTruncated"], &answer["totalEdgeCount"]), (&json!(true), &json!(n_whole)));
        let warnings = answer["warnings"].to_string();
        assert!(warnings.contains("\"CALL_GRAPH_EDGES_TRUNCATED\""), "{warnings}");
        let said = format!("CALL_GRAPH_TOKEN_LIMIT: {n} of {n_whole} edges");
        assert!(warnings.contains(&said) && text(&result).contains(&said), "{warnings}");
        if n > 0 {
            has(answer, &["exact sure -> A.go"]);
        }
        let ids: Vec<&Value> =
            answer["nodes"].as_array().unwrap().iter().map(|node| &node["symbolId"]).collect();
        for edge in answer["edges"].as_array().unwrap() {
            assert!(ids.contains(&&edge["srcSymbolId"]) && ids.contains(&&edge["dstSymbolId"]), "{edge:#}");
            assert!(whole["edges"].as_array().unwrap().contains(edge), "less, and nothing else");
        }
        assert!(answer["notes"].as_array().unwrap().iter().all(|note| ids.contains(&&note["symbolId"])));
        shown.push(n);
    }
    assert!(shown[1] > 0 && shown.windows(2).all(|pair| pair[0] < pair[1]), "{shown:?}");
    // Too small for any edge: the answer is empty and says so.
    let tiny = client.ask("call_graph", json!({ "symbol": "A.go", "token_limit": 1 }));
    assert_eq!((&tiny["edges"], &tiny["notes"], &tiny["roots"]), (&json!([]), &json!([]), &json!([])));
    assert!(tiny["warnings"].to_string().contains("CALL_GRAPH_TOKEN_LIMIT: 0 of 61 edges"), "{tiny:#}");
}

#[test]
fn a_cursor_returns_the_rest_without_repetition() {
    let mut many = String::from(
        "class A:\n    def go(self):\n        pass\n\n\nclass B:\n    def go(self):\n        pass\n\n\n",
    );
    for i in 0..40 {
        many.push_str(&format!(
            "def unsure_{i}(x):\n    x.go()\n\n\ndef sure_{i}():\n    a = A()\n    a.go()\n\n\n"
        ));
    }
    let repo = with(&[("many.py", &many)]);
    let mut client = McpClient::start(&repo);
    let query = json!({ "symbol": "go", "note_limit": 1000 });
    let with = |more: Value| {
        let mut arguments = query.clone();
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let whole = client.ask("call_graph", with(json!({ "token_limit": 500_000 })));
    let list = |answer: &Value, of: &str| answer[of].as_array().unwrap().clone();
    assert_eq!((list(&whole, "roots").len(), list(&whole, "edges").len()), (2, 120), "{whole:#}");
    assert_eq!((list(&whole, "notes").len(), whole.get("next_cursor")), (40, None), "{whole:#}");
    for limits in [json!({ "token_limit": 900 }), json!({ "token_limit": 2500 }), json!({ "limit": 7 })] {
        let (mut told, mut grades, mut n_parts) = ([Vec::new(), Vec::new(), Vec::new()], Vec::new(), 0);
        let mut cursor = None;
        loop {
            let mut arguments = with(limits.clone());
            arguments["cursor"] = cursor.map_or(Value::Null, Value::from);
            let result = client.call("call_graph", arguments);
            let part = &result["structuredContent"];
            let size = tokens::count(text(&result)).max(tokens::count(&part.to_string()));
            assert!(u64::from(size) <= limits["token_limit"].as_u64().unwrap_or(10_000), "{size}: {limits}");
            let ids: Vec<Value> = list(part, "nodes").iter().map(|node| node["symbolId"].clone()).collect();
            let mut of_part = Vec::new();
            for edge in list(part, "edges") {
                assert!(ids.contains(&edge["srcSymbolId"]) && ids.contains(&edge["dstSymbolId"]), "{part:#}");
                of_part.push(edge["grade"] == "ambiguous");
            }
            // Within a part, edges are ordered by place.
            of_part.sort_unstable();
            grades.extend(of_part);
            assert!(list(part, "notes").iter().all(|note| ids.contains(&note["symbolId"])), "{part:#}");
            assert!(limits.get("limit").is_none() || list(part, "edges").len() <= 7, "{part:#}");
            for (all, of) in told.iter_mut().zip(["roots", "edges", "notes"]) {
                all.extend(list(part, of));
            }
            n_parts += 1;
            match part["next_cursor"].as_str() {
                Some(next) => {
                    assert!(text(&result).contains(next), "{}", text(&result));
                    cursor = Some(next.to_owned());
                }
                None => break,
            }
        }
        assert!(n_parts > 3, "{limits}");
        for (all, of) in told.iter().zip(["roots", "edges", "notes"]) {
            let expected = list(&whole, of);
            assert_eq!(all.len(), expected.len(), "{of}, {limits}: nothing twice");
            assert!(expected.iter().all(|item| all.contains(item)), "{of}, {limits}: nothing lost");
        }
        assert!(grades.is_sorted(), "the sure ones come first: {grades:?}");
    }
    // A cursor belongs to one query.
    let cursor = client.ask("call_graph", with(json!({ "limit": 7 })))["next_cursor"].clone();
    for other in
        [json!({ "symbol": "A.go" }), json!({ "direction": "references" }), json!({ "note_limit": 5 })]
    {
        let mut arguments = with(other);
        arguments["cursor"] = cursor.clone();
        assert!(client.refused("call_graph", arguments).starts_with("`cursor`"));
    }
}
