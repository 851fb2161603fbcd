//! `serve --catalogue`: many repositories behind one server, and tokens for some of them.

use serde_json::{Value, json};

use codeweaver_testkit::{TestRepo, program, wait_for, wait_until};

use crate::support::server::Server;

const ALL: &str = "all-0123456789abcdef";
const SOME: &str = "some-0123456789abcdef";

/// A catalogue of two bare repositories, `payments/api` and `docs`, in a directory with their worktrees.
struct Team {
    dir: TestRepo,
    catalogue: String,
}

impl Team {
    fn new() -> Team {
        let dir = TestRepo::empty_dir();
        let member = |name: &str, path: &str, text: &str| {
            std::fs::create_dir_all(dir.path(&format!("work/{name}"))).unwrap();
            let work = dir.at(&format!("work/{name}"));
            work.git(["init", "--quiet", "--initial-branch=main", "."]);
            work.write(path, text).commit("Begin");
            let bare = dir.path(&format!("srv/{name}.git"));
            std::fs::create_dir_all(&bare).unwrap();
            work.git(["clone", "--quiet", "--bare", ".", bare.to_str().unwrap()]);
        };
        let refund = "/// Pays a customer back after a return.\npub fn refund_customer() { ledger(); }\nfn ledger() {}\n";
        member("payments/api", "src/refund.rs", refund);
        // Its definition is called in the other repository.
        let guide = "# Guide\n\n## Refunds\n\nA customer is paid back within ten days.\n";
        member("docs", "guide.md", guide);
        let example = "/// An example of a tool that is called.\npub fn documented_example() {}\n";
        push(&dir, "docs", "example.rs", example);
        push(&dir, "payments/api", "src/caller.rs", "fn ledger_caller() { documented_example(); }\n");
        let catalogue = dir.path("all.git").to_str().unwrap().to_owned();
        dir.codeweaver(["catalogue", "init", &catalogue]).success();
        let srv = dir.path("srv");
        dir.codeweaver(["catalogue", "add", "--catalogue", &catalogue, "--recursive", srv.to_str().unwrap()])
            .success();
        Team { dir, catalogue }
    }

    fn serve(&self, args: &[&str]) -> Server {
        let mut command = self.dir.command(program());
        command.args(["serve", "--port", "0", "--every", "3600", "--catalogue", &self.catalogue]).args(args);
        Server::new(command)
    }

    fn push(&self, name: &str, path: &str, text: &str) {
        push(&self.dir, name, path, text);
    }
}

/// Commits a file in the worktree of a member and pushes it.
fn push(dir: &TestRepo, name: &str, path: &str, text: &str) {
    let work = dir.at(&format!("work/{name}"));
    work.write(path, text).commit("Go on");
    work.git(["push", "--quiet", dir.path(&format!("srv/{name}.git")).to_str().unwrap(), "HEAD"]);
}

fn paths(answer: &Value) -> Vec<&str> {
    answer["matches"].as_array().unwrap().iter().map(|it| it["file"]["path"].as_str().unwrap()).collect()
}

#[test]
fn all_repositories_are_searched_at_once() {
    let team = Team::new();
    let server = team.serve(&[]);
    let found = server.json("api/search?q=pay+a+customer+back");
    let both = ["payments/api/src/refund.rs", "docs/guide.md"];
    assert!(both.iter().all(|path| paths(&found).contains(path)), "{found:#}");
    let found = server.json("api/search?q=pay+a+customer+back+repo:payments/*");
    assert_eq!(paths(&found)[0], "payments/api/src/refund.rs", "{found:#}");
    assert!(paths(&found).iter().all(|path| path.starts_with("payments/api/")), "{found:#}");
    let file = &found["matches"][0]["file"];
    let commit = team.dir.at("work/payments/api").git_text(["rev-parse", "HEAD"]);
    assert_eq!(
        (&file["repo"], &file["path_in_repo"], &file["commit"]),
        (&json!("payments/api"), &json!("src/refund.rs"), &json!(commit.trim()))
    );
    assert_eq!(server.get("api/search?q=refund+repo:nothing").status, 404);
    let lines = server.json("api/search?q=repo:payments+%22ledger%22");
    let files = lines["files"].as_array().unwrap();
    assert_eq!(lines["total_lines"], 3, "{lines:#}");
    assert!(files.iter().all(|it| it["path"].as_str().unwrap().starts_with("payments/api/")), "{lines:#}");
    let outline = server.json("api/outline?path=payments/api/src/refund.rs");
    assert_eq!(outline["symbols"][0]["name"], "refund_customer");
    for page in ["", "status"] {
        let text = server.get(page).body;
        assert!(
            text.contains("/files?path=payments/api\"") && text.contains("q=repo:docs\""),
            "{page}: {text}"
        );
    }
    let listed = server.json("api/repositories");
    let names: Vec<&Value> =
        listed["repositories"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["docs", "payments/api"], "{listed:#}");
    assert!(
        listed["repositories"].as_array().unwrap().iter().all(|it| it["state"] == "current"),
        "{listed:#}"
    );
}

