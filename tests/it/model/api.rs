//! Embedding by an API: a local server speaks the protocol of OpenAI, counts what it is sent, and fails in
//! every way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_testkit::http::{Request, Response, Server};
use codeweaver_testkit::{FILES, TestRepo};

const DIM: usize = 64;
const WARNING: &str = "Dense embedding service unavailable, using sparse search only";

fn texts(request: &Request) -> Vec<String> {
    match &request.json()["input"] {
        Value::String(text) => vec![text.clone()],
        list => serde_json::from_value(list.clone()).unwrap_or_default(),
    }
}

/// A vector with a component for each word. Words of the same concept share one.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIM];
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = if word == "reconnect" { "retry" } else { word };
        let hash = word.bytes().fold(7usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        vector[hash % DIM] += 1.0;
    }
    vector
}

fn embeddings(request: &Request) -> Response {
    if request.path != "/v1/embeddings" {
        return Response::new(404, "");
    }
    // In any order, as the protocol allows.
    let mut data: Vec<Value> = texts(request)
        .iter()
        .enumerate()
        .map(|(index, text)| json!({ "object": "embedding", "index": index, "embedding": vector(text) }))
        .collect();
    data.reverse();
    Response::json(&json!({ "object": "list", "data": data, "model": "m", "usage": { "total_tokens": 1 } }))
}

/// A server of embeddings.
pub fn good() -> Server {
    Server::start(|_, request| embeddings(request))
}

fn with(repo: TestRepo, server: &Server) -> TestRepo {
    repo.env("CODEWEAVER_MODEL_API_BASE_URL", &format!("{}/v1", server.url))
        .env("CODEWEAVER_MODEL_NAME", "team-model")
        .env("CODEWEAVER_MODEL_DIMENSION", &DIM.to_string())
        .env("CODEWEAVER_EMBEDDING_KEY", "sk-very-secret")
}

/// A repository whose model is at `server`.
pub fn repo(server: &Server) -> TestRepo {
    with(TestRepo::with_files(FILES), server)
}

fn search(repo: &TestRepo, query: &str) -> Value {
    repo.codeweaver(["search", "-o", "json", query]).success().json()
}

/// By vectors alone.
fn similar_to(repo: &TestRepo, query: &str) -> Value {
    repo.codeweaver(["search", "--mode", "semantic", "-o", "json", query]).success().json()
}

/// All texts that were sent, in order.
fn sent(server: &Server) -> Vec<String> {
    server.requests().iter().flat_map(texts).collect()
}

fn many_files() -> TestRepo {
    let repo = TestRepo::init();
    for i in 0..200 {
        repo.write(
            &format!("src/part_{i}.py"),
            format!("def operation_{i}(value):\n    return value * {i}\n"),
        );
    }
    repo.commit("first");
    repo
}

#[test]
fn an_api_embeds_and_answers() {
    let server = good();
    let repo = repo(&server);
    let run = repo.codeweaver(["init", "--no-hooks"]);
    run.success();
    assert!(run.stderr().contains("to embed, about"), "{}", run.explain());
    let first = &server.requests()[0];
    assert_eq!(first.header("authorization"), Some("Bearer sk-very-secret"));
    assert_eq!(
        (&first.json()["model"], &first.json()["encoding_format"]),
        (&json!("team-model"), &json!("float"))
    );
    assert_eq!(repo.status()["model"]["name"], "team-model");
    let answer = similar_to(&repo, "reconnect");
    assert_eq!(answer["matches"][0]["file"]["path"], "src/retry.py", "{answer:#}");
    assert_eq!(answer["warnings"], json!([]), "{answer:#}");
    assert_eq!(sent(&server).last().map(String::as_str), Some("reconnect"));
    // What is stored is not sent again, also of a file that has moved.
    let n = sent(&server).len();
    repo.git(["mv", "src/retry.py", "src/again.py"]);
    repo.commit("move");
    repo.codeweaver(["index"]).success();
    assert_eq!(sent(&server).len(), n);
    for run in
        [repo.codeweaver(["config", "--show"]), repo.codeweaver(["doctor"]), repo.codeweaver(["status"])]
    {
        assert!(!(run.stdout() + &run.stderr()).contains("sk-very-secret"), "{}", run.explain());
    }
}

