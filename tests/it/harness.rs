//! Repositories made by git in temporary directories, and runs of the program in them.
//!
//! Hermetic: own home, no system or user configuration, fixed author and dates, the built binary first on the path. A
//! run that does not end as expected prints the command, both streams and what lies in the directory.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The program under test: a second name of the built binary, since a build of another checkout that shares the target
/// directory may replace the first while tests run. `CODEWEAVER_TEST_PROGRAM` names another one, called `git-codeweaver`.
pub fn program() -> &'static Path {
    static LINK: OnceLock<PathBuf> = OnceLock::new();
    LINK.get_or_init(|| {
        if let Some(other) = std::env::var_os("CODEWEAVER_TEST_PROGRAM") {
            return PathBuf::from(other);
        }
        let built = Path::new(env!("CARGO_BIN_EXE_git-codeweaver"));
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("program");
        let link = dir.join("git-codeweaver");
        let _ = std::fs::remove_file(&link);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::hard_link(built, &link).or_else(|_| std::fs::copy(built, &link).map(drop)).unwrap();
        link
    })
}

pub struct TestRepo {
    temp: std::sync::Arc<tempfile::TempDir>,
    root: PathBuf,
    envs: Vec<(OsString, OsString)>,
}

/// A finished run of the program.
pub struct Run {
    shown: String,
    dir: PathBuf,
    output: Output,
}

impl TestRepo {
    /// A directory that is not a repository.
    pub fn empty_dir() -> TestRepo {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("repo");
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(root.with_file_name("home")).unwrap();
        TestRepo { temp: std::sync::Arc::new(temp), root, envs: Vec::new() }
    }

    /// An empty repository on the unborn branch `main`.
    pub fn init() -> TestRepo {
        let repo = TestRepo::empty_dir();
        repo.git(["init", "-q", "-b", "main"]);
        repo
    }

    /// A repository with one commit of these files.
    pub fn with_files(files: &[(&str, &str)]) -> TestRepo {
        let repo = TestRepo::init();
        files.iter().for_each(|(path, text)| {
            repo.write(path, text);
        });
        repo.commit("first");
        repo
    }

    /// The same home, another directory: a linked worktree or a clone.
    pub fn at(&self, dir: &str) -> TestRepo {
        let root = self.root.join(dir).canonicalize().unwrap();
        TestRepo { temp: self.temp.clone(), root, envs: self.envs.clone() }
    }

