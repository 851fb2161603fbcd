//! Api: the JSON of the command line over HTTP, described by [`super::openapi`].

use axum::response::Response;

use codeweaver::ask;
use codeweaver::query::changes::ChangesRequest;
use codeweaver::query::changes::commits::ListedCommit;
use codeweaver::query::grep::{GrepFile, Page};
use codeweaver::query::listing::{ListOrder, ListRequest, ListedFile};
use codeweaver::query::{Filters, QueryError, SimilarRequest};
use codeweaver_git::{BString, Prefix, quoting};
use codeweaver_index::status;
use codeweaver_xref::{CallGraphRequest, Direction, Xref};

use super::failure::Failure;
use super::job::{Job, Work};
use super::search::{self, Search};
use super::stream::{Lines, stream};

/// Maximum value of `limit` of lists.
const MAX_LIMIT: usize = 1000;
/// Default number of commits of a history.
pub const DEFAULT_COMMITS: usize = 30;
const DEFAULT_FILES: usize = 200;
const DEFAULT_PASSAGES: usize = 5;

/// `GET /api/search`: matches by meaning, or lines.
pub async fn search(job: Job) -> Result<Response, Failure> {
    if job.params.flag("stream") {
        return stream(job, stream_lines).await;
    }

    job.json(|work| Search::new(work)?.answer(work)).await
}

/// Sends the files with matching lines as they are found, then the totals.
fn stream_lines(work: &Work, lines: &Lines) -> Result<(), Failure> {
    let search = Search::new(work)?;
    let Some(pattern) = search.pattern(&work.params)? else {
        return Err(Failure::parameter("stream", "left out, unless lines are searched for"));
    };

    let end = search.lines(work, pattern, |found| {
        found.for_each(Page::default(), |file: GrepFile| send_file(&file, work, lines))?;

        let (total_lines, total_files) = (found.n_lines, found.n_files());
        let warnings = [work.waits.take(), search.notes.clone(), found.warnings()].concat();
        Ok(StreamEnd { total_lines, total_files, warnings })
    })?;

    lines.send(&end, work).map(|_| ())
}

/// Sends a file with its lines, unless the request is cancelled.
fn send_file(file: &GrepFile, work: &Work, lines: &Lines) -> Result<(), QueryError> {
    work.cancel.check()?;
    match lines.send(file, work) {
        Ok(true) => Ok(()),
        Ok(false) => Err(QueryError::Cancelled),
        Err(failure) => Err(QueryError::Internal { message: failure.why }),
    }
}

/// The last line of a streamed answer.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct StreamEnd {
    /// Number of matching lines.
    pub total_lines: u64,
    /// Number of files with matching lines.
    pub total_files: usize,
    /// Warnings for the user about files that were not searched.
    #[schemars(description = "What was not searched, for the user.")]
    pub warnings: Vec<String>,
}

/// `GET /api/similar`: code similar to the definition at a line.
pub async fn similar(job: Job) -> Result<Response, Failure> {
    job.json(similar_to).await
}

/// Code similar to the definition at `line` of `path`.
pub fn similar_to(work: &Work) -> Result<codeweaver::query::Response, Failure> {
    let line = work.params.number("line", u32::MAX)?.ok_or_else(|| Failure::parameter("line", "given"))?;
    let mut request = SimilarRequest::new(work.params.required("path")?, line, &work.codebase().settings);

    let rev = work.params.text("rev");
    request.view = search::view(work, rev);
    request.limit = work.params.number("limit", MAX_LIMIT)?.unwrap_or(request.limit).max(1);

    let mut response = work.run(|update| work.searcher().similar(&request, update))?;
    response.warnings.extend(work.waits.take());
    work.follow_up(&response.index);
    Ok(response)
}

/// `GET /api/file`: a file, or some of its lines.
pub async fn file(job: Job) -> Result<Response, Failure> {
    job.json(|work| {
        let last = work.params.number("last", u32::MAX)?;
        let first = work.params.number("first", u32::MAX)?;
        let lines =
            (first.is_some() || last.is_some()).then(|| (first.unwrap_or(1), last.unwrap_or(u32::MAX)));
        work.read(work.params.required("path")?, lines)
    })
    .await
}

/// `GET /api/outline`: the definitions of a file.
pub async fn outline(job: Job) -> Result<Response, Failure> {
    job.json(|work| work.outline(work.params.required("path")?, work.params.text("rev"))).await
}

