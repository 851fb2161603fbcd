//! Search: the answer to a query line, by meaning or by lines.

use codeweaver::query::grep::{self, Found, GrepRequest, LineAnswer, Page, Pattern};
use codeweaver::query::listing::ListRequest;
use codeweaver::query::view::MatchState;
use codeweaver::query::{Filters, Intent, Mode, QueryError, Request, Response, ViewRequest, WorktreeMode};
use codeweaver_git::{Prefix, quoting};

use super::job::{Failure, Work};
use super::params::Params;
use super::query_line::QueryLine;

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
    /// The typed query and its filters.
    pub line: QueryLine,
    pub filters: Filters,
    pub view: ViewRequest,
    /// Parts of the request that were ignored, for the user.
    pub warnings: Vec<String>,
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
    /// The search that the parameters of `work` ask for. `q` is the query line; `lang`, `path`, `exclude`,
    /// `kind` and `repo` add to its filters, and `rev` replaces its revision.
    ///
    /// # Errors
    /// A parameter is missing or cannot be used.
    pub fn new(work: &Work) -> Result<Search, Failure> {
        let params = &work.params;
        let mut line = QueryLine::parse(params.required("q")?);

        let owned = |name| params.all(name).map(str::to_owned);
        line.repositories.extend(owned("repo"));
        line.paths.extend(owned("path"));
        line.paths.extend(params.all("exclude").map(|path| format!(":!{path}")));
        line.languages.extend(owned("lang"));
        line.kinds.extend(owned("kind"));
        if let Some(rev) = params.text("rev") {
            line.rev = Some(rev.to_owned());
        }

        let settings = &work.codebase().settings;
        let mut search = Search {
            filters: Filters {
                languages: line.languages.clone(),
                kinds: line.kinds.clone(),
                include_tests: params
                    .text("tests")
                    .map_or(settings.search.include_tests, |_| params.flag("tests")),
                ..Filters::default()
            },
            view: ViewRequest { cancel: work.cancel.clone(), ..view(work, line.rev.as_deref()) },
            warnings: line
                .unknown
                .iter()
                .map(|word| format!("'{word}' is ignored: there is no such state"))
                .collect(),
            line,
        };

        search.add_paths(work)?;
        search.add_state(work)?;
        Ok(search)
    }

    fn add_paths(&mut self, work: &Work) -> Result<(), Failure> {
        let root = Prefix::root(&work.codebase().repo);

        for path in &self.line.paths {
            let pathspecs = root.pathspecs(path)?;
            pathspecs.into_iter().for_each(|pathspec| self.filters.add_path(pathspec));
        }

        work.limit(&mut self.filters, &self.line.repositories, self.line.rev.as_deref())
    }

    /// Restricts the search to committed files, or to those in another state.
    fn add_state(&mut self, work: &Work) -> Result<(), Failure> {
        let Some(wanted) = self.line.state else { return Ok(()) };
        if wanted == MatchState::Committed {
            self.view.worktree = WorktreeMode::Exclude;
            return Ok(());
        }

        // The query has no filter for these states, so each file in the wanted one is added as a path.
        let request = ListRequest {
            filters: Filters { include_tests: true, ..Filters::default() },
            cancel: work.cancel.clone(),
            ..ListRequest::default()
        };
        let listing = work.run(|_| work.searcher().list_files(&request))?;

        let root = Prefix::root(&work.codebase().repo);
        let mut has_one = false;
        for file in listing.files.iter().filter(|file| file.state.map(MatchState::from) == Some(wanted)) {
            let typed = format!(":(top,literal){}", quoting::text(file.path.as_ref()));
            if let Ok(pathspec) = root.pathspec(&typed) {
                self.filters.paths.push(pathspec);
                has_one = true;
            }
        }

        match has_one {
            true => Ok(()),
            false => Err(Failure::not_found("no file is in that state")),
        }
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
                answer.warnings.extend(self.warnings.iter().cloned());
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
        response.warnings.extend(self.warnings.iter().cloned());
        work.app.metrics.searched(&response);
        Ok(response)
    }

    /// The pattern of the lines that are searched for; `None` to search by meaning.
    ///
    /// # Errors
    /// There is no such mode.
    pub fn pattern(&self, params: &Params) -> Result<Option<Pattern>, Failure> {
        let query = self.line.query.as_str();

        Ok(match params.text("mode") {
            Some("exact") => Some(Search::pattern_of(params, query, false, false)),
            Some("regex") => Some(Search::pattern_of(params, query, true, false)),
            None | Some("hybrid") => match grep::QueryLine::parse(query) {
                grep::QueryLine::Exact(text) => Some(Search::pattern_of(params, text, false, false)),
                grep::QueryLine::Regex { expression, ignore_case } => {
                    Some(Search::pattern_of(params, expression, true, ignore_case))
                }
                grep::QueryLine::Mixed { .. } | grep::QueryLine::Meaning => None,
            },
            Some(mode) => mode_by_name(mode).map(|_| None)?,
        })
    }

    fn pattern_of(params: &Params, text: &str, is_regex: bool, ignore_case: bool) -> Pattern {
        Pattern {
            text: text.to_owned(),
            is_regex,
            ignore_case: ignore_case || params.flag("ignore_case"),
            word: params.flag("word"),
        }
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
            // Kinds are those of definitions; lines have none.
            filters: Filters { kinds: Vec::new(), ..self.filters.clone() },
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
        let mut request = Request::new(&self.line.query, &work.codebase().settings);

        request.filters = self.filters.clone();
        request.view = self.view.clone();
        request.mode = params.text("mode").map_or(Ok(Mode::Hybrid), mode_by_name)?;
        request.intent = params.text("intent").map(intent_by_name).transpose()?;

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

fn intent_by_name(name: &str) -> Result<Intent, Failure> {
    Intent::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = Intent::names().collect();
        Failure::parameter("intent", &format!("one of {}", known.join(", ")))
    })
}
