//! Status: the contents of the index, its freshness, and the run in progress.

use std::time::Duration;

use axum::response::Response;
use maud::{Markup, html};

use codeweaver_index::status::{self, HooksInfo, Place, RunProgress, StatusReport};
use codeweaver_store::time;
use codeweaver_text::{ago, bytes, count, duration, plural};

use super::code::{self, safe};
use super::frame::{Page, Section};
use super::{Asked, members, respond};

/// Milliseconds until the script refreshes the state, while a run is in progress and otherwise.
const REFRESH_RUNNING: u32 = 1000;
const REFRESH: u32 = 10_000;

/// `GET /status`.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        work.check_all("this page")?;
        let report = status::status(work.codebase(), false)?;
        Ok(Page::new("Index", Section::Status, body(&report, &members::list(work)?)))
    })
    .await
}

/// The state in a few words.
pub fn state(report: &StatusReport) -> &'static str {
    match (report.state, report.current) {
        ("indexed", true) => "up to date",
        ("indexed", false) if report.settings_changed => "built with other settings",
        ("indexed", false) => "behind the repository",
        ("indexing", _) => "being indexed",
        ("not_indexed", _) => "not indexed",
        ("requires_reindex", _) => "must be rebuilt",
        ("index_failed", _) => "the last update failed",
        _ => "cannot be read",
    }
}

fn body(report: &StatusReport, members: &Markup) -> Markup {
    let is_running = report.progress.as_ref().is_some_and(|run| run.is_running);
    let refresh = if is_running { REFRESH_RUNNING } else { REFRESH };
    let n_skipped: u64 = report.skipped.values().sum();

    html! {
        section #status.status data-refresh=(refresh) aria-labelledby="title" {
            h1 #title { "Index" }
            p.state {
                span.badge.good[report.current] { (state(report)) }
                @if let Some(reason) = &report.reason { " " (safe(reason)) }
            }
            @if let Some(fix) = report.fix { p.warning { "What to do: " code { (fix) } } }
            @for warning in &report.warnings { p.warning { (safe(warning)) } }
            @if let Some(failure) = &report.last_failure { p.warning { "The last run failed: " (safe(failure)) } }
            @if let Some(run) = &report.progress { (progress(run)) }
            div.cards {
                (card("Files", &count(report.files), html! { (plural(report.chunks, "chunk")) }))
                (card("Left out", &count(n_skipped), html! { a href="/skipped" { "Which, and why" } }))
                (card("On disk", &bytes(report.size_bytes.total), html! { (sizes(report)) }))
            }

            h2 { "Freshness" }
            dl {
                dt { "HEAD" } dd { (place(&report.head)) }
                @if let Some(indexed) = &report.indexed { dt { "Indexed" } dd { (place(indexed)) (lag(report)) } }
                @if let Some(run) = &report.last_run {
                    dt { "Last update" }
                    dd {
                        time datetime=(run.finished_at) { (ago(run.finished_seconds, time::now())) }
                        ", took " (duration(Duration::from_millis(run.duration_ms))) ": "
                        (plural(run.files_changed, "file")) " changed, "
                        (plural(run.embedded_chunks, "chunk")) " embedded"
                    }
                }
                @if let Some(holder) = &report.lock_holder { dt { "Running" } dd { (safe(holder)) } }
                dt { "Hooks" } dd { (hooks(&report.hooks)) }
                dt { "Model" } dd { (safe(&report.model.name)) }
            }
            (members)
            @if !report.languages.is_empty() { (languages(report)) }
        }
    }
}

fn card(title: &str, figure: &str, more: Markup) -> Markup {
    html! { div.card { h2 { (title) } p.figure { (figure) } p { (more) } } }
}

fn progress(run: &RunProgress) -> Markup {
    let left = run.eta_seconds.map(|seconds| duration(Duration::from_secs(seconds)));
    let name = if run.is_running { "Indexing" } else { "Interrupted" };

    html! {
        div.progress {
            label for="progress" { (name) }
            progress #progress max=(run.files_total.max(1)) value=(run.files_processed) {}
            p {
                (count(run.files_processed)) " of " (plural(run.files_total, "file"))
                ", " (plural(run.chunks_created, "chunk"))
                @if run.errors > 0 { ", " (plural(run.errors, "error")) }
                @if let Some(left) = left { ", " (left) " left" }
            }
        }
    }
}

fn place(place: &Place) -> Markup {
    let commit = place.commit.as_deref().map(code::short_oid);
    let name = place.reference.as_deref().map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    html! {
        @match commit { Some(commit) => code { (commit) }, None => "no commit yet" }
        @if let Some(name) = name { " " (safe(name)) } @else if commit.is_some() { " detached" }
    }
}

fn lag(report: &StatusReport) -> String {
    match (report.lag.behind, report.lag.commits) {
        (false, _) | (_, Some(0)) => String::new(),
        (true, Some(n)) => format!(", {} behind", plural(n, "commit")),
        (true, None) => ", behind HEAD".to_owned(),
    }
}

fn sizes(report: &StatusReport) -> String {
    let sizes = &report.size_bytes;
    let kinds = [("vectors and chunks", sizes.shards), ("search structures", sizes.segments + sizes.graphs)];
    let parts = kinds.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {}", bytes(*n)));
    parts.collect::<Vec<_>>().join(", ")
}

fn hooks(hooks: &HooksInfo) -> Markup {
    let missing: Vec<_> =
        hooks.events.iter().filter(|(_, state)| !matches!(state.as_str(), "current" | "outdated")).collect();

    html! {
        @if let Some(problem) = &hooks.problem { "unknown: " (safe(problem)) }
        @else if hooks.installed && !hooks.binary_found {
            "installed, but the program they run is missing: " code { "git codeweaver init" }
        }
        @else if hooks.installed { "installed" }
        @else {
            "not installed; updates come from this server and from searches"
            @if !missing.is_empty() && missing.len() < hooks.events.len() {
                " (" (missing.iter().map(|(event, state)| format!("{event}: {state}")).collect::<Vec<_>>().join(", ")) ")"
            }
        }
    }
}

fn languages(report: &StatusReport) -> Markup {
    let all: u64 = report.languages.iter().map(|language| language.files).sum();

    html! {
        h2 { "Languages" }
        div.wide {
            table.list {
                thead { tr {
                    th scope="col" { "Language" } th.number scope="col" { "Files" }
                    th.number scope="col" { "Chunks" } th.bar scope="col" { "Share of files" }
                } }
                tbody {
                    @for language in &report.languages {
                        tr {
                            th scope="row" { (language.language) }
                            td.number { (count(language.files)) }
                            td.number { (count(language.chunks)) }
                            td.bar { meter min="0" max=(all.max(1)) value=(language.files) aria-label={ "Files in " (language.language) } {} }
                        }
                    }
                }
            }
        }
    }
}
