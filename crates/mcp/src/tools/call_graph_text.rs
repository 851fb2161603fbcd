//! The text of an answer about the call graph: one line per call site.
//!
//! Callers are listed by file. Each has its lines and the function around it, and its target where that is
//! not the symbol of the call. A site that is exact has no remark; `?` marks one of the grade `unique_name`.
//! Tests are last, and only counted if they are many. The candidates of one ambiguous site are named
//! together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use codeweaver::query::view::short;
use codeweaver_git::quoting::printed;
use codeweaver_xref::{CallGraphResponse, CallGraphStatus, Direction, Edge, EdgeKind, Grade, Node};

use super::text::{more, state_of, unless_fresh};

/// Maximum number of candidates of a site that are all named. If there are more, [`SHOWN_CANDIDATES`] are
/// named.
const MAX_CANDIDATES: usize = 3;
const SHOWN_CANDIDATES: usize = 2;
/// Maximum length of a signature in bytes, of a single definition and of several.
const MAX_SIGNATURE: usize = 160;
const MAX_SIGNATURE_OF_MANY: usize = 60;
/// Maximum number of callers in tests that are listed one by one, and of their files if there are more.
const MAX_TESTS: usize = 6;
const MAX_TEST_FILES: usize = 8;
/// Maximum number of names outside the repository that are listed for a caller.
const MAX_OUTSIDE: usize = 6;

/// Maximum number of files listed that name the symbol, for each reason for which they are no edges.
const MAX_UNLISTED: usize = 8;

/// Edges of one source and name that agree in grade and sites: one written call with all of its possible
/// targets.
struct Call<'a> {
    edge: &'a Edge,
    targets: Vec<&'a str>,
}

/// Formats a response; `next_cursor` continues the answer.
pub(super) fn render(response: &CallGraphResponse, next_cursor: Option<&str>) -> String {
    let mut text = headline(response);
    for warning in response.warnings.iter().filter(|warning| !is_redundant(warning)) {
        let _ = writeln!(text, "warning: {warning}");
    }

    let roots: Vec<&Node> =
        response.nodes.iter().filter(|node| response.roots.contains(&node.symbol_id)).collect();
    let most = if response.roots.len() > 1 { MAX_SIGNATURE_OF_MANY } else { MAX_SIGNATURE };
    for (at, root) in roots.iter().enumerate() {
        let number = if response.roots.len() > 1 { format!("#{} ", at + 1) } else { String::new() };
        let _ = writeln!(text, "{number}{}", definition(root, most));
    }

    let order: Vec<&str> = roots.iter().map(|root| root.symbol_id.as_str()).collect();
    let is_callees = response.direction == Direction::Callees;
    let is_both = response.direction == Direction::Both;
    let (inwards, outwards): (Vec<Call<'_>>, Vec<Call<'_>>) = calls(response).into_iter().partition(|call| {
        let is_of_root = is_both && order.contains(&call.edge.src_symbol_id.as_str());
        !(is_callees || is_of_root)
    });

    let tests: BTreeSet<&str> =
        response.nodes.iter().filter(|node| node.is_test).map(|node| node.file.as_str()).collect();
    let is_mixed = response.direction == Direction::References;
    let kinds = [
        (EdgeKind::Inherit, "inherited by:\n"),
        (EdgeKind::Override, "overridden by:\n"),
        (EdgeKind::Call, "calls:\n"),
        (EdgeKind::Reference, "mentions:\n"),
    ];

    for (kind, heading) in kinds {
        let of_kind: Vec<&Call<'_>> = inwards.iter().filter(|call| call.edge.kind == kind).collect();
        if !of_kind.is_empty() && (is_both || is_mixed) {
            text.push_str(if is_both { "callers:\n" } else { heading });
        }
        callers(&mut text, &of_kind, &order, &tests);
    }
    if is_both && !outwards.is_empty() {
        text.push_str("callees:\n");
    }
    callees(&mut text, &outwards, &order);

    if let Some(unlisted) = &response.unlisted {
        unlisted.lines(MAX_UNLISTED).iter().for_each(|line| text.extend([line, "\n"]));
    }
    unread(&mut text, response);
    if let Some(cursor) = next_cursor {
        text.push_str(&more(cursor));
    }
    text
}

