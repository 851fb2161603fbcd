//! Every command on one node.

use serde_json::{Value, json};

use super::cluster::Cluster;
use super::lines;
use super::site::{QUESTIONS, Site, paths};
use super::upgrade;
use super::writers;
use crate::support::server::Server;

#[test]
fn an_organisation_is_pushed_searched_and_managed() {
    let Some(cluster) = Cluster::start(1) else { return };
    let site = Site::new(&format!("{}/acme", cluster.urls[0]));

    // Nothing is there, and nothing is created by asking.
    site.org(&["status"]).is_an_error("no index called acme", "org init");
    site.ask(&["x"]).is_an_error("no index called acme", "org init");
    let init = ["org", "init", &site.url, "--replicas", "0", "--catalogue", "all.git"];
    site.base.codeweaver(init).success();
    // As a killed attempt leaves it.
    cluster.request("DELETE", "acme-rows-000001", "");
    site.base.codeweaver(init).success();
    site.base.codeweaver(init).is_an_error("already", "another index");

    first_push(&site);
    site.check_answers(&[]);
    filters(&site);
    one_commit(&site);
    a_renamed_file(&site);
    a_file_in_two_repositories(&site);
    another_writer(&site);
    a_full_disk(&site, &cluster);
    readers_with_tokens(&site);
    texts_of_the_engine(&cluster);

    lines::lines(&site);
    lines::unread(&site);
    lines::unread_words(&site);
    lines::too_many(&site);
    revisions(&site);
    pushed_by_sync(&site);
    writers::lost_documents(&site, &cluster);
    writers::missing_blobs(&site);
    writers::two_writers(&site);
    writers::a_late_writer(&site, &cluster);
    writers::clocks(&site, &cluster);
    upgrade::upgraded(&site, &cluster);
    upgrade::killed_copies(&site, &cluster);

    removed(&site);
}

fn first_push(site: &Site) {
    let reports = site.push();
    assert_eq!(reports.len(), 3, "{reports:?}");
    let sent: u64 = reports.iter().map(|it| it["sent_files"].as_u64().unwrap()).sum();
    let placed: u64 = reports.iter().map(|it| it["placed_files"].as_u64().unwrap()).sum();
    // The second repository with the license only adds its place.
    assert_eq!((sent, placed), (46, 1), "{reports:?}");

    let status = site.status();
    let names: Vec<&str> =
        status["repositories"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["alpha", "payments/invoice", "payments/ledger"]);
    assert!(
        status["repositories"].as_array().unwrap().iter().all(|it| it["state"] == "complete"),
        "{status:#}"
    );

    let again = site.push();
    assert!(again.iter().all(|it| it["sent_bytes"] == 0 && it["sent_files"] == 0), "{again:?}");
}

fn filters(site: &Site) {
    site.check_answers(&["--repos", "payments/*"]);
    site.check_answers(&["--repos", "alpha"]);
    site.check_answers(&["--no-tests"]);
    site.check_answers(&["--lang", "go"]);
    let found = site.there(&["--repos", "alpha", "PostEntry"]);
    assert!(paths(&found).iter().all(|path| path.starts_with("alpha/")), "{found:#}");
    site.ask(&["--repos", "nowhere", "x"]).is_an_error("no repository matches", "catalogue list");
}

fn one_commit(site: &Site) {
    let alpha = site.repo("alpha");
    alpha.write(
        "src/retry.rs",
        "/// Waits longer each time it calls again.\npub fn call_again(n: u32) -> u32 {\n    n * 3\n}\n",
    );
    alpha.commit("second");

    // The index is behind until it is pushed, and says so.
    site.catalogue(&["sync", "--quiet"]).success();
    let found = site.there(&["retry with growing pauses"]);
    assert_eq!(
        (&found["index"]["freshness"], &found["status"]),
        (&json!("stale"), &json!("degraded")),
        "{found:#}"
    );

    let reports = site.push();
    let changed: Vec<_> = reports.iter().filter(|it| it["sent_bytes"] != 0).collect();
    assert_eq!(changed.len(), 1, "{reports:?}");
    let report = changed[0];
    assert_eq!((&report["sent_files"], &report["removed_files"]), (&json!(1), &json!(1)), "{report:#}");
    assert!(report["sent_bytes"].as_u64().unwrap() < 65_536, "{report:#}");
    site.check_answers(&[]);
    let found = site.there(&["waits longer each time"]);
    assert_eq!(paths(&found)[0], "alpha/src/retry.rs");
    assert_eq!(found["matches"][0]["file"]["commit"], alpha.git_text(["rev-parse", "HEAD"]).trim());
}

