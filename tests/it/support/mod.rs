//! What several rooms use: repositories in this process, and an MCP client.

pub mod mcp_client;
pub mod sandbox;
