//! File systems that refuse writes: a read-only mount, a full disk, a user without permissions.
//!
//! Permissions do not stop root, so the tests use mounts in a namespace of their own. Where the system allows
//! no such namespace they are skipped; faults.rs injects the same errors everywhere.

use std::process::{Command, Output};

use codeweaver_testkit::{FILES, TestRepo, copy_program, program, skip};

use crate::support::mcp_client::McpClient;

/// A command that runs `script` in a mount namespace of its own; `None` where that is not allowed.
fn namespaced(repo: &TestRepo, script: &str) -> Option<Command> {
    let allowed = |flags: &str| {
        let probe = "mount -t tmpfs -o size=1m tmpfs /mnt";
        let status = Command::new("unshare").args([flags, "sh", "-c", probe]).output();
        status.is_ok_and(|output| output.status.success())
    };
    let Some(flags) = ["-m", "-rm"].into_iter().find(|flags| allowed(flags)) else {
        skip("mount namespaces (root, or unprivileged user namespaces)");
        return None;
    };
    let mut command = repo.command("unshare");
    let path =
        format!("{}:{}", program().parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    command.args([flags, "sh", "-c", script]).env("PATH", path);
    Some(command)
}

/// Runs `script` in a mount namespace of its own; `None` where that is not allowed.
pub fn in_namespace(repo: &TestRepo, script: &str) -> Option<Output> {
    Some(namespaced(repo, script)?.output().unwrap())
}

/// What a script printed after `== NAME`, up to the next such line.
pub fn part<'a>(output: &'a str, name: &str) -> &'a str {
    let start = output.split_once(&format!("== {name}\n")).unwrap_or_else(|| panic!("{name}: {output}")).1;
    start.split_once("== ").map_or(start, |(text, _)| text)
}

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("src/next.rs", "pub fn committed_after_the_index() {}\n").commit("next");
    repo.write("src/parse.rs", format!("{}\npub fn not_committed() {{}}\n", FILES[0].1));
    repo
}

const COMMANDS: &str = "
for word in parse_header committed_after_the_index not_committed; do
  echo \"== $word\"; git-codeweaver search -o json $word
done
echo '== status'; git-codeweaver status --json
echo '== verify'; git-codeweaver verify --json
echo '== index'; git-codeweaver index --quiet 2>&1; echo \"code $?\"
echo '== hook'; git-codeweaver hook post-commit 2>&1; echo \"code $?\"
echo '== gc'; git-codeweaver gc 2>&1; echo \"code $?\"
echo '== end'
";

fn answers_while_nothing_can_be_written(repo: &TestRepo, mount: &str) {
    let script = format!("set -e; {mount}; set +e\n{COMMANDS}");
    let Some(output) = in_namespace(repo, &script) else { return };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!err.contains("panicked"), "{err}");
    let first = |word: &str| -> serde_json::Value {
        let answer: serde_json::Value =
            serde_json::from_str(part(&out, word)).unwrap_or_else(|e| panic!("{e}: {out}{err}"));
        answer["matches"][0].clone()
    };
    assert_eq!(first("committed_after_the_index")["file"]["path"], "src/next.rs");
    assert_eq!(first("not_committed")["state"], "dirty");
    assert_ne!(first("parse_header"), serde_json::Value::Null);
    let json = |name: &str| serde_json::from_str::<serde_json::Value>(part(&out, name)).unwrap();
    assert_eq!(json("status")["state"], "indexed");
    assert_eq!(json("verify")["good"], true);
    for command in ["index", "gc"] {
        let said = part(&out, command);
        assert!(
            said.contains("error: ") && said.contains("Read-only file system") && said.contains("fix: "),
            "{command}: {said}"
        );
        assert!(said.contains("code 2"), "{command}: {said}");
    }
    assert_eq!(part(&out, "hook"), "code 0\n", "a hook neither fails nor speaks");
}

