//! Interchange: shards read by DuckDB and Polars, transformer models from a local folder.
//!
//! Both need packages that `.ci/run` installs from a registry.

use std::process::Command;

use codeweaver_testkit::{FILES, TestRepo, Tool};

/// Reads all shards under `argv[1]` in both libraries and prints a JSON object for each.
const READ_SHARDS: &str = r#"
import glob, json, sys
import duckdb, polars
files = sorted(glob.glob(sys.argv[1] + "/v1/*/shards/*.parquet"))
rows = duckdb.sql(f"SELECT language, count(*), min(start_line), max(octet_length(vector)) FROM read_parquet({files}) GROUP BY 1 ORDER BY 1").fetchall()
signatures = duckdb.sql(f"""SELECT s.name, replace(s.signature, chr(26), s.name) FROM
    (SELECT unnest(symbols) AS s FROM read_parquet({files}))""").fetchall()
frame = polars.concat([polars.read_parquet(f) for f in files])
print(json.dumps({"duckdb": rows, "signatures": dict(signatures), "polars_rows": frame.height,
                  "columns": frame.columns, "bytes": sum(len(v) for v in frame["vector"])}))
"#;

#[test]
fn duckdb_and_polars_read_the_shards() {
    let Some(python) = Tool::PYTHON_PARQUET.find() else { return };
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let output =
        Command::new(python).args(["-c", READ_SHARDS]).arg(repo.path(".codeweaver")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let chunks = repo.status()["chunks"].as_u64().unwrap();
    assert_eq!(read["polars_rows"], chunks, "{read}");
    assert_eq!(read["bytes"], chunks * 256, "{read}");
    let by_language: u64 =
        read["duckdb"].as_array().unwrap().iter().map(|row| row[1].as_u64().unwrap()).sum();
    assert_eq!(by_language, chunks, "{read}");
    let signature = read["signatures"]["parse_header"].as_str().unwrap();
    assert!(signature.contains("fn parse_header("), "{signature}");
    let columns: Vec<&str> =
        read["columns"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    let documented = include_str!("../../../docs/storage.md");
    for column in columns {
        assert!(documented.contains(&format!("`{column}`")), "column {column} is not in docs/storage.md");
    }
}

/// A repository with default settings, and the same with the settings for a transformer from a local folder.
fn with_transformer() -> Option<(TestRepo, TestRepo)> {
    let (ort, model) = (Tool::ONNX_RUNTIME.find()?, Tool::ONNX_MODEL.find()?);
    let plain = TestRepo::with_files(FILES);
    let configured = plain
        .at(".")
        .env("CODEWEAVER_MODEL_PATH", model.to_str().unwrap())
        .env("CODEWEAVER_MODEL_ORT_LIBRARY", ort.to_str().unwrap());
    Some((plain, configured))
}

#[test]
fn a_transformer_from_a_folder_indexes_and_searches() {
    let Some((_, repo)) = with_transformer() else { return };
    repo.codeweaver(["init", "--no-hooks"]).success();
    let answer = repo.codeweaver([
        "search",
        "--mode",
        "semantic",
        "-o",
        "json",
        "cut a header line into key and value",
    ]);
    let answer = answer.success().json();
    assert_eq!(answer["matches"][0]["file"]["path"], "src/parse.rs", "{answer}");
    assert_eq!(answer["search_strategy"], serde_json::json!(["dense_exact"]), "{answer}");

    // One new function is one new model input: all other vectors are reused by the hash of their input.
    repo.write("src/extra.py", "def unrelated_new_function():\n    return 'fresh'\n").commit("add");
    let done = repo.codeweaver(["index", "--json"]).success().json();
    assert_eq!(done["embedded_chunks"], 1, "{done}");
    repo.git(["mv", "src/extra.py", "src/other.py"]).commit("rename");
    let done = repo.codeweaver(["index", "--json"]).success().json();
    assert_eq!(done["embedded_chunks"], 0, "{done}");
}

#[test]
fn another_vector_space_asks_for_a_reindex() {
    let Some((builtin, repo)) = with_transformer() else { return };
    repo.codeweaver(["init", "--no-hooks"]).success();
    let refused = builtin.codeweaver(["search", "header"]);
    refused.fails(2).says(&["does not fit"]);
    builtin.codeweaver(["index"]).success();
    builtin.codeweaver(["search", "header"]).success();
    repo.codeweaver(["search", "header"]).success();
}

#[test]
fn a_missing_runtime_is_one_clear_error() {
    let repo = TestRepo::with_files(FILES)
        .env("CODEWEAVER_MODEL_NAME", "bge-small-en-v1.5")
        .env("CODEWEAVER_MODEL_ORT_LIBRARY", "/nonexistent/libonnxruntime.so");
    repo.codeweaver(["init", "--no-hooks"]).fails(2).says(&["error:", "why:", "fix:"]);
}
