//! Characters that act on a terminal, or that reorder or hide text, reach no output as they are: not from the
//! contents and names of files, not from commits, and not from queries. In JSON they are escapes, so nothing
//! is lost.

use std::process::Command;

use serde_json::{Value, json};

use codeweaver_testkit::{Run, TestRepo, Tool, program};

use crate::support::mcp_client::McpClient;
use crate::support::server::Server;

/// The code points by the tables of Unicode: the categories `Cc`, `Zl` and `Zp`, and the properties
/// `Bidi_Control` and `Default_Ignorable_Code_Point` without the variation selectors, which can be seen.
const HIDDEN: [(u32, u32); 22] = [
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x2028, 0x2029),
    (0x202A, 0x202E),
    (0x2060, 0x2065),
    (0x2066, 0x206F),
    (0x3164, 0x3164),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1_BCA0, 0x1_BCA3),
    (0x1_D173, 0x1_D17A),
    (0xE_0000, 0xE_00FF),
    (0xE_0100, 0xE_01EF),
    (0xE_01F0, 0xE_0FFF),
];
/// Some of each kind, for names and queries. A name has at most 255 bytes.
const FEW: &str = "\u{61c}\u{200b}\u{202e}\u{2066}\u{9b}\u{85}\u{e0041}\u{feff}\u{ad}\x1b\x7f\u{2028}";
/// The begin of a line that no text may have: it is after a line feed in the name of a file.
const FORGED: &str = "forged line";

fn is_hidden(c: char) -> bool {
    HIDDEN.iter().any(|&(first, last)| (first..=last).contains(&u32::from(c)))
}

/// The files, with every hidden character in a comment and in a string, and some of them in the names of
/// definitions, headings and the files. Some are committed and some are changed.
fn world() -> TestRepo {
    let all: Vec<char> =
        HIDDEN.iter().flat_map(|&(first, last)| first..=last).filter_map(char::from_u32).collect();
    let mut code = format!(
        "/// Opens the gate {FEW}.\npub fn open_gate(name: &str) {{ close_gate(\"{FEW}\"); }} // {FEW}\n\n"
    );
    for (n, part) in all.chunks(64).enumerate() {
        let part: String = part.iter().filter(|c| !matches!(c, '\0' | '\n')).collect();
        code.push_str(&format!(
            "/// Keeps the gate {part} number {n}.\npub fn keep_gate_{n}() {{ println!(\"the gate {n} {part} is kept\"); }}\n\n"
        ));
    }
    code.push_str(&format!(
        "pub fn close_gate(name: &str) {{ let x = \"{FEW}\"; }}\npub struct Gate {{ hinge_\u{200b}: u32 }}\n"
    ));
    let python = format!(
        "def gate_\u{200d}keeper(x):\n    \"\"\"Keeps {FEW} the gate.\"\"\"\n    return close_gate(\"{FEW}\")\n"
    );
    let text = format!(
        "# The gate {FEW} manual\n\nThe gate {FEW} is opened with `open_gate {FEW}`.\n\n## Closing {FEW}\n\nThe gate {FEW} is closed by `close_gate`.\n"
    );

    let repo = TestRepo::init();
    repo.write(&named("rs"), code).write(&named("py"), python).write(&named("md"), text);
    repo.commit(&format!("Open the {FEW} gate"));
    repo.codeweaver(["init", "--no-hooks"]).success();

    let changed = repo.read(&named("rs")) + &format!("// more {FEW}\n");
    repo.write(&named("rs"), changed)
        .write(&format!("src/new {FEW}\n{FORGED}.txt"), format!("The gate {FEW}\n"));
    repo.git(["mv", &named("py"), &format!("src/moved {FEW}\n{FORGED}.py")]);
    repo
}

fn named(extension: &str) -> String {
    format!("src/na{FEW}\n{FORGED}.{extension}")
}

/// Checks that `text` has no hidden characters, and no line that a name has begun.
#[track_caller]
fn check(text: &str, kept: &[char], what: &str) {
    let hidden = text.char_indices().find(|&(_, c)| c != '\n' && !kept.contains(&c) && is_hidden(c));
    if let Some((at, c)) = hidden {
        let before: String =
            text[..at].chars().rev().take(100).collect::<Vec<_>>().into_iter().rev().collect();
        panic!("{what}: U+{:04X} after {before:?}", u32::from(c));
    }
    let forged = text.lines().find(|line| line.starts_with(FORGED));
    assert_eq!(forged, None, "{what}: {text}");
}

