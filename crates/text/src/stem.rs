//! A light English stemmer for plurals, `-ed`, `-ing`, and the final `e` that they hide.
//!
//! Only inflection is undone (`parsing`, `parsed`, `parses` → the stem of `parse`). Derivation is not
//! (`parser` and `parse` have different stems), because in code the two name different things. The rules are
//! the first and last steps of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980,
//! without its steps 2 to 4. Stems need not be words (`cache` → `cach`): they are compared, never shown.
//!
//! The stemmer is not a crate because stems are persisted in segments: its rules must stay fixed until
//! [`super::TERMS_VERSION`] changes. The available crates implement the full algorithm, which also undoes
//! derivation.

/// Words whose ending looks like a suffix but is not.
const EXEMPT: &[&str] = &[
    "alias",
    "always",
    "anything",
    "atlas",
    "bias",
    "canvas",
    "chaos",
    "during",
    "embed",
    "everything",
    "hundred",
    "nothing",
    "redis",
    "series",
    "sibling",
    "something",
    "species",
    "string",
    "thing",
];

/// Returns the stem of a lower-case word. Words of three letters or fewer (except `ids`), and words with
/// other characters than `a`–`z`, are returned unchanged.
pub fn stem(word: &str) -> String {
    let mut buffer = word.as_bytes().to_vec();
    let length = stem_in_place(&mut buffer);
    buffer.truncate(length);
    String::from_utf8(buffer).unwrap_or_else(|_| word.to_owned())
}

/// Stems `word` in place and returns the length of the stem, which is never longer than the word.
pub(super) fn stem_in_place(word: &mut [u8]) -> usize {
    let mut length = word.len();
    if word == b"ids" {
        return 2; // the one three-letter plural that matters in code
    }

    if length <= 3 || !might_change(word) || !word.iter().all(u8::is_ascii_lowercase) {
        return length;
    }
    if ends_exempt(&word[..length]) {
        return length;
    }

    length = strip_plural(word, length);
    if ends_exempt(&word[..length]) {
        return length;
    }

    length = strip_past_and_gerund(word, length);
    strip_final_e(word, length)
}

/// Returns false for most words, which do not end in a byte that a rule applies to. This is a fast path.
fn might_change(word: &[u8]) -> bool {
    matches!(word.last(), Some(b's' | b'd' | b'g' | b'e' | b'l'))
}

/// Returns whether a word has an ending that only looks like a suffix.
fn ends_exempt(word: &[u8]) -> bool {
    if word.ends_with(b"string") {
        return true; // also in joined identifiers: loadstring
    }
    let is_plausible = matches!(word.last(), Some(b's' | b'g' | b'd')) && word.len() <= 10;
    is_plausible && EXEMPT.iter().any(|exempt| exempt.as_bytes() == word)
}

/// Strips a plural ending and returns the new length.
fn strip_plural(word: &mut [u8], length: usize) -> usize {
    let w = &word[..length];
    if !w.ends_with(b"s") || w.ends_with(b"ss") || w.ends_with(b"us") || w.ends_with(b"is") {
        return length;
    }

    if w.ends_with(b"sses") {
        return length - 2;
    }
    if w.ends_with(b"ies") && length > 4 {
        word[length - 3] = b'y';
        return length - 2;
    }

    length - 1
}

/// Strips `-ed` or `-ing`, restores the end of the stem and returns the new length.
fn strip_past_and_gerund(word: &mut [u8], length: usize) -> usize {
    let w = &word[..length];
    if w.ends_with(b"eed") {
        return length;
    }

    let base = if w.ends_with(b"ed") {
        length - 2
    } else if w.ends_with(b"ing") {
        length - 3
    } else {
        return length;
    };

    if base < 2 || !has_vowel(&word[..base]) {
        return length;
    }

    let b = &word[..base];
    if b.ends_with(b"i") && base >= 3 {
        word[base - 1] = b'y'; // applied
        return base;
    }

    let needs_e = b.ends_with(b"at") || b.ends_with(b"bl") || b.ends_with(b"iz") || base == 2;
    if needs_e {
        word[base] = b'e';
        return base + 1;
    }

    if ends_double_consonant(b) && !matches!(b[base - 1], b'l' | b's' | b'z') {
        return base - 1; // mapped, running
    }
    if measure(b) == 1 && ends_short_syllable(b) {
        word[base] = b'e'; // filing, stored
        return base + 1;
    }

    base
}

