//! Edits of texts, per format; whole runs over files are in `tests/it/setup.rs`.

use super::edit::{EditError, Format, Keys};
use super::entry::{Entry, Shape};
use super::receipt::Stretch;

const MCP: &[&Keys] = &[&["mcpServers"]];
const CODEX: &[&Keys] = &[&["mcp_servers"]];
const GOOSE: &[&Keys] = &[&["extensions"]];

fn entry() -> Entry {
    Shape::Plain.entry("git-codeweaver", &["mcp"])
}

fn json(text: &str) -> String {
    Format::Json.put(text, MCP, &entry()).unwrap().text
}

fn toml(text: &str) -> String {
    Format::Toml.put(text, CODEX, &entry()).unwrap().text
}

fn yaml(text: &str) -> String {
    Format::Yaml.put(text, GOOSE, &entry()).unwrap().text
}

/// What holds for every text that can be edited: again changes nothing, out again leaves nothing, and the stretch is
/// all that differs.
fn round_trip(format: Format, tables: &[&Keys], text: &str) {
    let edited = format.put(text, tables, &entry()).unwrap_or_else(|e| panic!("{text:?}: {e}"));
    assert_eq!(format.put(&edited.text, tables, &entry()).unwrap().text, edited.text, "{text:?}");
    let taken = format.take(&edited.text, tables, edited.made).unwrap().unwrap();
    assert_eq!(format.take(&taken, tables, 0).unwrap(), None, "{taken:?}");
    let words = |text: &str| text.split(|c: char| c.is_whitespace() || c == ',').collect::<String>();
    let is_void = |text: &str| ["", "{}"].contains(&text);
    let (before, after) = (words(text), words(&taken));
    assert!(before == after || is_void(&before) && is_void(&after), "{text:?} became {taken:?}");
    let stretch = Stretch::between(text, &edited.text);
    let receipt = super::receipt::Receipt {
        client: String::new(),
        file: std::path::PathBuf::new(),
        created_file: false,
        created_folders: Vec::new(),
        made: edited.made,
        stretch,
        after: super::receipt::hash(&edited.text),
    };
    assert_eq!(receipt.undo(&edited.text).as_deref(), Some(text));
}

