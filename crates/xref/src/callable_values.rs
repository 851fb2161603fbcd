//! Whether a member of an interface or object may hold a function (TypeScript).

use super::definitions::{Def, Definitions, FileDefs};
use super::sources::Sources;
use codeweaver_chunk::SymbolKind;

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

/// False for a member whose declared type cannot be called; true where the type is not written or not known.
pub(super) fn may_be_called(
    (defs, sources): (&Definitions<'_>, &Sources<'_>),
    file: &FileDefs,
    def: &Def,
) -> bool {
    let declares = |parent: &Def| {
        matches!(parent.kind, SymbolKind::Interface | SymbolKind::Class | SymbolKind::TypeAlias)
    };
    if !def.parent.is_some_and(|parent| declares(file.def(parent))) {
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

/// Whether a type that is written without an arrow may have a call signature.
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
        .filter_map(|&id| {
            let look = |file: &FileDefs, def: &Def| {
                let facts = sources.facts(file)?;
                let text = facts.text.get(def.range.start as usize..def.range.end as usize)?;
                let is_signature = |line: &str| line.trim_start().starts_with(['(', '<']);
                let alias = def.kind == SymbolKind::TypeAlias;
                Some(match def.kind {
                    SymbolKind::Class | SymbolKind::Enum => false,
                    SymbolKind::Interface => text.lines().skip(1).any(is_signature),
                    _ => !alias || text.contains("=>") || !text.contains('{'),
                })
            };
            defs.with(id, look)?
        })
        .collect();
    // A type that the repository does not define may have one.
    known.is_empty() || known.contains(&true)
}
