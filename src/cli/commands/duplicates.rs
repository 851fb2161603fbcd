//! `duplicates`: lists the copies of functions, methods and types.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use codeweaver::duplicates::answer::DuplicateGroup;
use codeweaver::duplicates::{self, Class, Duplicates, DuplicatesRequest, sarif};
use codeweaver::query::{Searcher, TypedQuery, ViewRequest};
use codeweaver::service::follow_up;

use super::search::run_query;
use crate::cli::args::{Format, place};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::places::Places;
use crate::cli::render::{self, count, plural, safe};
use crate::cli::scope::ScopeArgs;
use crate::cli::{exit, width};

/// Number of groups that are printed for people.
const LIMIT: usize = 20;
/// Number of members of a group that are printed for people.
const MAX_MEMBERS: usize = 12;
/// Number of differences of a member that are printed.
const MAX_DIFFERENCES: usize = 3;

/// List the copies of functions, methods and types, and what differs between them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver duplicates                         what could be unified, the largest first
  git codeweaver duplicates src --min-similarity 0.9
  git codeweaver duplicates --since main --fail     in CI: fail if the branch adds or changes a copy
  git codeweaver duplicates --format sarif > duplicates.sarif

Exit codes: 0 done, 1 copies were found and --fail was given, 2 error or not indexed.")]
pub struct DuplicatesArgs {
    /// Files and directories to search, relative to the current directory [default: all]
    #[arg(value_name = "PATHSPEC", value_parser = place())]
    paths: Vec<String>,
    /// Only groups with a definition that was added or changed since the current branch has left this
    /// revision
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// Minimum similarity of copies, from 0.5 to 1
    #[arg(long, value_name = "SHARE", default_value_t = duplicates::MIN_SIMILARITY)]
    min_similarity: f32,
    /// Minimum number of tokens (names, literals, marks) of a definition
    #[arg(long, value_name = "N", default_value_t = duplicates::MIN_TOKENS)]
    min_tokens: u32,
    /// List definitions that are similar by meaning and share half of their tokens, too
    #[arg(long)]
    semantic: bool,
    /// Include files that may be third-party (directories such as deps and external)
    #[arg(long)]
    include_vendored: bool,
    /// Exit with code 1 if copies are found
    #[arg(long)]
    fail: bool,
    /// Maximum number of groups [default: 20; all with JSON and SARIF]
    #[arg(short, long)]
    limit: Option<usize>,
    /// Leave out the first N groups
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    offset: usize,
    /// Output format
    #[arg(short, long, visible_alias = "format", value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Table)]
    output_format: ReportFormat,
    /// Same as `-o json`
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

/// Output formats of a list of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    Table,
    Json,
    Markdown,
    // For code scanners
    Sarif,
}

impl DuplicatesArgs {
    fn format(&self) -> ReportFormat {
        if self.json { ReportFormat::Json } else { self.output_format }
    }

    fn request(&self, searcher: &Searcher, context: &Context) -> Result<DuplicatesRequest, CliError> {
        let mut scope = self.scope.clone();
        scope.path.extend(self.paths.iter().cloned());
        let resolved =
            scope.resolve(&TypedQuery::from_conditions(scope.conditions()), searcher, context, false)?;
        resolved.notes.iter().for_each(|note| context.warn(note));

        let is_for_people = matches!(self.format(), ReportFormat::Table | ReportFormat::Markdown);
        let limit = self.limit.unwrap_or(if is_for_people { LIMIT } else { usize::MAX });
        Ok(DuplicatesRequest {
            filters: resolved.filters,
            since: self.since.clone(),
            min_similarity: self.min_similarity,
            min_tokens: self.min_tokens,
            include_vendored: self.include_vendored,
            semantic: self.semantic,
            offset: self.offset,
            limit,
            ..DuplicatesRequest::new(ViewRequest { budget: ViewRequest::UNLIMITED, ..resolved.view })
        })
    }
}

pub fn run(args: DuplicatesArgs, context: &Context) -> Result<ExitCode, CliError> {
    let searcher = Searcher::new(context.codebase()?);
    let request = args.request(&searcher, context)?;

    let format = if args.format() == ReportFormat::Json { Format::Json } else { Format::Table };
    let found =
        run_query(&searcher, context, format, |updater| duplicates::find(&searcher, &request, updater))?;

    let places = Places::new(context, &searcher.codebase, args.scope.rev.as_deref());
    let mut out = context.out();
    match args.format() {
        ReportFormat::Table => table(&mut out, &found, &places, context)?,
        ReportFormat::Markdown => markdown(&mut out, &found, &places)?,
        ReportFormat::Json => writeln!(out, "{}", render::json(&found, true)?)?,
        ReportFormat::Sarif => {
            let log = sarif::log(&found, env!("CARGO_PKG_VERSION"));
            writeln!(out, "{}", render::json(&log, true)?)?;
        }
    }
    out.flush()?;
    drop(out);

    if args.format() != ReportFormat::Json {
        found.warnings.iter().for_each(|warning| context.warn(warning));
    }
    follow_up(&searcher.codebase, &found.index);
    Ok(ExitCode::from(if args.fail && found.total_groups > 0 { exit::NEGATIVE } else { 0 }))
}

