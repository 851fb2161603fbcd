//! The picker, on a real terminal.

use std::process::Stdio;

use codeweaver_testkit::{FILES, TestRepo, Tool, program, wait_for};

use super::pty::Terminal;

/// A picker on a terminal of 80 columns and 24 rows.
struct Picker(Terminal);

impl Picker {
    fn start(repo: &TestRepo, arguments: &str) -> Picker {
        let line =
            format!("stty cols 80 rows 24; {} search {arguments}; echo \"[exit $?]\"", program().display());
        let mut script = repo.command("script");
        script.env("TERM", "xterm").env_remove("GIT_EDITOR").env_remove("VISUAL");
        script.env("EDITOR", repo.path("../home/vim"));

        let picker = Picker(Terminal::start(&mut script, &line));
        picker.shows("type to search");
        picker
    }

    fn types(&mut self, keys: &str) {
        self.0.types(keys);
    }

    /// Waits until `wanted` was printed, without its colours.
    fn shows(&self, wanted: &str) {
        wait_for(&format!("the picker prints {wanted:?}"), || {
            let text = without_escapes(&self.0.printed());
            text.contains(wanted).then_some(()).ok_or(text)
        });
    }

    /// Waits for the end; all that was printed.
    fn ends(mut self) -> String {
        self.shows("[exit ");
        self.0.wait();
        without_escapes(&self.0.printed())
    }
}

/// Removes sequences such as `ESC [ 1 m`.
fn without_escapes(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(
            part.trim_start_matches(|c: char| c.is_ascii_digit() || ";?".contains(c)).get(1..).unwrap_or(""),
        );
    }
    out
}

fn repo() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("../home/vim", "#!/bin/sh\necho \"edited $@\"\n").executable("../home/vim");
    repo
}

#[test]
fn results_are_shown_while_typing_and_enter_opens_the_editor() {
    if Tool::SCRIPT.find().is_none() {
        return;
    }
    let repo = repo();
    let mut picker = Picker::start(&repo, "");
    picker.types("parse_head");
    picker.shows("src/parse.rs:");
    picker.types("er");
    picker.shows("> parse_header");
    picker.types("\r");
    let text = picker.ends();
    assert!(text.contains("edited +") && text.contains("src/parse.rs"), "{text}");
    assert!(text.contains("[exit 0]"), "{text}");
}

#[test]
fn a_place_is_printed_and_an_unfinished_condition_is_no_end() {
    if Tool::SCRIPT.find().is_none() {
        return;
    }
    let repo = repo();
    let mut picker = Picker::start(&repo, "--path src");
    picker.types("lang:pyt");
    picker.shows("pyt");
    picker.types("hon call again after a pause");
    picker.shows("retry_with_backoff");
    picker.types("\x1b[A\x1b[6~");
    picker.types("\x19");
    let text = picker.ends();
    assert!(text.contains("src/retry.py:4") && text.contains("[exit 0]"), "{text}");
}

#[test]
fn lines_are_listed_and_escape_ends_with_one() {
    if Tool::SCRIPT.find().is_none() {
        return;
    }
    let repo = repo();
    let mut picker = Picker::start(&repo, "");
    picker.types("\"TimeoutError\"");
    picker.shows("src/retry.py:11");
    picker.types("\x15no such thing in here at all\x17");
    picker.shows("> no such thing in here at ");
    picker.types("\x03");
    let text = picker.ends();
    assert!(text.contains("[exit 1]"), "{text}");
}

#[test]
fn without_a_terminal_or_an_index_it_says_what_to_do() {
    let repo = repo();
    repo.codeweaver(["search"])
        .fails(2)
        .says(&["there is nothing to search for", "git codeweaver search \"your query\""]);
    if Tool::SCRIPT.find().is_none() {
        return;
    }

    let other = TestRepo::with_files(FILES);
    let text = printed_on_terminal(&other, "");
    assert!(text.contains("git codeweaver init"), "{text}");
}

#[test]
fn options_that_it_would_ignore_do_not_start_it() {
    if Tool::SCRIPT.find().is_none() {
        return;
    }
    let repo = repo();
    for options in ["-o json", "--explain", "-l 3", "--mode keyword"] {
        let text = printed_on_terminal(&repo, options);
        assert!(text.contains("there is nothing to search for"), "{options}: {text}");
    }
}

/// Everything that a search prints on a terminal on which nothing is typed.
fn printed_on_terminal(repo: &TestRepo, arguments: &str) -> String {
    let line = format!("{} search {arguments}", program().display());
    let mut command = repo.command("script");
    command.args(["-qfec", &line, "/dev/null"]).env("SHELL", "/bin/sh");
    let output = command.stdin(Stdio::piped()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