fn why(result: Result<super::edit::Edited, EditError>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn json_is_indented_as_the_file_is() {
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
fn json_of_every_form_goes_there_and_back() {
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
fn json_that_clients_could_not_read_is_refused() {
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
        let found = why(Format::Json.put(text, MCP, &entry()));
        assert!(found.contains(reason), "{text}: {found}");
    }
    let deep = "[".repeat(100_000);
    assert!(why(Format::Json.put(&deep, MCP, &entry())).contains("not valid JSON"));
}

#[test]
fn an_entry_that_is_there_keeps_its_other_fields() {
    let text = "{\"mcpServers\": {\"git-codeweaver\": {\"command\": \"/old\", \"env\": {\"A\": \"1\"}}}}";
    let after = json(text);
    assert!(after.contains("\"env\": {\"A\": \"1\"}") && after.contains("[\"mcp\"]"), "{after}");
    assert!(!after.contains("/old"));

    let text = "[mcp_servers.git-codeweaver] # mine\ncommand = '/old' # c\nenabled = false\n";
    assert_eq!(
        toml(text),
        "[mcp_servers.git-codeweaver] # mine\nargs = [\"mcp\"]\ncommand = \"git-codeweaver\" # c\nenabled = false\n"
    );

    let text = "extensions:\n  git-codeweaver:\n    args:\n      - serve\n    envs: {A: 1} # e\n";
    assert_eq!(
        yaml(text),
        "extensions:\n  git-codeweaver:\n    command: git-codeweaver\n    args: [\"mcp\"]\n    envs: {A: 1} # e\n"
    );
}

#[test]
fn one_name_may_be_a_server_or_a_table_of_servers() {
    let tables: &[&Keys] = &[&["mcp", "servers"], &["mcp"]];
    let put = |text: &str| Format::Json.put(text, tables, &entry()).unwrap().text;
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(&put(text)).unwrap();
    assert!(value("{\"mcp\": {\"servers\": {}}}")["mcp"]["servers"]["git-codeweaver"].is_object());
    assert!(value("{\"mcp\": {\"servers\": {\"type\": \"local\"}}}")["mcp"]["git-codeweaver"].is_object());
    assert!(value("{}")["mcp"]["git-codeweaver"].is_object());
    let nested = put("{\"mcp\": {\"servers\": {}}}");
    let taken = Format::Json.take(&nested, tables, 0).unwrap().unwrap();
    assert!(!taken.contains("git-codeweaver"), "{taken}");
}

#[test]
fn toml_gets_a_table_at_its_end() {
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
        let found = why(Format::Toml.put(text, CODEX, &entry()));
        assert!(found.contains(reason), "{text}: {found}");
    }
}

#[test]
fn toml_is_taken_out_by_lines() {
    let take = |text: &str| Format::Toml.take(text, CODEX, 0);
    let text = "a = 1\n\n# theirs\n[mcp_servers.git-codeweaver]\ncommand = \"x\"\nargs = [\n  \"mcp\", # m\n] # a\n\n# next\n[b]\n\
                [mcp_servers.git-codeweaver.env]\nA = \"1\"\n[c]\n";
    assert_eq!(take(text).unwrap().unwrap(), "a = 1\n\n# theirs\n\n# next\n[b]\n[c]\n");
    let text = "[mcp_servers]\nx = 1\ngit-codeweaver = { command = \"x\" } # c\ny = 2\n";
    assert_eq!(take(text).unwrap().unwrap(), "[mcp_servers]\nx = 1\ny = 2\n");
    assert!(take("mcp_servers.git-codeweaver.command = 'x'\n").is_err());
    assert!(take("mcp_servers = {git-codeweaver = {command = 'x'}, x = {}}\n").is_err());
    assert_eq!(take("[other]\n").unwrap(), None);
}

#[test]
fn yaml_gets_lines_before_the_first_of_its_kin() {
    assert_eq!(
        yaml("A: 1 # a\nextensions: # e\n    # in\n    dev:\n        type: builtin\n\n# end\nZ: |+\n  z\n\n"),
        "A: 1 # a\nextensions: # e\n    # in\n    git-codeweaver:\n        command: git-codeweaver\n        args: [\"mcp\"]\n    \
         dev:\n        type: builtin\n\n# end\nZ: |+\n  z\n\n"
    );
    assert_eq!(
        yaml("extensions: {} # none\nA: 1\n"),
        "extensions: # none\n  git-codeweaver:\n    command: git-codeweaver\n    args: [\"mcp\"]\nA: 1\n"
    );
    for text in [
        "",
        "# only\n",
        "A: 1",
        "A: 1\r\nextensions:\r\n  x:\r\n    y: 1\r\n",
        "extensions:\n",
        "extensions:",
        "extensions: {}\n",
        "---\nA: 1\n",
        "\"extensions\":\n  'x': &x\n    y: 1\n  z: *x\n",
        "A: |\n  extensions:\n    git-codeweaver:\nextensions:\n  x: {y: 1}\n",
    ] {
        let edited = Format::Yaml.put(text, GOOSE, &entry()).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        assert_eq!(yaml(&edited.text), edited.text);
        let undone = Stretch::between(&edited.text, text);
        assert_ne!(undone, Stretch::between(text, text));
        let taken = Format::Yaml.take(&edited.text, GOOSE, edited.made).unwrap().unwrap();
        assert_eq!(Format::Yaml.take(&taken, GOOSE, 0).unwrap(), None);
    }
}

#[test]
fn yaml_that_lines_do_not_suffice_for_is_refused() {
    for (text, reason) in [
        ("a: [1\nb: 2\n", "not valid YAML"),
        ("a: b: c\n", "not valid YAML"),
        ("\ta: 1\n", "not valid YAML"),
        ("a: 1\n---\nb: 2\n", "several documents"),
        ("a: 1\n...\n", "ended with"),
        ("a: |\n  b", "last line"),
        ("{a: 1}\n", "block style"),
        ("- a\n", "block style"),
        ("extensions: {a: {b: 1}}\n", "block style"),
        ("extensions: *x\n", "block style"),
        ("extensions:\n- a\n", "block style"),
        ("extensions: {}\nextensions: {}\n", "two entries"),
        ("extensions:\n  git-codeweaver: {cmd: x}\n", "block style"),
    ] {
        let found = why(Format::Yaml.put(text, GOOSE, &entry()));
        assert!(found.contains(reason), "{text:?}: {found}");
    }
}

#[test]
fn yaml_is_taken_out_by_lines() {
    let take = |text: &str, made: usize| Format::Yaml.take(text, GOOSE, made).unwrap().unwrap();
    let text = "extensions:\n  a: 1\n  git-codeweaver:\n    args:\n    - mcp\n  # b\n  b: 2\n";
    assert_eq!(take(text, 0), "extensions:\n  a: 1\n  # b\n  b: 2\n");
    let alone = "A: 1\nextensions:\n  git-codeweaver:\n    cmd: x\n# end\n";
    assert_eq!(take(alone, 0), "A: 1\nextensions: {}\n# end\n");
}

/// Random documents: whatever an edit accepts comes back to the byte, and no comment is lost.
#[test]
fn random_json_goes_there_and_back() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..2_000 {
        let text = object(&mut random, 0);
        round_trip(Format::Json, MCP, &text);
        let after = Format::Json.put(&text, MCP, &entry()).unwrap();
        let taken = Format::Json.take(&after.text, MCP, after.made).unwrap().unwrap();
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
