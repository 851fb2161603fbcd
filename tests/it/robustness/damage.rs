//! Damaged and missing files: a right answer or a clear error, never a panic and never text that does not
//! exist. `verify` names the damage, and repair with an update restores the same answers.

use std::path::{Path, PathBuf};

use serde_json::Value;

use codeweaver::query::{Ann, Request};
use codeweaver_index::{Target, UpdateOptions, repair, update, updater};
use codeweaver_store::StoreLayout;
use codeweaver_store::reader::OpenFiles;
use codeweaver_testkit::{FILES, TestRepo};

use crate::support::sandbox::{Query, Sandbox, ask, assert_sound, hybrid, open, reader, respond, searcher};

/// Two segments, two entry files, two snapshots, graphs.
fn indexed() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n");
    for i in 0..40 {
        let functions: String = (0..6).map(|j| format!("def alpha_{i}_{j}(value):\n    \"\"\"Alpha number {j}.\"\"\"\n    return value * {i} + {j}\n\n\n")).collect();
        sandbox.write(&format!("src/file_{i}.py"), functions);
    }
    sandbox.commit("first");
    sandbox.index();
    for i in 0..4 {
        sandbox.write(
            &format!("src/more_{i}.rs"),
            format!("/// Beta.\npub fn beta_{i}() -> u32 {{\n    {i}\n}}\n"),
        );
    }
    sandbox.commit("second");
    sandbox.index();
    let _ = codeweaver_index::hnsw::build_missing(&open(sandbox.root())).unwrap();
    sandbox
}

fn queries() -> [Query; 3] {
    [
        hybrid("alpha number"),
        hybrid("beta_2"),
        Query { mode: codeweaver::query::Mode::Semantic, ..hybrid("a function that returns a number") },
    ]
}

fn answers(root: &Path) -> Vec<Value> {
    queries().iter().map(|query| ask(root, query)).collect()
}

/// One file of every kind that the state names, and the pointer.
fn named_files(root: &Path) -> Vec<(&'static str, PathBuf)> {
    let reader = reader(root);
    let layout: &StoreLayout = &reader.layout;
    let state = &reader.state;
    let mut files = vec![("state", layout.state())];
    for segment in &state.segments {
        files.push(("shard", layout.shard(&segment.name)));
        files.push(("segment", layout.segment(&segment.name)));
    }
    files.extend(state.entries.iter().map(|entries| ("entries", layout.entries(&entries.name))));
    files.extend(state.snapshots.values().map(|snapshot| ("snapshot", layout.snapshot(&snapshot.file))));
    files
        .extend(layout.largest_graph(&state.segments).map(|n| ("graph", layout.graph(&state.segments[..n]))));
    files
}

#[derive(Debug, Clone, Copy)]
enum Damage {
    Delete,
    Empty,
    Cut,
    FlipBit,
    Zeros,
    Noise,
}

const ALL: [Damage; 6] =
    [Damage::Delete, Damage::Empty, Damage::Cut, Damage::FlipBit, Damage::Zeros, Damage::Noise];

fn inflict(damage: Damage, path: &Path, rng: &mut fastrand::Rng) {
    let mut bytes = std::fs::read(path).unwrap();
    match damage {
        Damage::Delete => return std::fs::remove_file(path).unwrap(),
        Damage::Empty => bytes.clear(),
        Damage::Cut => bytes.truncate(rng.usize(..bytes.len())),
        Damage::FlipBit => {
            let at = rng.usize(..bytes.len());
            bytes[at] ^= 1 << rng.u8(..8);
        }
        Damage::Zeros => {
            let at = rng.usize(..bytes.len());
            let end = (at + 512).min(bytes.len());
            bytes[at..end].fill(0);
            // Zeros over zeros are no damage.
            bytes[at] = 1;
        }
        Damage::Noise => {
            let at = rng.usize(..bytes.len());
            let end = (at + 64).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte = rng.u8(..));
        }
    }
    // As a new file under the old name, as after a disk error: existing mappings keep the good one.
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Runs all queries and asserts that each has its right answer or none.
fn ask_damaged(sandbox: &Sandbox, wanted: &[Value], what: &str) {
    for (query, wanted) in queries().iter().zip(wanted) {
        match respond(sandbox.root(), query) {
            Ok(response) => assert_eq!(&crate::support::sandbox::comparable(&response), wanted, "{what}"),
            Err(e) => assert!(!e.to_string().is_empty(), "{what}"),
        }
    }
    for ann in [Ann::Signs, Ann::Hnsw] {
        let mut request = Request::new("alpha number", &open(sandbox.root()).settings);
        request.ann = ann;
        let _ = searcher(open(sandbox.root())).search(&request, &|_, _| false);
    }
}

