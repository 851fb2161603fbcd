//! Files and directories of the working tree that the user may not read: named, and neither fresh nor
//! deleted.
//!
//! Permissions do not stop root, which therefore becomes another user here.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, Run, TestRepo, copy_program, program, skip};

use crate::support::mcp_client::McpClient;

/// A repository with its own user, whom permissions stop.
pub struct Unprivileged {
    pub repo: TestRepo,
    pub program: std::path::PathBuf,
    /// What comes before each command.
    become_user: Vec<String>,
}

impl Unprivileged {
    /// An indexed repository; `None` where the tests run as root and cannot become another user.
    pub fn indexed() -> Option<Unprivileged> {
        let repo = TestRepo::with_files(FILES);
        repo.write("deep/a/one.rs", "pub fn one_level() {}\n")
            .write("deep/a/b/two.rs", "pub fn two_levels() {}\n");
        repo.commit("deep");
        let (mut become_user, mut copy) = (Vec::new(), program().to_path_buf());
        repo.write("probe", "").set_mode("probe", 0o000);
        if std::fs::read(repo.path("probe")).is_ok() {
            become_user =
                ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"].map(str::to_owned).to_vec();
            let probe = Command::new(&become_user[0]).args(&become_user[1..]).arg("true").status();
            if !probe.is_ok_and(|status| status.success()) {
                skip("a user whom permissions stop");
                return None;
            }
            // The program may be where only root gets to.
            copy = repo.beside("bin");
            std::fs::create_dir_all(&copy).unwrap();
            copy.push("git-codeweaver");
            copy_program(&copy);
            let parent = repo.root().parent().unwrap();
            Run::new(Command::new("chown").args(["-R", "65534:65534"]).arg(parent)).success();
        }
        repo.remove("probe");
        let user = Unprivileged { repo, program: copy, become_user };
        user.codeweaver(&["init", "--no-hooks"]).success();
        Some(user)
    }

    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let Some((first, options)) = self.become_user.split_first() else {
            return self.repo.command(program.as_ref());
        };
        let mut command = self.repo.command(first);
        command.args(options).arg(program.as_ref());
        command
    }

    fn codeweaver(&self, args: &[&str]) -> Run {
        Run::new(self.command(&self.program).args(args))
    }

    fn git(&self, args: &[&str]) {
        Run::new(self.command("git").args(args)).success();
    }

    fn search(&self, query: &str) -> Value {
        self.codeweaver(&["search", "-o", "json", query]).json()
    }

    fn server(&self) -> McpClient {
        let mut command = self.command(&self.program);
        command.arg("mcp");
        let mut client = McpClient::new(command);
        client.handshake();
        client
    }
}

/// Tests of permissions.
trait SetMode {
    fn set_mode(&self, path: &str, mode: u32);
}

impl SetMode for TestRepo {
    fn set_mode(&self, path: &str, mode: u32) {
        std::fs::set_permissions(self.path(path), Permissions::from_mode(mode)).unwrap();
    }
}

fn state(answer: &Value) -> (&Value, &Value) {
    (&answer["matches"][0]["file"]["path"], &answer["matches"][0]["state"])
}

fn warnings(answer: &Value) -> String {
    answer["warnings"].to_string()
}

#[test]
fn a_modified_unreadable_file_is_named_and_not_shown_as_committed() {
    let Some(user) = Unprivileged::indexed() else { return };
    let repo = &user.repo;
    // The status run is remembered as clean.
    assert_eq!(state(&user.search("parse_header")), (&json!("src/parse.rs"), &json!("committed")));
    repo.write("src/parse.rs", "pub fn something_else() {}\n").set_mode("src/parse.rs", 0o000);
    // The second answer must not rest on a cache of the first.
    for _ in 0..2 {
        let answer = user.search("parse_header");
        assert_eq!(state(&answer), (&json!("src/parse.rs"), &json!("unreadable")), "{answer:#}");
        assert_eq!(answer["status"], "degraded", "{answer:#}");
        assert!(warnings(&answer).contains("src/parse.rs cannot be read"), "{answer:#}");
        let index = &answer["index"];
        assert_eq!((&index["unreadable"], &index["unchecked_files"]), (&json!(["src/parse.rs"]), &json!(1)));
        assert_eq!(index["dirty_files"], 0);
    }
    user.codeweaver(&["search", "parse_header"])
        .says(&["src/parse.rs cannot be read", "the file cannot be read)"]);
    let graph = user.codeweaver(&["graph", "definitions", "parse_header", "--json"]).json();
    assert!(warnings(&graph).contains("src/parse.rs cannot be read"), "{graph:#}");
    user.codeweaver(&["read", "src/parse.rs"]).fails(2).says(&["Permission denied", "src/parse.rs"]);
    repo.set_mode("src/parse.rs", 0o644);
    assert_eq!(state(&user.search("something_else")), (&json!("src/parse.rs"), &json!("dirty")));
}

