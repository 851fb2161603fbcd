//! Several users of one repository: root in a container or under `sudo`, and a group.
//!
//! Only root can become another user, so elsewhere these tests are skipped.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use codeweaver_testkit::{FILES, Run, TestRepo, copy_program, program, skip};

use crate::support::mcp_client::McpClient;

const USER: u32 = 65534;

/// A repository of another user than the one that runs this test, who is root.
struct Shared {
    repo: TestRepo,
    program: PathBuf,
}

impl Shared {
    /// `None` if this user is not root.
    fn new() -> Option<Shared> {
        let repo = TestRepo::with_files(FILES)
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "safe.directory")
            .env("GIT_CONFIG_VALUE_0", "*");
        let above = repo.root().parent().unwrap().to_owned();
        if chown(&above, Some(USER), Some(USER)).is_err() {
            skip("the right to become another user (root)");
            return None;
        }
        std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o755)).unwrap();
        Run::new(Command::new("chown").args(["-R", &format!("{USER}:{USER}")]).arg(&above)).success();
        // The directory of the program need not be open to the user.
        let program_file = above.join("bin").join("git-codeweaver");
        std::fs::create_dir(program_file.parent().unwrap()).unwrap();
        copy_program(&program_file);
        Some(Shared { repo, program: program_file })
    }

    fn command_of_user(&self) -> Command {
        let mut command = self.repo.command(&self.program);
        command.uid(USER).gid(USER);
        command
    }

    #[track_caller]
    fn user(&self, args: &[&str]) -> Run {
        Run::new(self.command_of_user().args(args))
    }

    #[track_caller]
    fn root(&self, args: &[&str]) -> Run {
        Run::new(self.repo.command(&self.program).args(args))
    }

    /// Commits a file as root and indexes it as root, as a hook does.
    fn commit_as_root(&self, name: &str) {
        self.repo.write(&format!("src/{name}.rs"), format!("pub fn {name}() {{}}\n")).commit(name);
        self.root(&["hook", "post-commit"]).success();
    }

    /// Everything that this program has written, with its metadata.
    fn written(&self) -> Vec<(PathBuf, std::fs::Metadata)> {
        let mut all = Vec::new();
        let mut left = vec![self.repo.path(".codeweaver"), self.repo.path(".git/codeweaver-nonce")];
        while let Some(path) = left.pop() {
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                left.extend(std::fs::read_dir(&path).unwrap().map(|child| child.unwrap().path()));
            }
            all.push((path, metadata));
        }
        all
    }

    /// The state file, or the one before it.
    fn state(&self, name: &str) -> PathBuf {
        let stores = std::fs::read_dir(self.repo.path(".codeweaver/v1")).unwrap();
        let [store] = stores.map(|store| store.unwrap().path()).collect::<Vec<_>>().try_into().unwrap();
        store.join(name)
    }

    /// The check of this name in the output of `doctor` for the user.
    fn check(&self, name: &str) -> serde_json::Value {
        let report = self.user(&["doctor", "--json"]).json();
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone()
    }
}

