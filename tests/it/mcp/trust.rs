//! Which repositories a session may use: those of the workspace, those that the user has allowed, and, with a
//! client that names no workspace, those that are indexed.

use std::path::Path;

use serde_json::{Value, json};

use codeweaver_testkit::{TestRepo, program};

use crate::support::mcp_client::McpClient;

/// A repository with a word of its own, indexed if `is_indexed`.
fn repo(word: &str, is_indexed: bool) -> TestRepo {
    let text = format!("/// The {word} of things.\npub fn {word}() {{}}\n");
    let repo = TestRepo::with_files(&[("src/lib.rs", &text)]);
    if is_indexed {
        repo.codeweaver(["init"]).success();
    }
    repo
}

/// A client with these capabilities that names `folders` when it is asked.
fn start(
    repo: &TestRepo,
    capabilities: &Value,
    folders: &[&Path],
    environment: &[(&str, &str)],
) -> McpClient {
    let mut command = repo.command(program());
    command.arg("mcp").envs(environment.iter().copied());
    let mut client = McpClient::new(command);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "test", "version": "1" },
    });
    client.request("initialize", params);
    client.notify("notifications/initialized", json!({}));
    if capabilities.get("roots").is_some() {
        name_folders(&mut client, folders);
    }
    client
}

/// Answers the server's request for the folders.
fn name_folders(client: &mut McpClient, folders: &[&Path]) {
    let asked = client.wait_for(|message| message["method"] == "roots/list");
    let roots: Vec<Value> =
        folders.iter().map(|folder| json!({ "uri": format!("file://{}", folder.display()) })).collect();
    answer(client, &asked, json!({ "roots": roots }));
}

fn answer(client: &mut McpClient, asked: &Value, result: Value) {
    client.send_raw(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }).to_string().as_bytes());
}

fn read(path: &Path) -> Value {
    json!({ "file": "src/lib.rs", "path": path })
}

