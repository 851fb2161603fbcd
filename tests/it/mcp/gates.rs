//! The gate and freshness over the protocol: which statuses block which tools, and what the envelope says.

use std::cell::Cell;
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver::query::view::Freshness;
use codeweaver::query::view::freshness;
use codeweaver::service::gate::{self, NonOkReason};
use codeweaver_index::{Codebase, Lifecycle, Target, publish, updater};
use codeweaver_mcp::envelope::Envelope;
use codeweaver_store::StoreReader;
use codeweaver_store::lock::Lock;
use codeweaver_store::state::{MARKER_KIND, Phase};
use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn open(repo: &TestRepo) -> Codebase {
    Codebase::open(repo.root(), &[]).unwrap()
}

fn set_phase(codebase: &Codebase, phase: Phase) {
    publish::change_state(codebase, |state| state.heads.get_mut("main").unwrap().phase = phase).unwrap();
}

/// Makes other processes see a running reindex until the lease is dropped.
fn indexing(codebase: &Codebase) -> Lock {
    set_phase(codebase, Phase::Indexing);
    updater::lease(codebase).unwrap()
}

/// Makes the index one of another model.
fn made_with_another_model(codebase: &Codebase) {
    publish::change_state(codebase, |state| {
        state.heads.get_mut("main").unwrap().marker.as_mut().unwrap().fingerprint = "another model".into();
    })
    .unwrap();
    let store = codebase.store();
    std::fs::rename(store.root(), store.root().with_file_name("0123456789abcdef")).unwrap();
}

/// Every tool that needs the index, with valid arguments.
fn queries() -> Vec<(&'static str, Value)> {
    vec![
        ("find_code", json!({ "query": "parse header" })),
        ("search_codebase", json!({ "query": "parse header", "rev": "HEAD" })),
        ("find_similar", json!({ "file": "src/parse.rs", "line": 2 })),
        ("file_outline", json!({ "file": "src/parse.rs" })),
        ("call_graph", json!({ "symbol": "parse_header" })),
        ("read_file", json!({ "file": "src/parse.rs" })),
        ("read_file", json!({ "file": "src/parse.rs", "start_line": 1, "end_line": 2 })),
        ("read_file", json!({ "file": "src/parse.rs", "rev": "HEAD" })),
    ]
}

/// The envelope of a blocked call: JSON in the first content block, the same as structured content, and no
/// error.
#[track_caller]
fn envelope(client: &mut McpClient, tool: &str, arguments: Value) -> Value {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], false, "{tool}: {result:#}");
    let text = result["content"][0]["text"].as_str().unwrap();
    let envelope: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{tool}: {e}: {text}"));
    assert_eq!(result["structuredContent"], envelope, "{tool}");
    assert!(envelope["message"].as_str().is_some_and(|message| !message.is_empty()), "{envelope:#}");
    envelope
}

#[track_caller]
fn assert_hint(envelope: &Value, name: &str, repo: &TestRepo) {
    let expected = json!({
        "tool": "manage_index", "args": { "action": name, "path": repo.root().to_str().unwrap() },
    });
    assert_eq!(envelope["hints"][name], expected, "{envelope:#}");
}

