//! Changes: the lines that a commit changes, or that are not committed.

use axum::response::Response;
use maud::{Markup, html};
use serde_json::{Map, json};

use codeweaver::query::changes::Changes;
use codeweaver::query::changes::files::{FileChange, FileChangeKind};
use codeweaver::query::changes::hunks::{DiffHunk, FileDiff};
use codeweaver::query::{Cancel, QueryError};
use codeweaver_chunk::language::{self, LanguageId};
use codeweaver_chunk::syntax::{Syntax, syntax_of_lines};
use codeweaver_git::{Commit, History, Repo, quoting};
use codeweaver_store::time;
use codeweaver_text::plural;

use super::code::{self, safe};
use super::frame::{Page, Section};
use super::{Asked, copy, links, respond};
use crate::api;
use crate::failure::Failure;
use crate::job::Work;

/// Unchanged lines around a hunk.
const CONTEXT: u32 = 3;
/// Maximum number of lines of a page. The files after them are listed only.
const MAX_LINES: usize = 3000;
/// Maximum number of files that are listed.
const MAX_FILES: usize = 300;

/// `GET /changes`: the lines that the commit `rev` changes, compared with its first parent, or without `rev`
/// those that are not committed; of `path`, of the definition `symbol`, or of all files.
pub async fn page(asked: Asked) -> Response {
    respond(asked, |work| {
        let about = About {
            // A bare repository has no working tree.
            rev: work.params.text("rev").or_else(|| work.codebase().repo.is_bare().then_some("HEAD")),
            path: work.params.text("path"),
            symbol: work.params.text("symbol"),
        };

        let shown = shown(work, about)?;
        Ok(Page::new(&about.title(), Section::None, shown.body(about)))
    })
    .await
}

/// The subject of a page.
#[derive(Clone, Copy)]
struct About<'a> {
    rev: Option<&'a str>,
    path: Option<&'a str>,
    symbol: Option<&'a str>,
}

impl About<'_> {
    fn title(self) -> String {
        match (self.symbol.or(self.path), self.rev) {
            (Some(what), _) => format!("Changes of {what}"),
            (None, Some(rev)) => format!("Changes in {rev}"),
            (None, None) => "Uncommitted changes".to_owned(),
        }
    }
}

/// The changes that a page shows.
struct Shown {
    /// `None` for uncommitted changes and for those between two revisions.
    commit: Option<Commit>,
    /// The revisions that the lines are in; `None` for nothing and for the working tree.
    revisions: (Option<String>, Option<String>),
    files: Vec<ShownFile>,
    /// Number of files that are not listed.
    n_more: usize,
    warnings: Vec<String>,
}

struct ShownFile {
    change: FileChange,
    /// `None` if the page is full.
    diff: Option<FileDiff>,
    /// Number of lines of the diff that are not shown.
    n_hidden: usize,
}

fn shown(work: &Work, about: About<'_>) -> Result<Shown, Failure> {
    let request = api::changes_request(work, about.rev)?;
    let (repo, cancel) = (&work.codebase().repo, &work.cancel);

    let mut shown = work
        .run(|update| work.searcher().changes(&request, update, |changes| gather(changes, repo, cancel)))?;
    shown.warnings.extend(work.waits.take());
    Ok(shown)
}

fn gather(changes: &mut Changes<'_>, repo: &Repo, cancel: &Cancel) -> Result<Shown, QueryError> {
    changes.show_commit()?;
    let mut files = changes.files()?;
    let n_more = files.len().saturating_sub(MAX_FILES);
    files.truncate(MAX_FILES);
    changes.count_lines(&mut files)?;

    let mut n_left = MAX_LINES;
    let mut shown_files = Vec::with_capacity(files.len());
    for change in files {
        cancel.check()?;
        let diff = if n_left > 0 { Some(changes.diff(&change, CONTEXT)?) } else { None };
        let (diff, n_hidden) = cut(diff, &mut n_left);
        shown_files.push(ShownFile { change, diff, n_hidden });
    }

    let ends = &changes.ends;
    let commit = match ends.to.commit.filter(|_| ends.is_one_commit) {
        Some(id) => Some(History::open(repo)?.commit(&id)?),
        None => None,
    };
    let to = ends.to.commit.map(|id| id.to_string());
    let revisions = match &ends.from {
        _ if ends.with_worktree => (to, None),
        Some(from) => (from.commit.map(|id| id.to_string()), to),
        None => (None, to),
    };

    let warnings = std::mem::take(&mut changes.warnings);
    Ok(Shown { commit, revisions, files: shown_files, n_more, warnings })
}

/// Leaves `n_left` lines of a diff, and counts those that it leaves out.
fn cut(diff: Option<FileDiff>, n_left: &mut usize) -> (Option<FileDiff>, usize) {
    let mut hunks = match diff {
        Some(FileDiff::Hunks(hunks)) => hunks,
        other => return (other, 0),
    };

    let mut n_hidden = 0;
    for hunk in &mut hunks {
        let n_kept = hunk.lines.len().min(*n_left);
        n_hidden += hunk.lines.len() - n_kept;
        hunk.lines.truncate(n_kept);
        *n_left -= n_kept;
    }
    hunks.retain(|hunk| !hunk.lines.is_empty());
    (Some(FileDiff::Hunks(hunks)), n_hidden)
}

