//! `graph`: callers, callees, references and definitions of a symbol.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use serde_json::json;

use codeweaver::query::Location;
use codeweaver_git::Prefix;
use codeweaver_index::background;
use codeweaver_xref::{
    self, CallGraphRequest, CallGraphResponse, CallGraphStatus, Direction, Edge, EdgeKind, Grade, Node, Xref,
};

use super::search::run_query;
use crate::cli::args::{Format, place};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::for_agent::{self, AgentTextArgs, Wish};
use crate::cli::places::Places;
use crate::cli::render::{self, Paint, count, plural, safe};
use crate::cli::width;

/// Maximum number of unresolved edges of one node that are printed.
const MAX_UNRESOLVED: usize = 12;
/// Number of columns that a signature needs to say anything.
const MIN_SIGNATURE: usize = 12;
/// Maximum number of files listed that name the symbol, for each reason for which they are no edges.
const MAX_UNLISTED: usize = 10;
/// Number of columns of the name of a grade.
const GRADE_WIDTH: usize = 11;

/// Show the callers, callees, references or definitions of a symbol
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver graph callers parse_header             functions that call it
  git codeweaver graph callees Parser.next --depth 2    functions it calls, and their callees
  git codeweaver graph references src/config.rs:40      references to the symbol defined at a line
  git codeweaver graph callers login logout             callers of several
  git codeweaver graph callers login --rev v1.2         callers as of another revision

Every edge has a grade: exact (proven by scope, import, package or declared type), unique_name (the only
matching definition), ambiguous (all matching definitions are listed), unresolved (a library, or a value).

