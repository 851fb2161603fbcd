//! The list of tools is short: what is not in it is reached through the arguments of those that are, and
//! answers by name as well.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;

/// Long enough for its copy to be a duplicate.
const CART: &str = "\
pub struct Cart;

impl Cart {
    pub fn total(&self, prices: &[u32], discount: Option<u32>) -> u32 {
        let mut sum = 0;
        for price in prices {
            sum += price * 3;
        }
        match discount {
            Some(percent) if percent > 100 => 0,
            Some(percent) => sum - sum * percent / 100,
            None if prices.len() > 10 => sum - sum / 20,
            None => sum,
        }
    }
}
";

/// Two versions, with copies, a document and a folder of many files.
fn repository() -> TestRepo {
    let repo = TestRepo::with_files(&[
        ("src/cart.rs", CART),
        ("docs/hooks.md", "# Hooks\n\nThe hooks are turned off with `program hooks disable`.\n"),
    ]);
    for i in 0..40 {
        repo.write(&format!("data/a_rather_long_name_of_a_file_{i:02}.rs"), format!("pub fn f{i}() {{}}\n"));
    }
    repo.commit("first").git(["tag", "v1"]);
    repo.write("src/basket.rs", CART.replace("Cart", "Basket")).commit("add a basket");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn what_is_not_listed_is_reached_through_the_listed_tools() {
    let repo = repository();
    let mut client = McpClient::start(&repo);
    let question = "how are the hooks turned off";
    for (listed, arguments, other, same) in [
        (
            "find_code",
            json!({ "query": question, "docs": true }),
            "ask_docs",
            json!({ "question": question }),
        ),
        (
            "find_code",
            json!({ "like": "src/cart.rs:6" }),
            "find_similar",
            json!({ "file": "src/cart.rs", "line": 6 }),
        ),
        ("find_code", json!({ "like": "src" }), "find_similar", json!({ "paths": ["src"] })),
        ("find_code", json!({ "like": "." }), "find_similar", json!({})),
        ("read_code", json!({ "places": ["src/"] }), "list_files", json!({ "paths": ["src"] })),
        ("read_code", json!({ "places": "src" }), "list_files", json!({ "paths": ["src"] })),
        ("read_code", json!({ "places": ["src/*.rs"] }), "list_files", json!({ "paths": ["src/*.rs"] })),
        ("read_code", json!({ "places": ["."] }), "list_files", json!({})),
        (
            "read_code",
            json!({ "places": ["src/"], "rev": "v1" }),
            "list_files",
            json!({ "paths": ["src"], "rev": "v1" }),
        ),
        ("read_code", json!({ "places": ["v1..HEAD"] }), "changes", json!({ "from": "v1..HEAD" })),
        (
            "read_code",
            json!({ "places": ["src/cart.rs"], "outline": true }),
            "file_outline",
            json!({ "file": "src/cart.rs" }),
        ),
    ] {
        let text = client.text(listed, arguments.clone());
        assert_eq!(text, client.text(other, same), "{listed} {arguments}");
        assert!(text.contains("cart") || text.contains("basket") || text.contains("hooks"), "{text}");
        client.ask(listed, arguments);
    }
}

#[test]
fn directories_and_revisions_are_read_beside_other_places() {
    let repo = repository();
    let mut client = McpClient::start(&repo);
    let places = ["src/", "src/cart.rs:1", "v1..HEAD", "v1..nowhere", "Basket.total"];
    let text = client.text("read_code", json!({ "places": places }));
    for part in
        ["2 files", "\n1\tpub struct Cart;\n", "add a basket", "v1..nowhere: ", "\n4\t    pub fn total"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let answer = client.ask("read_code", json!({ "places": places }));
    assert_eq!(answer["places"][0]["total_files"], 2, "{answer:#}");
    assert_eq!(answer["places"][2]["total_commits"], 1, "{answer:#}");

    // A large directory has pages if it is read alone, and says so if it is not.
    let beside =
        client.text("read_code", json!({ "places": ["data/", "src/cart.rs:1"], "token_limit": 300 }));
    assert!(beside.contains("\n1\tpub struct Cart;\n") && !beside.contains("more: cursor"), "{beside}");
    assert!(beside.contains("… read data/ alone for the rest\n"), "{beside}");
    let (mut seen, mut cursor) = (0, Value::Null);
    for _ in 0..20 {
        let arguments = json!({ "places": ["data/*.rs"], "token_limit": 400, "cursor": cursor });
        let answer = client.ask("read_code", arguments);
        seen += answer["entries"].as_array().unwrap().len();
        let Some(next) = answer.get("next_cursor") else { break };
        cursor = next.clone();
    }
    assert_eq!(seen, 40);
}

#[test]
fn places_that_cannot_be_are_refused_with_a_reason() {
    let repo = repository();
    let mut client = McpClient::start(&repo);
    for (tool, arguments, why) in [
        ("find_code", json!({ "like": "src/cart.rs:6", "query": "x" }), "`like` takes the place of `query`"),
        ("find_code", json!({ "docs": true }), "`docs` needs one `query`"),
        ("find_code", json!({ "docs": true, "queries": ["a", "b"] }), "`docs` needs one `query`"),
        ("read_code", json!({ "places": ["src/cart.rs"], "cursor": "1-0" }), "`cursor` continues"),
        ("read_code", json!({ "places": ["../"] }), "../"),
    ] {
        let refused = client.refused(tool, arguments.clone());
        assert!(refused.contains(why), "{tool} {arguments}: {refused}");
    }

    let unknown = client.call_plainly("read_code", json!({ "places": ["v1..nowhere"] }));
    assert_eq!(unknown["isError"], true, "{unknown:#}");
    assert!(
        unknown["content"][0]["text"].as_str().unwrap().starts_with("not_found: 'nowhere'"),
        "{unknown:#}"
    );
}

/// The situations of the bench are met by what the list names, so that an agent can choose it.
#[test]
fn every_situation_of_the_bench_is_met_by_a_listed_tool() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/agents/choices.json");
    let choices: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut client = McpClient::start(&TestRepo::init());
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();

    let mut met = BTreeSet::new();
    for choice in &choices {
        let tool = tools.as_array().unwrap().iter().find(|tool| tool["name"] == choice["tool"]);
        let listed = &tool.unwrap_or_else(|| panic!("{choice}"))["inputSchema"]["properties"];
        for name in choice["arguments"].as_object().unwrap().keys() {
            assert!(listed[name].is_object(), "{name}: {choice}");
        }
        met.insert(choice["tool"].as_str().unwrap());
    }
    assert_eq!((choices.len(), met.len()), (40, tools.as_array().unwrap().len()));
}