/// The first line of the output.
fn summary(found: &Duplicates) -> String {
    let definitions = plural(found.definitions as u64, "definition");
    match found.total_groups {
        0 => format!("No copies among {definitions}"),
        n => {
            let groups = plural(n as u64, "group");
            let lines = plural(found.total_saved_lines, "line");
            format!("{groups} of copies among {definitions}: unifying them saves about {lines}")
        }
    }
}

/// The last line of the output, if groups are left out.
fn rest(found: &Duplicates) -> Option<String> {
    let n_left = found.total_groups.saturating_sub(found.groups.len());
    (n_left > 0).then(|| format!("{} more: --limit and --offset show them", count(n_left as u64)))
}

/// The class, the similarity and the lines saved of a group.
fn headline(group: &DuplicateGroup) -> String {
    let similarity = match group.class {
        Class::Identical => String::new(),
        _ => format!(" {:.2}", group.similarity),
    };
    let lines = plural(group.saved_lines.into(), "line");
    format!("{}{similarity}, {} members, saves {lines}", group.class.name(), group.members.len())
}

/// The note beside a member: whether it changed, and how it differs.
fn note(group: &DuplicateGroup, at: usize) -> String {
    let member = &group.members[at];
    let mut parts = Vec::new();

    parts.extend((member.changed == Some(true)).then(|| "changed".to_owned()));
    if group.class != Class::Identical && at == group.reference {
        parts.push("reference".to_owned());
    } else if member.class != Class::Identical {
        parts.push(format!("{:.2}", member.similarity));
        parts.extend((member.total_differences > 0).then(|| member.differences_text(MAX_DIFFERENCES)));
    }
    safe(&parts.join("  ")).into_owned()
}

/// Writes a block for each group.
fn table(
    out: &mut impl Write,
    found: &Duplicates,
    places: &Places,
    context: &Context,
) -> Result<(), CliError> {
    let paint = context.paint;
    writeln!(out, "{}", summary(found))?;

    for group in &found.groups {
        writeln!(out, "\n{}", paint.bold(headline(group)))?;
        for (at, member) in group.members.iter().enumerate().take(MAX_MEMBERS) {
            let place = format!("{}:{}-{}", places.path(&member.path), member.span.0, member.span.1);
            let place = places.link(&member.path, member.span.0, &paint.title(place));
            let name = format!("{} {}", member.kind, safe(&member.name));
            let note = width::fit_words(&note(group, at), context.screen.columns_after(4)).into_owned();

            writeln!(out, "  {place}  {name}")?;
            if !note.is_empty() {
                writeln!(out, "    {}", paint.dim(note))?;
            }
        }
        if let n @ 1.. = group.members.len().saturating_sub(MAX_MEMBERS) {
            writeln!(out, "  {}", paint.dim(format!("{n} more")))?;
        }
    }

    if let Some(rest) = rest(found) {
        writeln!(out, "\n{}", paint.dim(rest))?;
    }
    Ok(())
}

/// Writes a section for each group.
fn markdown(out: &mut impl Write, found: &Duplicates, places: &Places) -> Result<(), CliError> {
    writeln!(out, "# Duplicates\n\n{}", summary(found))?;

    for group in &found.groups {
        let reference = &group.members[group.reference];
        writeln!(out, "\n## `{}`\n\n{}\n", code(&safe(&reference.name)), headline(group))?;
        for (at, member) in group.members.iter().enumerate() {
            let place = format!("{}:{}-{}", places.path(&member.path), member.span.0, member.span.1);
            let note = note(group, at);
            let note = if note.is_empty() { String::new() } else { format!(": `{}`", code(&note)) };
            writeln!(out, "- `{}` `{}`{note}", code(&place), code(&safe(&member.name)))?;
        }
    }

    if let Some(rest) = rest(found) {
        writeln!(out, "\n{rest}")?;
    }
    Ok(())
}

/// A text that can stand between backticks.
fn code(text: &str) -> String {
    text.replace('`', "'")
}
