//! Guard: the checks that every request passes before its handler, and the headers of every response.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use codeweaver::service::{ErrorKind, RequestId};

use super::access::Access;
use super::app::App;
use super::failure::Failure;
use super::page;
use super::tokens::Refusal;

/// Headers of every response: pages load nothing from other hosts, and other sites cannot frame them.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // With `no-referrer`, browsers would submit the login form without its origin.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];
/// Header with the id that the log records of the request have.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Paths that are served without a token, since the login form needs them.
const OPEN_PATHS: [&str; 4] = ["/login", "/assets/style.css", "/assets/page.js", "/assets/icon.svg"];

/// The address that a request has come from.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// Checks host, origin and token, and adds the headers of every response.
pub async fn guard(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::random();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    request.extensions_mut().insert(id.clone());

    let mut response = match admit(&app, &request) {
        Ok(access) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(refusal) => *refusal,
    };

    let status = response.status().as_u16();
    let duration_ms = started.elapsed().as_millis() as u64;
    app.metrics.requested(status);
    id.run(|| {
        tracing::info!(component = "server", operation = "request", duration_ms, %method, path, status, "request");
    });

    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(REQUEST_ID, id);
    }
    // Answers change with the repository and depend on the token; only assets may be cached.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));

    response
}

/// The address of a client. Those whose address is not known are one peer.
pub fn address_of(peer: Option<&Peer>) -> IpAddr {
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0)
}

/// The access of the client of a request; the response if the request is refused.
fn admit(app: &App, request: &Request) -> Result<Access, Box<Response>> {
    let refused = |failure: Failure| Box::new(failure.into_response());

    if !app.names.allow(request.uri(), request.headers()) {
        let why =
            "the host of the request, or the origin of the page that sent it, is not one of this server";
        let failure = Failure::new(ErrorKind::NotAllowed, "this request is refused", why);
        return Err(refused(failure.with_fix("git codeweaver serve --allow-host NAME")));
    }

    let Some(tokens) = &app.tokens else { return Ok(Access::All) };
    let path = request.uri().path();
    match tokens.access_of(request.headers(), address_of(request.extensions().get())) {
        Ok(access) => {
            let access = app.narrowed(access).map_err(refused)?;
            // The tools for agents cannot be limited to some repositories of a catalogue.
            if access != Access::All && path.starts_with("/mcp") {
                let why = "the token is good for some repositories only";
                let what = "agents cannot use this token";
                return Err(refused(Failure::new(ErrorKind::NotAllowed, what, why)));
            }
            return Ok(access);
        }
        // These paths show nothing of a repository.
        Err(_) if OPEN_PATHS.contains(&path) => return Ok(Access::Repositories(Arc::new([]))),
        Err(Refusal::TooMany) => return Err(refused(Failure::too_many_tokens())),
        Err(Refusal::NoToken) => {}
    }

    // A browser gets the login form, a program the failure as JSON.
    if page::is_wanted(request.headers()) {
        let form = page::login::page(&app.name, false);
        return Err(Box::new((StatusCode::UNAUTHORIZED, form).into_response()));
    }

    let why = "the request presents none, or a wrong one";
    let failure = Failure::unauthorised("a token is needed", why)
        .with_fix("send the header `Authorization: Bearer TOKEN`");
    let challenge = [(header::WWW_AUTHENTICATE, "Bearer realm=\"git-codeweaver\"")];
    Err(Box::new((challenge, failure).into_response()))
}
