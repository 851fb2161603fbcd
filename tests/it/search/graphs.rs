//! HNSW graphs in every door: `auto` searches the graph of the store where its recalls say that it is better
//! than a scan. Similar code is asked for, since questions need 156,000 rows for that.

use serde_json::{Value, json};

use codeweaver_index::Codebase;
use codeweaver_store::StoreReader;
use codeweaver_store::hnsw::{Recall, Recalls};
use codeweaver_testkit::TestRepo;

use crate::support::mcp_client::McpClient;
use crate::support::sandbox::open;
use crate::support::server::Server;

/// A graph is worth it for 200 rows of similar code where there are 80 times as many.
const N_FILES: usize = 200 * 80 + 100;

/// A repository with a graph over all its rows.
fn with_graph() -> TestRepo {
    let repo = TestRepo::init();
    let rooms = ["kitchen", "cellar", "attic", "garage", "library", "hall", "stable", "workshop"];
    let things = ["temperature", "light", "door", "alarm", "water", "window", "noise", "dust"];
    for i in 0..N_FILES {
        let (room, thing) = (rooms[i % 8], things[i / 8 % 8]);
        let text =
            format!("def {thing}_{i}(value):\n    \"\"\"The {thing}.\"\"\"\n    {room}[{i}] = value\n");
        repo.write(&format!("{room}/{thing}_{i}.py"), text);
    }
    repo.write("codeweaver.toml", "[index]\nhnsw = \"always\"\n").commit("first");

    repo.codeweaver(["init", "--no-hooks"]).success();
    // Waits for the graph.
    repo.codeweaver(["index"]).success();
    repo
}

/// Writes into the graph of the store that it finds `share` of the nearest rows.
fn set_recall(codebase: &Codebase, share: f32) {
    let reader = StoreReader::open(&codebase.store()).unwrap().unwrap();
    let (n, graph) = reader.graph().expect("a graph");
    let mut graph = graph.to_data();
    let recall = Recall { ef: 100, share };
    graph.header.rows = Recalls { few: recall, many: recall };
    std::fs::write(codebase.store().graph(&reader.state.segments[..n]), graph.encode()).unwrap();
}

fn uses_graph(answer: &Value) -> bool {
    let strategies = answer["search_strategy"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    strategies.iter().any(|strategy| strategy == "dense_hnsw")
}

#[test]
fn a_sufficient_graph_is_searched_by_default_in_every_door() {
    let repo = with_graph();
    let codebase = open(repo.root());
    let similar = || repo.codeweaver(["similar", "-o", "json", "kitchen/light_8.py:1"]).success().json();

    set_recall(&codebase, 0.9);
    assert!(!uses_graph(&similar()), "it misses too much");
    set_recall(&codebase, 1.0);
    assert!(uses_graph(&similar()));

    let server = Server::start(&repo, &[]);
    assert!(uses_graph(&server.json("api/similar?path=kitchen/light_8.py&line=1")));

    // Answers of this server do not say how they were found. It has opened the graph, at least.
    let mut client = McpClient::start(&repo);
    let found = client.call("find_code", json!({ "like": "kitchen/light_8.py:1" }));
    assert!(found.to_string().contains("light_"), "{found:#}");
    #[cfg(target_os = "linux")]
    assert!(std::fs::read_to_string(format!("/proc/{}/maps", client.id())).unwrap().contains(".hnsw"));
}
