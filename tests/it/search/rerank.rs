//! Reranking by a cross-encoder that counts the words which query and text have in common
//! (`tests/onnx/overlap.py`), so that its order is known in advance.

use serde_json::Value;

use codeweaver_testkit::{TestRepo, Tool};

/// What the first ranking prefers has the words of the query in its name, and the other has them often.
const FILES: &[(&str, &str)] = &[
    ("src/parse_header.rs", "/// Parses.\npub fn parse_header(line: &str) {}\n"),
    ("src/notes.rs", "// parse header, parse header, parse header: parse a header\npub fn other() {}\n"),
    ("src/misc.rs", "pub fn unrelated() { let parse = 1; }\n"),
];

fn repo() -> Option<TestRepo> {
    let (library, tokenizer) = (Tool::ONNX_RUNTIME.find()?, Tool::ONNX_MODEL.find()?);
    let repo = TestRepo::with_files(FILES).env("ORT_DYLIB_PATH", library.to_str().unwrap());
    let folder = repo.beside("home/.cache/codeweaver/models/overlap");
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["tokenizer.json", "config.json", "special_tokens_map.json", "tokenizer_config.json"] {
        std::fs::copy(tokenizer.join(name), folder.join(name)).unwrap();
    }
    std::fs::write(folder.join("model.onnx"), include_bytes!("../../onnx/overlap.onnx")).unwrap();
    repo.codeweaver(["init", "--no-hooks"]).success();
    Some(repo)
}

fn search(repo: &TestRepo, query: &str) -> Value {
    repo.codeweaver(["search", "-o", "json", query]).success().json()
}

fn first(answer: &Value) -> &str {
    answer["matches"][0]["file"]["path"].as_str().unwrap()
}

#[test]
fn a_cross_encoder_orders_the_best_matches() {
    let Some(repo) = repo() else { return };
    let plain = search(&repo, "parse_header");
    assert_eq!(first(&plain), "src/parse_header.rs", "{plain:#}");
    let reranking = repo.at(".").env("CODEWEAVER_SEARCH_RERANK", "overlap");
    let answer = search(&reranking, "parse_header");
    assert_eq!(first(&answer), "src/notes.rs", "{answer:#}");
    assert!(answer["search_strategy"].to_string().contains("rerank"), "{answer:#}");
    assert_eq!(answer["total_matches"], plain["total_matches"], "it orders, and leaves nothing out");
    // A mode that asks for a name is left alone.
    let by_name = reranking.codeweaver(["search", "--mode", "symbol", "-o", "json", "parse_header"]);
    assert!(!by_name.success().json()["search_strategy"].to_string().contains("rerank"));
}

#[test]
fn without_the_model_or_the_time_the_first_ranking_stands() {
    let Some(repo) = repo() else { return };
    for (name, value, said) in [
        (
            "CODEWEAVER_SEARCH_RERANK",
            "ms-marco-minilm-l6-v2",
            "git codeweaver model get ms-marco-minilm-l6-v2",
        ),
        ("CODEWEAVER_SEARCH_RERANK", "bge-reranker-bas", "did you mean `bge-reranker-base`?"),
        ("CODEWEAVER_SEARCH_RERANK", "..", "is not known"),
        ("CODEWEAVER_SEARCH_RERANK_MS", "1", "search.rerank_ms"),
    ] {
        let reranking = repo.at(".").env("CODEWEAVER_SEARCH_RERANK", "overlap").env(name, value);
        // On a busy machine the model may be done before the search looks at the clock again.
        let mut runs = (0..5).map(|_| reranking.codeweaver(["search", "parse_header"]));
        let run = runs.find(|run| run.stderr().contains("not reranked by")).expect("a run without the model");
        run.success().says(&["not reranked by", said]);
        assert!(
            run.stdout().starts_with("Found") && run.stdout().contains("1. src/parse_header.rs"),
            "{}",
            run.explain()
        );
    }
}

/// A repository cannot make every search of its users slow.
#[test]
fn a_repository_cannot_turn_reranking_on() {
    let repo = TestRepo::with_files(FILES);
    repo.write("codeweaver.toml", "[search]\nrerank = \"overlap\"\n").commit("setting");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let run = repo.codeweaver(["search", "parse header"]);
    run.success();
    assert!(run.stderr().contains("`search.rerank` is ignored"), "{}", run.explain());
}
