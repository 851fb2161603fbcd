//! File: the text of a file with its outline.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, json};

use codeweaver::query::outline::OutlineSymbol;
use codeweaver::query::view::MatchState;
use codeweaver::query::{FileText, Outline};
use codeweaver_chunk::syntax::syntax_of_lines;
use codeweaver_git::quoting;
use codeweaver_text::{plural, visible};

use super::code::{self, badge, safe};
use super::frame::{Page, Section};
use super::{Asked, copy, links, respond};

/// Maximum number of symbols listed of an outline.
const MAX_SYMBOLS: usize = 2000;

/// `GET /file`: `path` in `rev`, or with the contents `blob`; `lines` are marked.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        let params = &work.params;
        let path = params.required("path")?;
        let rev = params.text("rev");
        let file = work.read(path, None)?;
        let outline = work.outline(path, rev).map_err(|failure| failure.why);

        // A permanent link may be about an older version than the path has now.
        let outline = match outline {
            Ok(outline) if outline.blob != file.blob => {
                Err("It is known for the present version of the file only.".to_owned())
            }
            other => other,
        };

        let view = View { file: &file, rev, is_permanent: params.text("blob").is_some() };
        let marked = lines(params.text("lines"));
        Ok(Page::new(&file.path, Section::Files, view.body(outline.as_ref(), marked)))
    })
    .await
}

/// `10` or `10-20`.
fn lines(text: Option<&str>) -> Option<(u32, u32)> {
    let text = text?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.parse().ok()?, last.parse().ok()?))
}

struct View<'a> {
    file: &'a FileText,
    rev: Option<&'a str>,
    is_permanent: bool,
}

