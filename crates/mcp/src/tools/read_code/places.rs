//! Several places in one answer: lines of files, whole files, and definitions by name.
//!
//! Ranges of one file that touch are joined. A long file is shown as its outline. Places share the limit:
//! each gets an equal share of what is left, so what a short one does not need goes to later ones. A range
//! that is too long loses the middle of its comments first, then its end, and says which lines are missing.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::rc::Rc;

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::query::symbol_lookup::{NameFit, SymbolRequest};
use codeweaver::query::{FileText, Filters, Location, Outline, QueryError, ViewRequest};
use codeweaver_chunk::language::LanguageId;
use codeweaver_git::quoting::printed;

use super::other::{self, Other};
use super::{Arguments, Output, headline, is_binary, not_a_text_file};
use crate::answer::{Failure, FailureStatus, Format, json_tokens, text_tokens};
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
/// Tokens of the JSON around the places, with a note.
const FRAME_TOKENS: u32 = 120;
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
    Other(other::Output),
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
    /// Facts about the place, such as other definitions of its name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// Lines left out at the end for want of room; `text` and `span` are without them.
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
) -> Result<Answer<Output>, CallError> {
    if places.len() > MAX_PLACES {
        return Err(CallError::parameter("places", &format!("at most {MAX_PLACES}"), places.len()));
    }
    if arguments.start_line.or(arguments.end_line).is_some() {
        return Err(CallError::invalid("`start_line` and `end_line` are about `file`, not `places`"));
    }

    let first_file = Location::parse(&places[0]).file;
    let target = call.open(arguments.path.as_deref(), Some(first_file))?;
    if let [place] = places
        && let Some(other) = Other::parse(place, &target)
    {
        let Answer { structured, text } = other.answer(&target, arguments, call)?;
        return Ok(Answer { structured: Output::Other(structured), text });
    }
    if arguments.cursor.is_some() {
        return Err(CallError::invalid(
            "`cursor` continues one directory or range of revisions, or a `file`",
        ));
    }

    let rev = arguments.rev.as_deref();
    let reading = Reading { target: &target, call, arguments, rev, outlines: RefCell::default() };

    let parts = reading.parts(places)?;
    if parts.iter().all(|part| matches!(part, Part::Failed { .. }))
        && let Some(Part::Failed { failure, .. }) = parts.first()
    {
        return Err(CallError::Failed(failure.clone()));
    }

    let frame = if call.format == Format::Json { FRAME_TOKENS } else { NOTE_TOKENS };
    let mut left = arguments.token_limit.unwrap_or(DEFAULT_TOKENS).saturating_sub(frame);
    let (mut text, mut shown) = (String::new(), Vec::new());
    let mut warnings = call.warnings();
    let n_parts = parts.len();
    for (i, part) in parts.into_iter().enumerate() {
        let share = left / (n_parts - i) as u32;
        let (place, part_text) = reading.show(part, share)?;
        let n_tokens = reading.size(&place, &part_text);
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
    let several = Several { status: OkStatus::Ok, places: shown, codebase_root, warnings };
    Ok(Answer { structured: Output::Several(several), text })
}

/// A part of the answer, before it is cut.
enum Part<'a> {
    /// Lines of a file, or all of it. `text` are these lines if they were read already.
    Range { path: String, lines: Option<(u32, u32)>, notes: Vec<String>, text: Option<Box<FileText>> },
    /// A place that is no lines of a file.
    Other { place: &'a str, other: Other<'a> },
    /// A place that cannot be read.
    Failed { place: String, failure: Failure },
}

/// A call that reads places.
struct Reading<'a> {
    target: &'a CallTarget,
    call: &'a Call,
    arguments: &'a Arguments,
    rev: Option<&'a str>,
    /// The outlines of the files so far: each opens a view of the index.
    outlines: RefCell<HashMap<String, Option<Rc<Outline>>>>,
}

