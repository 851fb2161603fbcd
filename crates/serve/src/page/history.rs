//! History: the commits that touch a file or a definition.

use axum::response::Response;
use maud::{Markup, html};

use codeweaver_store::time;

use super::code::{self, safe};
use super::frame::{Page, Section};
use super::{Asked, links, respond};
use crate::api::{self, CommitItem};
use crate::failure::Failure;

/// `GET /history`: the history of `path`, or of `symbol`, from `offset` on.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        let params = &work.params;
        let (path, symbol) = (params.text("path"), params.text("symbol"));
        if path.is_none() && symbol.is_none() {
            return Err(Failure::parameter("path", "given, or `symbol`"));
        }

        let offset = params.number("offset", usize::MAX)?.unwrap_or(0);
        let items = api::commits(work)?;
        let next = offset + items.commits.len();
        let at = |offset: usize| format!("/history?{}", params.with(&[("offset", Some(&offset.to_string()))]));
        let title = symbol.or(path).unwrap_or_default();

        let body = html! {
            section.history aria-labelledby="title" {
                h1 #title {
                    "History of "
                    @if let Some(symbol) = symbol { code { (safe(symbol)) } }
                    @if symbol.is_some() && path.is_some() { " in " }
                    @if let Some(path) = path { a href=(links::file(path, None, None)) { (code::path(path)) } }
                }
                @for warning in &items.warnings { p.warning { (safe(warning)) } }
                @if items.commits.is_empty() { p.nothing { "No commit was found." } }
                ol.commits { @for commit in &items.commits { (item(commit, path, symbol)) } }
                @if offset > 0 || items.has_more {
                    nav.pages aria-label="Pages of commits" {
                        @if offset > 0 { a rel="prev" href=(at(offset.saturating_sub(api::DEFAULT_COMMITS))) { "← Newer" } }
                        @if items.has_more && next > offset { a rel="next" href=(at(next)) { "Older →" } }
                    }
                }
            }
        };

        Ok(Page::new(&format!("History of {title}"), Section::None, body))
    })
    .await
}

fn item(commit: &CommitItem, path: Option<&str>, symbol: Option<&str>) -> Markup {
    let short = code::short_oid(&commit.commit);
    let path = commit.path.as_deref().or(path);
    // A definition that was removed is not in the commit.
    let is_there = !matches!(commit.symbol, Some("removed"));
    let moment = time::rfc3339(u64::try_from(commit.time).unwrap_or(0));
    let day = moment.get(..10).unwrap_or(&moment);

    html! {
        li {
            p {
                @match path {
                    Some(path) if is_there => a.open href=(links::file(path, None, Some(&commit.commit))) { (safe(&commit.subject)) },
                    _ => (safe(&commit.subject)),
                }
            }
            p.facts {
                code { (short) } " · " (safe(&commit.author)) " · " time datetime=(moment) { (day) }
                @if let Some(what) = commit.symbol { " · " span.kind { (event(what)) } }
                @if let Some(from) = &commit.renamed_from { " · " span.kind { "was in " (code::path(from)) } }
                " · " a href=(links::changes(Some(&commit.commit), path, symbol)) {
                    "Changes" span.visually-hidden { " of " (safe(&commit.subject)) }
                }
            }
        }
    }
}

/// The name of a change of a definition, for people.
fn event(name: &str) -> &str {
    match name {
        "signature" => "signature changed",
        "body" => "body changed",
        other => other,
    }
}
