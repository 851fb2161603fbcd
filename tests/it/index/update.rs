//! `index`: cost of an update, interruption and resumption, edge cases of repositories.

use codeweaver_git::Repo;
use codeweaver_store::Layout;
use codeweaver_store::lock::Lock;
use codeweaver_testkit::{FILES, TestRepo, skip, wait_until};

/// The last event of `index --json`.
fn index(repo: &TestRepo, args: &[&str]) -> serde_json::Value {
    let run = repo.codeweaver(["index", "--json"].iter().chain(args));
    let done = run.success().json();
    assert_eq!(done["event"], "done", "{}", run.explain());
    done
}

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn a_first_index_reads_every_blob_once() {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/copy.rs", FILES[0].1).commit("the same blob at two paths");
    let done = index(&repo, &[]);
    assert_eq!((&done["files"], &done["blobs_indexed"]), (&5.into(), &4.into()), "{done}");
    assert_eq!(done["embedded_chunks"], done["chunks_created"]);
    let again = index(&repo, &[]);
    assert_eq!((&again["known"], &again["blobs_indexed"]), (&true.into(), &0.into()), "{again}");
}

#[test]
fn renaming_a_file_embeds_nothing() {
    let repo = indexed();
    repo.git(["mv", "src/parse.rs", "src/header.rs"]).commit("rename");
    let done = index(&repo, &[]);
    assert_eq!((&done["embedded_chunks"], &done["blobs_indexed"]), (&0.into(), &0.into()), "{done}");
    assert_eq!(repo.found(&["parse_header"])[0], "src/header.rs");
}