impl Reading<'_> {
    /// Finds the places, and joins those that touch. The order is that of the first place of each range.
    fn parts<'p>(&self, places: &'p [String]) -> Result<Vec<Part<'p>>, CallError> {
        let mut parts: Vec<Part<'p>> = Vec::new();
        for place in places {
            match self.part(place)? {
                Part::Range { path, lines, notes, text } => add(&mut parts, path, lines, notes, text),
                whole @ (Part::Other { .. } | Part::Failed { .. }) => parts.push(whole),
            }
        }
        Ok(parts)
    }

    /// Finds one place: a file or directory if there is one of this name, else a definition.
    fn part<'p>(&self, place: &'p str) -> Result<Part<'p>, CallError> {
        if let Some(other) = Other::parse(place, self.target) {
            return Ok(Part::Other { place, other });
        }

        let failed = |failure| Part::Failed { place: place.to_owned(), failure };
        let Location { file, lines } = Location::parse(place);

        let failure = match self.read(file, lines, lines.is_some()) {
            Ok((text, link)) => {
                return Ok(Part::Range {
                    path: text.path.clone(),
                    lines,
                    notes: link.into_iter().collect(),
                    text: Some(Box::new(text)),
                });
            }
            Err(CallError::Failed(failure)) => failure,
            Err(error) => return Err(error),
        };

        // A file that is there is never taken for a name.
        if failure.status != FailureStatus::NotFound || lines.is_some() {
            return Ok(failed(failure));
        }
        if let Some(definition) = self.definition(place)? {
            return Ok(definition);
        }

        match self.read(file, lines, true) {
            Err(CallError::Failed(failure)) => Ok(failed(failure)),
            Err(error) => Err(error),
            Ok(_) => Ok(failed(failure)),
        }
    }

    /// Reads a file, with a note if it is behind a link. If it `is_last`, as nothing else is tried, the error
    /// suggests other files.
    fn read(
        &self,
        file: &str,
        lines: Option<(u32, u32)>,
        is_last: bool,
    ) -> Result<(FileText, Option<String>), CallError> {
        let (path, link) = self.target.linked_file(file, self.rev)?;
        let searcher = &self.target.searcher;

        let text = self.call.run_query(self.target, |_| match is_last {
            true => searcher.read_or_suggest(&path, lines, self.rev),
            false => searcher.read(&path, lines, self.rev),
        })?;
        Ok((text, link))
    }

    /// The lines of the definition of `name`; `None` if there is none.
    fn definition<'p>(&self, name: &str) -> Result<Option<Part<'p>>, CallError> {
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
            text: None,
        }))
    }

    /// Shows a part in at most about `share` tokens.
    fn show(&self, part: Part<'_>, share: u32) -> Result<(Place, String), CallError> {
        let (path, lines, notes, text) = match part {
            Part::Range { path, lines, notes, text } => (path, lines, notes, text),
            Part::Other { place, other } => return self.shown_other(place, &other, share),
            Part::Failed { place, failure } => {
                let text = format!("{place}: {}\n", failure.message);
                return Ok((Place::Failed(failure), text));
            }
        };

        let file = match text {
            Some(text) => *text,
            None => {
                self.call.run_query(self.target, |_| self.target.searcher.read(&path, lines, self.rev))?
            }
        };
        if is_binary(&file) {
            let failure = not_a_text_file(&path, self.target.codebase());
            let text = format!("{}\n", failure.message);
            return Ok((Place::Failed(failure), text));
        }

        let is_outline_wanted = self.arguments.outline == Some(true);
        let is_long = lines.is_none() && (is_outline_wanted || file.total_lines > LONG_FILE);
        // Nothing is around the first line.
        let outline = if is_long || file.span.0 > 1 { self.outline(&path)? } else { None };
        if let Some(outline) = &outline
            && is_long
            && !outline.symbols.is_empty()
        {
            return Ok(self.shown_outline(outline, share));
        }

        let within = outline.as_ref().and_then(|outline| enclosing(outline, file.span.0));
        let notes = notes.into_iter().chain(file.note()).collect();
        let lines = Lines { file, within, notes, left_out: None };
        Ok(match self.call.format {
            Format::Text => fitted(lines, share),
            // The other form is not sent.
            Format::Json => (Place::Lines(Box::new(fitted_json(lines, share))), String::new()),
        })
    }

    /// Number of tokens of a place in the form that is sent.
    fn size(&self, place: &Place, text: &str) -> u32 {
        match self.call.format {
            Format::Text => text_tokens(text),
            // The comma after the element counts as one token.
            Format::Json => json_tokens(place) + 1,
        }
    }

    /// The definitions of a file; `None` if they are not known, for example because it is not indexed. Its
    /// lines are shown all the same.
    fn outline(&self, path: &str) -> Result<Option<Rc<Outline>>, CallError> {
        if let Some(known) = self.outlines.borrow().get(path) {
            return Ok(known.clone());
        }

        let searcher = &self.target.searcher;
        let outline = self.call.run_query(self.target, |updater| searcher.outline(path, self.rev, updater));
        let outline = match outline {
            Ok(outline) => Some(Rc::new(outline)),
            Err(CallError::Failed(_)) => None,
            Err(error) => return Err(error),
        };

        self.outlines.borrow_mut().insert(path.to_owned(), outline.clone());
        Ok(outline)
    }

    /// The answer of the tool that a place belongs to.
    fn shown_other(&self, place: &str, other: &Other<'_>, share: u32) -> Result<(Place, String), CallError> {
        match other.part(self.target, self.arguments, share, self.call) {
            Ok(Answer { structured, text }) => Ok((Place::Other(structured), text)),
            Err(CallError::Failed(failure)) => {
                let text = format!("{place}: {}\n", failure.message);
                Ok((Place::Failed(failure), text))
            }
            Err(error) => Err(error),
        }
    }

    /// The outline, with as many definitions as fit.
    fn shown_outline(&self, outline: &Outline, share: u32) -> (Place, String) {
        let total = outline.symbols.len();
        let mut shown = outline.clone();

        loop {
            let n = shown.symbols.len();
            let mut text = file_outline::text_of(&shown, total, &[], None);
            if n < total {
                let _ = writeln!(text, "… {} more definitions", total - n);
            }

            let place = Place::Outline(Box::new(shown.clone()));
            if self.size(&place, &text) <= share || n <= 1 {
                return (place, text);
            }
            shown.symbols.truncate(n * 3 / 4);
        }
    }
}

