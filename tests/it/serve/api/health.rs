//! Health, metrics and logs of `serve`.

use super::*;

#[test]
fn health_tells_what_works() {
    let repo = TestRepo::with_files(FILES);
    let server = Server::start(&repo, &[]);
    server.process.wait_for("The index is complete");
    server.json("api/search?q=parse+header");
    // The status is read at most once a second.
    let health = wait_for("the server is healthy", || {
        let health = server.json("health/");
        let is_idle = health["status"] == "healthy" && health["indexing"]["state"] == "idle";
        if is_idle { Ok(health) } else { Err(health) }
    });
    let progress = health["indexing"]["progress"].as_object().unwrap();
    for name in [
        "files_discovered",
        "files_processed",
        "chunks_created",
        "errors",
        "current_file",
        "start_time",
        "estimated_completion",
        "estimated_time_remaining_seconds",
    ] {
        assert!(progress.contains_key(name), "{name}: {health:#}");
    }
    assert!(progress["files_processed"].as_u64() > Some(0), "{health:#}");
    for (service, keys) in [
        ("vector_store", &["status", "type", "latency_ms", "last_check"][..]),
        ("embedding_provider", &["status", "provider", "model", "last_check", "circuit_breaker_state"]),
        ("sparse_embedding", &["status", "provider", "model"]),
        ("reranker", &["status", "provider", "model"]),
    ] {
        for key in keys {
            assert!(!health["services"][service][key].is_null(), "{service}.{key}: {health:#}");
        }
        let expected = if service == "reranker" { "not_configured" } else { "up" };
        assert_eq!(health["services"][service]["status"], expected, "{service}");
    }
    // Nothing is reported that was not measured.
    assert!(health["services"]["embedding_provider"]["latency_ms"].is_null(), "{health:#}");
    assert!(health["services"]["reranker"].get("latency_ms").is_none(), "{health:#}");
    let statistics = &health["statistics"];
    assert_eq!(statistics["queries_processed"], 1, "{health:#}");
    assert!(
        statistics["total_chunks_indexed"].as_u64() > Some(0)
            && statistics["index_size_mb"].as_f64() > Some(0.0)
    );
    assert!(statistics["languages_indexed"].as_array().unwrap().contains(&json!("rust")), "{health:#}");
    assert_eq!(health["metrics"]["search_queries_total"], 1, "{health:#}");
    let latency = |name: &str| health["metrics"][name]["p50"].as_f64();
    let (found, answered) =
        (latency("vector_store_operation_latency_ms"), latency("search_query_latency_ms"));
    assert!(
        found > Some(0.0) && found <= answered.map(|ms| ms + 1.0),
        "the search is a part of the answer: {health:#}"
    );
    assert_eq!(health["metrics"]["circuit_breaker_state"], "closed");
    assert!(health["indexing"]["last_indexed"].as_str().unwrap().ends_with('Z'));
}

/// While a run is in progress, a file that is being read is named.
#[test]
fn health_names_the_current_file_of_a_run() {
    let repo = indexed();
    let codebase = crate::support::sandbox::open(repo.root());
    let meter = Meter::default();
    assert_eq!(meter.file(), None);
    let options = UpdateOptions { reindex: true, ..UpdateOptions::default() };
    updater::run(&codebase, &Target::head(&codebase).unwrap(), options, &meter).unwrap();
    let file = meter.file().unwrap();
    assert!(repo.path(&file).is_file(), "{file}");

    // The record of such a run, which its process writes every second.
    let server = Server::start(&repo, &[]);
    let _run = updater::lease(&codebase).unwrap();
    let record = json!({
        "session_id": format!("{}-1", std::process::id()), "project_path": repo.root(), "start_time": 1,
        "last_checkpoint": 2, "files_processed": 1, "files_total": 4, "chunks_created": 1, "errors": 0,
        "current_file": file, "settings_hash": codebase.settings_fingerprint,
    });
    std::fs::write(codebase.store().checkpoint("main"), record.to_string()).unwrap();
    let health = wait_for("the run is reported", || {
        let health = server.json("health/");
        if health["indexing"]["state"] == "indexing" { Ok(health) } else { Err(health) }
    });
    assert_eq!(health["indexing"]["progress"]["current_file"], file.as_str(), "{health:#}");
}

