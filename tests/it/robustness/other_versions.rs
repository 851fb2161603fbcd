//! A store of another version of the program: the next query says so, and the store is made again from git.

use std::path::{Path, PathBuf};

use codeweaver_index::{Codebase, hnsw};
use codeweaver_store::hnsw::Recalls;
use codeweaver_store::hnsw::vectors::RowVectors;
use codeweaver_store::shard::{SCHEMA_KEY, SCHEMA_VERSION};
use codeweaver_store::{StoreLayout, StoreReader};
use codeweaver_testkit::{FILES, TestRepo};

use crate::support::mcp_client::McpClient;
use crate::support::server::Server;

/// Bytes of the checksum at the end of containers and snapshots.
const CHECKSUM: usize = 32;
/// The number of a version that no program has written yet.
const OTHER: u32 = 255;

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn open(repo: &TestRepo) -> Codebase {
    Codebase::open(repo.root(), &[]).unwrap()
}

/// Rewrites a file of this kind as another version would have written it, with the right checksum and name.
/// Returns its path.
fn rewrite(repo: &TestRepo, kind: &str) -> PathBuf {
    let reader = StoreReader::open(&open(repo).store()).unwrap().unwrap();
    let (store, state) = (&reader.layout, &reader.state);
    let segment = &state.segments[0].name;

    match kind {
        "state" => rewrite_state(store, OTHER, |json| json),
        "segment" => with_container_version(&store.segment(segment)),

        "shard" => {
            let other = with_schema_version(&store.shard(segment));
            std::fs::rename(store.segment(segment), store.segment(&name_of(&other))).unwrap();
            rewrite_state(store, 1, |json| json.replace(segment, &name_of(&other)));
            other
        }
        "entries" => {
            let name = &state.entries[0].name;
            let other = renamed(&with_container_version(&store.entries(name)));
            rewrite_state(store, 1, |json| json.replace(name, &name_of(&other)));
            other
        }
        "snapshot" => {
            let name = &state.snapshots[&state.heads["main"].snapshot].file;
            let other = renamed(&with_container_version(&store.snapshot(name)));
            rewrite_state(store, 1, |json| json.replace(name, &name_of(&other)));
            other
        }
        other => panic!("{other} is no kind of file"),
    }
}

/// Writes the state with this version and the JSON that `change` returns. Returns its path.
fn rewrite_state(store: &StoreLayout, version: u32, change: impl FnOnce(String) -> String) -> PathBuf {
    let text = std::fs::read_to_string(store.state()).unwrap();
    let (_, json) = text.trim_end().split_once('\n').unwrap();

    let json = change(json.to_owned());
    let checksum = blake3::hash(json.as_bytes()).to_hex();
    std::fs::write(store.state(), format!("codeweaver-state {version} {checksum}\n{json}\n")).unwrap();
    store.state()
}

/// Replaces the version of a container or a snapshot, which both have behind the magic number.
fn with_container_version(path: &Path) -> PathBuf {
    let mut bytes = std::fs::read(path).unwrap();
    bytes.truncate(bytes.len() - CHECKSUM);
    bytes[8..12].copy_from_slice(&OTHER.to_le_bytes());

    let checksum = blake3::hash(&bytes);
    bytes.extend_from_slice(checksum.as_bytes());
    // As a new file: a running server keeps its map of the old one.
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, bytes).unwrap();
    path.to_owned()
}

/// Replaces the schema version in the footer of a shard, and returns the path by its new hash.
fn with_schema_version(path: &Path) -> PathBuf {
    let mut bytes = std::fs::read(path).unwrap();
    let key = bytes.windows(SCHEMA_KEY.len()).rposition(|window| window == SCHEMA_KEY.as_bytes()).unwrap();

    // Behind the key: type and length of the value, and its only digit.
    let value = key + SCHEMA_KEY.len() + 2;
    assert_eq!(bytes[value..=value], *SCHEMA_VERSION.to_string().as_bytes());
    bytes[value] = b'9';
    std::fs::write(path, bytes).unwrap();
    renamed(path)
}

