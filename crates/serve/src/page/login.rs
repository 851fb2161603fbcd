//! Login: the form for the token.

use axum::http::StatusCode;
use axum::response::Response;
use maud::html;

use super::code::safe;
use super::frame;

/// The form, for the repository called `name`. `is_wrong` after a wrong token.
pub fn page(name: &str, is_wrong: bool) -> Response {
    let title = format!("Token for {}", safe(name));

    let body = html! {
        form.login action="/login" method="post" {
            h1 { (title) }
            p { "This server needs a token." }
            @if is_wrong { p.warning #wrong role="alert" { "That is not the token." } }
            label for="token" { "Token" }
            input #token name="token" type="password" required autofocus autocomplete="current-password"
                aria-describedby=[is_wrong.then_some("wrong")];
            button type="submit" { "Sign in" }
        }
    };

    frame::response(StatusCode::UNAUTHORIZED, frame::bare(&title, &body))
}