/// The first line: `callers of parse: 12 call sites`. The revision and the freshness are named only if they
/// are unusual.
fn headline(response: &CallGraphResponse) -> String {
    let symbol = &response.symbol;
    let mut text = match (response.status, response.direction) {
        (CallGraphStatus::NotFound, _) => {
            let named = response.unlisted.as_ref();
            let named = named.map_or_else(String::new, |named| format!("; {}", named.summary()));
            return format!(
                "no definition of {symbol:?} was found in the index{named}: look for it with find_symbol or find_text, or name \
                 it by FILE:LINE\n"
            );
        }
        (CallGraphStatus::Unsupported, _) => {
            return format!("{symbol:?} is defined in a language whose calls are not read: use find_text\n");
        }
        (_, Direction::Definitions) => {
            let (shown, total) = (response.roots.len(), response.total_root_count);
            let of_total = if shown < total { format!(" of {total}") } else { String::new() };
            format!("{shown}{of_total} definition{} of {symbol}", if total == 1 { "" } else { "s" })
        }
        (_, direction) => edges_headline(response, direction),
    };

    text.push_str(&unless_fresh(response.freshness));
    if response.rev != "HEAD" {
        let oid = response.commit.as_deref().unwrap_or(&response.tree);
        let _ = write!(text, " at {} ({})", response.rev, short(oid));
    }

    text.push('\n');
    text
}

/// The headline of an answer that lists edges.
fn edges_headline(response: &CallGraphResponse, direction: Direction) -> String {
    let what = match direction {
        Direction::Callers => "callers of",
        Direction::Callees => "callees of",
        Direction::Both => "callers and callees of",
        Direction::References | Direction::Definitions => "references to",
    };

    // The warning about the token limit has the same numbers.
    let (shown, total) = (response.edges.len(), response.total_edge_count);
    let is_warned = response.warnings.iter().any(|warning| warning.starts_with("CALL_GRAPH_TOKEN_LIMIT"));
    let of_total =
        if shown < total && !is_warned { format!(": {shown} of {total} edges") } else { String::new() };
    let none = match &response.unlisted {
        Some(unlisted) if total == 0 => format!(": none resolved, {}", unlisted.summary()),
        _ if total == 0 && response.coverage.complete => ": none found".to_owned(),
        _ if total == 0 => ": none resolved".to_owned(),
        _ => String::new(),
    };

    let is_ambiguous = response.status == CallGraphStatus::Ambiguous;
    let which = if is_ambiguous { ", ambiguous: ask about one of these" } else { "" };
    let has_unproven = response.edges.iter().any(|edge| edge.grade == Grade::UniqueName);
    let doubt = if has_unproven { " (? is unproven)" } else { "" };
    format!("{what} {}{of_total}{none}{which}{doubt}", response.symbol)
}

/// Returns whether the text says in another place what a warning says.
fn is_redundant(warning: &str) -> bool {
    matches!(warning, "CALL_GRAPH_EDGES_TRUNCATED" | "CALL_GRAPH_NOTES_TRUNCATED")
        || warning.starts_with("CALL_GRAPH_NOT_FOUND: no definition was")
}

/// The line of a definition: `src/a.rs:3-9 fn parse(text: &str) -> Tree`. The signature has at most `most`
/// bytes.
fn definition(node: &Node, most: usize) -> String {
    let (first, last) = node.span.unwrap_or((1, 1));
    let lines = if first == last { first.to_string() } else { format!("{first}-{last}") };
    let signature = if node.signature.is_empty() { &node.qualified_name } else { &node.signature };

    let end = signature.floor_char_boundary(most);
    let cut = if end < signature.len() { "…" } else { "" };
    format!("{}:{lines} {}{cut}{}", printed(&node.file), &signature[..end], state_of(node.state))
}

/// Joins the edges of one call.
fn calls(response: &CallGraphResponse) -> Vec<Call<'_>> {
    let mut calls: Vec<Call<'_>> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for edge in &response.edges {
        let is_unresolved = edge.dst_symbol_id.is_none();
        // The possible targets of one site have the same name and the same sites.
        let key =
            (edge.depth, &edge.src_symbol_id, &edge.name, edge.kind, edge.grade, &edge.sites, is_unresolved);

        let at = *known.entry(key).or_insert_with(|| {
            calls.push(Call { edge, targets: Vec::new() });
            calls.len() - 1
        });
        calls[at].targets.extend(edge.dst_symbol_id.as_deref());
    }

    calls
}

/// The name in a symbol id; empty for a file.
fn name_in(id: &str) -> &str {
    id.split_once('#').map_or("", |(_, name)| name)
}

/// The place and name in a symbol id: `src/parse.rs:12 Parser.next`.
fn placed(id: &str) -> String {
    id.split_once('#').map_or_else(|| id.to_owned(), |(place, name)| format!("{place} {name}"))
}