/// Command lines with a query, a name or a path that has hidden characters.
fn command_lines() -> Vec<Vec<String>> {
    let (code, document) = (named("rs"), named("md"));
    let odd = |text: &str| format!("{text}{FEW}");

    let lines: [&[&str]; 47] = [
        &["search", "gate"],
        &["search", "--explain", "gate"],
        &["search", &odd("open_gate ")],
        &["search", &odd("zzz")],
        &["search", &odd("gate path:")],
        &["search", &odd("gate lang:")],
        &["search", "-o", "markdown", &odd("gate")],
        &["search", "-o", "json", &odd("gate")],
        &["search", "--vimgrep", "gate"],
        &["search", "--files-with-matches", "gate"],
        &["search", "--rev", FEW, "gate"],
        &["search", "--kind", FEW, "gate"],
        &["search", "--mode", "exact", "-o", "markdown", "gate"],
        &["search", "--mode", "exact", "-o", "json", "gate"],
        &["search", "--mode", "exact", "--files-with-matches", "gate"],
        &["search", "--mode", "exact", "--count", "gate"],
        &["search", "--mode", "exact", "-o", "markdown", FEW],
        &["search", "--mode", "exact", &odd("zzz")],
        &["search", "--mode", "exact", "--color", "never", &odd("zzz")],
        &["read", &code],
        &["read", "-o", "markdown", &code],
        &["read", "-o", "json", &code],
        &["read", "--rev", "HEAD", &code],
        &["read", FEW],
        &["outline", &code],
        &["outline", &document],
        &["outline", "-o", "json", &code],
        &["outline", "-o", "markdown", &code],
        &["graph", "callers", "close_gate"],
        &["graph", "callees", "open_gate"],
        &["graph", "references", "close_gate"],
        &["graph", "definitions", "open_gate"],
        &["graph", "definitions", FEW],
        &["graph", "references", "close_gate", "-o", "markdown"],
        &["graph", "references", "close_gate", "-o", "json"],
        &["similar", &format!("{code}:2")],
        &["duplicates"],
        &["chunks", &code],
        &["chunks", &document],
        &["ask", "How is the gate closed?"],
        &["ask", &odd("zzzz ")],
        &["status"],
        &["status", "--files"],
        &["status", "--json"],
        &["config", "get", FEW],
        &["config", "set", FEW, "x"],
        &[FEW],
    ];

    lines.iter().map(|line| line.iter().map(|&word| word.to_owned()).collect()).collect()
}

#[test]
fn the_command_line_prints_no_hidden_characters() {
    let repo = world();
    for line in command_lines() {
        let run = repo.codeweaver(&line);
        check(&run.stdout(), &[], &format!("{line:?}"));
        check(&run.stderr(), &[], &format!("{line:?} (stderr)"));
    }

    let found = repo.codeweaver(["search", "-o", "json", "open_gate"]).json();
    assert!(
        found.to_string().contains(Value::from(FEW).to_string().trim_matches('"')),
        "JSON is lossless: {found:#}"
    );
}

/// A search for lines prints them as they are to other programs, and never to a terminal, with or without
/// colours and whatever the terminal says about its size.
#[test]
fn a_terminal_of_unknown_size_is_a_terminal() {
    let repo = world();
    let Some(script) = Tool::SCRIPT.find() else { return };
    for form in ["", " --vimgrep", " -C 2", " --count", " --files-with-matches"] {
        let search =
            format!("{} --no-pager search --color never --mode exact{form} gate", program().display());
        let mut command: Command = repo.command(&script);
        command.args(["-qec", &format!("stty rows 0 cols 0; {search}"), "/dev/null"]);
        command
            .stdin(std::process::Stdio::null())
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS");
        let run = Run::new(&mut command);
        assert!(run.success().stdout().contains("src/"), "{}", run.explain());
        check(&run.stdout(), &['\r'], form);
    }

    let piped = repo.codeweaver(["search", "--mode", "exact", "--vimgrep", "close_gate("]).success().stdout();
    assert!(piped.contains(FEW), "{piped:?}");
}

