//! Writers of one repository, and what is lost on the way.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_testkit::{Run, TestRepo, program, wait_until};

use super::cluster::Cluster;
use super::site::{Site, paths};

/// Documents that the engine has lost are sent again by a push that compares everything: also the rows of a
/// file that is there.
pub fn lost_documents(site: &Site, cluster: &Cluster) {
    let before = site.status();
    let query = r#"{ "query": { "term": { "path": "payments/ledger/ledger.go" } } }"#;

    for kind in ["rows", "files"] {
        cluster.request("POST", &format!("acme-{kind}/_delete_by_query?refresh=true"), query);
        assert!(site.status()[kind].as_u64() < before[kind].as_u64(), "{kind}");

        let reports = reports(&site.org(&["push", "--all", "--json"]));
        let sent: u64 = reports.iter().map(|it| it["sent_files"].as_u64().unwrap()).sum();
        assert_eq!(sent, 1, "{kind}: {reports:?}");
        assert_eq!(site.status()[kind], before[kind]);
    }

    assert_eq!(paths(&site.there(&["PostEntry"])), paths(&site.here(&["PostEntry"])));
}

/// A blob that is not in the clone: its file is missing, which the answer says, until a push finds it.
pub fn missing_blobs(site: &Site) {
    let alpha = site.repo("alpha");
    alpha.write("src/away.rs", "/// Counts the anchors of the fleet.\npub fn count_anchors() {}\n");
    alpha.commit("away");
    site.catalogue(&["sync", "--quiet"]).success();
    let oid = alpha.git_text(["rev-parse", "HEAD:src/away.rs"]);
    let (dir, name) = oid.trim().split_at(2);
    let object = alpha.path(&format!(".git/objects/{dir}/{name}"));
    let away = alpha.path("away-object");
    std::fs::rename(&object, &away).unwrap();

    let run = site.org(&["push", "--json"]);
    assert_eq!(report(&run, "alpha")["missing_blobs"], 1);
    assert!(run.stderr().contains("alpha: 1 file"), "{}", run.stderr());
    let question = ["counts the anchors of the fleet"];
    let found = site.there(&question);
    assert_eq!(found["status"], "degraded", "{found:#}");
    assert!(!paths(&found).contains(&"alpha/src/away.rs".to_owned()), "{found:#}");

    std::fs::rename(&away, &object).unwrap();
    let again = report(&site.org(&["push", "--json"]), "alpha");
    assert_eq!(
        (&again["resumed"], &again["sent_files"], &again["missing_blobs"]),
        (&json!(true), &json!(1), &json!(0)),
        "{again:#}"
    );
    let found = site.there(&question);
    assert_eq!(
        (&found["status"], paths(&found)[0].as_str()),
        (&json!("ok"), "alpha/src/away.rs"),
        "{found:#}"
    );
}

/// Two clones that push different commits under one name at the same time: what is there afterwards is one
/// of them, whole, and nothing of the other.
pub fn two_writers(site: &Site) {
    let clones = [clone(site, "first", 30), clone(site, "second", 30)];
    let push = |own: &TestRepo| push(site, own, "two/writers", &[]);

    let runs = std::thread::scope(|scope| {
        let running = clones.each_ref().map(|own| scope.spawn(move || push(own)));
        running.map(|run| run.join().unwrap())
    });
    for run in &runs {
        assert!(run.code() == 0 || run.stderr().contains("another process"), "{}", run.stderr());
    }
    let there = member(site, "two/writers")["commit"].clone();
    let winner = clones.iter().position(|own| head(own) == there).unwrap();
    only_its_files(site, "two/writers", &clones, winner);

    push(&clones[1 - winner]).success();
    only_its_files(site, "two/writers", &clones, 1 - winner);
    site.org(&["remove", "two/writers"]).success();
}

