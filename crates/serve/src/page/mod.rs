//! Page: the server for people, in HTML.
//!
//! ```text
//! Job ─► a module for each page ─► Page ─► frame ─► response
//! ```
//!
//! * [`search`]: the box with its results, [`results`] by meaning or [`lines`] of text, with [`filters`] and
//!   their equivalents to [`copy`].
//! * [`mod@file`], [`files`]: the text of a file with its outline; directories.
//! * [`symbol`] with its [`use_lines`], [`similar`], [`history`], [`changes`]: the uses, similar code, the
//!   history of code, and the lines that a commit changes.
//! * [`status`], [`skipped`]: the state of the index, and the files that it leaves out; [`members`]: the
//!   repositories of a catalogue.
//! * [`help`], [`login`], [`failure`]: the other pages.
//! * [`frame`]: the common parts of all pages; [`code`], [`links`]: lines of code and the URLs of pages.
//! * [`assets`]: style, script and icon.
//!
//! Every page works without its script, which adds results while typing, keys and copying.

mod assets;
mod changes;
mod code;
mod copy;
mod failure;
mod file;
mod files;
mod filters;
mod frame;
mod help;
mod history;
mod lines;
mod links;
pub mod login;
mod members;
mod results;
mod search;
mod similar;
mod skipped;
mod status;
mod symbol;
mod use_lines;

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use super::app::App;
use super::failure::Failure;
use super::job::{Job, Work};
use frame::{Page, Section};

/// The pages and their assets.
pub fn routes() -> Router<Arc<App>> {
    let pages = Router::new()
        .route("/", get(search::page))
        .route("/search", get(search::page))
        .route("/results", get(search::fragment))
        .route("/file", get(file::page))
        .route("/files", get(files::page))
        .route("/symbol", get(symbol::page))
        .route("/similar", get(similar::page))
        .route("/history", get(history::page))
        .route("/changes", get(changes::page))
        .route("/status", get(status::page))
        .route("/skipped", get(skipped::page))
        .route("/help", get(help::page));

    pages.route("/assets/{name}", get(assets::asset))
}

/// A request for a page, or the failure to read its parameters.
type Asked = Result<Job, Failure>;

/// Answers with the page that `render` makes, or with the page of its failure.
async fn respond(
    asked: Asked,
    render: impl FnOnce(&Work) -> Result<Page, Failure> + Send + 'static,
) -> Response {
    let (asked_for, rendered) = match asked {
        Ok(job) => {
            let name = job.app.name.clone();
            let query = job.params.text("q").unwrap_or_default().to_owned();
            let place = job.params.text("path").or(job.params.text("symbol")).map(str::to_owned);
            let app_name = name.clone();
            let rendered = job.run(move |work| Ok(frame::render(&app_name, &render(work)?))).await;
            (AskedFor { name, query, place }, rendered)
        }
        Err(failure) => (AskedFor::default(), Err(failure)),
    };

    match rendered {
        Ok(text) => html(StatusCode::OK, text),
        Err(failure) => failed(asked_for, &failure),
    }
}

/// Returns whether a request asks for a page, as browsers do.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// The page of the failure of a request that has no page of its own, from the server called `name`.
pub fn of_failure(name: &str, failure: &Failure) -> Response {
    failed(AskedFor { name: name.to_owned(), ..AskedFor::default() }, failure)
}

/// The parts of a request that the page of its failure shows.
#[derive(Default)]
struct AskedFor {
    /// The name of the server.
    name: String,
    query: String,
    /// The path or the symbol.
    place: Option<String>,
}

/// The page of a failure. The query stays in the box.
fn failed(asked_for: AskedFor, failure: &Failure) -> Response {
    let AskedFor { name, query, place } = asked_for;
    let body = failure::body(failure, place.as_deref());
    let page = Page { query, ..Page::new(&failure.error, Section::None, body) };
    let mut response = html(failure.status(), frame::render(&name, &page));

    let json = failure.clone().into_response();
    // The page tells programs when to try again, as the failure in JSON does.
    if let Some(seconds) = json.headers().get(header::RETRY_AFTER) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.clone());
    }

    response
}

fn html(status: StatusCode, text: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response()
}
