//! Several places in one answer: lines of files, whole files, and definitions by name.
//!
//! Ranges of one file that touch are joined. A long file is shown as its outline. Places share the limit:
//! each gets an equal share of what is left, so what a short one does not need goes to later ones. A range
//! that is too long loses the middle of its comments first, then its end, and says which lines are missing.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::query::symbol_lookup::{NameFit, SymbolRequest};
use codeweaver::query::{FileText, Filters, Location, Outline, QueryError, ViewRequest};
use codeweaver_chunk::language::LanguageId;
use codeweaver_chunk::tokens;
use codeweaver_git::quoting::printed;

use super::{Arguments, headline};
use crate::answer::{Failure, FailureStatus};
use crate::target::CallTarget;
use crate::tools::text::{gap_before, write_numbered};
use crate::tools::{Answer, Call, CallError, OkStatus, file_outline, find_symbol};

/// Maximum number of places in one call.
const MAX_PLACES: usize = 50;
/// Tokens of an answer if the call sets no limit. Who names lines wants them, so it is more than that of a
/// search.
const DEFAULT_TOKENS: u32 = 8000;
/// Tokens that are kept for a note on what is left out.
const NOTE_TOKENS: u32 = 24;
/// Number of lines from which a file that is named without lines is shown as its outline.
const LONG_FILE: u32 = 300;
/// Ranges with at most so many lines between them are joined.
const MAX_GAP: u32 = 3;
/// Number of lines from which a comment is shortened to its first line if the code has no room.
const LONG_COMMENT: usize = 3;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Several {
    status: OkStatus,
    places: Vec<Place>,
    /// Root of the worktree that answers; paths are relative to it.
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Place {
    Lines(Box<Lines>),
    Outline(Box<Outline>),
    Failed(Failure),
}

/// Lines of a file.
#[derive(Debug, Serialize, JsonSchema)]
struct Lines {
    #[serde(flatten)]
    file: FileText,
    /// Signature of the definition that the first line is inside of.
    #[serde(skip_serializing_if = "Option::is_none")]
    within: Option<String>,
    /// Lines left out at the end for want of room.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<(u32, u32)>,
}

/// Reads `places`.
///
/// # Errors
/// There are too many, none of them can be read, or the repository cannot be opened.
pub(super) fn read(
    places: &[String],
    arguments: &Arguments,
    call: &Call,
) -> Result<Answer<Several>, CallError> {
    if places.len() > MAX_PLACES {
        return Err(CallError::parameter("places", &format!("at most {MAX_PLACES}"), places.len()));
    }
    if arguments.cursor.is_some() || arguments.start_line.or(arguments.end_line).is_some() {
        return Err(CallError::invalid(
            "`cursor`, `start_line` and `end_line` are about `file`, not `places`",
        ));
    }

    let first_file = Location::parse(&places[0]).file;
    let target = call.open(arguments.path.as_deref(), Some(first_file))?;
    let reading = Reading { target: &target, call, rev: arguments.rev.as_deref() };

    let parts = reading.parts(places)?;
    if let [Part::Failed { .. }, ..] = parts.as_slice()
        && parts.iter().all(|part| matches!(part, Part::Failed { .. }))
    {
        let failed = parts.into_iter().next().and_then(Part::failure);
        return Err(failed.map_or_else(|| CallError::invalid("no place can be read"), CallError::Failed));
    }

    let mut left = arguments.token_limit.unwrap_or(DEFAULT_TOKENS).saturating_sub(NOTE_TOKENS);
    let (mut text, mut shown) = (String::new(), Vec::new());
    let mut warnings = call.waits.take();
    let n_parts = parts.len();
    for (i, part) in parts.into_iter().enumerate() {
        let share = left / (n_parts - i) as u32;
        let (place, part_text) = reading.show(part, share)?;
        let n_tokens = tokens::count(&part_text);
        if n_tokens > left {
            warnings.push(format!("token_limit has no room for {} of {n_parts} places", n_parts - i));
            break;
        }
        left -= n_tokens;
        text.push_str(&part_text);
        shown.push(place);
    }

    for warning in &warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let codebase_root = target.codebase().root();
    Ok(Answer { structured: Several { status: OkStatus::Ok, places: shown, codebase_root, warnings }, text })
}

/// A part of the answer, before it is cut.
enum Part {
    /// Lines of a file, or all of it.
    Range { path: String, lines: Option<(u32, u32)>, notes: Vec<String> },
    /// A place that cannot be read.
    Failed { place: String, failure: Failure },
}

impl Part {
    fn failure(self) -> Option<Failure> {
        match self {
            Part::Range { .. } => None,
            Part::Failed { failure, .. } => Some(failure),
        }
    }
}

/// A call that reads places.
struct Reading<'a> {
    target: &'a CallTarget,
    call: &'a Call,
    rev: Option<&'a str>,
}