Exit codes: 0 found, 1 nothing found in what is indexed, 2 error or not indexed.")]
pub struct GraphArgs {
    /// Relation to show
    #[arg(value_enum)]
    direction: DirectionArg,
    /// Names, Type.name, or FILE:LINE
    #[arg(value_name = "SYMBOL", required = true, value_parser = place())]
    symbols: Vec<String>,
    /// Levels of callers or callees, from 1 to 5
    #[arg(short, long, default_value_t = 1)]
    depth: u32,
    /// Maximum number of edges [default: 200]
    #[arg(short, long)]
    limit: Option<usize>,
    /// Maximum number of notes about unresolved calls [default: 50]
    #[arg(long, value_name = "N")]
    note_limit: Option<usize>,
    /// Branch, tag, commit or tree to search instead of HEAD and the working tree
    #[arg(long)]
    rev: Option<String>,
    /// Search only committed files, not the working tree
    #[arg(long)]
    committed: bool,
    /// Same as `-o json`
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
    /// Output format [default: table]
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output_format: Option<Format>,
    #[command(flatten)]
    agent: AgentTextArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DirectionArg {
    Callers,
    Callees,
    Both,
    References,
    Definitions,
}

impl From<DirectionArg> for Direction {
    fn from(direction: DirectionArg) -> Direction {
        match direction {
            DirectionArg::Callers => Direction::Callers,
            DirectionArg::Callees => Direction::Callees,
            DirectionArg::Both => Direction::Both,
            DirectionArg::References => Direction::References,
            DirectionArg::Definitions => Direction::Definitions,
        }
    }
}

pub fn run(args: GraphArgs, context: &Context) -> Result<ExitCode, CliError> {
    let has_format = args.json || args.output_format.is_some();
    match args.agent.wish(has_format, context) {
        Wish::Explicit if args.committed => return Err(for_agent::refused("--committed")),
        Wish::Explicit | Wish::Agent if !args.committed => return for_agent(&args, context),
        _ => {}
    }

    let searcher = context.searcher()?;
    let codebase = &searcher.codebase;
    let format = if args.json { Format::Json } else { args.output_format.unwrap_or_default() };
    let mut symbols = Vec::new();
    for symbol in &args.symbols {
        let location = Location::parse(symbol);
        symbols.push(match location.line() {
            // A path is relative to the current directory; a name may contain colons too.
            Some(line) => format!("{}:{line}", context.file(codebase, location.file, args.rev.as_deref())?),
            None => symbol.clone(),
        });
    }
    let typed = args.symbols.join(", ");

    let mut request = CallGraphRequest::new("", args.direction.into());
    request.symbols = symbols;
    request.depth = args.depth;
    request.limit = args.limit.unwrap_or(request.limit);
    request.note_limit = args.note_limit.unwrap_or(request.note_limit);
    request.rev = args.rev;
    request.committed = args.committed;

    let places = Places::new(context, codebase, request.rev.as_deref());
    let response =
        run_query(&searcher, context, format, |updater| Xref::new(&searcher).query(&request, updater))?;

    let mut out = context.out();
    match format {
        Format::Json => writeln!(out, "{}", render::json(&response, true)?)?,
        Format::Table => table(&mut out, &headline(&response, &typed), &response, &places, context.paint)?,
        Format::Markdown => markdown(&mut out, &headline(&response, &typed), &response)?,
    }
    out.flush()?;
    drop(out);

    if format != Format::Json {
        response.warnings.iter().for_each(|warning| context.warn(warning));
    }
    background::update_if_due(codebase, response.needs_update);

    let is_empty = if request.direction == Direction::Definitions {
        response.roots.is_empty()
    } else {
        response.edges.is_empty()
    };
    Ok(ExitCode::from(if is_empty { exit::NEGATIVE } else { 0 }))
}

/// Prints what the tool `call_graph` says.
fn for_agent(args: &GraphArgs, context: &Context) -> Result<ExitCode, CliError> {
    let prefix = Prefix::new(&context.repo()?, &context.dir);
    let symbols: Vec<String> =
        args.symbols.iter().map(|symbol| for_agent::from_root(&prefix, symbol)).collect();
    let direction = args.direction.to_possible_value().map(|value| value.get_name().to_owned());

    let arguments = json!({
        "symbols": symbols, "direction": direction, "depth": args.depth, "limit": args.limit,
        "note_limit": args.note_limit, "rev": args.rev,
    });
    for_agent::call("call_graph", arguments.as_object().cloned().unwrap_or_default(), context)
}

/// The first line of an answer, with the symbol as typed.
fn headline(response: &CallGraphResponse, symbol: &str) -> String {
    let symbol = safe(symbol);
    let relation = match response.direction {
        Direction::Callers => "Callers of",
        Direction::Callees => "Callees of",
        Direction::Both => "Callers and callees of",
        Direction::References => "References to",
        Direction::Definitions => "Definitions of",
    };

    match response.status {
        CallGraphStatus::NotFound => {
            let named = response.unlisted.as_ref();
            let named = named.map_or_else(String::new, |named| format!(", {}", named.summary()));
            format!("No definition of '{symbol}' found in the index of {}{named}", safe(&response.rev))
        }
        CallGraphStatus::Unsupported => {
            format!("'{symbol}' is defined in a language without call graph support")
        }
        _ if response.direction == Direction::Definitions => {
            format!("{relation} {symbol}: {}", count(response.roots.len() as u64))
        }
        _ => format!(
            "{relation} {symbol}: {}{}{} ({} read in {} ms)",
            if response.edges_truncated {
                format!("{} of ", count(response.edges.len() as u64))
            } else {
                String::new()
            },
            plural(response.total_edge_count as u64, "edge"),
            response
                .unlisted
                .as_ref()
                .map_or_else(String::new, |unlisted| format!(", {}", unlisted.summary())),
            plural(response.coverage.files_read as u64, "file"),
            response.execution_time_ms
        ),
    }
}

/// Writes each root with its edges as a tree, then notes about omitted edges and calls.
fn table(
    out: &mut impl Write,
    headline: &str,
    response: &CallGraphResponse,
    places: &Places,
    paint: Paint,
) -> Result<(), CliError> {
    writeln!(out, "{headline}")?;

    let nodes: BTreeMap<&str, &Node> =
        response.nodes.iter().map(|node| (node.symbol_id.as_str(), node)).collect();
    let towards_callers: &[bool] = match response.direction {
        Direction::Callees => &[false],
        Direction::Both => &[true, false],
        _ => &[true],
    };

    for id in &response.roots {
        let Some(node) = nodes.get(id.as_str()) else { continue };
        writeln!(out, "\n{}", label(node, places, 0, paint))?;
        if response.direction == Direction::Definitions {
            continue;
        }

        for &to_callers in towards_callers {
            if towards_callers.len() > 1 {
                writeln!(out, "{}", paint.dim(if to_callers { "  called by" } else { "  calls" }))?;
            }
            let expanded = BTreeSet::from([id.as_str()]);
            let mut tree = Tree { response, nodes: &nodes, places, paint, to_callers, expanded };
            tree.write_edges(out, id, 1)?;
        }
    }

    if let Some(note) = cut_note(response) {
        writeln!(out, "\n{}", paint.dim(note))?;
    }

    if let Some(unlisted) = &response.unlisted {
        writeln!(out)?;
        for line in unlisted.lines(MAX_UNLISTED) {
            writeln!(out, "{}", paint.dim(safe(&line)))?;
        }
    }

    let n_notes = response.total_note_count;
    if n_notes > 0 {
        writeln!(
            out,
            "\n{}",
            paint.dim(format!("{} about unresolved calls: --json", plural(n_notes as u64, "note")))
        )?;
    }

    Ok(())
}

/// The note that the limits omitted edges, with the limit that shows them; `None` if none were omitted.
fn cut_note(response: &CallGraphResponse) -> Option<String> {
    let n_more = response.total_edge_count - response.edges.len();
    let needed = response.total_edge_count.min(codeweaver_xref::MAX_LIMIT);
    response.edges_truncated.then(|| format!("{} more: --limit {needed}", plural(n_more as u64, "edge")))
}

/// Formats the location and signature of a definition. The signature is cut to fit into a line whose first
/// `used` columns are taken.
fn label(node: &Node, places: &Places, used: usize, paint: Paint) -> String {
    let line = node.span.map_or(1, |span| span.0);
    let location = location(node, places);
    let linked = places.link(&node.file, line, &paint.title(&location));

    let signature = if node.signature.is_empty() { &node.qualified_name } else { &node.signature };
    let used = used + width::measure(&location) + 2;
    let columns = places.screen.columns.map_or(usize::MAX, |columns| columns.saturating_sub(used));
    // A few letters say nothing.
    if signature.is_empty() || columns < MIN_SIGNATURE {
        return linked;
    }
    format!("{linked}  {}", width::fit_words(&safe(&width::excerpt(signature)), columns))
}

/// The place of a definition, or the file that has no definition around a call.
fn location(node: &Node, places: &Places) -> String {
    let path = places.path(&node.file);
    match node.span {
        Some(span) => format!("{path}:{}-{}", span.0, span.1),
        None => path,
    }
}

/// Writer of the edges of a response as an indented tree. Each node is expanded once.
struct Tree<'a> {
    response: &'a CallGraphResponse,
    nodes: &'a BTreeMap<&'a str, &'a Node>,
    places: &'a Places,
    paint: Paint,
    /// Whether edges are followed to callers instead of callees.
    to_callers: bool,
    expanded: BTreeSet<&'a str>,
}