#[test]
fn requests_are_full_and_few_at_once() {
    let server = Server::start(|_, request| embeddings(request).after(Duration::from_millis(40)));
    let repo = with(many_files(), &server);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let sizes: Vec<usize> = server.requests().iter().map(|request| texts(request).len()).collect();
    assert!(sizes.iter().all(|size| *size <= 32) && sizes.len() < 30, "{sizes:?}");
    assert!((2..=10).contains(&server.most_at_once()), "{}", server.most_at_once());
    // A smaller limit of tokens makes smaller requests.
    let server = good();
    let repo = with(many_files(), &server).env("CODEWEAVER_MODEL_API_BATCH_TOKENS", "100");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let most = server.requests().iter().map(|request| texts(request).len()).max().unwrap();
    assert!((1..16).contains(&most), "{most}");
}

#[test]
fn passing_failures_are_retried() {
    let server = Server::start(|n, request| match n {
        0 => Response::new(429, "{\"error\":{\"message\":\"slow down\"}}").with("Retry-After", "0"),
        1 => Response::new(500, ""),
        2 => embeddings(request).cut(20),
        _ => embeddings(request),
    });
    let repo = repo(&server);
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert!(similar_to(&repo, "reconnect")["search_strategy"].to_string().contains("dense"));
}

#[test]
fn a_failed_run_is_continued_without_sending_anything_twice() {
    let is_failing = Arc::new(AtomicBool::new(true));
    let seen = is_failing.clone();
    let front = Server::start(move |n, request| match seen.load(Ordering::Relaxed) && n >= 4 {
        true => Response::new(402, "{\"error\":{\"message\":\"the budget is spent\"}}"),
        false => embeddings(request),
    });
    let repo = with(many_files(), &front);
    repo.codeweaver(["init", "--no-hooks"]).fails(2).says(&["the budget is spent"]);
    is_failing.store(false, Ordering::Relaxed);
    let before = front.requests();
    let paid: Vec<String> = before[..4].iter().flat_map(texts).collect();
    assert!(!paid.is_empty());
    repo.codeweaver(["index"]).success();
    let after: Vec<String> = front.requests()[before.len()..].iter().flat_map(texts).collect();
    let twice: Vec<&String> = after.iter().filter(|text| paid.contains(text)).collect();
    assert!(twice.is_empty(), "{} of {} were sent twice", twice.len(), after.len());
    assert_eq!(repo.status()["files"], 200);
    assert!(!repo.path(".codeweaver/cache/vectors-main").exists(), "a completed run needs no cache");
}

#[test]
fn a_search_does_not_wait_for_a_slow_or_failing_api() {
    let server = Server::start(|_, request| {
        let is_query = texts(request) == ["retry with backoff"];
        if is_query { embeddings(request).after(Duration::from_secs(20)) } else { embeddings(request) }
    });
    let repo = repo(&server);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = search(&repo, "retry with backoff");
    assert_eq!(answer["warnings"][0], WARNING, "{answer:#}");
    assert!(answer["warnings"].to_string().contains("did not respond within"), "{answer:#}");
    assert_eq!(answer["matches"][0]["file"]["path"], "src/retry.py", "{answer:#}");
    // Wrong answers of every kind are told, too.
    let base = format!("{}/v1", server.url);
    for (response, said) in [
        (Response::new(401, "{\"error\":{\"message\":\"bad key sk-very-secret\"}}"), "refuses the key"),
        (Response::new(200, "<html>"), "is not JSON"),
        (Response::json(&json!({ "data": [] })), "fewer vectors"),
        (Response::json(&json!({ "data": [{ "index": 0, "embedding": [1.0, 2.0] }] })), "2 components"),
        (Response::new(302, "").with("Location", &base), "status 302"),
        (Response::new(503, "").with("Retry-After", "30"), "status 503"),
    ] {
        let bad = Server::start(move |_, request| match texts(request).len() {
            1 if texts(request)[0] == "parse header" => response.clone(),
            _ => embeddings(request),
        });
        let repo = self::repo(&bad);
        repo.codeweaver(["init", "--no-hooks"]).success();
        let run = repo.codeweaver(["search", "parse header"]);
        run.success().says(&[WARNING, said]);
        assert!(!(run.stdout() + &run.stderr()).contains("sk-very-secret"), "{}", run.explain());
    }
}

