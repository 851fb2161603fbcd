//! Documents outside of repositories: `ask --dir`, `docs add|update|list|remove`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_store::lock::Lock;
use codeweaver_testkit::TestRepo;

/// A directory that is no repository, with documents in two directories.
fn place() -> TestRepo {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day of a month.\n");
    place.write("notes/deep/garden.md", "# Garden\n\nTomatoes are watered in the evening.\n");
    place.write("notes/code.rs", "/// The rent.\nfn rent() {}\n");
    place.write(
        "wiki/deploy.md",
        "# Deployment\n\n## Rollback\n\nTo roll a deployment back, run:\n\n```sh\nfleet rollback\n```\n",
    );
    place
}

fn docs(place: &TestRepo, args: &[&str]) -> Value {
    place.codeweaver([&["docs"], args, &["--json"]].concat()).success().json()
}

fn ask(place: &TestRepo, args: &[&str]) -> Value {
    let run = place.codeweaver([&["ask", "--json"], args].concat());
    assert!([0, 1].contains(&run.code()), "{}", run.explain());
    run.json()
}

fn counts(report: &Value) -> [u64; 4] {
    ["files", "added", "modified", "deleted"].map(|name| report[name].as_u64().unwrap())
}

fn manifest(place: &TestRepo, name: &str) -> PathBuf {
    place.beside("home/.cache/codeweaver/collections").join(name).join("manifest.json")
}

#[test]
fn scenario_load_markdown_files_from_directory() {
    let place = place();
    let answer = ask(&place, &["--dir", "notes", "when is the rent due?"]);
    let source = place.path("notes/house.md").display().to_string();
    assert_eq!(
        (&answer["status"], &answer["sources"][0]["path"]),
        (&json!("answered"), &json!(source)),
        "{answer:#}"
    );
    assert_eq!(answer["answer"][0]["text"], "The rent is due on the third working day of a month.");
    let deep = ask(&place, &["--dir", "notes", "when are tomatoes watered?"]);
    assert_eq!(
        deep["sources"][0]["path"],
        place.path("notes/deep/garden.md").display().to_string(),
        "{deep:#}"
    );
    place
        .codeweaver(["ask", "--dir", "notes", "when is the rent due?"])
        .success()
        .says(&["notes/house.md:3", "House"]);
    // Nothing is written where the documents are.
    assert!(!place.path("notes/.codeweaver").exists() && !place.path(".git").exists());
}

#[test]
fn scenario_handle_missing_or_empty_directories() {
    let place = place();
    let run = place.codeweaver([
        "ask",
        "--dir",
        "notes",
        "--dir",
        "missing",
        "--dir",
        "notes/code.rs",
        "when is the rent due?",
    ]);
    run.success().says(&[
        "missing does not exist; it is left out",
        "notes/code.rs is not a directory",
        "third working day",
    ]);
    std::fs::create_dir(place.path("empty")).unwrap();
    for directory in ["missing", "empty"] {
        let run = place.codeweaver(["ask", "--dir", directory, "when is the rent due?"]);
        run.fails(1).says(&["no indexed content", "No relevant information found"]);
    }
}

#[test]
fn scenario_multiple_directories_in_one_index() {
    let place = place();
    let report = docs(&place, &["add", "all", "notes", "wiki"]);
    assert_eq!(counts(&report), [3, 3, 0, 0], "{report:#}");
    for (question, path) in
        [("when is the rent due?", "notes/house.md"), ("how do I roll a deployment back", "wiki/deploy.md")]
    {
        let answer = ask(&place, &["--index", "all", question]);
        assert_eq!(answer["sources"][0]["path"], place.path(path).display().to_string(), "{answer:#}");
    }
    let listed = docs(&place, &["list"]);
    assert_eq!((&listed["name"], &listed["files"]), (&json!("all"), &json!(3)), "{listed:#}");
    place.codeweaver(["docs", "list"]).success().says(&["all", "3 documents", "notes", "wiki"]);
}

#[test]
fn scenario_index_persistence() {
    let place = place();
    docs(&place, &["add", "notes", "notes"]);
    assert!(manifest(&place, "notes").is_file());
    let report = docs(&place, &["update", "notes"]);
    assert_eq!(
        (counts(&report), &report["embedded_chunks"], &report["rebuilt"]),
        ([2, 0, 0, 0], &json!(0), &json!(false))
    );
    place.codeweaver(["docs", "remove", "notes"]).success();
    assert!(!manifest(&place, "notes").exists() && place.path("notes/house.md").is_file());
    place
        .codeweaver(["ask", "--index", "notes", "rent"])
        .fails(2)
        .is_an_error("no collection 'notes'", "docs add notes");
    place.codeweaver(["docs", "remove", "notes"]).fails(2).is_an_error("no collection 'notes'", "docs add");
    place
        .codeweaver(["docs", "add", "../x", "notes"])
        .fails(2)
        .is_an_error("'../x' cannot be the name", "another name");
}