/// `GET /api/graph`: callers, callees, references or definitions of a symbol.
pub async fn graph(job: Job) -> Result<Response, Failure> {
    job.json(|work| {
        let direction = match work.params.text("direction").unwrap_or("both") {
            "callers" => Direction::Callers,
            "callees" => Direction::Callees,
            "both" => Direction::Both,
            "references" => Direction::References,
            "definitions" => Direction::Definitions,
            _ => {
                let must = "callers, callees, both, references or definitions";
                return Err(Failure::parameter("direction", must));
            }
        };

        call_graph(work, work.params.required("symbol")?, direction)
    })
    .await
}

/// The graph around `symbol`.
pub fn call_graph(
    work: &Work,
    symbol: &str,
    direction: Direction,
) -> Result<codeweaver_xref::CallGraphResponse, Failure> {
    work.check_all("the call graph")?;

    let mut request = CallGraphRequest::new(symbol, direction);
    request.rev = work.params.text("rev").map(str::to_owned);
    request.depth = work.params.number("depth", 5)?.unwrap_or(1).max(1);
    request.limit = work.params.number("limit", MAX_LIMIT)?.unwrap_or(request.limit).max(1);
    request.cancel = work.cancel.clone();

    let mut response = work.run(|update| Xref::new(work.searcher()).query(&request, update))?;
    response.warnings.extend(work.waits.take());
    work.update_if_due(response.needs_update);
    Ok(response)
}

/// A file of a list.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct FileItem {
    /// Relative to the root of the repository.
    pub path: String,
    /// Name in the language table.
    pub language: String,
    /// Absent if the contents are not in this clone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Absent if it is not indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u32>,
    /// Why it is not indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<&'static str>,
}

impl From<&ListedFile> for FileItem {
    fn from(file: &ListedFile) -> FileItem {
        FileItem {
            path: quoting::text(file.path.as_ref()),
            language: file.language.clone(),
            bytes: file.bytes,
            lines: file.lines,
            skipped: file.skipped.map(|reason| reason.name()),
        }
    }
}

/// The files of a repository or a directory.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct FileList {
    /// In the order of their paths.
    pub files: Vec<FileItem>,
    /// Number of files that pass the filters.
    pub total: usize,
    /// Warnings for the user about missing files.
    #[schemars(description = "What the list lacks, for the user.")]
    pub warnings: Vec<String>,
}

/// `GET /api/files`: the files of the repository.
pub async fn files(job: Job) -> Result<Response, Failure> {
    job.json(|work| {
        let limit = work.params.number("limit", 100 * MAX_LIMIT)?.unwrap_or(DEFAULT_FILES);
        let offset = work.params.number("offset", usize::MAX)?.unwrap_or(0);

        let listing = list(work, work.params.all("path"), work.params.text("rev"))?;
        let skipped_only = work.params.flag("skipped");
        let all: Vec<&ListedFile> =
            listing.files.iter().filter(|file| !skipped_only || file.skipped.is_some()).collect();

        let files = all.iter().skip(offset).take(limit).map(|file| FileItem::from(*file)).collect();
        Ok(FileList { files, total: all.len(), warnings: listing.warnings })
    })
    .await
}

/// The files that match one of `paths`, or all.
pub fn list<'a>(
    work: &Work,
    paths: impl Iterator<Item = &'a str>,
    rev: Option<&str>,
) -> Result<codeweaver::query::listing::Listing, Failure> {
    let root = Prefix::root(&work.codebase().repo);
    let mut filters = Filters { include_tests: true, ..Filters::default() };

    for path in paths {
        let pathspecs = root.pathspecs(path)?;
        pathspecs.into_iter().for_each(|pathspec| filters.add_path(pathspec));
    }

    let request = ListRequest {
        filters,
        rev: rev.map(str::to_owned),
        order: ListOrder::Path,
        n_changed: 0,
        cancel: work.cancel.clone(),
    };
    let mut listing = work.run(|_| work.searcher().list_files(&request))?;
    listing.warnings.extend(work.waits.take());
    Ok(listing)
}

/// A commit of a history.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct CommitItem {
    /// Hex oid.
    pub commit: String,
    pub author: String,
    /// Seconds since 1970.
    pub time: i64,
    pub subject: String,
    /// The change of the symbol by the commit: `added`, `changed`, …
    #[schemars(description = "What the commit did to the symbol: `added`, `changed`, …")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<&'static str>,
    /// The file after the commit, or the one that has the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The path that the commit renamed the file from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}