fn a_renamed_file(site: &Site) {
    let alpha = site.repo("alpha");
    alpha.git(["mv", "src/retry.rs", "src/again.rs"]);
    alpha.commit("third");
    let reports = site.push();
    let report = reports.iter().find(|it| it["name"] == "alpha").unwrap();
    assert_eq!((&report["sent_files"], &report["placed_files"]), (&json!(0), &json!(1)), "{report:#}");
    site.check_answers(&[]);
    assert_eq!(paths(&site.there(&["waits longer each time"]))[0], "alpha/src/again.rs");
}

fn a_file_in_two_repositories(site: &Site) {
    let found = site.there(&["license of this software"]);
    assert_eq!(paths(&found)[0], "alpha/LICENSE.md", "{found:#}");
    assert_eq!(found["matches"][0]["also_at"], json!(["payments/ledger/LICENSE.md"]));
    let found = site.there(&["--repos", "payments/ledger", "license of this software"]);
    assert_eq!(paths(&found)[0], "payments/ledger/LICENSE.md", "{found:#}");
}

/// A repository that is pushed by itself, under a name of its own.
fn another_writer(site: &Site) {
    let own = site.base.at("src/alpha");
    own.codeweaver(["init", "--no-hooks"]).success();
    let below = own.codeweaver(["org", "push", "--name", "alpha/inner", "--org", &site.url]);
    below.is_an_error("alpha/inner cannot be pushed under this name", "correct that");
    own.codeweaver(["org", "push", "--name", "copy/of-alpha", "--org", &site.url]).success();
    let found = site.there(&["--repos", "copy/of-alpha", "waits longer each time"]);
    assert_eq!(paths(&found)[0], "copy/of-alpha/src/again.rs", "{found:#}");
    site.org(&["remove", "copy/of-alpha"]).success();
    site.org(&["remove", "copy/of-alpha"]).is_an_error("no repository called", "org status");
    site.check_answers(&[]);
}

/// Tags and branches are pushed beside HEAD, under names of their own.
fn revisions(site: &Site) {
    let own = site.base.at("src/alpha");
    own.git(["tag", "v1", "HEAD~2"]);
    let push = |revisions: &[&str]| {
        let args = ["org", "push", "--json", "--name", "copy/of-alpha", "--org", &site.url];
        own.codeweaver([&args[..], revisions].concat())
    };
    let pushed = |revisions: &[&str]| -> Vec<Value> {
        let run = push(revisions);
        run.success().stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };

    let reports = pushed(&["v1", "main"]);
    let names: Vec<&str> = reports.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["copy/of-alpha@v1", "copy/of-alpha@main"]);
    assert_eq!(reports[0]["commit"], own.git_text(["rev-parse", "v1"]).trim());

    let found = site.there(&["--repos", "copy/of-alpha@v1", "--mode", "exact", "drain_bucket"]);
    assert_eq!(found["total_files"], 0, "{found:#}");
    let found = site.there(&["--repos", "copy/of-alpha@v1", "waits longer each time"]);
    assert_eq!(paths(&found)[0], "copy/of-alpha@v1/src/again.rs", "{found:#}");
    let found = site.there(&["--repos", "copy/of-alpha@main", "empties the bucket of tokens"]);
    assert_eq!(paths(&found)[0], "copy/of-alpha@main/src/full.rs", "{found:#}");

    // A tag that has moved is pushed again; one that has not is known.
    assert_eq!(pushed(&["v1"])[0]["sent_bytes"], 0);
    own.git(["tag", "--force", "v1", "HEAD"]);
    let moved = pushed(&["v1"]);
    assert_eq!(
        (&moved[0]["sent_files"], &moved[0]["commit"]),
        (&json!(0), &reports[1]["commit"]),
        "{moved:?}"
    );
    let found = site.there(&["--repos", "copy/of-alpha@v1", "empties the bucket of tokens"]);
    assert_eq!(paths(&found)[0], "copy/of-alpha@v1/src/full.rs", "{found:#}");

    push(&["no-such-tag"]).is_an_error("no-such-tag", "");
    site.org(&["push", "main"]).is_an_error("revisions are not pushed", "catalogue add");
    for name in ["copy/of-alpha@v1", "copy/of-alpha@main"] {
        site.org(&["remove", name]).success();
    }
    site.check_answers(&[]);
}

/// A run of `catalogue sync` pushes if it is told to.
fn pushed_by_sync(site: &Site) {
    let alpha = site.repo("alpha");
    alpha.write("src/lamp.rs", "/// Lights the lamp of the harbour.\npub fn light_lamp() {}\n");
    alpha.commit("with a lamp");
    let question = ["lights the lamp of the harbour"];

    site.catalogue(&["sync", "--quiet"]).success();
    assert_ne!(paths(&site.there(&question)).first().map(String::as_str), Some("alpha/src/lamp.rs"));
    site.catalogue(&["sync", "--quiet", "--push"]).is_an_error("no engine is named", "org.url");
    let pushed = site.catalogue(&["sync", "--push", "--org", &site.url]);
    assert!(pushed.success().stderr().contains("alpha: "), "{}", pushed.stderr());
    assert_eq!(paths(&site.there(&question))[0], "alpha/src/lamp.rs");
    let again = site.catalogue(&["sync", "--push", "--org", &site.url]);
    assert!(!again.success().stderr().contains("alpha: "), "{}", again.stderr());
}

