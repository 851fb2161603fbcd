//! Report: the search for a long query by its parts.
//!
//! A long text has a few words that identify the code that it is about, and hundreds that do not. So its
//! [parts](crate::query::parse::report) are searched for one by one:
//!
//! * the title, as a query of its own;
//! * the whole text, by its weighted words ([`words`]);
//! * parts that name code: stack frames, paths, modules, messages and definitions ([`evidence`]).
//!
//! [`fusion`] joins the lists, and [`relevance`] says whether the repository answers the report at all.
//! Queries of a few words do not come here.

pub mod evidence;
mod frames;
pub mod fusion;
mod messages;
mod modules;
pub mod relevance;
mod words;

use std::time::Instant;

use codeweaver_text::{Mention, QueryTerm};

use super::answer::Ranking;
use super::answer::evidence::Evidence;
use super::parse::report::Report;
use super::parse::{ParsedQuery, intent, names};
use super::rank::{Weights, near_duplicates};
use super::request::{Mode, Request};
use super::search::{QueryPart, Searcher};
use super::view::View;
use evidence::FileEvidence;

/// Maximum length of the text that is embedded.
const MAX_EMBEDDED_BYTES: usize = 2000;
/// Certainty of an identifier that is formatted as code, as against 1 of one in the title.
const CODE_SPAN_CERTAINTY: f32 = 0.8;
/// Number of innermost own frames whose functions are looked for.
const MAX_OWN_FRAMES: usize = 8;

impl Searcher {
    /// Ranks the files of `view` for the parts of a long query. Arguments and result are those of
    /// [`Searcher::rank`].
    pub(super) fn rank_report(
        &self,
        request: &Request,
        report: &Report,
        view: &View,
        weights: &Weights,
        deadline: Instant,
    ) -> Ranking {
        let scope = view.scope(&request.filters);
        let found = FileEvidence::gather(&self.codebase, view, &scope, report);

        let evidence_rows = found.rows(view, &scope);
        let title = title_query(report, request);
        let title_part = QueryPart {
            query: &title,
            embedded: &report.title,
            rows: &[],
            rows_strategy: None,
            is_folded: false,
        };
        let by_title = self.rank_part(request, &title_part, view, weights, deadline);

        let (terms, absent) = words::weighted(view, report, &title);
        let whole = whole_query(report, &title, &found, terms);
        let embedded = format!("{}\n{}", report.title, report.prose);
        let text_part = QueryPart {
            query: &whole,
            embedded: &embedded[..embedded.floor_char_boundary(MAX_EMBEDDED_BYTES)],
            rows: &evidence_rows,
            rows_strategy: Some("evidence"),
            is_folded: false,
        };
        // The files that the text names are evidence of their own, which the fusion adds.
        let unnamed = Weights { mention: 0.0, ..weights.clone() };
        let by_text = self.rank_part(request, &text_part, view, &unnamed, deadline);

        let files = fusion::fuse(view, by_title.files, by_text.files, absent, &found);

        Ranking {
            files: near_duplicates::fold(view, files),
            evidence: Evidence::new(view, &whole, &[], &request.filters.kinds),
            strategies: fusion::strategies(&by_title.strategies, &by_text.strategies),
            intent: title.intent,
            // Not listed: even a repository that answers a report lacks some of its words.
            absent_words: Vec::new(),
            // They include those of the title, since the text is searched for later.
            warnings: by_text.warnings,
            notes: Vec::new(),
            n_candidates: by_title.n_candidates.max(by_text.n_candidates),
            absent_languages: by_text.absent_languages,
            absent_paths: by_text.absent_paths,
        }
    }
}

/// Parses the title as a query. A report is about code that has a fault, not about tests or documents, unless
/// the request says so.
fn title_query(report: &Report, request: &Request) -> ParsedQuery {
    ParsedQuery { is_report: true, ..ParsedQuery::parse(&report.title, Mode::Hybrid, request.intent) }
}

/// Returns the whole text as a query: its weighted `terms`, the names that it gives, and the files of own
/// frames.
fn whole_query(
    report: &Report,
    title: &ParsedQuery,
    found: &FileEvidence,
    terms: Vec<QueryTerm>,
) -> ParsedQuery {
    let mut names = title.names.clone();
    let frames: Vec<_> = found.own_frames(report).take(MAX_OWN_FRAMES).collect();
    for function in frames.iter().filter_map(|frame| frame.function.as_deref()) {
        add_name(&mut names, function, 1.0);
    }
    for name in &report.names {
        add_name(&mut names, name, CODE_SPAN_CERTAINTY);
    }

    let places = frames.iter().filter_map(|frame| {
        // A report is rarely about this version of the code, so a line counts only if no function is known.
        let line = frame.line.filter(|_| frame.function.is_none());
        Some(Mention { path: frame.path.clone()?, line })
    });

    ParsedQuery {
        text: report.title.clone(),
        names,
        mentions: places.chain(report.mentions.iter().cloned()).collect(),
        intent: intent::QueryIntent { focus_areas: Vec::new(), ..title.intent.clone() },
        terms,
        is_report: true,
    }
}

/// Adds a name that is not among `names` yet.
fn add_name(names: &mut Vec<names::QueryName>, name: &str, certainty: f32) {
    if !names.iter().any(|known| known.name == name) {
        names.push(names::QueryName { name: name.to_owned(), certainty });
    }
}
