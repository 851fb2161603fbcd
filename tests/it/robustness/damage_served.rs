//! Damage of the index under a running server, a fresh one and the command line: the right answer, after a
//! repair where one is needed. No process ends, and no agent is left without a way on.

use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_index::{Codebase, repair};
use codeweaver_store::StoreReader;
use codeweaver_testkit::{Run, TestRepo, outlast_clock_tick, wait_for};

use crate::support::mcp_client::McpClient;
use crate::support::server::Server;

/// Two segments, two entry files and two snapshots, of some hundred kilobytes.
fn indexed() -> TestRepo {
    let repo = TestRepo::empty_dir_in_memory();
    repo.git(["init", "-q", "-b", "main"]);
    for i in 0..40 {
        let functions: String = (0..20).map(|j| format!("def alpha_{i}_{j}(value):\n    \"\"\"Alpha number {j}.\"\"\"\n    return value * {i} + {j}\n\n\n")).collect();
        repo.write(&format!("src/file_{i}.py"), functions);
    }
    repo.git(["add", "-A"]).git(["commit", "-q", "-m", "first"]);
    repo.codeweaver(["init"]).success();
    repo.write("src/more.rs", "/// Beta.\npub fn beta() -> u32 {\n    2\n}\n");
    repo.git(["add", "-A"]).git(["commit", "-q", "-m", "second"]);
    repo.codeweaver(["index"]).success();
    repo
}

fn codebase(repo: &TestRepo) -> Codebase {
    Codebase::open(repo.root(), &[]).unwrap()
}

/// The largest file of every kind, with another one of its kind.
fn files(repo: &TestRepo) -> Vec<(&'static str, PathBuf, Option<PathBuf>)> {
    let reader = StoreReader::open(&codebase(repo).store()).unwrap().unwrap();
    let (layout, state) = (&reader.layout, &reader.state);
    let snapshots = state.snapshots.values().map(|it| layout.snapshot(&it.file)).collect();
    let kinds: [(&str, Vec<PathBuf>); 4] = [
        ("shard", state.segments.iter().map(|it| layout.shard(&it.name)).collect()),
        ("segment", state.segments.iter().map(|it| layout.segment(&it.name)).collect()),
        ("entries", state.entries.iter().map(|it| layout.entries(&it.name)).collect()),
        ("snapshot", snapshots),
    ];
    let mut all = vec![("state", layout.state(), None)];
    // A snapshot that answers for no head is not read.
    let current = layout.snapshot(&state.snapshots[&state.heads["main"].snapshot].file);
    for (kind, mut paths) in kinds {
        paths.sort_by_key(|path| (*path == current, std::fs::metadata(path).map_or(0, |meta| meta.len())));
        let largest = paths.pop().unwrap();
        all.push((kind, largest, paths.pop()));
    }
    all
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Delete,
    Empty,
    Halve,
    FlipFirst,
    FlipMiddle,
    FlipLast,
    Another,
    Overwrite,
}

const ALL: [Damage; 8] = [
    Damage::Delete,
    Damage::Empty,
    Damage::Halve,
    Damage::FlipFirst,
    Damage::FlipMiddle,
    Damage::FlipLast,
    Damage::Another,
    Damage::Overwrite,
];

/// Damages the file in place where that is possible, so that maps of it see the damage.
fn inflict(damage: Damage, path: &Path, another: Option<&Path>) {
    let file = || std::fs::File::options().read(true).write(true).open(path).unwrap();
    let len = std::fs::metadata(path).unwrap().len();
    let flip = |at: u64| {
        let mut byte = [0];
        file().read_exact_at(&mut byte, at).unwrap();
        file().write_all_at(&[byte[0] ^ 4], at).unwrap();
    };
    match damage {
        Damage::Delete => std::fs::remove_file(path).unwrap(),
        Damage::Empty => file().set_len(0).unwrap(),
        Damage::Halve => file().set_len(len / 2).unwrap(),
        Damage::FlipFirst => flip(0),
        Damage::FlipMiddle => flip(len / 2),
        Damage::FlipLast => flip(len - 1),
        Damage::Another => {
            another.map(|another| std::fs::copy(another, path).unwrap());
        }
        Damage::Overwrite => file().write_all_at(&vec![0xa5; (len / 2) as usize], len / 4).unwrap(),
    }
}

const QUERY: &str = "alpha number";

/// The paths and lines of the answer of a server, which may first be rebuilding its index.
fn ask_server(client: &mut McpClient, what: &str) -> Vec<Value> {
    wait_for(what, || {
        let result =
            client.call("find_code", json!({ "query": QUERY, "locations_only": true, "format": "json" }));
        let answer = &result["structuredContent"];
        match answer["status"].as_str() {
            Some("not_ready") => return Err(result),
            // As an agent does: the call of the hint.
            Some("not_indexed") => {
                client.call("manage_index", answer["hints"]["create"]["args"].clone());
                return Err(result);
            }
            _ => {}
        }
        Ok(places(answer, what))
    })
}

