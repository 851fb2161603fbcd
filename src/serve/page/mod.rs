//! Page: the pages for people.

pub mod login;

use super::app::App;
use axum::Router;
use std::sync::Arc;

/// The pages.
pub fn routes() -> Router<Arc<App>> {
    Router::new()
}