#[test]
fn nothing_is_sent_without_consent() {
    let repo = TestRepo::with_files(FILES)
        .env("CODEWEAVER_MODEL_API_BASE_URL", "https://embedding.invalid/v1")
        .env("CODEWEAVER_EMBEDDING_KEY", "k");
    let run = repo.codeweaver(["init", "--no-hooks"]);
    run.fails(2).says(&["nothing is sent to https://embedding.invalid/v1", "model.api_consent"]);
    repo.codeweaver(["index", "--dry-run"]).success().says(&["to embed, about"]);
    // Consent is to one server, and the next problem is that this one does not exist.
    let agreed = repo.at(".").env("CODEWEAVER_MODEL_API_CONSENT", "https://embedding.invalid/v1");
    agreed.codeweaver(["index"]).fails(2).says(&["cannot be reached"]);
    let other = repo.at(".").env("CODEWEAVER_MODEL_API_CONSENT", "https://other.invalid/v1");
    other.codeweaver(["index"]).fails(2).says(&["model.api_consent"]);
}

#[test]
fn a_repository_cannot_turn_the_api_on() {
    let server = good();
    let setting = format!(
        "[model]\napi_base_url = \"{0}/v1\"\napi_consent = \"{0}/v1\"\napi_key_command = \"touch run\"\ndimension = 64\n",
        server.url
    );
    let repo = TestRepo::with_files(&[("a.py", "def a():\n    pass\n"), ("codeweaver.toml", &setting)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.codeweaver(["search", "a"]);
    assert!(server.requests().is_empty() && !repo.path("run").exists());
}

#[test]
fn secrets_and_uncommitted_files_are_not_sent() {
    let server = good();
    let settings = "[policy]\ninclude_secrets = [\".env\", \"deploy.py\"]\n";
    let repo = TestRepo::with_files(&[
        (".env", "TOKEN=very-private-value\n"),
        ("deploy.py", "KEY = '-----BEGIN RSA PRIVATE KEY-----'\nPART = 'private-part'\n"),
        ("codeweaver.toml", settings),
        ("src/work.py", "def work():\n    return 1\n"),
    ]);
    let repo = with(repo, &server);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("src/draft.py", "def unfinished_thought():\n    return 'not-yet-committed'\n");
    let answer = search(&repo, "unfinished thought");
    assert_eq!(answer["matches"][0]["file"]["path"], "src/draft.py", "{answer:#}");
    let all = sent(&server).join("\n");
    assert!(all.contains("def work"), "{all}");
    for private in ["very-private-value", "private-part", "not-yet-committed"] {
        assert!(!all.contains(private), "{private} was sent");
    }
    assert_eq!(repo.status()["skipped"]["secret"], 2);
}

#[test]
fn a_dry_run_counts_and_sends_nothing() {
    let server = good();
    let repo = with(many_files(), &server).env("CODEWEAVER_MODEL_API_PRICE", "20");
    let estimate = repo.codeweaver(["index", "--dry-run", "--json"]).success().json();
    assert_eq!(
        (&estimate["files"], &estimate["chunks"], &estimate["embedded"]),
        (&json!(200), &json!(200), &json!(200))
    );
    assert_eq!(estimate["vector_bytes"], json!(200 * DIM));
    repo.codeweaver(["index", "--dry-run"]).success().says(&["200 chunks to embed", "tokens, about $0."]);
    assert!(server.requests().is_empty() && !repo.path(".codeweaver").exists());
    repo.codeweaver(["init", "--no-hooks"]).success();
    let estimate = repo.codeweaver(["index", "--dry-run", "--json"]).success().json();
    assert_eq!(estimate["embedded"], json!(0), "{estimate:#}");
}

#[test]
fn settings_that_are_missing_are_named() {
    let server = good();
    let base =
        TestRepo::with_files(FILES).env("CODEWEAVER_MODEL_API_BASE_URL", &format!("{}/v1", server.url));
    let unknown = base.env("CODEWEAVER_MODEL_NAME", "team-model");
    unknown.codeweaver(["init", "--no-hooks"]).fails(2).says(&["model.dimension"]);
    let insecure = unknown.env("CODEWEAVER_MODEL_API_BASE_URL", "http://example.com/v1");
    insecure
        .env("CODEWEAVER_MODEL_DIMENSION", "8")
        .codeweaver(["init", "--no-hooks"])
        .fails(2)
        .says(&["must be https://"]);
}

#[test]
fn vectors_of_matryoshka_models_are_cut() {
    let server = good();
    let repo = repo(&server)
        .env("CODEWEAVER_MODEL_NAME", "text-embedding-3-small")
        .env("CODEWEAVER_MODEL_DIMENSION", "16");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let estimate = repo.codeweaver(["index", "--dry-run", "--reindex", "--json"]).success().json();
    assert_eq!(estimate["vector_bytes"].as_u64(), estimate["chunks"].as_u64().map(|n| n * 16));
    assert!(similar_to(&repo, "reconnect")["search_strategy"].to_string().contains("dense"));
}
