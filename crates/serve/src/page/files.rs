//! Files: a directory.

use std::collections::BTreeMap;

use axum::response::Response;
use maud::{Markup, html};

use codeweaver::query::listing::ListedFile;
use codeweaver::query::view::MatchState;
use codeweaver_git::quoting;
use codeweaver_text::{bytes, count, plural};

use super::code::{badge, safe};
use super::frame::{Page, Section};
use super::{Asked, file, links, respond};
use crate::api;

/// Maximum number of entries listed of a directory.
const MAX_ENTRIES: usize = 2000;

/// `GET /files`: the directory `path`, or the root, in `rev`.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        let path = work.params.text("path").unwrap_or_default().trim_matches('/').to_owned();
        let rev = work.params.text("rev");
        let pathspec = format!(":(top,literal){path}");
        let listing = api::list(work, (!path.is_empty()).then_some(pathspec.as_str()).into_iter(), rev)?;

        let directory = Directory::new(&path, &listing.files);
        if directory.is_empty() && !path.is_empty() {
            return Err(crate::failure::Failure::not_found(format!("there is no directory {path}")));
        }

        let title = if path.is_empty() { "Files" } else { &path };
        let body = html! {
            section.files aria-labelledby="title" {
                h1 #title {
                    @if path.is_empty() { "Files" } @else {
                        a.dir href=(links::files("", rev)) { (safe(&work.app.name)) } "/" wbr; (file::crumbs(&path, rev))
                    }
                }
                p.facts {
                    (plural(listing.files.len() as u64, "file"))
                    @if let Some(rev) = rev { " in " code { (safe(rev)) } }
                    " · " a href=(links::search_in(&path)) { "Search here" }
                }
                @for warning in &listing.warnings { p.warning { (safe(warning)) } }
                (directory.table(&path, rev))
            }
        };

        Ok(Page::new(title, Section::Files, body))
    })
    .await
}

/// The direct entries of a directory.
#[derive(Default)]
struct Directory<'a> {
    /// Names with the number of files below them.
    directories: BTreeMap<&'a str, u64>,
    files: Vec<(&'a str, &'a ListedFile)>,
}

impl<'a> Directory<'a> {
    /// The entries of `path`, empty for the root, of which `files` are all files.
    fn new(path: &str, files: &'a [ListedFile]) -> Directory<'a> {
        let mut directory = Directory::default();

        for file in files {
            let below = match path {
                "" => Some(file.path.as_slice()),
                path => file
                    .path
                    .strip_prefix(quoting::bytes(path).as_slice())
                    .and_then(|rest| rest.strip_prefix(b"/")),
            };

            // Names that are not UTF-8 are left out of the tree; the search finds them.
            let Some(below) = below.and_then(|below| std::str::from_utf8(below).ok()) else { continue };
            match below.split_once('/') {
                Some((name, _)) => *directory.directories.entry(name).or_default() += 1,
                None => directory.files.push((below, file)),
            }
        }

        directory
    }

    fn is_empty(&self) -> bool {
        self.directories.is_empty() && self.files.is_empty()
    }

    fn table(&self, path: &str, rev: Option<&str>) -> Markup {
        let in_path = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
        let n_more = self.files.len().saturating_sub(MAX_ENTRIES);

        html! {
            div.wide {
                table.list {
                    thead { tr {
                        th scope="col" { "Name" } th scope="col" { "Language" }
                        th.number scope="col" { "Lines" } th.number scope="col" { "Size" }
                    } }
                    tbody {
                        @for (name, n) in &self.directories {
                            tr {
                                th scope="row" { a.open href=(links::files(&in_path(name), rev)) { (safe(name)) "/" } }
                                td colspan="3" { span.count { (plural(*n, "file")) } }
                            }
                        }
                        @for (name, file) in self.files.iter().take(MAX_ENTRIES) {
                            tr {
                                th scope="row" {
                                    a.open href=(links::file(&in_path(name), None, rev)) { (safe(name)) }
                                    @if let Some(state) = file.state { (badge(MatchState::from(state))) }
                                }
                                td {
                                    @match file.skipped {
                                        Some(reason) => a.reason href="/skipped" {
                                            "not indexed: " (reason.name().replace('_', " "))
                                        },
                                        None => (file.language),
                                    }
                                }
                                td.number { @if let Some(lines) = file.lines { (count(u64::from(lines))) } }
                                td.number { @if let Some(size) = file.bytes { (bytes(size)) } }
                            }
                        }
                    }
                }
            }
            @if n_more > 0 { p.note { (plural(n_more as u64, "more file")) " not listed here" } }
        }
    }
}