#[test]
fn an_index_without_a_completion_marker_is_not_indexed() {
    let repo = indexed();
    let codebase = open(&repo);
    let mut client = McpClient::start_with(&repo, &["--debug"]);
    // Complete files on disk, a lease, and even the marker of an earlier run: not indexed.
    {
        let _run = indexing(&codebase);
        let blocked = envelope(&mut client, "find_code", json!({ "query": "header" }));
        assert_eq!(blocked["reason"], "indexing");
        let proof = json!({ "completionProof": "marker_doc", "markerPresent": false });
        assert_eq!(blocked["hints"]["debugIndexing"], proof, "a marker counts as absent while indexing");
        assert_eq!(client.ask("manage_index", json!({ "action": "status" }))["index"]["state"], "indexing");
    }
    // The run ended without writing its marker.
    assert_eq!(envelope(&mut client, "find_code", json!({ "query": "header" }))["reason"], "not_indexed");
    set_phase(&codebase, Phase::Indexed);
    assert_eq!(client.ask("find_code", json!({ "query": "header" }))["status"], "ok");
    publish::change_state(&codebase, |state| state.heads.get_mut("main").unwrap().marker = None).unwrap();
    assert_eq!(envelope(&mut client, "find_code", json!({ "query": "header" }))["reason"], "not_indexed");
    // A marker of another kind, root or fingerprint proves nothing either: see the tests of the lifecycle.
    client.ask("manage_index", json!({ "action": "create" }));
    let marker = StoreReader::open(&codebase.store()).unwrap().unwrap();
    let marker = marker.state.heads["main"].marker.clone().unwrap();
    assert_eq!((marker.kind.as_str(), marker.fingerprint), (MARKER_KIND, codebase.vector_space.clone()));
    assert_eq!(marker.codebase_path, repo.root().to_str().unwrap());
    assert!(marker.total_chunks > 0 && marker.indexed_files == 4 && !marker.run_id.is_empty());
    assert_eq!(
        client
            .found(json!({ "query": MARKER_KIND, "include_tests": true }))
            .iter()
            .find(|p| p.contains("codeweaver")),
        None
    );
}

#[test]
fn not_ready_with_reason_indexing_for_blocked_tools() {
    let repo = indexed();
    let codebase = open(&repo);
    let mut client = McpClient::start(&repo);
    let run = indexing(&codebase);
    for (tool, arguments) in queries() {
        let blocked = envelope(&mut client, tool, arguments);
        assert_eq!(
            (&blocked["status"], &blocked["reason"]),
            (&json!("not_ready"), &json!("indexing")),
            "{tool}"
        );
        assert_eq!(blocked["codebaseRoot"], repo.root().to_str().unwrap());
        assert_hint(&blocked, "status", &repo);
        assert!(blocked["hints"].get("create").is_none() && blocked["hints"].get("reindex").is_none());
        assert!(blocked["hints"].get("debugIndexing").is_none(), "only in debug mode");
        for field in ["progressPct", "lastUpdated", "phase"] {
            assert!(blocked["indexing"].as_object().unwrap().contains_key(field), "{blocked:#}");
        }
    }
    // Calls that would change the index are blocked as well; reading its status never is.
    let generation = || StoreReader::open(&codebase.store()).unwrap().unwrap().state.generation;
    let before = generation();
    for action in ["create", "reindex", "sync", "clear"] {
        let arguments = json!({ "action": action, "wait_seconds": 0 });
        let blocked = envelope(&mut client, "manage_index", arguments);
        assert_eq!(blocked["reason"], "indexing", "{action}");
        assert_hint(&blocked, "status", &repo);
    }
    assert_eq!(generation(), before, "nothing was written");
    let status = client.ask("manage_index", json!({ "action": "status" }));
    assert_eq!(status["index"]["state"], "indexing");
    assert_eq!(status["index"]["freshness"], "skipped_indexing");
    drop(run);
}

#[test]
fn the_first_call_indexes_a_small_repository() {
    let repo = TestRepo::with_files(FILES);
    let mut client = McpClient::start(&repo);
    let answer = client.ask("find_code", json!({ "query": "parse header" }));
    assert_eq!(answer["status"], "ok", "{answer:#}");
    assert!(answer["warnings"].to_string().contains("this call has indexed it"), "{answer:#}");
    assert_eq!(repo.git_text(["status", "--porcelain"]), "", "git does not see the index");
    // One that was deleted on purpose is not built again.
    client.ask("manage_index", json!({ "action": "clear" }));
    assert_eq!(envelope(&mut client, "find_code", json!({ "query": "header" }))["reason"], "not_indexed");
}

