//! Skipped: the files that are left out of the index, with the reasons.

use axum::response::Response;
use maud::{Markup, html};

use codeweaver_git::quoting;
use codeweaver_index::policy::SkipReason;
use codeweaver_index::status::{self, SkippedFile};
use codeweaver_text::{count, plural};

use super::code::safe;
use super::frame::{Page, Section};
use super::{Asked, links, respond};
use crate::failure::Failure;

/// Maximum number of paths listed of each reason, and of one reason on a page of its own.
const MAX_PATHS: usize = 50;
const PAGE: usize = 1000;

/// `GET /skipped`: all reasons, or the paths of `reason` from `offset` on.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        work.check_all("this page")?;
        let report = status::status(work.codebase(), true)?;
        let files = report.skipped_files.unwrap_or_default();

        let body = match work.params.text("reason") {
            Some(name) => {
                let reason = SkipReason::all().find(|reason| reason.name() == name);
                let reason = reason.ok_or_else(|| Failure::parameter("reason", "a reason of this page"))?;
                let offset = work.params.number("offset", usize::MAX)?.unwrap_or(0);
                one(reason, &with_reason(&files, reason), offset)
            }
            None => {
                let reasons = SkipReason::all().map(|reason| (reason, with_reason(&files, reason)));
                all(report.files, files.len(), reasons)
            }
        };

        Ok(Page::new("Left out", Section::Status, body))
    })
    .await
}

/// The files that are left out for `reason`.
fn with_reason(files: &[SkippedFile], reason: SkipReason) -> Vec<&SkippedFile> {
    files.iter().filter(|file| file.reason == reason.name()).collect()
}

fn all<'a>(
    n_indexed: u64,
    n_skipped: usize,
    reasons: impl Iterator<Item = (SkipReason, Vec<&'a SkippedFile>)>,
) -> Markup {
    let mut reasons: Vec<_> = reasons.filter(|(_, files)| !files.is_empty()).collect();
    reasons.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));

    html! {
        section.skipped aria-labelledby="title" {
            h1 #title { "Left out of the index" }
            p {
                (plural(n_indexed, "file")) " indexed, " (count(n_skipped as u64)) " left out. "
                "Exact text and expressions are searched in most of these too; by meaning they are not found."
            }
            @for (reason, files) in reasons {
                h2 { (name(reason)) " " span.count { (count(files.len() as u64)) } }
                p { (explanation(reason)) }
                details {
                    summary { "Paths" span.visually-hidden { " left out as " (name(reason)) } }
                    (paths(files.iter().take(MAX_PATHS)))
                    @if files.len() > MAX_PATHS {
                        p { a href={ "/skipped?reason=" (reason.name()) } { "All " (plural(files.len() as u64, "path")) } }
                    }
                }
            }
        }
    }
}

fn one(reason: SkipReason, files: &[&SkippedFile], offset: usize) -> Markup {
    let next = offset.saturating_add(PAGE);
    let at = |offset: usize| format!("/skipped?reason={}&offset={offset}", reason.name());

    html! {
        section.skipped aria-labelledby="title" {
            h1 #title { "Left out: " (name(reason)) " " span.count { (count(files.len() as u64)) } }
            p { (explanation(reason)) }
            (paths(files.iter().skip(offset).take(PAGE)))
            nav.pages aria-label="Pages of paths" {
                a href="/skipped" { "All reasons" }
                @if offset > 0 { a rel="prev" href=(at(offset.saturating_sub(PAGE))) { "← Before" } }
                @if next < files.len() { a rel="next" href=(at(next)) { "After →" } }
            }
        }
    }
}

fn paths<'a>(files: impl Iterator<Item = &'a &'a SkippedFile>) -> Markup {
    // Secrets are not shown, and links and submodules have no text.
    let without_page = ["secret", "symlink", "submodule"];

    html! {
        ul.paths {
            @for file in files {
                li {
                    @if without_page.contains(&file.reason) {
                        (safe(&quoting::printed(&file.path)))
                    } @else {
                        a href=(links::file(&file.path, None, None)) { (quoting::printed(&file.path)) }
                    }
                }
            }
        }
    }
}

fn name(reason: SkipReason) -> String {
    reason.name().replace('_', " ")
}

fn explanation(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Binary => "No text, by its contents or its name.",
        SkipReason::TooLarge => "Larger than the setting policy.max_blob_bytes allows.",
        SkipReason::Generated => "Written by a program, by its name, its header or .gitattributes.",
        SkipReason::Vendored => "Code of others that is kept in the repository.",
        SkipReason::Minified => "Code without line breaks, made for machines.",
        SkipReason::LockFile => "Versions of dependencies, written by a package manager.",
        SkipReason::LfsPointer => "Stands for contents that are in Git LFS.",
        SkipReason::Secret => "A credential, by its name or its contents. It is never shown.",

        SkipReason::Excluded => {
            "Excluded by the setting policy.exclude, or a path that git would not check out."
        }
        SkipReason::NotIncluded => "Matched by no glob of the setting policy.include.",
        SkipReason::Ignored => "Ignored by .codeweaverignore, or by codeweaver=off in .gitattributes.",

        SkipReason::Symlink => "A symbolic link; the file that it points to is indexed by its own path.",
        SkipReason::Submodule => "A submodule is a repository of its own, with an index of its own.",
        SkipReason::Empty => "Nothing is in it.",

        SkipReason::Crashed => "Reading it ended an earlier run. It can still be searched as text.",
        SkipReason::NotLocal => "Its contents are not in this partial clone.",
        SkipReason::Filtered => "It has a filter driver, such as git-crypt, which is never run.",
        SkipReason::GeneratedDocs => "The output of a documentation generator.",
    }
}