#[test]
fn an_unreadable_directory_is_named_and_none_of_its_files_is_deleted() {
    let Some(user) = Unprivileged::indexed() else { return };
    let repo = &user.repo;
    // Without any right; only listed; only searched, so that untracked files are unknown.
    for (mode, state_within) in [(0o000, "unreadable"), (0o444, "unreadable"), (0o311, "committed")] {
        repo.set_mode("deep", mode);
        for _ in 0..2 {
            let answer = user.search("two_levels");
            assert_eq!(
                state(&answer),
                (&json!("deep/a/b/two.rs"), &json!(state_within)),
                "{mode:o} {answer:#}"
            );
            assert_eq!(answer["index"]["dirty_files"], 0, "{mode:o} {answer:#}");
            assert_eq!(answer["status"], "degraded", "{mode:o} {answer:#}");
            assert!(warnings(&answer).contains("deep/"), "{mode:o} {answer:#}");
            let named = answer["index"]["unreadable"][0].as_str().unwrap();
            assert!(named.starts_with("deep/") && named.ends_with('/'), "{mode:o} {answer:#}");
        }
        repo.set_mode("deep", 0o755);
        let answer = user.search("two_levels");
        assert_eq!((state(&answer).1, &answer["status"]), (&json!("committed"), &json!("ok")), "{answer:#}");
    }
}

#[test]
fn a_running_server_notices_that_files_become_unreadable_and_readable() {
    let Some(user) = Unprivileged::indexed() else { return };
    let repo = &user.repo;
    let mut client = user.server();
    let asked = || json!({ "query": "parse_header" });
    // From the second call on, the directories are watched.
    for _ in 0..3 {
        assert_eq!(state(&client.ask("find_code", asked())).1, "committed");
    }
    for place in ["src/parse.rs", "src"] {
        let mode = if place == "src" { 0o755 } else { 0o644 };
        repo.set_mode(place, 0o000);
        for _ in 0..2 {
            let answer = client.ask("find_code", asked());
            assert_eq!(state(&answer), (&json!("src/parse.rs"), &json!("unreadable")), "{place} {answer:#}");
            assert!(warnings(&answer).contains(place), "{answer:#}");
        }
        repo.set_mode(place, mode);
        let answer = client.ask("find_code", asked());
        assert_eq!((state(&answer).1, &answer["status"]), (&json!("committed"), &json!("ok")), "{answer:#}");
    }
}

#[test]
fn an_unreadable_untracked_file_is_named() {
    let Some(user) = Unprivileged::indexed() else { return };
    user.repo.write("notes.md", "secret thoughts\n").set_mode("notes.md", 0o000);
    let answer = user.search("parse_header");
    assert_eq!(answer["index"]["unreadable"], json!(["notes.md"]), "{answer:#}");
    // The answer is about other files, whose state is known.
    assert_eq!(state(&answer), (&json!("src/parse.rs"), &json!("committed")));
}

#[test]
fn a_staged_file_that_becomes_unreadable_unnoticed_is_shown_as_staged() {
    let Some(user) = Unprivileged::indexed() else { return };
    let repo = &user.repo;
    user.git(&["config", "core.trustCtime", "false"]);
    repo.write("src/parse.rs", "pub fn staged_thought() {}\n").set_mtime("src/parse.rs", 1_000_000_000);
    user.git(&["add", "src/parse.rs"]);
    // Git would not notice either.
    repo.set_mode("src/parse.rs", 0o000);
    let answer = user.search("staged_thought");
    assert_eq!(state(&answer), (&json!("src/parse.rs"), &json!("staged")), "{answer:#}");
}