fn repaired(sandbox: &Sandbox, wanted: &[Value], what: &str) {
    let codebase = open(sandbox.root());
    let findings = repair::verify(&codebase).unwrap();
    {
        let _lease = updater::lease(&codebase).unwrap();
        repair::repair(&codebase, &findings).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    sandbox.index();
    assert_sound(sandbox.root());
    assert_eq!(answers(sandbox.root()), wanted, "{what}");
}

/// Panics are caught and reported as errors. The tests count them nevertheless.
#[test]
fn every_kind_of_damage_is_named_and_repaired() {
    let sandbox = indexed();
    let wanted = answers(sandbox.root());
    let mut rng = fastrand::Rng::with_seed(5);
    for damage in ALL {
        for i in 0..named_files(sandbox.root()).len() {
            let Some((kind, path)) = named_files(sandbox.root()).into_iter().nth(i) else { continue };
            let before = std::fs::read(&path).unwrap();
            inflict(damage, &path, &mut rng);
            let what = format!("{damage:?} of {kind} {}", path.display());
            let is_same = std::fs::read(&path).is_ok_and(|now| now == before);
            let findings = repair::verify(&open(sandbox.root())).unwrap();
            let is_quiet = is_same || (matches!(damage, Damage::Delete) && matches!(kind, "graph" | "state"));
            assert!(
                is_quiet || findings.iter().any(|finding| finding.path == path),
                "{what} is not named: {findings:?}"
            );
            ask_damaged(&sandbox, &wanted, &what);
            repaired(&sandbox, &wanted, &what);
            let _ = codeweaver_index::hnsw::build_missing(&open(sandbox.root())).unwrap();
        }
    }
}

#[test]
fn random_bits_of_searched_files_never_show_wrong_text() {
    let sandbox = indexed();
    let wanted = answers(sandbox.root());
    let mut rng = fastrand::Rng::with_seed(6);
    let files: Vec<_> = named_files(sandbox.root())
        .into_iter()
        .filter(|(kind, _)| matches!(*kind, "segment" | "entries" | "graph" | "shard"))
        .collect();
    for round in 0..150 {
        let (kind, path) = &files[rng.usize(..files.len())];
        let good = std::fs::read(path).unwrap();
        let damage = if rng.bool() { Damage::FlipBit } else { Damage::Noise };
        inflict(damage, path, &mut rng);
        ask_damaged(&sandbox, &wanted, &format!("round {round}, {damage:?} of {kind}"));
        let is_searched = *kind != "graph";
        assert_eq!(respond(sandbox.root(), &queries()[0]).is_err(), is_searched, "round {round}, {kind}");
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, good).unwrap();
    }
    assert_sound(sandbox.root());
}

/// Damage that an update meets without a requested repair.
#[test]
fn an_update_repairs_damage_that_it_meets() {
    let whole = indexed();
    for kind in ["state", "segment", "entries", "snapshot", "shard"] {
        for damage in [Damage::Delete, Damage::Empty, Damage::Cut] {
            let sandbox = whole.copy_with_index();
            let wanted = answers(sandbox.root());
            let mut rng = fastrand::Rng::with_seed(7);
            for (of, path) in named_files(sandbox.root()) {
                if of == kind {
                    inflict(damage, &path, &mut rng);
                }
            }
            sandbox.index();
            assert_sound(sandbox.root());
            assert_eq!(answers(sandbox.root()), wanted, "{damage:?} of every {kind}");
        }
    }
}

#[test]
fn a_first_index_that_loses_its_state_is_repaired() {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    std::fs::remove_file(reader(repo.root()).layout.state()).unwrap();

    let found = repo.codeweaver(["search", "parse header"]).success().stdout();
    assert!(found.contains("src/parse.rs"), "{found}");
    repo.codeweaver(["verify"]).success();
}