impl Reading<'_> {
    /// Finds the places, and joins those that touch. The order is that of the first place of each range.
    fn parts(&self, places: &[String]) -> Result<Vec<Part>, CallError> {
        let mut parts: Vec<Part> = Vec::new();
        for place in places {
            match self.part(place)? {
                Part::Range { path, lines, notes } => add(&mut parts, path, lines, notes),
                failed => parts.push(failed),
            }
        }
        Ok(parts)
    }

    /// Finds one place: a file if there is one of this name, else a definition.
    fn part(&self, place: &str) -> Result<Part, CallError> {
        let failed = |failure| Part::Failed { place: place.to_owned(), failure };
        let Location { file, lines } = Location::parse(place);

        let found = self.target.linked_file(file, self.rev).and_then(|(path, link)| {
            let text =
                self.call.run_query(self.target, |_| self.target.searcher.read(&path, lines, self.rev))?;
            Ok((text, link))
        });
        let failure = match found {
            Ok((text, link)) => {
                return Ok(Part::Range { path: text.path, lines, notes: link.into_iter().collect() });
            }
            Err(CallError::Failed(failure)) => failure,
            Err(error) => return Err(error),
        };

        // A file that is there is never taken for a name.
        if failure.status != FailureStatus::NotFound || lines.is_some() {
            return Ok(failed(failure));
        }
        Ok(self.definition(place)?.unwrap_or_else(|| failed(failure)))
    }

    /// The lines of the definition of `name`; `None` if there is none.
    fn definition(&self, name: &str) -> Result<Option<Part>, CallError> {
        let settings = &self.target.codebase().settings;
        let request = SymbolRequest {
            symbol: name.to_owned(),
            filters: Filters { include_tests: true, ..Filters::default() },
            view: ViewRequest {
                revision: self.rev.map(str::to_owned),
                cancel: self.call.cancel(),
                ..ViewRequest::new(settings)
            },
        };
        let found = self.call.run_query(self.target, |updater| {
            match find_symbol::definitions(&self.target.searcher, &request, updater) {
                Ok((_, list)) => Ok(Some(list)),
                // A path looks like a place in a file that is not indexed.
                Err(QueryError::NotFound { .. } | QueryError::Parameter { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        })?;

        let Some(list) = found.filter(|list| list.fit != NameFit::Part) else { return Ok(None) };
        let Some((first, others)) = list.symbols.split_first() else { return Ok(None) };
        let others: Vec<String> =
            others.iter().map(|other| format!("{}:{}", printed(&other.path), other.lines.0)).collect();
        let note = match others.len() {
            0 => None,
            1..=5 => Some(format!("{name} is also defined at {}", others.join(", "))),
            n => Some(format!("{name} is also defined at {} and {} more", others[..4].join(", "), n - 4)),
        };
        Ok(Some(Part::Range {
            path: first.path.clone(),
            lines: Some(first.lines),
            notes: note.into_iter().collect(),
        }))
    }

    /// Shows a part in at most about `share` tokens.
    fn show(&self, part: Part, share: u32) -> Result<(Place, String), CallError> {
        let (path, lines, notes) = match part {
            Part::Range { path, lines, notes } => (path, lines, notes),
            Part::Failed { place, failure } => {
                let text = format!("{place}: {}\n", failure.message);
                return Ok((Place::Failed(failure), text));
            }
        };

        let file = self.call.run_query(self.target, |_| self.target.searcher.read(&path, lines, self.rev))?;
        // A NUL byte marks a binary file, as in git.
        if file.text.contains('\0') {
            let failure = Failure {
                status: FailureStatus::Unsupported,
                message: "it is not a text file".to_owned(),
                codebase_root: None,
            };
            return Ok((Place::Failed(failure), format!("{}: it is not a text file\n", printed(&path))));
        }

        let outline = self.outline(&path);
        if let Some(outline) = &outline
            && lines.is_none()
            && file.total_lines > LONG_FILE
            && !outline.symbols.is_empty()
        {
            let text = self.outline_text(outline, share);
            return Ok((Place::Outline(Box::new(outline.clone())), text));
        }

        let within = outline.as_ref().and_then(|outline| enclosing(outline, file.span.0));
        Ok(fitted(file, within, &notes, share))
    }

    /// The definitions of a file; `None` if they are not known.
    fn outline(&self, path: &str) -> Option<Outline> {
        let outline =
            self.call.run_query(self.target, |updater| self.target.searcher.outline(path, self.rev, updater));
        outline.ok()
    }

    /// The outline, with as many definitions as fit.
    fn outline_text(&self, outline: &Outline, share: u32) -> String {
        let total = outline.symbols.len();
        let mut shown = outline.clone();

        loop {
            let n_left_out = total - shown.symbols.len();
            let mut text = file_outline::text_of(&shown, total, &[], None);
            if n_left_out > 0 {
                let _ = writeln!(text, "… {n_left_out} more definitions");
            }
            if tokens::count(&text) <= share || shown.symbols.len() <= 1 {
                return text;
            }
            shown.symbols.truncate(shown.symbols.len() * 3 / 4);
        }
    }
}

/// Adds a range to `parts`, or extends the range of the same file that it touches.
fn add(parts: &mut Vec<Part>, path: String, lines: Option<(u32, u32)>, notes: Vec<String>) {
    let touching = parts.iter_mut().find_map(|part| match part {
        Part::Range { path: known, lines: of_known, notes: of_notes } if *known == path => {
            touches(*of_known, lines).then_some((of_known, of_notes))
        }
        _ => None,
    });

    match touching {
        Some((of_known, of_notes)) => {
            *of_known = of_known.zip(lines).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
            of_notes.extend(notes);
        }
        None => parts.push(Part::Range { path, lines, notes }),
    }
}

/// Returns whether two ranges of a file, or the whole file (`None`), are shown as one.
fn touches(a: Option<(u32, u32)>, b: Option<(u32, u32)>) -> bool {
    match a.zip(b) {
        Some((a, b)) => a.0 <= b.1.saturating_add(MAX_GAP + 1) && b.0 <= a.1.saturating_add(MAX_GAP + 1),
        None => true,
    }
}

/// The signature of the innermost definition that begins before `line` and contains it.
fn enclosing(outline: &Outline, line: u32) -> Option<String> {
    let around = outline.symbols.iter().filter(|symbol| symbol.span.0 < line && line <= symbol.span.1);
    let innermost = around.max_by_key(|symbol| (symbol.nesting, symbol.span.0))?;
    let signature = innermost.signature.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(if signature.is_empty() { innermost.qualified_name.clone() } else { signature })
}

/// The lines of `file` in at most about `share` tokens.
fn fitted(file: FileText, within: Option<String>, notes: &[String], share: u32) -> (Place, String) {
    let mut head = headline(&file);
    if let Some(within) = &within {
        let _ = write!(head, ", in {within}");
    }
    head.push('\n');
    for note in notes.iter().cloned().chain(file.note()) {
        let _ = writeln!(head, "note: {note}");
    }

    let first = file.span.0;
    let mut numbered = String::new();
    write_numbered(&mut numbered, &file.text, first);
    let room = share.saturating_sub(tokens::count(&head));
    if tokens::count(&numbered) <= room {
        let lines = Lines { file, within, left_out: None };
        return (Place::Lines(Box::new(lines)), head + &numbered);
    }
    let room = room.saturating_sub(NOTE_TOKENS + tokens::count(&file.path));

    numbered.clear();
    write_numbered(&mut numbered, &without_long_comments(&file, first), first);

    let (mut text, mut used) = (head, 0);
    let mut left_out = None;
    for line in numbered.split_inclusive('\n') {
        used += tokens::count(line);
        let number = line.split('\t').next().and_then(|number| number.parse().ok());
        // The first line is shown, whatever the limit is.
        if let Some(number) = number.filter(|number| used > room && *number > first) {
            left_out = Some((number, file.span.1));
            break;
        }
        text.push_str(line);
    }
    if let Some((from, to)) = left_out {
        let _ = writeln!(text, "… left out: {}:{from}-{to}", printed(&file.path));
    }

    (Place::Lines(Box::new(Lines { file, within, left_out })), text)
}

/// The text of a file with long comments shortened to their first lines.
fn without_long_comments(file: &FileText, first: u32) -> String {
    let starts = comment_starts(&file.language);
    let is_comment = |line: &&str| starts.iter().any(|start| line.trim_start().starts_with(start));
    let lines: Vec<&str> = file.text.lines().collect();

    let mut shown = String::new();
    let mut at = 0;
    while at < lines.len() {
        let length = lines[at..].iter().take_while(|line| is_comment(line)).count();
        shown.extend([lines[at], "\n"]);
        if length >= LONG_COMMENT {
            at += length;
            shown.push_str(&gap_before(first + at as u32));
        } else {
            at += 1;
        }
    }
    shown
}

/// Beginnings of the lines of comments in a language. None for prose and data, of which each line may matter.
fn comment_starts(language: &str) -> &'static [&'static str] {
    let id = LanguageId::by_name(language).filter(|id| !id.is_prose() && !id.is_data());

    match (id, language) {
        (None, _) => &[],
        (_, "python" | "ruby" | "bash" | "elixir" | "perl" | "r" | "make" | "cmake" | "tcl" | "nix") => {
            &["#"]
        }
        (_, "lua" | "haskell" | "sql" | "elm" | "ada") => &["--"],
        (_, "erlang" | "latex" | "matlab" | "prolog") => &["%"],
        (_, "clojure" | "scheme" | "commonlisp" | "emacs-lisp") => &[";"],
        _ => &["//", "/*", "* ", "*/"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_are_joined() {
        let mut parts = Vec::new();
        for (path, lines) in [
            ("a", Some((10, 20))),
            ("b", Some((1, 2))),
            ("a", Some((24, 30))),
            ("a", Some((50, 60))),
            ("b", None),
        ] {
            add(&mut parts, path.to_owned(), lines, Vec::new());
        }
        let ranges: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Part::Range { path, lines, .. } => (path.as_str(), *lines),
                Part::Failed { .. } => unreachable!("no place fails"),
            })
            .collect();
        assert_eq!(ranges, [("a", Some((10, 30))), ("b", None), ("a", Some((50, 60)))]);
    }

    #[test]
    fn long_comments_are_shortened_to_their_first_line() {
        let shown = |language: &str, text: &str| {
            let file = FileText {
                path: String::new(),
                language: language.to_owned(),
                text: text.to_owned(),
                encoding: None,
                span: (7, 13),
                total_lines: 20,
                blob: String::new(),
                rev: "HEAD".to_owned(),
                state: codeweaver::query::view::MatchState::Committed,
                truncated: false,
            };
            let mut numbered = String::new();
            write_numbered(&mut numbered, &without_long_comments(&file, 7), 7);
            numbered
        };
        let text = "// One.\n// Two.\n// Three.\nfn a() {\n    // Short.\n    b();\n}\n";
        let short = "7\t// One.\n…\n10\tfn a() {\n11\t    // Short.\n12\t    b();\n13\t}\n";
        assert_eq!(shown("rust", text), short);
        // What is a comment in one language is code in another.
        for (language, text) in [("c", "#if A\n#include <a>\n#endif\n"), ("markdown", "# A\n# B\n# C\n")] {
            assert!(!shown(language, text).contains('…'), "{language}");
        }
        assert_eq!(shown("python", "# A\n# B\n# C\nx\n"), "7\t# A\n…\n10\tx\n");
    }
}
