//! Search: the answer to a query, by meaning or by lines.

use codeweaver::query::grep::{Found, GrepRequest, LineAnswer, Page, Pattern};
use codeweaver::query::response::MatchState;
use codeweaver::query::{
    Condition, Filters, Intent, Mode, QueryError, Request, Resolver, Response, TypedQuery, ViewRequest,
    WorktreeMode,
};
use codeweaver::service::ServiceError;
use codeweaver_git::Prefix;

use super::failure::Failure;
use super::job::Work;
use super::params::Params;

/// Maximum value of `limit`.
const MAX_LIMIT: usize = 500;
/// Maximum number of lines of an answer; a streamed answer has no limit.
const MAX_LINES: usize = 10_000;
/// Default number of lines of an answer.
pub const DEFAULT_LINES: usize = 200;
/// Maximum value of `context`.
const MAX_CONTEXT: usize = 20;
/// Maximum value of `offset`.
const MAX_OFFSET: usize = 100_000;
/// Default number of tokens of an answer. It is larger than for agents, since people can scroll.
const DEFAULT_TOKENS: u32 = 40_000;
const MAX_TOKENS: u32 = 1_000_000;

/// The search that a request asks for.
#[derive(Debug, Clone)]
pub struct Search {
    /// The typed query, with the conditions of the other parameters.
    pub query: TypedQuery,
    pub filters: Filters,
    pub view: ViewRequest,
    pub intent: Option<Intent>,
    /// Remarks for the user on parts of the request.
    pub notes: Vec<String>,
}

/// The answer to a search.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Answer {
    /// Code found by meaning, name or words.
    Matches(Box<Response>),
    /// Lines that contain a text or match an expression.
    Lines(Box<LineAnswer>),
}

impl Answer {
    /// Starts the updates that the answer shows to be due.
    fn follow_up(&self, work: &Work) {
        match self {
            Answer::Matches(response) => work.follow_up(&response.index),
            Answer::Lines(answer) => work.update_if_due(answer.index.needs_update),
        }
    }
}

impl Search {
    /// The search that the parameters of `work` ask for. `q` is the query; `lang`, `path`, `exclude`, `kind`,
    /// `repo`, `rev` and `state` are conditions besides those in it.
    ///
    /// # Errors
    /// A parameter is missing or cannot be used.
    pub fn new(work: &Work) -> Result<Search, Failure> {
        let params = &work.params;
        let typed = params.required("q")?;

        let mut query = match params.text("mode") {
            Some("exact" | "regex") => TypedQuery::verbatim(typed),
            _ => TypedQuery::parse(typed),
        };
        query.conditions.extend(conditions(params)?);

        let settings = &work.codebase().settings;
        let tests = params.text("tests").map(|_| params.flag("tests"));
        let filters =
            Filters { include_tests: tests.unwrap_or(settings.search.include_tests), ..Filters::default() };

        let prefix = &Prefix::root(&work.codebase().repo);
        let resolver = Resolver { searcher: work.searcher(), prefix };
        let resolved = resolver.resolve(&query, filters, view(work, None)).map_err(ServiceError::from)?;

        let mut notes = resolved.notes;
        let intent = Intent::named(params.text("intent"), &mut notes);
        Ok(Search { query, filters: resolved.filters, view: resolved.view, intent, notes })
    }

    /// Answers the search.
    ///
    /// # Errors
    /// A parameter cannot be used, or the library has no answer.
    pub fn answer(&self, work: &Work) -> Result<Answer, Failure> {
        let answer = match self.pattern(&work.params)? {
            Some(pattern) => {
                let page = line_page(&work.params)?;
                let mut answer = self.lines(work, pattern, |found| found.answer(page))?;
                answer.warnings.extend(work.waits.take().into_iter().chain(work.app.warning()));
                answer.warnings.extend(self.notes.iter().cloned());
                Answer::Lines(Box::new(answer))
            }
            None => Answer::Matches(Box::new(self.matches(work, &self.request(work)?)?)),
        };

        answer.follow_up(work);
        Ok(answer)
    }

    /// The matches of `request`.
    ///
    /// # Errors
    /// As [`Self::answer`].
    pub fn matches(&self, work: &Work, request: &Request) -> Result<Response, Failure> {
        let mut response = work.run(|update| work.searcher().search(request, update))?;
        response.warnings.extend(work.waits.take().into_iter().chain(work.app.warning()));
        response.warnings.extend(self.notes.iter().cloned());
        work.app.metrics.searched(&response);
        Ok(response)
    }

