//! Decides whether a member of an interface or object may hold a function (TypeScript).

use codeweaver_chunk::SymbolKind;

use super::definitions::{Def, Definitions, FileDefs};
use super::sources::Sources;

/// Types that have no call signature.
const DATA_TYPES: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "Awaited",
    "bigint",
    "boolean",
    "Boolean",
    "Buffer",
    "Date",
    "Error",
    "Exclude",
    "Extract",
    "false",
    "Iterable",
    "keyof",
    "Map",
    "never",
    "null",
    "number",
    "Number",
    "object",
    "Omit",
    "Partial",
    "Pick",
    "Promise",
    "readonly",
    "ReadonlyArray",
    "ReadonlyMap",
    "ReadonlySet",
    "Record",
    "RegExp",
    "Required",
    "Set",
    "string",
    "String",
    "symbol",
    "true",
    "Uint8Array",
    "undefined",
    "unknown",
    "URL",
    "void",
    "WeakMap",
    "WeakSet",
];

/// Returns false for a member whose declared type cannot be called, and true where the type is not written or
/// not known.
pub(super) fn may_be_called(
    (defs, sources): (&Definitions<'_>, &Sources<'_>),
    file: &FileDefs,
    def: &Def,
) -> bool {
    let is_declared = def.parent.is_some_and(|parent| {
        let kind = file.def(parent).kind;
        matches!(kind, SymbolKind::Interface | SymbolKind::Class | SymbolKind::TypeAlias)
    });
    if !is_declared {
        return true;
    }

    let Some(at) = def.signature.find(def.name.as_str()) else { return true };
    let rest = def.signature[at + def.name.len()..].trim_start_matches(['?', '!']).trim_start();
    let Some(written) = rest.strip_prefix(':') else { return true };

    if written.contains("=>") || written.contains('(') || written.contains("Function") {
        return true;
    }

    let type_of = written.split('=').next().unwrap_or_default();
    type_of.split(['|', '&']).any(|part| names_callable((defs, sources), part.trim()))
}

/// Returns whether a type that is written without an arrow may have a call signature.
fn names_callable((defs, sources): (&Definitions<'_>, &Sources<'_>), written: &str) -> bool {
    let name = written.split(['<', '[', ' ']).next().unwrap_or_default();
    let is_data = written.ends_with(']')
        || !name.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$')
        || DATA_TYPES.contains(&name);

    if is_data {
        return false;
    }

    let types = defs.named(name.rsplit('.').next().unwrap_or(name), "script");
    let known: Vec<bool> = types
        .iter()
        .filter_map(|&id| defs.with(id, |file, def| has_call_signature(sources, file, def)).flatten())
        .collect();

    // A type that the repository does not define may have one.
    known.is_empty() || known.contains(&true)
}

/// Returns whether values of a type can be called; `None` if its text cannot be read.
fn has_call_signature(sources: &Sources<'_>, file: &FileDefs, def: &Def) -> Option<bool> {
    let facts = sources.facts(file)?;
    let text = facts.text.get(def.range.start as usize..def.range.end as usize)?;

    Some(match def.kind {
        SymbolKind::Class | SymbolKind::Enum => false,
        SymbolKind::Interface => text.lines().skip(1).any(|line| line.trim_start().starts_with(['(', '<'])),
        SymbolKind::TypeAlias => text.contains("=>") || !text.contains('{'),
        _ => true,
    })
}
