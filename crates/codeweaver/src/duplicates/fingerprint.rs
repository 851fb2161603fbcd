//! Fingerprints of definitions: hashes by which equal and similar token sequences are found.

use rustc_hash::FxHashMap;

use super::tokens::{Kind, Token, mix};

/// Number of successive tokens that are hashed together.
const SHINGLE: usize = 8;
/// Maximum number of hashes in a sketch.
const MAX_SKETCH: usize = 64;

/// The fingerprint of the tokens of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub n_tokens: u32,
    /// A hash of the tokens.
    pub exact: u64,
    /// A hash of the tokens with their names numbered in order of appearance, and without the values of
    /// literals. Consistently renamed copies have the same.
    pub shape: u64,
    /// The least hashes of the [`SHINGLE`] successive blind tokens, ascending and different. Similar
    /// sequences share some.
    pub sketch: Box<[u32]>,
}

impl Fingerprint {
    pub fn new(tokens: &[Token]) -> Fingerprint {
        let mut exact = tokens.len() as u64;
        let mut shape = exact;
        let mut numbers: FxHashMap<Token, u64> = FxHashMap::default();

        for &token in tokens {
            exact = mix(exact ^ u64::from(token.value()));

            let n_names = numbers.len() as u64;
            let part = match token.kind() {
                // Two names are never one, so the name of a definition is numbered with the others.
                Kind::Local | Kind::Outer | Kind::Own => *numbers.entry(token.as_name()).or_insert(n_names),
                Kind::Fixed | Kind::Number | Kind::Text => 1 << 40 | u64::from(token.blind().value()),
            };
            shape = mix(shape ^ part);
        }

        Fingerprint { n_tokens: tokens.len() as u32, exact, shape, sketch: sketch(tokens) }
    }

    /// Share of the smaller sketch that both have, 0–1.
    pub fn shared(&self, other: &Fingerprint) -> f32 {
        let (one, two) = (&self.sketch, &other.sketch);
        let (mut at, mut n_shared) = (0, 0);

        // Beyond the last hash of a full sketch nothing is known, so only hashes up to there are compared.
        let limit = last_known(one).min(last_known(two));
        let n_known =
            one.partition_point(|&hash| hash <= limit).min(two.partition_point(|&hash| hash <= limit));
        for &hash in one.iter().take_while(|&&hash| hash <= limit) {
            while two.get(at).is_some_and(|&other| other < hash) {
                at += 1;
            }
            n_shared += usize::from(two.get(at) == Some(&hash));
        }

        n_shared as f32 / n_known.max(1) as f32
    }
}

/// The largest hash about which a sketch says whether its definition has it.
fn last_known(sketch: &[u32]) -> u32 {
    if sketch.len() < MAX_SKETCH { u32::MAX } else { sketch[MAX_SKETCH - 1] }
}

fn sketch(tokens: &[Token]) -> Box<[u32]> {
    let windows = tokens.windows(SHINGLE.min(tokens.len().max(1)));
    let mut hashes: Vec<u32> = windows
        .map(|window| {
            let hash = window.iter().fold(0, |hash, token| mix(hash ^ u64::from(token.blind().value())));
            (hash >> 32) as u32
        })
        .collect();

    hashes.sort_unstable();
    hashes.dedup();
    hashes.truncate(MAX_SKETCH);
    hashes.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use codeweaver_chunk::LanguageId;

    use super::super::tokens::Tokens;
    use super::*;

    fn fingerprint(text: &str, name: &str) -> Fingerprint {
        Fingerprint::new(&Tokens::read(text, LanguageId::by_name("rust").unwrap(), name).list)
    }

    #[test]
    fn a_consistent_renaming_keeps_the_shape() {
        let one = fingerprint("fn f(a: u32, b: u32) -> u32 { g(a, b) + a + 1 }", "f");
        let two = fingerprint("fn h(x: u32, y: u32) -> u32 { k(x, y) + x + 2 }", "h");
        let swapped = fingerprint("fn h(x: u32, y: u32) -> u32 { k(x, y) + y + 2 }", "h");
        assert_eq!(one.shape, two.shape);
        assert_ne!(one.exact, two.exact);
        assert_ne!(one.shape, swapped.shape);
        assert_eq!(one.sketch, swapped.sketch);
    }

    #[test]
    fn sketches_share_what_texts_share() {
        let line = |n: usize| format!("let v{n} = {} f({n});", "- ".repeat(n % 7) + &"! ".repeat(n / 7));
        let body = |lines: std::ops::Range<usize>| lines.map(line).collect::<Vec<_>>().join("\n");
        let all = fingerprint(&body(0..40), "f");
        let most = fingerprint(&body(4..40), "f");
        let others = fingerprint(&body(0..40).replace("- ", "* ").replace("! ", "& "), "f");
        assert_eq!(all.shared(&all), 1.0);
        assert!(all.shared(&most) > 0.7, "{}", all.shared(&most));
        assert!(all.shared(&others) < 0.2, "{}", all.shared(&others));
    }
}
