//! `ask_docs`: the passages of documents that answer a question.

use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use codeweaver::ask::{self, answer};
use codeweaver::service::follow_up;
use codeweaver_git::quoting::printed;

use super::text::{no_room, unless_fresh};
use super::{Answer, Call, CallError, Tool};

/// Maximum number of passages.
const MAX_PASSAGES: usize = 8;

pub struct AskDocs;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Arguments {
    pub(super) question: String,
    pub(super) paths: Option<Vec<String>>,
    pub(super) path: Option<String>,
    pub(super) rev: Option<String>,
    #[schemars(range(min = 1))]
    pub(super) token_limit: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    #[serde(flatten)]
    answer: answer::Answer,
    /// Root of the worktree that answers; paths are relative to it.
    #[serde(rename = "codebaseRoot")]
    codebase_root: PathBuf,
}

impl Tool for AskDocs {
    const NAME: &'static str = "ask_docs";
    const IS_LISTED: bool = false;
    const DESCRIPTION: &'static str = "Passages of the repository's documentation (Markdown and alike) that answer a \
        question, word for word with path:lines. Says so if the documentation has no answer. For code use find_code.";
    type Arguments = Arguments;
    type Output = Output;

    fn run(arguments: Arguments, call: &Call) -> Result<Answer<Output>, CallError> {
        let target = call.open(arguments.path.as_deref(), None)?;
        let codebase = target.codebase();
        let limit = call.token_limit(arguments.token_limit, codebase);

        let mut request = ask::request(&arguments.question, &target.searcher);
        target.add_paths(&mut request.filters, arguments.paths.as_deref().unwrap_or_default())?;
        request.view.revision = arguments.rev;
        request.view.cancel = call.cancel();

        let mut found = call.run_query(&target, |updater| {
            ask::extractive(&target.searcher, &arguments.question, &request, MAX_PASSAGES, updater)
        })?;
        found.warnings.extend(call.warnings());

        follow_up(codebase, &found.index);

        let total = found.passages.len();
        Ok(call.fit(total, limit, |n, needed| {
            let mut answer = found.clone();
            answer.passages.truncate(n);
            // The passages contain the short answer.
            answer.answer.clear();
            answer.warnings.extend(needed.map(|needed| no_room("passage", total, needed)));
            let text = text_of(&answer, total);
            Answer { structured: Output { answer, codebase_root: codebase.root() }, text }
        }))
    }
}

/// Formats an answer: a headline, then each passage with its place and headings.
fn text_of(answer: &answer::Answer, total: usize) -> String {
    let freshness = unless_fresh(answer.index.freshness);
    let mut text = if answer.is_answered() {
        let (n, noun) = (answer.passages.len(), if total == 1 { "passage" } else { "passages" });
        let of_total = if n < total { format!("{n} of ") } else { String::new() };
        format!("{of_total}{total} {noun}, relevance {:.2}{freshness}\n", answer.relevance)
    } else {
        let absent = match answer.absent_words.as_slice() {
            [] => String::new(),
            words => format!("; nowhere in the repository: {}", words.join(", ")),
        };
        format!("{} in the documents{absent}{freshness}\n", answer::NOTHING_FOUND)
    };

    for warning in &answer.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }

    for quote in &answer.passages {
        let place = quote.place();
        let lines = place.strip_prefix(&quote.path).unwrap_or_default();
        let _ = writeln!(text, "\n{}{lines} {}", printed(&quote.path), quote.headings.join(" > "));
        let _ = writeln!(text, "{}", quote.text);
    }
    text
}