#[test]
fn a_damaged_snapshot_of_another_branch_stops_nothing() {
    let sandbox = indexed();
    let codebase = open(sandbox.root());
    let first = codebase.repo.resolve("HEAD~1").unwrap();
    let key = codebase.snapshot_key(&first.tree.to_string());
    let reader = reader(sandbox.root());
    let path = reader.layout.snapshot(&reader.state.snapshots[&key].file);
    inflict(Damage::Noise, &path, &mut fastrand::Rng::with_seed(8));
    assert_eq!(repair::verify(&codebase).unwrap().len(), 1);
    sandbox.git(["switch", "-q", "--detach", "HEAD~1"]);
    let report = sandbox.index();
    assert_eq!(report.embedded_chunks, 0);
    assert_sound(sandbox.root());
}

#[test]
fn cache_files_may_be_missing_or_damaged() {
    let sandbox = indexed();
    let wanted = answers(sandbox.root());
    let codebase = open(sandbox.root());
    let layout = &codebase.layout;
    std::fs::create_dir_all(layout.cache()).unwrap();
    for garbage in [b"".as_slice(), b"garbage", &[0xff; 4000]] {
        let files = [
            codebase.store().previous_state(),
            layout.cache().join("stat-main"),
            layout.cache().join("parsing-main"),
            layout.work_lock("main"),
            layout.publish_lock(),
            layout.update_requests().join("main"),
        ];
        for path in &files {
            let _ = std::fs::remove_file(path);
            std::fs::write(path, garbage).unwrap();
        }
        assert_eq!(answers(sandbox.root()), wanted);
        assert!(sandbox.index().known);
        assert_eq!(answers(sandbox.root()), wanted);
    }
    for dir in [layout.cache(), layout.update_requests(), layout.locks()] {
        std::fs::remove_dir_all(dir).unwrap();
    }
    assert_eq!(answers(sandbox.root()), wanted);
    assert!(sandbox.index().known);
    sandbox.write("src/more_0.rs", "pub fn gamma() {}\n");
    sandbox.commit("third");
    sandbox.index();
    assert_sound(sandbox.root());
}

#[test]
fn a_foreign_nonce_is_refused_with_a_reason() {
    let sandbox = indexed();
    let nonce = sandbox.root().join(".codeweaver/nonce");
    for foreign in [Some("0123\n"), Some(""), None] {
        match foreign {
            Some(text) => std::fs::write(&nonce, text).unwrap(),
            None => std::fs::remove_file(&nonce).unwrap(),
        }
        let error = respond(sandbox.root(), &queries()[0]).unwrap_err().to_string();
        assert!(error.contains("nonce"), "{error}");
        let error = crate::support::sandbox::try_index(sandbox.root()).unwrap_err().to_string();
        assert!(error.contains("nonce"), "{error}");
        let codebase = open(sandbox.root());
        assert!(updater::request_update(&codebase).is_err());
        assert!(updater::serve_requests(&codebase, &codeweaver_index::progress::Silent).is_err());
    }
}

#[test]
fn a_lost_base_tree_costs_only_a_tree_walk() {
    let sandbox =
        Sandbox::with(&[("a.py", "def alpha():\n    return 1\n"), ("b.py", "def beta():\n    return 2\n")]);
    sandbox.index();
    sandbox.write("a.py", "def alpha():\n    return 3\n");
    sandbox.git(["commit", "-q", "-a", "--amend", "-m", "amended"]);
    sandbox.git(["reflog", "expire", "--expire=now", "--all"]);
    sandbox.git(["gc", "-q", "--prune=now"]);
    let fresh = sandbox.copy();
    fresh.index();
    assert_eq!(sandbox.ask(&hybrid("alpha")), fresh.ask(&hybrid("alpha")));
    let report = sandbox.index();
    assert_eq!(report.blobs_indexed, 1);
    assert_eq!(sandbox.ask(&hybrid("alpha")), fresh.ask(&hybrid("alpha")));
}

#[test]
fn a_missing_blob_is_counted_and_indexed_once_it_exists() {
    let sandbox =
        Sandbox::with(&[("a.py", "def alpha():\n    return 1\n"), ("b.py", "def beta():\n    return 2\n")]);
    let oid = sandbox.git_text(["rev-parse", "HEAD:b.py"]).trim().to_owned();
    let object = sandbox.root().join(".git/objects").join(&oid[..2]).join(&oid[2..]);
    let bytes = std::fs::read(&object).unwrap();
    std::fs::remove_file(&object).unwrap();
    let report = sandbox.index();
    assert_eq!((report.files, report.skipped.get("not_local").copied()), (1, Some(1)), "{report:?}");
    std::fs::write(&object, bytes).unwrap();
    sandbox.write("c.py", "def gamma():\n    return 3\n");
    sandbox.commit("second");
    let report = sandbox.index();
    assert_eq!((report.files, report.skipped.get("not_local")), (3, None), "{report:?}");
    let embedder = codeweaver_embed::open(&open(sandbox.root()).settings.model).unwrap();
    let codebase = open(sandbox.root());
    let context = update::UpdateContext {
        codebase: &codebase,
        embedder: embedder.as_ref(),
        files: &OpenFiles::default(),
        progress: &codeweaver_index::progress::Silent,
    };
    let again = update::update(&context, &Target::head(&codebase).unwrap(), UpdateOptions::default());
    assert!(again.unwrap().known);
}

