//! Similarity of two terms: equal, abbreviation, or words of one family.

/// Endings that derive other words of a family, as they remain after stemming. Sorted for binary search.
const ENDINGS: &[&str] = &[
    "",
    "abl",
    "able",
    "al",
    "anc",
    "ance",
    "ant",
    "at",
    "ation",
    "ator",
    "e",
    "enc",
    "ence",
    "ent",
    "er",
    "ibl",
    "ible",
    "ic",
    "ication",
    "ier",
    "if",
    "ification",
    "ify",
    "ion",
    "is",
    "isation",
    "ist",
    "iti",
    "ition",
    "ity",
    "iv",
    "ive",
    "iz",
    "ization",
    "izer",
    "ly",
    "ment",
    "or",
    "r",
    "ration",
    "s",
    "ship",
    "t",
    "tion",
    "tor",
    "tur",
    "ur",
    "ure",
    "y",
];

/// Endings of stems that verbs and their nouns have in turn: `subscribe` and `subscription`, `convert` and
/// `conversion`, `extend` and `extension`, `permit` and `permission`, `receive` and `reception`.
const ALTERNATIONS: &[(&str, &str)] =
    &[("b", "ption"), ("t", "sion"), ("d", "sion"), ("t", "ssion"), ("iv", "ption")];

/// Minimum common prefix of two words of a family.
const FAMILY_BYTES: usize = 4;
/// Minimum length of an abbreviation.
const ABBREVIATION_BYTES: usize = 3;

/// Returns the similarity of two stemmed terms: 1 if equal, 0.9 for words of one family (`register`,
/// `registration`), 0.7 for an abbreviation (`config`, `configuration`), 0 otherwise. Symmetric.
pub fn affinity(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }

    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let common = short.bytes().zip(long.bytes()).take_while(|(x, y)| x == y).count();

    // The bytes are compared, so the common prefix may end inside a character.
    if common < ABBREVIATION_BYTES || !short.is_char_boundary(common) || !long.is_char_boundary(common) {
        return 0.0;
    }

    if common >= FAMILY_BYTES && is_ending(&short[common..]) && is_ending(&long[common..]) {
        return 0.9;
    }
    if common >= FAMILY_BYTES && alternate(&a[common..], &b[common..]) {
        return 0.9;
    }
    if common == short.len() { 0.7 } else { 0.0 }
}

fn alternate(a: &str, b: &str) -> bool {
    ALTERNATIONS.contains(&(a, b)) || ALTERNATIONS.contains(&(b, a))
}

fn is_ending(rest: &str) -> bool {
    ENDINGS.binary_search(&rest).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stem;

    #[test]
    fn endings_are_sorted() {
        assert!(ENDINGS.is_sorted());
    }

    #[test]
    fn word_families_and_abbreviations_are_similar() {
        for (a, b, least, most) in [
            ("parse", "parsing", 1.0, 1.0),
            ("parser", "parse", 0.9, 0.9),
            ("register", "registration", 0.9, 0.9),
            ("authenticate", "authentication", 0.9, 0.9),
            ("connections", "connect", 0.9, 0.9),
            ("serializer", "serialization", 0.9, 0.9),
            ("subscribe", "subscription", 0.9, 0.9),
            ("convert", "conversion", 0.9, 0.9),
            ("extension", "extend", 0.9, 0.9),
            ("permission", "permit", 0.9, 0.9),
            ("reception", "receive", 0.9, 0.9),
            ("config", "configuration", 0.7, 0.9),
            ("auth", "authentication", 0.7, 0.7),
            ("transfer", "transform", 0.0, 0.0),
            ("content", "context", 0.0, 0.0),
            ("is", "island", 0.0, 0.0),
        ] {
            let found = affinity(&stem(a), &stem(b));
            assert!((least..=most).contains(&found), "{a} {b}: {found}");
            assert_eq!(found, affinity(&stem(b), &stem(a)));
        }
    }
}
