//! The catalogue: many repositories indexed and searched as one.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_testkit::{Run, TestRepo, Tool, program, run_and_kill};

const RETRY: &str =
    "/// Calls again after growing pauses.\npub fn retry_with_backoff(n: u32) -> u32 {\n    n * 2\n}\n";
const INVOICE: &str =
    "def parse_invoice(text):\n    \"\"\"Splits an invoice into its lines.\"\"\"\n    return text.split()\n";
const LEDGER: &str =
    "package ledger\n\n// PostEntry books an amount.\nfunc PostEntry(amount int) int { return amount }\n";

/// A directory with repositories below `src`, and the catalogue `all.git`.
struct Site {
    base: TestRepo,
}

impl Site {
    /// `alpha`, `payments/ledger` and the bare `payments/invoice.git`, indexed.
    fn new() -> Site {
        let site = Site::empty();
        site.member("src/alpha", &[("src/retry.rs", RETRY)]);
        site.member("src/payments/ledger", &[("ledger.go", LEDGER), ("README.md", "# Ledger\n\nBooks.\n")]);
        site.member("elsewhere", &[("invoice.py", INVOICE)]);
        site.base.git(["clone", "-q", "--bare", "elsewhere", "src/payments/invoice.git"]);
        let added = site.run(&["add", "--recursive", "src"]);
        added.success();
        assert!(added.stdout().contains("Added 3 members"), "{}", added.explain());
        site
    }

    fn empty() -> Site {
        let base = TestRepo::empty_dir();
        std::fs::create_dir(base.path("src")).unwrap();
        base.codeweaver(["catalogue", "init", "all.git"]).success();
        Site { base }
    }

    /// Makes a repository with one commit.
    fn member(&self, path: &str, files: &[(&str, &str)]) -> TestRepo {
        self.base.git(["init", "-q", "-b", "main", path]);
        let member = self.base.at(path);
        for (path, text) in files {
            member.write(path, text);
        }
        if !files.is_empty() {
            member.commit("first");
        }
        member
    }

    /// `catalogue ARGS --catalogue all.git`.
    fn run(&self, args: &[&str]) -> Run {
        self.base.codeweaver([&["catalogue"], args, &["--catalogue", "all.git"]].concat())
    }

    fn sync(&self) -> Value {
        self.run(&["sync", "--json"]).success().json()
    }

    fn search(&self, args: &[&str]) -> Value {
        self.base.codeweaver([&["search", "--json", "--catalogue", "all.git"], args].concat()).json()
    }

    fn paths(&self, args: &[&str]) -> Vec<String> {
        paths(&self.search(args))
    }

    fn list(&self) -> Vec<Value> {
        let listed = self.run(&["list", "-o", "json"]).success().json();
        listed.as_array().unwrap().clone()
    }

    fn state(&self, name: &str) -> String {
        let listed = self.list();
        let found = listed.iter().find(|it| it["name"] == name).unwrap_or_else(|| panic!("{listed:#?}"));
        found["state"].as_str().unwrap().to_owned()
    }
}

