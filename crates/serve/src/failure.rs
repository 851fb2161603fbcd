//! Failure: the response to a request that has no answer.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use codeweaver::query::QueryError;
use codeweaver_git::GitError;
use codeweaver_index::{Codebase, IndexError};

use super::TIME_LIMIT;

/// Seconds after which a refused client may try again.
const RETRY_AFTER: &str = "2";

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Failure {
    #[serde(skip)]
    pub status: u16,
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
    pub fn new(status: StatusCode, error: impl Into<String>, why: impl Into<String>) -> Failure {
        Failure { status: status.as_u16(), error: error.into(), why: why.into(), fix: String::new() }
    }

    pub fn with_fix(self, fix: impl Into<String>) -> Failure {
        Failure { fix: fix.into(), ..self }
    }

    pub fn bad_request(why: impl Into<String>) -> Failure {
        Failure::new(StatusCode::BAD_REQUEST, "the request cannot be answered", why)
    }

    /// A parameter that is missing or cannot be used.
    pub fn parameter(name: &str, must: &str) -> Failure {
        Failure::bad_request(format!("`{name}` must be {must}"))
    }

    pub fn not_found(why: impl Into<String>) -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "not found", why)
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The failure for an error of the library in `codebase`.
    pub fn from_query(error: QueryError, codebase: &Codebase) -> Failure {
        match error {
            QueryError::Parameter { .. }
            | QueryError::Pattern { .. }
            | QueryError::UnknownName { .. }
            | QueryError::NoGraph => Failure::bad_request(error.to_string()),
            QueryError::NotFound { what } => Failure::not_found(what),
            QueryError::Withheld { .. } => {
                Failure::new(StatusCode::FORBIDDEN, "this file is not served", error.to_string())
            }
            QueryError::Git(error) | QueryError::Index(IndexError::Git(error)) => Failure::of_git(&error),
            QueryError::Gated(ref lifecycle) => {
                let failure =
                    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "not indexed yet", error.to_string());

                match codebase.remedy(lifecycle) {
                    Some(fix) => failure.with_fix(fix),
                    None => failure,
                }
            }
            QueryError::Cancelled => Failure::new(
                StatusCode::GATEWAY_TIMEOUT,
                "the answer took too long",
                format!("it was not done within {} s", TIME_LIMIT.as_secs()),
            ),
            other => Failure::internal(other),
        }
    }

    pub fn of_git(error: &GitError) -> Failure {
        let status = match error {
            GitError::PathEscapes { .. } => StatusCode::BAD_REQUEST,
            GitError::NotARepository { .. } | GitError::UnknownRevision { .. } => StatusCode::NOT_FOUND,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Failure::new(status, "the repository has no answer", error.to_string()).with_fix(error.fix())
    }

    pub fn internal(error: impl std::fmt::Display) -> Failure {
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "the request has failed", error.to_string())
            .with_fix("git codeweaver doctor")
    }

    pub fn busy() -> Failure {
        let why = "more requests are waiting than it answers in reasonable time";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the server is busy", why)
            .with_fix("ask again in a moment")
    }
}

impl From<GitError> for Failure {
    fn from(error: GitError) -> Failure {
        Failure::of_git(&error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(&self)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static(RETRY_AFTER));
        }
        response
    }
}
