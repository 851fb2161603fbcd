//! Help: how queries are written, and the keys.

use axum::response::Response;
use maud::{Markup, html};

use super::frame::{Page, Section};
use super::{Asked, links, respond};

const QUERIES: [(&str, &str); 5] = [
    ("where are sessions refreshed", "What code does, in plain words"),
    ("parseHeader", "A name, also incomplete or in another naming style"),
    ("\"exact text\"", "Every line with exactly this text"),
    ("/fn \\w+_test/", "Every line that matches the regular expression; /…/i ignores case"),
    ("src/parser.rs:40", "A file, or a line in it"),
];

const FILTERS: [(&str, &str); 8] = [
    ("path:src/net", "In a directory, a file, or files that match a glob"),
    ("-path:tests", "Not in it"),
    ("-mock", "Code without the word; -\"two words\" without a text"),
    ("lang:rust", "In a language; several mean any of them"),
    ("kind:function", "Definitions of this kind: function, method, class, struct, heading, …"),
    ("rev:v1.2", "In a branch, tag or commit instead of the working tree"),
    ("state:dirty", "Only files in this state: committed, staged, dirty or untracked"),
    ("repo:team/*", "In repositories with such a name, where several are served"),
];

const KEYS: [(&str, &str); 7] = [
    ("/", "To the box"),
    ("↓ or j", "To the next result"),
    ("↑ or k", "To the result before"),
    ("Enter", "Opens the result; in the box, searches"),
    ("Escape", "From the box to the results, and back"),
    ("y", "In a file, changes the address into a permanent link"),
    ("?", "This page"),
];

/// `GET /help`.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |_| {
        let body = html! {
            section.help aria-labelledby="title" {
                h1 #title { "Help" }
                h2 { "What to ask" }
                (table("Query", "Finds", &QUERIES, true))
                p { "A pasted error with its stack trace, or a whole issue, is taken apart and searched by its parts." }

                h2 { "Filters" }
                (table("In the query", "Searches", &FILTERS, false))
                p { "Values with blanks are quoted: " code { "path:\"old code\"" } "." }

                h2 { "Keys" }
                (table("Key", "Does", &KEYS, false))
                p {
                    "In a file, a click on a number selects its line, and a click with Shift the lines up to it. "
                    "The address then names them."
                }

                h2 { "For programs" }
                p {
                    "The same answers as JSON: " a href="/api/openapi.json" { "OpenAPI document" } ". "
                    "Agents use MCP at " code { "/mcp" } ". "
                    "Monitors read " a href="/health/" { "/health/" } " and " a href="/metrics" { "/metrics" } "."
                }
            }
        };

        Ok(Page::new("Help", Section::Help, body))
    })
    .await
}

fn table(left: &str, right: &str, rows: &[(&str, &str)], links_to_search: bool) -> Markup {
    html! {
        div.wide {
            table.list {
                thead { tr { th scope="col" { (left) } th scope="col" { (right) } } }

                tbody {
                    @for (what, means) in rows {
                        tr {
                            th scope="row" {
                                @if links_to_search { a href=(links::search(what)) { code { (what) } } }
                                @else { code { (what) } }
                            }
                            td { (means) }
                        }
                    }
                }
            }
        }
    }
}
