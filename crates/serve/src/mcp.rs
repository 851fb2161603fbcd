//! Mcp: the tools for agents over streamable HTTP, at `/mcp`.
//!
//! It is the same server as over stdio, but a call cannot name a repository that is not served here.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use codeweaver_mcp::server::Server;

use super::app::App;

/// The service of `/mcp`.
pub fn service(app: &Arc<App>) -> StreamableHttpService<Server, LocalSessionManager> {
    // The guard has already checked host and origin of every request.
    let config = StreamableHttpServerConfig::default().with_allowed_hosts(app.names.all().to_vec());

    let (codebases, slots) = (app.codebases.clone(), app.slots.clone());
    StreamableHttpService::new(
        move || Ok(Server::over(codebases.clone(), slots.clone())),
        Arc::default(),
        config,
    )
}
