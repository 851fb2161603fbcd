//! Failure: the page of an error, with its reason and its remedy.

use axum::http::StatusCode;
use maud::{Markup, html};

use super::code::safe;
use crate::failure::Failure;

/// Milliseconds after which the script repeats a request that may be answered later.
const RETRY_MS: u32 = 2000;

pub fn body(failure: &Failure) -> Markup {
    html! {
        div.failure {
            h1 { (capitalised(&failure.error)) }
            p { (safe(&failure.why)) }
            @if !failure.fix.is_empty() {
                p { "What to do: " code { (safe(&failure.fix)) } }
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