/// After a search, which repairs what it meets, and the next update, `verify` finds nothing, whatever was
/// damaged in whatever order.
#[test]
fn a_repaired_store_is_verified() {
    let sandbox = indexed();
    sandbox.git(["branch", "-q", "old", "HEAD~1"]);
    let mut rng = fastrand::Rng::with_seed(43);
    for round in 0..12 {
        let mut files = named_files(sandbox.root());
        files.push(("state.prev", reader(sandbox.root()).layout.previous_state()));
        // Optional, and not repaired but built again.
        files.retain(|(kind, path)| *kind != "graph" && path.exists());
        let mut what = format!("round {round}:");
        for _ in 0..rng.usize(1..4) {
            let (kind, path) = &files[rng.usize(..files.len())];
            if path.exists() {
                let damage = ALL[rng.usize(..ALL.len())];
                inflict(damage, path, &mut rng);
                what.push_str(&format!(" {damage:?} of {kind},"));
            }
        }

        let run = sandbox.codeweaver(["search", "--json", "alpha number"]);
        assert_eq!(run.code(), 0, "{what} {}", run.explain());
        sandbox.index();
        let findings = repair::verify(&open(sandbox.root())).unwrap();
        assert!(findings.is_empty(), "{what} {findings:?}");

        // Sometimes there is another head, and a snapshot that no head has.
        if rng.bool() {
            let branch = if rng.bool() { "old" } else { "main" };
            sandbox.git(["checkout", "-q", branch]);
            sandbox.index();
        }
    }
}

/// A damaged blob costs the file that has it and no other: the file is named, other files are found, and it
/// is found again once its blob is whole.
#[test]
fn a_damaged_blob_is_skipped_and_named() {
    let sandbox = Sandbox::with(&[
        ("good.py", "def alpha_good():\n    return 1\n"),
        ("bad", "alpha_bad = 2\n"),
        ("bad.py", "def alpha_worse():\n    return 3\n"),
    ]);
    let object = |path: &str| {
        let oid = sandbox.git_text(["rev-parse", &format!("HEAD:{path}")]);
        sandbox.path(&format!(".git/objects/{}/{}", &oid[..2], oid[2..].trim()))
    };
    // One file whose language its first line decides, and one whose header is whole.
    let damaged = ["bad", "bad.py"].map(object);
    let whole = damaged.each_ref().map(|path| std::fs::read(path).unwrap());
    for path in &damaged {
        let mut bytes = std::fs::read(path).unwrap();
        let end = bytes.len();
        bytes[end - 6..].fill(0);
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    let report = sandbox.index();
    assert_eq!((report.files, report.skipped.get("not_local")), (1, Some(&2)), "{report:?}");
    let status = sandbox.codeweaver(["status", "--files"]).success().stdout();
    assert!(status.contains("bad.py"), "{status}");
    let found = respond(sandbox.root(), &Query { committed: true, ..hybrid("alpha_good") }).unwrap();
    assert_eq!(found.matches[0].file.path, "good.py");
    assert!(found.warnings.iter().any(|warning| warning.contains("2 files")), "{:?}", found.warnings);
    let lines = sandbox.codeweaver(["search", "--mode", "exact", "--rev", "HEAD", "alpha_good"]);
    lines.success().says(&["good.py"]);
    // An index without anything new is not begun again and again.
    assert!(sandbox.index().known);

    for (path, bytes) in damaged.iter().zip(whole) {
        std::fs::remove_file(path).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    // Objects have arrived, as by `git fetch --refetch`.
    sandbox.write("new.txt", "new").git(["hash-object", "-w", "new.txt"]);
    assert_eq!(sandbox.index().skipped.get("not_local"), None);
    assert_eq!(ask(sandbox.root(), &hybrid("alpha_worse"))["matches"][0]["file"]["path"], "bad.py");
}