#[test]
fn scenario_track_per_file_metadata_in_manifest() {
    let place = place();
    docs(&place, &["add", "notes", "notes"]);
    let text = std::fs::read_to_string(manifest(&place, "notes")).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let files = manifest["files"].as_object().unwrap();
    assert_eq!(files.len(), 2, "{manifest:#}");
    for (path, record) in files {
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(record["size_bytes"], bytes.len(), "{path}");
        assert_eq!(record["blake3"], blake3::hash(&bytes).to_hex().to_string(), "{path}");
        assert!(record["mtime_ns"].as_i64().unwrap() > 0);
        assert_eq!(record["chunks"].as_array().map(Vec::len), Some(1), "{record:#}");
    }
}

#[test]
fn scenario_incremental_update_process() {
    let place = place();
    docs(&place, &["add", "notes", "notes"]);
    place.write("notes/house.md", "# House\n\nThe rent is due on the first Friday, and paid in advance.\n");
    place.write("notes/car.md", "# Car\n\nThe car is parked behind the library.\n");
    place.remove("notes/deep/garden.md");
    let report = docs(&place, &["update", "notes"]);
    assert_eq!((counts(&report), &report["embedded_chunks"]), ([2, 1, 1, 1], &json!(2)), "{report:#}");
    // A question brings the collection up to date itself.
    place.write("notes/car.md", "# Car\n\nThe car is parked in front of the station today.\n");
    let answer = ask(&place, &["--index", "notes", "where is the car parked"]);
    assert!(answer["answer"][0]["text"].as_str().unwrap().contains("station"), "{answer:#}");
    let answer = ask(&place, &["--index", "notes", "when are tomatoes watered?"]);
    assert_eq!(answer["status"], "nothing_found", "{answer:#}");
}

#[test]
fn scenario_detect_file_changes() {
    let place = place();
    docs(&place, &["add", "notes", "notes"]);
    // Another time alone reads the file again, and finds it unchanged.
    place.set_mtime("notes/house.md", 1_000_000_000);
    assert_eq!(counts(&docs(&place, &["update", "notes"])), [2, 0, 0, 0]);
    place.write("notes/house.md", "# House\n\nThe rent is due on the fourth working day of the month.\n");
    place.set_mtime("notes/house.md", 1_000_000_001);
    assert_eq!(counts(&docs(&place, &["update", "notes"])), [2, 0, 1, 0]);
}

#[test]
fn scenario_fallback_to_full_rebuild() {
    let place = place();
    docs(&place, &["add", "notes", "notes"]);
    for damage in ["", "{\"version\":1}", "{\"version\":99,\"directories\":[],\"files\":{}}"] {
        std::fs::write(manifest(&place, "notes"), damage).unwrap();
        place.remove("notes/old.md");
        let report = docs(&place, &["add", "notes", "notes"]);
        assert_eq!((counts(&report), &report["rebuilt"]), ([2, 2, 0, 0], &json!(true)), "{report:#}");
        // The contents are known by their hash.
        assert_eq!(report["embedded_chunks"], 0, "{report:#}");
        let answer = ask(&place, &["--index", "notes", "when is the rent due?"]);
        assert_eq!(answer["status"], "answered", "{answer:#}");
    }
}

#[test]
fn scenario_assign_stable_chunk_identifiers() {
    let place = place();
    let first = ask(&place, &["--dir", "notes", "when is the rent due?"]);
    place.codeweaver(["docs", "list"]).success();
    std::fs::remove_dir_all(place.beside("home/.cache/codeweaver/collections")).unwrap();
    let second = ask(&place, &["--dir", "notes", "when is the rent due?"]);
    for part in ["answer", "passages", "sources"] {
        assert_eq!(first[part], second[part]);
    }
}

