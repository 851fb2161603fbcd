//! Report: the search for a long query by its parts.
//!
//! A long text has a few words that identify the code that it is about, and hundreds that do not. So its
//! [parts](crate::query::parse::report) are searched for one by one:
//!
//! * the title, as a query of its own;
//! * the whole text, by its weighted words ([`words`]);
//! * parts that name code: stack frames, paths, modules, messages and definitions ([`evidence`]).
//!
//! [`fusion`] joins the lists, `traced` finds the functions that frames name, and [`relevance`] says whether
//! the repository answers the report at all. Queries of a few words do not come here.

pub mod evidence;
mod frames;
pub mod fusion;
mod messages;
mod modules;
pub mod relevance;
mod traced;
mod words;

use rustc_hash::FxHashMap;

use codeweaver_index::Codebase;
use codeweaver_text::{Mention, QueryTerm};

use super::answer::Ranking;
use super::answer::evidence::Evidence;
use super::intent::QueryIntent;
use super::parse::report::Report;
use super::parse::report::trace::Frame;
use super::parse::{ParsedQuery, names};
use super::part::QueryPart;
use super::rank::near_duplicates;
use super::request::{Mode, Request};
use super::response::Strategy;
use super::view::View;
use evidence::FileEvidence;
use relevance::AbsentTerms;

/// Maximum length of the text that is embedded.
const MAX_EMBEDDED_BYTES: usize = 2000;
/// Certainty of an identifier that is formatted as code, as against 1 of one in the title.
const CODE_SPAN_CERTAINTY: f32 = 0.8;
/// Number of innermost own frames whose functions are looked for.
const MAX_OWN_FRAMES: usize = 8;

/// The parts of a long query that are retrieved and ranked by themselves, with the evidence that joins them.
pub struct ReportParts {
    pub title: QueryPart,
    /// The whole text.
    pub text: QueryPart,
    found: FileEvidence,
    /// The innermost own frames.
    frames: Vec<Frame>,
    absent: AbsentTerms,
}

impl ReportParts {
    /// Takes `report`, the query of `request`, apart.
    pub fn new(codebase: &Codebase, view: &View, request: &Request, report: &Report) -> ReportParts {
        let scope = view.scope(&request.filters);
        let found = FileEvidence::gather(codebase, view, &scope, report);

        let title = title_query(report, request);
        let (terms, absent) = words::weighted(view, report, &title);
        let whole = whole_query(report, &title, &found, terms);
        let mut embedded = format!("{}\n{}", report.title, report.prose);
        embedded.truncate(embedded.floor_char_boundary(MAX_EMBEDDED_BYTES));

        ReportParts {
            title: QueryPart {
                query: title,
                embedded: report.title.clone(),
                rows: Vec::new(),
                rows_strategy: None,
                has_mentions: true,
                is_folded: false,
            },
            text: QueryPart {
                query: whole,
                embedded,
                rows: found.rows(view, &scope),
                rows_strategy: Some(Strategy::Evidence),
                // The files that the text names are evidence of their own, which the fusion adds.
                has_mentions: false,
                is_folded: false,
            },
            frames: found.own_frames(report).take(MAX_OWN_FRAMES).cloned().collect(),
            found,
            absent,
        }
    }

    /// Joins the rankings of the two parts. `kinds` are those of the filters.
    pub fn join(&self, view: &View, by_title: Ranking, by_text: Ranking, kinds: &[String]) -> Ranking {
        let files = fusion::fuse(view, by_title.files, by_text.files, self.absent, &self.found);
        let mut files = near_duplicates::fold(view, files);

        let frames: Vec<&Frame> = self.frames.iter().collect();
        let known =
            if kinds.is_empty() { traced::show(view, &mut files, &frames) } else { FxHashMap::default() };
        let evidence = Evidence::new(view, &self.text.query, &[], kinds);

        Ranking {
            files,
            // Without the vector of the text: commits change the functions that have its words.
            evidence: evidence.with_known(known, kinds),
            strategies: fusion::strategies(&by_title.strategies, &by_text.strategies),
            intent: self.title.query.intent.clone(),
            // Not listed: even a repository that answers a report lacks some of its words.
            absent_words: Vec::new(),
            // They include those of the title, since the text is searched for later.
            warnings: by_text.warnings,
            notes: Vec::new(),
            n_candidates: by_title.n_candidates.max(by_text.n_candidates),
            retrieval: by_title.retrieval + by_text.retrieval,
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
        intent: QueryIntent { focus_areas: Vec::new(), ..title.intent.clone() },
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
