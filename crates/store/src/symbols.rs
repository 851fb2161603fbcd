//! The definitions of a segment's chunks, packed. Declaration-heavy code has millions of them.
//!
//! Every number is a varint of the difference to a prediction (`~ x` is the difference to `x`). The texts and
//! names "so far" are those of this chunk. Per definition:
//!
//! ```text
//! flags u8; a number that is as predicted is left out, and a flag says so
//! pattern of the signature, unless it is that of the one before (SAME_SIGNATURE): length, offset ~ end of
//! the texts so far (SIGNATURE_AT_END)
//! doc, if HAS_DOC: length, offset ~ end of the texts so far, with the signature (DOC_AT_END)
//! qualified name: length, offset ~ end of the names so far (NAME_AT_END)
//! name, unless it is the whole qualified name (NAME_IS_WHOLE): length, offset ~ that of the qualified name
//! start byte ~ end of the one before, or start of the chunk; bytes; start line ~ that of the one before;
//! lines, unless it is one (ONE_LINE)
//! kind, class, nesting u8, unless they are those of the one before (SAME_KIND)
//! ```

use super::records::RowRecord;
use super::strings::{NameRef, TextRef};
use super::varint;

const SAME_KIND: u8 = 1;
const NAME_IS_WHOLE: u8 = 2;
const NAME_AT_END: u8 = 4;
const SIGNATURE_AT_END: u8 = 8;
const HAS_DOC: u8 = 16;
const DOC_AT_END: u8 = 32;
const ONE_LINE: u8 = 64;
const SAME_SIGNATURE: u8 = 128;

/// A definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymbolRecord {
    pub name: NameRef,
    pub qualified_name: NameRef,
    /// The pattern of the signature (see [`super::signature`]).
    pub(super) signature: TextRef,
    pub doc: TextRef,
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
    end_of_names: u32,
    end_of_texts: u32,
    signature: TextRef,
    end_byte: u32,
    line: u32,
    /// Kind, class and nesting.
    kind: [u8; 3],
}

impl Near {
    fn start(row: &RowRecord) -> Near {
        Near {
            end_of_names: 0,
            end_of_texts: 0,
            signature: TextRef::EMPTY,
            end_byte: row.start_byte,
            line: row.start_line,
            kind: [0; 3],
        }
    }

    /// Notes a text of the definition.
    fn after_text(&mut self, place: TextRef) {
        self.end_of_texts = self.end_of_texts.max(place.offset.wrapping_add(place.len));
    }

    /// Notes all of `symbol` besides its texts.
    fn after(&mut self, symbol: &SymbolRecord) {
        let ends = [symbol.qualified_name, symbol.name].map(|place| place.offset.wrapping_add(place.len));
        self.end_of_names = self.end_of_names.max(ends[0]).max(ends[1]);
        self.signature = symbol.signature;
        self.end_byte = symbol.end_byte;
        self.line = symbol.start_line;
        self.kind = [symbol.kind, symbol.class, symbol.nesting];
    }
}

/// The flags of a definition under construction.
#[derive(Default)]
struct Flags(u8);

impl Flags {
    /// Sets `flag` if `holds`, which it returns.
    fn set_if(&mut self, flag: u8, holds: bool) -> bool {
        self.0 |= if holds { flag } else { 0 };
        holds
    }
}