/// Strips a final `e`, or halves a final `ll`, and returns the new length.
fn strip_final_e(word: &[u8], length: usize) -> usize {
    let w = &word[..length];
    if w.ends_with(b"e") && length > 3 {
        let base = &w[..length - 1];
        let m = measure(base);
        if m > 1 || (m == 1 && !ends_short_syllable(base)) {
            return length - 1;
        }
    }

    if w.ends_with(b"ll") && measure(w) > 1 {
        return length - 1; // controlled meets control
    }

    length
}

fn is_vowel(word: &[u8], at: usize) -> bool {
    match word[at] {
        b'a' | b'e' | b'i' | b'o' | b'u' => true,
        b'y' => at > 0 && !is_vowel_letter(word[at - 1]),
        _ => false,
    }
}

fn is_vowel_letter(byte: u8) -> bool {
    matches!(byte, b'a' | b'e' | b'i' | b'o' | b'u')
}

fn has_vowel(word: &[u8]) -> bool {
    (0..word.len()).any(|at| is_vowel(word, at))
}

fn ends_double_consonant(word: &[u8]) -> bool {
    let n = word.len();
    n >= 2 && word[n - 1] == word[n - 2] && !is_vowel(word, n - 1)
}

/// Returns whether the word ends in consonant, vowel, consonant, the last of which is not w, x or y.
fn ends_short_syllable(word: &[u8]) -> bool {
    let n = word.len();
    n >= 3
        && !is_vowel(word, n - 3)
        && is_vowel(word, n - 2)
        && !is_vowel(word, n - 1)
        && !matches!(word[n - 1], b'w' | b'x' | b'y')
}

/// Returns the number of vowel–consonant sequences: Porter's measure *m*.
fn measure(word: &[u8]) -> usize {
    let mut count = 0;
    let mut after_vowel = false;

    for at in 0..word.len() {
        let vowel = is_vowel(word, at);
        if after_vowel && !vowel {
            count += 1;
        }
        after_vowel = vowel;
    }

    count
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn inflected_forms_share_a_stem() {
        for family in [
            &["parse", "parses", "parsed", "parsing"][..],
            &["cache", "caches", "cached", "caching"],
            &["file", "files", "filed", "filing"],
            &["map", "maps", "mapped", "mapping"],
            &["index", "indexes", "indexed", "indexing"],
            &["query", "queries", "queried", "querying"],
            &["create", "creates", "created", "creating"],
            &["embed", "embeds", "embedded", "embedding", "embeddings"],
            &["control", "controls", "controlled", "controlling"],
            &["use", "uses", "used", "using"],
            &["class", "classes"],
            &["status", "statuses"],
            &["alias", "aliases"],
            &["box", "boxes"],
            &["handle", "handles", "handled", "handling"],
            &["store", "stores", "stored", "storing"],
            &["call", "calls", "called", "calling"],
            &["string", "strings"],
            &["merge", "merged", "merging"],
        ] {
            let first = stem(family[0]);
            for word in family {
                assert_eq!(stem(word), first, "{word} of {family:?}");
            }
        }
    }

    #[test]
    fn different_words_have_different_stems() {
        for (a, b) in [
            ("state", "stat"),
            ("parser", "parse"),
            ("string", "stre"),
            ("plane", "plan"),
            ("rate", "rat"),
            ("node", "nod"),
            ("need", "nee"),
            ("process", "procure"),
            ("bus", "bu"),
            ("token", "take"),
        ] {
            assert_ne!(stem(a), stem(b), "{a} {b}");
        }
    }

    #[test]
    fn other_text_is_unchanged() {
        for word in ["", "s", "ed", "ing", "sing", "utf8", "größen", "日本", "a_s", "http", "sha256s"] {
            assert_eq!(stem(word), word);
        }
    }
}
