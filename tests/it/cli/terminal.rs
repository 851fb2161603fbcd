//! Terminal output: control sequences from content and names are escaped.

use unicode_width::UnicodeWidthStr as _;

use codeweaver_testkit::{FILES, Run, TestRepo, Tool, program};

const EVIL: &str = "/// Retitles \x1b]0;owned\x07 the \u{9b}31mwindow \u{202e}backwards.\npub fn evil_function() { /* \x1b[2J */ }\n";

fn indexed() -> TestRepo {
    let repo =
        TestRepo::with_files(&[("src/evil.rs", EVIL), ("src/\x1b[31mred.rs", "pub fn evil_name() {}\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn control_sequences_in_content_and_names_are_escaped() {
    let repo = indexed();
    for args in [
        &["search", "evil_function"][..],
        &["search", "evil_name"],
        &["search", "-o", "markdown", "evil_function"],
        &["search", "-o", "json", "evil_function"],
        &["similar", "src/evil.rs:2"],
        &["outline", "src/evil.rs"],
        &["outline", "-o", "json", "src/evil.rs"],
        &["read", "src/evil.rs"],
        &["read", "-o", "markdown", "src/evil.rs"],
        &["chunks", "src/evil.rs"],
        &["chunks", "--stats", "--sample"],
        &["status", "--files"],
        &["search", "--rev", "\x1b[31mevil", "x"],
        &["outline", "no\x1b[31msuch"],
        &["config", "get", "a\x1b[31mb"],
    ] {
        let run = repo.codeweaver(args);
        for text in [run.stdout(), run.stderr()] {
            let is_bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(is_bad), "{}", run.explain());
        }
    }
    let run = repo.codeweaver(["search", "-o", "json", "evil_function"]);
    assert!(
        run.json()["matches"][0]["content"]["text"].as_str().unwrap().contains("\x1b]0;owned\x07"),
        "JSON is lossless"
    );
}

#[test]
fn colours_and_links_come_from_the_program_only() {
    let repo = indexed();
    let text =
        repo.codeweaver(["search", "--color", "always", "-l", "1", "evil_function"]).success().stdout();
    assert!(text.contains("\x1b]8;;file:///") && text.contains("src/evil.rs#L2\x1b\\"), "{text:?}");
    assert!(!text.contains("\x1b]0;") && !text.contains("\x1b[2J") && !text.contains('\u{9b}'), "{text:?}");
    let text = repo.codeweaver(["search", "--color", "never", "evil_function"]).success().stdout();
    assert!(!text.contains('\x1b'));
}

#[test]
fn logs_are_json_with_documented_fields() {
    let repo = indexed().env("CODEWEAVER_LOG", "info").env("CODEWEAVER_LOG_FORMAT", "json");
    let run = repo.codeweaver(["search", "--rev", "nonsense", "x"]);
    let records: Vec<serde_json::Value> =
        run.stderr().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last = records.last().unwrap_or_else(|| panic!("{}", run.explain()));
    assert_eq!(
        (&last["level"], &last["component"], &last["operation"]),
        (&"INFO".into(), &"cli".into(), &"search".into())
    );
    assert_eq!(last["codebase_root"], repo.root().to_str().unwrap());
    assert!(last["duration_ms"].is_u64() && last["error"].as_str().unwrap().contains("nonsense"), "{last}");
    assert_eq!(last["request_id"].as_str().unwrap().len(), 36);
    assert!(last["timestamp"].as_str().unwrap().ends_with('Z'));
}

/// Runs the program on a terminal of this size, with this pager.
fn on_terminal(repo: &TestRepo, (rows, columns): (u32, u32), pager: &str, args: &str) -> Option<Run> {
    let script = Tool::SCRIPT.find()?;
    let command = format!("stty rows {rows} cols {columns}; {} {args}", program().display());
    let mut script = repo.command(script);
    script.args(["-qec", &command, "/dev/null"]).stdin(std::process::Stdio::null());
    script.env("TERM", "xterm").env("GIT_PAGER", pager).env_remove("COLUMNS").env_remove("LESS");
    Some(Run::new(&mut script))
}

#[test]
fn long_output_on_a_terminal_goes_through_the_pager() {
    let repo = indexed();
    repo.write("src/long.rs", "pub fn long() {}\n".repeat(50)).commit("long");
    let run = |pager: &str, args: &str| on_terminal(&repo, (20, 80), pager, args);
    let Some(long) = run("sed 's/^/paged /'", "read src/long.rs") else { return };
    assert!(long.success().stdout().lines().all(|line| line.starts_with("paged ")), "{}", long.explain());
    // What fits on the screen is printed, and what is not wanted.
    for (pager, args) in [
        ("sed 's/^/paged /'", "read src/long.rs:1-10"),
        ("sed 's/^/paged /'", "--no-pager read src/long.rs"),
        ("cat", "read src/long.rs"),
        ("", "read src/long.rs"),
    ] {
        let shown = run(pager, args).unwrap();
        assert!(!shown.success().stdout().contains("paged"), "{}", shown.explain());
        // The words have colours of their own.
        assert!(shown.stdout().contains("long") && shown.stdout().contains("() {}"), "{}", shown.explain());
    }
    // Who quits early has seen enough.
    let quit = run("head -1", "read src/long.rs").unwrap();
    assert_eq!(quit.success().stdout().lines().count(), 1, "{}", quit.explain());
    assert!(!quit.stdout().contains("error"), "{}", quit.explain());
    // A pager that is not there loses nothing.
    let missing = run("no-such-pager", "read src/long.rs").unwrap();
    assert!(missing.success().stdout().contains("50 │"), "{}", missing.explain());
    missing.says(&["the pager 'no-such-pager' cannot be run"]);
    let options = run("printenv LESS LV; cat >/dev/null", "read src/long.rs").unwrap();
    assert_eq!(options.stdout().lines().collect::<Vec<_>>(), ["FRX", "-c"], "{}", options.explain());
    repo.git(["config", "pager.codeweaver", "false"]);
    let off = run("sed 's/^/paged /'", "read src/long.rs").unwrap();
    assert!(!off.success().stdout().contains("paged"), "{}", off.explain());
}

#[test]
fn a_pager_of_the_repository_is_not_run() {
    let repo = indexed();
    repo.write("src/long.rs", "pub fn long() {}\n".repeat(50)).commit("long");
    repo.git(["config", "core.pager", "touch canary; cat"]);
    repo.git(["config", "pager.codeweaver", "touch canary; cat"]);
    let script =
        format!("stty rows 20 cols 80; env -u GIT_PAGER PAGER=cat {} read src/long.rs", program().display());
    let Some(tool) = Tool::SCRIPT.find() else { return };
    let run = Run::new(repo.command(tool).args(["-qec", &script, "/dev/null"]).env("TERM", "xterm"));
    assert!(run.success().stdout().contains("50 │"), "{}", run.explain());
    assert!(!repo.path("canary").exists());
}

/// What is printed for a terminal of this width, without colours.
fn shown_at(repo: &TestRepo, columns: usize, args: &[&str]) -> String {
    let mut command = repo.command(program());
    command.env("GIT_PAGER_IN_USE", "true").env("COLUMNS", columns.to_string()).env("NO_COLOR", "1");
    Run::new(command.args(args)).success().stdout()
}

#[test]
fn lines_fit_the_terminal() {
    let long = format!("    let text = \"{}\";\n", "漢字とかな".repeat(30));
    let parameters: Vec<String> = (0..40).map(|i| format!("parameter_{i}: u32")).collect();
    let code = format!(
        "/// Renders a wide line, {}.\npub fn render_wide({}) {{\n{long}}}\n",
        "of many words ".repeat(12),
        parameters.join(", ")
    );
    let repo = TestRepo::with_files(&[("src/wide.rs", code.as_str())]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    for columns in [60, 80, 200] {
        for args in [
            &["search", "render_wide"][..],
            &["outline", "src/wide.rs"],
            &["graph", "definitions", "render_wide"],
        ] {
            let text = shown_at(&repo, columns, args);
            for line in text.lines() {
                assert!(line.width() <= columns, "{} columns of {columns}:\n{line}", line.width());
            }
            assert!(text.contains('…'), "{text}");
        }
    }
    // Without a terminal nothing depends on one.
    let piped = repo.codeweaver(["outline", "src/wide.rs"]).success().stdout();
    assert!(piped.lines().next_back().unwrap().width() > 100, "{piped}");
}

/// A path is not cut, so that it can be copied.
#[test]
fn edges_with_long_paths_fit_the_terminal() {
    let path = "packages/service/src/application/web/servlet/annotation/adapter.py";
    let code = "def adapt(handler):\n    return handler\n\n\ndef run(handler):\n    adapt(handler)\n";
    let repo = TestRepo::with_files(&[(path, code)]);
    repo.codeweaver(["init", "--no-hooks"]).success();

    let text = shown_at(&repo, 80, &["graph", "callers", "adapt"]);
    for line in text.lines() {
        assert!(line.width() <= 80, "{} columns:\n{text}", line.width());
    }
    assert!(text.contains(&format!("\n  exact\n    {path}:5-6\n    (line 6: ")), "{text}");
    let wide = shown_at(&repo, 200, &["graph", "callers", "adapt"]);
    assert!(wide.contains(&format!("\n  exact       {path}:5-6  def run(handler)  (line 6: ")), "{wide}");
}

#[test]
fn words_of_the_query_and_the_symbol_are_emphasised() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let shown = |args: &[&str]| {
        repo.codeweaver([&["search", "--color", "always", "-l", "1"][..], args].concat()).stdout()
    };
    let matched = |text: &str| format!("\x1b[1m\x1b[31m{text}\x1b[0m");
    assert!(shown(&["split a header"]).contains(&format!(
        "{} a {} line",
        matched("Splits"),
        matched("header")
    )));
    let by_symbol = shown(&["--kind", "function", "calls again after pauses"]);
    let keyword = "\x1b[35mdef\x1b[0m";
    assert!(by_symbol.contains(&format!("{keyword} {}(", matched("retry_with_backoff"))), "{by_symbol}");
    let plain = repo.codeweaver(["search", "--color", "never", "split a header"]).stdout();
    assert!(!plain.contains('\x1b'));
}

#[test]
fn colours_follow_the_configuration_of_git() {
    let repo = indexed();
    let shown = |repo: &TestRepo, variables: &[(&str, &str)]| {
        let mut command = repo.command(program());
        command.env("GIT_PAGER_IN_USE", "true").env("TERM", "xterm").env_remove("NO_COLOR");
        command.envs(variables.iter().copied());
        Run::new(command.args(["search", "evil_function"])).success().stdout()
    };
    assert!(shown(&repo, &[]).contains('\x1b'));
    assert!(!shown(&repo, &[("NO_COLOR", "1")]).contains('\x1b'));
    repo.git(["config", "color.ui", "never"]);
    assert!(!shown(&repo, &[]).contains('\x1b'));
    repo.git(["config", "color.codeweaver", "auto"]);
    assert!(shown(&repo, &[]).contains('\x1b'));
}