/// An engine without space refuses documents and goes on answering. The push is resumed when there is space.
fn a_full_disk(site: &Site, cluster: &Cluster) {
    let alpha = site.repo("alpha");
    alpha.write("src/full.rs", "/// Empties the bucket of tokens.\npub fn drain_bucket() {}\n");
    alpha.commit("fourth");
    site.catalogue(&["sync", "--quiet"]).success();

    let blocked = |is_blocked: &str| {
        let settings = format!("{{\"index.blocks.read_only_allow_delete\": {is_blocked}}}");
        ["rows", "files"].iter().for_each(|kind| cluster.put(&format!("acme-{kind}/_settings"), &settings));
    };
    blocked("true");
    site.org(&["push"]).is_an_error("takes no documents", "disk space");
    let found = site.there(&["waits longer each time"]);
    assert_eq!(
        (&found["status"], paths(&found)[0].as_str()),
        (&json!("degraded"), "alpha/src/again.rs"),
        "{found:#}"
    );

    blocked("null");
    site.org(&["push", "--take-over", "1"]).success();
    assert_eq!(paths(&site.there(&["empties the bucket of tokens"]))[0], "alpha/src/full.rs");
    site.check_answers(&[]);
}

/// A server shows each token its repositories, and counts nothing else.
fn readers_with_tokens(site: &Site) {
    site.base.write("tokens", "token-of-everything-1\ntoken-of-alpha-only-1 alpha\n");
    let args = ["--org", &site.url, "--catalogue", "all.git", "--token-file", "tokens"];
    let server = Server::start(&site.base, &args);
    let search = |token: &str, question: &str| {
        let path = format!("api/search?q={}", question.replace(' ', "+"));
        let bearer = format!("Bearer {token}");
        server.request("GET", &path, &[("authorization", bearer.as_str())], "").json()
    };

    for question in QUESTIONS {
        let found = search("token-of-everything-1", question);
        assert_eq!(paths(&found), paths(&site.here(&[question])), "{question}");
        let found = search("token-of-alpha-only-1", question);
        assert!(paths(&found).iter().all(|path| path.starts_with("alpha/")), "{question}: {found:#}");
        assert_eq!(found["index"]["files"], 4, "{found:#}");
    }

    // A word of another repository is not found by its letters either.
    let lines = |token: &str| {
        let bearer = format!("Bearer {token}");
        let path = "api/search?mode=exact&q=PostEntry";
        server.request("GET", path, &[("authorization", bearer.as_str())], "").json()
    };
    assert_eq!(lines("token-of-everything-1")["total_files"], 2);
    let found = lines("token-of-alpha-only-1");
    assert_eq!((&found["total_files"], &found["index"]["files"]), (&json!(0), &json!(4)), "{found:#}");
}

/// Without a clone, texts are those of the engine, if it keeps them.
fn texts_of_the_engine(cluster: &Cluster) {
    let site = Site::new(&format!("{}/texts", cluster.urls[0]));
    site.base
        .codeweaver(["org", "init", &site.url, "--replicas", "0", "--texts", "--catalogue", "all.git"])
        .success();
    site.push();
    std::fs::create_dir(site.base.path("outside")).unwrap();
    let outside = site.base.at("outside");
    let found =
        outside.codeweaver(["search", "--json", "--org", &site.url, "retry with growing pauses"]).json();
    assert_eq!(paths(&found)[0], "alpha/src/retry.rs", "{found:#}");
    assert!(
        found["matches"][0]["content"]["text"].as_str().unwrap().contains("retry_with_backoff"),
        "{found:#}"
    );
    lines::lines_without_a_clone(&site);
}

fn removed(site: &Site) {
    site.org(&["remove", "payments/invoice"]).success();
    let found = site.there(&["parse an invoice into lines"]);
    assert!(paths(&found).iter().all(|path| !path.starts_with("payments/invoice/")), "{found:#}");
    let before = site.status();
    site.org(&["gc"]).success();
    let after = site.status();
    assert!(
        after["files"].as_u64().unwrap() + 41 <= before["files"].as_u64().unwrap(),
        "{before:#}\n{after:#}"
    );

    // Pushed again, it is as it was.
    site.push();
    site.check_answers(&[]);
}
