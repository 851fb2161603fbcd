//! The code to read for a task: the functions that a change of it touches or has to know, whole.
//!
//! The functions of the best files of a search are scored by what speaks for each ([`functions`]), and those
//! that the best two call, or that call them, gain ([`neighbours`]). They are chosen best first, as long as
//! they have room and are not much worse than the best, since a task is rarely about more, and shown whole:
//! files in the order of their best function, functions in the order of the file. The next best are named.

mod functions;
mod neighbours;

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::query::response::Status;
use codeweaver::query::{FileText, Match, Outline, Response};
use codeweaver::service::follow_up;
use codeweaver_git::quoting::printed;
use codeweaver_text::plural;

use self::functions::{FoundFile, Function, Task};
use super::excerpt;
use super::matches::freshness;
use super::text::write_numbered;
use super::{Answer, Call, CallError};
use crate::answer::{Format, json_tokens, text_tokens};
use crate::target::CallTarget;

/// Number of the best files whose functions are compared.
pub(super) const FILES: usize = 6;
/// Minimum score of a function that is shown, and of one that is named, as shares of the best.
const MIN_SHARE: f32 = 0.25;
const MIN_NAMED_SHARE: f32 = 0.05;
/// Maximum numbers of functions and of tests that are named.
const MAX_NAMED: usize = 6;
const MAX_TESTS: usize = 3;
/// Tokens of the first line, and of a line with a name.
const FRAME_TOKENS: u32 = 24;
const NAME_TOKENS: u32 = 24;
/// Part of the limit that is reserved for names at most: one in so many tokens.
const SHARE_OF_NAMES: u32 = 8;
/// Number of lines from which a part of a function is not shortened any more.
const MIN_LINES: usize = 8;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    status: Status,
    /// In the order in which they are read.
    functions: Vec<Shown>,
    /// Further functions that may matter, best first.
    also: Vec<Place>,
    /// Tests that call one of the best functions.
    tests: Vec<Place>,
    /// Root of the worktree that answers; paths are relative to it.
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A definition without its code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Place {
    path: String,
    /// First and last line, 1-based, inclusive.
    lines: (u32, u32),
    kind: &'static str,
    /// Qualified.
    name: String,
}

/// A function with its code.
#[derive(Debug, Serialize, JsonSchema)]
struct Shown {
    #[serde(flatten)]
    place: Place,
    /// A line `… 120:` stands for those that are left out before line 120.
    code: String,
    /// Number of lines that are left out at the end.
    #[serde(skip_serializing_if = "is_zero")]
    n_left_out: u32,
    #[serde(skip)]
    text: String,
}

fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A call that explores.
pub(super) struct Exploring<'a> {
    pub target: &'a CallTarget,
    pub call: &'a Call,
    pub rev: Option<&'a str>,
    /// Maximum number of tokens of the answer.
    pub tokens: u32,
}

