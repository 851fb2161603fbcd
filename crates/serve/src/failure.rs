//! Failure: the response to a request that has no answer.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use codeweaver::service::{ErrorKind, Fix, ServiceError};
use codeweaver_text::safe_json;

use super::TIME_LIMIT;

/// Seconds after which a refused client may try again.
const RETRY_AFTER: &str = "2";

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Failure {
    #[serde(skip)]
    pub status: u16,
    pub kind: ErrorKind,
    /// The operation that has failed.
    #[schemars(description = "What has failed.")]
    pub error: String,
    pub why: String,
    /// Advice for the user.
    #[schemars(description = "What to do about it.")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fix: String,
}

impl Failure {
    pub fn new(kind: ErrorKind, error: impl Into<String>, why: impl Into<String>) -> Failure {
        let status = status_of(kind).as_u16();
        Failure { status, kind, error: error.into(), why: why.into(), fix: String::new() }
    }

    pub fn with_fix(self, fix: impl Into<String>) -> Failure {
        Failure { fix: fix.into(), ..self }
    }

    pub fn bad_request(why: impl Into<String>) -> Failure {
        Failure::new(ErrorKind::InvalidArguments, "the request cannot be answered", why)
    }

    /// A parameter that is missing or cannot be used.
    pub fn parameter(name: &str, must: &str) -> Failure {
        Failure::bad_request(format!("`{name}` must be {must}"))
    }

    pub fn not_found(why: impl Into<String>) -> Failure {
        Failure::new(ErrorKind::NotFound, "not found", why)
    }

    /// The client has presented no token, or a wrong one.
    pub fn unauthorised(error: impl Into<String>, why: impl Into<String>) -> Failure {
        let failure = Failure::new(ErrorKind::NotAllowed, error, why);
        Failure { status: StatusCode::UNAUTHORIZED.as_u16(), ..failure }
    }

    /// Too many wrong tokens have come from the address of the client.
    pub fn too_many_tokens() -> Failure {
        let why = "too many wrong ones have come from this address";
        let failure = Failure::new(ErrorKind::NotAllowed, "the token was not looked at", why);
        let failure = failure.with_fix("try again in a moment");
        Failure { status: StatusCode::TOO_MANY_REQUESTS.as_u16(), ..failure }
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn internal(error: impl std::fmt::Display) -> Failure {
        Failure::new(ErrorKind::Failed, "the request has failed", error.to_string())
            .with_fix("git codeweaver doctor")
    }

    pub fn busy() -> Failure {
        let why = "more requests are waiting than it answers in reasonable time";
        Failure::new(ErrorKind::Busy, "the server is busy", why).with_fix("ask again in a moment")
    }
}

/// The failure for an error of the library.
impl<E: Into<ServiceError>> From<E> for Failure {
    fn from(error: E) -> Failure {
        let ServiceError { kind, what, why, fix, .. } = error.into();

        // While the client waits, only the deadline cancels a request.
        if kind == ErrorKind::Cancelled {
            let why = format!("it was not done within {} s", TIME_LIMIT.as_secs());
            return Failure::new(kind, "the answer took too long", why);
        }

        Failure::new(kind, what, why).with_fix(fix_of(&fix))
    }
}

fn status_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::InvalidArguments => StatusCode::BAD_REQUEST,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::NotAllowed => StatusCode::FORBIDDEN,
        ErrorKind::NotReady | ErrorKind::RequiresReindex | ErrorKind::NotIndexed | ErrorKind::Busy => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        ErrorKind::Cancelled => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Interrupted | ErrorKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The remedy as an action of a client, which has parameters and not options.
fn fix_of(fix: &Fix) -> String {
    match fix {
        Fix::Parameter(name) => format!("correct `{name}`; /api/openapi.json describes the parameters"),
        Fix::Pattern => "correct the pattern, or search for it as a text with mode=exact".to_owned(),
        Fix::Listing => "/api/files lists the files".to_owned(),
        Fix::Advice(_) | Fix::Repository | Fix::Repair(_) => fix.to_string(),
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        // Strings can always be written.
        let text = serde_json::to_string(&self).map(safe_json).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, "application/json")], text).into_response();
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(RETRY_AFTER));
        }
        response
    }
}