/// Appends the definitions of the chunk `row`.
pub fn put(out: &mut Vec<u8>, row: &RowRecord, symbols: &[SymbolRecord]) {
    let mut near = Near::start(row);
    for symbol in symbols {
        // Flags come first and are known last.
        let flags_at = out.len();
        out.push(0);
        let mut flags = Flags::default();

        let (signature, doc) = (symbol.signature, symbol.doc);
        if !flags.set_if(SAME_SIGNATURE, signature == near.signature) {
            varint::put(out, signature.len);
            if !flags.set_if(SIGNATURE_AT_END, signature.offset == near.end_of_texts) {
                varint::put_near(out, signature.offset, near.end_of_texts);
            }
        }
        near.after_text(signature);

        if flags.set_if(HAS_DOC, doc.len > 0) {
            varint::put(out, doc.len);
            if !flags.set_if(DOC_AT_END, doc.offset == near.end_of_texts) {
                varint::put_near(out, doc.offset, near.end_of_texts);
            }
            near.after_text(doc);
        }

        let (name, qualified) = (symbol.name, symbol.qualified_name);
        varint::put(out, qualified.len);
        if !flags.set_if(NAME_AT_END, qualified.offset == near.end_of_names) {
            varint::put_near(out, qualified.offset, near.end_of_names);
        }
        if !flags.set_if(NAME_IS_WHOLE, name == qualified) {
            varint::put(out, name.len);
            varint::put_near(out, name.offset, qualified.offset);
        }

        varint::put_near(out, symbol.start_byte, near.end_byte);
        varint::put_near(out, symbol.end_byte, symbol.start_byte);
        varint::put_near(out, symbol.start_line, near.line);
        if !flags.set_if(ONE_LINE, symbol.end_line == symbol.start_line) {
            varint::put_near(out, symbol.end_line, symbol.start_line);
        }

        let kind = [symbol.kind, symbol.class, symbol.nesting];
        if !flags.set_if(SAME_KIND, kind == near.kind) {
            out.extend_from_slice(&kind);
        }

        out[flags_at] = flags.0;
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
    pub fn new(bytes: &'a [u8], row: &RowRecord) -> Symbols<'a> {
        let bytes = bytes.get(row.symbols_at as usize..).unwrap_or(&[]);
        Symbols { bytes, at: 0, n_left: row.n_symbols, near: Near::start(row) }
    }

    /// Decodes the next definition.
    fn take(&mut self) -> Option<SymbolRecord> {
        let bytes = self.bytes;
        let flags = *bytes.get(self.at)?;
        self.at += 1;
        let has = |flag: u8| flags & flag != 0;
        let (at, near) = (&mut self.at, &mut self.near);

        let mut signature = near.signature;
        if !has(SAME_SIGNATURE) {
            let (offset, len) = take_place(bytes, at, has(SIGNATURE_AT_END), near.end_of_texts)?;
            signature = TextRef { offset, len };
        }
        near.after_text(signature);

        let mut doc = TextRef::EMPTY;
        if has(HAS_DOC) {
            let (offset, len) = take_place(bytes, at, has(DOC_AT_END), near.end_of_texts)?;
            doc = TextRef { offset, len };
            near.after_text(doc);
        }

        let (offset, len) = take_place(bytes, at, has(NAME_AT_END), near.end_of_names)?;
        let qualified_name = NameRef { offset, len };
        let mut name = qualified_name;
        if !has(NAME_IS_WHOLE) {
            let (offset, len) = take_place(bytes, at, false, qualified_name.offset)?;
            name = NameRef { offset, len };
        }

        let start_byte = varint::get_near(bytes, at, near.end_byte)?;
        let end_byte = varint::get_near(bytes, at, start_byte)?;
        let start_line = varint::get_near(bytes, at, near.line)?;
        let end_line = if has(ONE_LINE) { start_line } else { varint::get_near(bytes, at, start_line)? };

        let mut kinds = near.kind;
        if !has(SAME_KIND) {
            kinds = *bytes.get(*at..*at + 3)?.first_chunk()?;
            *at += 3;
        }

        let [kind, class, nesting] = kinds;
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

        near.after(&symbol);
        Some(symbol)
    }
}

/// Decodes a length and, unless it is predicted to be `end`, an offset near `end`. Returns the offset and the
/// length.
fn take_place(bytes: &[u8], at: &mut usize, is_at_end: bool, end: u32) -> Option<(u32, u32)> {
    let len = varint::get(bytes, at)?;
    let offset = if is_at_end { end } else { varint::get_near(bytes, at, end)? };
    Some((offset, len))
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
        let (signature, doc) = (TextRef { offset: any(), len: any() }, TextRef { offset: any(), len: any() });
        let doc = if doc.len == 0 { TextRef::EMPTY } else { doc };
        let qualified_name = NameRef { offset: any(), len: any() };
        let other_name = NameRef { offset: any(), len: any() };
        let (start_byte, end_byte, start_line, other_line) = (any(), any(), any(), any());
        let name = if random.bool() { qualified_name } else { other_name };
        let end_line = if random.bool() { start_line } else { other_line };
        let [kind, class, nesting] = [random.u8(0..2), random.u8(0..2), 0];
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
            assert_eq!(Symbols::new(&bytes, row).collect::<Vec<_>>(), *symbols);
            // Truncated bytes, and an offset beyond the end.
            let cut = &bytes[..(row.symbols_at as usize + 3).min(bytes.len())];
            assert!(Symbols::new(cut, row).count() <= 1);
            assert_eq!(Symbols::new(&[], row).next(), None);
        }
        for _ in 0..2_000 {
            let at = random.usize(0..bytes.len());
            bytes[at] = random.u8(..);
            let (row, symbols) = random.choice(&chunks).unwrap();
            assert!(Symbols::new(&bytes, row).count() <= symbols.len());
        }
    }

    #[test]
    fn what_is_as_predicted_takes_few_bytes() {
        let row = RowRecord { n_symbols: 20, ..bytemuck::Zeroable::zeroed() };
        let mut symbols: Vec<SymbolRecord> = (0..20u32)
            .map(|i| {
                let qualified_name = NameRef { offset: i * 12, len: 12 };
                SymbolRecord {
                    name: qualified_name,
                    qualified_name,
                    signature: TextRef { offset: i * 50, len: 20 },
                    doc: TextRef { offset: i * 50 + 20, len: 30 },
                    start_byte: i * 40,
                    end_byte: i * 40 + 38,
                    start_line: i,
                    end_line: i,
                    kind: 3,
                    class: 2,
                    nesting: 1,
                }
            })
            .collect();
        let mut bytes = Vec::new();
        put(&mut bytes, &row, &symbols);
        assert_eq!(Symbols::new(&bytes, &row).collect::<Vec<_>>(), symbols);
        // Flags, three lengths, start byte, length and line; the kind once.
        assert_eq!(bytes.len(), 20 * 7 + 3);
        symbols.iter_mut().for_each(|symbol| symbol.signature = TextRef { offset: 900, len: 20 });
        symbols.iter_mut().for_each(|symbol| symbol.doc = TextRef::EMPTY);
        bytes.clear();
        put(&mut bytes, &row, &symbols);
        assert_eq!(Symbols::new(&bytes, &row).collect::<Vec<_>>(), symbols);
        // Flags, length of the name, start byte, length and line; kind and signature once.
        assert_eq!(bytes.len(), 20 * 5 + 3 + 3);
    }
}