#[test]
fn requires_reindex_and_not_indexed_include_stable_reason_codes() {
    let repo = TestRepo::with_files(FILES).env("CODEWEAVER_MCP_INDEX_SMALL", "false");
    let mut client = McpClient::start(&repo);
    for (tool, arguments) in queries() {
        let blocked = envelope(&mut client, tool, arguments);
        assert_eq!(
            (&blocked["status"], &blocked["reason"]),
            (&json!("not_indexed"), &json!("not_indexed")),
            "{tool}"
        );
        assert_hint(&blocked, "status", &repo);
        assert_hint(&blocked, "create", &repo);
        assert!(blocked.get("indexing").is_none());
    }
    client.ask("manage_index", json!({ "action": "create" }));
    made_with_another_model(&open(&repo));
    for (tool, arguments) in queries() {
        let blocked = envelope(&mut client, tool, arguments);
        let expected = (&json!("requires_reindex"), &json!("requires_reindex"));
        assert_eq!((&blocked["status"], &blocked["reason"]), expected, "{tool}");
        assert_hint(&blocked, "status", &repo);
        assert_hint(&blocked, "reindex", &repo);
    }
    assert_eq!(
        envelope(&mut client, "manage_index", json!({ "action": "sync" }))["reason"],
        "requires_reindex"
    );
    client.ask("manage_index", json!({ "action": "reindex" }));
    assert_eq!(client.ask("find_code", json!({ "query": "header" }))["status"], "ok");
    // Statuses that block nothing carry no reason.
    let missing = client.call("file_outline", json!({ "file": "src/nothing.rs" }));
    assert_eq!(missing["structuredContent"]["status"], "not_found");
    assert!(missing["structuredContent"].get("reason").is_none());
}

#[test]
fn ensure_freshness_returns_skipped_indexing_during_active_indexing() {
    let repo = indexed();
    let codebase = open(&repo);
    let n_asked = Cell::new(0);
    let updater = |_: &Target, _: Duration| {
        n_asked.set(n_asked.get() + 1);
        true
    };
    let ensure = || freshness::ensure(&codebase, Duration::from_secs(1), &updater).unwrap();
    assert_eq!(ensure(), Freshness::Fresh);
    repo.write("src/new.rs", "pub fn brand_new() {}\n").commit("second");
    assert_eq!((ensure(), n_asked.get()), (Freshness::Synced, 1));
    {
        let _run = indexing(&codebase);
        assert_eq!(freshness::decide(&codebase).unwrap(), Freshness::SkippedIndexing);
        assert_eq!((ensure(), n_asked.get()), (Freshness::SkippedIndexing, 1), "nothing is asked to write");
        let head = Target::head(&codebase).unwrap();
        let sync = freshness::sync(&codebase, &head, Duration::from_secs(1), &updater).unwrap();
        assert_eq!((sync, n_asked.get()), (Freshness::SkippedIndexing, 1));
    }
    set_phase(&codebase, Phase::Indexed);
    let refuses = |_: &Target, _: Duration| false;
    assert_eq!(freshness::ensure(&codebase, Duration::ZERO, &refuses).unwrap(), Freshness::Stale);
}

#[test]
fn read_file_returns_structured_blocked_envelope_while_indexing() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let _run = indexing(&open(&repo));
    let absolute = repo.path("src/parse.rs");
    for arguments in [
        json!({ "file": "src/parse.rs" }),
        json!({ "file": "src/parse.rs", "start_line": 1, "end_line": 1 }),
        json!({ "file": "src/parse.rs", "rev": "HEAD" }),
        json!({ "file": absolute.to_str().unwrap() }),
        json!({ "file": "src/nothing.rs" }),
    ] {
        let blocked = envelope(&mut client, "read_file", arguments);
        assert_eq!((&blocked["status"], &blocked["reason"]), (&json!("not_ready"), &json!("indexing")));
        assert_hint(&blocked, "status", &repo);
    }
}

