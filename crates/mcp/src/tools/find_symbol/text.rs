//! The text of `find_symbol`.

use std::borrow::Cow;
use std::fmt::Write as _;

use codeweaver::query::symbol_lookup::NameFit;
use codeweaver_git::quoting::printed;
use codeweaver_xref::Grade;
use codeweaver_xref::about::About;

use super::output::{AboutOutput, DefinitionOutput, NameOutput, UseOutput};
use super::{Looked, MAX_SIGNATURE};
use crate::tools::text::{gap_before, write_numbered};

/// Writes the answer about one name, in `rev` if there is one; if `is_code_only`, of a definition only its
/// code.
pub(super) fn write_name(
    text: &mut String,
    looked: &Looked,
    result: &NameOutput,
    rev: Option<&str>,
    is_code_only: bool,
) {
    let symbol = &result.symbol;
    let of_rev = rev.map_or_else(String::new, |rev| format!(" of {rev}"));
    match (result.total, looked.list.fit) {
        (0, _) => {
            let near = if result.near.is_empty() {
                String::new()
            } else {
                format!("; like it: {}", result.near.join(", "))
            };
            let _ = writeln!(text, "no definition of {symbol:?} in the index{of_rev}{near}");
            write_named(text, result);
            return;
        }
        (n, NameFit::Exact) if looked.about.is_none() => {
            let _ = writeln!(text, "{n} definitions of {symbol}; FILE:LINE shows one");
        }
        (_, NameFit::Exact) => {}
        (n, NameFit::Case) => {
            let _ = writeln!(text, "not {symbol:?}, but {n} in another case");
        }
        (n, NameFit::Part) => {
            let _ = writeln!(text, "not {symbol:?}, but {n} with it in the name");
        }
    }

    match (&looked.about, &result.about, result.definitions.first()) {
        (Some(about), Some(shown), Some(definition)) => {
            let kind = format!("{}{}", definition.kind, looked.state);
            let place = place(definition);
            let _ = writeln!(text, "{place} {kind} {}", definition.name);
            write_code(text, about, shown, definition);
            if !is_code_only {
                write_about(text, about, shown, definition);
            }
        }
        _ => {
            for definition in &result.definitions {
                write_definition(text, definition);
            }

            let n_more = result.total.saturating_sub(result.definitions.len());
            if n_more > 0 && looked.about.is_none() && !result.definitions.is_empty() {
                let _ = writeln!(text, "{n_more} more");
            }
        }
    }
}

/// Writes the places that have a name which nothing defines, on one line.
fn write_named(text: &mut String, result: &NameOutput) {
    if let Some(named) = &result.named {
        let _ = writeln!(text, "{}: {}", named.summary(), named.lines(MAX_NAMED).join("; "));
    }
}

pub(super) fn place(definition: &DefinitionOutput) -> String {
    let (first, last) = definition.span;
    let file = printed(&definition.file);
    if first == last { format!("{file}:{first}") } else { format!("{file}:{first}-{last}") }
}

/// Writes the line of a definition: `path:line kind signature`.
pub(super) fn write_definition(text: &mut String, definition: &DefinitionOutput) {
    let signature = &definition.signature;
    // Many signatures already contain the kind.
    let has_kind = signature.split_whitespace().any(|word| word == definition.kind);
    let kind = if has_kind { String::new() } else { format!("{} ", definition.kind) };

    let last = definition.name.rsplit(['.', ':', '#']).next().unwrap_or_default();
    // The signature of a member does not name its owner.
    let owner = definition.name.strip_suffix(last).unwrap_or_default().trim_end_matches(['.', ':', '#']);

    // Bounds of type parameters do not distinguish definitions.
    let short = signature.split_once(" where ").map_or(signature.as_str(), |(short, _)| short);
    let is_long = short.char_indices().nth(MAX_SIGNATURE);
    let short = is_long.map_or_else(|| short.to_owned(), |(end, _)| format!("{}…", &short[..end]));
    let has_owner =
        short.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == last_of(owner));

    let what = match (short.is_empty(), owner.is_empty() || has_owner) {
        (true, _) => definition.name.clone(),
        (false, true) => short,
        (false, false) => format!("{short} in {owner}"),
    };

    let _ = writeln!(text, "{}:{} {kind}{what}", printed(&definition.file), definition.span.0);
}

/// Maximum number of files listed that name a symbol, for each reason for which they are no uses.
const MAX_UNLISTED: usize = 4;
/// The same for a symbol that nothing defines.
const MAX_NAMED: usize = 2;
/// Minimum number of uses that are only counted if all of them are uncertain.
const MANY_UNSURE: usize = 12;

/// Writes the text of a definition, as far as the limits allow.
fn write_code(text: &mut String, about: &About, shown: &AboutOutput, definition: &DefinitionOutput) {
    let mut next = shown.first_line;
    if !shown.text.is_empty() {
        next = write_numbered(text, &with_gap(about, shown), shown.first_line);
    } else if !definition.signature.is_empty() {
        let _ = writeln!(text, "{}", definition.signature);
    }

    if shown.text_cut {
        let _ = writeln!(text, "… read_code from line {next}");
    }
}

/// The text with the number of the line after the part of the comment that is left out.
fn with_gap<'a>(about: &About, shown: &'a AboutOutput) -> Cow<'a, str> {
    let gap = shown.text.lines().position(|line| line == "…").filter(|_| about.n_hidden > 0);
    match gap {
        Some(gap) => {
            let next = shown.first_line + gap as u32 + 1 + about.n_hidden;
            shown.text.replacen("…\n", &gap_before(next), 1).into()
        }
        None => shown.text.as_str().into(),
    }
}

