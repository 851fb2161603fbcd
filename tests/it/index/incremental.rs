//! Incremental updates give the same answers as a fresh index, at the cost of the change.
//!
//! Random histories on a real repository. After each step the answers of the incremental index must equal,
//! byte for byte, those of a fresh index of a copy. `CODEWEAVER_PROPERTY_SEQUENCES` sets the number of
//! histories, `CODEWEAVER_PROPERTY_SEED` repeats one.

mod history;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use codeweaver::query::{Ann, Mode, Searcher};
use codeweaver_index::{UpdateReport, publish};
use codeweaver_testkit::outlast_clock_tick;

use crate::support::sandbox::{
    Query, Sandbox, assert_sound, collect, comparable, hybrid, index, open, reader, search, searcher,
    try_index,
};

use history::History;

const SEQUENCES: u64 = 24;

fn queries() -> Vec<Query> {
    vec![
        hybrid("parse the configuration file"),
        hybrid("refresh_token"),
        hybrid("how are failed requests retried with backoff"),
        Query { mode: Mode::Keyword, ..hybrid("retry request") },
        Query { mode: Mode::Semantic, ..hybrid("open a database connection") },
        Query { mode: Mode::Symbol, ..hybrid("Parser") },
        Query { languages: &["python"], ..hybrid("read lines from a file") },
        Query { paths: &["src"], no_tests: true, ..hybrid("validate user input") },
        Query { committed: true, ..hybrid("close the socket") },
        Query { mode: Mode::Semantic, ann: Ann::Signs, ..hybrid("exchange an expired token") },
    ]
}

#[test]
fn random_histories_give_the_answers_of_a_fresh_index() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("CODEWEAVER_PROPERTY_SEED") {
        return History::new(seed).run();
    }
    let n_sequences = number("CODEWEAVER_PROPERTY_SEQUENCES").unwrap_or(SEQUENCES);
    let next = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > n_sequences {
                        return;
                    }
                    History::new(seed).run();
                }
            });
        }
    });
}

const THREE_FUNCTIONS: &str =
    "def alpha():\n    return 1\n\n\ndef beta():\n    return 2\n\n\ndef gamma():\n    return 3\n";

/// A file large enough that its functions are chunks of their own.
fn large_file(changed: usize) -> String {
    (0..24)
        .map(|i| {
            let word = if i == changed { "changed" } else { "kept" };
            let body: String = (0..40).map(|j| format!("    {word}_value_{i}_{j} = compute(step={j}, factor={i})\n")).collect();
            format!("def function_{i}(argument):\n    \"\"\"Function number {i}.\"\"\"\n{body}    return {i}\n\n\n")
        })
        .collect()
}

fn updated(sandbox: &Sandbox) -> UpdateReport {
    let report = sandbox.index();
    assert_sound(sandbox.root());
    report
}

#[test]
fn the_cost_of_an_update_is_that_of_the_change() {
    let sandbox = Sandbox::with(&[("a.py", THREE_FUNCTIONS), ("large.py", &large_file(usize::MAX))]);
    let first = updated(&sandbox);
    assert!(first.embedded_chunks > 5, "{first:?}");
    assert!(updated(&sandbox).known);

    sandbox.git(["mv", "a.py", "renamed.py"]);
    sandbox.commit("rename");
    let report = updated(&sandbox);
    assert_eq!((report.embedded_chunks, report.blobs_indexed, report.files_changed), (0, 0, 1), "a rename");

    sandbox.git(["update-index", "--chmod=+x", "renamed.py"]);
    sandbox.git(["commit", "-q", "-m", "mode"]);
    sandbox.git(["reset", "-q", "--hard"]);
    assert_eq!(updated(&sandbox).embedded_chunks, 0, "a mode change");

    sandbox.write("large.py", large_file(7));
    sandbox.commit("one function");
    let report = updated(&sandbox);
    assert_eq!(report.blobs_indexed, 1);
    assert!((1..=2).contains(&report.embedded_chunks), "one function: {report:?}");

    sandbox.git(["switch", "-q", "--detach", "HEAD~2"]);
    let report = updated(&sandbox);
    assert!(report.known && report.embedded_chunks == 0, "back to a known commit: {report:?}");
}

#[test]
fn a_known_tree_embeds_nothing_even_after_its_snapshot_is_dropped() {
    let sandbox = Sandbox::with(&[("a.py", THREE_FUNCTIONS)]);
    updated(&sandbox);
    sandbox.write("b.py", "def delta():\n    return 4\n");
    sandbox.commit("second");
    updated(&sandbox);
    let codebase = open(sandbox.root());
    publish::change_state(&codebase, |state| {
        let kept = state.heads["main"].snapshot.clone();
        state.snapshots.retain(|key, _| *key == kept);
    })
    .unwrap();
    sandbox.git(["switch", "-q", "--detach", "HEAD~1"]);
    let report = updated(&sandbox);
    assert!(!report.known);
    assert_eq!((report.embedded_chunks, report.blobs_indexed), (0, 0));
}