fn manage(action: &str, path: &Path) -> Value {
    json!({ "action": action, "path": path })
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[track_caller]
fn is_answered(client: &mut McpClient, tool: &str, arguments: Value, word: &str) {
    let result = client.call(tool, arguments);
    assert!(result["isError"] != true && text(&result).contains(word), "{result:#}");
}

#[track_caller]
fn is_refused(client: &mut McpClient, tool: &str, arguments: Value) {
    let path = arguments["path"].as_str().unwrap().to_owned();
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result:#}");
    let text = text(&result);
    assert!(text.starts_with("not_allowed: ") && text.contains(&path), "{text}");
    assert!(text.contains(&format!("git codeweaver config set --user mcp.allow '[\"{path}\"]'")), "{text}");
}

#[test]
fn a_client_names_its_folders_and_changes_them() {
    let (own, named, later, outside) =
        (repo("own", true), repo("named", true), repo("later", true), repo("outside", true));
    let mut client = start(&own, &json!({ "roots": { "listChanged": true } }), &[named.root()], &[]);
    is_answered(&mut client, "read_code", json!({ "file": "src/lib.rs" }), "fn own");
    is_answered(&mut client, "read_code", read(named.root()), "fn named");
    is_answered(&mut client, "manage_index", manage("sync", named.root()), "\"ok\"");
    for path in [later.root(), outside.root()] {
        is_refused(&mut client, "read_code", read(path));
        is_refused(&mut client, "find_code", json!({ "query": "things", "path": path }));
        is_refused(&mut client, "manage_index", manage("status", path));
        is_refused(&mut client, "manage_index", manage("clear", path));
    }
    client.notify("notifications/roots/list_changed", json!({}));
    name_folders(&mut client, &[later.root()]);
    is_answered(&mut client, "read_code", read(later.root()), "fn later");
    is_refused(&mut client, "read_code", read(named.root()));
    is_answered(&mut client, "read_code", json!({ "file": "src/lib.rs" }), "fn own");
}

/// A folder may be above a repository or in it, and the linked worktrees of a repository belong to it.
#[test]
fn folders_contain_repositories_and_are_contained() {
    let (own, named) = (repo("own", true), repo("named", true));
    let linked = named.beside("linked");
    named.git(["worktree", "add", "-q", linked.to_str().unwrap()]);
    let capabilities = json!({ "roots": {} });
    for folder in [named.root().parent().unwrap().to_path_buf(), named.path("src")] {
        let mut client = start(&own, &capabilities, &[&folder], &[]);
        is_answered(&mut client, "read_code", read(named.root()), "fn named");
    }
    let mut client = start(&own, &capabilities, &[named.root()], &[]);
    is_answered(&mut client, "manage_index", manage("create", &linked), "\"ok\"");
    let own_linked = own.beside("linked");
    own.git(["worktree", "add", "-q", own_linked.to_str().unwrap()]);
    is_answered(&mut client, "manage_index", manage("create", &own_linked), "\"ok\"");
}

#[test]
fn the_workspace_is_asked_where_the_server_was_started_in_no_repository() {
    let (nowhere, first, second) = (TestRepo::empty_dir(), repo("first", true), repo("second", true));
    let folders = [nowhere.root(), first.root(), second.root()];
    let mut client = start(&nowhere, &json!({ "roots": {} }), &folders, &[]);
    is_answered(&mut client, "read_code", json!({ "file": "src/lib.rs" }), "fn first");
    is_answered(&mut client, "read_code", read(second.root()), "fn second");
}

/// A file `.git` in the workspace does not open a repository elsewhere.
#[test]
fn a_forged_git_file_opens_no_other_repository() {
    let (own, outside) = (repo("own", true), repo("outside", true));
    let folder = own.beside("workspace");
    std::fs::create_dir_all(folder.join("trap")).unwrap();
    std::fs::write(folder.join("trap/.git"), format!("gitdir: {}\n", outside.path(".git").display()))
        .unwrap();
    let mut client = start(&own, &json!({ "roots": {} }), &[&folder], &[]);
    let result = client.call("read_code", read(&folder.join("trap")));
    assert!(text(&result).starts_with("not_allowed: "), "{result:#}");
}

#[test]
fn without_folders_an_indexed_repository_is_read_and_nothing_else() {
    let (own, indexed, other) = (repo("own", true), repo("indexed", true), repo("other", false));
    let mut client = start(&own, &json!({}), &[], &[]);
    is_answered(&mut client, "read_code", read(indexed.root()), "fn indexed");
    is_answered(&mut client, "manage_index", manage("status", indexed.root()), "\"ok\"");
    for action in ["create", "reindex", "sync", "clear"] {
        is_refused(&mut client, "manage_index", manage(action, indexed.root()));
    }
    is_refused(&mut client, "read_code", read(other.root()));
    is_refused(&mut client, "manage_index", manage("create", other.root()));
    assert!(!other.path(".codeweaver").exists());
    let uri = format!("codeweaver://status{}", other.root().display());
    let refused = client.request("resources/read", json!({ "uri": uri }));
    assert!(refused["error"]["message"].as_str().unwrap().contains("may not"), "{refused:#}");
}

/// A client that has folders and does not name them is treated as one without.
#[test]
fn a_client_that_cannot_name_its_folders_has_none() {
    let (own, indexed) = (repo("own", true), repo("indexed", true));
    let mut command = own.command(program());
    command.arg("mcp");
    let mut client = McpClient::new(command);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": { "name": "test", "version": "1" },
    });
    client.request("initialize", params);
    client.notify("notifications/initialized", json!({}));
    let asked = client.wait_for(|message| message["method"] == "roots/list");
    let error = json!({ "jsonrpc": "2.0", "id": asked["id"], "error": { "code": -32601, "message": "no" } });
    client.send_raw(error.to_string().as_bytes());
    is_answered(&mut client, "read_code", read(indexed.root()), "fn indexed");
    is_refused(&mut client, "manage_index", manage("sync", indexed.root()));
}

#[test]
fn the_user_allows_repositories_and_a_repository_does_not() {
    let (own, other) = (repo("own", true), repo("other", false));
    let capabilities = json!({ "roots": {} });
    let above = other.root().parent().unwrap();
    let stars = above.parent().unwrap().join("*").join(other.root().file_name().unwrap());
    for allowed in [other.root(), above, &stars, Path::new("/")] {
        let allow = json!([allowed]).to_string();
        let mut client = start(&own, &capabilities, &[own.root()], &[("CODEWEAVER_MCP_ALLOW", &allow)]);
        is_answered(&mut client, "manage_index", manage("create", other.root()), "\"ok\"");
    }
    for not in [above.join("absent"), Path::new("*").to_path_buf(), Path::new("relative").to_path_buf()] {
        let allow = json!([not]).to_string();
        let mut client = start(&own, &capabilities, &[own.root()], &[("CODEWEAVER_MCP_ALLOW", &allow)]);
        let result = client.call("read_code", read(other.root()));
        assert!(text(&result).starts_with("not_allowed: "), "{allow}: {result:#}");
    }
    // Neither the repository that is asked for nor the one of the server.
    for repo in [&own, &other] {
        repo.write("codeweaver.toml", "[mcp]\nallow = [\"/\"]\n");
    }
    let mut client = start(&own, &capabilities, &[own.root()], &[]);
    is_refused(&mut client, "read_code", read(other.root()));
    // As the message says; it holds at once.
    own.codeweaver(["config", "set", "--user", "mcp.allow", &json!([other.root()]).to_string()]).success();
    is_answered(&mut client, "read_code", read(other.root()), "fn other");
}