fn paths(response: &Value) -> Vec<String> {
    let matches = response["matches"].as_array().unwrap_or_else(|| panic!("{response:#}"));
    matches.iter().map(|it| it["file"]["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_folder_of_repositories_is_searched_as_one() {
    let site = Site::new();
    let names: Vec<String> = site.list().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, ["alpha", "payments/invoice", "payments/ledger"]);
    let found = site.search(&["parse an invoice"]);
    assert_eq!((&found["status"], &found["index"]["files"]), (&json!("ok"), &json!(4)), "{found:#}");
    let file = &found["matches"][0]["file"];
    assert_eq!(file["path"], "payments/invoice/invoice.py");
    assert_eq!((&file["repo"], &file["path_in_repo"]), (&json!("payments/invoice"), &json!("invoice.py")));
    assert_eq!(file["commit"], site.base.at("elsewhere").git_text(["rev-parse", "HEAD"]).trim());
    assert!(found["matches"][0]["content"]["text"].as_str().unwrap().contains("def parse_invoice"));
    let table = site.base.codeweaver(["search", "--catalogue", "all.git", "parse an invoice"]).stdout();
    assert!(table.contains("payments/invoice at "), "{table}");
    // An ordinary repository has no such fields.
    let alone = site.base.at("elsewhere");
    alone.codeweaver(["init", "--no-hooks"]).success();
    let found: Value = alone.codeweaver(["search", "--json", "parse an invoice"]).json();
    assert_eq!(found["matches"][0]["file"], json!({ "path": "invoice.py", "language": "python" }));
}

#[test]
fn a_member_has_the_files_that_it_has_by_itself() {
    const FILES: [(&str, &str); 6] = [
        ("app.go", LEDGER),
        ("vendor/lib/lib.go", "package lib\n\nfunc Third() int { return 3 }\n"),
        ("shop/vendor/list.go", "package vendor\n\nfunc Sellers() int { return 4 }\n"),
        ("node_modules/left/index.js", "function left() { return 5 }\n"),
        ("spec/app.go", "package spec\n\nfunc Checks() int { return 6 }\n"),
        ("src/spec/app.go", "package spec\n\nfunc Ours() int { return 7 }\n"),
    ];
    // All but the first have a meaning in a repository.
    const NAMES: [&str; 4] = ["plain", "vendor", "tests/it", "src/lib"];
    let site = Site::empty();
    for name in NAMES {
        let member = site.member(&format!("src/{name}"), &FILES);
        site.run(&["add", "--name", name, member.root().to_str().unwrap()]).success();
    }
    let alone = site.base.at("src/plain");
    alone.codeweaver(["init", "--no-hooks"]).success();
    let files = |status: &Value| (status["files"].clone(), status["skipped"]["vendored"].clone());
    let by_itself = alone.codeweaver(["status", "--json"]).success().json();
    assert_eq!(files(&by_itself), (json!(4), json!(2)), "{by_itself:#}");
    let in_all = site.base.codeweaver(["status", "--json", "--catalogue", "all.git"]).success().json();
    assert_eq!(files(&in_all), (json!(16), json!(8)), "{in_all:#}");

    // The order follows from the roles of files; what is vendored comes last.
    let listed = |run: Run| run.success().stdout().lines().map(str::to_owned).collect::<Vec<String>>();
    let own = listed(alone.codeweaver(["search", "--mode", "regex", "--vimgrep", "return"]));
    assert_eq!(own.len(), FILES.len(), "{own:?}");
    for name in NAMES {
        let path = format!("{name}/");
        let args = ["search", "--catalogue", "all.git", "--mode", "regex", "--vimgrep", "--path", &path];
        let found = listed(site.base.codeweaver([&args[..], &["return"]].concat()));
        let found: Vec<&str> = found.iter().map(|line| line.split_once(&path).unwrap().1).collect();
        assert_eq!(own, found, "{name}");
    }
}

#[test]
fn the_other_commands_take_a_catalogue() {
    let site = Site::new();
    let run = |args: &[&str]| site.base.codeweaver([args, &["--catalogue", "all.git"]].concat());
    assert!(run(&["read", "alpha/src/retry.rs"]).success().stdout().contains("retry_with_backoff"));
    assert!(run(&["outline", "payments/ledger/ledger.go"]).success().stdout().contains("PostEntry"));
    assert!(run(&["graph", "callers", "parse_invoice"]).stdout().contains("payments/invoice/invoice.py"));
    assert!(run(&["status"]).success().stdout().contains("3 repositories"));
    let lines = run(&["search", "--mode", "exact", "retry_with_backoff"]).success().stdout();
    assert!(lines.contains("alpha/src/retry.rs"), "{lines}");
    run(&["verify", "--recompute", "100"]).success();
}

#[test]
fn an_ordinary_repository_is_no_catalogue() {
    let site = Site::new();
    let alone = site.base.at("elsewhere");
    // Its tree names a repository that the reader may not want to open.
    alone.write(
        ".codeweaver-catalogue",
        site.base.git_text(["-C", "all.git", "show", "HEAD:.codeweaver-catalogue"]),
    );
    alone.commit("forged");
    alone.codeweaver(["init", "--no-hooks"]).success();
    alone
        .codeweaver(["search", "--repos", "x", "invoice"])
        .is_an_error("no repository matches 'x'", "--catalogue");
    // Its own name selects what is there.
    assert_ne!(alone.codeweaver(["search", "--repos", "elsewhere", "invoice"]).code(), 2);
    alone
        .codeweaver(["search", "--catalogue", ".", "invoice"])
        .is_an_error("is not a catalogue", "catalogue init");
    alone.codeweaver(["catalogue", "list"]).is_an_error("is not a catalogue", "catalogue init");
    assert!(
        !site
            .base
            .codeweaver(["search", "-p", "elsewhere", "retry_with_backoff"])
            .stdout()
            .contains("retry.rs")
    );
}

#[test]
fn repositories_are_selected_by_name() {
    let site = Site::new();
    let all = ["--committed", "retry_with_backoff parse_invoice PostEntry"];
    let with = |repos: &[&str]| {
        let mut args: Vec<&str> = repos.iter().flat_map(|glob| ["--repos", *glob]).collect();
        args.extend(all);
        let mut paths = site.paths(&args);
        paths.sort();
        paths
    };
    assert_eq!(with(&["alpha"]), ["alpha/src/retry.rs"]);
    assert!(
        with(&["payments/*"]).iter().all(|path| path.starts_with("payments/")),
        "{:?}",
        with(&["payments/*"])
    );
    assert_eq!(with(&["payments"]), with(&["payments/*"]));
    assert_eq!(with(&["**/ledger", "alpha"]).len(), with(&["payments/ledger"]).len() + 1);
    let error = site.base.codeweaver(["search", "--catalogue", "all.git", "--repos", "pay*", "x"]);
    error.is_an_error("no repository matches 'pay*'", "catalogue list");
    let lines =
        ["search", "--catalogue", "all.git", "--repos", "alpha", "--mode", "regex", "fn|def", "-o", "json"];
    assert!(!site.base.codeweaver(lines).stdout().contains("invoice"), "lines are limited too");
}

#[test]
fn a_push_is_found_after_a_sync() {
    let site = Site::new();
    let before = site.base.git_text(["-C", "all.git", "rev-parse", "HEAD"]);
    let idle = site.sync();
    assert_eq!((&idle["changed"], &idle["committed"]), (&json!([]), &json!(false)));
    assert_eq!(
        site.base.git_text(["-C", "all.git", "rev-parse", "HEAD"]),
        before,
        "no commit without a change"
    );
    let clone = site.base.at("elsewhere");
    clone.write("refund.py", "def refund_invoice(number):\n    return number\n").commit("refund");
    clone.git(["push", "-q", "../src/payments/invoice.git", "main"]);
    assert_eq!(site.state("payments/invoice"), "behind");
    let synced: Value = site.run(&["sync", "--json", "src/payments/invoice.git"]).success().json();
    assert_eq!(synced["changed"], json!(["payments/invoice"]));
    assert_eq!(synced["update"]["blobs_indexed"], 1, "{synced:#}");
    assert_eq!(site.paths(&["refund_invoice"])[0], "payments/invoice/refund.py");
    assert_eq!(site.state("payments/invoice"), "current");
    // The catalogue has a history of its own.
    assert_eq!(site.search(&["--rev", "HEAD~1", "refund_invoice"])["index"]["files"], 4);
    let hook = "#!/bin/sh\ngit codeweaver catalogue sync --catalogue ../../../all.git --quiet \"$PWD\"\n";
    let bare = site.base.path("src/payments/invoice.git");
    std::fs::create_dir_all(bare.join("hooks")).unwrap();
    std::fs::write(bare.join("hooks/post-receive"), hook).unwrap();
    site.base.executable("src/payments/invoice.git/hooks/post-receive");
    clone.write("credit.py", "def credit_note(number):\n    return number\n").commit("credit");
    clone.git(["push", "-q", "../src/payments/invoice.git", "main"]);
    assert_eq!(site.paths(&["credit_note"])[0], "payments/invoice/credit.py");
}

#[test]
fn a_commit_of_a_member_is_found_at_once() {
    let site = Site::new();
    let member = site.base.at("src/alpha");
    member.write("src/queue.rs", "pub fn flush_queue() {}\n").commit("queue");
    let status = || site.base.codeweaver(["status", "--json", "--catalogue", "all.git"]).success().json();
    let behind: Value = status();
    assert_eq!((&behind["current"], &behind["members_behind"]), (&json!(false), &json!(["alpha"])));

    // Who does not ask about a member does not look at it.
    site.search(&["--repos", "payments", "parse_invoice"]);
    assert_eq!(site.state("alpha"), "behind");
    let found = site.search(&["flush_queue"]);
    assert_eq!((&found["status"], &found["absent_words"]), (&json!("ok"), &Value::Null), "{found:#}");
    assert_eq!(paths(&found)[0], "alpha/src/queue.rs");
    assert_eq!(found["matches"][0]["file"]["commit"], member.git_text(["rev-parse", "HEAD"]).trim());
    assert_eq!(site.state("alpha"), "current");

    // Another process is writing the catalogue.
    let lock = std::fs::File::options().write(true).open(site.base.path("all.git/codeweaver-catalogue.lock"));
    let lock = lock.unwrap();
    lock.lock().unwrap();
    member.write("src/drain.rs", "pub fn drain_queue() {}\n").commit("drain");
    let newer = "a repository has newer commits than this answer: alpha";
    let found = site.search(&["drain_queue"]);
    assert_eq!((&found["status"], &found["index"]["freshness"]), (&json!("degraded"), &json!("stale")));
    assert!(found["warnings"].as_array().unwrap().contains(&json!(newer)), "{found:#}");
    assert_eq!(site.search(&["--repos", "payments", "parse_invoice"])["status"], "ok");
    let lines = site.search(&["--mode", "exact", "drain_queue"]);
    assert!(lines["warnings"].as_array().unwrap().contains(&json!(newer)), "{lines:#}");
    let graph = ["graph", "callers", "flush_queue", "--json", "--catalogue", "all.git"];
    let graph: Value = site.base.codeweaver(graph).json();
    assert_eq!(graph["coverage"]["complete"], false, "{graph:#}");
}

#[test]
fn rules_of_a_member_apply_in_it_alone() {
    let site = Site::new();
    let member = site.base.at("src/alpha");
    member
        .write(".codeweaverignore", "*.py\n/src/\n")
        .write("x.py", "def ignored_here():\n    pass\n")
        .commit("rules");
    // Deciding the files of one member again reads no other.
    std::fs::rename(site.base.path("src/payments"), site.base.path("away")).unwrap();
    let synced: Value = site.run(&["sync", "--json", "alpha"]).success().json();
    std::fs::rename(site.base.path("away"), site.base.path("src/payments")).unwrap();
    assert_eq!((&synced["changed"], &synced["problems"]), (&json!(["alpha"]), &json!([])), "{synced:#}");
    assert_eq!(synced["update"]["skipped"]["ignored"], 2, "{synced:#}");
    assert_eq!(site.paths(&["--mode", "keyword", "parse_invoice"])[0], "payments/invoice/invoice.py");
    assert!(site.paths(&["--mode", "keyword", "retry_with_backoff"]).is_empty());
    member.git(["rm", "-q", ".codeweaverignore"]).commit("no rules");
    site.sync();
    assert_eq!(site.paths(&["retry_with_backoff"])[0], "alpha/src/retry.rs");
}

#[test]
fn a_fork_embeds_nothing() {
    let site = Site::new();
    site.base.git(["clone", "-q", "--bare", "src/alpha", "src/fork.git"]);
    site.run(&["add", "--no-sync", "src/fork.git"]).success();
    let synced = site.sync();
    assert_eq!(synced["update"]["embedded_chunks"], 0, "{synced:#}");
    let found = site.search(&["retry_with_backoff"]);
    let first = &found["matches"][0];
    assert_eq!(
        (&first["file"]["path"], &first["also_at"]),
        (&json!("alpha/src/retry.rs"), &json!(["fork/src/retry.rs"]))
    );
    // The fork has the text too.
    std::fs::rename(site.base.path("src/alpha"), site.base.path("away")).unwrap();
    let found = site.search(&["retry_with_backoff"]);
    assert!(found["matches"][0]["content"]["text"].as_str().unwrap().contains("n * 2"), "{found:#}");
}

#[test]
fn branches_and_tags_are_members_of_their_own() {
    let site = Site::empty();
    let member = site.member("src/alpha", &[("src/retry.rs", RETRY)]);
    member.git(["checkout", "-q", "-b", "feature/pay"]).write("pay.py", INVOICE).commit("pay");
    member.git(["tag", "-a", "-m", "one", "v1"]).git(["checkout", "-q", "main"]);
    let args = ["add", "src/alpha", "--branch", "feature/pay", "--branch", "v1"];
    site.run(&args).success();
    assert_eq!(site.paths(&["--repos", "alpha@feature/pay", "parse_invoice"]), ["alpha@feature/pay/pay.py"]);
    assert_eq!(site.paths(&["--repos", "alpha@v1", "parse_invoice"]), ["alpha@v1/pay.py"]);
    assert!(site.paths(&["--repos", "alpha", "--mode", "keyword", "parse_invoice"]).is_empty());
    assert_eq!(site.sync()["changed"], json!([]));
    member.git(["branch", "-D", "-q", "feature/pay"]);
    let synced = site.sync();
    assert_eq!(synced["problems"][0]["state"], "no_ref", "{synced:#}");
    let none = site.run(&["add", "src/alpha", "--branch", "nope"]);
    none.is_an_error("has no branch or tag \"nope\"", "for-each-ref");
}

#[test]
fn the_answers_are_those_of_one_repository_with_the_same_tree() {
    let site = Site::new();
    let one = TestRepo::with_files(&[
        ("alpha/src/retry.rs", RETRY),
        ("payments/ledger/ledger.go", LEDGER),
        ("payments/ledger/README.md", "# Ledger\n\nBooks.\n"),
        ("payments/invoice/invoice.py", INVOICE),
    ]);
    one.codeweaver(["init", "--no-hooks"]).success();
    for query in ["retry_with_backoff", "book an amount", "how is an invoice split", "ledger", "pauses n * 2"]
    {
        let scores = |response: &Value| -> Vec<(String, f64)> {
            let matches = response["matches"].as_array().unwrap();
            let score = |it: &Value| it["relevance_score"].as_f64().unwrap();
            matches.iter().map(|it| (it["file"]["path"].to_string(), score(it))).collect()
        };
        let alone: Value = one.codeweaver(["search", "--json", query]).json();
        assert_eq!(scores(&site.search(&[query])), scores(&alone), "{query}");
        assert!(!scores(&alone).is_empty(), "{query}");
    }
}

#[test]
fn a_question_opens_only_the_repositories_that_it_shows() {
    let site = Site::new();
    let others = ["src/alpha/.git/objects", "src/payments/ledger/.git/objects"];
    if let Some(strace) = Tool::STRACE.find() {
        let log = site.base.path("calls");
        let mut command = site.base.command(strace);
        command.args(["-f", "-qq", "-e", "trace=%file", "-o"]).arg(&log).arg(codeweaver_testkit::program());
        command.args(["search", "--catalogue", "all.git", "--repos", "payments/invoice", "parse_invoice"]);
        let run = Run::new(&mut command);
        let calls = std::fs::read_to_string(&log).unwrap_or_default();
        if calls.is_empty() {
            return codeweaver_testkit::skip("the right to trace a process");
        }
        run.success();
        assert!(calls.contains("src/payments/invoice.git/objects"), "{calls}");
        let is_other = |line: &&str| line.contains("src/alpha") || line.contains("payments/ledger");
        assert_eq!(calls.lines().find(is_other), None);
    }
    // What is not opened may be gone.
    for objects in others {
        std::fs::rename(site.base.path(objects), site.base.path(&objects.replace('/', "-"))).unwrap();
    }
    let found = site.search(&["--repos", "payments/invoice", "parse_invoice"]);
    assert_eq!(found["status"], "ok", "{found:#}");
    assert!(found["matches"][0]["content"]["text"].as_str().unwrap().contains("def parse_invoice"));
}

#[test]
fn a_member_that_vanishes_is_left_out_until_it_returns() {
    let site = Site::new();
    let (here, away) = (site.base.path("src/alpha"), site.base.path("away"));
    std::fs::rename(&here, &away).unwrap();
    // Before the next sync the match is there, and says that its text is not.
    let found = site.search(&["retry_with_backoff"]);
    assert_eq!(found["status"], "degraded", "{found:#}");
    assert_eq!(found["matches"][0]["content"]["text"], "(the repository alpha cannot be read)");
    assert_eq!(site.state("alpha"), "missing");
    let synced = site.sync();
    assert_eq!(
        (&synced["problems"][0]["name"], &synced["problems"][0]["state"]),
        (&json!("alpha"), &json!("missing"))
    );
    let found = site.search(&["retry_with_backoff"]);
    assert!(!paths(&found).iter().any(|path| path.starts_with("alpha/")), "{found:#}");
    assert_eq!(found["warnings"][0], "a repository is not part of this answer: alpha (missing)", "{found:#}");
    assert_eq!(
        site.search(&["--repos", "payments", "invoice"])["status"],
        "ok",
        "who does not ask is not told"
    );
    assert_eq!(site.sync()["committed"], false, "the same problem is no change");
    std::fs::rename(&away, &here).unwrap();
    let synced = site.sync();
    assert_eq!(synced["update"]["embedded_chunks"], 0, "{synced:#}");
    assert_eq!(site.paths(&["retry_with_backoff"])[0], "alpha/src/retry.rs");
    // Moved for good.
    std::fs::rename(&here, site.base.path("src/omega")).unwrap();
    site.run(&["remove", "alpha"]).success();
    site.run(&["add", "src/omega"]).success();
    assert_eq!(site.paths(&["retry_with_backoff"])[0], "omega/src/retry.rs");
    assert_eq!(site.search(&["retry_with_backoff"])["status"], "ok");
}

#[test]
fn a_rewritten_member_is_followed() {
    let site = Site::new();
    let member = site.base.at("src/alpha");
    member.write("src/retry.rs", "pub fn call_once() {}\n").git(["add", "-A"]);
    member.git(["commit", "-q", "--amend", "-m", "other"]);
    member.git(["reflog", "expire", "--expire=all", "--all"]).git(["gc", "-q", "--prune=now"]);
    let synced = site.sync();
    assert_eq!((&synced["changed"], &synced["problems"]), (&json!(["alpha"]), &json!([])));
    assert_eq!(site.paths(&["call_once"])[0], "alpha/src/retry.rs");
    assert!(site.paths(&["--mode", "keyword", "retry_with_backoff"]).is_empty());
}

#[test]
fn damaged_and_empty_members_do_not_stop_the_others() {
    let site = Site::new();
    site.member("src/unborn", &[]);
    let no_files = site.member("src/bare-commit", &[]);
    no_files.git(["commit", "-q", "--allow-empty", "-m", "nothing"]);
    let broken = site.member("src/broken", &[("a/b.py", "def lost_tree():\n    pass\n")]);
    let tree = broken.git_text(["rev-parse", "HEAD:a"]);
    std::fs::remove_file(broken.path(&format!(".git/objects/{}/{}", &tree[..2], tree[2..].trim()))).unwrap();
    let headless = site.member("src/headless", &[("c.py", "def headless():\n    pass\n")]);
    headless.write(".git/HEAD", "nonsense\n");
    let added = site.run(&["add", "--recursive", "src"]);
    assert!(added.stderr().contains("broken is not searched (unreadable)"), "{}", added.explain());
    for (name, state) in [
        ("unborn", "empty"),
        ("bare-commit", "empty"),
        ("broken", "unreadable"),
        ("alpha", "current"),
        ("payments/invoice", "current"),
    ] {
        assert_eq!(site.state(name), state, "{name}");
    }
    assert_eq!(site.paths(&["retry_with_backoff"])[0], "alpha/src/retry.rs");
    assert_eq!(site.search(&["retry_with_backoff"])["status"], "degraded");
    // A tree that is lost after it was indexed, when all have to be read again.
    let tree = site.base.at("src/alpha").git_text(["rev-parse", "HEAD:src"]);
    let object = format!("src/alpha/.git/objects/{}/{}", &tree[..2], tree[2..].trim());
    std::fs::remove_file(site.base.path(&object)).unwrap();
    std::fs::remove_dir_all(site.base.path("all.git/.codeweaver")).unwrap();
    let synced = site.sync();
    assert_eq!(synced["problems"].as_array().unwrap().len(), 3, "{synced:#}");
    assert_eq!(site.state("alpha"), "unreadable");
    assert_eq!(site.paths(&["parse_invoice"])[0], "payments/invoice/invoice.py");
}

#[test]
fn a_blob_that_is_damaged_leaves_the_answer_standing() {
    let site = Site::new();
    let member = site.base.at("src/alpha");
    let blob = member.git_text(["rev-parse", "HEAD:src/retry.rs"]);
    let object = member.path(&format!(".git/objects/{}/{}", &blob[..2], blob[2..].trim()));
    std::fs::remove_file(&object).unwrap();
    std::fs::write(&object, b"garbage").unwrap();
    let found = site.search(&["retry_with_backoff parse_invoice"]);
    assert_eq!(found["status"], "degraded", "{found:#}");
    assert!(paths(&found).contains(&"payments/invoice/invoice.py".to_owned()), "{found:#}");
}

#[test]
fn hostile_repositories_are_read_and_run_nothing() {
    let site = Site::new();
    let member = site.member("src/evil", &[("e.py", "def evil_twin():\n    pass\n")]);
    let mark = site.base.path("ran");
    let command = format!("touch {}", mark.display());
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "filter.x.clean",
        "filter.x.smudge",
        "diff.external",
        "core.pager",
    ] {
        member.git(["config", key, &command]);
    }
    member.write(".gitattributes", "*.py filter=x diff=x\n");
    member
        .write(".git/hooks/post-checkout", format!("#!/bin/sh\n{command}\n"))
        .executable(".git/hooks/post-checkout");
    // A file that a checkout would write outside of the tree, and a link to one that is not in it.
    std::fs::write(site.base.path("secret.txt"), "the password is hunter2\n").unwrap();
    member.symlink("link.py", site.base.path("secret.txt").to_str().unwrap());
    member.git(["-c", "filter.x.clean=cat", "-c", "core.fsmonitor=false", "add", "-A"]);
    member.git(["-c", "core.fsmonitor=false", "commit", "-q", "-m", "evil"]);
    let _ = std::fs::remove_file(&mark);
    let blob = member.git_text(["rev-parse", "HEAD:e.py"]);
    let tree = |entries: &str| {
        let mut mktree = member.command("git");
        mktree.args(["mktree"]);
        Run::with_input(&mut mktree, entries.as_bytes()).success().stdout().trim().to_owned()
    };
    let inner = tree(&format!("100644 blob {}\t...\n", blob.trim()));
    let outer =
        tree(&format!("040000 tree {inner}\tdir\n100644 blob {}\t.codeweaver-catalogue\n", blob.trim()));
    let commit = member.git_text(["-c", "core.fsmonitor=false", "commit-tree", "-m", "x", &outer]);
    member.git(["update-ref", "refs/heads/odd", commit.trim()]);
    std::os::unix::fs::symlink(site.base.path("elsewhere"), site.base.path("src/linked")).unwrap();
    site.run(&["add", "--recursive", "src", "--branch", "odd"]);
    let listed: Vec<String> = site.list().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect();
    assert!(listed.contains(&"evil@odd".to_owned()) && !listed.contains(&"linked".to_owned()), "{listed:?}");
    assert!(!mark.exists(), "a command of a member ran");
    assert!(site.paths(&["evil_twin"]).contains(&"evil/e.py".to_owned()));
    assert!(site.paths(&["--mode", "keyword", "password hunter2"]).is_empty());
    assert!(!mark.exists(), "a command of a member ran");
    // A member whose path has become a link to another repository is not followed there.
    std::fs::rename(site.base.path("src/evil"), site.base.path("gone")).unwrap();
    std::os::unix::fs::symlink(site.base.path("elsewhere"), site.base.path("src/evil")).unwrap();
    site.sync();
    assert_eq!(site.state("evil"), "missing");
    assert!(!site.paths(&["parse_invoice"]).iter().any(|path| path.starts_with("evil/")));
}

