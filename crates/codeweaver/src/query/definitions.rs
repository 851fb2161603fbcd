//! The definitions of a file: those around a byte, and the text that belongs to each.

use std::cmp::Reverse;

use codeweaver_chunk::{SemanticClass, SymbolKind};
use codeweaver_store::segment::Segment;
use codeweaver_store::symbols::SymbolRecord;

use super::locate;
use super::view::{RowId, View};

/// Returns the definitions that begin in one of `rows` and pass `is_wanted`, each with its row, in the order
/// of the text. An enclosing definition comes before those inside it.
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

/// Returns the definition at `line` of a doc with the bytes `text`: the innermost one around the line that is
/// not merely a part of another one, or the one whose comment or attributes are on the line.
pub fn at_line(view: &View, doc: u32, text: &[u8], line: u32) -> Option<SymbolRecord> {
    let all = of_rows(view, locate::rows(view, doc), |_, _| true);
    let all: Vec<SymbolRecord> = all.into_iter().map(|(_, symbol)| symbol).collect();
    let around = all.iter().filter(|it| (it.start_line..=it.end_line).contains(&line));
    let around: Vec<&SymbolRecord> = around.collect();

    // A line of a comment or an attribute belongs to the definition below it.
    let below = all.iter().find(|it| it.start_line > line).filter(|it| {
        let start = text_start(text, &all, it);
        let lines = text.get(start..it.start_byte as usize).unwrap_or_default();
        let n_lines = lines.iter().filter(|&&byte| byte == b'\n').count() as u32;
        line + n_lines >= it.start_line && around.last().is_none_or(|outer| encloses(outer, it))
    });

    // A field is described by its type, so the type is taken in its place.
    let innermost = around.iter().rposition(|it| {
        let outer = around.iter().rev().find(|outer| outer.nesting < it.nesting && encloses(outer, it));
        outer.is_none_or(|outer| !is_part(it, outer))
    });

    below.or_else(|| innermost.map(|i| around[i])).copied()
}

/// Returns the start of the text of `symbol`, one of `all` definitions of `text`, with its comment and
/// attributes.
pub fn text_start(text: &[u8], all: &[SymbolRecord], symbol: &SymbolRecord) -> usize {
    let before = all.iter().filter(|other| other.start_byte < symbol.start_byte);
    let limits = before.map(|other| match other.end_byte <= symbol.start_byte {
        true => other.end_byte as usize,
        false => end_of_line(text, other.start_byte as usize),
    });

    start_with_comment(text, limits.max().unwrap_or(0), symbol.start_byte as usize)
}

/// Returns the start of the lines directly above `start`, not before `from`: the comment and the attributes
/// of a definition, up to a blank line.
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

/// Returns whether the bytes of `outer` include those of `inner`.
fn encloses(outer: &SymbolRecord, inner: &SymbolRecord) -> bool {
    outer.start_byte <= inner.start_byte && inner.end_byte <= outer.end_byte
}

/// Returns whether a definition belongs to the description of the one around it, as a field to its type.
pub fn is_part(inner: &SymbolRecord, outer: &SymbolRecord) -> bool {
    use SymbolKind as K;
    let is_data = matches!(
        SymbolKind::from_u8(inner.kind),
        Some(K::Field | K::Property | K::EnumMember | K::Variable | K::Constant)
    );

    is_data && SymbolKind::from_u8(outer.kind).is_some_and(|kind| kind.has_members() || kind.is_callable())
}

/// Returns whether a definition is of one of `kinds`, which are names of kinds and classes; an empty list
/// allows all.
pub fn is_of_kind(symbol: &SymbolRecord, kinds: &[String]) -> bool {
    let kind = kind_of(symbol).name();
    let class = SemanticClass::from_u8(symbol.class).map_or("", SemanticClass::name);

    kinds.is_empty()
        || kinds.iter().any(|wanted| wanted.eq_ignore_ascii_case(kind) || wanted.eq_ignore_ascii_case(class))
}

/// The kind of a definition.
pub fn kind_of(symbol: &SymbolRecord) -> SymbolKind {
    SymbolKind::from_u8(symbol.kind).unwrap_or(SymbolKind::Other)
}

/// The name of a definition with its kind, as in the title of a chunk.
pub fn title_of(segment: &Segment, symbol: &SymbolRecord) -> String {
    format!("{} {}", kind_of(symbol).name(), segment.name(symbol.qualified_name))
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