/// A writer that is stopped while it pushes, and goes on after another has taken over: it notices, and what
/// it has sent meanwhile is gone after the next push. Until it is stopped, the engine takes no rows, so it
/// cannot be over before.
pub fn a_late_writer(site: &Site, cluster: &Cluster) {
    let clones = [clone(site, "late", 30), clone(site, "quick", 30)];
    let [late, quick] = &clones;
    late.codeweaver(["index", "--quiet"]).success();
    let block = |is_blocked: bool| {
        cluster.put("acme-rows/_settings", &json!({ "index.blocks.write": is_blocked }).to_string());
    };

    block(true);
    let mut first = late.command(program());
    first.args(["org", "push", "--name", "two/late", "--org", &site.url]);
    let mut first = first.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the push of the late writer", || {
        let query = r#"{ "query": { "bool": { "filter": [
            { "term": { "name": "two/late" } }, { "term": { "state": "pushing" } } ] } } }"#;
        let found: Value =
            serde_json::from_str(&cluster.request("POST", "acme-repos/_count", query)).unwrap();
        found["count"] == 1
    });
    signal("STOP", first.id());
    assert!(first.try_wait().unwrap().is_none(), "the push was over too early");
    block(false);

    push(site, quick, "two/late", &["--take-over", "1"]).success();
    assert_eq!(member(site, "two/late")["commit"], head(quick));

    signal("CONT", first.id());
    let ended = first.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(!ended.status.success() && said.contains("two/late is not pushed"), "{said}");
    // The next push cannot know what the late one has sent, so it compares everything.
    assert_eq!(member(site, "two/late")["state"], "pushing");

    let again = report(&push(site, quick, "two/late", &[]), "two/late");
    assert_eq!(again["resumed"], true, "{again:#}");
    assert_eq!(member(site, "two/late")["state"], "complete");
    only_its_files(site, "two/late", &clones, 1);
    site.org(&["remove", "two/late"]).success();
}

/// Signs of life are compared by a counter, and not by clocks.
pub fn clocks(site: &Site, cluster: &Cluster) {
    let set = |fields: Value| {
        let body = json!({ "doc": fields }).to_string();
        cluster.request("POST", "acme-repos/_update/alpha?refresh=true", &body);
    };

    // A dead one whose clock is years ahead.
    set(json!({ "state": "pushing", "writer": "ahead", "beat": 7, "pushed": 4_102_444_800_u64 }));
    site.org(&["status"]).success();
    site.org(&["push", "--take-over", "1"]).success();
    assert_eq!(member(site, "alpha")["state"], "complete");

    // One that lives and whose clock is years behind.
    set(json!({ "state": "pushing", "writer": "behind", "beat": 1, "pushed": 1 }));
    std::thread::scope(|scope| {
        let pushing = scope.spawn(|| site.org(&["push", "--take-over", "8"]));
        let started = Instant::now();
        for beat in 2.. {
            std::thread::sleep(Duration::from_millis(200));
            assert!(!pushing.is_finished(), "a writer that lives was taken over");
            if started.elapsed() > Duration::from_secs(12) {
                break;
            }
            set(json!({ "beat": beat }));
        }
        pushing.join().unwrap().success();
    });
    assert_eq!(member(site, "alpha")["state"], "complete");
}

/// A repository of `n` files with functions called `WORD_part_N`, with an index.
fn clone(site: &Site, word: &str, n: usize) -> TestRepo {
    site.base.git(["init", "-q", "-b", "main", &format!("clones/{word}")]);
    let own = site.base.at(&format!("clones/{word}"));
    for n in 0..n {
        own.write(
            &format!("src/part_{n}.rs"),
            format!("/// Is {n}.\npub fn {word}_part_{n}() -> u32 {{\n    {n}\n}}\n"),
        );
    }
    own.commit("first");
    own.codeweaver(["init", "--no-hooks"]).success();
    own
}

fn push(site: &Site, own: &TestRepo, name: &str, args: &[&str]) -> Run {
    own.codeweaver([&["org", "push", "--json", "--name", name, "--org", &site.url], args].concat())
}

/// Checks that the repository `name` has the files of one of `clones`, and none of the other.
#[track_caller]
fn only_its_files(site: &Site, name: &str, clones: &[TestRepo; 2], which: usize) {
    let words = clones.each_ref().map(|own| own.root().file_name().unwrap().to_str().unwrap().to_owned());
    for (n, word) in words.iter().enumerate() {
        let text = format!("{word}_part_7");
        let args = ["search", "--json", "--org", &site.url, "--repos", name, "--mode", "exact", &text];
        // The texts of its own files are at hand; those of the other would be counted as not read.
        let found = clones[which].codeweaver(args).json();
        let unread = found["index"]["unread_files"].as_u64().unwrap_or(0);
        let total = found["total_files"].as_u64().unwrap();
        assert_eq!((total, unread), (u64::from(n == which), 0), "{word}: {found:#}");
    }
}

fn head(own: &TestRepo) -> Value {
    own.git_text(["rev-parse", "HEAD"]).trim().into()
}

/// The entry of a repository in the index.
fn member(site: &Site, name: &str) -> Value {
    let status = site.status();
    let members = status["repositories"].as_array().unwrap();
    members.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {status:#}")).clone()
}

/// The reports of a push, one for each repository.
fn reports(run: &Run) -> Vec<Value> {
    run.success().stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn report(run: &Run, name: &str) -> Value {
    let reports = reports(run);
    reports.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{name}: {reports:?}")).clone()
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill").args([format!("-{name}"), process.to_string()]).status();
    assert!(sent.unwrap().success());
}