#[test]
fn a_read_only_store_is_searched_and_an_update_says_what_is_wrong() {
    let repo = indexed();
    answers_while_nothing_can_be_written(
        &repo,
        "mount --bind .codeweaver .codeweaver && mount -o remount,ro,bind .codeweaver",
    );
    // Writable again, everything works.
    repo.codeweaver(["index", "--quiet"]).success();
    repo.codeweaver(["verify"]).success();
}

#[test]
fn a_read_only_repository_is_searched() {
    let repo = indexed();
    answers_while_nothing_can_be_written(
        &repo,
        "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"",
    );
    repo.codeweaver(["index", "--quiet"]).success();
}

#[test]
fn a_lost_index_of_a_read_only_repository_is_not_said_to_be_rebuilt() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    std::fs::remove_dir_all(repo.path(".codeweaver")).unwrap();

    let script = "mount --bind . . && mount -o remount,ro,bind . && cd \"$PWD\"
for command in 'search parse_header' 'graph callers parse_header' 'outline src/parse.rs'; do
  echo \"== $command\"; git-codeweaver $command 2>&1; echo \"code $?\"
done
echo '== end'
";
    let Some(output) = in_namespace(&repo, script) else { return };
    let out = String::from_utf8_lossy(&output.stdout);
    for command in ["search parse_header", "graph callers parse_header", "outline src/parse.rs"] {
        let said = part(&out, command);
        assert!(
            said.contains("is read-only here") && !said.contains("is being rebuilt"),
            "{command}: {said}"
        );
        assert!(
            said.contains("fix: ask the owner of the repository to run `git codeweaver index`"),
            "{said}"
        );
        assert!(said.contains("code 2"), "{command}: {said}");
    }

    // Where it can be written, it is rebuilt.
    repo.codeweaver(["search", "parse_header"]).success();
}

/// As in a development container: the same repository under two paths at once.
#[test]
fn a_bind_mounted_repository_is_indexed_under_both_paths() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    std::fs::create_dir(repo.beside("container")).unwrap();
    const MOUNT: &str = "mount --bind . ../container && cd ../container";
    let script = format!(
        "set -e; {MOUNT}; set +e
for place in repo container repo container; do
  cd \"../$place\"
  echo '== status'; git-codeweaver status --json
  echo '== search'; git-codeweaver search -o json parse_header
  echo '== index'; git-codeweaver index --json
done
echo '== end'
"
    );
    let Some(output) = in_namespace(&repo, &script) else { return };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let answers = |name: &str| -> Vec<serde_json::Value> {
        let label = format!("== {name}\n");
        let texts =
            out.split(&label).skip(1).map(|rest| rest.split_once("== ").map_or(rest, |(text, _)| text));
        let parse = |text: &str| {
            let last = text.lines().last().unwrap_or_default();
            serde_json::from_str(text).or_else(|_| serde_json::from_str(last))
        };
        texts.map(|text| parse(text).unwrap_or_else(|e| panic!("{e}: {out}{err}"))).collect()
    };
    let (status, search, index) = (answers("status"), answers("search"), answers("index"));
    assert_eq!((status.len(), search.len(), index.len()), (4, 4, 4), "{out}{err}");
    for status in status {
        assert_eq!((&status["state"], &status["current"]), (&"indexed".into(), &true.into()), "{status:#}");
    }
    for (search, index) in search.iter().zip(index) {
        assert_eq!(search["matches"][0]["file"]["path"], "src/parse.rs");
        assert_eq!((&index["known"], &index["embedded_chunks"]), (&true.into(), &0.into()), "{index}");
    }
    let mut server = namespaced(&repo, &format!("{MOUNT} && exec git-codeweaver mcp")).unwrap();
    for command in [&mut server, repo.command(program()).arg("mcp")] {
        let mut client = McpClient::new(std::mem::replace(command, Command::new("true")));
        client.handshake();
        let answer = client.ask("find_code", serde_json::json!({ "query": "parse_header" }));
        assert_eq!(answer["matches"][0]["file"]["path"], "src/parse.rs", "{answer:#}");
    }
}