/// The commits that touch a path or a symbol.
#[derive(Debug, serde::Serialize, schemars::JsonSchema)]
pub struct CommitItems {
    /// Newest first.
    pub commits: Vec<CommitItem>,
    /// Whether there are, or may be, more commits.
    pub has_more: bool,
    /// Warnings for the user about missing commits.
    #[schemars(description = "What the list lacks, for the user.")]
    pub warnings: Vec<String>,
}

/// `GET /api/history`: the commits that touch a path or a definition.
pub async fn history(job: Job) -> Result<Response, Failure> {
    job.json(commits).await
}

/// The commits that touch the parameters `path` or `symbol`.
pub fn commits(work: &Work) -> Result<CommitItems, Failure> {
    let limit = work.params.number("limit", MAX_LIMIT)?.unwrap_or(DEFAULT_COMMITS);
    let offset = work.params.number("offset", usize::MAX)?.unwrap_or(0);
    let request = ChangesRequest {
        message: work.params.text("message").map(str::to_owned),
        follows_renames: true,
        ..changes_request(work, Some(work.params.text("rev").unwrap_or("HEAD")))?
    };

    let (list, mut warnings) = work.run(|update| {
        work.searcher().changes(&request, update, |changes| {
            let list = changes.commits(offset, limit)?;
            Ok((list, std::mem::take(&mut changes.warnings)))
        })
    })?;
    warnings.extend(work.waits.take());

    let commits = list.commits.iter().map(|listed| CommitItem {
        commit: listed.commit.id.to_string(),
        author: listed.commit.author.clone(),
        time: listed.commit.time,
        subject: listed.commit.subject().to_owned(),
        symbol: listed.symbol.as_ref().map(|event| event.kind.name()),
        path: path_of(listed).map(|path| quoting::text(path.as_ref())),
        renamed_from: renamed_from(listed).map(|path| quoting::text(path.as_ref())),
    });

    Ok(CommitItems { commits: commits.collect(), has_more: list.has_more, warnings })
}

/// The request about the parameters `path` and `symbol` in `rev`, or in the working tree.
///
/// # Errors
/// The client may not see all repositories: the commits of a catalogue are those of all of them.
pub fn changes_request(work: &Work, rev: Option<&str>) -> Result<ChangesRequest, Failure> {
    work.check_all("a history")?;

    let root = Prefix::root(&work.codebase().repo);
    let mut filters = Filters { include_tests: true, ..Filters::default() };
    for path in work.params.all("path") {
        let typed = format!(":(top,literal){path}");
        filters.add_path(root.pathspec(&typed)?);
    }

    Ok(ChangesRequest {
        from: None,
        to: rev.map(str::to_owned),
        filters,
        symbol: work.params.text("symbol").map(str::to_owned),
        message: None,
        follows_renames: false,
        cancel: work.cancel.clone(),
    })
}

/// The file that a commit of a history is about.
fn path_of(listed: &ListedCommit) -> Option<&BString> {
    let of_symbol = listed.symbol.as_ref().map(|event| &event.path);
    of_symbol.or(listed.file.as_ref().map(|file| &file.path))
}

/// The path that it had before the commit, if the commit moved it.
fn renamed_from(listed: &ListedCommit) -> Option<&BString> {
    let of_symbol = listed.symbol.as_ref().and_then(|event| event.from.as_ref());
    of_symbol.or(listed.file.as_ref().and_then(|file| file.from.as_ref()))
}

/// `GET /api/ask`: the passages of documents that answer a question, without a language model.
pub async fn ask(job: Job) -> Result<Response, Failure> {
    job.json(|work| {
        let question = work.params.required("q")?;
        let limit = work.params.number("limit", MAX_LIMIT)?.unwrap_or(DEFAULT_PASSAGES);

        let mut request = ask::request(question, work.searcher());
        let rev = work.params.text("rev");
        request.view = search::view(work, rev);

        let mut answer =
            work.run(|update| ask::extractive(work.searcher(), question, &request, limit, update))?;
        answer.warnings.extend(work.waits.take());
        work.follow_up(&answer.index);
        Ok(answer)
    })
    .await
}

/// `GET /api/status`: the state of the index, as `status -o json`.
pub async fn status(job: Job) -> Result<Response, Failure> {
    job.json(|work| {
        work.check_all("the status")?;
        Ok(status::status(work.codebase(), work.params.flag("files"))?)
    })
    .await
}
