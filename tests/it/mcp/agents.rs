//! `agent`: what is told to agents is shown, written and undone byte for byte, and their hooks are answered.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use codeweaver_chunk::tokens;
use codeweaver_testkit::{Run, TestRepo, program};

/// Files of a project, as people write them.
const PROJECT: &[(&str, &str)] = &[
    ("AGENTS.md", "# Rules\n\nBe kind.\n"),
    ("GEMINI.md", "no newline at the end"),
    (".github/copilot-instructions.md", "# Copilot\r\n\r\nBe brief.\r\n"),
    (
        ".claude/settings.json",
        "{\n  // mine\n  \"model\": \"x\",\n  \"hooks\": {\n    \"PostToolUse\": [{ \"matcher\": \"Edit\", \"hooks\": \
         [{ \"type\": \"command\", \"command\": \"lint\" }] }]\n  }\n}\n",
    ),
    (".cursor/rules/other.mdc", "other\n"),
];
const ALL: [&str; 5] = ["claude-code", "agents-md", "cursor", "copilot", "gemini"];

fn repository(files: &[(&str, &str)]) -> TestRepo {
    let repo = TestRepo::with_files(files);
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME"].iter().fold(repo, |repo, name| repo.env(name, ""))
}

fn agent(repo: &TestRepo, args: &[&str]) -> Run {
    repo.codeweaver(["agent"].iter().chain(args))
}

fn install(repo: &TestRepo, products: &[&str]) -> Run {
    agent(repo, &[&["install", "--yes"][..], products].concat())
}

