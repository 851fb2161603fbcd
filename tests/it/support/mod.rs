//! What several rooms use: repositories of fixtures and in this process, an MCP client, and an HTTP server.

pub mod fixtures;
pub mod mcp_client;
pub mod sandbox;
pub mod server;
