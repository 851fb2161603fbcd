//! Words that are one edit apart: a letter inserted, deleted or replaced, or two adjacent letters swapped.

use super::MAX_TERM_BYTES;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Returns all words of lower-case letters and digits that one edit makes of `word`, in no order, with
/// duplicates. Empty for a word that is not ASCII or too long for a term.
pub fn one_edit_away(word: &str) -> Vec<String> {
    if !word.is_ascii() || word.len() > MAX_TERM_BYTES {
        return Vec::new();
    }

    let bytes = word.as_bytes();
    let mut all: Vec<Vec<u8>> = Vec::with_capacity(bytes.len() * 80);

    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        for &letter in LETTERS {
            all.push([head, &[letter], tail].concat());
            if !tail.is_empty() {
                all.push([head, &[letter], &tail[1..]].concat());
            }
        }
        if !tail.is_empty() {
            all.push([head, &tail[1..]].concat());
        }
        if tail.len() > 1 {
            all.push([head, &[tail[1], tail[0]], &tail[2..]].concat());
        }
    }

    all.into_iter().filter_map(|bytes| String::from_utf8(bytes).ok()).collect()
}

/// Returns whether one edit makes one word of the other.
pub fn is_one_edit_apart(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };

    if long.len() - short.len() > 1 {
        return false;
    }

    let same = short.iter().zip(long.iter()).take_while(|(x, y)| x == y).count();
    // Equal words are no edit apart.
    if same == long.len() {
        return false;
    }

    // One letter was inserted; the rest must be the same.
    if short.len() < long.len() {
        return short[same..] == long[same + 1..];
    }

    let swapped = same + 1 < long.len() && short[same] == long[same + 1] && short[same + 1] == long[same];
    short[same + 1..] == long[same + 1..] || (swapped && short[same + 2..] == long[same + 2..])
}
