//! The server with third-party clients: the official Python SDK and the MCP inspector. `.ci/run` installs
//! both.

use std::path::Path;

use serde_json::Value;

use codeweaver_testkit::{FILES, TestRepo, Tool, program};

fn indexed() -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

#[test]
fn the_python_sdk_works_with_the_server() {
    let Some(python) = Tool::PYTHON_MCP.find() else { return };
    let (repo, other) = (indexed(), TestRepo::with_files(FILES));
    other.write("codeweaver.toml", "mcp.index_small = false\n");
    let allowed = serde_json::json!([other.root()]).to_string();
    repo.codeweaver(["config", "set", "--user", "mcp.allow", &allowed]).success();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/client.py");
    let output =
        repo.command(python).arg(script).arg(program()).arg(repo.root()).arg(other.root()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.trim() == "ok",
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_inspector_works_with_the_server() {
    let Some(inspector) = Tool::MCP_INSPECTOR.find() else { return };
    let repo = indexed();
    let run = |args: &[&str]| {
        let mut command = repo.command(&inspector);
        command.arg("--cli").arg(program()).arg("mcp").args(args);
        let output = command.output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let json = |args: &[&str]| -> Value {
        let (succeeded, said, errors) = run(args);
        assert!(succeeded, "{args:?}: {said}\n{errors}");
        serde_json::from_str(&said).unwrap_or_else(|e| panic!("{args:?}: {e}: {said}"))
    };
    let tools = json(&["--method", "tools/list"]);
    assert_eq!(tools["tools"][0]["name"], "find_code", "{tools:#}");
    let call = ["--method", "tools/call", "--tool-name"];
    let with = |args: &[&'static str]| [call.as_slice(), args].concat();
    let answer = json(&with(&[
        "find_code",
        "--tool-arg",
        "query=parse_header",
        "--tool-arg",
        "max_results=2",
        "--tool-arg",
        "format=json",
    ]));
    assert_eq!(answer["structuredContent"]["matches"][0]["file"]["path"], "src/parse.rs", "{answer:#}");
    let outline =
        json(&with(&["file_outline", "--tool-arg", "file=src/parse.rs", "--tool-arg", "format=json"]));
    assert_eq!(outline["structuredContent"]["symbols"][0]["name"], "parse_header", "{outline:#}");
    let status = json(&with(&["manage_index", "--tool-arg", "action=status", "--tool-arg", "format=json"]));
    assert_eq!(status["structuredContent"]["index"]["state"], "indexed", "{status:#}");
    let resources = json(&["--method", "resources/list"]);
    assert!(
        resources["resources"][0]["uri"].as_str().unwrap().starts_with("codeweaver://status/"),
        "{resources:#}"
    );
    let (_, said, errors) = run(&with(&["read_code", "--tool-arg", "file=../../etc/passwd"]));
    assert!((said.clone() + &errors).contains("inside it"), "{said}\n{errors}");
}