#[test]
fn agents_get_no_hidden_characters() {
    let repo = world();
    let mut client = McpClient::start(&repo);
    let (code, document) = (named("rs"), named("md"));
    let odd = |text: &str| format!("{text}{FEW}");
    let calls = [
        ("find_code", json!({ "query": "gate", "token_limit": 9000 })),
        ("find_code", json!({ "query": odd("open_gate "), "locations_only": true })),
        ("find_code", json!({ "queries": [odd("zzz"), odd("gate ")] })),
        ("find_code", json!({ "query": "gate", "paths": [FEW] })),
        ("find_code", json!({ "query": "gate", "path": FEW })),
        ("find_code", json!({ "query": "gate", FEW: 1 })),
        ("find_text", json!({ "pattern": "gate", "context": 1 })),
        ("find_text", json!({ "pattern": FEW })),
        ("find_text", json!({ "pattern": odd("zzz") })),
        ("find_text", json!({ "pattern": "gate", "output": "files" })),
        ("find_symbol", json!({ "symbol": "open_gate" })),
        ("find_symbol", json!({ "symbol": "*gate*" })),
        ("find_symbol", json!({ "symbol": odd("zzz") })),
        ("find_symbol", json!({ "symbols": ["Gate", "close_gate"] })),
        ("ask_docs", json!({ "question": "How is the gate closed?" })),
        ("ask_docs", json!({ "question": odd("zzzz ") })),
        ("find_similar", json!({ "file": code, "line": 2 })),
        ("find_similar", json!({})),
        ("file_outline", json!({ "file": code })),
        ("file_outline", json!({ "file": document })),
        ("file_outline", json!({ "file": FEW })),
        ("call_graph", json!({ "symbol": "close_gate", "direction": "callers" })),
        ("call_graph", json!({ "symbol": "open_gate", "direction": "callees" })),
        ("call_graph", json!({ "symbol": "close_gate", "direction": "references" })),
        ("call_graph", json!({ "symbol": FEW })),
        ("read_code", json!({ "file": code, "token_limit": 90_000 })),
        ("read_code", json!({ "places": [format!("{code}:1-4"), "open_gate", "keep_gate_3", FEW] })),
        ("read_code", json!({ "file": FEW })),
        ("read_code", json!({ "file": code, "rev": FEW })),
        ("list_files", json!({})),
        ("list_files", json!({ "depth": 1 })),
        ("list_files", json!({ "paths": [FEW] })),
        ("changes", json!({})),
        ("changes", json!({ "show": "diff" })),
        ("changes", json!({ "show": "commits" })),
        ("changes", json!({ "show": "files", "to": "HEAD" })),
        ("changes", json!({ "message": "gate" })),
        ("changes", json!({ "symbol": "open_gate" })),
        ("changes", json!({ "from": FEW })),
        ("changes", json!({ "paths": [FEW] })),
        ("manage_index", json!({ "action": "status" })),
        ("manage_index", json!({ "action": FEW })),
    ];
    for (tool, arguments) in calls {
        for format in ["text", "json"] {
            let mut arguments = arguments.clone();
            arguments["format"] = json!(format);
            let result = client.call_plainly(tool, arguments.clone());
            // Code keeps its tabs and ends of lines.
            let text = result["content"][0]["text"].as_str().unwrap();
            check(text, &['\t'], &format!("{tool} {arguments}"));
        }
    }

    let read = client.ask("read_code", json!({ "file": code }));
    assert!(read["text"].as_str().unwrap().contains(FEW), "structured content is lossless: {read:#}");
}

#[test]
fn pages_have_no_hidden_characters() {
    let repo = world();
    let server = Server::start(&repo, &[]);
    let (code, document, few) = (encoded(&named("rs")), encoded(&named("md")), encoded(FEW));

    let paths = [
        "".to_owned(),
        format!("search?q=gate{few}"),
        format!("search?q=gate%0A{few}"),
        format!("search?q=zzz{few}"),
        format!("search?q=gate+path:{few}"),
        format!("search?q=gate+lang:{few}"),
        format!("search?q=gate&path={few}&rev={few}"),
        format!("search?q=gate&mode={few}"),
        format!("search?q=gate&{few}={few}"),
        "search?q=gate&explain=1".to_owned(),
        "search?q=gate&mode=exact".to_owned(),
        format!("search?q={few}&mode=exact"),
        format!("results?q=gate{few}"),
        format!("file?path={code}"),
        format!("file?path={code}&rev=HEAD"),
        format!("file?path={code}&rev={few}"),
        format!("file?path={document}"),
        format!("file?path={few}"),
        "files".to_owned(),
        "files?path=src".to_owned(),
        format!("files?path={few}"),
        format!("history?path={code}"),
        format!("history?path={few}"),
        "history?symbol=open_gate".to_owned(),
        "symbol?symbol=open_gate".to_owned(),
        "symbol?symbol=close_gate".to_owned(),
        format!("symbol?symbol={few}"),
        format!("similar?path={code}&line=2"),
        "skipped".to_owned(),
        "status".to_owned(),
        few.to_string(),
        "api/search?q=gate".to_owned(),
        format!("api/search?q=zzz{few}"),
        "api/search?q=gate&mode=exact".to_owned(),
        "api/search?q=gate&mode=exact&stream=1".to_owned(),
        format!("api/search?q=gate&rev={few}"),
        format!("api/file?path={code}"),
        format!("api/outline?path={code}"),
        "api/files".to_owned(),
        "api/history".to_owned(),
        "api/graph?symbol=close_gate".to_owned(),
        format!("api/similar?path={code}&line=2"),
        "api/ask?q=how+is+the+gate+closed".to_owned(),
        format!("api/{few}"),
    ];

    for path in paths {
        let answer = server.get(&path);
        assert!(answer.status < 500, "{path}: {}", answer.body);
        check(&without_copied_command(&without_hidden_fields(&answer.body)), &['\t'], &path);
    }
}

/// A page without its hidden fields, whose values go back to the server and are never displayed.
fn without_hidden_fields(body: &str) -> String {
    let mut parts = body.split("<input type=\"hidden\"");
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(|part| part.split_once('>').map_or("", |(_, rest)| rest)).collect::<String>()
}

/// A page without the command to copy, in which a line feed of a path is between quotes of the shell.
fn without_copied_command(body: &str) -> String {
    let Some((before, rest)) = body.split_once("<pre id=\"copy-command\"") else { return body.to_owned() };
    format!("{before}{}", rest.split_once("</pre>").map_or("", |(_, after)| after))
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
