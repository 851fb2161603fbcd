//! Login: the form for the token.

use axum::response::{IntoResponse as _, Response};

/// The form for the token; `is_wrong` if another was typed before.
pub fn page(name: &str, is_wrong: bool) -> Response {
    let markup = maud::html! {
        h1 { (name) }
        @if is_wrong { p { "The token is wrong." } }
        form method="post" action="/login" {
            label { "Token " input type="password" name="token" required; }
            button { "Continue" }
        }
    };
    ([(axum::http::header::CONTENT_TYPE, "text/html; charset=utf-8")], markup.into_string()).into_response()
}