#[test]
fn call_graph_notes_cap_filter_behavior_with_deterministic_truncation_metadata() {
    // Every `x.go()` is ambiguous and gives a note. The files are written in another order than that of the
    // answer.
    let classes =
        "class A:\n    def go(self):\n        pass\n\n\nclass B:\n    def go(self):\n        pass\n";
    let callers = |from: usize| -> String {
        (from..from + 40).rev().map(|i| format!("def f{i}(x):\n    x.go()\n    x.go()\n\n\n")).collect()
    };
    let noise = "def noise(x):\n    x()\n";
    let files = [("z.py", callers(0)), ("classes.py", classes.to_owned()), ("a.py", callers(40))];
    let repo = TestRepo::init();
    for (path, text) in &files {
        repo.write(path, text);
    }
    repo.write("noise.py", noise).commit("first");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let mut client = McpClient::start(&repo);
    let mut ask = |more: Value| {
        let mut arguments = json!({ "symbol": "A.go", "token_limit": 200_000 });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.ask("call_graph", arguments)
    };
    let notes_of = |answer: &Value| answer["notes"].as_array().unwrap().clone();
    let is_cut_to = |answer: &Value, returned: usize, total: usize| {
        assert_eq!(
            (&answer["notesTruncated"], &answer["totalNoteCount"], &answer["returnedNoteCount"]),
            (&json!(returned < total), &json!(total), &json!(returned))
        );
        assert_eq!(notes_of(answer).len(), returned);
        let warned = answer["warnings"].as_array().unwrap().contains(&json!("CALL_GRAPH_NOTES_TRUNCATED"));
        assert_eq!(warned, returned < total, "{}", answer["warnings"]);
    };
    let whole = ask(json!({ "note_limit": 1000 }));
    let all = notes_of(&whole);
    is_cut_to(&whole, 160, 160);
    let key = |note: &Value| {
        let text = |name: &str| note[name].as_str().unwrap().to_owned();
        (text("file"), text("type"), text("symbolId"), note["startLine"].as_u64().unwrap())
    };
    assert!(all.windows(2).all(|pair| key(&pair[0]) <= key(&pair[1])), "{all:#?}");
    assert!(all.iter().all(|note| note["file"] != "noise.py"), "notes on what is returned only");
    // 50 unless the call says how many, under either spelling; the first ones in that order, the same every
    // time.
    for (more, n) in [(json!({}), 50), (json!({ "note_limit": 7 }), 7), (json!({ "noteLimit": 0 }), 0)] {
        let cut = ask(more.clone());
        is_cut_to(&cut, n, 160);
        assert_eq!(notes_of(&cut), all[..n]);
        assert_eq!(notes_of(&ask(more)), all[..n]);
    }
    // Notes on symbols whose edges are not returned are not returned either, and not counted.
    let few = ask(json!({ "limit": 3, "note_limit": 1000 }));
    is_cut_to(&few, 6, 6);
    let nodes: Vec<&Value> = few["nodes"].as_array().unwrap().iter().map(|node| &node["symbolId"]).collect();
    assert!(notes_of(&few).iter().all(|note| nodes.contains(&&note["symbolId"])), "{few:#}");
}

