//! Tests of edits in each format. Runs over files are in `tests/it/mcp/setup.rs`.

use super::edit::Format;
use super::entry::{Entry, Shape};
use super::receipt::TextChange;
use super::text::{EditError, Edited, Keys};

const MCP: &[&Keys] = &[&["mcpServers"]];
const CODEX: &[&Keys] = &[&["mcp_servers"]];

fn entry() -> Entry {
    Shape::Plain.entry("git-codeweaver", &["mcp"])
}

fn json(text: &str) -> String {
    Format::Json.insert(text, MCP, &entry()).unwrap().text
}

fn toml(text: &str) -> String {
    Format::Toml.insert(text, CODEX, &entry()).unwrap().text
}

/// Checks what holds for every text that can be edited: a second insertion changes nothing, a removal leaves
/// nothing behind, and the recorded change is all that differs.
fn round_trip(format: Format, tables: &[&Keys], text: &str) {
    let edited = format.insert(text, tables, &entry()).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    assert_eq!(format.insert(&edited.text, tables, &entry()).unwrap().text, edited.text, "{text:?}");
    let taken = format.remove(&edited.text, tables, edited.n_new_tables).unwrap().unwrap();
    assert_eq!(format.remove(&taken, tables, 0).unwrap(), None, "{taken:?}");
    let words = |text: &str| text.split(|c: char| c.is_whitespace() || c == ',').collect::<String>();
    let is_void = |text: &str| ["", "{}"].contains(&text);
    let (before, after) = (words(text), words(&taken));
    assert!(before == after || is_void(&before) && is_void(&after), "{text:?} became {taken:?}");
    let change = TextChange::between(text, &edited.text);
    let receipt = super::receipt::Receipt {
        client: String::new(),
        file: std::path::PathBuf::new(),
        created_file: false,
        created_directories: Vec::new(),
        n_new_tables: edited.n_new_tables,
        change,
        after: super::receipt::hash(&edited.text),
    };
    assert_eq!(receipt.undo(&edited.text).as_deref(), Some(text));
}

