//! Failure: the page of an error, with its reason and its remedy.

use axum::http::StatusCode;
use maud::{Markup, html};

use codeweaver::service::ErrorKind;

use super::code::safe;
use super::links;
use crate::failure::Failure;

/// Milliseconds after which the script repeats a request that may be answered later.
const RETRY_MS: u32 = 2000;

/// The reason and the remedy of a failure, and ways on. `place` is the path or the symbol that was asked for.
pub fn body(failure: &Failure, place: Option<&str>) -> Markup {
    // The remedy of a program that calls the API.
    let is_for_people = !failure.fix.is_empty() && !failure.fix.contains("/api/");
    let name = place.and_then(|place| place.trim_end_matches('/').rsplit('/').next());
    let name = name.filter(|name| failure.kind == ErrorKind::NotFound && !name.is_empty());

    html! {
        div.failure {
            h1 { (safe(&capitalised(&failure.error))) }
            p { (safe(&failure.why)) }
            @if is_for_people {
                p { "What to do: " code { (safe(&failure.fix)) } }
            }

            p.actions {
                @if let Some(name) = name { a href=(links::search(name)) { "Search for " code { (safe(name)) } } }
                a href="/" { "Search" }
                @if failure.kind != ErrorKind::NotAllowed { a href="/files" { "Files" } a href="/status" { "Index" } }
                a href="/help" { "Help" }
            }

            @if failure.status() == StatusCode::SERVICE_UNAVAILABLE {
                // The script asks again.
                p data-retry=(RETRY_MS) { a href="/status" { "The state of the index" } }
            }
        }
    }
}

/// Errors begin in lower case; headings do not.
fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