impl Shown {
    fn body(&self, about: About<'_>) -> Markup {
        html! {
            section.changes aria-labelledby="title" {
                h1 #title { (heading(about)) }
                @if let Some(commit) = &self.commit { (message(commit)) }
                @for warning in &self.warnings { p.warning { (safe(warning)) } }
                @if self.files.is_empty() { p.nothing { "Nothing differs." } }

                @for file in &self.files { (self.file(file, about)) }
                @if self.n_more > 0 { p.note { (plural(self.n_more as u64, "more changed file")) " not listed." } }

                (self.ways(about))
                (copied(about, self.commit.is_some()))
            }
        }
    }

    /// A file with its lines.
    fn file(&self, file: &ShownFile, about: About<'_>) -> Markup {
        let change = &file.change;
        let path = quoting::text(&change.path);
        let old_path = change.old_path.as_ref().map(|path| quoting::text(path));
        let is_there = change.kind != FileChangeKind::Deleted;

        html! {
            article {
                h2 {
                    @if is_there { a href=(links::file(&path, None, self.revisions.1.as_deref())) { (code::path(&path)) } }
                    @else { (code::path(&path)) }
                    " " span.badge { (change.kind.name()) }
                    @if let Some((added, removed)) = change.lines {
                        " " span.count { "+" (added) " −" (removed) }
                    }
                }
                @if let Some(old_path) = &old_path { p.facts { "was " (code::path(old_path)) } }

                @match &file.diff {
                    Some(FileDiff::Hunks(hunks)) if hunks.is_empty() => p.note {
                        @if about.symbol.is_some() { "No line of the definition differs." } @else { "No line differs." }
                    },
                    Some(FileDiff::Hunks(hunks)) => (self.hunks(hunks, change)),
                    Some(FileDiff::NotShown(why)) => p.note { "The lines are not shown: " (why.replace('_', " ")) "." },
                    None => p.note { a href=(links::changes(about.rev, Some(&path), about.symbol)) { "Show the lines" } },
                }
                @if file.n_hidden > 0 { p.note { (plural(file.n_hidden as u64, "more line")) " not shown." } }
            }
        }
    }

    fn hunks(&self, hunks: &[DiffHunk], change: &FileChange) -> Markup {
        let path = quoting::text(&change.path);
        let old_path = quoting::text(change.older_path());
        let language = language::by_path(change.path.as_ref()).map_or("", LanguageId::name);
        let widest = hunks.iter().map(last_line).max().unwrap_or(1);
        let digits = format!("digits-{}", widest.to_string().len());

        html! {
            div.code.(digits) tabindex="0" role="group" aria-label={ "Changes of " (quoting::printed(&path)) } {
                pre {
                    @for hunk in hunks {
                        span.hunk { (place(hunk)) "\n" }
                        @for (line, syntax) in numbered(hunk).zip(syntax_of_hunk(hunk, language)) {
                            @let (path, rev) = match line.mark {
                                '-' => (&old_path, &self.revisions.0),
                                _ => (&path, &self.revisions.1),
                            };
                            @let href = links::file(path, Some((line.number, line.number)), rev.as_deref());
                            span.line.added[line.mark == '+'].removed[line.mark == '-'] {
                                a.n href=(href) tabindex="-1" { (line.number) }
                                span.sign { (sign(line.mark)) }
                                code { (code::line_of_code(line.text, &[], &syntax)) "\n" }
                            }
                        }
                    }
                }
            }
        }
    }

    fn ways(&self, about: About<'_>) -> Markup {
        html! {
            ul.actions {
                @if let Some(path) = about.path {
                    li { a href=(links::history_of_file(path)) { "History of the file" } }
                }
                @if about.path.is_some() || about.symbol.is_some() {
                    li { a href=(links::changes(about.rev, None, None)) { "All files" } }
                }
            }
        }
    }
}

fn heading(about: About<'_>) -> Markup {
    html! {
        @if about.rev.is_none() { "Uncommitted changes" } @else { "Changes" }
        @if let Some(symbol) = about.symbol { " of " code { (safe(symbol)) } }
        @if let Some(path) = about.path {
            @if about.symbol.is_some() { " in " } @else { " of " }
            (code::path(path))
        }
        @if let Some(rev) = about.rev { " in " code { (safe(code::short_oid(rev))) } }
    }
}

/// The message of a commit, its author and its day.
fn message(commit: &Commit) -> Markup {
    let moment = time::rfc3339(u64::try_from(commit.time).unwrap_or(0));
    let day = moment.get(..10).unwrap_or(&moment);

    html! {
        p { strong { (safe(commit.subject())) } }
        @if !commit.body().is_empty() { p.message { (safe(commit.body())) } }
        p.facts {
            code { (commit.id.to_string()) } " · " (safe(&commit.author)) " · " time datetime=(moment) { (day) }
            @if commit.parents.len() > 1 { " · a merge, compared with its first parent" }
        }
    }
}

