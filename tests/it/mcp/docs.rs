//! The examples in `docs/mcp-examples.md` are real: each request is made, and the page shows the result.
//!
//! Set `CODEWEAVER_UPDATE_DOCS` to rewrite them.

use std::path::Path;

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

const START: &str = "<!-- examples -->\n";
const END: &str = "<!-- end of examples -->";

/// Replaces what differs from run to run and machine to machine.
fn settled(value: &mut Value, root: &str) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                match key.as_str() {
                    "execution_time_ms" | "executionTimeMs" => *value = json!(2),
                    "model" | "completedAt" => *value = json!("…"),
                    "relevance_score" => *value = json!("0–1"),
                    // It depends on where the repository lies.
                    "next_cursor" => *value = json!("1-…"),
                    _ => settled(value, root),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| settled(item, root)),
        Value::String(text) => *text = text.replace(root, "/home/me/sample"),
        _ => {}
    }
}

fn example(client: &mut McpClient, root: &str, title: &str, tool: &str, arguments: Value) -> String {
    let mut shown = json!({ "name": tool, "arguments": arguments.clone() });
    settled(&mut shown, root);
    // The text is that of a call without `format`.
    let plain = client.call_plainly(tool, arguments.clone());
    let mut result = client.call(tool, arguments);
    // The text of an envelope repeats the content; it is shown once.
    let text = plain["content"][0]["text"].as_str().unwrap().replace(root, "/home/me/sample");
    let text = settled_text(&text);
    settled(&mut result["structuredContent"], root);
    let structured = serde_json::to_string_pretty(&result["structuredContent"]).unwrap();
    let text = if text.starts_with('{') {
        String::new()
    } else {
        format!("`content[0].text`:\n\n````text\n{}\n````\n\n", text.trim_end())
    };
    format!(
        "### {title}\n\n```json\n{}\n```\n\n{text}`structuredContent`, with `\"format\": \"json\"`:\n\n```json\n{structured}\n```\n\n",
        serde_json::to_string_pretty(&shown).unwrap()
    )
}

/// Replaces scores in headings, which change with the ranking: `(0.93)` becomes `(0.…)`. The same for
/// cursors.
fn settled_text(text: &str) -> String {
    let without = |text: &str, start: &str, is_part: fn(char) -> bool| {
        let mut parts = text.split(start);
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |out, part| format!("{out}{start}…{}", part.trim_start_matches(is_part)))
    };
    let text = without(text, " (0.", |c| c.is_ascii_digit());
    without(&text, "cursor \"1-", |c| c.is_ascii_hexdigit())
}

#[test]
fn the_examples_in_the_documentation_are_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp-examples.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let from = page.find(START).unwrap() + START.len();
    let to = page.find(END).unwrap();

    let repo = TestRepo::with_files(FILES);
    let root = repo.root().to_str().unwrap().to_owned();
    let mut client = McpClient::start(&repo);
    let mut examples = String::new();
    let mut add = |client: &mut McpClient, title: &str, tool: &str, arguments: Value| {
        examples.push_str(&example(client, &root, title, tool, arguments));
    };
    add(
        &mut client,
        "A query before there is an index",
        "find_code",
        json!({ "query": "split a header line" }),
    );
    let created = client.ask("manage_index", json!({ "action": "create", "path": root }));
    assert_eq!(created["index"]["state"], "indexed");
    add(
        &mut client,
        "`find_code`",
        "find_code",
        json!({ "query": "retry with growing pauses", "max_results": 1 }),
    );
    add(&mut client, "`file_outline`", "file_outline", json!({ "file": "src/retry.py" }));
    add(
        &mut client,
        "`call_graph`",
        "call_graph",
        json!({ "symbol": "retry_with_backoff", "direction": "callees" }),
    );
    add(
        &mut client,
        "`read_code`",
        "read_code",
        json!({ "file": "src/retry.py", "start_line": 4, "end_line": 5 }),
    );
    add(&mut client, "`manage_index`", "manage_index", json!({ "action": "status" }));
    add(&mut client, "A file that does not exist", "read_code", json!({ "file": "src/nothing.py" }));

    if std::env::var_os("CODEWEAVER_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{}\n{examples}{}", &page[..from], &page[to..])).unwrap();
    } else {
        assert_eq!(&page[from..to], format!("\n{examples}"), "run the tests with CODEWEAVER_UPDATE_DOCS=1");
    }
}

#[test]
fn every_tool_and_every_argument_is_documented() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page =
        ["mcp.md", "mcp-tools.md"].map(|name| std::fs::read_to_string(docs.join(name)).unwrap()).concat();
    let mut client = McpClient::start(&TestRepo::init());

    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(page.contains(&format!("`{name}`")), "{name} is not documented");
        for argument in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{argument}`")), "{argument} of {name} is not documented");
        }
    }
}
