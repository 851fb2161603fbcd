//! Realistic configuration files of MCP clients.

/// A client, its file below the home directory, and a rich configuration.
pub struct Sample {
    pub id: &'static str,
    pub file: &'static str,
    pub rich: &'static str,
    /// Nothing that an entry could be put into; empty where that is not tried.
    pub broken: &'static str,
    /// Its file in a project.
    pub project: Option<&'static str>,
}

/// In the order of the documentation. Goose is missing: its YAML is not edited.
pub const SAMPLES: [Sample; 9] = [
    Sample {
        id: "claude-code",
        file: ".claude.json",
        rich: "{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"docs\": {\n      \"type\": \"http\",\n      \"url\": \"https://example.com/mcp\"\n    }\n  },\n  \
               \"projects\": {\n    \"/src\": {\n      \"mcpServers\": {},\n      \"history\": [\"a\", \"b\"]\n    }\n  }\n}",
        broken: "{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n",
        project: Some(".mcp.json"),
    },
    Sample {
        id: "claude-desktop",
        file: ".config/Claude/claude_desktop_config.json",
        rich: "{\"globalShortcut\":\"\",\"mcpServers\":{\"files\":{\"command\":\"npx\",\"args\":[\"-y\",\"server\"]}}}",
        broken: "{\"mcpServers\": {\"a\": {}},,}",
        project: None,
    },
    Sample {
        id: "cursor",
        file: ".cursor/mcp.json",
        rich: "{\n    \"mcpServers\": {}\n}\n",
        broken: "{\n    mcpServers: {}\n}\n",
        project: Some(".cursor/mcp.json"),
    },
    Sample {
        id: "vscode",
        file: ".config/Code/User/mcp.json",
        rich: "// servers of mine\n{\n\t\"inputs\": [\n\t\t{ \"id\": \"key\", \"type\": \"promptString\", \"password\": true }, // asked once\n\t],\n\t\
               \"servers\": {\n\t\t/* the tracker */\n\t\t\"tracker\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"https://example.com\", // remote\n\t\t},\n\t\t\
               // more to come\n\t},\n}\n",
        broken: "{ \"servers\": { /* open }\n",
        project: Some(".vscode/mcp.json"),
    },
    Sample {
        id: "codex",
        file: ".codex/config.toml",
        rich: "# mine\nmodel = \"o\"   # the small one\n\n[mcp_servers.docs]\ncommand = 'npx'\nargs = [\n  '-y', # yes\n  'docs',\n]\n\n\
               [projects.\"/src\"]\ntrust_level = \"trusted\"",
        broken: "model = \"o\n[mcp_servers.docs]\n",
        project: Some(".codex/config.toml"),
    },
    Sample {
        id: "gemini",
        file: ".gemini/settings.json",
        rich: "{\r\n  // look\r\n  \"ui\": { \"theme\": \"GitHub\" },\r\n  \"selectedAuthType\": \"key\"\r\n}\r\n",
        broken: "\"settings\"\n",
        project: Some(".gemini/settings.json"),
    },
    Sample {
        id: "opencode",
        file: ".config/opencode/opencode.json",
        rich: "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"jira\": { \"type\": \"remote\", \"url\": \"https://example.com\" }, // work\n  },\n  \
               \"autoupdate\": true,\n}\n",
        broken: "{ \"mcp\": [] }\n",
        project: Some("opencode.json"),
    },
    Sample {
        id: "zed",
        file: ".config/zed/settings.json",
        rich: "// Zed settings\n//\n// see the documentation\n{\n  \"ui_font_size\": 17,\n  // dark at night\n  \"theme\": { \"mode\": \"system\" }\n}\n",
        broken: "{ 'theme': 1 }\n",
        project: Some(".zed/settings.json"),
    },
    Sample {
        id: "windsurf",
        file: ".codeium/windsurf/mcp_config.json",
        rich: "{\n  \"mcpServers\": {\n    \"github\": {\n      \"command\": \"docker\",\n      \"args\": [\"run\"],\n      \"env\": {\"TOKEN\": \"ghp_secret\"}\n    }\n  }\n}\n",
        broken: "",
        project: None,
    },
];