#[test]
fn a_push_to_a_member_is_found_after_an_update() {
    let team = Team::new();
    let server = team.serve(&[]);
    team.push("docs", "backup.md", "# Backup\n\nBackups of the ledger are encrypted.\n");
    assert_eq!(server.request("POST", "api/update?repo=none", &[], "").status, 404);
    assert_eq!(server.request("POST", "api/update?repo=docs", &[], "").status, 202);
    wait_until("the new document is found", || {
        paths(&server.json("api/search?q=encrypted+backups")).contains(&"docs/backup.md")
    });
}

#[test]
fn a_member_that_vanishes_does_not_stop_the_others() {
    let team = Team::new();
    let server = team.serve(&[]);
    std::fs::remove_dir_all(team.dir.path("srv/docs.git")).unwrap();
    assert_eq!(server.request("POST", "api/update", &[], "").status, 202);
    let found = wait_for("the member is not searched any more", || {
        let found = server.json("api/search?q=pay+a+customer+back");
        let is_gone = !paths(&found).iter().any(|path| path.starts_with("docs/"));
        if is_gone { Ok(found) } else { Err(found) }
    });
    assert!(paths(&found).contains(&"payments/api/src/refund.rs"), "{found:#}");
    assert!(found["warnings"].to_string().contains("docs"), "{found:#}");
    let listed = server.json("api/repositories");
    assert_eq!(listed["repositories"][0]["state"], "missing", "{listed:#}");
    assert_eq!(server.get("health/").status, 200);
}

