//! Similar: code like the definition at a line.

use axum::response::Response;
use maud::html;
use serde_json::{Map, json};

use super::frame::{Page, Section};
use super::{Asked, code, copy, links, respond, results};
use crate::api;

/// `GET /similar`: `line` of `path` in `rev`.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        let response = api::similar_to(work)?;
        let path = work.params.required("path")?;
        let line = work.params.number("line", u32::MAX)?.unwrap_or(1);
        let rev = work.params.text("rev");
        let shown = results::Shown::plain(rev);

        let mut arguments = Map::new();
        arguments.insert("file".to_owned(), json!(path));
        arguments.insert("line".to_owned(), json!(line));
        let command = format!("git codeweaver similar {}", copy::quoted(&format!("{path}:{line}")));

        let body = html! {
            section.results aria-labelledby="title" {
                h1 #title {
                    "Code similar to "
                    a href=(links::file(path, Some((line, line)), rev)) { (code::path(path)) ":" (line) }
                }
                (results::notes(&response))
                @if response.matches.is_empty() { p.nothing { (code::safe(&response.summary)) } }
                @for found in &response.matches { (results::result(&shown, found)) }
                (copy::panel(&command, "find_similar", arguments))
            }
        };

        Ok(Page::new(&format!("Similar to {path}:{line}"), Section::None, body))
    })
    .await
}
