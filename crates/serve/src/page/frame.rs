//! Frame: the common parts of all pages.

use axum::response::Response;
use maud::{DOCTYPE, Markup, html};

use codeweaver_text::visible;

use super::assets;
use super::code::safe;

/// A page without its frame.
pub struct Page {
    pub title: String,
    /// Text in the box.
    pub query: String,
    /// Parameters that the next search from the box keeps.
    pub kept: Vec<(String, String)>,
    pub section: Section,
    pub body: Markup,
}

/// The entry of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Search,
    Files,
    Status,
    Help,
    None,
}

const SECTIONS: [(Section, &str, &str); 3] = [
    (Section::Files, "/files", "Files"),
    (Section::Status, "/status", "Index"),
    (Section::Help, "/help", "Help"),
];

impl Page {
    pub fn new(title: &str, section: Section, body: Markup) -> Page {
        Page { title: title.to_owned(), query: String::new(), kept: Vec::new(), section, body }
    }
}

/// The whole page, for the repository called `name`.
pub fn render(name: &str, page: &Page) -> String {
    let title = match page.title.as_str() {
        "" => safe(name).into_owned(),
        title => format!("{} · {}", safe(title), safe(name)),
    };

    let body = html! {
        a.skip href="#main" { "Skip to the content" }
        header {
            a.brand href="/" title="Start page" { (safe(name)) }
            (search_box(page))
            nav aria-label="Pages" {
                @for (section, href, text) in SECTIONS {
                    a href=(href) aria-current=[(section == page.section).then_some("page")] { (text) }
                }
            }
        }
        p #announce.visually-hidden role="status" {}
        main #main tabindex="-1" { (page.body) }
        footer {
            "git-codeweaver " (env!("CARGO_PKG_VERSION"))
            span.keys { " · " kbd { "/" } " search · " kbd { "j" } " " kbd { "k" } " move · " kbd { "?" } " help" }
        }
    };

    document(&title, name, &body)
}

/// A page without navigation.
pub fn bare(title: &str, body: &Markup) -> String {
    document(title, "", &html! { main #main { (body) } })
}

fn document(title: &str, name: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" data-name=(safe(name)) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" type="image/svg+xml" href=(assets::url("icon.svg"));
                link rel="stylesheet" href=(assets::url("style.css"));
                script src=(assets::url("page.js")) defer {}
            }

            body { (body) }
        }
    }
    .into_string()
}

/// The search box. A query of several lines is a pasted text, whose lines are kept.
fn search_box(page: &Page) -> Markup {
    let query = visible(&page.query);
    let hint = "Search by meaning, name, \"exact text\" or /regex/";
    html! {

        form.search role="search" action="/search" method="get" {
            label.visually-hidden for="q" { "Search" }
            @if page.query.contains('\n') {
                textarea #q name="q" rows="4" spellcheck="false" { (query) }
            } @else {
                input #q name="q" type="search" value=(query) placeholder=(hint) autocomplete="off"
                    autocapitalize="none" spellcheck="false" enterkeyhint="search"
                    autofocus[page.section == Section::Search && page.query.is_empty()];
            }
            @for (name, value) in &page.kept {
                input type="hidden" name=(name) value=(value);
            }
            button type="submit" { "Search" }
        }
    }
}

/// A response with a whole document.
pub fn response(status: axum::http::StatusCode, text: String) -> Response {
    super::html(status, text)
}