#[test]
fn a_pipe_in_place_of_a_reference_does_not_stop_a_sync() {
    let site = Site::new();
    let reference = site.base.path("src/alpha/.git/refs/heads/main");
    std::fs::remove_file(&reference).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&reference).status().unwrap().success());
    let synced = site.sync();
    assert_eq!(synced["problems"][0]["state"], "unreadable", "{synced:#}");
    assert_eq!(site.paths(&["parse_invoice"])[0], "payments/invoice/invoice.py");
}

#[test]
fn names_and_paths_are_unique() {
    let site = Site::new();
    let again = site.run(&["add", "src/alpha"]);
    assert!(
        again.success().stdout().contains("Added 0 members, 1 member known already"),
        "{}",
        again.explain()
    );
    site.run(&["add", "src/alpha/.git"]).success();
    assert_eq!(site.list().len(), 3);
    site.member("other/alpha", &[("x.py", "def other_alpha():\n    pass\n")]);
    site.run(&["add", "other/alpha"]).is_an_error("collides", "--name");
    site.run(&["add", "other/alpha", "--name", "alpha/below"]).is_an_error("collides", "--name");
    site.run(&["add", "other/alpha", "--name", "../alpha"]).is_an_error("cannot be the name", "--name");
    site.run(&["add", "other/alpha", "--name", "payments"]).is_an_error("collides", "--name");
    site.run(&["add", "other/alpha", "--name", "other/alpha"]).success();
    assert_eq!(site.paths(&["other_alpha"])[0], "other/alpha/x.py");
    // In a folder, what collides is left out and reported.
    site.base.git(["clone", "-q", "--bare", "elsewhere", "more/x.git"]);
    site.member("more/x", &[("x.py", "def more_x():\n    pass\n")]);
    let added = site.run(&["add", "--recursive", "more"]);
    added.fails(1);
    assert!(
        added.stdout().contains("Added 1 member") && added.stderr().contains("collides"),
        "{}",
        added.explain()
    );
    site.run(&["add", "src"]).is_an_error("is not a git repository", "--recursive");
    site.run(&["add", "src/alpha/src"]).is_an_error("is not a git repository", "src/alpha");
    site.run(&["add", "all.git"]).is_an_error("is a catalogue itself", "members");
    site.run(&["remove", "alpah"]).is_an_error("no member \"alpah\"", "did you mean alpha?");
    site.base.codeweaver(["catalogue", "init", "src/alpha"]).is_an_error("is not empty", "another directory");
    site.base.codeweaver(["catalogue", "init", "all.git"]).success();
    assert_eq!(site.list().len(), 5, "creating it again changes nothing");
}