/// A search is logged with the hash of its query, its intent and its counts, for the codebase of the request;
/// with its text only at the level `debug`. An update of the index is logged as well.
#[test]
fn searches_are_logged_without_their_text() {
    let repo = TestRepo::with_files(FILES);
    let records = |level: &str, args: &[&str]| -> Vec<Value> {
        let logged = repo.at(".").env("CODEWEAVER_LOG", level).env("CODEWEAVER_LOG_FORMAT", "json");
        let run = logged.codeweaver(args);
        let stderr = run.success().stderr();
        stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let of = |records: &[Value], component: &str| -> Value {
        records
            .iter()
            .find(|it| it["component"] == component)
            .cloned()
            .unwrap_or_else(|| panic!("{records:#?}"))
    };

    let indexer = of(&records("info", &["init", "--no-hooks"]), "indexer");
    assert_eq!(indexer["operation"], "update");
    assert!(indexer["context"]["files"].as_u64() > Some(0) && indexer["duration_ms"].is_u64(), "{indexer:#}");

    let searcher = of(&records("info", &["search", "-i", "understand", "parse header"]), "searcher");
    assert_eq!((&searcher["level"], &searcher["operation"]), (&json!("INFO"), &json!("search")));
    assert_eq!(searcher["codebase_root"], repo.root().to_str().unwrap());
    assert!(searcher["duration_ms"].is_u64() && searcher["request_id"].is_string(), "{searcher:#}");
    let timestamp = searcher["timestamp"].as_str().unwrap();
    assert!(timestamp.len() == 24 && timestamp.ends_with('Z'), "{timestamp}");
    let context = &searcher["context"];
    assert_eq!((&context["intent"], context.get("query")), (&json!("understand"), None), "{searcher:#}");
    assert_eq!(context["query_hash"].as_str().map(str::len), Some(16));
    assert!(context["candidates"].as_u64() >= context["results"].as_u64(), "{searcher:#}");
    assert!(context["results"].as_u64() > Some(0), "{searcher:#}");

    let shown = of(&records("debug", &["search", "parse header"]), "searcher");
    assert_eq!(shown["context"]["query"], "parse header");

    // Searches for lines and questions have such a record as well, one each.
    for (args, operation, mode) in [
        (&["search", "--mode", "exact", "parse"][..], "search", json!("exact")),
        (&["search", "--mode", "regex", "pars[e]"], "search", json!("regex")),
        (&["ask", "how are headers parsed"], "ask", Value::Null),
    ] {
        let records = records("info", args);
        let of_searcher: Vec<&Value> = records.iter().filter(|it| it["component"] == "searcher").collect();
        let [record] = of_searcher[..] else { panic!("{args:?}: {records:#?}") };
        assert_eq!(
            (&record["operation"], &record["context"]["mode"]),
            (&json!(operation), &mode),
            "{record:#}"
        );
        assert!(
            record["context"]["query_hash"].is_string() && record["context"]["results"].is_u64(),
            "{record:#}"
        );
    }
}

#[test]
fn health_is_bad_while_the_repository_is_gone() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    assert_eq!(server.get("health/").status, 200);
    let moved = repo.beside("moved");
    std::fs::rename(repo.root(), &moved).unwrap();
    server.process.wait_for("the repository cannot be opened");
    let health = server.get("health/");
    assert_eq!((health.status, &health.json()["status"]), (503, &json!("unhealthy")), "{health:#?}");
    assert_eq!(health.json()["services"]["vector_store"]["status"], "down");
    assert_eq!(server.get("api/search?q=retry").status, 404);
    assert_eq!(server.get("metrics").status, 200);
    std::fs::rename(&moved, repo.root()).unwrap();
    server.process.wait_for("can be opened again");
    assert_eq!(server.json("health/")["status"], "healthy");
    assert_eq!(server.get("api/search?q=retry").status, 200);
}

#[test]
fn logs_have_the_id_of_the_request() {
    let repo = indexed();
    let mut command = repo.command(program());
    command
        .args(["serve", "--port", "0"])
        .env("CODEWEAVER_LOG", "codeweaver=info")
        .env("CODEWEAVER_LOG_FORMAT", "json");
    let server = Server::new(command);
    let answer = server.get("api/search?q=retry");
    let id = answer.header("x-request-id").unwrap();
    let searched: Value = serde_json::from_str(&server.process.wait_for(id)).unwrap();
    assert_eq!(
        (&searched["component"], &searched["request_id"]),
        (&json!("searcher"), &json!(id)),
        "{searched:#}"
    );
    let line: Value = serde_json::from_str(&server.process.wait_for("\"operation\":\"request\"")).unwrap();
    assert_eq!((&line["component"], &line["request_id"]), (&json!("server"), &json!(id)), "{line:#}");
    assert_eq!((&line["component"], &line["operation"]), (&json!("server"), &json!("request")), "{line:#}");
    assert_eq!((&line["context"]["path"], &line["context"]["status"]), (&json!("/api/search"), &json!(200)));
    assert!(line["duration_ms"].is_number() && line["timestamp"].is_string(), "{line:#}");
}

