//! Killed pushes, and nodes that are gone.

use std::time::Duration;

use codeweaver_testkit::{program, run_and_kill, wait_longer_for};

use super::cluster::Cluster;
use super::site::{QUESTIONS, Site, paths, shown};

#[test]
fn a_cluster_survives_its_faults() {
    let Some(cluster) = Cluster::start(3) else { return };
    let site = Site::new(&format!("{}/acme", cluster.urls[0]));
    let init = ["org", "init", &site.url, "--shards", "3", "--replicas", "1", "--catalogue", "all.git"];
    site.base.codeweaver(init).success();

    killed_pushes(&site);
    lost_nodes(&site, &cluster);
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
    let before: Vec<_> = QUESTIONS.iter().map(|question| shown(&site.here(&[question]))).collect();
    eventually("all copies", || site.status()["health"] == "green");

    // With one node gone, the copies answer.
    cluster.kill(3);
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
    eventually("all copies again", || site.org(&["status", "--json"]).stdout().contains("green"));
    site.check_answers(&[]);
}

/// Waits for what a cluster does within three minutes, also on a busy machine.
fn eventually(what: &str, condition: impl Fn() -> bool) {
    let attempt = || if condition() { Ok(()) } else { Err("not yet") };
    wait_longer_for(Duration::from_secs(180), what, attempt);
}
