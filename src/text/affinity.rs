//! How near two terms are: equal, one an abbreviation of the other, or of one word family.

/// Endings that make another word of the same family, as they remain after stemming. Sorted.
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

/// Beginnings that two words of a family share at least.
const FAMILY_BYTES: usize = 4;
/// An abbreviation has at least this many letters.
const ABBREVIATION_BYTES: usize = 3;

/// 1 for equal terms, less for an abbreviation (`config`, `configuration`) or another word of the family (`register`,
/// `registration`), 0 for strangers. Symmetric.
pub fn affinity(a: &str, b: &str) -> f32 {
    if a == b {
        return 1.0;
    }
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let common = short.bytes().zip(long.bytes()).take_while(|(x, y)| x == y).count();
    if common < ABBREVIATION_BYTES || !short.is_char_boundary(common) || !long.is_char_boundary(common) {
        return 0.0;
    }
    let is_ending = |rest: &str| ENDINGS.binary_search(&rest).is_ok();
    if common >= FAMILY_BYTES && is_ending(&short[common..]) && is_ending(&long[common..]) {
        return 0.9;
    }
    if common == short.len() { 0.7 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::stem;

    #[test]
    fn endings_are_sorted_for_the_search() {
        assert!(ENDINGS.is_sorted());
    }

    #[test]
    fn families_and_abbreviations_are_near_and_strangers_are_not() {
        for (a, b, least, most) in [
            ("parse", "parsing", 1.0, 1.0),
            ("parser", "parse", 0.9, 0.9),
            ("register", "registration", 0.9, 0.9),
            ("authenticate", "authentication", 0.9, 0.9),
            ("connections", "connect", 0.9, 0.9),
            ("serializer", "serialization", 0.9, 0.9),
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