fn why(result: Result<Edited, EditError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn json_entries_use_the_indentation_of_the_file() {
    assert_eq!(
        json("{\n\t\"theme\": 1,\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}"),
        "{\n\t\"theme\": 1,\n\t\"mcpServers\": {\n\t\t\"x\": {},\n\t\t\"git-codeweaver\": {\n\t\t\t\"command\": \"git-codeweaver\",\n\
         \t\t\t\"args\": [\"mcp\"]\n\t\t}\n\t}\n}"
    );
    assert!(json("{\r\n  \"a\": 1\r\n}\r\n").replace("\r\n", "").find('\n').is_none());
    assert!(json("\u{feff}{}").starts_with("\u{feff}{\n"));
}

#[test]
fn json_keeps_comments_and_trailing_commas() {
    let text = "// mine\n{\n  /* a */ \"a\": [1, 2,], // one\n  \"mcpServers\": {\n    // none yet\n    \"x\": { \"command\": \"y\" }, // x\n    \
                // last\n  },\n}\n";
    let after = json(text);
    for comment in ["// mine\n", "/* a */", "// one\n", "// none yet\n", "}, // x\n", "// last\n", "[1, 2,]"]
    {
        assert!(after.contains(comment), "{comment} is gone from\n{after}");
    }
    round_trip(Format::Json, MCP, text);
}

#[test]
fn an_edit_of_any_json_can_be_undone() {
    for text in [
        "",
        "\n",
        "{}",
        "{ }\n",
        "{\n}\n",
        "{\"a\":1}",
        "{\"a\":1,\"mcpServers\":{\"b\":{\"c\":1}}}\n",
        "{\n  \"mcpServers\": {}\n}\n",
        "{\n  \"mcpServers\": {\n    // none\n  }\n}\n",
        "{\n  \"a\": \"git-codeweaver\", // t\n  \"mcpServers\": { \"b\": 1, },\n}\n",
        "{\r\n    \"mcpServers\": {\r\n        \"x\": {}\r\n    },\r\n    \"b\": 1.0e5\r\n}",
        "{ \"deep\": {\"mcpServers\": {\"git-codeweaver\": {}}} }",
    ] {
        round_trip(Format::Json, MCP, text);
    }
}

#[test]
fn json_that_clients_cannot_read_is_refused() {
    for (text, reason) in [
        ("{\"a\": 1", "not valid JSON"),
        ("{a: 1}", "not valid JSON"),
        ("{'a': 1}", "not valid JSON"),
        ("{\"a\": 1 \"b\": 2}", "not valid JSON"),
        ("{} {}", "not valid JSON"),
        ("[]", "JSON object"),
        ("null", "JSON object"),
        ("{\"mcpServers\": []}", "`mcpServers` in it is not an object"),
        ("{\"mcpServers\": {\"git-codeweaver\": 1}}", "`git-codeweaver` in it is not an object"),
        ("{\"mcpServers\": {}, \"mcp\\u0053ervers\": {}}", "two entries"),
    ] {
        let found = why(Format::Json.insert(text, MCP, &entry()));
        assert!(found.contains(reason), "{text}: {found}");
    }
    let deep = "[".repeat(100_000);
    assert!(why(Format::Json.insert(&deep, MCP, &entry())).contains("not valid JSON"));
}

#[test]
fn an_existing_entry_keeps_its_other_fields() {
    let text = "{\"mcpServers\": {\"git-codeweaver\": {\"command\": \"/old\", \"env\": {\"A\": \"1\"}}}}";
    let after = json(text);
    assert!(after.contains("\"env\": {\"A\": \"1\"}") && after.contains("[\"mcp\"]"), "{after}");
    assert!(!after.contains("/old"));

    let text = "[mcp_servers.git-codeweaver] # mine\ncommand = '/old' # c\nenabled = false\n";
    assert_eq!(
        toml(text),
        "[mcp_servers.git-codeweaver] # mine\nargs = [\"mcp\"]\ncommand = \"git-codeweaver\" # c\nenabled = false\n"
    );
}

#[test]
fn a_key_can_be_a_server_or_a_table_of_servers() {
    let tables: &[&Keys] = &[&["mcp", "servers"], &["mcp"]];
    let put = |text: &str| Format::Json.insert(text, tables, &entry()).unwrap().text;
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(&put(text)).unwrap();
    assert!(value("{\"mcp\": {\"servers\": {}}}")["mcp"]["servers"]["git-codeweaver"].is_object());
    assert!(value("{\"mcp\": {\"servers\": {\"type\": \"local\"}}}")["mcp"]["git-codeweaver"].is_object());
    assert!(value("{}")["mcp"]["git-codeweaver"].is_object());
    let nested = put("{\"mcp\": {\"servers\": {}}}");
    let taken = Format::Json.remove(&nested, tables, 0).unwrap().unwrap();
    assert!(!taken.contains("git-codeweaver"), "{taken}");
}

#[test]
fn toml_entries_are_appended_as_a_table() {
    assert_eq!(
        toml("model = 'o' # m\n"),
        "model = 'o' # m\n\n[mcp_servers.git-codeweaver]\ncommand = \"git-codeweaver\"\nargs = [\"mcp\"]\n"
    );
    for text in [
        "",
        "a = 1",
        "a = 1\n",
        "# only\n",
        "a = 1\r\nb = '''\r\n[mcp_servers.git-codeweaver]\r\n'''\r\n",
        "[mcp_servers]\n",
        "[mcp_servers.x]\ncommand = \"y\" # z\n\n[other]\n",
        "[mcp_servers]\nx = {command = \"y\"}\n[[list]]\na = 1\n[[list]]\n",
    ] {
        round_trip(Format::Toml, CODEX, text);
        assert!(toml(text).starts_with(text));
    }
    for (text, reason) in [
        ("a = ", "on line 1"),
        ("a = 1\na = 2\n", "on line 2"),
        ("mcp_servers = {x = {command = 'y'}}", "inline table"),
        ("mcp_servers = 1", "not a table"),
    ] {
        let found = why(Format::Toml.insert(text, CODEX, &entry()));
        assert!(found.contains(reason), "{text}: {found}");
    }
}

#[test]
fn toml_entries_are_removed_by_whole_lines() {
    let take = |text: &str| Format::Toml.remove(text, CODEX, 0);
    let text = "a = 1\n\n# theirs\n[mcp_servers.git-codeweaver]\ncommand = \"x\"\nargs = [\n  \"mcp\", # m\n] # a\n\n# next\n[b]\n\
                [mcp_servers.git-codeweaver.env]\nA = \"1\"\n[c]\n";
    assert_eq!(take(text).unwrap().unwrap(), "a = 1\n\n# theirs\n\n# next\n[b]\n[c]\n");
    let text = "[mcp_servers]\nx = 1\ngit-codeweaver = { command = \"x\" } # c\ny = 2\n";
    assert_eq!(take(text).unwrap().unwrap(), "[mcp_servers]\nx = 1\ny = 2\n");
    assert!(take("mcp_servers.git-codeweaver.command = 'x'\n").is_err());
    assert!(take("mcp_servers = {git-codeweaver = {command = 'x'}, x = {}}\n").is_err());
    assert_eq!(take("[other]\n").unwrap(), None);
}

/// Random documents: an edit that is accepted can be undone exactly, and no comment is lost.
#[test]
fn edits_of_random_json_can_be_undone() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2_000 {
        let text = object(&mut random, 0);
        round_trip(Format::Json, MCP, &text);
        let after = Format::Json.insert(&text, MCP, &entry()).unwrap();
        let taken = Format::Json.remove(&after.text, MCP, after.n_new_tables).unwrap().unwrap();
        let comments = |text: &str| text.matches("// c").count() + text.matches("/* c */").count();
        assert_eq!(comments(&text), comments(&after.text), "{text}\n{}", after.text);
        assert_eq!(comments(&text), comments(&taken), "{text}\n{taken}");
    }
}

