//! The text of an answer about the call graph: one line per call site.
//!
//! Callers are listed by file, each with its lines, the function around it and, where that is not the symbol
//! of the call, what it leads to. Nothing is said about a site that is exact; `?` marks one of the grade
//! `unique_name`. Tests are last, and only counted if they are many. The candidates of one ambiguous site are
//! named together.

use super::text::{more, state_of, unless_fresh};
use codeweaver::query::view::short;
use codeweaver_git::quoting::printed;
use codeweaver_xref::{CallGraphResponse, CallGraphStatus, Direction, Edge, EdgeKind, Grade, Node};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Maximum number of candidates of a site that are all named; of more, so many are.
const MAX_CANDIDATES: usize = 3;
const SHOWN_CANDIDATES: usize = 2;
/// Maximum length of a signature in bytes, of the only definition and of several.
const MAX_SIGNATURE: usize = 160;
const MAX_SIGNATURE_OF_MANY: usize = 60;
/// Maximum number of callers in tests that are listed one by one, and of their files if there are more.
const MAX_TESTS: usize = 6;
const MAX_TEST_FILES: usize = 8;
/// Maximum number of names outside the repository that are listed for a caller.
const MAX_OUTSIDE: usize = 6;

/// Edges of one source and name that agree in grade and sites: one written call, and all that it may lead to.
struct Call<'a> {
    edge: &'a Edge,
    targets: Vec<&'a str>,
}

/// Formats a response; `next_cursor` leads to the rest.
pub(super) fn of(response: &CallGraphResponse, next_cursor: Option<&str>) -> String {
    let mut text = headline(response);
    for warning in response.warnings.iter().filter(|warning| !is_said_otherwise(warning)) {
        let _ = writeln!(text, "warning: {warning}");
    }
    let roots: Vec<&Node> =
        response.nodes.iter().filter(|node| response.roots.contains(&node.symbol_id)).collect();
    for (at, root) in roots.iter().enumerate() {
        let number = if response.roots.len() > 1 { format!("#{} ", at + 1) } else { String::new() };
        let most = if response.roots.len() > 1 { MAX_SIGNATURE_OF_MANY } else { MAX_SIGNATURE };
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
    unread(&mut text, response);
    if let Some(cursor) = next_cursor {
        text.push_str(&more(cursor));
    }
    text
}

/// `callers of parse: 12 call sites`; the revision and the freshness only if they are unusual.
fn headline(response: &CallGraphResponse) -> String {
    let symbol = &response.symbol;
    let mut text = match (response.status, response.direction) {
        (CallGraphStatus::NotFound, _) => {
            return format!(
                "no definition of {symbol:?} was found in the index: look for it with find_symbol or find_text, or name \
                 it by FILE:LINE\n"
            );
        }
        (CallGraphStatus::Unsupported, _) => {
            return format!("{symbol:?} is defined in a language whose calls are not read: use find_text\n");
        }
        (_, Direction::Definitions) => {
            let (shown, total) = (response.roots.len(), response.total_root_count);
            let of = if shown < total { format!(" of {total}") } else { String::new() };
            format!("{shown}{of} definition{} of {symbol}", if total == 1 { "" } else { "s" })
        }
        (status, direction) => {
            let what = match direction {
                Direction::Callers => "callers of",
                Direction::Callees => "callees of",
                Direction::Both => "callers and callees of",
                Direction::References | Direction::Definitions => "references to",
            };
            let (shown, total) = (response.edges.len(), response.total_edge_count);
            let is_said =
                response.warnings.iter().any(|warning| warning.starts_with("CALL_GRAPH_TOKEN_LIMIT"));
            let is_cut = shown < total && !is_said;
            let of = if is_cut { format!(": {shown} of {total} edges") } else { String::new() };
            let none = if total == 0 { ": none found" } else { "" };
            let which =
                if status == CallGraphStatus::Ambiguous { ", ambiguous: ask about one of these" } else { "" };
            let is_unproven = |edge: &Edge| edge.grade == Grade::UniqueName;
            let doubt = if response.edges.iter().any(is_unproven) { " (? is unproven)" } else { "" };
            format!("{what} {symbol}{of}{none}{which}{doubt}")
        }
    };
    text.push_str(&unless_fresh(response.freshness));
    if response.rev != "HEAD" {
        let oid = response.commit.as_deref().unwrap_or(&response.tree);
        let _ = write!(text, " at {} ({})", response.rev, short(oid));
    }
    text.push('\n');
    text
}

/// Whether a warning says what the text says in another place.
fn is_said_otherwise(warning: &str) -> bool {
    matches!(warning, "CALL_GRAPH_EDGES_TRUNCATED" | "CALL_GRAPH_NOTES_TRUNCATED")
        || warning.starts_with("CALL_GRAPH_NOT_FOUND: no definition was")
}

/// `src/a.rs:3-9 fn parse(text: &str) -> Tree`.
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
        // What one site may lead to has the same name and the same sites.
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

/// `src/parse.rs:12 Parser.next`.
fn placed(id: &str) -> String {
    id.split_once('#').map_or_else(|| id.to_owned(), |(place, name)| format!("{place} {name}"))
}

/// `12,14?`
fn lines_of(edge: &Edge) -> String {
    let lines: Vec<String> = edge.sites.iter().map(|site| site.start_line.to_string()).collect();
    let more = if edge.site_count > lines.len() { ",…" } else { "" };
    let doubt = if edge.grade == Grade::UniqueName { "?" } else { "" };
    format!("{}{more}{doubt}", lines.join(","))
}

/// What is unusual about a call.
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
        let is_short = of_tests.len() <= MAX_TESTS;
        for (file, calls) in
            by_file(&of_code).into_iter().chain(is_short.then(|| by_file(&of_tests)).into_iter().flatten())
        {
            let mut owner = "";
            let mut shown = Vec::new();
            for call in calls {
                shown.push(caller(call, roots, owner));
                owner = owner_of(name_in(&call.edge.src_symbol_id));
            }
            let _ = writeln!(text, "{}: {}", printed(file), shown.join(", "));
        }
        if !is_short {
            let files = by_file(&of_tests);
            let n_of = |calls: &[&Call<'_>]| calls.iter().map(|call| call.edge.site_count).sum::<usize>();
            let shown = files.iter().take(MAX_TEST_FILES);
            let shown: Vec<String> =
                shown.map(|(file, calls)| format!("{} {}", printed(file), n_of(calls))).collect();
            let more = files.len().saturating_sub(MAX_TEST_FILES);
            let more = if more > 0 { format!(", {more} more files") } else { String::new() };
            let _ = writeln!(text, "tests, by number: {}{more}", shown.join(", "));
        }
    }
}