impl<'a> Tree<'a> {
    /// Writes the edges of the node `id`, and below each those of its other end.
    fn write_edges(&mut self, out: &mut impl Write, id: &str, depth: usize) -> Result<(), CliError> {
        let indent = "  ".repeat(depth);
        let mut n_unresolved = 0;

        for edge in &self.response.edges {
            let (near, far) = match (self.to_callers, &edge.dst_symbol_id) {
                (true, Some(dst)) => (dst.as_str(), Some(edge.src_symbol_id.as_str())),
                (true, None) => continue,
                (false, dst) => (edge.src_symbol_id.as_str(), dst.as_deref()),
            };
            if near != id {
                continue;
            }

            if edge.grade == Grade::Unresolved {
                n_unresolved += 1;
                if n_unresolved > MAX_UNRESOLVED {
                    continue;
                }
            }

            self.write_edge(out, edge, far.and_then(|far| self.nodes.get(far).copied()), &indent)?;

            // A reference to an overriding member may mean this one.
            let is_followed = depth < self.response.depth as usize || edge.kind == EdgeKind::Override;
            // Expanding a node once ends the recursion on cycles.
            if let Some(far) = far.filter(|_| is_followed)
                && self.expanded.insert(far)
            {
                self.write_edges(out, far, depth + 1)?;
            }
        }

        if n_unresolved > MAX_UNRESOLVED {
            let more = format!("{} more unresolved", n_unresolved - MAX_UNRESOLVED);
            writeln!(out, "{indent}{}", self.paint.dim(more))?;
        }

        Ok(())
    }
}

