//! Routes: paths and their handlers.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};

use super::app::App;
use super::failure::Failure;
use super::guard;
use super::health;
use super::job::Job;
use super::tokens::Refusal;
use super::{api, mcp, openapi, page, repositories};

/// Maximum size of the body of a request.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Maximum size of the body of a login, which anyone may send.
const MAX_LOGIN_BYTES: usize = 16 << 10;

/// All paths of the server.
pub fn router(app: Arc<App>) -> Router {
    let api = Router::new()
        .route("/api/search", get(api::search))
        .route("/api/similar", get(api::similar))
        .route("/api/file", get(api::file))
        .route("/api/files", get(api::files))
        .route("/api/outline", get(api::outline))
        .route("/api/graph", get(api::graph))
        .route("/api/history", get(api::history))
        .route("/api/ask", get(api::ask))
        .route("/api/repositories", get(repositories::list))
        .route("/api/status", get(api::status))
        .route("/api/update", post(repositories::update))
        .route("/api/openapi.json", get(openapi_document));

    let for_machines =
        api.route("/health/", get(health)).route("/health", get(health)).route("/metrics", get(metrics));

    // A layer covers all routes that were added before it, and the fallback.
    for_machines
        .route("/login", post(login).layer(DefaultBodyLimit::max(MAX_LOGIN_BYTES)))
        .merge(page::routes())
        .merge(mcp::routes(&app))
        .fallback(not_found)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

async fn not_found(State(app): State<Arc<App>>, headers: HeaderMap, uri: Uri) -> Response {
    let failure = Failure::not_found(format!("there is no page {}", uri.path()));
    let is_for_machines = ["/api/", "/mcp/", "/health/"].iter().any(|start| uri.path().starts_with(start));
    match page::is_wanted(&headers) && !is_for_machines {
        true => page::of_failure(&app.name, &failure),
        false => failure.into_response(),
    }
}

async fn openapi_document() -> Json<serde_json::Value> {
    Json(openapi::document())
}

/// `GET /health/`; 503 if no search can be answered.
async fn health(job: Job) -> Response {
    let app = job.app.clone();
    let shared_app = app.clone();
    // A client that may not see all repositories gets no totals, whether the catalogue can be opened or not.
    let access = job.access.clone();
    let health = match job.run(move |work| Ok(health::health(&shared_app, &work.access, Ok(work)))).await {
        Ok(health) => health,
        Err(failure) => health::health(&app, &access, Err(&failure)),
    };

    let status = match health.status {
        health::HealthStatus::Unhealthy => StatusCode::SERVICE_UNAVAILABLE,
        health::HealthStatus::Healthy | health::HealthStatus::Degraded => StatusCode::OK,
    };
    (status, Json(health)).into_response()
}

/// `GET /metrics`
async fn metrics(job: Job) -> Result<Response, Failure> {
    job.access.check_all("the metrics")?;
    let app = job.app.clone();
    let shared_app = app.clone();
    let gathered = job
        .run(move |work| {
            Ok((
                shared_app.status(work.codebase()),
                work.searcher().embedder().and_then(|it| it.api_figures()),
            ))
        })
        .await;

    // The counters are useful even if the repository cannot be opened.
    let (status, api) = gathered.unwrap_or_default();
    let text = app
        .metrics
        .text(app.started.elapsed(), status.as_deref(), api.as_ref())
        .map_err(Failure::internal)?;
    Ok(([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}

/// `POST /login`: takes the token from a form and gives the browser its cookie.
async fn login(
    State(app): State<Arc<App>>,
    peer: Option<Extension<guard::Peer>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    // The body of a form is encoded like a query string.
    let form = std::str::from_utf8(&body).ok().and_then(|body| format!("/?{body}").parse::<Uri>().ok());
    let params = form.and_then(|form| super::params::Params::parse(&form).ok()).unwrap_or_default();
    let typed = params.text("token").unwrap_or_default();

    let Some(tokens) = &app.tokens else { return Redirect::to("/").into_response() };
    match tokens.find(typed, guard::address_of(peer.as_deref())) {
        Ok(token) => ([(header::SET_COOKIE, token.set_cookie())], Redirect::to("/")).into_response(),
        Err(Refusal::TooMany) if page::is_wanted(&headers) => {
            page::of_failure(&app.name, &Failure::too_many_tokens())
        }
        Err(Refusal::TooMany) => Failure::too_many_tokens().into_response(),
        Err(Refusal::NoToken) => {
            (StatusCode::UNAUTHORIZED, page::login::page(&app.name, true)).into_response()
        }
    }
}
