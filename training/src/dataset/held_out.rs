//! Choice of the held-out repositories: by the hash of their names, some of every language.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// Returns for every repository (name, main language) whether it is held out: about `share` of the
/// repositories of a language, at least two of eight or more, one of three to seven, none of fewer.
///
/// Depends only on the names and languages, not on their order.
pub fn choose(repositories: &[(&str, &str)], share: f64) -> Vec<bool> {
    let mut by_language: BTreeMap<&str, Vec<(u64, usize)>> = BTreeMap::new();
    for (index, (name, language)) in repositories.iter().enumerate() {
        by_language.entry(language).or_default().push((hash(name.as_bytes()), index));
    }
    let mut out = vec![false; repositories.len()];
    if share <= 0.0 {
        return out;
    }
    for group in by_language.values_mut() {
        group.sort_unstable();
        let n = match group.len() {
            0..=2 => 0,
            3..=7 => 1,
            n => ((n as f64 * share).round() as usize).max(2),
        };
        for (_, index) in group.iter().take(n) {
            out[*index] = true;
        }
    }
    out
}

/// Hash that is the same on every machine and in every release.
pub fn hash(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |hash, &byte| hash << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_with_enough_repositories_has_some_held_out() {
        let names: Vec<String> = (0..112).map(|n| format!("owner+name{n}")).collect();
        let language = |n: usize| match n {
            0..100 => "rust",
            100..110 => "zig",
            _ => "lua",
        };
        let all: Vec<(&str, &str)> =
            names.iter().enumerate().map(|(n, name)| (name.as_str(), language(n))).collect();
        let chosen = choose(&all, 0.06);
        let count = |wanted: &str| (0..112).filter(|&n| chosen[n] && language(n) == wanted).count();
        assert_eq!((count("rust"), count("zig"), count("lua")), (6, 2, 0));
        let reversed: Vec<(&str, &str)> = all.iter().rev().copied().collect();
        let mut again = choose(&reversed, 0.06);
        again.reverse();
        assert_eq!(chosen, again);
        assert!(choose(&all, 0.0).iter().all(|held_out| !held_out));
    }
}
