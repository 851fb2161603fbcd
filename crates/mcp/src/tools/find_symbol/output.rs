//! The structured content of `find_symbol`.

use schemars::JsonSchema;
use serde::Serialize;

use codeweaver::query::symbol_lookup::NameFit;
use codeweaver::query::symbol_scan::FoundSymbol;
use codeweaver::query::view::Freshness;
use codeweaver_xref::about::{About, Callee, Document, Use};
use codeweaver_xref::{Grade, Unlisted};

use super::Looked;
use crate::answer::text_tokens;
use crate::tools::{AnswerEnd, OkStatus};

#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    pub status: OkStatus,
    /// One for each name, in the order of the call.
    pub results: Vec<NameOutput>,
    pub freshness: Freshness,
    #[serde(flatten)]
    pub end: AnswerEnd,
}

/// The definitions of a name.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NameOutput {
    pub symbol: String,
    /// `exact`, `case` (in another case), `part` (in the middle of a name) or `none`.
    pub fit: &'static str,
    pub total: usize,
    pub definitions: Vec<DefinitionOutput>,
    /// Names that are like it, if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<String>,
    /// Places that name it, if nothing defines it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named: Option<Unlisted>,
    /// Everything about the definition, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<AboutOutput>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DefinitionOutput {
    pub name: String,
    pub kind: &'static str,
    pub file: String,
    /// First and last line.
    pub span: (u32, u32),
    #[serde(skip_serializing_if = "String::is_empty")]
    pub signature: String,
}