/// All files of the project and of its user, with their bytes.
fn files(repo: &TestRepo) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![repo.root().to_path_buf(), repo.root().with_file_name("home")];
    while let Some(dir) = open.pop() {
        for child in std::fs::read_dir(dir).into_iter().flatten() {
            let path = child.unwrap().path();
            if !path.is_dir() {
                found.push((path.clone(), std::fs::read(&path).unwrap()));
            } else if path.file_name().is_none_or(|name| name != ".git") {
                found.push((path.clone(), Vec::new()));
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn uninstalling_gives_back_the_bytes_from_before() {
    for sample in [PROJECT, &[("a.txt", "a\n")]] {
        let repo = repository(sample);
        let before = files(&repo);
        let shown = install(&repo, &ALL);
        shown.success().says(&[
            "+++ .claude/skills/git-codeweaver/SKILL.md",
            "git-codeweaver agent hook",
            "Installed:",
        ]);
        assert_eq!(repo.read("AGENTS.md").matches("git codeweaver tool read_code").count(), 1);
        assert!(repo.read(".cursor/rules/git-codeweaver.mdc").starts_with("---\ndescription: "));
        let settings: Value =
            serde_json::from_str(&repo.read(".claude/settings.json").replace("// mine", "")).unwrap();
        let hooks = settings["hooks"]["PostToolUse"].as_array().unwrap();
        assert_eq!(hooks.last().unwrap()["matcher"], "Grep|Glob|Read|Bash", "{settings:#}");

        let written = files(&repo);
        let again = install(&repo, &ALL);
        assert!(
            again.success().stdout().lines().all(|line| line.starts_with("Up to date:")),
            "{}",
            again.stdout()
        );
        assert_eq!(files(&repo), written);
        agent(&repo, &["status"]).success().says(&["Claude Code     installed", "GitHub Copilot  installed"]);

        agent(&repo, &["uninstall", "--yes"]).success();
        assert_eq!(files(&repo), before);
        assert!(agent(&repo, &["uninstall", "--yes"]).success().stderr().contains("Nothing to remove"));
    }
}

#[test]
fn what_others_write_in_between_stays() {
    let repo = repository(PROJECT);
    install(&repo, &ALL).success();
    let edit = |path: &str, from: &str, to: &str| {
        let text = repo.read(path);
        assert!(text.contains(from), "{path}: {text}");
        repo.write(path, text.replacen(from, to, 1));
    };
    edit("AGENTS.md", "Be kind.", "Be very kind.");
    repo.write("AGENTS.md", repo.read("AGENTS.md") + "\nMore.\n");
    edit(".claude/settings.json", "\"model\": \"x\"", "\"model\": \"y\"");
    edit(".claude/settings.json", "\"PostToolUse\"", "\"Stop\": [], \"PostToolUse\"");
    repo.write(".claude/skills/git-codeweaver/notes.md", "mine\n");

    agent(&repo, &["uninstall", "--yes"]).success();
    assert_eq!(repo.read("AGENTS.md"), "# Rules\n\nBe very kind.\n\nMore.\n");
    let settings = repo.read(".claude/settings.json");
    assert_eq!(
        settings,
        PROJECT[3].1.replace("\"x\"", "\"y\"").replace("\"PostToolUse\"", "\"Stop\": [], \"PostToolUse\"")
    );
    assert_eq!(repo.read(".claude/skills/git-codeweaver/notes.md"), "mine\n");
    assert!(!repo.path(".claude/skills/git-codeweaver/SKILL.md").exists());

    // A skill that someone has rewritten is not removed, and not replaced.
    install(&repo, &["claude-code"]).success();
    repo.write(".claude/skills/git-codeweaver/SKILL.md", "rewritten\n");
    install(&repo, &["claude-code"])
        .fails(2)
        .is_an_error("SKILL.md is not edited", "correct or move the file");
    agent(&repo, &["uninstall", "--yes", "claude-code"]).fails(2);
    assert_eq!(repo.read(".claude/skills/git-codeweaver/SKILL.md"), "rewritten\n");
}

#[test]
fn settings_that_are_no_json_are_refused_and_nothing_is_written() {
    let repo = repository(&[(".claude/settings.json", "{ \"hooks\": \n"), ("AGENTS.md", "x\n")]);
    let before = files(&repo);
    let refused = install(&repo, &["agents-md", "claude-code"]);
    refused.fails(2).is_an_error("settings.json is not edited", "correct or move the file");
    assert!(refused.stderr().contains("not valid JSON"), "{}", refused.stderr());
    assert_eq!(files(&repo), before);
    // It has nothing to remove.
    agent(&repo, &["uninstall", "--yes"]).success();
    assert_eq!(files(&repo), before);
}

#[test]
fn nothing_is_written_without_consent() {
    let repo = repository(PROJECT);
    let before = files(&repo);
    let shown = agent(&repo, &["install", "gemini", "--dry-run"]);
    assert!(shown.success().stdout().contains("+<!-- git-codeweaver: begin -->"), "{}", shown.stdout());
    agent(&repo, &["install", "gemini"]).fails(2).is_an_error("nothing is written", "--yes");
    assert_eq!(files(&repo), before);
    // Links out of the project are not followed.
    std::fs::write(repo.beside("outside.md"), "out\n").unwrap();
    repo.remove("GEMINI.md").symlink("GEMINI.md", repo.beside("outside.md").to_str().unwrap());
    install(&repo, &["gemini"]).fails(2);
    assert_eq!(std::fs::read_to_string(repo.beside("outside.md")).unwrap(), "out\n");
}

#[test]
fn the_files_of_the_user_are_for_all_repositories() {
    let repo = repository(&[("a.txt", "a\n")]);
    let before = files(&repo);
    install(&repo, &["--global", "claude-code", "gemini"]).success();
    let home = repo.root().with_file_name("home");
    let skill = std::fs::read_to_string(home.join(".claude/skills/git-codeweaver/SKILL.md")).unwrap();
    assert!(skill.starts_with("---\nname: git-codeweaver\ndescription: "), "{skill}");
    assert!(home.join(".gemini/GEMINI.md").exists() && !repo.path(".claude").exists());
    install(&repo, &["--global", "cursor"]).fails(2).is_an_error("Cursor has no file", "omit --global");
    agent(&repo, &["uninstall", "--yes", "--global"]).success();
    assert_eq!(files(&repo), before);
}

#[test]
fn the_file_of_another_program_is_written_only_if_that_is_here() {
    let repo = repository(&[("a.txt", "a\n")]).env("PATH", "/usr/bin:/bin");
    let home = repo.root().with_file_name("home");
    install(&repo, &["--global", "agents-md"]).success();
    assert!(home.join(".codex/AGENTS.md").exists() && !home.join(".config/opencode").exists());

    // Without a name, products that have no file of the user are passed over.
    let bin = repo.beside("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["opencode", "cursor"] {
        std::fs::write(bin.join(format!("{program}{}", std::env::consts::EXE_SUFFIX)), "").unwrap();
    }
    let path = std::env::join_paths([bin.as_path(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let repo = repo.env("PATH", path.to_str().unwrap());
    install(&repo, &["--global"]).success();
    let text = std::fs::read_to_string(home.join(".config/opencode/AGENTS.md")).unwrap();
    assert!(text.contains("git codeweaver tool read_code"), "{text}");

    agent(&repo, &["uninstall", "--yes", "--global"]).success();
    assert!(!home.join(".codex").exists() && !home.join(".config/opencode").exists());
}

#[test]
fn init_tells_the_agents_in_use_and_deinit_undoes_it() {
    let repo = repository(PROJECT);
    let before = files(&repo);
    repo.codeweaver(["init", "--agent", "--no-hooks"]).success().says(&["+++ AGENTS.md", "Installed:"]);
    for path in ["AGENTS.md", "GEMINI.md", ".claude/settings.json", ".github/copilot-instructions.md"] {
        assert!(repo.read(path).contains("codeweaver"), "{path}");
    }
    repo.codeweaver(["deinit"]).success();
    assert_eq!(files(&repo), before);
}

/// The answer of the hook to the call of a tool, as the agent reads it; empty if there is none.
fn advice(repo: &TestRepo, tool: &str, input: Value, response: Value) -> String {
    let event = json!({
        "session_id": "s", "transcript_path": "/t", "cwd": repo.root(), "hook_event_name": "PostToolUse",
        "tool_name": tool, "tool_input": input, "tool_response": response, "tool_use_id": "u",
    });
    let text = raw_advice(repo, event.to_string().as_bytes());
    if text.is_empty() {
        return text;
    }
    let answer: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(answer["hookSpecificOutput"]["hookEventName"], "PostToolUse", "{answer:#}");
    let advice = answer["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned();
    assert!(tokens::count(&advice) <= 310, "{advice}");
    advice
}

/// What the hook prints for any input. It never fails. Its time is not limited here, since the machine may be
/// busy.
fn raw_advice(repo: &TestRepo, input: &[u8]) -> String {
    let mut command = repo.command(program());
    command.args(["agent", "hook", "--budget-ms", "60000"]);
    let run = Run::with_input(&mut command, input);
    assert_eq!((run.success().stderr().as_str(), run.code()), ("", 0));
    run.stdout()
}

#[test]
fn hooks_add_definitions_and_callers_to_what_was_searched() {
    let repo = TestRepo::with_files(&[
        (
            "src/session.py",
            "def open_session(app):\n    \"\"\"Reads the cookie of a session.\"\"\"\n    return app\n",
        ),
        (
            "src/app.py",
            "from session import open_session\n\n\ndef handle(app):\n    return open_session(app)\n",
        ),
    ]);
    let grep = |pattern: &str, content: &str| {
        advice(&repo, "Grep", json!({ "pattern": pattern }), json!({ "numFiles": 1, "content": content }))
    };
    // Without an index there is silence, and none is built.
    assert_eq!(grep("open_session", "src/app.py"), "");
    assert!(!repo.path(".codeweaver").exists());
    repo.codeweaver(["init", "--no-hooks"]).success();

    let text = grep("open_session", "src/app.py");
    let expected = "git-codeweaver: open_session is defined at src/session.py:1-3 def open_session(app)\n\
        open_session is called at src/app.py:5 (handle)";
    assert_eq!(text, expected);
    // What the agent has seen is not repeated.
    let text = grep("open_session", "src/session.py:1:def open_session(app):");
    assert_eq!(text, "git-codeweaver: open_session is called at src/app.py:5 (handle)");
    let in_shell = advice(
        &repo,
        "Bash",
        json!({ "command": "cd src && rg -n 'def open_session' ." }),
        json!({ "stdout": "x", "stderr": "" }),
    );
    assert_eq!(in_shell, expected);

    let read = json!({ "file_path": repo.path("src/session.py"), "offset": 1, "limit": 3 });
    let text = advice(&repo, "Read", read, json!({ "file": { "content": "def open_session" } }));
    assert_eq!(text, "git-codeweaver: open_session is called at src/app.py:5 (handle)");
    let words = json!({ "pattern": "reads.*cookie.*session" });
    let text = advice(&repo, "Grep", words, json!({ "numFiles": 0, "filenames": [] }));
    assert!(
        text.contains("nearest to `reads cookie session`") && text.contains("src/session.py:1-3"),
        "{text}"
    );

    for (tool, input) in [
        ("Grep", json!({ "pattern": "nothing_of_this_name" })),
        ("Bash", json!({ "command": "ls" })),
        ("Read", json!({ "file_path": "/etc/passwd", "offset": 1, "limit": 3 })),
        ("Edit", json!({ "file_path": "src/app.py" })),
    ] {
        assert_eq!(advice(&repo, tool, input.clone(), json!("found")), "", "{tool} {input}");
    }
    for broken in [&b""[..], b"{", b"[]", b"{\"cwd\": 3}", &[0xff, 0xfe]] {
        assert_eq!(raw_advice(&repo, broken), "");
    }
    let elsewhere = TestRepo::empty_dir();
    assert_eq!(advice(&elsewhere, "Grep", json!({ "pattern": "open_session" }), json!("x")), "");
}

#[test]
fn the_calls_of_the_method_that_was_read_are_added_and_not_those_of_its_class() {
    let repo = TestRepo::with_files(&[
        (
            "src/cart.py",
            "class Cart:\n    def total(self):\n        return 1\n\n    def clear(self):\n        return 2\n",
        ),
        ("src/app.py", "from cart import Cart\n\n\ndef pay():\n    cart = Cart()\n    return cart.total()\n"),
    ]);
    repo.codeweaver(["init", "--no-hooks"]).success();

    // Agents read a line more or less than the method has.
    for (offset, limit) in [(2, 2), (2, 3), (1, 3), (3, 1)] {
        let read = json!({ "file_path": repo.path("src/cart.py"), "offset": offset, "limit": limit });
        let text = advice(&repo, "Read", read, json!({ "file": { "content": "…" } }));
        assert_eq!(text, "git-codeweaver: total is called at src/app.py:6 (pay)", "{offset} {limit}");
    }
    let read = json!({ "file_path": repo.path("src/cart.py"), "offset": 1, "limit": 1 });
    let text = advice(&repo, "Read", read, json!({ "file": { "content": "…" } }));
    assert_eq!(text, "git-codeweaver: Cart is called at src/app.py:5 (pay)");
}
