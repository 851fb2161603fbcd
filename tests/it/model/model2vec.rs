//! A static model in the format of model2vec, from a local folder to an answer.

use serde_json::{Value, json};

use codeweaver_testkit::{FILES, TestRepo};

/// Groups of words that share one direction; the vectors of all other tokens are zero.
const CONCEPTS: &[&[&str]] =
    &[&["fetch", "download", "retrieve"], &["purge", "evict", "forget"], &["invoice", "bill"]];
const DIM: usize = 32;

/// `model.safetensors`, `tokenizer.json` and `config.json`, as model2vec writes them.
pub fn files() -> [(&'static str, Vec<u8>); 3] {
    let words: Vec<&str> = CONCEPTS.iter().flat_map(|words| words.iter().copied()).collect();
    let tokens = std::iter::once("[UNK]").chain(words.iter().copied());
    let vocab: serde_json::Map<String, Value> =
        tokens.enumerate().map(|(id, token)| (token.to_owned(), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocab},
    });
    let mut rows = vec![0f32; (1 + words.len()) * DIM];
    for (row, word) in rows[DIM..].chunks_exact_mut(DIM).zip(&words) {
        row[CONCEPTS.iter().position(|words| words.contains(word)).unwrap()] = 1.0;
    }
    let header = json!({"embeddings": {
        "dtype": "F32", "shape": [rows.len() / DIM, DIM], "data_offsets": [0, rows.len() * 4],
    }});
    let header = header.to_string();
    let mut weights = (header.len() as u64).to_le_bytes().to_vec();
    weights.extend(header.as_bytes());
    weights.extend(rows.iter().flat_map(|number| number.to_le_bytes()));
    let config = "{\"model_type\": \"model2vec\", \"normalize\": true}";
    [
        ("model.safetensors", weights),
        ("tokenizer.json", tokenizer.to_string().into_bytes()),
        ("config.json", config.into()),
    ]
}

/// Writes [`files`] to a folder beside the repository.
fn write_model(repo: &TestRepo) -> String {
    let folder = repo.root().with_file_name("tiny-static");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in files() {
        std::fs::write(folder.join(name), content).unwrap();
    }
    folder.to_string_lossy().into_owned()
}

pub fn repositories() -> (TestRepo, TestRepo) {
    let plain = TestRepo::with_files(FILES);
    plain
        .write("net/get.py", "def get(url):\n    # download the page\n    return session.load(url)\n")
        .write("cache/old.py", "def trim(entries):\n    # evict the oldest\n    entries.pop(0)\n")
        .write("shop/sum.py", "def total(items):\n    # bill of a customer\n    return sum(items)\n")
        .commit("more");
    let model = write_model(&plain);
    let configured = plain.at(".").env("CODEWEAVER_MODEL_PATH", &model);
    (plain, configured)
}

#[test]
fn a_static_model_from_a_folder_indexes_and_searches() {
    let (plain, repo) = repositories();
    repo.codeweaver(["init", "--no-hooks"]).success();
    assert_eq!(repo.status()["model"]["name"], "tiny-static", "and not the built-in one");
    for (query, path) in [("retrieve", "net/get.py"), ("forget", "cache/old.py"), ("invoice", "shop/sum.py")]
    {
        let answer = repo.codeweaver(["search", "--mode", "semantic", "-o", "json", query]).success().json();
        assert_eq!(answer["matches"][0]["file"]["path"], path, "{answer:#}");
        assert_eq!(answer["search_strategy"], json!(["dense_exact"]), "{answer:#}");
    }
    // Not the built-in vector space; the message names the fix.
    plain.codeweaver(["search", "retrieve"]).fails(2).says(&["does not fit"]);

    repo.codeweaver(["verify", "--recompute", "100"]).success();
}

#[test]
fn a_damaged_static_model_is_one_clear_error() {
    let (_, repo) = repositories();
    let weights = repo.root().with_file_name("tiny-static").join("model.safetensors");
    let whole = std::fs::read(&weights).unwrap();
    std::fs::write(&weights, &whole[..whole.len() / 2]).unwrap();
    let failed = repo.codeweaver(["init", "--no-hooks"]);
    failed.fails(2).says(&["error:", "why:", "not a safetensors file", "fix:", "model.safetensors"]);
}