#[test]
fn only_the_codebase_being_indexed_is_blocked() {
    let (busy, idle) = (indexed(), indexed().env("CODEWEAVER_MCP_ALLOW", "/"));
    let mut client = McpClient::start(&idle);
    let _run = indexing(&open(&busy));
    let of = |repo: &TestRepo| json!({ "query": "header", "path": repo.root().to_str().unwrap() });
    assert_eq!(envelope(&mut client, "find_code", of(&busy))["reason"], "indexing");
    let answer = client.ask("find_code", of(&idle));
    assert_eq!(answer["status"], "ok");
    assert_eq!(answer["codebaseRoot"], idle.root().to_str().unwrap());
    // A worktree of the same repository does not wait for another either.
    busy.git(["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = busy.at("../linked");
    client.ask("manage_index", json!({ "action": "create", "path": linked.root().to_str().unwrap() }));
    let answer = client.ask("find_code", of(&linked));
    assert_eq!(
        (&answer["status"], &answer["codebaseRoot"]),
        (&json!("ok"), &json!(linked.root().to_str().unwrap()))
    );
    assert_eq!(envelope(&mut client, "find_code", of(&busy))["reason"], "indexing");
}

#[test]
fn gate_precedence_requires_reindex_wins_over_indexing_lock() {
    let repo = indexed().env("CODEWEAVER_MCP_ALLOW", "/");
    let codebase = open(&repo);
    made_with_another_model(&codebase);
    let mut client = McpClient::start(&repo);
    let _lease = updater::lease(&codebase).unwrap();
    for (tool, arguments) in queries() {
        let blocked = envelope(&mut client, tool, arguments);
        assert_eq!(blocked["reason"], "requires_reindex", "{tool}: a lock must not hide it");
    }
    // `indexing` takes precedence over `not_indexed`.
    let empty = TestRepo::with_files(FILES);
    empty.write("codeweaver.toml", "mcp.index_small = false\n");
    let of_empty = json!({ "query": "header", "path": empty.root().to_str().unwrap() });
    assert_eq!(envelope(&mut client, "find_code", of_empty.clone())["reason"], "not_indexed");
    let _other = updater::lease(&open(&empty)).unwrap();
    assert_eq!(envelope(&mut client, "find_code", of_empty)["reason"], "indexing");
}

#[test]
fn hints_for_a_subdirectory_name_the_root_of_the_repository() {
    let repo = TestRepo::with_files(FILES);
    let elsewhere =
        TestRepo::empty_dir().env("CODEWEAVER_MCP_ALLOW", "/").env("CODEWEAVER_MCP_INDEX_SMALL", "false");
    let mut client = McpClient::start(&elsewhere);
    let folder = repo.path("src");
    let folder = folder.to_str().unwrap();
    let blocked = envelope(&mut client, "find_code", json!({ "query": "header", "path": folder }));
    assert_eq!(blocked["path"], folder, "what was asked about");
    assert_eq!(blocked["codebaseRoot"], repo.root().to_str().unwrap());
    assert_hint(&blocked, "status", &repo);
    assert_hint(&blocked, "create", &repo);
    // The call in the hint, made literally, indexes the root.
    let hint = &blocked["hints"]["create"];
    let created = client.ask(hint["tool"].as_str().unwrap(), hint["args"].clone());
    assert_eq!(created["codebaseRoot"], repo.root().to_str().unwrap());
    let by_name = json!({ "query": "parse_header", "include_tests": true, "path": folder });
    let found = client.found(by_name);
    let outside = "tests/parse_test.rs".to_owned();
    assert!(found.contains(&outside), "the root answers, not the folder: {found:?}");
}

#[test]
fn an_interrupted_first_index_has_one_story() {
    let repo = indexed();
    let codebase = open(&repo);
    publish::change_state(&codebase, |state| {
        let head = state.heads.get_mut("main").unwrap();
        (head.phase, head.marker) = (Phase::Indexing, None);
        // What answers while it grows is not complete.
        state.snapshots.clear();
    })
    .unwrap();
    let (reason, fix) = ("indexing was interrupted", "git codeweaver index");
    let status = repo.status();
    assert_eq!((&status["state"], &status["fix"]), (&json!("not_indexed"), &json!(fix)), "{status:#}");
    assert!(status["reason"].as_str().unwrap().starts_with(reason), "{status:#}");
    repo.codeweaver(["status"])
        .success()
        .says(&["not indexed; continue with `git codeweaver index` (indexing was"]);
    for args in
        [&["search", "header"][..], &["outline", "src/parse.rs"], &["graph", "callers", "parse_header"]]
    {
        let run = repo.codeweaver(args);
        run.fails(2).is_an_error("this repository is not indexed", fix);
        run.says(&[reason]);
        assert!(!run.stderr().contains("codeweaver init"), "{}", run.explain());
    }
    let doctor = repo.codeweaver(["doctor", "--json"]).json();
    let check = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "index").unwrap();
    assert!(check["what"].as_str().unwrap().contains(reason) && check["fix"] == fix, "{check}");
    let mut client = McpClient::start(&repo);
    let blocked = envelope(&mut client, "find_code", json!({ "query": "header" }));
    assert!(blocked["message"].as_str().unwrap().contains(reason), "{blocked:#}");
    let told = client.ask("manage_index", json!({ "action": "status" }));
    assert!(told["message"].as_str().unwrap().contains("call create, which continues"), "{told:#}");
    assert!(told["message"].as_str().unwrap().contains(reason), "{told:#}");
    repo.codeweaver(["index", "--quiet"]).success();
    assert_eq!((&repo.status()["state"], &repo.status()["fix"]), (&json!("indexed"), &Value::Null));

    // Killed before anything was stored, after `init`: nothing is there to continue, and nothing to set up.
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks", "--no-index"]).success();
    repo.codeweaver(["status"]).says(&["not indexed; run `git codeweaver index`"]);
    repo.codeweaver(["search", "header"]).fails(2).is_an_error("not indexed", fix);
    repo.codeweaver(["doctor"]).says(&["fix: git codeweaver index"]);
}

#[test]
fn reasons_match_their_statuses() {
    let repo = indexed();
    let codebase = open(&repo);
    assert_eq!(gate::check(&codebase).unwrap(), None);
    let cases = [
        (Lifecycle::Indexing, "not_ready", "indexing"),
        (Lifecycle::RequiresReindex { reason: "why".into() }, "requires_reindex", "requires_reindex"),
        (Lifecycle::NotIndexed, "not_indexed", "not_indexed"),
        (Lifecycle::Interrupted { n_chunks: 3 }, "not_indexed", "not_indexed"),
        (Lifecycle::IndexFailed("no disk".into()), "not_indexed", "not_indexed"),
    ];
    for (lifecycle, status, reason) in cases {
        let gate = gate::Gate::new(&codebase, &lifecycle, None).unwrap();
        assert_eq!(gate.reason.status(), Envelope::new(gate.clone(), &codebase, repo.root(), false).status);
        let envelope = serde_json::to_value(Envelope::new(gate, &codebase, repo.root(), false)).unwrap();
        assert_eq!((&envelope["status"], &envelope["reason"]), (&json!(status), &json!(reason)));
        if let Lifecycle::IndexFailed(failure) = &lifecycle {
            assert!(envelope["message"].as_str().unwrap().contains(failure.as_str()));
        }
    }
    assert_eq!(serde_json::to_value(NonOkReason::Indexing).unwrap(), "indexing");
    // The command line says the same.
    let empty = TestRepo::with_files(FILES);
    let said = empty.codeweaver(["search", "-o", "json", "header"]).fails(2).json();
    assert_eq!((&said["status"], &said["reason"]), (&json!("not_indexed"), &json!("not_indexed")));
    assert_eq!(said["hints"]["create"]["args"]["path"], empty.root().to_str().unwrap());
}

#[test]
fn a_partial_gate_answers_from_what_there_is() {
    let repo = indexed();
    repo.write("codeweaver.toml", "[mcp]\ngate = \"partial\"\n");
    let codebase = open(&repo);
    let mut client = McpClient::start(&repo);
    // A first index in progress.
    publish::change_state(&codebase, |state| {
        let head = state.heads.get_mut("main").unwrap();
        (head.phase, head.marker, head.progress) = (Phase::Indexing, None, Some((3, 4)));
    })
    .unwrap();
    let _lease = updater::lease(&codebase).unwrap();
    let answer = client.ask("find_code", json!({ "query": "parse header" }));
    assert_eq!(
        (&answer["status"], &answer["index"]["freshness"]),
        (&json!("degraded"), &json!("skipped_indexing"))
    );
    assert_eq!(answer["index"]["coverage"], json!([3, 4]));
    assert_eq!(answer["matches"][0]["file"]["path"], "src/parse.rs");
    // A change of the setting takes effect.
    repo.write("codeweaver.toml", "[mcp]\ngate = \"strict\"\n# another length\n");
    assert_eq!(envelope(&mut client, "find_code", json!({ "query": "header" }))["reason"], "indexing");
    // So does one in a file that was not there.
    repo.remove("codeweaver.toml").write("codeweaver.yml", "mcp:\n  gate: partial\n");
    assert_eq!(client.ask("find_code", json!({ "query": "parse header" }))["status"], "degraded");
}