#[test]
fn a_new_worktree_embeds_nothing_and_copies_no_vector() {
    let sandbox = Sandbox::with(&[("a.py", THREE_FUNCTIONS), ("b.md", "# Title\n\nText.\n")]);
    updated(&sandbox);
    let shards = |root| {
        let reader = reader(root);
        reader.state.segments.iter().map(|segment| segment.shard_bytes).sum::<u64>()
    };
    let before = shards(sandbox.root());
    let other = sandbox.beside("other");
    sandbox.git(["worktree", "add", "-q", other.to_str().unwrap(), "-b", "other"]);
    let report = index(&other);
    assert_eq!((report.embedded_chunks, report.blobs_indexed), (0, 0));
    assert_eq!(shards(sandbox.root()), before);
    let query = hybrid("alpha");
    assert_eq!(crate::support::sandbox::ask(&other, &query)["matches"], sandbox.ask(&query)["matches"]);

    // Changes in one worktree are invisible in the other.
    std::fs::write(other.join("only_here.py"), "def omega_marker():\n    return 9\n").unwrap();
    let found = |root: &std::path::Path| {
        let answer = crate::support::sandbox::ask(root, &hybrid("omega_marker"));
        answer["matches"].as_array().unwrap().iter().any(|m| m["file"]["path"] == "only_here.py")
    };
    assert!(found(&other));
    assert!(!found(sandbox.root()));
}

#[test]
fn a_changed_policy_file_reclassifies_only_its_subtree() {
    let sandbox = Sandbox::with(&[
        ("a.py", THREE_FUNCTIONS),
        ("src/b.py", "def b():\n    return 1\n"),
        ("src/c.js", "let c = 1;\n"),
    ]);
    updated(&sandbox);
    sandbox.write(".gitattributes", "* linguist-generated\n");
    sandbox.commit("all generated");
    let report = updated(&sandbox);
    assert_eq!((report.files, report.chunks, report.embedded_chunks), (0, 0, 0), "{report:?}");
    sandbox.write(".gitattributes", "");
    sandbox.commit("none generated");
    let report = updated(&sandbox);
    assert_eq!((report.files, report.embedded_chunks), (3, 0), "{report:?}");
}

#[test]
fn answers_with_tied_scores_do_not_depend_on_history() {
    let file = |i: usize| format!("# copy {i}\n{THREE_FUNCTIONS}");
    let sandbox = Sandbox::new();
    let mut order: Vec<usize> = (0..120).collect();
    fastrand::Rng::with_seed(11).shuffle(&mut order);
    for (n, part) in order.chunks(10).enumerate() {
        for &i in part {
            sandbox.write(&format!("copy_{i}.py"), file(i));
        }
        sandbox.commit(&format!("part {n}"));
        updated(&sandbox);
    }
    let fresh = sandbox.copy();
    fresh.index();
    assert!(reader(sandbox.root()).segments.len() > 1);
    for text in ["beta", "return gamma", "a function that returns two"] {
        for mode in [Mode::Hybrid, Mode::Keyword, Mode::Semantic] {
            let query = Query { mode, ..hybrid(text) };
            assert_eq!(sandbox.ask(&query), fresh.ask(&query), "{query:?}");
        }
    }
}

#[test]
fn names_that_many_files_have_do_not_depend_on_history() {
    let sandbox = Sandbox::new();
    let mut order: Vec<usize> = (0..300).collect();
    fastrand::Rng::with_seed(12).shuffle(&mut order);
    for (n, part) in order.chunks(60).enumerate() {
        for &i in part {
            sandbox
                .write(&format!("app_{i}/conf.py"), format!("def handler_{i}(request):\n    return {i}\n"));
            // These have more in common with the first query, so conf.py is found by its name alone.
            let page = format!("# Page {i}\n\nHow administrators write the manual, part {i}.\n\n");
            sandbox.write(&format!("docs/manual/page_{i}.md"), page.clone() + &page.replace("Page", "Part"));
        }
        sandbox.commit(&format!("part {n}"));
        updated(&sandbox);
    }
    let fresh = sandbox.copy();
    fresh.index();
    assert!(reader(sandbox.root()).segments.len() > 1);
    for query in [
        hybrid("administrators write the manual docs page in conf.py"),
        Query { mode: Mode::Symbol, ..hybrid("handler") },
        Query { mode: Mode::Symbol, ..hybrid("handler_2") },
    ] {
        let answer = sandbox.ask(&query);
        assert!(answer["matches"].to_string().contains("conf.py"), "{query:?}");
        assert_eq!(answer, fresh.ask(&query), "{query:?}");
    }
}

/// After a change of attributes the same bytes on disk convert to other bytes in git.
#[test]
fn changed_attributes_are_not_answered_from_what_was_cleaned_under_the_old() {
    let sandbox = Sandbox::with(&[("notes.txt", "alpha notes\nsecond line\n")]);
    sandbox.index();
    sandbox.write(".gitattributes", "*.txt text eol=crlf\n");
    // Not racy: the file is older than every cache that has its stat data.
    sandbox.write("notes.txt", "alpha notes\r\nsecond line\r\n");
    outlast_clock_tick();
    for _ in 0..2 {
        assert_eq!(sandbox.ask(&hybrid("alpha notes"))["matches"][0]["state"], "committed");
        outlast_clock_tick();
    }
    std::fs::remove_file(sandbox.root().join(".gitattributes")).unwrap();
    assert_eq!(sandbox.ask(&hybrid("alpha notes"))["matches"][0]["state"], "dirty");
}
