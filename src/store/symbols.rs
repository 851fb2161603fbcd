//! The definitions of a segment's chunks, packed. Declaration-heavy code has millions of them.
//!
//! Every number is a varint of the difference to a prediction (`~ x` is the difference to `x`). Per
//! definition:
//!
//! ```text
//! signature: length, offset ~ end of the strings met so far in this chunk
//! qualified name: length, offset ~ that of the signature, of which it mostly is a part
//! name: length, offset ~ that of the qualified name
//! doc: length, and if that is not 0, offset ~ end of the strings met so far
//! start byte ~ end of the one before, or start of the chunk; bytes; start line ~ that of the one before;
//! lines; kind, class, nesting u8
//! ```

use super::records::{RowRecord, StringRef};
use super::varint;

/// A definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymbolRecord {
    pub name: StringRef,
    pub qualified_name: StringRef,
    pub signature: StringRef,
    pub doc: StringRef,
    pub start_byte: u32,
    pub end_byte: u32,
    pub start_line: u32,
    pub end_line: u32,
    pub kind: u8,
    pub class: u8,
    pub nesting: u8,
}

/// Predictions for the next definition of a chunk.
#[derive(Clone, Copy)]
struct Near {
    end_of_strings: u32,
    end_byte: u32,
    line: u32,
}

impl Near {
    fn start(row: &RowRecord) -> Near {
        Near { end_of_strings: 0, end_byte: row.start_byte, line: row.start_line }
    }

    fn after(&mut self, symbol: &SymbolRecord) {
        let strings = [symbol.signature, symbol.qualified_name, symbol.name, symbol.doc];
        let end = strings.iter().map(|place| place.offset.wrapping_add(place.len)).max();
        self.end_of_strings = self.end_of_strings.max(end.unwrap_or(0));
        self.end_byte = symbol.end_byte;
        self.line = symbol.start_line;
    }
}

/// Appends the definitions of the chunk `row`.
pub fn put(out: &mut Vec<u8>, row: &RowRecord, symbols: &[SymbolRecord]) {
    let mut near = Near::start(row);
    for symbol in symbols {
        let mut string = |place: StringRef, base: u32| {
            varint::put(out, place.len);
            varint::put_near(out, place.offset, base);
        };
        string(symbol.signature, near.end_of_strings);
        string(symbol.qualified_name, symbol.signature.offset);
        string(symbol.name, symbol.qualified_name.offset);
        varint::put(out, symbol.doc.len);
        if symbol.doc.len > 0 {
            varint::put_near(out, symbol.doc.offset, near.end_of_strings);
        }
        varint::put_near(out, symbol.start_byte, near.end_byte);
        varint::put_near(out, symbol.end_byte, symbol.start_byte);
        varint::put_near(out, symbol.start_line, near.line);
        varint::put_near(out, symbol.end_line, symbol.start_line);
        out.extend_from_slice(&[symbol.kind, symbol.class, symbol.nesting]);
        near.after(symbol);
    }
}

/// The definitions of one chunk, in order. Iteration ends early at damaged bytes.
#[derive(Clone)]
pub struct Symbols<'a> {
    bytes: &'a [u8],
    at: usize,
    n_left: u16,
    near: Near,
}

impl<'a> Symbols<'a> {
    /// The definitions of the chunk `row`; `bytes` are those of all chunks.
    pub fn of(bytes: &'a [u8], row: &RowRecord) -> Symbols<'a> {
        let bytes = bytes.get(row.symbols_at as usize..).unwrap_or(&[]);
        Symbols { bytes, at: 0, n_left: row.n_symbols, near: Near::start(row) }
    }

    fn take(&mut self) -> Option<SymbolRecord> {
        let (bytes, at, near) = (self.bytes, &mut self.at, self.near);
        let string = |at: &mut usize, base: u32| {
            let len = varint::get(bytes, at)?;
            Some(StringRef { offset: varint::get_near(bytes, at, base)?, len })
        };
        let signature = string(at, near.end_of_strings)?;
        let qualified_name = string(at, signature.offset)?;
        let name = string(at, qualified_name.offset)?;
        let doc = match varint::get(bytes, at)? {
            0 => StringRef::EMPTY,
            len => StringRef { offset: varint::get_near(bytes, at, near.end_of_strings)?, len },
        };
        let start_byte = varint::get_near(bytes, at, near.end_byte)?;
        let end_byte = varint::get_near(bytes, at, start_byte)?;
        let start_line = varint::get_near(bytes, at, near.line)?;
        let end_line = varint::get_near(bytes, at, start_line)?;
        let &[kind, class, nesting] = bytes.get(*at..*at + 3)?.first_chunk()?;
        *at += 3;
        let symbol = SymbolRecord {
            name,
            qualified_name,
            signature,
            doc,
            start_byte,
            end_byte,
            start_line,
            end_line,
            kind,
            class,
            nesting,
        };
        self.near.after(&symbol);
        Some(symbol)
    }
}

impl Iterator for Symbols<'_> {
    type Item = SymbolRecord;

    fn next(&mut self) -> Option<SymbolRecord> {
        self.n_left = self.n_left.checked_sub(1)?;
        let symbol = self.take();
        if symbol.is_none() {
            self.n_left = 0;
        }
        symbol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_symbol(random: &mut fastrand::Rng) -> SymbolRecord {
        let mut any = || random.u32(..) >> random.u32(0..32);
        let mut place = || StringRef { offset: any(), len: any() };
        let (name, qualified_name, signature, doc) = (place(), place(), place(), place());
        let doc = if doc.len == 0 { StringRef::EMPTY } else { doc };
        let (start_byte, end_byte, start_line, end_line) = (any(), any(), any(), any());
        let [kind, class, nesting] = [any(), any(), any()].map(|value| value as u8);
        SymbolRecord {
            name,
            qualified_name,
            signature,
            doc,
            start_byte,
            end_byte,
            start_line,
            end_line,
            kind,
            class,
            nesting,
        }
    }

    #[test]
    fn symbols_survive_a_round_trip_and_damage_ends_iteration() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut bytes = Vec::new();
        let mut chunks = Vec::new();
        for _ in 0..50 {
            let symbols: Vec<_> = (0..random.u16(0..20)).map(|_| random_symbol(&mut random)).collect();
            let row = RowRecord {
                symbols_at: bytes.len() as u32,
                n_symbols: symbols.len() as u16,
                start_byte: random.u32(0..9_999),
                start_line: random.u32(1..999),
                ..bytemuck::Zeroable::zeroed()
            };
            put(&mut bytes, &row, &symbols);
            chunks.push((row, symbols));
        }
        for (row, symbols) in &chunks {
            assert_eq!(Symbols::of(&bytes, row).collect::<Vec<_>>(), *symbols);
            // Truncated bytes, and an offset beyond the end.
            let cut = &bytes[..(row.symbols_at as usize + 3).min(bytes.len())];
            assert!(Symbols::of(cut, row).count() <= 1);
            assert_eq!(Symbols::of(&[], row).next(), None);
        }
        for _ in 0..2_000 {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
            let (row, symbols) = random.choice(&chunks).unwrap();
            assert!(Symbols::of(&bytes, row).count() <= symbols.len());
        }
    }
}