/// Every list is cut to what the token limit allows; the totals say how many there are.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct AboutOutput {
    /// The definition with the comment above it; its beginning, if it is long.
    pub text: String,
    pub first_line: u32,
    /// Whether `text` is only the beginning.
    pub text_cut: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DefinitionOutput>,
    pub total_members: usize,
    pub uses: Vec<UseOutput>,
    pub total_uses: usize,
    pub tests: Vec<UseOutput>,
    pub total_tests: usize,
    /// Tests whose names have that of the definition, if no test uses it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tests_by_name: Vec<DefinitionOutput>,
    /// Places that name it and were not resolved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlisted: Option<Unlisted>,
    pub callees: Vec<CalleeOutput>,
    pub total_callees: usize,
    /// Names that are called and not defined in the repository, or not certainly.
    pub unresolved_calls: usize,
    pub documents: Vec<DocumentOutput>,
    pub total_documents: usize,
    /// Other definitions of the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<DefinitionOutput>,
    pub total_others: usize,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UseOutput {
    pub file: String,
    pub line: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub within: String,
    pub grade: Grade,
    pub call: bool,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CalleeOutput {
    pub name: String,
    pub file: String,
    pub line: u32,
    pub grade: Grade,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DocumentOutput {
    pub file: String,
    pub line: u32,
    pub title: String,
}

/// Maximum number of items in each section.
#[derive(Clone, Copy)]
pub(super) struct Caps {
    pub text_tokens: u32,
    pub uses: usize,
    pub tests: usize,
    pub others: usize,
    pub definitions: usize,
}

impl Caps {
    /// The first caps for an answer of `limit` tokens.
    pub(super) fn new(limit: u32, is_code_only: bool) -> Caps {
        if is_code_only {
            return Caps {
                text_tokens: limit,
                uses: 0,
                tests: 0,
                others: 0,
                definitions: limit as usize / 25,
            };
        }

        let share = |part: u32| (limit / part) as usize;

        Caps {
            text_tokens: limit / 4,
            uses: share(40),
            tests: share(140),
            others: share(200).max(3),
            definitions: share(25).max(1),
        }
    }

    /// The next smaller caps.
    pub(super) fn smaller(self) -> Caps {
        let less = |n: usize| n * 3 / 4;
        Caps {
            text_tokens: self.text_tokens * 3 / 4,
            uses: less(self.uses),
            tests: less(self.tests),
            others: less(self.others),
            definitions: less(self.definitions),
        }
    }

    /// Returns whether nothing is left that could be shortened.
    pub(super) fn is_least(self) -> bool {
        self.text_tokens == 0 && self.uses + self.tests + self.others + self.definitions == 0
    }
}

/// The output for a name without its definitions.
pub(super) fn frame(looked: &Looked) -> NameOutput {
    let fit = match (looked.list.symbols.is_empty(), looked.list.fit) {
        (true, _) => "none",
        (_, NameFit::Exact) => "exact",
        (_, NameFit::Case) => "case",
        (_, NameFit::Part) => "part",
    };

    NameOutput {
        symbol: looked.symbol.clone(),
        fit,
        total: looked.list.symbols.len(),
        definitions: Vec::new(),
        near: looked.list.near.clone(),
        named: looked.undefined.as_ref().and_then(|undefined| undefined.named.clone()),
        about: None,
    }
}

pub(super) fn name_output(looked: &Looked, caps: Caps) -> NameOutput {
    let n = if looked.about.is_some() { 1 } else { caps.definitions };
    NameOutput {
        definitions: looked.list.symbols.iter().take(n).map(definition_output).collect(),
        about: looked.about.as_ref().map(|about| about_output(about, caps)),
        ..frame(looked)
    }
}

pub(super) fn definition_output(symbol: &FoundSymbol) -> DefinitionOutput {
    DefinitionOutput {
        name: symbol.qualified_name.clone(),
        kind: symbol.kind.name(),
        file: symbol.path.clone(),
        span: symbol.lines,
        signature: symbol.signature.clone(),
    }
}

pub(super) fn about_output(about: &About, caps: Caps) -> AboutOutput {
    let (text, text_cut) = beginning(&about.text, caps.text_tokens);
    let n_members = if text_cut { caps.uses } else { 0 };

    AboutOutput {
        text,
        first_line: about.first_line,
        text_cut,
        members: about.members.iter().take(n_members).map(definition_output).collect(),
        total_members: about.members.len(),
        uses: use_outputs(&about.uses, caps.uses),
        total_uses: about.n_uses,
        tests: use_outputs(&about.tests, caps.tests),
        total_tests: about.n_tests,
        tests_by_name: about.tests_by_name.iter().take(caps.others).map(definition_output).collect(),
        // Places that may be uses are left out before the uses are.
        unlisted: about.unlisted.clone().filter(|_| caps.uses > 0),
        callees: about.callees.iter().take(caps.tests).map(callee_output).collect(),
        total_callees: about.callees.len(),
        unresolved_calls: about.n_unresolved,
        documents: about.documents.iter().take(caps.others.min(4)).map(document_output).collect(),
        total_documents: about.documents.len(),
        others: about.others.iter().take(caps.others.min(3)).map(definition_output).collect(),
        total_others: about.n_others,
    }
}

/// The first `n` of `uses`.
fn use_outputs(uses: &[Use], n: usize) -> Vec<UseOutput> {
    uses.iter().take(n).map(use_output).collect()
}

pub(super) fn use_output(it: &Use) -> UseOutput {
    UseOutput {
        file: it.path.clone(),
        line: it.line,
        within: it.within.clone(),
        grade: it.grade,
        call: it.is_call,
    }
}

pub(super) fn callee_output(callee: &Callee) -> CalleeOutput {
    CalleeOutput {
        name: callee.name.clone(),
        file: callee.path.clone(),
        line: callee.line,
        grade: callee.grade,
    }
}

pub(super) fn document_output(document: &Document) -> DocumentOutput {
    DocumentOutput { file: document.path.clone(), line: document.line, title: document.title.clone() }
}

/// The first lines of a text, up to `limit` tokens, and whether the text has more.
pub(super) fn beginning(text: &str, limit: u32) -> (String, bool) {
    if text_tokens(text) <= limit {
        return (text.to_owned(), false);
    }

    let (mut shown, mut n_tokens) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        n_tokens += text_tokens(line);
        if n_tokens > limit {
            break;
        }
        shown.push_str(line);
    }

    (shown, true)
}