impl View<'_> {
    fn body(&self, outline: Result<&Outline, &String>, marked: Option<(u32, u32)>) -> Markup {
        let file = self.file;

        html! {
            div.columns {
                section.file aria-labelledby="title" {
                    (self.heading())
                    (self.tools())
                    @if let Some(note) = file.note() { p.warning { "The file is " (note) "." } }
                    @if file.text.is_empty() { p.note { "The file is empty." } } @else { (self.text(marked)) }
                    (self.copy(marked))
                }
                aside #outline aria-labelledby="outline-title" {
                    h2 #outline-title { "Outline" }
                    @match outline {
                        Ok(outline) => (self.outline(outline)),
                        Err(why) => p.note { (safe(why)) },
                    }
                }
            }
        }
    }

    fn heading(&self) -> Markup {
        let file = self.file;

        html! {
            h1 #title { (crumbs(&file.path, self.rev)) (badge(file.state)) }
            p.facts {
                (file.language) " · " (plural(u64::from(file.total_lines), "line"))
                @if self.is_permanent { " · contents " code { (safe(&file.blob)) } }
                @else if let Some(rev) = self.rev { " · in " code { (safe(rev)) } }
            }
        }
    }

    fn tools(&self) -> Markup {
        let file = self.file;
        let is_stored = file.state == MatchState::Committed || self.is_permanent;
        let permanent = is_stored.then(|| links::permanent(&file.path, &file.blob));

        html! {
            div.tools {
                ul.actions {
                    li { a href=(links::history_of_file(&file.path)) { "History" } }
                    @if matches!(file.state, MatchState::Staged | MatchState::Dirty) {
                        li { a href=(links::changes(None, Some(&file.path), None)) { "Uncommitted changes" } }
                    }
                    @if let Some(permanent) = &permanent {
                        li { a #permalink href=(permanent) { "Permanent link" } " " kbd { "y" } }
                    }
                    @if self.is_permanent || self.rev.is_some() {
                        li { a href=(links::file(&file.path, None, None)) { "Present version" } }
                    }
                    li.to-filters { a href="#outline" { "Outline" } }
                }

                form.rev action="/file" method="get" {
                    input type="hidden" name="path" value=(file.path);
                    label for="rev" { "Revision" }
                    input #rev name="rev" value=(visible(self.rev.unwrap_or_default())) placeholder="branch, tag, commit"
                        autocomplete="off" autocapitalize="none" spellcheck="false";
                    button type="submit" { "Show" }
                }
            }
        }
    }

    fn text(&self, marked: Option<(u32, u32)>) -> Markup {
        let first = self.file.span.0;

        let marked = marked.map(|(first, last)| first..=last);
        let lines: Vec<&str> = self.file.text.lines().collect();
        let syntax = syntax_of_lines(&lines, &self.file.language);

        html! {
            div #text.code.whole tabindex="0" role="group" aria-label={ "Text of " (quoting::printed(&self.file.path)) } {
                pre {
                    @for ((number, line), syntax) in (first..).zip(lines).zip(&syntax) {
                        @let is_marked = marked.as_ref().is_some_and(|lines| lines.contains(&number));
                        span.line.selected[is_marked] id={ "L" (number) } {
                            a.n href={ "#L" (number) } tabindex="-1" { (number) }
                            code { (code::line_of_code(line, &[], syntax)) "\n" }
                        }
                    }
                }
            }
        }
    }

    fn outline(&self, outline: &Outline) -> Markup {
        let n_more = outline.symbols.len().saturating_sub(MAX_SYMBOLS);

        html! {
            @if let Some(why) = outline.why_incomplete() { p.note { (why) } }
            @if outline.symbols.is_empty() && outline.complete { p.note { "It defines nothing." } }
            ul.outline {
                @for symbol in outline.symbols.iter().take(MAX_SYMBOLS) { (self.symbol(symbol)) }
            }
            @if n_more > 0 { p.note { (plural(n_more as u64, "more definition")) } }
        }
    }

    fn symbol(&self, symbol: &OutlineSymbol) -> Markup {
        let is_code = !["heading", "key", "selector"].contains(&symbol.kind);
        let uses = links::definition(&self.file.path, symbol.span.0, &symbol.qualified_name, self.rev);
        let name = safe(&symbol.name);

        html! {
            li class={ "nesting-" (symbol.nesting.min(6)) } {
                a href={ "#L" (symbol.span.0) } title=(safe(&symbol.signature)) { (name) }
                " " span.kind { (symbol.kind.replace('_', " ")) }
                @if is_code {
                    " " a.uses href=(uses) { "uses" span.visually-hidden { " of " (name) } }
                }
            }
        }
    }

    fn copy(&self, marked: Option<(u32, u32)>) -> Markup {
        let path = &self.file.path;
        let place = marked.map_or_else(|| path.clone(), |(first, last)| format!("{path}:{first}-{last}"));
        let mut command = format!("git codeweaver read {}", copy::quoted(&place));

        let mut arguments = Map::new();
        arguments.insert("file".to_owned(), json!(path));

        if let Some((first, last)) = marked {
            arguments.insert("start_line".to_owned(), json!(first));
            arguments.insert("end_line".to_owned(), json!(last));
        }

        if let Some(rev) = self.rev {
            command.push_str(&format!(" --rev {}", copy::quoted(rev)));
            arguments.insert("rev".to_owned(), json!(rev));
        }

        copy::panel(&command, "read_code", arguments)
    }
}

/// The path, each of its directories a link.
pub fn crumbs(path: &str, rev: Option<&str>) -> Markup {
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    let ends = path[..name_at].match_indices('/').map(|(at, _)| at);

    html! {
        @for end in ends {
            @let start = path[..end].rfind('/').map_or(0, |at| at + 1);
            a.dir href=(links::files(&path[..end], rev)) { (safe(&path[start..end])) } "/" wbr;
        }
        span.name { (safe(&path[name_at..])) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_of_a_path_are_links() {
        assert_eq!(
            crumbs("a/b/<c>", None).into_string(),
            "<a class=\"dir\" href=\"/files?path=a\">a</a>/<wbr><a class=\"dir\" href=\"/files?path=a/b\">b</a>/<wbr>\
             <span class=\"name\">&lt;c&gt;</span>"
        );
        assert_eq!(crumbs("c", None).into_string(), "<span class=\"name\">c</span>");
    }

    #[test]
    fn lines_are_read() {
        assert_eq!((lines(Some("3")), lines(Some("3-9"))), (Some((3, 3)), Some((3, 9))));
        assert_eq!((lines(Some("x")), lines(Some("1-")), lines(None)), (None, None, None));
    }
}
