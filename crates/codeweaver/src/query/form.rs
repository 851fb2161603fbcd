//! Form: the form in which a query is searched for, chosen before anything is retrieved.

use codeweaver_text::{self as text, Translation};

use super::answer::Ranking;
use super::parse::report::{Report, title};
use super::part::QueryPart;
use super::raised::Raised;
use super::report::ReportParts;
use super::request::Request;
use super::resources::Resources;
use super::retrieve;
use super::spelling::{self, Respelling};
use super::stage::Stage;
use super::translated;
use super::verbatim::Verbatim;
use super::view::View;

/// A query in the form in which it is searched for.
pub enum Form {
    /// As typed; `copied` are the chunks that may contain it verbatim.
    Typed { part: QueryPart, copied: Verbatim },
    /// In English words.
    Translated { part: QueryPart, translation: Translation },
    /// In the spelling of the index.
    Respelt { part: QueryPart, respelling: Respelling },
    /// Taken apart.
    Report(Box<ReportParts>),
}

impl Form {
    /// Chooses the form of the query of `request` for the words that `view` has. `is_by_words` says whether
    /// files are searched for by words; otherwise a query is at most translated.
    /// The words of a message that was found in the code, `raised`, are neither translated nor respelt.
    pub fn choose(
        resources: &Resources<'_>,
        request: &Request,
        view: &View,
        is_by_words: bool,
        raised: &Raised,
    ) -> Form {
        let has = |stage: Stage| request.stages.has(stage);
        let may_change = !raised.is_found();

        // A long text, such as a stack trace, is neither translated nor respelt: only some of it are words.
        let report = (is_by_words && has(Stage::Report)).then(|| Report::parse(&request.query)).flatten();
        if let Some(report) = report {
            let mut parts = ReportParts::new(resources.codebase, view, request, &report);
            parts.text.rows.extend(&raised.rows);
            return Form::Report(Box::new(parts));
        }

        let is_translated = may_change && has(Stage::Translation);
        let translation = is_translated.then(|| translated::english(request, view)).flatten();
        if let Some(translation) = translation {
            let part = QueryPart::new(title::without_references(&translation.text), request);
            return Form::Translated { part, translation };
        }

        let mut part = QueryPart::new(title::without_references(&request.query), request);
        if !is_by_words {
            return Form::Typed { part, copied: Verbatim::default() };
        }

        let respelling = (may_change && has(Stage::Spelling)).then(|| respelling(&part, view)).flatten();
        if let Some(respelling) = respelling {
            // No chunk has the query verbatim, since none has the words that are respelt.
            let part = QueryPart::new(&respelling.text, request);
            return Form::Respelt { part, respelling };
        }

        let mut copied = Verbatim::default();
        if has(Stage::Verbatim) {
            let (scope, terms) = (view.scope(&request.filters), &part.query.terms);
            copied = Verbatim::find(request, terms, view, &scope, resources.tuning.min_parallel_rows);
            part.rows.clone_from(&copied.rows);
        }
        part.rows.extend(&raised.rows);

        Form::Typed { part, copied }
    }

    /// The parts of the query.
    pub fn parts(&self) -> Vec<&QueryPart> {
        match self {
            Form::Typed { part, .. } | Form::Translated { part, .. } | Form::Respelt { part, .. } => {
                vec![part]
            }
            Form::Report(parts) => vec![&parts.title, &parts.text],
        }
    }

    /// Ranks the files of `view` for this form: `rank` ranks them for each of its parts. `kinds` are those of
    /// the filters.
    pub fn rank(&self, view: &View, kinds: &[String], rank: impl Fn(&QueryPart) -> Ranking) -> Ranking {
        match self {
            Form::Typed { part, .. } => rank(part),
            Form::Translated { part, translation } => {
                let note = translated::note(translation);
                noted(rank(part), Stage::Translation, note)
            }
            Form::Respelt { part, respelling } => noted(rank(part), Stage::Spelling, respelling.note()),
            Form::Report(parts) => parts.join(view, rank(&parts.title), rank(&parts.text), kinds),
        }
    }
}

/// The query of `part` in the spelling of `view`, if `view` lacks a word of it.
fn respelling(part: &QueryPart, view: &View) -> Option<Respelling> {
    let query = &part.query;
    let absent = text::as_written(&query.text, retrieve::absent_terms(view, query).into_iter());
    if absent.is_empty() { None } else { spelling::respelt(&query.text, &absent, view) }
}

/// Adds to `ranking` that `stage` has changed the query, and the `note` that says how.
fn noted(mut ranking: Ranking, stage: Stage, note: String) -> Ranking {
    ranking.strategies.extend(stage.strategy());
    ranking.notes.push(note);
    ranking
}