/// A file that has not changed keeps the identifiers of its chunks: in an update, after a new time alone, and
/// in an index that is built from nothing. Those of a file that has changed are others.
#[test]
fn chunk_identifiers_are_stable_over_rebuilds() {
    let place = place();
    let sections: String =
        (0..9).map(|n| format!("## Part {n}\n\n{}\n\n", "Some words. ".repeat(70))).collect();
    place.write("notes/long.md", format!("# Long\n\n{sections}"));
    let chunks = |name: &str| -> Vec<(String, Vec<String>)> {
        let text = std::fs::read_to_string(manifest(&place, name)).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let files = manifest["files"].as_object().unwrap();
        let ids = |record: &Value| serde_json::from_value(record["chunks"].clone()).unwrap();
        files.iter().map(|(path, record)| (path.clone(), ids(record))).collect()
    };

    docs(&place, &["add", "notes", "notes"]);
    let first = chunks("notes");
    let long = &first.iter().find(|(path, _)| path.ends_with("long.md")).unwrap().1;
    let distinct: std::collections::BTreeSet<&String> = long.iter().collect();
    assert!(long.len() >= 9 && distinct.len() == long.len(), "{long:?}");
    assert!(long.iter().all(|id| id.len() == 32), "{long:?}");

    place.set_mtime("notes/long.md", 1_000_000_000);
    docs(&place, &["update", "notes"]);
    assert_eq!(chunks("notes"), first);

    place.write("notes/house.md", "# House\n\nThe rent is due on the first Friday of the month.\n");
    docs(&place, &["update", "notes"]);
    let changed: Vec<_> = first.iter().zip(chunks("notes")).filter(|(a, b)| **a != *b).collect();
    assert!(matches!(&changed[..], [((path, _), _)] if path.ends_with("house.md")), "{changed:#?}");

    let before = chunks("notes");
    place.codeweaver(["docs", "remove", "notes"]).success();
    docs(&place, &["add", "notes", "notes"]);
    assert_eq!(chunks("notes"), before);
}

/// Processes that ask at the same time wait for each other's look at the files.
#[test]
fn questions_at_the_same_time_are_all_answered() {
    let place = place();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                place.codeweaver(["ask", "--dir", "notes", "when is the rent due"]).success();
            });
        }
    });
}

/// An update that has waited for the lock goes on from what the other one has written.
#[test]
fn an_update_starts_from_the_one_before_it() {
    let place = place();
    docs(&place, &["add", "all", "notes"]);
    let path = manifest(&place, "all");
    let mut written: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();

    let lock = Lock::try_acquire(&path.with_file_name("lock")).unwrap();
    let report = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| docs(&place, &["update", "all"]));
        // It comes to the lock meanwhile. If it came later, the test would pass as well.
        std::thread::sleep(Duration::from_millis(500));

        written["directories"] = json!([place.path("wiki")]);
        std::fs::write(&path, written.to_string()).unwrap();
        drop(lock);
        waiting.join().unwrap()
    });

    assert_eq!(counts(&report), [1, 1, 0, 2], "{report:#}");
}

/// Names with quotes, blanks and line breaks are documents as well.
#[test]
fn any_file_name_is_indexed() {
    let place = TestRepo::empty_dir();
    for (i, name) in
        ["with blank.md", "quo\"te.md", "back\\slash.md", "new\nline.md", "ünï.md"].iter().enumerate()
    {
        place.write(
            &format!("d/{name}"),
            format!("# T{i}\n\nThe secret colour number {i} is turquoise{i}.\n"),
        );
    }
    let report = docs(&place, &["add", "odd", "d"]);
    assert_eq!(counts(&report)[0], 5, "{report:#}");
    let answer = ask(&place, &["--index", "odd", "turquoise1"]);
    assert_eq!(
        answer["sources"][0]["path"].as_str().map(|path| path.contains("quo")),
        Some(true),
        "{answer:#}"
    );
}

/// The environment of a hook does not lead to another repository.
#[test]
fn variables_of_git_have_no_influence() {
    let repo = TestRepo::with_files(&[("a.txt", "x\n")]);
    repo.write("notes/house.md", "# House\n\nThe rent is due on the third working day of a month.\n");
    let head = repo.git_text(["rev-parse", "HEAD"]);
    let git_dir = repo.path(".git").display().to_string();
    let repo = repo.env("GIT_DIR", &git_dir).env("GIT_OBJECT_DIRECTORY", &format!("{git_dir}/objects"));
    let answer = ask(&repo, &["--dir", "notes", "when is the rent due?"]);
    assert_eq!(answer["status"], "answered", "{answer:#}");
    assert_eq!(repo.git_text(["rev-parse", "HEAD"]), head);
}

