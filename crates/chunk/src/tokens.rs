//! The tokeniser for chunk sizes, limits and budgets.
//!
//! It approximates the byte-pair tokenisers of embedding and language models on code, without a vocabulary:
//!
//! * a run of letters is split where the case changes (`parseHeader`, `HTTPServer`) and at `_`, and every
//!   started [`LETTERS_PER_TOKEN`] letters of such a piece are one token;
//! * every started three digits are one token;
//! * a run of the same punctuation character is one token for every started four (`====`), other punctuation
//!   one each;
//! * every started three bytes of text outside ASCII are one token;
//! * white space is free and ends every run.
//!
//! No run crosses a line end, so the counts of lines add up, on which [`super::lines::TextIndex`] relies.

/// Name of the tokeniser, part of the chunker fingerprint. Changes whenever the rules do.
pub const NAME: &str = "codeweaver-approx-1";

/// Maximum length of a piece of a word that counts as one token.
const LETTERS_PER_TOKEN: u32 = 7;
const DIGITS_PER_TOKEN: u32 = 3;
const REPEATS_PER_TOKEN: u32 = 4;
const OTHER_BYTES_PER_TOKEN: u32 = 3;

/// Returns the number of tokens in `text`, at most one per byte. Linear, without allocation.
pub fn count(text: &str) -> u32 {
    count_bytes(text.as_bytes())
}

#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Class {
    Space,
    Lower,
    Upper,
    Digit,
    Punctuation,
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Punctuation; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            0..=32 | 127 => Class::Space,
            b'a'..=b'z' => Class::Lower,
            b'A'..=b'Z' => Class::Upper,
            b'0'..=b'9' => Class::Digit,
            128.. => Class::Other,
            _ => Class::Punctuation,
        };
        byte += 1;
    }
    classes
};

/// [`count`] for bytes that need not be UTF-8.
pub(crate) fn count_bytes(bytes: &[u8]) -> u32 {
    let mut tokens = 0;
    let mut at = 0;

    while at < bytes.len() {
        let first = bytes[at];
        let start = at;
        at += 1;

        match CLASSES[first as usize] {
            Class::Space => continue,
            Class::Lower => {
                at = run_end(bytes, at, Class::Lower);
                tokens += pieces(at - start, LETTERS_PER_TOKEN);
            }
            Class::Upper => {
                // `Header` is one piece, `HTTP` is one, `HTTPServer` is `HTTP` + `Server` (counted as `HTTPS`
                // + `erver`, which is the same number of pieces).
                let capitals_end = run_end(bytes, at, Class::Upper);
                let end = run_end(bytes, capitals_end, Class::Lower);
                if capitals_end - start > 1 && end > capitals_end {
                    tokens += pieces(capitals_end - 1 - start, LETTERS_PER_TOKEN);
                    tokens += pieces(end - (capitals_end - 1), LETTERS_PER_TOKEN);
                } else {
                    tokens += pieces(end - start, LETTERS_PER_TOKEN);
                }
                at = end;
            }
            Class::Digit => {
                at = run_end(bytes, at, Class::Digit);
                tokens += pieces(at - start, DIGITS_PER_TOKEN);
            }
            Class::Punctuation => {
                while at < bytes.len() && bytes[at] == first {
                    at += 1;
                }
                // A single `_` between letters joins them and costs nothing of its own.
                let joins = first == b'_'
                    && at - start == 1
                    && start > 0
                    && matches!(
                        CLASSES[bytes[start - 1] as usize],
                        Class::Lower | Class::Upper | Class::Digit
                    );

                if !joins {
                    tokens += pieces(at - start, REPEATS_PER_TOKEN);
                }
            }
            Class::Other => {
                at = run_end(bytes, at, Class::Other);
                tokens += pieces(at - start, OTHER_BYTES_PER_TOKEN);
            }
        }
    }

    tokens
}

#[inline]
fn run_end(bytes: &[u8], mut at: usize, class: Class) -> usize {
    while at < bytes.len() && CLASSES[bytes[at] as usize] == class {
        at += 1;
    }
    at
}

#[inline]
fn pieces(length: usize, per_token: u32) -> u32 {
    (length as u32).div_ceil(per_token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_words_at_case_and_underscore() {
        assert_eq!(count("parse_header"), 2);
        assert_eq!(count("parseHeader"), 2);
        assert_eq!(count("HTTPServer"), 2);
        assert_eq!(count("HTTP"), 1);
        assert_eq!(count("initialisation"), 2);
    }

    #[test]
    fn counts_digits_punctuation_and_other_scripts() {
        assert_eq!(count("1234"), 2);
        assert_eq!(count("x = 1;"), 4);
        assert_eq!(count("========"), 2);
        assert_eq!(count("日本"), 2);
        assert_eq!(count(" \t\r\n"), 0);
    }

    #[test]
    fn counts_of_lines_add_up() {
        let text = "fn main() {\n    let café = HTTPServer::new(0x1234);\n}\n\n// done ====\n";
        let by_line: u32 = text.split_inclusive('\n').map(count).sum();
        assert_eq!(by_line, count(text));
    }

    #[test]
    fn a_byte_is_at_most_one_token() {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let bytes: Vec<u8> = (0..400).map(|_| random.u8(..)).collect();
            assert!(count_bytes(&bytes) as usize <= bytes.len());
        }
    }
}