#[test]
fn linked_worktrees_and_submodules_are_not_members_of_their_own() {
    let site = Site::new();
    let member = site.base.at("src/alpha");
    member.git(["worktree", "add", "-q", "--detach", "../alpha-work"]);
    member.git(["-c", "protocol.file.allow=always", "submodule", "add", "-q", "../../elsewhere", "sub"]);
    member.commit("submodule");
    assert!(Path::new(&member.path("sub/.git")).exists());
    let added = site.run(&["add", "--recursive", "src"]);
    assert!(added.success().stdout().contains("Added 0 members"), "{}", added.explain());
}

#[test]
fn the_catalogue_refuses_pushes() {
    let site = Site::new();
    let clone = site.base.at("elsewhere");
    assert!(!clone.try_git(["push", "-q", "--force", "../all.git", "main"]));
}

/// The lock files of a killed sync stop no later one, and no query.
#[test]
fn lock_files_of_dead_processes_are_removed() {
    let site = Site::new();
    let head = site.base.git_text(["-C", "all.git", "symbolic-ref", "HEAD"]);
    let branch = format!("all.git/{}.lock", head.trim());
    for (n, file) in ["all.git/HEAD.lock", &branch, "all.git/packed-refs.lock"].into_iter().enumerate() {
        let member = site.base.at("src/alpha");
        let names = ["first", "second", "third"].map(|name| format!("fn after_{name}_lock() {{}}\n"));
        member.write("src/after.rs", &names[n]).commit("go on");
        site.base.write(file, "");
        let report = site.sync();
        assert_eq!(report["changed"], json!(["alpha"]), "{file}: {report:#}");
        assert!(!site.base.path(file).exists(), "{file}");

        // A query commits the new heads of members as well.
        site.base.write(file, "");
        member.write("src/query.rs", format!("fn query_after_{n}() {{}}\n")).commit("go on");
        let found = site.search(&[&format!("query_after_{n}")]);
        assert!(paths(&found).contains(&"alpha/src/query.rs".to_owned()), "{file}: {found:#}");
        assert!(!found["warnings"].to_string().contains("newer commits"), "{file}: {found:#}");
    }
}

