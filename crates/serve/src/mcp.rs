//! Mcp: the tools for agents over streamable HTTP, at `/mcp`.
//!
//! It is the same server as over stdio, but a call cannot name a repository that is not served here.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::{self, Next};
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use codeweaver_mcp::server::Server;

use super::app::App;
use super::sessions::Sessions;

/// Header with the name of a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The sessions of clients, with those of the transport.
#[derive(Clone)]
struct Bounded {
    sessions: Arc<Sessions>,
    manager: Arc<LocalSessionManager>,
}

/// The path `/mcp`.
pub fn routes(app: &Arc<App>) -> Router<Arc<App>> {
    // The guard has already checked host and origin of every request.
    let config = StreamableHttpServerConfig::default().with_allowed_hosts(app.names.all().to_vec());

    let (codebases, queues) = (app.codebases.clone(), app.queues());
    let manager: Arc<LocalSessionManager> = Arc::default();
    let service = StreamableHttpService::new(
        move || Ok(Server::over(codebases.clone(), queues.clone())),
        manager.clone(),
        config,
    );

    let bounded = Bounded { sessions: Arc::default(), manager };
    Router::new().route_service("/mcp", service).layer(middleware::from_fn_with_state(bounded, bound))
}

/// Notes the use of sessions, and ends one for another that begins if there are too many. A client whose
/// session has ended gets 404, after which the protocol has it begin another one.
async fn bound(State(bounded): State<Bounded>, request: Request, next: Next) -> Response {
    if let Some(used) = session_of(request.headers()) {
        bounded.sessions.used(used);
    }

    let response = next.run(request).await;

    if let Some(begun) = session_of(response.headers())
        && let Some(surplus) = bounded.sessions.begun(begun)
        && let Err(error) = bounded.manager.close_session(&surplus.as_str().into()).await
    {
        tracing::debug!(component = "server", operation = "end session", %error, "it has ended already");
    }
    response
}

/// The name of the session in `headers`.
fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}