/// Writes the members, uses, tests, documentation and namesakes of a definition.
fn write_about(text: &mut String, about: &About, shown: &AboutOutput, definition: &DefinitionOutput) {
    if !shown.members.is_empty() {
        let names: Vec<String> = shown
            .members
            .iter()
            .map(|member| format!("{}:{}", last_of(&member.name), member.span.0))
            .collect();
        let _ = writeln!(
            text,
            "members{}: {}",
            shown_of_total(shown.members.len(), shown.total_members),
            names.join(", ")
        );
    }

    let id = format!("{}:{}", definition.file, definition.span.0);
    if about.has_references {
        write_uses(text, "used", &shown.uses, shown.total_uses, &id);
        if let Some(unlisted) = &shown.unlisted {
            unlisted.lines(MAX_UNLISTED).iter().for_each(|line| text.extend([line, "\n"]));
        }
    }

    if !shown.callees.is_empty() {
        write_callees(text, shown, &definition.file);
    }

    write_uses(text, "tests", &shown.tests, shown.total_tests, &id);
    if shown.total_tests == 0 && about.has_references {
        write_tests_by_name(text, about, shown);
    }

    if !shown.documents.is_empty() {
        let mut places: Vec<String> = Vec::new();
        let mut last = "";
        for document in &shown.documents {
            let file =
                if last == document.file { String::new() } else { format!("{}:", printed(&document.file)) };
            last = &document.file;
            places.push(format!("{file}{} {}", document.line, document.title).trim_end().to_owned());
        }
        let _ = writeln!(
            text,
            "documentation{}: {}",
            shown_of_total(shown.documents.len(), shown.total_documents),
            places.join(", ")
        );
    }

    if !shown.others.is_empty() {
        let places: Vec<String> = shown
            .others
            .iter()
            .map(|other| format!("{}:{} {}", printed(&other.file), other.span.0, other.name))
            .collect();
        let _ = writeln!(
            text,
            "same name{}: {}",
            shown_of_total(shown.others.len(), shown.total_others),
            places.join(", ")
        );
    }
}

/// Writes the callees of a definition in the file `own`: those in it, then those of each other file after its
/// name.
fn write_callees(text: &mut String, shown: &AboutOutput, own: &str) {
    let mut files: Vec<(&str, Vec<String>)> = vec![(own, Vec::new())];
    for callee in &shown.callees {
        let doubt = if callee.grade == Grade::Ambiguous { "?" } else { "" };
        let name = format!("{}{doubt} {}", callee.name, callee.line);
        match files.iter_mut().find(|(file, _)| *file == callee.file) {
            Some((_, names)) => names.push(name),
            None => files.push((&callee.file, vec![name])),
        }
    }

    let parts = files.iter().filter(|(_, names)| !names.is_empty()).map(|(file, names)| {
        let names = names.join(", ");
        if *file == own { names } else { format!("{}: {names}", printed(file)) }
    });
    let parts: Vec<String> = parts.collect();
    let n = shown_of_total(shown.callees.len(), shown.total_callees);
    let _ = writeln!(text, "calls{n}: {}", parts.join("; "));
}

/// Writes the tests whose names contain that of the definition, since no test refers to it.
fn write_tests_by_name(text: &mut String, about: &About, shown: &AboutOutput) {
    if shown.tests_by_name.is_empty() {
        text.push_str("no test refers to it\n");
        return;
    }

    let mut names = Vec::new();
    for test in &shown.tests_by_name {
        names.push(format!("{}:{} {}", printed(&test.file), test.span.0, test.name));
    }
    let n = shown_of_total(shown.tests_by_name.len(), about.tests_by_name.len());
    let _ = writeln!(text, "no test refers to it; tests by name{n}: {}", names.join(", "));
}

/// Writes places grouped by file: one line for each file, with the line numbers and the functions around
/// them.
pub(super) fn write_uses(text: &mut String, title: &str, uses: &[UseOutput], total: usize, id: &str) {
    if total == 0 {
        if title == "used" {
            text.push_str("no use found\n");
        }
        return;
    }

    let mut files: Vec<(&str, Vec<&UseOutput>)> = Vec::new();
    for it in uses {
        match files.iter_mut().find(|(file, _)| *file == it.file) {
            Some((_, uses)) => uses.push(it),
            None => files.push((&it.file, vec![it])),
        }
    }

    let n_unsure = uses.iter().filter(|it| it.grade == Grade::Ambiguous).count();
    // All places may belong to other definitions of a common name, so they are not worth their tokens.
    if n_unsure >= MANY_UNSURE && n_unsure == total {
        let _ = writeln!(text, "{title} {total}, all unsure: call_graph {id} references");
        return;
    }

    let unsure = if n_unsure > 0 { format!(", {n_unsure} unsure (?)") } else { String::new() };
    let _ = writeln!(text, "{title} {total}{unsure}:");

    for (file, uses) in files {
        let mut places = Vec::new();
        let mut within = "";
        for it in uses {
            let doubt = if it.grade == Grade::Ambiguous { "?" } else { "" };
            let name = last_of(&it.within);
            let shown = if name.is_empty() || name == within { String::new() } else { format!(" {name}") };
            within = name;
            places.push(format!("{}{doubt}{shown}", it.line));
        }
        let _ = writeln!(text, "{}: {}", printed(file), places.join(", "));
    }

    let n_more = total.saturating_sub(uses.len());
    if n_more > 0 {
        let _ = writeln!(text, "{n_more} more: call_graph {id} references");
    }
}

pub(super) fn last_of(name: &str) -> &str {
    name.rsplit(['.', ':', '#']).next().unwrap_or(name)
}

/// The suffix ` 3 of 7`; empty if all are shown.
pub(super) fn shown_of_total(shown: usize, total: usize) -> String {
    if shown < total { format!(" {shown} of {total}") } else { String::new() }
}