    /// The pattern of the lines that are searched for; `None` to search by meaning.
    ///
    /// # Errors
    /// There is no such mode.
    pub fn pattern(&self, params: &Params) -> Result<Option<Pattern>, Failure> {
        let pattern = match params.text("mode") {
            Some("exact") => Some(Pattern::exact(&self.query.text)),
            Some("regex") => Some(Pattern::regex(&self.query.text)),
            None | Some("hybrid") => self.query.pattern(),
            Some(mode) => mode_by_name(mode).map(|_| None)?,
        };

        Ok(pattern.map(|pattern| Pattern {
            ignore_case: pattern.ignore_case || params.flag("ignore_case"),
            word: params.flag("word"),
            ..pattern
        }))
    }

    /// Applies `answer` to all lines that match `pattern`.
    ///
    /// # Errors
    /// As [`Self::answer`], and those of `answer`.
    pub fn lines<T>(
        &self,
        work: &Work,
        pattern: Pattern,
        answer: impl Fn(&Found<'_>) -> Result<T, QueryError>,
    ) -> Result<T, Failure> {
        let request = GrepRequest {
            filters: self.filters.clone(),
            view: ViewRequest { budget: ViewRequest::UNLIMITED, ..self.view.clone() },
            context: work.params.number("context", MAX_CONTEXT)?.unwrap_or(0),
            ..GrepRequest::new(pattern, &work.codebase().settings)
        };

        work.run(|_| {
            let found = work.searcher().grep(&request)?;
            work.app.metrics.searched_lines(&found);
            answer(&found)
        })
    }

    /// The request for matches, with the parameters of `work`.
    ///
    /// # Errors
    /// A parameter cannot be used.
    pub fn request(&self, work: &Work) -> Result<Request, Failure> {
        let params = &work.params;
        let mut request = Request::new(&self.query.text, &work.codebase().settings);

        request.identities = true;
        request.filters = self.filters.clone();
        request.view = self.view.clone();
        request.mode = params.text("mode").map_or(Ok(Mode::Hybrid), mode_by_name)?;
        request.intent = self.intent;

        request.limit = params.number("limit", MAX_LIMIT)?.unwrap_or(request.limit).max(1);
        request.offset = params.number("offset", MAX_OFFSET)?.unwrap_or(0);
        request.token_limit = params.number("token_limit", MAX_TOKENS)?.unwrap_or(DEFAULT_TOKENS);
        request.texts = params.number("texts", MAX_LIMIT)?.unwrap_or(request.limit);
        request.min_score = params.number("min_score", 1.0)?.unwrap_or(request.min_score);

        request.explain = params.flag("explain");
        request.without_content = params.flag("locations");

        Ok(request)
    }
}

/// The state of the codebase that a request with the revision `rev` is about.
pub fn view(work: &Work, rev: Option<&str>) -> ViewRequest {
    let mut view = ViewRequest::new(&work.codebase().settings);
    view.revision = rev.map(str::to_owned);
    view.cancel = work.cancel.clone();

    if work.params.flag("committed") {
        view.worktree = WorktreeMode::Exclude;
    }

    view
}

fn line_page(params: &Params) -> Result<Page, Failure> {
    Ok(Page {
        offset: params.number("offset", MAX_OFFSET)?.unwrap_or(0),
        limit: params.number("limit", MAX_LINES)?.unwrap_or(DEFAULT_LINES),
        ..Page::default()
    })
}

fn mode_by_name(name: &str) -> Result<Mode, Failure> {
    Ok(match name {
        "hybrid" => Mode::Hybrid,
        "semantic" => Mode::Semantic,
        "keyword" => Mode::Keyword,
        "symbol" => Mode::Symbol,
        _ => {
            let must = "hybrid, semantic, keyword, symbol, exact or regex";
            return Err(Failure::parameter("mode", must));
        }
    })
}

/// Makes a condition of the value of a parameter.
type ToCondition = fn(String) -> Condition;

/// The conditions in parameters of their own. Those of a text of several lines can be written nowhere else.
fn conditions(params: &Params) -> Result<Vec<Condition>, Failure> {
    let named: [(&str, ToCondition); 6] = [
        ("repo", Condition::Repo),
        ("path", Condition::Path),
        ("exclude", Condition::ExcludedPath),
        ("lang", Condition::Language),
        ("kind", Condition::Kind),
        ("rev", Condition::Rev),
    ];

    let mut conditions = Vec::new();
    for (name, condition) in named {
        conditions.extend(params.all(name).map(|value| condition(value.to_owned())));
    }

    if let Some(name) = params.text("state") {
        let state = MatchState::by_name(name)
            .ok_or_else(|| Failure::parameter("state", "committed, staged, dirty or untracked"))?;
        conditions.push(Condition::State(state));
    }
    Ok(conditions)
}
