//! The answer of `find_symbol`, whose sections are shortened until it fits into the token limit.

use std::fmt::Write as _;
use std::path::PathBuf;

use codeweaver::query::view::Freshness;

use super::output::{Caps, NameOutput, Output, definition_output, frame, name_output};
use super::text::write_name;
use super::{Looked, MIN_ABOUT_TOKENS};
use crate::tools::text::{more, unless_fresh};
use crate::tools::{Answer, AnswerEnd, OkStatus};

/// The data of an answer.
pub(super) struct Page<'a> {
    pub looked: &'a [Looked],
    pub freshness: Freshness,
    pub rev: Option<&'a str>,
    pub root: PathBuf,
    /// Whether only the code of a definition is shown.
    pub is_code_only: bool,
    /// The reasons for which the call has waited.
    pub waits: Vec<String>,
}

impl Page<'_> {
    /// A page of the list of definitions of a single name.
    pub(super) fn list(
        &self,
        offset: usize,
        n: usize,
        next_cursor: Option<String>,
        no_room: Option<String>,
    ) -> Answer<Output> {
        let mut results = Vec::new();
        for looked in self.looked {
            let symbols = looked.list.symbols.iter().skip(offset).take(n);
            results
                .push(NameOutput { definitions: symbols.map(definition_output).collect(), ..frame(looked) });
        }

        self.answer(results, next_cursor, no_room)
    }

    /// The answer about all names, with shorter sections until it fits into `limit` tokens.
    pub(super) fn cut_to(&self, limit: u32, size: impl Fn(&Answer<Output>) -> u32) -> Answer<Output> {
        // A name among many still gets enough for a useful answer.
        let share = (limit / self.looked.len().max(1) as u32).max(MIN_ABOUT_TOKENS.min(limit));
        let mut caps = Caps::new(share, self.is_code_only);

        loop {
            let results = self.looked.iter().map(|looked| name_output(looked, caps)).collect();
            let answer = self.answer(results, None, None);

            let n_tokens = size(&answer);
            if n_tokens <= limit {
                return answer;
            }

            if caps.is_least() {
                let note = format!("token_limit is too small, this needs {n_tokens}");
                let results = self.looked.iter().map(frame).collect();
                return self.answer(results, None, Some(note));
            }

            caps = caps.smaller();
        }
    }

    /// Builds the answer with these results.
    pub(super) fn answer(
        &self,
        results: Vec<NameOutput>,
        next_cursor: Option<String>,
        note: Option<String>,
    ) -> Answer<Output> {
        let abouts = self.looked.iter().filter_map(|looked| looked.about.as_ref());
        let mut warnings = self.waits.clone();
        warnings.extend(abouts.flat_map(|about| about.warnings.clone()));
        let undefined = self.looked.iter().filter_map(|looked| looked.undefined.as_ref());
        warnings.extend(undefined.filter_map(|undefined| undefined.note.clone()));
        warnings.extend(note);
        warnings.dedup();

        let mut text = String::new();
        let fresh = unless_fresh(self.freshness);
        if !fresh.is_empty() {
            let _ = writeln!(text, "{}", fresh.trim_start());
        }
        for warning in &warnings {
            let _ = writeln!(text, "note: {warning}");
        }

        for (looked, result) in self.looked.iter().zip(&results) {
            if results.len() > 1 {
                let _ = writeln!(text, "## {}", result.symbol);
            }
            write_name(&mut text, looked, result, self.rev, self.is_code_only);
        }

        if let Some(cursor) = &next_cursor {
            text.push_str(&more(cursor));
        }

        Answer {
            text,
            structured: Output {
                status: OkStatus::Ok,
                results,
                freshness: self.freshness,
                end: AnswerEnd { warnings, codebase_root: self.root.clone(), next_cursor },
            },
        }
    }
}