/// Neighbouring chunks of a long section overlap by the setting, 200 characters by default.
#[test]
fn scenario_handle_chunk_overlap() {
    let repo = TestRepo::init();
    let sentences: String = (0..200).map(|i| format!("Sentence number {i} is about topic {i}. ")).collect();
    repo.write("long.md", format!("# Long\n\n{sentences}\n")).commit("first");
    let overlaps = |repo: &TestRepo| {
        let chunks = repo.codeweaver(["chunks", "--json", "long.md"]).success().json();
        let chunks = chunks["chunked"]["chunks"].as_array().unwrap().clone();
        let at = |chunk: &Value, end: &str| chunk["byte_range"][end].as_i64().unwrap();
        let pairs = chunks.windows(2);
        pairs.map(|pair| at(&pair[0], "end") - at(&pair[1], "start")).collect::<Vec<_>>()
    };
    let by_default = overlaps(&repo);
    assert!(by_default.len() > 4 && by_default.iter().all(|n| (100..=200).contains(n)), "{by_default:?}");
    repo.write("codeweaver.toml", "[chunker.markdown]\noverlap = 0\n");
    assert!(overlaps(&repo).iter().all(|&n| n <= 0));
}

/// A chunk is embedded once for each content: a copy costs nothing.
#[test]
fn scenario_generate_embeddings_for_chunks() {
    let place = place();
    let first = docs(&place, &["add", "notes", "notes"]);
    assert!(first["embedded_chunks"].as_u64().unwrap() >= 2, "{first:#}");
    place.write("notes/copy.md", place.read("notes/house.md"));
    let copied = docs(&place, &["update", "notes"]);
    assert_eq!((&copied["added"], &copied["embedded_chunks"]), (&json!(1), &json!(0)), "{copied:#}");
}

#[test]
fn scenario_handle_large_indexes_efficiently() {
    let place = TestRepo::empty_dir_in_memory();
    let filler = "This paragraph describes the part in enough words to be a chunk of its own. ".repeat(12);
    for file in 0..500 {
        let sections = (0..21).map(|part| format!("## Part {part} of {file}\n\n{filler}\n\n"));
        place.write(&format!("many/{file}.md"), format!("# File {file}\n\n{}", sections.collect::<String>()));
    }
    place.write("many/needle.md", "# Needle\n\nThe lighthouse is repainted every seventh summer.\n");
    let answer = ask(&place, &["--dir", "many", "how often is the lighthouse repainted"]);
    assert!(answer["index"]["chunks"].as_u64().unwrap() >= 10_000, "{answer:#}");
    assert_eq!(answer["answer"][0]["text"], "The lighthouse is repainted every seventh summer.");
}

/// Command line over file over environment; in YAML and TOML; errors name the line.
#[test]
fn scenario_load_server_configuration() {
    let place = place().env("CODEWEAVER_ASK_PORT", "1111");
    let get = |key: &str| place.codeweaver(["config", "get", key]).success().stdout().trim().to_owned();
    let repo = place.git(["init", "-q"]);
    assert_eq!(get("ask.port"), "1111");
    let config = repo.beside("home/.config/codeweaver");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("config.yaml"), "ask:\n  port: 2222\n").unwrap();
    assert_eq!(get("ask.port"), "2222");
    std::fs::remove_file(config.join("config.yaml")).unwrap();
    std::fs::write(config.join("config.toml"), "[ask]\nport = 3333\n").unwrap();
    assert_eq!(get("ask.port"), "3333");
}

#[test]
fn scenario_server_configuration_settings() {
    let repo = TestRepo::init();
    let get = |key: &str| repo.codeweaver(["config", "get", key]).success().stdout().trim().to_owned();
    for (key, default) in [
        ("ask.port", "8765"),
        ("ask.directories", "[]"),
        ("ask.reload_interval", "300"),
        ("ask.index_name", "default"),
        ("ask.llm_model", "qwen-flash"),
        ("ask.api_base_url", ""),
    ] {
        assert_eq!(get(key), default, "{key}");
    }
}

#[test]
fn scenario_configuration_file_format() {
    let place = place();
    let config = place.beside("home/.config/codeweaver");
    std::fs::create_dir_all(&config).unwrap();
    for (name, text, line) in [
        ("config.yaml", "ask:\n  port: often\n", "config.yaml:2"),
        ("config.toml", "[ask]\n\nprt = 1\n", "config.toml:3"),
    ] {
        std::fs::write(config.join(name), text).unwrap();
        let run = place.codeweaver(["serve", "--ask", "--dir", "notes", "--port", "0"]);
        run.fails(2).says(&["the settings are not valid", line]);
        std::fs::remove_file(config.join(name)).unwrap();
    }
}
