//! The table of clients: location and format of their configurations, and the shape of an entry.
//!
//! A comment at each row names the page that documents the client.

use super::edit::Format;
use super::entry::Shape;
use super::places::{Base, Place};

/// An MCP client.
#[derive(Debug)]
pub struct Client {
    /// Name on the command line.
    pub id: &'static str,
    /// Alternative names on the command line.
    pub aliases: &'static [&'static str],
    /// Name in messages.
    pub name: &'static str,
    /// Format of its files; `None` for YAML, which is printed but not edited.
    pub format: Option<Format>,
    pub shape: Shape,
    /// Paths of keys to the table of servers. The first that exists is used; if there is none, the last is
    /// created.
    pub tables: &'static [&'static [&'static str]],
    /// Configuration files of the user, in ascending order of the client's preference. The last that exists
    /// is used; if there is none, the first is created.
    pub user: &'static [Place],
    /// Configuration files of a project, relative to its root, in the same order; empty if the client has
    /// none.
    pub project: &'static [&'static str],
    /// Content of a new file.
    pub fresh: &'static str,
    /// The steps that the user has to take after installation.
    pub next: &'static str,
}

const EMPTY_OBJECT: &str = "{}\n";
const MCP_SERVERS: &[&[&str]] = &[&["mcpServers"]];