/// Gives a content file the name that its bytes have, and returns its path.
fn renamed(path: &Path) -> PathBuf {
    let name = blake3::hash(&std::fs::read(path).unwrap()).to_hex();
    let to = path.with_file_name(name.as_str()).with_extension(path.extension().unwrap());
    std::fs::rename(path, &to).unwrap();
    to
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

#[test]
fn a_query_says_so_and_the_store_is_rebuilt_from_git() {
    let repo = indexed();
    let wanted = repo.found(&["parse_header"]);
    assert!(wanted.contains(&"src/parse.rs".to_owned()), "{wanted:?}");

    for kind in ["state", "shard", "segment", "entries", "snapshot"] {
        let path = rewrite(&repo, kind);

        let run = repo.codeweaver(["search", "parse_header"]);
        let name = name_of(&path);
        run.success().says(&[
            &name,
            "was written by another version",
            "it is being repaired",
            "src/parse.rs",
        ]);

        assert_eq!(repo.found(&["parse_header"]), wanted, "{kind}");
        repo.codeweaver(["verify"]).success();
        assert_eq!(path.exists(), matches!(kind, "state" | "segment" | "entries" | "snapshot"), "{kind}");
    }
}

#[test]
fn a_check_names_the_file_and_repairs_it() {
    for kind in ["state", "shard", "segment", "entries", "snapshot"] {
        let repo = indexed();
        let name = name_of(&rewrite(&repo, kind));

        let found = repo.codeweaver(["verify"]);
        assert_eq!(found.code(), 1, "{kind}");
        found.says(&[&name, "another version"]);

        repo.codeweaver(["verify", "--repair"]).success();
        repo.codeweaver(["verify"]).success();
    }
}

#[test]
fn a_server_answers_from_the_rebuilt_store() {
    let repo = indexed();
    let mut client = McpClient::start(&repo);
    let query = serde_json::json!({ "query": "parse_header" });
    let wanted = client.found(query.clone());

    for kind in ["state", "shard", "segment", "entries", "snapshot"] {
        rewrite(&repo, kind);
        assert_eq!(client.found(query.clone()), wanted, "{kind}");
        repo.codeweaver(["verify"]).success();
    }
    assert_eq!(client.close(), 0);
}

/// As the command line does: in a warning of the answer that was waited for, else in the answer that there is
/// none yet.
#[test]
fn an_answer_to_an_agent_says_so() {
    let repo = indexed();
    let query = serde_json::json!({ "query": "parse_header" });

    for kind in ["state", "shard", "segment", "entries", "snapshot"] {
        let name = name_of(&rewrite(&repo, kind));
        let mut client = McpClient::start(&repo);

        let answer = client.ask("find_code", query.clone()).to_string();
        assert!(answer.contains(&name), "{kind}: {answer}");
        assert!(answer.contains("was written by another version"), "{kind}: {answer}");

        repo.found(&["parse_header"]);
        let answer = client.text("find_code", query.clone());
        assert!(!answer.contains("another version"), "{kind}: {answer}");
        assert_eq!(client.close(), 0);
    }
}

#[test]
fn an_answer_over_http_says_so() {
    let repo = indexed();
    let server = Server::start(&repo, &[]);

    for path in ["api/search?q=parse_header", "search?q=parse_header"] {
        rewrite(&repo, "entries");

        let answer = server.get(path);
        assert!(answer.body.contains("was written by another version"), "{path}: {answer:#?}");

        repo.found(&["parse_header"]);
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:#?}");
        assert!(!answer.body.contains("another version"), "{path}: {answer:#?}");
    }
}

/// A graph is optional, so no query waits for it.
#[test]
fn a_graph_is_built_again() {
    let repo = TestRepo::with_files(FILES);
    repo.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n").commit("settings");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let codebase = open(&repo);
    let graph = || StoreReader::open(&codebase.store()).unwrap().unwrap().graph().is_some();
    hnsw::build_missing(&codebase).unwrap();
    assert!(graph() && !hnsw::build_missing(&codebase).unwrap());

    let state = StoreReader::open(&codebase.store()).unwrap().unwrap().state;
    with_container_version(&codebase.store().graph(&state.segments));
    assert!(!graph());
    assert!(hnsw::build_missing(&codebase).unwrap() && graph());
}

/// What an interrupted build leaves has no recalls.
#[test]
fn an_unfinished_graph_is_finished() {
    let repo = TestRepo::with_files(FILES);
    repo.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n").commit("settings");
    repo.codeweaver(["init", "--no-hooks"]).success();
    let codebase = open(&repo);
    hnsw::build_missing(&codebase).unwrap();

    let graph = || StoreReader::open(&codebase.store()).unwrap().unwrap().graph().unwrap().1;
    let finished = graph().to_data();
    assert!(finished.header.rows.few.share > 0.0);
    let mut unfinished = graph().to_data();
    unfinished.header.rows = Recalls::default();
    unfinished.header.questions = Recalls::default();

    let state = StoreReader::open(&codebase.store()).unwrap().unwrap().state;
    std::fs::write(codebase.store().graph(&state.segments), unfinished.encode()).unwrap();
    assert!(!hnsw::missing(&codebase, &state).is_empty());
    assert!(hnsw::build_missing(&codebase).unwrap());
    assert!(graph().to_data().encode() == finished.encode());
}

/// The file of an interrupted build is removed by the next, which covers more segments.
#[test]
fn an_unfinished_graph_is_replaced() {
    let repo = TestRepo::with_files(FILES);
    repo.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n").commit("settings");
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo.write("more.py", "def more():\n    return 1\n").commit("more");
    repo.codeweaver(["index"]).success();

    let codebase = open(&repo);
    let store = codebase.store();
    let state = StoreReader::open(&store).unwrap().unwrap().state;
    assert!(state.segments.len() > 1, "{state:?}");
    std::fs::remove_dir_all(store.graphs()).unwrap();
    std::fs::create_dir(store.graphs()).unwrap();

    // As after an interruption: the leading segment only, without recalls.
    let reader = StoreReader::open(&store).unwrap().unwrap();
    let mut unfinished = hnsw::construct::empty();
    hnsw::construct::extend(&mut unfinished, &RowVectors::from_segments(&reader.segments[..1]));
    std::fs::write(store.graph(&state.segments[..1]), unfinished.encode()).unwrap();

    assert!(hnsw::build_missing(&codebase).unwrap());
    let files: Vec<_> = std::fs::read_dir(store.graphs()).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files, [store.graph(&state.segments)]);
}