#[test]
fn a_mode_change_embeds_nothing() {
    let repo = indexed();
    std::fs::set_permissions(repo.path("src/retry.py"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    repo.commit("executable");
    assert_eq!(index(&repo, &[])["embedded_chunks"], 0);
}

#[test]
fn changing_one_file_reads_one_blob() {
    let repo = indexed();
    repo.write("src/parse.rs", format!("{}\npub fn parse_body() {{}}\n", FILES[0].1)).commit("change");
    let done = index(&repo, &[]);
    assert_eq!((&done["blobs_indexed"], &done["files_changed"]), (&1.into(), &1.into()), "{done}");
}

#[test]
fn going_to_a_known_tree_embeds_nothing() {
    let repo = indexed();
    repo.git(["checkout", "-q", "-b", "side"]).write("src/new.rs", "pub fn quite_new() {}\n").commit("side");
    assert_eq!(index(&repo, &[])["blobs_indexed"], 1);
    for branch in ["main", "side", "main"] {
        repo.git(["checkout", "-q", branch]);
        let done = index(&repo, &[]);
        assert_eq!((&done["embedded_chunks"], &done["known"]), (&0.into(), &true.into()), "{branch}: {done}");
    }
    assert!(!repo.found(&["quite_new"]).contains(&"src/new.rs".to_owned()));
}

#[test]
fn a_new_linked_worktree_embeds_nothing_and_answers_for_itself() {
    let repo = indexed();
    repo.git(["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = repo.at("../side");
    assert_eq!(index(&side, &[])["embedded_chunks"], 0);
    side.write("src/only_here.rs", "pub fn only_in_the_side_worktree() {}\n").commit("side");
    assert_eq!(index(&side, &[])["blobs_indexed"], 1);
    assert_eq!(side.found(&["only_in_the_side_worktree"])[0], "src/only_here.rs");
    assert!(!repo.found(&["only_in_the_side_worktree"]).contains(&"src/only_here.rs".to_owned()));
    assert!(!side.path(".codeweaver").exists(), "one store for all worktrees");
    assert_eq!(side.status()["worktree"], "side");
}

#[test]
fn reindex_rebuilds_everything() {
    let repo = indexed();
    let done = index(&repo, &["--reindex"]);
    assert_eq!(done["blobs_indexed"], FILES.len(), "{done}");
    assert_eq!(repo.status()["state"], "indexed");
}

#[test]
fn another_revision_can_be_indexed_beforehand() {
    let repo = indexed();
    repo.write("src/parse.rs", "pub fn parse_nothing() {}\n").commit("second");
    index(&repo, &[]);
    let head = repo.status()["indexed"]["commit"].clone();
    assert_eq!(index(&repo, &["HEAD~1"])["embedded_chunks"], 0);
    assert_eq!(repo.status()["indexed"]["commit"], head, "HEAD's index stays what it was");
}

#[test]
fn a_bare_repository_works() {
    let repo = TestRepo::with_files(FILES);
    repo.git(["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.at("../bare.git");
    bare.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(bare.found(&["parse_header"])[0], "src/parse.rs");
    bare.codeweaver(["read", "src/parse.rs:2"]).success().says(&["pub fn parse_header"]);
}

#[test]
fn an_empty_repository_is_a_valid_empty_index() {
    let repo = TestRepo::init();
    repo.codeweaver(["init"]).success().says(&["No files discovered in", "0 chunks"]);
    let run = repo.codeweaver(["index"]);
    run.success().says(&["No files discovered in", "0 chunks"]);
    repo.codeweaver(["search", "anything"])
        .fails(1)
        .says(&["No results found (searched 0 chunks across 0 files)"]);
    repo.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
    repo.codeweaver(["index"]).success().says(&["No files discovered in"]);
}

#[test]
fn files_with_unknown_extensions_are_indexed_as_text() {
    let repo = TestRepo::with_files(&[
        ("a.qqx", "first words\n"),
        ("b.qqx", "second words\n"),
        ("c.zzy", "third\n"),
    ]);
    let run = repo.codeweaver(["init", "--no-hooks"]);
    run.success().says(&["no file has a known extension", ".qqx", "policy.file_extensions"]);
    assert_eq!(repo.status()["languages"][0]["language"], "text");
    assert_eq!(repo.found(&["second words"])[0], "b.qqx");
}

#[test]
fn a_second_indexer_is_refused_with_the_holder() {
    let repo = indexed();
    let layout = Layout::new(&Repo::discover(repo.root()).unwrap());
    let lock = Lock::try_acquire(&layout.work_lock("main")).unwrap();
    let run = repo.codeweaver(["index"]);
    run.fails(1).is_an_error("Indexing already in progress (PID ", "kill -TERM");
    assert!(run.stderr().contains(&format!("PID {}, started 20", std::process::id())), "{}", run.explain());
    assert!(repo.status()["lock_holder"].as_str().unwrap().starts_with("PID "));
    repo.codeweaver(["deinit"]).fails(1);
    // Readers need no lock.
    assert_eq!(repo.found(&["parse_header"])[0], "src/parse.rs");
    drop(lock);
    repo.codeweaver(["index"]).success();
}

#[test]
fn an_interrupted_first_index_is_resumed() {
    let repo = TestRepo::init();
    for i in 0..1500 {
        let mut text = String::new();
        for j in 0..40 {
            text.push_str(&format!("pub fn function_{i}_{j}(x: u32) -> u32 {{\n    x + {i} * {j}\n}}\n\n"));
        }
        repo.write(&format!("src/m{i}.rs"), text);
    }
    repo.commit("many");
    let mut command = repo.command(codeweaver_testkit::program());
    let child = command
        .args(["init", "--no-hooks"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped());
    let mut child = child.spawn().unwrap();
    wait_until("the run has indexed files, or has ended", || {
        repo.status()["progress"]["files_processed"].as_u64() > Some(0) || child.try_wait().unwrap().is_some()
    });
    // Twice: git forwards the signal that the terminal has sent already.
    let kill = |signal: &str| {
        std::process::Command::new("kill").args([signal, child.id().to_string().as_str()]).status()
    };
    let signalled = (kill("-INT").unwrap(), kill("-INT").unwrap());
    let status = child.wait().unwrap();
    if status.success() {
        skip(&format!("a slower machine: the run ended before the signals ({signalled:?})"));
        return;
    }
    assert_eq!(status.code(), Some(130));
    let state = repo.status();
    assert_eq!(state["state"], "not_indexed", "{state:#}");
    assert!(state["reason"].as_str().unwrap().starts_with("indexing was interrupted"), "{state:#}");
    assert!(state["progress"]["files_total"].as_u64().unwrap() >= 1500, "{state:#}");
    let run = repo.codeweaver(["index"]);
    run.success().says(&["Resuming indexing from checkpoint at ", "Indexed: 1,500 files"]);
    let state = repo.status();
    assert_eq!((&state["state"], &state["progress"]), (&"indexed".into(), &serde_json::Value::Null));
    assert!(state["last_run"]["files_changed"].as_u64().unwrap() <= 1500);
}

#[test]
fn quiet_is_quiet_and_json_is_json() {
    let repo = indexed();
    let run = repo.codeweaver(["index", "--quiet"]);
    assert_eq!(run.success().stdout() + &run.stderr(), "");
    repo.write("new.rs", "fn f() {}\n").commit("new");
    let text = repo.codeweaver(["index", "--json"]).success().stdout();
    let events: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events[0]["event"], "begin");
    assert_eq!(events.last().unwrap()["event"], "done");
}

#[test]
fn in_the_background_it_returns_at_once() {
    let repo = indexed();
    repo.write("new.rs", "fn f() {}\n").commit("new");
    repo.codeweaver(["index", "--background"]).success().says(&["in the background (PID"]);
    repo.wait_until_current();
}

#[test]
fn verify_finds_damage_and_repairs_it() {
    let repo = indexed();
    repo.codeweaver(["verify"]).success();
    let store = std::fs::read_dir(repo.path(".codeweaver/v1")).unwrap().next().unwrap().unwrap().path();
    let shard = std::fs::read_dir(store.join("shards")).unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&shard).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    std::fs::write(&shard, bytes).unwrap();
    let run = repo.codeweaver(["verify", "--json"]);
    assert_eq!(run.fails(1).json()["good"], false);
    repo.codeweaver(["verify", "--repair"]).success();
    repo.codeweaver(["verify"]).success();
    assert_eq!(repo.found(&["parse_header"])[0], "src/parse.rs");
}

#[test]
fn gc_keeps_what_is_used() {
    let repo = indexed();
    let report = repo.codeweaver(["gc", "--json"]).success().json();
    assert_eq!(report["rows_before"], report["rows_after"]);
    assert_eq!(repo.found(&["parse_header"])[0], "src/parse.rs");
}

#[test]
fn submodules_are_counted_with_what_to_do_about_them() {
    let library = TestRepo::with_files(FILES);
    let repo = TestRepo::with_files(&[("main.py", "def entry_point():\n    pass\n")]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert!(!repo.codeweaver(["status"]).stdout().contains("Submodules"));
    let url = library.root().to_str().unwrap();
    repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "lib"]);
    repo.commit("submodule");
    let advice = "1 is not part of this index; `git submodule foreach git codeweaver init`";
    repo.codeweaver(["index"]).success().says(&[advice]);
    repo.codeweaver(["init", "--no-hooks"]).success().says(&[advice]);
    repo.codeweaver(["status"]).success().says(&[advice]);
    assert_eq!(repo.status()["skipped"]["submodule"], 1);
    // The advice does what it says.
    repo.git(["submodule", "--quiet", "foreach", "git codeweaver init --no-hooks"]);
    repo.at("lib").codeweaver(["search", "parse_header"]).success().says(&["src/parse.rs"]);
}

#[test]
fn a_forced_collection_keeps_nothing_for_its_age() {
    let repo = indexed();
    // As a writer leaves it that was killed before it could name the file.
    let store = codeweaver_index::Codebase::open(repo.root(), &[]).unwrap().store();
    std::fs::write(store.shard("0123"), "left behind").unwrap();
    let gc = |args: &[&str]| repo.codeweaver([&["gc", "--json"], args].concat()).success().json();
    assert_eq!(gc(&[])["files_removed"], 0, "it is young");
    let forced = gc(&["--force"]);
    assert_eq!((&forced["files_removed"], &forced["bytes_removed"]), (&1.into(), &11.into()), "{forced:#}");
    assert_eq!(gc(&["--force"])["files_removed"], 0);
    assert_eq!(repo.found(&["parse_header"])[0], "src/parse.rs");
    repo.codeweaver(["verify"]).success();
}
