//! The plugin for Claude Code and the entry for the MCP registry say what the program itself would write.

use std::path::Path;

use serde_json::Value;

use codeweaver_testkit::TestRepo;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn json(path: &str) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn the_plugin_has_the_skill_the_hook_and_the_server_of_the_program() {
    let repo = TestRepo::init().env("CLAUDE_CONFIG_DIR", "");
    repo.codeweaver(["agent", "install", "--yes", "claude-code"]).success();
    let said = repo.read(".claude/skills/git-codeweaver/SKILL.md");
    assert_eq!(text("plugin/skills/git-codeweaver/SKILL.md"), said);
    let settings: Value = serde_json::from_str(&repo.read(".claude/settings.json")).unwrap();
    assert_eq!(json("plugin/hooks/hooks.json"), settings);
    let printed = repo.codeweaver(["mcp", "--print", "claude-code"]).success().json();
    assert_eq!(json("plugin/.mcp.json"), printed);
}

#[test]
fn the_manifests_have_the_version_and_the_address_of_the_package() {
    let plugin = json("plugin/.claude-plugin/plugin.json");
    let market = json(".claude-plugin/marketplace.json");
    let server = json("server.json");
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(plugin["repository"], env!("CARGO_PKG_REPOSITORY"));
    assert_eq!(plugin["license"], env!("CARGO_PKG_LICENSE"));
    assert_eq!(
        (&market["plugins"][0]["name"], &market["plugins"][0]["source"]),
        (&plugin["name"], &"./plugin".into())
    );
    assert_eq!(market["plugins"][0]["description"], plugin["description"]);
    assert_eq!(server["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(server["repository"]["url"], env!("CARGO_PKG_REPOSITORY"));
    // A limit of the registry.
    assert!(server["description"].as_str().unwrap().len() <= 100, "{server:#}");
}