#[test]
fn prometheus_accepts_the_metrics() {
    let Some(promtool) = Tool::PROMTOOL.find() else { return };
    let repo = indexed();
    let server = Server::start(&repo, &[]);
    server.json("api/search?q=where+are+headers+parsed");
    let metrics = server.get("metrics");
    assert!(metrics.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"), "{metrics:#?}");
    assert!(metrics.body.contains("\nsearch_queries_total 1\n"), "{}", metrics.body);
    assert!(
        metrics.body.contains("search_intent_distribution_total{intent=\"understand\"} 1"),
        "{}",
        metrics.body
    );

    // A run while the server works is counted, in whatever process. Runs are told apart by their second.
    std::thread::sleep(Duration::from_millis(1_100));
    repo.write(
        "src/added.rs",
        "/// Adds two numbers.\npub fn added(a: u32, b: u32) -> u32 {\n    a + b\n}\n",
    );
    repo.commit("add");
    repo.codeweaver(["index"]).success();
    let counted = || server.get("metrics").body.contains("chunk_count_total{chunker=\"semantic\"} 1\n");
    wait_until("the run is counted", counted);
    let metrics = server.get("metrics");
    assert!(metrics.body.contains("chunk_size_tokens_count 1\n"), "{}", metrics.body);
    assert!(metrics.body.contains("chunking_seconds_total{chunker=\"semantic\"} 0."), "{}", metrics.body);

    let status = repo.codeweaver(["status", "--json"]).success().json();
    let chunking = &status["last_run"]["chunking"];
    assert_eq!(chunking["steps"]["semantic"]["chunks"], 1, "{status:#}");
    assert_eq!(chunking["sizes"][0]["chunks"], 1, "{status:#}");

    let mut command = repo.command(promtool);
    command.args(["check", "metrics"]);
    codeweaver_testkit::Run::with_input(&mut command, metrics.body.as_bytes()).success();
}

/// The process that indexes dies once, as if killed; the server says so, and tries again soon.
#[test]
fn a_run_that_dies_has_a_reason_and_is_tried_again_soon() {
    let repo = TestRepo::with_files(FILES);
    repo.write("src/poison.rs", "fn poison_that_kills() {}\n").commit("poison");
    let mut command = repo.command(program());
    command.args(["serve", "--port", "0"]).env("CODEWEAVER_FAULT", "parse:poison_that_kills");
    let server = Server::new(command);
    server.process.wait_for("indexing has failed: the process was ended by signal 6");
    let failed = Instant::now();

    // No search is answered, and health says the same.
    let health = server.get("health/");
    let search = server.get("api/search?q=parse+header");
    assert_eq!((health.status, search.status), (503, 503), "{health:#?} {search:#?}");
    let health = health.json();
    assert_eq!(health["status"], "unhealthy", "{health:#}");
    assert_eq!(health["indexing"]["state"], "error", "{health:#}");
    let error = health["indexing"]["error"].as_str().unwrap();
    assert!(error.contains("signal 6"), "{health:#}");

    // The next run leaves the file out that the first one died of.
    server.process.wait_for("The index is complete");
    assert!(failed.elapsed() < Duration::from_secs(40), "it waits for two seconds, and the run");
    assert_eq!(server.get("api/search?q=parse+header").status, 200);
    wait_for("the server is healthy", || {
        let health = server.get("health/").json();
        let is_healthy = health["status"] == "healthy" && health["indexing"]["error"].is_null();
        if is_healthy { Ok(()) } else { Err(health) }
    });
}

#[test]
fn health_is_bad_until_a_search_is_answered() {
    let repo = TestRepo::with_files(FILES);
    // Another process indexes, so the server waits.
    let codebase = codeweaver_index::Codebase::open(repo.root(), &[]).unwrap();
    let lease = codeweaver_index::updater::lease(&codebase).unwrap();
    let server = Server::start(&repo, &[]);
    let both = || (server.get("health/").status, server.get("api/search?q=parse+header").status);
    assert_eq!(both(), (503, 503));

    // No file is read yet, and nothing has been measured.
    let health = server.get("health/").json();
    let Value::Object(indexing) = &health["indexing"] else { panic!("{health:#}") };
    assert_eq!(
        (&indexing["state"], &indexing["progress"]["current_file"]),
        (&json!("starting"), &Value::Null)
    );
    assert!(health["services"]["vector_store"]["latency_ms"].is_null(), "{health:#}");
    assert!(health["statistics"]["avg_query_latency_ms"].is_null(), "{health:#}");
    for name in ["search_query_latency_ms", "embedding_api_latency_ms", "vector_store_operation_latency_ms"] {
        assert!(health["metrics"][name].is_null(), "{name}: {health:#}");
    }

    drop(lease);
    server.process.wait_for("The index is complete");
    assert_eq!(both(), (200, 200));
}