impl Exploring<'_> {
    /// The code to read for `task`, of which `response` has the best files. `None` if no function is found:
    /// the task is about a document, say.
    pub(super) fn answer(
        &self,
        task: &str,
        response: &Response,
    ) -> Result<Option<Answer<Output>>, CallError> {
        follow_up(self.target.codebase(), &response.index);

        let task = Task::new(task);
        let mut functions = self.functions(&task, &response.matches)?;
        let neighbours = neighbours::raise(&mut functions, self)?;
        let Some(best) = functions.first().map(|best| best.score) else { return Ok(None) };

        let mut warnings = response.warnings.clone();
        if neighbours.is_cut {
            warnings.push("not all callers and callees were looked up".to_owned());
        }

        let mut tests = neighbours.tests;
        tests.truncate(MAX_TESTS);
        let named = functions.iter().filter(|it| it.score >= best * MIN_NAMED_SHARE).count();
        let n_names = (named.min(MAX_NAMED) + tests.len()) as u32;
        let for_names = (n_names * NAME_TOKENS).min(self.tokens / SHARE_OF_NAMES);
        let warning_tokens: u32 = warnings.iter().map(|warning| text_tokens(warning) + 4).sum();
        let room = self.tokens.saturating_sub(FRAME_TOKENS + warning_tokens + for_names);

        let (shown, others) = self.shown(&functions, &task, room)?;
        if shown.is_empty() {
            return Ok(None);
        }

        let also = others.into_iter().filter(|it| it.score >= best * MIN_NAMED_SHARE);
        let mut output = Output {
            status: response.status,
            functions: shown,
            also: also.take(MAX_NAMED).map(Function::place).collect(),
            tests,
            codebase_root: self.target.codebase().root(),
            warnings,
        };
        let state = freshness(response);
        loop {
            let text = output.text(&state);
            let answer = Answer { structured: output, text };
            if answer.n_tokens(self.call.format) <= self.tokens {
                return Ok(Some(answer));
            }

            // Names were estimated; the limit is hard.
            output = answer.structured;
            if output.also.pop().is_none() && output.tests.pop().is_none() {
                output.functions.pop();
            }
            if output.functions.is_empty() {
                return Ok(None);
            }
        }
    }

    /// The functions of the best files, best first.
    fn functions(&self, task: &Task, matches: &[Match]) -> Result<Vec<Function>, CallError> {
        let mut read: Vec<(usize, &Match, Outline, FileText)> = Vec::new();
        for (place, found) in matches.iter().take(FILES).enumerate() {
            let path = found.file.path.as_str();
            let searcher = &self.target.searcher;
            let outline =
                self.call.run_query(self.target, |updater| searcher.outline(path, self.rev, updater));
            let text = self.call.run_query(self.target, |_| searcher.read(path, None, self.rev));
            match (outline, text) {
                (Ok(outline), Ok(text)) => read.push((place, found, outline, text)),
                // A file that was deleted or changed since it was searched is left out.
                (Err(CallError::Failed(_)), _) | (_, Err(CallError::Failed(_))) => {}
                (Err(error), _) | (_, Err(error)) => return Err(error),
            }
        }

        let files: Vec<FoundFile<'_>> = read
            .iter()
            .map(|(place, found, outline, text)| FoundFile {
                found,
                place: *place,
                outline,
                text: &text.text,
            })
            .collect();
        Ok(task.functions(&files))
    }

    /// The functions that are shown in `room` tokens, in the order in which they are read, and those that are
    /// not, best first.
    fn shown<'f>(
        &self,
        functions: &'f [Function],
        task: &Task,
        room: u32,
    ) -> Result<(Vec<Shown>, Vec<&'f Function>), CallError> {
        let best = functions.first().map_or(0.0, |best| best.score);
        let (mut shown, mut others): (Vec<Shown>, Vec<&Function>) = (Vec::new(), Vec::new());
        let mut left = room;

        for function in functions {
            // An inner function is part of the outer one.
            if shown.iter().any(|known| known.place.overlaps(function)) {
                continue;
            }
            if function.score < best * MIN_SHARE {
                others.push(function);
                continue;
            }

            let Some(code) = self.code(function)? else { continue };
            let mut part = Shown::whole(function, &code);
            // The best one is shown in part rather than not at all.
            if self.size(&part) > left && shown.is_empty() {
                part = self.cut(function, &code, task, left);
            }
            let size = self.size(&part);
            if size <= left {
                left -= size;
                shown.push(part);
            } else {
                others.push(function);
            }
        }

        let paths: Vec<String> = shown.iter().map(|part| part.place.path.clone()).collect();
        let order = |part: &Shown| paths.iter().position(|path| *path == part.place.path);
        shown.sort_by_key(|part| (order(part), part.place.lines));
        Ok((shown, others))
    }

    /// The lines of a function; `None` if they cannot be read any more.
    fn code(&self, function: &Function) -> Result<Option<String>, CallError> {
        if let Some(text) = &function.text {
            return Ok(Some(text.clone()));
        }

        let searcher = &self.target.searcher;
        let (path, lines) = (function.path.as_str(), Some(function.lines));
        match self.call.run_query(self.target, |_| searcher.read(path, lines, self.rev)) {
            Ok(file) => Ok(Some(file.text)),
            Err(CallError::Failed(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The beginning of a function and its lines with most terms of the task, in about `room` tokens.
    fn cut(&self, function: &Function, code: &str, task: &Task, room: u32) -> Shown {
        let mut n_lines = code.lines().count();
        loop {
            n_lines = n_lines * 3 / 4;
            let part = Shown::part(function, code, &task.terms, n_lines.max(1));
            if self.size(&part) <= room || n_lines < MIN_LINES {
                return part;
            }
        }
    }

    /// Number of tokens of a function in the form that is sent.
    fn size(&self, part: &Shown) -> u32 {
        match self.call.format {
            Format::Text => text_tokens(&part.text),
            // The comma after the element counts as one token.
            Format::Json => json_tokens(part) + 1,
        }
    }
}

impl Function {
    fn place(&self) -> Place {
        Place { path: self.path.clone(), lines: self.lines, kind: self.kind, name: self.name.clone() }
    }
}

impl Place {
    fn overlaps(&self, function: &Function) -> bool {
        self.path == function.path && self.lines.0 <= function.lines.1 && function.lines.0 <= self.lines.1
    }

    fn line(&self) -> String {
        let Place { path, lines: (first, last), kind, name } = self;
        format!("{}:{first}-{last} {kind} {name}\n", printed(path))
    }
}

impl Shown {
    fn whole(function: &Function, code: &str) -> Shown {
        Shown::new(function.place(), code.trim_end().to_owned(), 0)
    }

    /// At most `most` lines of a function.
    fn part(function: &Function, code: &str, words: &[String], most: usize) -> Shown {
        let cut = excerpt::of_function(code, function.lines, words, most);
        Shown::new(function.place(), cut.text, cut.end - cut.lines.1)
    }

    fn new(place: Place, code: String, n_left_out: u32) -> Shown {
        let mut text = place.line();
        write_numbered(&mut text, &code, place.lines.0);
        if n_left_out > 0 {
            let _ = writeln!(text, "… {n_left_out} more lines");
        }
        Shown { place, code, n_left_out, text }
    }
}

impl Output {
    /// Formats the answer. `state` is what is unusual about the searched state.
    fn text(&self, state: &str) -> String {
        let n = self.functions.len() as u64;
        let mut text = format!("{} to read{state}\n", plural(n, "function"));
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }

        self.functions.iter().for_each(|part| text.push_str(&part.text));
        for (label, places) in [("may matter, too:", &self.also), ("tests:", &self.tests)] {
            if !places.is_empty() {
                let _ = writeln!(text, "{label}");
                places.iter().for_each(|place| text.push_str(&place.line()));
            }
        }
        text
    }
}