fn ask_command(repo: &TestRepo, what: &str) -> Vec<Value> {
    places(&repo.codeweaver(["search", "--json", QUERY]).json(), what)
}

fn places(answer: &Value, what: &str) -> Vec<Value> {
    let matches = answer["matches"].as_array().unwrap_or_else(|| panic!("{what}: {answer:#}"));
    matches.iter().map(|it| json!([it["file"]["path"], it["relevance_score"]])).collect()
}

#[test]
fn every_damage_under_a_server_is_repaired_and_answered() {
    let repo = indexed();
    let mut warm = McpClient::start(&repo);
    let wanted = ask_server(&mut warm, "before");
    let of_command = ask_command(&repo, "before");
    assert!(!wanted.is_empty() && !of_command.is_empty());
    for damage in ALL {
        for i in 0..files(&repo).len() {
            let asked = |asker: &str| {
                let (kind, path, another) = files(&repo).swap_remove(i);
                inflict(damage, &path, another.as_deref());
                format!("{damage:?} of {kind}, {asker}")
            };
            let what = asked("running server");
            assert_eq!(ask_server(&mut warm, &what), wanted, "{what}");
            let what = asked("fresh server");
            assert_eq!(ask_server(&mut McpClient::start(&repo), &what), wanted, "{what}");
            let what = asked("command");
            assert_eq!(ask_command(&repo, &what), of_command, "{what}");
        }
    }
    let findings = repair::verify(&codebase(&repo)).unwrap();
    assert!(findings.is_empty(), "{findings:?}");
    assert_eq!(warm.close(), 0);
}

/// Sets the flag when it is dropped, so that a thread that waits for it ends after a failed assertion too.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Files are truncated while queries run, by several clients at once.
#[test]
fn truncation_during_queries_ends_no_server() {
    let repo = indexed();
    let mut clients: Vec<McpClient> = (0..2).map(|_| McpClient::start(&repo)).collect();
    let wanted = ask_server(&mut clients[0], "before");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _end = End(&is_over);
        let truncating = scope.spawn(|| {
            let mut rng = fastrand::Rng::with_seed(11);
            while !is_over.load(Ordering::Relaxed) {
                // A file of a store that is being rebuilt may be gone already.
                let store = StoreReader::open(&codebase(&repo).store());
                if let Ok(Some(reader)) = store {
                    let name = reader.state.segments.first().map(|it| it.name.clone()).unwrap_or_default();
                    let path =
                        if rng.bool() { reader.layout.shard(&name) } else { reader.layout.segment(&name) };
                    if let Ok(file) = std::fs::File::options().write(true).open(path) {
                        let _ = file.set_len(rng.u64(..20_000));
                    }
                }
                // At any moment of a query, or of a repair.
                std::thread::sleep(Duration::from_millis(rng.u64(..300)));
            }
        });
        for round in 0..60 {
            for client in &mut clients {
                let result = client
                    .call("find_code", json!({ "query": QUERY, "locations_only": true, "format": "json" }));
                let answer = &result["structuredContent"];
                // An error, which says how to mend it, or a gate, or the right answer.
                if answer["status"] == "ok" {
                    assert_eq!(places(answer, "during"), wanted, "round {round}");
                } else {
                    let text = result["content"][0]["text"].as_str().unwrap();
                    assert!(text.contains("manage_index"), "{result:#}");
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
        truncating.join().unwrap();
    });
    for client in &mut clients {
        assert_eq!(ask_server(client, "after"), wanted);
    }
    for client in clients {
        assert_eq!(client.close(), 0);
    }
}

/// Puts something else in the place of a file.
fn replace(kind: &str, path: &Path) {
    std::fs::remove_file(path).unwrap();
    match kind {
        "pipe" => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        "directory" => std::fs::create_dir_all(path.join("below")).unwrap(),
        _ => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
    }
}

/// A pipe, a directory or a link to a device in place of a file of the index makes no process wait, and is
/// mended as any other damage.
#[test]
fn whatever_is_in_place_of_a_file_is_mended() {
    let repo = indexed();
    let wanted = ask_command(&repo, "before");
    for kind in ["pipe", "directory", "link"] {
        for i in 0..files(&repo).len() {
            let (name, path, _) = files(&repo).swap_remove(i);
            // A link here is refused, see `hostile_repository`.
            if (kind, name) == ("link", "state") {
                continue;
            }
            let what = format!("a {kind} in place of {name}");
            replace(kind, &path);
            assert_eq!(ask_command(&repo, &what), wanted, "{what}");
            repo.codeweaver(["index", "--quiet"]).success();
            assert_eq!(repair::verify(&codebase(&repo)).unwrap(), [], "{what}");
        }
    }
}

#[test]
fn whatever_is_in_place_of_a_lock_or_a_cache_is_removed() {
    let repo = indexed();
    let wanted = ask_command(&repo, "before");
    for kind in ["pipe", "directory"] {
        for directory in ["locks", "cache", "wanted"] {
            let found = std::fs::read_dir(repo.path(&format!(".codeweaver/{directory}"))).unwrap();
            for file in found.flatten().filter(|file| file.file_type().unwrap().is_file()) {
                let what = format!("a {kind} in place of {}", file.path().display());
                // A run of another process may have removed it.
                if file.path().is_file() {
                    replace(kind, &file.path());
                }
                assert_eq!(ask_command(&repo, &what), wanted, "{what}");
                repo.codeweaver(["index", "--quiet"]).success();
                assert_eq!(ask_command(&repo, &what), wanted, "{what}");
            }
        }
    }
}

/// One refusal, whose remedy helps.
#[test]
fn a_nonce_that_is_no_file_is_refused_once() {
    let repo = indexed();
    let wanted = ask_command(&repo, "before");
    for nonce in [".codeweaver/nonce", ".git/codeweaver-nonce"] {
        for kind in ["pipe", "directory", "link"] {
            let what = format!("a {kind} in place of {nonce}");
            let mut client = McpClient::start(&repo);
            replace(kind, &repo.path(nonce));
            repo.codeweaver(["search", "alpha"]).is_an_error("must not be used", "rm -rf");
            let refused = client.call("find_code", json!({ "query": QUERY }));
            assert!(refused.to_string().contains("rm -rf"), "{what}: {refused:#}");
            repo.remove(".codeweaver");
            repo.codeweaver(["init", "--no-hooks"]).success();
            assert_eq!(ask_command(&repo, &what), wanted, "{what}");
        }
    }
}

/// No search can be answered, so it is the server that is not available; the files are shown all the same.
#[test]
fn a_server_without_a_store_of_its_own_is_unavailable() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    repo.write(".codeweaver/nonce", "another\n");
    for path in [
        "api/search?q=alpha",
        "api/search?q=alpha&mode=symbol",
        "api/search?q=alpha&mode=exact",
        "api/search?q=alpha&mode=exact&rev=HEAD&stream=1",
        "api/similar?path=src/more.rs&line=1",
        "api/graph?symbol=beta",
        "api/history?symbol=beta",
        "api/ask?q=what+is+alpha",
        "search?q=alpha",
        "symbol?symbol=beta",
        "health/",
    ] {
        let answer = server.get(path);
        assert_ne!(answer.status, 500, "{path}: {}", answer.body);
        if answer.status != 200 {
            assert_eq!(answer.status, 503, "{path}: {}", answer.body);
        }
    }
    let refused = server.get("api/search?q=alpha");
    assert_eq!(refused.status, 503, "{}", refused.body);
    let refused = refused.json();
    assert!(refused["why"].as_str().unwrap().contains("nonce"), "{refused:#}");
    assert!(refused["fix"].as_str().unwrap().contains("rm -rf"), "{refused:#}");
}