    /// Sets a variable for all later commands.
    pub fn env(mut self, name: &str, value: &str) -> TestRepo {
        self.envs.push((name.into(), value.into()));
        self
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.root.join(path)).unwrap();
        self
    }

    pub fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.root.join(path)).unwrap_or_default()
    }

    pub fn commit(&self, message: &str) -> &Self {
        self.git(["add", "-A"]).git(["commit", "-q", "-m", message])
    }

    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> &Self {
        self.git_text(args);
        self
    }

    pub fn git_text<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        let run = self.run(Command::new("git"), args);
        run.success();
        run.stdout()
    }

    /// Runs `git-codeweaver ARGS`.
    pub fn codeweaver<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.run(Command::new(program()), args)
    }

    /// A prepared command, for whoever wants to start it differently.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command);
        command
    }

    fn run<S: AsRef<OsStr>>(&self, mut command: Command, args: impl IntoIterator<Item = S>) -> Run {
        command.args(args);
        self.prepare(&mut command);
        let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Run { shown: format!("{command:?}"), dir: self.root.clone(), output }
    }

    fn prepare(&self, command: &mut Command) {
        let foreign = |name: &OsStr| {
            ["GIT_", "CODEWEAVER_", "XDG_"].iter().any(|p| name.as_encoded_bytes().starts_with(p.as_bytes()))
        };
        for (name, _) in std::env::vars_os().filter(|(name, _)| foreign(name)) {
            command.env_remove(name);
        }
        let dirs = [program().parent().unwrap().to_path_buf()];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(dirs.into_iter().chain(std::env::split_paths(&path))).unwrap();
        command
            .current_dir(&self.root)
            .env("PATH", path)
            .env("HOME", self.temp.path().join("home"))
            .env("XDG_CONFIG_HOME", self.temp.path().join("home/.config"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true")
            .env("LC_ALL", "C")
            .stdin(std::process::Stdio::null());
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), "A U Thor")
                .env(format!("GIT_{role}_EMAIL"), "author@example.com")
                .env(format!("GIT_{role}_DATE"), "2026-01-02T03:04:05Z");
        }
        command.envs(self.envs.iter().map(|(name, value)| (name, value)));
    }

    /// `status --json`.
    pub fn status(&self) -> serde_json::Value {
        self.codeweaver(["status", "--json"]).success().json()
    }

    /// Waits until the index is that of HEAD.
    pub fn wait_until_current(&self) -> serde_json::Value {
        let started = Instant::now();
        loop {
            let status = self.status();
            if status["current"] == true && status["update_wanted"] == false {
                return status;
            }
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "not current: {status:#}\n{}",
                listing(&self.root)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Paths of the matches of a search, best first.
    pub fn found(&self, args: &[&str]) -> Vec<String> {
        let run = self.codeweaver(["search", "-o", "json"].iter().chain(args));
        assert!(matches!(run.code(), 0 | 1), "{}", run.explain());
        let matches = run.json()["matches"].as_array().cloned().unwrap_or_default();
        matches.iter().map(|found| found["file"]["path"].as_str().unwrap().to_owned()).collect()
    }
}

impl Run {
    pub fn code(&self) -> i32 {
        self.output.status.code().unwrap_or(-1)
    }

    #[track_caller]
    pub fn success(&self) -> &Run {
        assert_eq!(self.code(), 0, "{}", self.explain());
        self
    }

    #[track_caller]
    pub fn fails(&self, code: i32) -> &Run {
        assert_eq!(self.code(), code, "{}", self.explain());
        self
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).expect("stdout is UTF-8")
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).expect("stderr is UTF-8")
    }

    /// Stdout as one JSON value, or the last of several lines.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        let text = self.stdout();
        let last = text.lines().last().unwrap_or_default();
        let value = serde_json::from_str(&text).or_else(|_| serde_json::from_str(last));
        value.unwrap_or_else(|e| panic!("{e}\n{}", self.explain()))
    }

    #[track_caller]
    pub fn says(&self, words: &[&str]) -> &Run {
        let text = self.stdout() + &self.stderr();
        for word in words {
            assert!(text.contains(word), "{word:?} is missing\n{}", self.explain());
        }
        self
    }

    /// Three lines on stderr: what, why, fix.
    #[track_caller]
    pub fn is_an_error(&self, what: &str, fix: &str) -> &Run {
        let text = self.stderr();
        let part = |label: &str| {
            text.lines().find_map(|line| line.strip_prefix(label)).unwrap_or("(missing)").to_owned()
        };
        assert!(part("error: ").contains(what), "what: {}", self.explain());
        assert!(
            part("  why: ").trim().len() > 3 && part("  why: ") != "(missing)",
            "why: {}",
            self.explain()
        );
        assert!(part("  fix: ").contains(fix), "fix: {}", self.explain());
        assert!(!text.contains("panicked"), "{}", self.explain());
        self
    }

    pub fn explain(&self) -> String {
        format!(
            "{}\nin {}\nstatus: {}\n--- stdout\n{}\n--- stderr\n{}\n--- files\n{}",
            self.shown,
            self.dir.display(),
            self.output.status,
            String::from_utf8_lossy(&self.output.stdout),
            String::from_utf8_lossy(&self.output.stderr),
            listing(&self.dir),
        )
    }
}

/// All files below `dir` with their lengths; git's objects only counted.
pub fn listing(dir: &Path) -> String {
    let mut lines = Vec::new();
    list(dir, dir, &mut lines);
    lines.sort();
    lines.join("\n")
}

fn list(root: &Path, dir: &Path, lines: &mut Vec<String>) {
    for child in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = child.path();
        let shown = path.strip_prefix(root).unwrap().display().to_string();
        match child.metadata() {
            Ok(metadata) if metadata.is_dir() && !shown.ends_with(".git/objects") => list(root, &path, lines),
            Ok(metadata) => lines.push(format!("{shown} ({} bytes)", metadata.len())),
            Err(_) => lines.push(shown),
        }
    }
}

/// A small program in two languages, with a test.
pub const FILES: &[(&str, &str)] = &[
    (
        "src/parse.rs",
        "/// Splits a header line into its name and value.\npub fn parse_header(line: &str) -> Option<(&str, &str)> {\n    \
         let (name, value) = line.split_once(':')?;\n    Some((name.trim(), value.trim()))\n}\n",
    ),
    (
        "src/retry.py",
        "import time\n\n\ndef retry_with_backoff(call, attempts=5):\n    \"\"\"Calls again after growing pauses until it succeeds.\"\"\"\n    \
         for attempt in range(attempts):\n        try:\n            return call()\n        except ConnectionError:\n            \
         time.sleep(2 ** attempt)\n    raise TimeoutError('gave up')\n",
    ),
    (
        "tests/parse_test.rs",
        "#[test]\nfn header_is_split() {\n    assert_eq!(parse_header(\"a: b\"), Some((\"a\", \"b\")));\n}\n",
    ),
    ("README.md", "# Sample\n\nA library that parses headers and calls again when the network fails.\n"),
];
