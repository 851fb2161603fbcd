//! Finished processes.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A finished process. Every failed assertion prints the command, its directory, its status, both streams and
/// the files of the directory.
pub struct Run {
    command: String,
    dir: PathBuf,
    output: Output,
}

impl Run {
    /// Runs `command` to its end.
    #[track_caller]
    pub fn new(command: &mut Command) -> Run {
        let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Run::finished(command, output)
    }

    /// Runs `command` to its end with `input` as its standard input.
    #[track_caller]
    pub fn with_input(command: &mut Command, input: &[u8]) -> Run {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        // A process that ends without reading its input is judged by its status.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Run::finished(command, output)
    }

    fn finished(command: &Command, output: Output) -> Run {
        let dir = command.get_current_dir().map(PathBuf::from);
        Run { command: format!("{command:?}"), dir: dir.unwrap_or_default(), output }
    }

    /// Returns the exit code, or -1 if a signal ended the process.
    pub fn code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    /// Asserts exit code 0.
    #[track_caller]
    pub fn success(&self) -> &Run {
        self.fails(0)
    }

    /// Asserts this exit code.
    #[track_caller]
    pub fn fails(&self, code: i32) -> &Run {
        assert_eq!(self.code(), code, "{}", self.explain());
        self
    }

    pub fn bytes(&self) -> &[u8] {
        &self.output.stdout
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).expect("stdout is UTF-8")
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).expect("stderr is UTF-8")
    }

    /// Parses stdout as one JSON value, or the last of its lines.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let text = self.stdout();
        let last = text.lines().last().unwrap_or_default();
        let value = serde_json::from_str(&text).or_else(|_| serde_json::from_str(last));
        value.unwrap_or_else(|e| panic!("{e}\n{}", self.explain()))
    }

    /// Asserts that each of `words` occurs in one of the streams.
    #[track_caller]
    pub fn says(&self, words: &[&str]) -> &Run {
        let text = self.stdout() + &self.stderr();
        for word in words {
            assert!(text.contains(word), "{word:?} is missing\n{}", self.explain());
        }
        self
    }

    /// Asserts an error message in three lines on stderr: what failed (contains `what`), why, and how to fix
    /// it (contains `fix`).
    #[track_caller]
    pub fn is_an_error(&self, what: &str, fix: &str) -> &Run {
        let text = self.stderr();
        assert!(labelled(&text, "error: ").contains(what), "what: {}", self.explain());
        let why = labelled(&text, "  why: ");
        assert!(why.trim().len() > 3 && why != "(missing)", "why: {}", self.explain());
        assert!(labelled(&text, "  fix: ").contains(fix), "fix: {}", self.explain());
        assert!(!text.contains("panicked"), "{}", self.explain());
        self
    }

    /// Describes the run with all its output, for the message of a failed assertion.
    pub fn explain(&self) -> String {
        format!(
            "{}\nin {}\nstatus: {}\n--- stdout\n{}\n--- stderr\n{}\n--- files\n{}",
            self.command,
            self.dir.display(),
            self.output.status,
            String::from_utf8_lossy(&self.output.stdout),
            String::from_utf8_lossy(&self.output.stderr),
            crate::listing(&self.dir),
        )
    }
}

/// Returns the rest of the first line of `text` that begins with `label`.
fn labelled<'a>(text: &'a str, label: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or("(missing)")
}