/// The equivalents of the page. Git's has the changes of whole files where the page is about a definition.
fn copied(about: About<'_>, is_one_commit: bool) -> Markup {
    let mut command = match (about.rev, is_one_commit) {
        (Some(rev), true) => format!("git show --first-parent {}", copy::quoted(rev)),
        (Some(rev), false) => format!("git diff {}", copy::quoted(rev)),
        (None, _) => "git diff HEAD".to_owned(),
    };
    if let Some(path) = about.path {
        command.push_str(&format!(" -- {}", copy::quoted(&format!(":(top,literal){path}"))));
    }

    let mut arguments = Map::new();
    arguments.insert("show".to_owned(), json!("diff"));
    for (name, value) in [("to", about.rev), ("symbol", about.symbol)] {
        if let Some(value) = value {
            arguments.insert(name.to_owned(), json!(value));
        }
    }
    if let Some(path) = about.path {
        arguments.insert("paths".to_owned(), json!([path]));
    }
    copy::panel(&command, "changes", arguments)
}

/// A line of a hunk.
struct HunkLine<'a> {
    /// ` `, `-` or `+`.
    mark: char,
    /// In the older version if it is removed, else in the newer one.
    number: u32,
    text: &'a str,
}

/// The lines of a hunk with their numbers.
fn numbered(hunk: &DiffHunk) -> impl Iterator<Item = HunkLine<'_>> {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);

    hunk.lines.iter().map(move |line| {
        let (mark, text) = parts(line);
        let number = if mark == '-' { old } else { new };
        old += u32::from(mark != '+');
        new += u32::from(mark != '-');
        HunkLine { mark, number, text }
    })
}

/// The mark and the text of a line.
fn parts(line: &str) -> (char, &str) {
    let mut chars = line.chars();
    (chars.next().unwrap_or(' '), chars.as_str())
}

/// The number of the last line of a hunk, in either version.
fn last_line(hunk: &DiffHunk) -> u32 {
    let n_lines = u32::try_from(hunk.lines.len()).unwrap_or(u32::MAX);
    hunk.old_start.max(hunk.new_start).saturating_add(n_lines)
}

/// The syntax of each line of a hunk. Lines of both versions have that of the newer one.
fn syntax_of_hunk(hunk: &DiffHunk, language: &str) -> Vec<Vec<Syntax>> {
    let mut syntax = vec![Vec::new(); hunk.lines.len()];

    for other in ['+', '-'] {
        let own = || hunk.lines.iter().enumerate().filter(move |(_, line)| !line.starts_with(other));
        let texts: Vec<&str> = own().map(|(_, line)| parts(line).1).collect();
        for ((at, _), pieces) in own().zip(syntax_of_lines(&texts, language)) {
            syntax[at] = pieces;
        }
    }
    syntax
}

/// The place of a hunk for people.
fn place(hunk: &DiffHunk) -> Markup {
    html! {
        "Line " (hunk.new_start)
        @if let Some(within) = &hunk.within { " in " (safe(within)) }
    }
}

/// The mark of a line for people.
fn sign(mark: char) -> &'static str {
    match mark {
        '+' => "+",
        '-' => "−",
        _ => " ",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunk(lines: &[&str]) -> DiffHunk {
        let lines = lines.iter().map(|&line| line.to_owned()).collect();
        DiffHunk { old_start: 7, new_start: 9, within: None, lines }
    }

    #[test]
    fn removed_lines_have_the_numbers_of_the_older_version() {
        let hunk = hunk(&[" a", "-b", "-c", "+d", " e"]);
        let lines: Vec<_> = numbered(&hunk).map(|line| (line.mark, line.number, line.text)).collect();
        assert_eq!(lines, [(' ', 9, "a"), ('-', 8, "b"), ('-', 9, "c"), ('+', 10, "d"), (' ', 11, "e")]);
    }

    #[test]
    fn each_version_has_its_own_syntax() {
        // The comment of the newer version would hide the code of the older one.
        let hunk = hunk(&[" let a;", "-let b;", "+/* let b;", "+*/"]);
        let n_pieces: Vec<_> = syntax_of_hunk(&hunk, "rust").iter().map(Vec::len).collect();
        assert_eq!(n_pieces, [1, 1, 1, 1]);
    }

    #[test]
    fn a_full_page_says_how_many_lines_are_left_out() {
        let mut n_left = 3;
        let hunks = vec![hunk(&["+a", "+b"]), hunk(&["+c", "+d"]), hunk(&["+e"])];
        let (diff, n_hidden) = cut(Some(FileDiff::Hunks(hunks)), &mut n_left);
        assert_eq!((n_left, n_hidden), (0, 2));
        let Some(FileDiff::Hunks(hunks)) = diff else { panic!("no hunks") };
        assert_eq!(hunks.iter().map(|hunk| hunk.lines.len()).collect::<Vec<_>>(), [2, 1]);
    }
}