fn give_to_root(path: &Path) {
    chown(path, Some(0), Some(0)).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn what_root_commits_in_the_repository_of_a_user_stays_usable_for_the_user() {
    let Some(shared) = Shared::new() else { return };
    shared.user(&["init", "--no-hooks"]).success();
    shared.commit_as_root("committed_by_root");
    shared.repo.write("src/untracked.rs", "pub fn untracked() {}\n");
    shared.root(&["search", "committed_by_root"]).success();
    for (path, metadata) in shared.written() {
        assert_eq!((metadata.uid(), metadata.gid()), (USER, USER), "{}", path.display());
        assert_eq!(metadata.mode() & 0o077, 0, "{}", path.display());
    }
    let found = shared.user(&["search", "-o", "json", "committed_by_root"]).success().json();
    assert_eq!(found["matches"][0]["file"]["path"], "src/committed_by_root.rs", "{found:#}");
    assert_eq!(
        (&found["status"], &found["index"]["freshness"]),
        (&json!("ok"), &json!("overlaid")),
        "{found:#}"
    );
    shared.user(&["index"]).success();
    shared.user(&["gc"]).success();
    assert_eq!(shared.check("permission")["verdict"], "ok");
}

#[test]
fn an_index_that_root_makes_belongs_to_the_owner_of_the_repository() {
    let Some(shared) = Shared::new() else { return };
    shared.root(&["init", "--no-hooks"]).success();
    for (path, metadata) in shared.written() {
        assert_eq!((metadata.uid(), metadata.gid()), (USER, USER), "{}", path.display());
    }
    shared.user(&["search", "parse_header"]).success();
    shared.user(&["index"]).success();
}

#[test]
fn files_have_the_permissions_of_a_shared_repository() {
    for (value, directory, file) in
        [("group", 0o2770, 0o660), ("all", 0o2775, 0o664), ("0640", 0o2750, 0o640)]
    {
        let repo = TestRepo::with_files(FILES);
        repo.git(["config", "core.sharedRepository", value]);
        repo.codeweaver(["init", "--no-hooks"]).success();
        repo.write("src/next.rs", "pub fn next() {}\n").commit("next");
        repo.codeweaver(["index"]).success();
        repo.codeweaver(["search", "next"]).success();
        let shared = Shared { repo, program: program().to_owned() };
        for (path, metadata) in shared.written() {
            let wanted = if metadata.is_dir() { directory } else { file };
            assert_eq!(metadata.mode() & 0o7777, wanted, "{value}: {}", path.display());
        }
    }
}

#[test]
fn a_member_of_the_group_searches_and_updates_a_shared_repository() {
    let Some(shared) = Shared::new() else { return };
    const MEMBER: u32 = 65533;
    shared.repo.git(["config", "core.sharedRepository", "group"]);
    Run::new(Command::new("chmod").args(["-R", "g+rwXs"]).arg(shared.repo.root())).success();
    shared.user(&["init", "--no-hooks"]).success();
    let member = |args: &[&str]| {
        Run::new(
            shared.repo.command(&shared.program).uid(MEMBER).gid(USER).args(args).env("HOME", "/nonexistent"),
        )
    };
    member(&["search", "parse_header"]).success();
    shared.repo.write("src/by_member.rs", "pub fn by_member() {}\n").commit("by a member");
    member(&["index"]).success();
    let found = shared.user(&["search", "-o", "json", "by_member"]).success().json();
    assert_eq!(
        (&found["status"], &found["index"]["freshness"]),
        (&json!("ok"), &json!("fresh")),
        "{found:#}"
    );
    assert_eq!(shared.check("permission")["verdict"], "ok");
}

#[test]
fn an_unreadable_state_is_told_and_the_previous_one_answers() {
    let Some(shared) = Shared::new() else { return };
    shared.user(&["init", "--no-hooks"]).success();
    shared.commit_as_root("second");
    shared.commit_as_root("third");
    // As versions that did not care about owners left it.
    give_to_root(&shared.state("state"));

    let run = shared.user(&["search", "third"]);
    run.success().says(&["src/third.rs", "Permission denied", "an older index answers", "doctor"]);
    let status = shared.user(&["status", "--json"]).success().json();
    assert_eq!((&status["state"], &status["current"]), (&json!("indexed"), &json!(false)), "{status:#}");
    assert!(status["warnings"][0].as_str().unwrap().contains("Permission denied"), "{status:#}");
    let check = shared.check("permission");
    let fix = format!("sudo chown -R {USER}:{USER} {}", shared.repo.path(".codeweaver").display());
    assert_eq!((&check["verdict"], &check["fix"]), (&json!("fail"), &json!(fix)), "{check:#}");
    assert!(check["what"].as_str().unwrap().starts_with("1 file cannot be used by you: "), "{check:#}");
    shared.user(&["index"]).fails(2).is_an_error("state", &fix);

    give_to_root(&shared.state("state.prev"));
    shared.user(&["search", "third"]).fails(2).is_an_error("cannot read", &fix);
    shared.user(&["search", "third"]).says(&["Permission denied"]);
    let status = shared.user(&["status", "--json"]).success().json();
    assert_eq!(status["state"], "unreadable", "{status:#}");
    assert!(status["reason"].as_str().unwrap().contains("Permission denied"), "{status:#}");
    let said = shared.user(&["status"]).success().stdout();
    assert!(said.contains("cannot be read") && !said.contains("not indexed"), "{said}");
    let mut command = shared.command_of_user();
    command.arg("mcp");
    let mut client = McpClient::new(command);
    client.handshake();
    let refused = client.call("find_code", json!({ "query": "third" }));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("Permission denied"), "{refused:#}");
    shared.user(&["index"]).fails(2).is_an_error("state", &fix);

    // Nothing was given up, and the command mends it.
    Run::new(Command::new("sh").args(["-c", fix.strip_prefix("sudo ").unwrap()])).success();
    let found = shared.user(&["search", "-o", "json", "third"]).success().json();
    assert_eq!(
        (&found["status"], &found["index"]["freshness"]),
        (&json!("ok"), &json!("fresh")),
        "{found:#}"
    );
    assert_eq!(shared.user(&["index", "--json"]).success().json()["embedded_chunks"], 0);
    assert_eq!(shared.check("permission")["verdict"], "ok");
}

#[test]
fn an_unreadable_store_of_root_is_told() {
    let Some(shared) = Shared::new() else { return };
    shared.user(&["init", "--no-hooks"]).success();
    Run::new(Command::new("chown").args(["-R", "0:0"]).arg(shared.repo.path(".codeweaver"))).success();
    let fix = format!("sudo chown -R {USER}:{USER} {}", shared.repo.path(".codeweaver").display());
    shared.user(&["search", "parse_header"]).fails(2).is_an_error("nonce", &fix);
    assert_eq!(shared.user(&["status", "--json"]).success().json()["state"], "unreadable");
    assert_eq!(shared.check("permission")["fix"], fix);
    // Root is told as well, although it could use everything.
    let report = shared.root(&["doctor", "--json"]).json();
    let check =
        report["checks"].as_array().unwrap().iter().find(|check| check["name"] == "permission").unwrap();
    assert_eq!((&check["verdict"], &check["fix"]), (&json!("fail"), &json!(fix)), "{check:#}");
    Run::new(Command::new("sh").args(["-c", fix.strip_prefix("sudo ").unwrap()])).success();
    shared.user(&["search", "parse_header"]).success();
}