#[test]
fn the_user_is_asked_once_where_the_client_can() {
    let (own, other, third) = (repo("own", true), repo("other", false), repo("third", true));
    let mut client = start(&own, &json!({ "roots": {}, "elicitation": {} }), &[own.root()], &[]);
    let ask = |client: &mut McpClient, tool: &str, arguments: Value, action: &str| {
        let id = client.begin("tools/call", json!({ "name": tool, "arguments": arguments }));
        let asked = client.wait_for(|message| message["method"] == "elicitation/create");
        let question = asked["params"]["message"].as_str().unwrap().to_owned();
        answer(client, &asked, json!({ "action": action, "content": {} }));
        (question, client.response(id)["result"].clone())
    };
    let (question, created) = ask(&mut client, "manage_index", manage("create", other.root()), "accept");
    assert!(question.contains("index") && question.contains(other.root().to_str().unwrap()), "{question}");
    assert!(created["isError"] != true && text(&created).contains("indexed"), "{created:#}");
    is_answered(&mut client, "read_code", read(other.root()), "fn other");
    // No is an answer too, and it is not asked again; nothing said is.
    let (_, refused) = ask(&mut client, "read_code", read(third.root()), "cancel");
    assert!(text(&refused).starts_with("not_allowed: "), "{refused:#}");
    let (question, refused) = ask(&mut client, "read_code", read(third.root()), "decline");
    assert!(question.contains("read") && text(&refused).starts_with("not_allowed: "), "{refused:#}");
    is_refused(&mut client, "read_code", read(third.root()));
    // Reading does not allow to index.
    let (_, refused) = ask(&mut client, "manage_index", manage("clear", third.root()), "decline");
    assert!(text(&refused).starts_with("not_allowed: "), "{refused:#}");
    assert!(third.path(".codeweaver").exists());
}

#[test]
fn a_repository_is_named_in_the_ways_of_clients() {
    let team = TestRepo::empty_dir();
    for name in ["api", "web app"] {
        std::fs::create_dir(team.path(name)).unwrap();
        let repo = team.at(name);
        repo.git(["init", "--quiet", "."])
            .write("src/lib.rs", format!("fn {}() {{}}\n", &name[..3]))
            .commit("first");
        repo.codeweaver(["init", "--no-hooks"]).success();
    }
    let mut client = McpClient::start(&team);

    // The folder is in no repository, and the repositories in it are named.
    let result = client.call("read_code", json!({ "file": "src/lib.rs" }));
    assert!(text(&result).contains("the repositories api and web app: name one in `path`"), "{result:#}");

    let root = team.root().to_str().unwrap();
    let absolute = format!("{root}/web app");
    let uri = format!("file://{root}/web%20app");
    for path in [absolute.as_str(), &uri, "web app", "./web app/src"] {
        is_answered(&mut client, "read_code", json!({ "file": "src/lib.rs", "path": path }), "fn web");
    }
    for file in
        [format!("{absolute}/src/lib.rs"), format!("{uri}/src/lib.rs"), format!("{uri}/src/lib.rs#L1-L1")]
    {
        is_answered(&mut client, "read_code", json!({ "file": file }), "fn web");
    }
    let found = client.text(
        "find_code",
        json!({ "query": "api", "path": "api", "paths": [format!("file://{root}/api/src")] }),
    );
    assert!(found.contains("src/lib.rs"), "{found}");
    for path in ["https://example.org/api", ""] {
        let result = client.call("read_code", json!({ "file": "src/lib.rs", "path": path }));
        assert!(text(&result).starts_with("invalid_arguments"), "{path}: {result:#}");
    }
}

#[test]
fn a_deleted_start_directory_stops_no_other_repository() {
    let (own, indexed, other) = (repo("own", true), repo("indexed", true), repo("other", true));
    let mut client = start(&own, &json!({}), &[], &[]);
    is_answered(&mut client, "read_code", read(indexed.root()), "fn indexed");
    std::fs::remove_dir_all(own.root()).unwrap();
    for repo in [(&indexed, "fn indexed"), (&other, "fn other")] {
        is_answered(&mut client, "read_code", read(repo.0.root()), repo.1);
    }
    let result = client.call("read_code", json!({ "file": "src/lib.rs" }));
    assert!(text(&result).contains("name a repository in `path`"), "{result:#}");
}