/// The lines of the sites of an edge: `12,14?`.
fn lines_of(edge: &Edge) -> String {
    let lines: Vec<String> = edge.sites.iter().map(|site| site.start_line.to_string()).collect();
    let more = if edge.site_count > lines.len() { ",…" } else { "" };
    let doubt = if edge.grade == Grade::UniqueName { "?" } else { "" };
    format!("{}{more}{doubt}", lines.join(","))
}

/// The remark about an unusual call, with a blank before it; empty for others.
fn remarks(edge: &Edge, is_inwards: bool) -> String {
    match (edge.grade, edge.candidates) {
        (Grade::Exact | Grade::UniqueName | Grade::Unresolved, _) => String::new(),
        (Grade::Ambiguous, 0 | 1) => " (or of a library)".to_owned(),
        (Grade::Ambiguous, n) if is_inwards => format!(" ({n} candidates)"),
        (Grade::Ambiguous, _) => String::new(),
    }
}

/// Lists calls with a line for each file of their sites, level by level, tests last.
fn callers(text: &mut String, calls: &[&Call<'_>], roots: &[&str], tests: &BTreeSet<&str>) {
    let depths: BTreeSet<u32> = calls.iter().map(|call| call.edge.depth).collect();
    for depth in depths {
        if depth > 1 {
            let _ = writeln!(text, "level {depth}:");
        }

        let of_level = calls.iter().filter(|call| call.edge.depth == depth);
        let (of_tests, of_code): (Vec<&&Call<'_>>, Vec<&&Call<'_>>) =
            of_level.partition(|call| tests.contains(file_of(call)));

        for (file, calls) in by_file(&of_code) {
            write_callers(text, file, &calls, roots);
        }
        if of_tests.len() <= MAX_TESTS {
            for (file, calls) in by_file(&of_tests) {
                write_callers(text, file, &calls, roots);
            }
        } else {
            count_tests(text, &of_tests);
        }
    }
}

/// Writes the callers in one file on one line.
fn write_callers(text: &mut String, file: &str, calls: &[&Call<'_>], roots: &[&str]) {
    let mut owner = "";
    let mut shown = Vec::new();
    for call in calls {
        shown.push(caller(call, roots, owner));
        owner = owner_of(name_in(&call.edge.src_symbol_id));
    }
    let _ = writeln!(text, "{}: {}", printed(file), shown.join(", "));
}

/// Writes the number of call sites in each file of tests.
fn count_tests(text: &mut String, calls: &[&&Call<'_>]) {
    let files = by_file(calls);
    let mut shown = Vec::new();
    for (file, calls) in files.iter().take(MAX_TEST_FILES) {
        let n_sites: usize = calls.iter().map(|call| call.edge.site_count).sum();
        shown.push(format!("{} {n_sites}", printed(file)));
    }

    let more = files.len().saturating_sub(MAX_TEST_FILES);
    let more = if more > 0 { format!(", {more} more files") } else { String::new() };
    let _ = writeln!(text, "tests, by number: {}{more}", shown.join(", "));
}

/// The file of the first site of a call.
fn file_of<'r>(call: &Call<'r>) -> &'r str {
    call.edge.sites.first().map_or("", |site| site.file.as_str())
}

/// The calls of each file, in order of first occurrence.
fn by_file<'c, 'r>(calls: &[&&'c Call<'r>]) -> Vec<(&'r str, Vec<&'c Call<'r>>)> {
    let mut files: Vec<(&str, Vec<&Call<'_>>)> = Vec::new();
    for call in calls {
        let file = file_of(call);
        match files.iter_mut().find(|(known, _)| *known == file) {
            Some((_, calls)) => calls.push(call),
            None => files.push((file, vec![call])),
        }
    }
    files
}

/// The qualifiers of a name with the last separator; empty for an unqualified one.
fn owner_of(name: &str) -> &str {
    &name[..name.rfind(['.', ':', '#']).map_or(0, |at| at + 1)]
}

/// Formats a caller: `12,14 run → #1 (2 candidates)`. The target is named only if it is not the symbol of the
/// call, and is `any` if the call may lead to each of the roots. A definition of the same `owner` as the one
/// before it is shortened to `.run`.
fn caller(call: &Call<'_>, roots: &[&str], owner: &str) -> String {
    let Call { edge, targets } = call;
    let is_clear = roots.len() == 1 && targets.as_slice() == roots;
    let is_any = roots.len() > 1 && roots.iter().all(|root| targets.contains(root));

    let most = if targets.len() > MAX_CANDIDATES { SHOWN_CANDIDATES } else { MAX_CANDIDATES };
    let mut named = Vec::new();
    for target in targets.iter().take(most) {
        named.push(match roots.iter().position(|root| root == target) {
            Some(root) => format!("#{}", root + 1),
            None => name_in(target).to_owned(),
        });
    }
    let named = named.join(", ");
    let more = if targets.len() > most { ", …" } else { "" };

    let to = match (is_clear, is_any) {
        (true, _) => String::new(),
        (_, true) => " → any".to_owned(),
        _ => format!(" → {named}{more}"),
    };

    let from = name_in(&edge.src_symbol_id);
    let from = match from.strip_prefix(owner) {
        _ if from.is_empty() => String::new(),
        Some(name) if !owner.is_empty() && owner_of(from) == owner => format!(" .{name}"),
        _ => format!(" {from}"),
    };

    format!("{}{from}{to}{}", lines_of(edge), remarks(edge, true))
}

/// Lists calls by the definition that makes them, each with the place of its target. Calls without a known
/// target are counted.
fn callees(text: &mut String, calls: &[Call<'_>], roots: &[&str]) {
    let mut sources: Vec<&str> = Vec::new();
    for call in calls {
        if !sources.contains(&call.edge.src_symbol_id.as_str()) {
            sources.push(&call.edge.src_symbol_id);
        }
    }

    for source in &sources {
        // The headline names the source if it is the only one.
        if sources.len() > 1 || roots != [*source] {
            let shown = match roots.iter().position(|root| root == source) {
                Some(root) if roots.len() > 1 => format!("#{}", root + 1),
                _ => placed(source),
            };
            let _ = writeln!(text, "{shown} calls");
        }

        let own_file = source.split_once('#').map_or(*source, |(place, _)| place);
        let own_file = own_file.rsplit_once(':').map_or(own_file, |(file, _)| file);
        let (mut unresolved, mut n_unresolved): (Vec<&str>, usize) = (Vec::new(), 0);
        for Call { edge, targets } in calls.iter().filter(|call| call.edge.src_symbol_id == **source) {
            let Some(only) = targets.first() else {
                n_unresolved += edge.site_count;
                unresolved.push(edge.name.as_str());
                continue;
            };
            let to = if targets.len() == 1 && edge.candidates <= 1 {
                place_from(own_file, only)
            } else {
                let most = if targets.len() > MAX_CANDIDATES { SHOWN_CANDIDATES } else { MAX_CANDIDATES };
                let named: Vec<String> =
                    targets.iter().take(most).map(|id| place_from(own_file, id)).collect();
                let more = if edge.candidates > named.len() { ", …" } else { "" };
                format!("{} candidates: {}{more}", edge.candidates, named.join(", "))
            };

            // The target has the name of the call, unless it was imported under another name.
            let is_same = targets.len() == 1 && last_part(&edge.name) == last_part(only);
            let name = if is_same { String::new() } else { format!(" {}", edge.name) };
            let _ = writeln!(text, "{}{name} → {to}{}", lines_of(edge), remarks(edge, false));
        }

        if !unresolved.is_empty() {
            let more = if unresolved.len() > MAX_OUTSIDE { ", …" } else { "" };
            unresolved.truncate(MAX_OUTSIDE);
            let _ = writeln!(text, "{n_unresolved} of libraries or values: {}{more}", unresolved.join(", "));
        }
    }
}

/// The place and name in a symbol id, as seen from `file`: `:12 Parser.next` for a definition in that file.
fn place_from(file: &str, id: &str) -> String {
    let place = placed(id);
    match place.strip_prefix(file).filter(|rest| rest.starts_with(':')) {
        Some(rest) => rest.to_owned(),
        None => place,
    }
}

/// The last part of a qualified name.
fn last_part(name: &str) -> &str {
    name.rsplit(['.', ':', '#', '\\']).next().unwrap_or_default()
}

/// Names the files whose calls are not all known.
fn unread(text: &mut String, response: &CallGraphResponse) {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for note in &response.notes {
        let what = match note.note_type {
            "parse_errors" => "partly parsed",
            "file_not_parsed" => "not parsed",
            "file_not_local" => "not in this clone",
            _ => continue,
        };

        let file = printed(&note.file).to_string();
        let files = files.entry(what).or_default();
        if !files.contains(&file) {
            files.push(file);
        }
    }

    for (what, files) in files {
        let _ = writeln!(text, "{what}, calls may be missing: {}", files.join(", "));
    }
}