#[test]
fn a_killed_sync_stops_no_later_one() {
    let site = Site::new();
    let member = site.base.at("src/alpha");
    for round in 0..8 {
        member.write("src/round.rs", format!("fn round_{round}() {{}}\n")).commit("go on");
        let mut command = site.base.command(program());
        command.args(["catalogue", "sync", "--catalogue", "all.git"]);
        run_and_kill(&mut command, Duration::from_millis(4 * round));
        site.run(&["sync", "--quiet"]).success();
        assert!(site.paths(&[&format!("round_{round}")]).contains(&"alpha/src/round.rs".to_owned()));
    }
}

#[test]
fn a_killed_init_is_completed_by_the_next() {
    let site = Site::empty();
    site.member("src/alpha", &[("src/retry.rs", RETRY)]);
    let works = |name: &str, what: &str| {
        site.base.codeweaver(["catalogue", "init", name]).success();
        let added = site.base.codeweaver(["catalogue", "add", "--catalogue", name, "-r", "src"]);
        assert!(added.success().stdout().contains("Added 1 member"), "{what}");
        let config = site.base.git_text(["-C", name, "config", "--get", "core.logAllRefUpdates"]);
        assert_eq!(config.trim(), "always", "{what}");
    };

    for round in 0..10 {
        let name = format!("killed-{round}.git");
        let mut command = site.base.command(program());
        command.args(["catalogue", "init", &name]);
        run_and_kill(&mut command, Duration::from_millis(4 * round));
        works(&name, &format!("killed after {} ms", 4 * round));
    }

    // Each file of a repository that git was just about to create.
    for gone in ["HEAD", "config", "objects", "refs"] {
        let name = format!("without-{gone}.git");
        site.base.git(["init", "-q", "--bare", &name]);
        site.base.write(&format!("{name}/codeweaver-catalogue.lock"), "");
        site.base.write(&format!("{name}/config.lock"), "").remove(&format!("{name}/{gone}"));
        works(&name, gone);
    }

    // A repository in which no init was begun is not touched.
    site.base.git(["init", "-q", "--bare", "other.git"]);
    site.base.codeweaver(["catalogue", "init", "other.git"]).is_an_error("is not empty", "");
}