/// A client that names no folders may read other indexed repositories, but only where the call says so.
#[test]
fn a_path_that_leads_out_of_the_repository_is_asked_about() {
    let (own, other) = (repo("own", true), repo("other", true));
    own.symlink("linked", other.root().to_str().unwrap());
    let mut client = start(&own, &json!({}), &[], &[]);
    is_answered(&mut client, "read_code", read(other.root()), "fn other");

    let depth = own.root().components().count() - 1;
    let rooted = format!("{}{}", "../".repeat(depth), other.root().strip_prefix("/").unwrap().display());
    for path in [own.path("linked").to_str().unwrap().to_owned(), "linked".to_owned(), rooted] {
        let result = client.call("read_code", json!({ "file": "src/lib.rs", "path": path }));
        assert_eq!(result["isError"], true, "{path}: {result:#}");
        let text = text(&result);
        assert!(
            text.contains(other.root().to_str().unwrap()) && text.contains("leads out of"),
            "{path}: {text}"
        );
    }
}

/// Returns the line that names the repository of an answer.
fn repository_line(text: &str) -> Option<&str> {
    text.lines().find(|line| line.contains("this is the repository"))
}

#[test]
fn an_answer_from_another_repository_says_which() {
    let (own, other) = (repo("own", true), repo("other", true));
    own.symlink("linked", other.root().to_str().unwrap());
    let root = other.root().to_str().unwrap();
    // The user has allowed it, so that no way of naming it is refused.
    let allow = json!([root]).to_string();
    let mut client = start(&own, &json!({}), &[], &[("CODEWEAVER_MCP_ALLOW", &allow)]);

    let calls = [
        ("find_code", json!({ "query": "things" })),
        ("find_code", json!({ "queries": ["things", "other"] })),
        ("find_text", json!({ "pattern": "fn" })),
        ("find_symbol", json!({ "symbol": "other" })),
        ("ask_docs", json!({ "question": "what is it?" })),
        ("find_similar", json!({ "file": "src/lib.rs", "line": 1 })),
        ("find_similar", json!({})),
        ("file_outline", json!({ "file": "src/lib.rs" })),
        ("call_graph", json!({ "symbol": "other" })),
        ("read_code", json!({ "file": "src/lib.rs" })),
        ("read_code", json!({ "places": ["src/lib.rs:1", "other"] })),
        ("list_files", json!({})),
        ("changes", json!({})),
        ("manage_index", json!({ "action": "status" })),
    ];
    for (tool, arguments) in calls {
        for path in [own.path("linked").to_str().unwrap(), root] {
            let mut arguments = arguments.clone();
            arguments["path"] = json!(path);
            let text = client.text(tool, arguments.clone());
            assert_eq!(text.matches(root).count(), 1, "{tool} {path}: {text}");

            let structured = client.ask(tool, arguments);
            assert!(structured.to_string().contains(root), "{tool} {path}: {structured:#}");
        }
    }

    // The repository of the server, and another worktree of it, need no name.
    own.git(["worktree", "add", "-q", own.beside("linked").to_str().unwrap()]);
    for path in [own.path("src").to_str().unwrap(), own.beside("linked").to_str().unwrap()] {
        let text = client.text("changes", json!({ "path": path }));
        assert_eq!(repository_line(&text), None, "{text}");
    }

    // A server in no repository has none of its own; only a path that leads elsewhere is remarked on.
    let nowhere = TestRepo::empty_dir();
    nowhere.symlink("linked", root);
    let mut client = start(&nowhere, &json!({}), &[], &[("CODEWEAVER_MCP_ALLOW", &allow)]);
    assert_eq!(repository_line(&client.text("changes", json!({ "path": root }))), None);
    let text = client.text("changes", json!({ "path": "linked" }));
    assert!(repository_line(&text).is_some_and(|line| line.contains(root)), "{text}");
}

#[test]
fn files_of_git_and_of_the_index_are_not_read() {
    let own = repo("own", true);
    own.symlink("shown", ".codeweaver");
    let mut client = start(&own, &json!({}), &[], &[]);
    for file in
        [".codeweaver/nonce", "./.codeweaver/nonce", ".CodeWeaver/nonce", "shown/nonce", ".git/config"]
    {
        let result = client.call("read_code", json!({ "file": file }));
        assert_eq!(result["isError"], true, "{file}: {result:#}");
    }
    let nonce = std::fs::read_to_string(own.path(".codeweaver/nonce")).unwrap();
    let run = own.codeweaver(["read", ".codeweaver/nonce"]);
    assert!(!run.stdout().contains(nonce.trim()), "{}", run.explain());
    assert_ne!(run.code(), 0, "{}", run.explain());
}