#[test]
fn a_token_for_some_repositories_shows_no_others() {
    let team = Team::new();
    let tokens = team.dir.path("tokens");
    std::fs::write(&tokens, format!("{ALL}\n{SOME} docs\n")).unwrap();
    let server = team.serve(&["--token-file", tokens.to_str().unwrap()]);
    let ask = |path: &str, token: &str| {
        server.request("GET", path, &[("authorization", &format!("Bearer {token}"))], "")
    };
    let secret = ["refund_customer", "payments", "ledger"];
    let blob = team.dir.at("work/payments/api").git_text(["rev-parse", "HEAD:src/refund.rs"]);
    for path in [
        "api/search?q=pay+a+customer+back".to_owned(),
        "api/search?q=refund_customer".to_owned(),
        "api/search?q=refund_custumer".to_owned(),
        "api/search?q=documented_example".to_owned(),
        "api/search?q=what+is+below+payments/api/src/".to_owned(),
        "api/search?q=%22refund%22".to_owned(),
        "api/search?q=/refund/&stream=1".to_owned(),
        "api/search?q=refund+repo:payments/*".to_owned(),
        "api/search?q=refund+path:payments".to_owned(),
        "api/search?q=refund+rev:HEAD".to_owned(),
        "api/file?path=payments/api/src/refund.rs".to_owned(),
        "api/file?path=docs/../payments/api/src/refund.rs".to_owned(),
        "api/file?path=./payments/api/src/refund.rs".to_owned(),
        "api/file?path=payments/api/src/refund.rs&rev=HEAD".to_owned(),
        format!("api/file?path=docs/guide.md&blob={}", blob.trim()),
        "api/file?path=.codeweaver-catalogue".to_owned(),
        "api/outline?path=payments/api/src/refund.rs".to_owned(),
        "api/similar?path=payments/api/src/refund.rs&line=2".to_owned(),
        "api/similar?path=docs/guide.md&line=3".to_owned(),
        "api/graph?symbol=refund_customer".to_owned(),
        "api/files".to_owned(),
        "api/files?path=payments".to_owned(),
        "api/history?path=payments/api/src/refund.rs".to_owned(),
        "api/history".to_owned(),
        "api/ask?q=how+is+a+customer+paid+back".to_owned(),
        "api/repositories".to_owned(),
        "api/status?files=1".to_owned(),
        "?q=pay+a+customer+back".to_owned(),
        "results?q=refund".to_owned(),
        "file?path=payments/api/src/refund.rs".to_owned(),
        "files?path=".to_owned(),
        "symbol?symbol=refund_customer".to_owned(),
        "similar?path=docs/guide.md&line=3".to_owned(),
        "skipped".to_owned(),
        "status".to_owned(),
    ] {
        let answer = ask(&path, SOME);
        // What was asked for is repeated, which tells nothing.
        let said = secret.iter().filter(|word| !path.contains(**word));
        for word in said {
            assert!(!answer.body.contains(word), "{path} tells {word}: {answer:#?}");
        }
        assert!(!answer.body.contains("Pays a customer back"), "{path}: {answer:#?}");
    }
    assert!(paths(&ask("api/search?q=pay+a+customer+back", SOME).json()).contains(&"docs/guide.md"));
    assert_eq!(ask("api/file?path=docs/guide.md", SOME).status, 200);
    let all = ask("api/search?q=pay+a+customer+back", ALL).json();
    assert!(paths(&all).contains(&"payments/api/src/refund.rs"), "{all:#}");
    assert_eq!(ask("api/graph?symbol=refund_customer", ALL).status, 200);
    let agent = |token: &str| {
        let headers = [
            ("authorization", &*format!("Bearer {token}")),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        server.request("POST", "mcp", &headers, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}").status
    };
    assert_eq!(agent(SOME), 403);
    assert_ne!(agent(ALL), 403);
    let update =
        |path: &str| server.request("POST", path, &[("authorization", &format!("Bearer {SOME}"))], "").status;
    assert_eq!(update("api/update?repo=payments/api"), 404);
    assert_eq!(update("api/update"), 403);
    assert_eq!(update("api/update?repo=docs"), 202);
}

/// A sync that fails again and again degrades health and is said in answers, until it succeeds.
#[test]
fn a_failing_sync_degrades_health_and_answers() {
    let team = Team::new();
    let mut command = team.dir.command(program());
    command.args(["serve", "--port", "0", "--every", "1", "--catalogue", &team.catalogue]);
    // A directory is no lock that a dead process has left.
    let in_the_way = team.dir.path("all.git/HEAD.lock");
    std::fs::create_dir(&in_the_way).unwrap();
    let server = Server::new(command);
    team.push("docs", "backup.md", "# Backup\n\nBackups of the ledger are encrypted.\n");

    let health = |status: &str| {
        wait_for(&format!("health is {status}"), || {
            let health = server.get("health/").json();
            if health["status"] == status { Ok(health) } else { Err(health) }
        })
    };
    let degraded = health("degraded");
    assert_eq!(degraded["indexing"]["state"], "error", "{degraded:#}");
    let error = degraded["indexing"]["error"].as_str().unwrap();
    assert!(error.contains("cannot be brought up to date"), "{degraded:#}");
    let warned = server.json("api/search?q=pay+a+customer+back")["warnings"].to_string();
    assert!(warned.contains("newer commits may be missing"), "{warned}");

    std::fs::remove_dir(&in_the_way).unwrap();
    health("healthy");
    let found = server.json("api/search?q=encrypted+backups");
    assert!(paths(&found).contains(&"docs/backup.md"), "{found:#}");
    assert!(!found["warnings"].to_string().contains("may be missing"), "{found:#}");
}
