//! The table of agent products, and the files that they read.
//!
//! A comment at each row names the page that documents the product.

use super::kind::Kind;
use crate::clients::places::Place;

/// A product that agents are made with.
#[derive(Debug)]
pub struct Product {
    /// Name on the command line.
    pub id: &'static str,
    /// Name in messages.
    pub name: &'static str,
    /// Programs on the `PATH`, and files of a project, that show that it is used.
    pub programs: &'static [&'static str],
    pub traces: &'static [&'static str],
    pub files: &'static [AgentFile],
}

/// A file that a product reads.
#[derive(Debug)]
pub struct AgentFile {
    pub kind: Kind,
    /// In a project, relative to its root; `None` if another file of the product is read there.
    pub project: Option<&'static str>,
    /// The user's own, for all projects; `None` if the product has none.
    pub user: Option<Place>,
    /// The only program that reads it, if it is not that of the product: without it, none is installed.
    pub reader: Option<&'static str>,
}

/// All products, in the order of `--help` and of the documentation.
pub const PRODUCTS: [Product; 5] = [
    // "Agent Skills" and "Hooks reference", code.claude.com/docs.
    Product {
        id: "claude-code",
        name: "Claude Code",
        programs: &["claude"],
        traces: &[".claude", "CLAUDE.md", ".mcp.json"],
        files: &[
            AgentFile {
                kind: Kind::Skill,
                project: Some(".claude/skills/git-codeweaver/SKILL.md"),
                user: Some(
                    Place::home(".claude/skills/git-codeweaver/SKILL.md")
                        .overridden_by("CLAUDE_CONFIG_DIR", "skills/git-codeweaver/SKILL.md"),
                ),
                reader: None,
            },
            AgentFile {
                kind: Kind::Hooks,
                project: Some(".claude/settings.json"),
                user: Some(
                    Place::home(".claude/settings.json").overridden_by("CLAUDE_CONFIG_DIR", "settings.json"),
                ),
                reader: None,
            },
        ],
    },
    // agents.md; "Custom instructions with AGENTS.md", developers.openai.com/codex; "Rules",
    // opencode.ai/docs. Other products read the file of a project as well.
    Product {
        id: "agents-md",
        name: "AGENTS.md",
        programs: &["codex", "opencode", "amp"],
        traces: &["AGENTS.md", ".codex"],
        files: &[
            AgentFile {
                kind: Kind::Section,
                project: Some("AGENTS.md"),
                user: Some(Place::home(".codex/AGENTS.md").overridden_by("CODEX_HOME", "AGENTS.md")),
                reader: None,
            },
            AgentFile {
                kind: Kind::Section,
                project: None,
                user: Some(Place::dot_config("opencode/AGENTS.md")),
                reader: Some("opencode"),
            },
        ],
    },
    // "Rules", cursor.com/docs. The user's rules are in the settings of the program.
    Product {
        id: "cursor",
        name: "Cursor",
        programs: &["cursor", "cursor-agent"],
        traces: &[".cursor", ".cursorrules"],
        files: &[AgentFile {
            kind: Kind::Rule,
            project: Some(".cursor/rules/git-codeweaver.mdc"),
            user: None,
            reader: None,
        }],
    },
    // "Adding repository custom instructions for GitHub Copilot", docs.github.com.
    Product {
        id: "copilot",
        name: "GitHub Copilot",
        programs: &["copilot"],
        traces: &[".github/copilot-instructions.md"],
        files: &[AgentFile {
            kind: Kind::Section,
            project: Some(".github/copilot-instructions.md"),
            user: None,
            reader: None,
        }],
    },
    // "Provide context with GEMINI.md files", geminicli.com/docs.
    Product {
        id: "gemini",
        name: "Gemini CLI",
        programs: &["gemini"],
        traces: &["GEMINI.md", ".gemini"],
        files: &[AgentFile {
            kind: Kind::Section,
            project: Some("GEMINI.md"),
            user: Some(
                Place::home(".gemini/GEMINI.md").overridden_by("GEMINI_CLI_HOME", ".gemini/GEMINI.md"),
            ),
            reader: None,
        }],
    },
];

/// Finds a product by its name on the command line.
pub fn find(id: &str) -> Option<&'static Product> {
    PRODUCTS.iter().find(|product| product.id == id)
}