/// The file of a call.
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

/// `12,14 run → #1 (2 candidates)`; the target only if it is not the symbol of the call, `any` if it is each
/// of the roots. Of a definition of the same `owner` as the one before it, `.run`.
fn caller(call: &Call<'_>, roots: &[&str], owner: &str) -> String {
    let Call { edge, targets } = call;
    let named = |target: &&str| match roots.iter().position(|root| root == target) {
        Some(root) => format!("#{}", root + 1),
        None => name_in(target).to_owned(),
    };
    let is_clear = roots.len() == 1 && targets.as_slice() == roots;
    let is_any = roots.len() > 1 && roots.iter().all(|root| targets.contains(root));
    let most = if targets.len() > MAX_CANDIDATES { SHOWN_CANDIDATES } else { MAX_CANDIDATES };
    let to = targets.iter().take(most).map(named).collect::<Vec<_>>().join(", ");
    let more = if targets.len() > most { ", …" } else { "" };
    let to = match (is_clear, is_any) {
        (true, _) => String::new(),
        (_, true) => " → any".to_owned(),
        _ => format!(" → {to}{more}"),
    };
    let from = name_in(&edge.src_symbol_id);
    let from = match from.strip_prefix(owner) {
        _ if from.is_empty() => String::new(),
        Some(name) if !owner.is_empty() && owner_of(from) == owner => format!(" .{name}"),
        _ => format!(" {from}"),
    };
    format!("{}{from}{to}{}", lines_of(edge), remarks(edge, true))
}

/// Lists calls by the definition that makes them, each with the place of its target; those that lead nowhere
/// are counted.
fn callees(text: &mut String, calls: &[Call<'_>], roots: &[&str]) {
    let mut sources: Vec<&str> = Vec::new();
    for call in calls {
        if !sources.contains(&call.edge.src_symbol_id.as_str()) {
            sources.push(&call.edge.src_symbol_id);
        }
    }
    for source in &sources {
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
            let near = |id: &str| {
                let place = placed(id);
                place
                    .strip_prefix(own_file)
                    .filter(|rest| rest.starts_with(':'))
                    .map_or(place.clone(), str::to_owned)
            };
            let to = if targets.len() == 1 && edge.candidates <= 1 {
                near(only)
            } else {
                let most = if targets.len() > MAX_CANDIDATES { SHOWN_CANDIDATES } else { MAX_CANDIDATES };
                let named: Vec<String> = targets.iter().take(most).map(|id| near(id)).collect();
                let more = if edge.candidates > named.len() { ", …" } else { "" };
                format!("{} candidates: {}{more}", edge.candidates, named.join(", "))
            };
            // The target has the name, unless it was imported under another.
            let last = |name: &str| name.rsplit(['.', ':', '#', '\\']).next().unwrap_or_default().to_owned();
            let is_same = targets.len() == 1 && last(&edge.name) == last(only);
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