/// All clients, in the order of `--help` and of the documentation.
pub const CLIENTS: [Client; 10] = [
    // "Connect Claude Code to tools via MCP" and "Environment variables", code.claude.com/docs.
    Client {
        id: "claude-code",
        aliases: &["claude"],
        name: "Claude Code",
        format: Some(Format::Json),
        shape: Shape::Stdio,
        tables: MCP_SERVERS,
        user: &[Place::home(".claude.json").overridden_by("CLAUDE_CONFIG_DIR", ".claude.json")],
        project: &[".mcp.json"],
        fresh: EMPTY_OBJECT,
        next: "start a new session of Claude Code; `/mcp` shows the server",
    },
    // "Connect to local MCP servers", modelcontextprotocol.io/docs; the place on Linux is that of Electron
    // programs.
    Client {
        id: "claude-desktop",
        aliases: &[],
        name: "Claude Desktop",
        format: Some(Format::Json),
        shape: Shape::Plain,
        tables: MCP_SERVERS,
        user: &[Place::program("Claude/claude_desktop_config.json")],
        project: &[],
        fresh: EMPTY_OBJECT,
        next: "quit Claude Desktop and start it again",
    },
    // "Model Context Protocol (MCP)", cursor.com/docs.
    Client {
        id: "cursor",
        aliases: &[],
        name: "Cursor",
        format: Some(Format::Json),
        shape: Shape::Stdio,
        tables: MCP_SERVERS,
        user: &[Place::home(".cursor/mcp.json")],
        project: &[".cursor/mcp.json"],
        fresh: EMPTY_OBJECT,
        next: "restart Cursor, and switch the server on in its MCP settings if it asks",
    },
    // "MCP configuration reference" and "Profiles", code.visualstudio.com/docs.
    Client {
        id: "vscode",
        aliases: &["vs-code", "code"],
        name: "VS Code",
        format: Some(Format::Json),
        shape: Shape::Stdio,
        tables: &[&["servers"]],
        user: &[Place::program("Code/User/mcp.json")],
        project: &[".vscode/mcp.json"],
        fresh: EMPTY_OBJECT,
        next: "run `MCP: List Servers` in VS Code and start the server",
    },
    // "Model Context Protocol" and "Configuration reference", developers.openai.com/codex.
    Client {
        id: "codex",
        aliases: &["codex-cli"],
        name: "Codex CLI",
        format: Some(Format::Toml),
        shape: Shape::Plain,
        tables: &[&["mcp_servers"]],
        user: &[Place::home(".codex/config.toml").overridden_by("CODEX_HOME", "config.toml")],
        project: &[".codex/config.toml"],
        fresh: "",
        next: "start a new session of Codex; `/mcp` shows the server (in projects: once they are trusted)",
    },
    // "MCP servers with the Gemini CLI" and "Gemini CLI configuration", geminicli.com/docs.
    Client {
        id: "gemini",
        aliases: &["gemini-cli"],
        name: "Gemini CLI",
        format: Some(Format::Json),
        shape: Shape::Plain,
        tables: MCP_SERVERS,
        user: &[
            Place::home(".gemini/settings.json").overridden_by("GEMINI_CLI_HOME", ".gemini/settings.json")
        ],
        project: &[".gemini/settings.json"],
        fresh: EMPTY_OBJECT,
        next: "start a new session of Gemini CLI in a folder that it trusts; `/mcp` shows the server",
    },
    // "MCP servers", "Config" and "Migrate from V1", opencode.ai/docs. Version 2 keeps servers one level
    // deeper and still reads the older form, which is the one that both read.
    Client {
        id: "opencode",
        aliases: &[],
        name: "opencode",
        format: Some(Format::Json),
        shape: Shape::CommandList,
        tables: &[&["mcp", "servers"], &["mcp"]],
        user: &[Place::dot_config("opencode/opencode.json"), Place::dot_config("opencode/opencode.jsonc")],
        project: &["opencode.json", "opencode.jsonc"],
        fresh: "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n",
        next: "restart opencode; `opencode mcp list` shows the server",
    },
    // "Model Context Protocol", "Configuring Zed" and "Zed and trusted worktrees", zed.dev/docs.
    Client {
        id: "zed",
        aliases: &[],
        name: "Zed",
        format: Some(Format::Json),
        shape: Shape::Plain,
        tables: &[&["context_servers"]],
        user: &[Place {
            variable: None,
            linux: (Base::XdgConfig, "zed/settings.json"),
            macos: (Base::DotConfig, "zed/settings.json"),
            windows: (Base::Roaming, "Zed/settings.json"),
        }],
        project: &[".zed/settings.json"],
        fresh: EMPTY_OBJECT,
        next: "nothing: Zed reads the file at once (in projects: once they are trusted)",
    },
    // "Cascade MCP Integration", docs.windsurf.com; under its later name, Devin Desktop, it reads the second
    // file.
    Client {
        id: "windsurf",
        aliases: &["devin-desktop"],
        name: "Windsurf",
        format: Some(Format::Json),
        shape: Shape::Plain,
        tables: MCP_SERVERS,
        user: &[
            Place::home(".codeium/windsurf/mcp_config.json"),
            Place {
                variable: None,
                linux: (Base::XdgConfig, "devin/mcp_config.json"),
                macos: (Base::DotConfig, "devin/mcp_config.json"),
                windows: (Base::Roaming, "devin/mcp_config.json"),
            },
        ],
        project: &[],
        fresh: EMPTY_OBJECT,
        next: "press refresh in the MCP panel of Windsurf",
    },
    // "Configuration Files" and "Using Extensions", goose-docs.ai.
    Client {
        id: "goose",
        aliases: &[],
        name: "Goose",
        format: None,
        shape: Shape::Extension,
        tables: &[&["extensions"]],
        user: &[Place {
            variable: Some(("GOOSE_PATH_ROOT", "config/config.yaml")),
            linux: (Base::XdgConfig, "goose/config.yaml"),
            macos: (Base::XdgConfig, "goose/config.yaml"),
            windows: (Base::Roaming, "Block/goose/config/config.yaml"),
        }],
        project: &[],
        fresh: "",
        next: "start a new session of Goose",
    },
];

/// Finds a client by id or alias.
pub fn find(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == name || client.aliases.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_fresh_file_takes_an_entry() {
        let mut names: Vec<&str> =
            CLIENTS.iter().flat_map(|c| c.aliases.iter().chain(std::iter::once(&c.id))).copied().collect();
        let total = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), total);
        for client in &CLIENTS {
            let entry = client.shape.entry("git-codeweaver", &["mcp"]);
            let Some(format) = client.format else { continue };
            let text = format.insert(client.fresh, client.tables, &entry).unwrap().text;
            assert!(text.contains("git-codeweaver") && text.ends_with('\n'), "{}: {text}", client.id);
        }
    }
}
