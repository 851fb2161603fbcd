//! The definitions of a file: which are around a byte, and which text is theirs.

use super::view::{RowId, View};
use crate::chunk::{SemanticClass, SymbolKind};
use crate::store::symbols::SymbolRecord;
use std::cmp::Reverse;

/// The definitions that begin in one of `rows` and pass `is_wanted`, each with its row, in the order of the
/// text; those around others first.
pub fn of_rows(
    view: &View,
    rows: impl Iterator<Item = RowId>,
    is_wanted: impl Fn(RowId, &SymbolRecord) -> bool,
) -> Vec<(RowId, SymbolRecord)> {
    let mut found: Vec<(RowId, SymbolRecord)> = Vec::new();
    for id in rows {
        let (segment, row) = view.row(id);
        found.extend(segment.symbols_of(row).filter(|it| is_wanted(id, it)).map(|it| (id, it)));
    }
    found.sort_by_key(|(_, symbol)| (symbol.start_byte, Reverse(symbol.end_byte), symbol.nesting));
    found
}

/// The start of the lines directly above `start`, not before `from`: the comment and the attributes of a
/// definition, up to a blank line.
pub fn start_with_comment(text: &[u8], from: usize, start: usize) -> usize {
    let Some(before) = text.get(from..start) else { return start };
    // The line on which the definition begins, then the lines above it.
    let mut first = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    while first > 0 {
        let line = before[..first - 1].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if before[line..first].trim_ascii().is_empty() {
            break;
        }
        first = line;
    }
    from + first
}

/// The start of the line after the one with the byte `at`.
pub fn end_of_line(text: &[u8], at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1)
}

/// Whether a definition belongs to the description of the one around it, as a field to its type.
pub fn is_part(inner: &SymbolRecord, outer: &SymbolRecord) -> bool {
    use SymbolKind as K;
    let is_data = matches!(
        SymbolKind::from_u8(inner.kind),
        Some(K::Field | K::Property | K::EnumMember | K::Variable | K::Constant)
    );
    is_data && SymbolKind::from_u8(outer.kind).is_some_and(|kind| kind.has_members() || kind.is_callable())
}

/// Whether a definition is of one of `kinds`, which are names of kinds and classes; an empty list has all.
pub fn is_of_kind(symbol: &SymbolRecord, kinds: &[String]) -> bool {
    let kind = kind_of(symbol).name();
    let class = SemanticClass::from_u8(symbol.class).map_or("", SemanticClass::name);
    let is_it = |wanted: &String| wanted.eq_ignore_ascii_case(kind) || wanted.eq_ignore_ascii_case(class);
    kinds.is_empty() || kinds.iter().any(is_it)
}

/// The kind of a definition.
pub fn kind_of(symbol: &SymbolRecord) -> SymbolKind {
    SymbolKind::from_u8(symbol.kind).unwrap_or(SymbolKind::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_comment_above_a_definition_ends_at_a_blank_line() {
        let text = b"// far\n\n// near\n#[attribute]\n    fn a() {}\n";
        let at = text.windows(2).position(|pair| pair == b"fn").unwrap();
        let of = |from: usize| start_with_comment(text, from, at);
        assert_eq!((of(0), of(10), of(at - 1), of(at + 9)), (8, 10, at - 1, at));
        assert_eq!((end_of_line(text, 0), end_of_line(text, 999)), (7, 999));
    }
}
