//! An index with the fields of an earlier version.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use serde_json::{Value, json};

use codeweaver_testkit::{program, wait_until};

use super::cluster::Cluster;
use super::lines::without_words;
use super::site::{Site, paths};

const KINDS: [&str; 3] = ["rows", "files", "repos"];

/// An index of the version before is searched and takes no pushes. It is brought up to date while it is
/// searched.
pub fn upgraded(site: &Site, cluster: &Cluster) {
    let mapping = |kind: &str| -> Value {
        let mapping = cluster.request("GET", &format!("acme-{kind}/_mapping"), "");
        let mapping: Value = serde_json::from_str(&mapping).unwrap();
        mapping.as_object().unwrap().values().next().unwrap()["mappings"]["_meta"].clone()
    };
    let mut meta = mapping("rows");
    assert_eq!(meta["version"], 2);
    meta["version"] = 1.into();
    for kind in KINDS {
        cluster.put(&format!("acme-{kind}/_mapping"), &json!({ "_meta": meta }).to_string());
    }
    without_words(cluster);

    let question = ["--mode", "exact", "PostEntry"];
    let before = site.lines(true, &question).0;
    assert_eq!(before, site.lines(false, &question).0);
    site.org(&["push"]).is_an_error("takes no pushes", "org reindex");

    let expected = paths(&site.here(&["retry"]));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let mut n = 0;
            while !is_over.load(Relaxed) {
                let found = site.there(&["retry"]);
                assert_eq!((&found["status"], paths(&found)), (&"ok".into(), expected.clone()), "{found:#}");
                n += 1;
            }
            n
        });

        let done = site.org(&["reindex", "--shards", "2", "--replicas", "0"]);
        // A search that began before the end is counted, too.
        is_over.store(true, Relaxed);
        assert!(asking.join().unwrap() > 0);
        done.success();
    });

    assert_eq!(mapping("rows")["version"], 2);
    assert_eq!(site.lines(true, &question).0, before);
    site.org(&["push", "--all"]).success();
    site.check_answers(&[]);
}

/// `org reindex` that is killed: searches are answered, and the next one brings everything to its end, also
/// if pushes are blocked and copies are left.
pub fn killed_copies(site: &Site, cluster: &Cluster) {
    let reindex = ["reindex", "--take-over", "5", "--shards", "1", "--replicas", "0"];
    let expected = paths(&site.here(&["retry"]));
    // In the order of the copies. Each attempt but the first meets the copy of the one before.
    for kind in ["files", "repos", "rows"] {
        // On a busy machine the copy may be whole before the signal comes.
        let is_left = (0..5).any(|_| is_killed_while_copying(site, cluster, kind, &reindex));
        assert!(is_left, "no copy of {kind} was interrupted");
        assert_eq!(paths(&site.there(&["retry"])), expected, "killed while {kind} were copied");
    }

    // As it is left at the end of a copy.
    for kind in KINDS {
        let [(index, _)]: [(String, Value); 1] =
            indices(cluster, &format!("acme-{kind}")).try_into().unwrap();
        cluster.put(&format!("{index}/_block/write"), "");
    }
    let alpha = site.repo("alpha");
    alpha.write("src/buoy.rs", "/// Paints the buoy of the fairway.\npub fn paint_buoy() {}\n");
    alpha.commit("with a buoy");
    site.catalogue(&["sync", "--quiet"]).success();

    std::thread::scope(|scope| {
        // It waits for the end of the copy, or says that it has met one.
        let pushing = scope.spawn(|| site.org(&["push"]));
        site.org(&reindex).success();
        let pushed = pushing.join().unwrap();
        let said = pushed.stderr();
        let has_met_one = said.contains("alpha is not pushed") || said.contains("while it is copied");
        assert!(pushed.code() == 0 || has_met_one, "{said}");
    });
    site.org(&["push", "--take-over", "1"]).success();
    assert_eq!(paths(&site.there(&["paints the buoy of the fairway"]))[0], "alpha/src/buoy.rs");
    site.check_answers(&[]);

    // Nothing is left of the copies.
    for kind in KINDS {
        let there = indices(cluster, &format!("acme-{kind}-*"));
        assert_eq!(there.len(), 1, "{there:?}");
    }
}

/// Kills `org reindex` as soon as it copies the index of this kind. Returns whether a copy is left over.
fn is_killed_while_copying(site: &Site, cluster: &Cluster, kind: &str, reindex: &[&str]) -> bool {
    let copies = || -> Vec<String> {
        let mappings = cluster.request("GET", &format!("acme-{kind}-*/_mapping"), "");
        let mappings: Value = serde_json::from_str(&mappings).unwrap();
        let there = mappings.as_object().unwrap().iter();
        let with_writer = there.filter(|(_, index)| index["mappings"]["_meta"]["writer"].is_string());
        with_writer.map(|(name, _)| name.clone()).collect()
    };
    let before = copies();

    let mut command = site.base.command(program());
    command.arg("org").args(reindex).args(["--org", &site.url, "--catalogue", "all.git"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut copying = command.spawn().unwrap();
    wait_until(&format!("a copy of {kind}"), || {
        let is_new = |name: &String| !before.contains(name);
        copies().iter().any(is_new) || copying.try_wait().unwrap().is_some()
    });
    // It may have ended by itself.
    let _ = copying.kill();
    copying.wait().unwrap();

    let used = indices(cluster, &format!("acme-{kind}")).swap_remove(0).0;
    copies().iter().any(|name| *name != used)
}

/// The indices of an expression, with their aliases.
fn indices(cluster: &Cluster, expression: &str) -> Vec<(String, Value)> {
    let answer = cluster.request("GET", &format!("{expression}/_alias"), "");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    answer.as_object().unwrap().clone().into_iter().collect()
}