#[test]
fn a_full_disk_is_one_clear_error_and_everything_goes_on_once_there_is_room() {
    let repo = indexed();
    for i in 0..180 {
        let text: String =
            (0..40).map(|j| format!("pub fn filler_{i}_{j}() -> u32 {{ {i} * {j} }}\n\n")).collect();
        repo.write(&format!("src/filler_{i}.rs"), text);
    }
    repo.commit("much");
    repo.write("src/parse.rs", format!("{}\npub fn still_not_committed() {{}}\n", FILES[0].1));
    let script = "
set -e
used=$(du -sk .codeweaver | cut -f1)
mkdir ../disk && mount -t tmpfs -o size=$((used + 96))k,mode=700 tmpfs ../disk
cp -a .codeweaver/. ../disk/ && mount --bind ../disk .codeweaver
set +e
echo '== index'; git-codeweaver index --quiet 2>&1; echo \"code $?\"
echo '== again'; git-codeweaver index --quiet 2>&1; echo \"code $?\"
echo '== search'; git-codeweaver search -o json parse_header
echo '== dirty'; git-codeweaver search -o json still_not_committed
echo '== verify'; git-codeweaver verify --json
mount -o remount,size=64m ../disk
# A search has asked for an update in the background, which may be at it.
n=0
while git-codeweaver index --quiet >../said 2>&1; code=$?; [ $code = 1 ] && [ $n -lt 300 ]; do n=$((n + 1)); sleep 0.2; done
echo '== room'; cat ../said; echo \"code $code\"
echo '== found'; git-codeweaver search -o json filler_7_7
echo '== good'; git-codeweaver verify --json
echo '== end'
";
    let Some(output) = in_namespace(&repo, script) else { return };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for command in ["index", "again"] {
        let said = part(&out, command);
        assert!(
            said.contains("No space left on device")
                && said.contains("free some space")
                && said.contains("code 2"),
            "{command}: {said}{err}"
        );
        assert!(!said.contains("panicked"), "{said}");
    }
    let json = |name: &str| -> serde_json::Value {
        serde_json::from_str(part(&out, name)).unwrap_or_else(|e| panic!("{name}: {e}: {out}{err}"))
    };
    assert_eq!(json("dirty")["matches"][0]["state"], "dirty");
    assert_eq!(json("verify")["good"], true);
    assert_eq!(part(&out, "room"), "code 0\n");
    assert_eq!(json("found")["matches"][0]["file"]["path"], "src/filler_7.rs");
    assert_eq!(json("good")["good"], true);
}

/// The store of another user has mode 0700: commands fail with a clear error.
#[test]
fn another_user_gets_a_clear_error() {
    let repo = indexed();
    let setpriv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let is_allowed =
        Command::new(setpriv[0]).args(&setpriv[1..]).arg("true").status().is_ok_and(|s| s.success());
    if !is_allowed {
        skip("the right to become another user (root)");
        return;
    }
    // The path to the store is open, the store is not.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(repo.root().parent().unwrap(), open).unwrap();
    let shared = std::env::temp_dir().join(format!("codeweaver-{}", std::process::id()));
    std::fs::create_dir_all(&shared).unwrap();
    copy_program(&shared.join("git-codeweaver"));
    let script = format!(
        "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'; PATH={}:$PATH\n\
         for command in 'search parse_header' 'index --quiet' 'gc'; do git-codeweaver $command; echo \"code $?\"; done; \
         git-codeweaver hook post-commit; echo \"hook code $?\"",
        shared.display()
    );
    let output = repo.command(setpriv[0]).args(&setpriv[1..]).args(["sh", "-c", &script]).output().unwrap();
    std::fs::remove_dir_all(&shared).unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(out.matches("code 2").count(), 3, "{out}{err}");
    assert!(out.contains("hook code 0"), "{out}{err}");
    assert!(
        err.matches("error: ").count() == 3 && err.matches("fix: ").count() == 3 && !err.contains("panicked"),
        "{err}"
    );
    repo.codeweaver(["index", "--quiet"]).success();
}
