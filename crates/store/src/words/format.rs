//! The parts of the format that the builder and the reader share: sizes, filters, lists and words.

use crate::varint;

/// Length at which a block ends; the word that reaches it is the last one.
pub const BLOCK: usize = 4 * 1024;
/// Longer words are stored as parts of this length.
pub const MAX_WORD: usize = 255;
/// Length of the overlap of parts, so that any text of this length is within one of them.
pub const OVERLAP: usize = 127;
/// Maximum length of a block.
pub const MAX_BLOCK: usize = BLOCK + MAX_WORD + 1;
/// Number of bytes in the filter of a block, which has some 1,000 different trigrams.
pub const FILTER: usize = 128;

/// Calls `visit` with the bit of each trigram of words in the filter of a block. Bits may repeat.
pub fn for_each_trigram(text: &[u8], mut visit: impl FnMut(usize)) {
    for trigram in text.windows(3).filter(|trigram| trigram[1] != b'\n') {
        let [a, b, c] = [trigram[0], trigram[1], trigram[2]].map(|byte| byte.to_ascii_lowercase());
        let number = u32::from_le_bytes([a, b, c, 0]);
        visit(number.wrapping_mul(0x9e37_79b1) as usize >> 16 & (FILTER * 8 - 1));
    }
}

/// Calls `visit` with the docs of a list in the form of gaps.
pub fn for_each_gap(gaps: &[u8], mut visit: impl FnMut(u32)) {
    let (mut at, mut doc) = (0, 0u32);
    while let Some(gap) = varint::get(gaps, &mut at) {
        doc = doc.wrapping_add(gap);
        visit(doc);
    }
}

/// Calls `visit` with every word of `bytes`. A long word is visited in parts.
pub fn for_each_word(bytes: &[u8], mut visit: impl FnMut(&[u8])) {
    let mut at = 0;

    while at < bytes.len() {
        let Some(start) = bytes[at..].iter().position(|&byte| is_word_byte(byte)) else { return };
        let start = at + start;
        let len = bytes[start..].iter().position(|&byte| !is_word_byte(byte)).unwrap_or(bytes.len() - start);
        let word = &bytes[start..start + len];
        at = start + len;

        if word.len() <= MAX_WORD {
            visit(word);
            continue;
        }

        let mut from = 0;
        loop {
            let to = word.len().min(from + MAX_WORD);
            visit(&word[from..to]);
            if to == word.len() {
                break;
            }
            // A text across the end of this part is whole in the next.
            from = to - OVERLAP;
        }
    }
}

/// Returns whether a byte is part of a word.
pub fn is_word_byte(byte: u8) -> bool {
    IS_WORD_BYTE[usize::from(byte)]
}

static IS_WORD_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = byte >= 0x80 || byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};