/// Adds a range to `parts`, or extends the range of the same file that it touches.
fn add(
    parts: &mut Vec<Part<'_>>,
    path: String,
    lines: Option<(u32, u32)>,
    notes: Vec<String>,
    text: Option<Box<FileText>>,
) {
    let touching = parts.iter_mut().find_map(|part| match part {
        Part::Range { path: known, lines: of_known, notes: of_notes, text } if *known == path => {
            touches(*of_known, lines).then_some((of_known, of_notes, text))
        }
        _ => None,
    });

    match touching {
        Some((of_known, of_notes, of_text)) => {
            // Both are read as one.
            *of_text = None;
            *of_known = of_known.zip(lines).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
            of_notes.extend(notes);
        }
        None => parts.push(Part::Range { path, lines, notes, text }),
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

/// Formats lines in at most about `share` tokens. The first line is shown, whatever the limit is.
fn fitted(mut lines: Lines, share: u32) -> (Place, String) {
    let mut text = headline(&lines.file);
    if let Some(within) = &lines.within {
        let _ = write!(text, ", in {within}");
    }
    text.push('\n');
    for note in &lines.notes {
        let _ = writeln!(text, "note: {note}");
    }

    let first = lines.file.span.0;
    let mut numbered = String::new();
    write_numbered(&mut numbered, &lines.file.text, first);
    let room = share.saturating_sub(text_tokens(&text));
    if text_tokens(&numbered) <= room {
        return (Place::Lines(Box::new(lines)), text + &numbered);
    }

    let room = room.saturating_sub(NOTE_TOKENS + text_tokens(&lines.file.path));
    numbered.clear();
    write_numbered(&mut numbered, &without_long_comments(&lines.file, first), first);

    let mut used = 0;
    for line in numbered.split_inclusive('\n') {
        used += text_tokens(line);
        let number = line.split('\t').next().and_then(|number| number.parse().ok());
        if let Some(number) = number.filter(|number| used > room && *number > first) {
            lines.cut_before(number);
            break;
        }
        text.push_str(line);
    }
    if let Some((from, to)) = lines.left_out {
        let _ = writeln!(text, "… left out: {}:{from}-{to}", printed(&lines.file.path));
    }

    (Place::Lines(Box::new(lines)), text)
}

/// Cuts lines to at most about `share` tokens of JSON. The first line is kept.
fn fitted_json(mut lines: Lines, share: u32) -> Lines {
    loop {
        let size = json_tokens(&lines);
        let (first, last) = lines.file.span;
        let n = last + 1 - first.min(last);
        if size <= share || n <= 1 {
            return lines;
        }

        let fitting = (u64::from(n) * u64::from(share) / u64::from(size)) as u32;
        lines.cut_before(first + fitting.clamp(1, n - 1));
    }
}

impl Lines {
    /// Leaves out the lines from `number` on, which is after the first.
    fn cut_before(&mut self, number: u32) {
        let (first, last) = self.file.span;
        let end = self.left_out.map_or(last, |(_, end)| end);
        self.left_out = Some((number, end));

        let kept = self.file.text.split_inclusive('\n').take((number - first) as usize);
        self.file.text = kept.collect();
        self.file.span = (first, number - 1);
    }
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
            add(&mut parts, path.to_owned(), lines, Vec::new(), None);
        }
        let ranges: Vec<_> = parts
            .iter()
            .map(|part| match part {
                Part::Range { path, lines, .. } => (path.as_str(), *lines),
                Part::Other { .. } | Part::Failed { .. } => unreachable!("all places are lines"),
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