fn object(random: &mut fastrand::Rng, depth: usize) -> String {
    let blank = |random: &mut fastrand::Rng| {
        random.choice(["", "", " ", "\n", "\n  ", "\r\n\t", " // c\n", "/* c */", "\n\n"]).unwrap()
    };
    let mut out = format!("{}{{", if depth == 0 { blank(random) } else { "" });
    let mut keys = vec!["a", "b", "mcpServers", "git-code", "\\u0061x", "z"];
    random.shuffle(&mut keys);
    let n = random.usize(0..4);
    for (i, key) in keys.iter().take(n).enumerate() {
        let value = if depth < 3 && (*key == "mcpServers" || random.bool()) {
            object(random, depth + 1)
        } else {
            (*random.choice(["1", "-2.5e3", "null", "[]", "[1, // c\n 2,]", "\"// {\"", "true"]).unwrap())
                .to_owned()
        };
        let comma = if i + 1 < n || random.u8(0..4) == 0 { "," } else { "" };
        out += &[
            blank(random),
            "\"",
            key,
            "\"",
            blank(random),
            ":",
            blank(random),
            &value,
            blank(random),
            comma,
        ]
        .concat();
    }
    out + blank(random) + "}" + if depth == 0 { blank(random) } else { "" }
}

#[test]
fn yaml_is_printed_as_a_whole_configuration() {
    let entry = Shape::Extension.entry("/opt/My Tools/git-codeweaver", &["mcp"]);
    let text = super::yaml::snippet(&["extensions"], &entry);
    assert!(
        text.starts_with("extensions:\n  git-codeweaver:\n    enabled: true\n    type: stdio\n"),
        "{text}"
    );
    assert!(text.contains("    cmd: \"/opt/My Tools/git-codeweaver\"\n    args: [\"mcp\"]\n"), "{text}");
}