impl Tree<'_> {
    /// Writes an edge that leads to `far`. The sites follow on a line of their own if that of the other end
    /// has no room for them. The other end has one if its place has no room after the grade; a place is never
    /// cut, so that it can be copied.
    fn write_edge(
        &self,
        out: &mut impl Write,
        edge: &Edge,
        far: Option<&Node>,
        indent: &str,
    ) -> Result<(), CliError> {
        let sites = sites(edge);
        let columns = self.places.screen.columns.unwrap_or(usize::MAX);
        let end = far.map_or_else(|| safe(&edge.name).into_owned(), |node| location(node, self.places));
        let end = width::measure(&end);

        let after_grade = indent.len() + GRADE_WIDTH + 1;
        let (grade_width, before, start) = match after_grade + end <= columns {
            true => (GRADE_WIDTH, after_grade, " ".to_owned()),
            false => (0, indent.len() + 2, format!("\n{indent}  ")),
        };

        let used = before + 2 + width::measure(&sites);
        let least = end + far.map_or(0, |_| 2 + MIN_SIGNATURE);
        let is_one_line = used.saturating_add(least) <= columns;

        let label = match far {
            Some(node) => label(node, self.places, if is_one_line { used } else { before }, self.paint),
            None => safe(&edge.name).into_owned(),
        };
        let separator = if is_one_line { "  ".to_owned() } else { format!("\n{:before$}", "") };

        let grade = grade(edge, grade_width, self.paint);
        writeln!(out, "{indent}{grade}{start}{label}{separator}{}", self.paint.dim(sites))?;
        Ok(())
    }
}

/// The grade of an edge, in at least `columns`.
fn grade(edge: &Edge, columns: usize, paint: Paint) -> String {
    let padded = format!("{:<columns$}", edge.grade.name());
    match edge.grade {
        Grade::Exact => paint.good(padded),
        Grade::UniqueName => paint.bold(padded),
        Grade::Ambiguous => paint.warning(padded),
        Grade::Unresolved => paint.dim(padded),
    }
}

/// Formats the call sites and evidence of an edge: `(lines 3, 9: import)`.
fn sites(edge: &Edge) -> String {
    let lines: Vec<String> = edge.sites.iter().map(|site| site.start_line.to_string()).collect();
    let more = if edge.site_count > lines.len() { ", …" } else { "" };
    let word = if edge.site_count == 1 { "line" } else { "lines" };
    let kind = match edge.kind {
        EdgeKind::Call => "",
        EdgeKind::Inherit => "base, ",
        EdgeKind::Override => "override, ",
        EdgeKind::Reference => "reference, ",
    };
    let of_total = if edge.candidates > 1 { format!(", 1 of {}", edge.candidates) } else { String::new() };

    format!("({kind}{word} {}{more}: {}{of_total})", lines.join(", "), edge.evidence)
}

/// Writes the roots as a list and the edges as a table.
fn markdown(out: &mut impl Write, headline: &str, response: &CallGraphResponse) -> Result<(), CliError> {
    writeln!(out, "# {}\n", headline.replace('`', "'"))?;
    for node in response.nodes.iter().filter(|node| response.roots.contains(&node.symbol_id)) {
        writeln!(out, "- {} {}", code(&node.symbol_id), code(&node.signature))?;
    }

    if !response.edges.is_empty() {
        writeln!(out, "\n| from | to | grade | evidence | lines |\n|---|---|---|---|---|")?;
    }

    for edge in &response.edges {
        let to = edge.dst_symbol_id.as_deref().unwrap_or(&edge.name);
        let lines: Vec<String> = edge.sites.iter().map(|site| site.start_line.to_string()).collect();
        writeln!(
            out,
            "| {} | {} | {} | {} | {} |",
            cell(&edge.src_symbol_id),
            cell(to),
            edge.grade.name(),
            edge.evidence,
            lines.join(", ") + if edge.site_count > lines.len() { ", …" } else { "" }
        )?;
    }

    for line in response.unlisted.iter().flat_map(|unlisted| unlisted.lines(MAX_UNLISTED)) {
        writeln!(out, "\n{}", safe(&line))?;
    }

    let n_notes = response.total_note_count;
    let notes =
        (n_notes > 0).then(|| format!("{} about unresolved calls: --json", plural(n_notes as u64, "note")));
    for note in cut_note(response).into_iter().chain(notes) {
        writeln!(out, "\n{note}")?;
    }

    Ok(())
}

/// `text` as inline code of Markdown.
fn code(text: &str) -> String {
    format!("`{}`", safe(text).replace('`', "'"))
}

/// `text` as inline code in a cell of a table.
fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}