#[test]
fn an_agent_is_told_what_mends_the_index() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let (_, shard, _) = files(&repo).swap_remove(1);
    std::fs::remove_file(&shard).unwrap();
    let created = client.call("manage_index", json!({ "action": "create" }));
    let text = created["content"][0]["text"].as_str().unwrap();
    // The server may have seen the damage and repaired it before the call.
    let is_whole = text.contains("repaired") || text.contains("indexed already");
    assert!(is_whole && created["isError"] != true, "{created:#}");
    assert!(shard.exists() || repair::verify(&codebase(&repo)).unwrap().is_empty());
    repo.write(".codeweaver/nonce", "another\n");
    for call in [("find_code", json!({ "query": QUERY })), ("manage_index", json!({ "action": "create" }))] {
        let refused = client.call(call.0, call.1);
        let text = refused["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("nonce") && text.contains("rm -rf"), "{refused:#}");
    }
}

/// A copied repository is hashed once and has the same answers, without a repair.
#[test]
fn a_copied_repository_is_trusted_after_it_was_hashed() {
    let repo = indexed();
    let wanted = ask_command(&repo, "original");
    let copy = TestRepo::empty_dir_in_memory();
    Run::new(repo.command("cp").arg("-r").arg(repo.path(".")).arg(copy.root())).success();
    // A file that has changed just now is not recorded.
    outlast_clock_tick();
    let state = |repo: &TestRepo| std::fs::read(codebase(repo).store().state()).unwrap();
    assert_eq!(ask_command(&copy, "copy"), wanted);
    assert_eq!(state(&copy), state(&repo), "nothing was repaired");
    let hashed = std::fs::read(codebase(&copy).store().hashed()).unwrap();
    assert_ne!(
        hashed,
        std::fs::read(codebase(&repo).store().hashed()).unwrap(),
        "the copy has its own record"
    );
    assert_eq!(ask_command(&copy, "copy"), wanted);
    assert_eq!(std::fs::read(codebase(&copy).store().hashed()).unwrap(), hashed, "it is hashed once");
}
