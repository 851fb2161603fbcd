//! Killed pushes, and nodes that are gone.

use std::time::{Duration, Instant};

use serde_json::Value;

use codeweaver_testkit::{program, run_and_kill};

use super::cluster::{Cluster, eventually};
use super::site::{QUESTIONS, Site, paths, shown};

#[test]
fn a_cluster_survives_its_faults() {
    let Some(cluster) = Cluster::start(3) else { return };
    let site = Site::new(&format!("{}/acme", cluster.urls[0]));
    let init = ["org", "init", &site.url, "--shards", "3", "--replicas", "1", "--catalogue", "all.git"];
    site.base.codeweaver(init).success();

    killed_pushes(&site);
    a_node_that_hangs(&site, &cluster);
    lost_nodes(&site, &cluster);
}

/// A node that takes requests and does not answer: the other URLs are asked, and without any there is an
/// error, in time.
fn a_node_that_hangs(site: &Site, cluster: &Cluster) {
    eventually("all copies", || site.status()["health"] == "green");
    let expected = paths(&site.there(&[QUESTIONS[0]]));
    let search = |url: &str| {
        let started = Instant::now();
        let args = ["search", "--json", "--catalogue", "all.git", "--org", url, QUESTIONS[0]];
        (site.base.codeweaver(args), started.elapsed())
    };
    let [first, _, third] = cluster.urls.as_slice() else { panic!("{:?}", cluster.urls) };

    cluster.pause(3);
    let (alone, took) = search(&format!("{third}/acme"));
    alone.is_an_error("cannot be reached", "that the engine runs");
    assert!(took < Duration::from_secs(30), "{took:?}");

    // Until the other nodes do without it, they may wait for it, too.
    eventually("an answer of the other nodes", || {
        let (run, took) = search(&format!("{third},{first}/acme"));
        assert!(took < Duration::from_secs(60), "{took:?}");
        if run.code() == 2 {
            run.is_an_error("cannot be reached", "that the engine runs");
            return false;
        }

        let found = run.json();
        assert!(found["status"] == "degraded" || paths(&found) == expected, "{found:#}");
        true
    });

    cluster.resume(3);
    cluster.wait_for_all_copies(|| site.status()["health"] == "green");
    eventually("a whole answer again", || {
        let run = site.ask(&[QUESTIONS[0]]);
        run.code() == 0 && run.json()["status"] != "degraded"
    });
    assert_eq!(paths(&site.there(&[QUESTIONS[0]])), expected);
}

/// Pushes that are killed at growing times, until one ends by itself.
fn killed_pushes(site: &Site) {
    let args = ["org", "push", "--quiet", "--take-over", "2", "--org", &site.url, "--catalogue", "all.git"];
    for ms in (0..12).map(|n| 60 + n * 90) {
        let mut push = site.base.command(program());
        push.args(args);
        run_and_kill(&mut push, Duration::from_millis(ms));
        // An answer may lack what is not there yet, but says so, and has nothing else.
        let states = site.status()["repositories"].clone();
        let found = site.there(&[QUESTIONS[0]]);
        let is_whole = states.as_array().unwrap().iter().all(|it| it["state"] == "complete");
        if !is_whole {
            assert_eq!(found["status"], "degraded", "{found:#}\n{states:#}");
        }
    }

    site.base.codeweaver(args).success();
    site.check_answers(&[]);
}

fn lost_nodes(site: &Site, cluster: &Cluster) {
    let single = Site::new(&format!("{}/single", cluster.urls[0]));
    let init = ["org", "init", &single.url, "--shards", "3", "--replicas", "0", "--catalogue", "all.git"];
    single.base.codeweaver(init).success();
    single.push();
    let lines = single.ask(&["--mode", "exact", "PostEntry"]).json()["files"].clone();

    let before: Vec<_> = QUESTIONS.iter().map(|question| shown(&site.here(&[question]))).collect();
    eventually("all copies", || site.status()["health"] == "green");

    // With one node gone, the copies answer, and another URL is asked.
    cluster.kill(3);
    let url = format!("{},{}/acme", cluster.urls[2], cluster.urls[0]);
    let status = site.base.codeweaver(["org", "status", "--json", "--catalogue", "all.git", "--org", &url]);
    assert!(status.success().stdout().contains("\"repositories\""), "{}", status.stdout());
    for (question, before) in QUESTIONS.iter().zip(&before) {
        let run = site.ask(&[question]);
        let found = if run.code() == 2 { continue } else { run.json() };
        assert!(found["status"] == "degraded" || shown(&found) == *before, "{question}: {found:#}");
    }
    eventually("the engine notices", || site.org(&["status", "--json"]).stdout().contains("\"nodes\": 2"));
    eventually("the copies answer", || site.ask(&[QUESTIONS[0]]).stdout().contains("\"status\": \"ok\""));
    for (question, before) in QUESTIONS.iter().zip(&before) {
        assert_eq!(shown(&site.there(&[question])), *before, "{question}");
    }

    lost_shards(&single, &lines);

    // Without a majority there may be no answer, but there is no wrong one.
    cluster.kill(2);
    let run = site.ask(&[QUESTIONS[0]]);
    if run.code() == 2 {
        run.is_an_error("engine", "");
    } else {
        let found = run.json();
        assert!(found["status"] == "degraded" || shown(&found) == before[0], "{found:#}");
        assert!(
            paths(&found).iter().all(|path| before[0].iter().any(|(known, ..)| known == path)),
            "{found:#}"
        );
    }

    cluster.restart(2);
    cluster.restart(3);
    // One copy of each shard is enough, and copies between nodes that have come back may hang.
    let is_whole = |site: &Site| {
        let run = site.org(&["status", "--json"]);
        run.code() == 0 && matches!(run.json()["health"].as_str(), Some("yellow" | "green"))
    };
    eventually("a copy of each shard", || is_whole(site));
    site.check_answers(&[]);
    eventually("the shards without copies", || is_whole(&single));
    single.check_answers(&[]);
}

/// An index of three shards without copies, on three nodes of which one is gone: there is an error, or an
/// answer that says that something is missing. `lines` are those of the whole, which may have been on the
/// other nodes.
fn lost_shards(single: &Site, lines: &Value) {
    for question in QUESTIONS {
        let run = single.ask(&[question]);
        if run.code() == 2 {
            run.is_an_error("engine", "");
            continue;
        }
        let found = run.json();
        assert_eq!(found["status"], "degraded", "{question}: {found:#}");
    }

    let run = single.ask(&["--mode", "exact", "PostEntry"]);
    if run.code() == 2 {
        run.is_an_error("engine", "");
    } else {
        let found = run.json();
        let warnings = found["warnings"].to_string();
        let is_told = warnings.contains("missing") || warnings.contains("shard");
        assert!(is_told || found["files"] == *lines, "{found:#}");
    }
}
