//! What several rooms use: repositories of fixtures and in this process, and an MCP client.

pub mod fixtures;
pub mod mcp_client;
pub mod sandbox;
