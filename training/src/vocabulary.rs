//! `vocabulary`: chooses from pairs the entries that the model has rows for.
//!
//! Most entries are the most frequent stems. The rest are word pieces for all other words: those that cover
//! most of their letters when words are split greedily, as the product does. The count of a word is the sum
//! over repositories of the square root of its count there, so that a large repository does not fill the
//! vocabulary with its own names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rustc_hash::{FxHashMap, FxHashSet};

use codeweaver_embed::{Vocabulary, bag_terms, bag_terms_of_path};

use crate::dataset::{for_each_file, pair_files};

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory with `.pairs` files.
    #[arg(long)]
    pairs: PathBuf,
    /// Number of entries.
    #[arg(long, default_value_t = 32_000)]
    size: usize,
    /// Share of entries that are whole stems.
    #[arg(long, default_value_t = 0.88)]
    whole: f64,
    /// Output file, one entry for each line; the first has id 0.
    #[arg(long)]
    out: PathBuf,
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

/// Square roots of counts are integers in units of 1/256: sums of integers do not depend on their order.
const ROOT_UNIT: f64 = 256.0;
/// Maximum number of characters in a piece; longer ones are whole words.
const MAX_PIECE_CHARS: usize = 12;
/// Maximum number of non-ASCII single-character pieces.
const MAX_OTHER_CHARACTERS: usize = 150;

#[derive(Default)]
struct Weights {
    splittable: FxHashMap<Box<str>, u64>,
    fixed: FxHashMap<Box<str>, u64>,
}

pub fn run(args: &Args) -> Result<()> {
    let files = pair_files(&args.pairs)?;
    let counted = for_each_file(&files, args.threads, |_, path| count(path))?;
    let mut weights = Weights::default();
    for (word, may_split, n) in counted.into_iter().flatten() {
        let root = (f64::from(n).sqrt() * ROOT_UNIT) as u64;
        let map = if may_split { &mut weights.splittable } else { &mut weights.fixed };
        *map.entry(word).or_default() += root;
    }
    let entries = choose(&weights, args.size, args.whole);
    Vocabulary::encode(&entries)?;
    std::fs::write(&args.out, entries.join("\n") + "\n")
        .with_context(|| format!("writing {}", args.out.display()))?;
    println!(
        "{} repositories, {} distinct terms → {} entries",
        files.len(),
        weights.splittable.len() + weights.fixed.len(),
        entries.len()
    );
    println!("{}", coverage(&weights, &entries));
    Ok(())
}

/// Reads a vocabulary written by [`run`].
pub fn read(path: &Path) -> Result<Vec<String>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let entries: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(!entries.is_empty(), "{} has no entries", path.display());
    Ok(entries)
}

/// Terms of one repository: the term, whether it may be split into pieces, its count. Terms that occur once
/// are dropped: they are many, and most are names that occur nowhere else.
fn count(path: &Path) -> Result<Vec<(Box<str>, bool, u32)>> {
    let mut counts: [FxHashMap<Box<str>, u32>; 2] = Default::default();
    for pair in crate::pair::PairReader::open(path)? {
        let pair = pair.with_context(|| format!("reading {}", path.display()))?;
        let mut visit = |term: &str, may_split: bool| increment(&mut counts[usize::from(may_split)], term);
        bag_terms(&pair.text, &mut visit);
        bag_terms(&pair.code, &mut visit);
        bag_terms_of_path(&pair.path, &mut visit);
    }
    let [fixed, splittable] = counts;
    let marked = |map: FxHashMap<Box<str>, u32>, may_split| {
        map.into_iter().filter(|&(_, n)| n > 1).map(move |(word, n)| (word, may_split, n))
    };
    Ok(marked(fixed, false).chain(marked(splittable, true)).collect())
}

/// Adds one to the count of `term`. Allocates only for a new term.
fn increment(counts: &mut FxHashMap<Box<str>, u32>, term: &str) {
    match counts.get_mut(term) {
        Some(n) => *n += 1,
        None => {
            counts.insert(term.into(), 1);
        }
    }
}

/// Chooses at most `size` entries: the most frequent stems (a share of `whole`), then pieces.
fn choose(weights: &Weights, size: usize, whole: f64) -> Vec<String> {
    let mut words: Vec<(&str, u64, bool)> = Vec::new();
    words.extend(weights.splittable.iter().map(|(word, &weight)| (&**word, weight, true)));
    words.extend(weights.fixed.iter().map(|(word, &weight)| (&**word, weight, false)));
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)).then(a.2.cmp(&b.2)));
    let n_whole = words.len().min((size as f64 * whole) as usize);
    let mut seen = FxHashSet::default();
    let mut entries: Vec<String> = Vec::with_capacity(size);
    for (word, ..) in &words[..n_whole] {
        if seen.insert(*word) {
            entries.push((*word).to_owned());
        }
    }
    let rest: Vec<(&str, u64)> =
        words[n_whole..].iter().filter(|word| word.2).map(|&(word, weight, _)| (word, weight)).collect();
    let known: FxHashSet<String> = entries.iter().cloned().collect();
    let single = single_characters(&rest);
    let budget = size.saturating_sub(entries.len());
    entries.extend(pieces(&rest, &known, &single, budget));
    entries
}

/// ASCII letters and digits and the most frequent other characters, each as an initial and as a continuation
/// piece.
fn single_characters(words: &[(&str, u64)]) -> BTreeSet<String> {
    let mut others: FxHashMap<char, u64> = FxHashMap::default();
    for (word, weight) in words {
        for c in word.chars().filter(|c| !c.is_ascii()) {
            *others.entry(c).or_default() += weight;
        }
    }
    let mut others: Vec<(char, u64)> = others.into_iter().collect();
    others.sort_unstable_by_key(|&(c, weight)| (std::cmp::Reverse(weight), c));
    let others = others.into_iter().take(MAX_OTHER_CHARACTERS / 2).map(|(c, _)| c);
    let characters = ('a'..='z').chain('0'..='9').chain(others);
    characters.flat_map(|c| [c.to_string(), format!("##{c}")]).collect()
}

/// Chooses at most `budget` pieces for splitting `words`, the `single` ones first.
///
/// Starts with four times as many candidates, splits every word with them, keeps the half that covers most
/// letters, and repeats: greedy splitting with a smaller set uses other pieces, so one pass would keep too
/// many overlapping ones.
fn pieces(
    words: &[(&str, u64)],
    known: &FxHashSet<String>,
    single: &BTreeSet<String>,
    budget: usize,
) -> Vec<String> {
    let mut out: Vec<String> = single.iter().filter(|piece| !known.contains(*piece)).cloned().collect();
    out.truncate(budget);
    let wanted = budget - out.len();
    let mut scores: FxHashMap<String, u64> = FxHashMap::default();
    for &(word, weight) in words {
        let ends: Vec<usize> =
            word.char_indices().map(|(at, _)| at).chain([word.len()]).take(4 * MAX_PIECE_CHARS).collect();
        for (from, &start) in ends.iter().enumerate() {
            for (length, &end) in ends.iter().enumerate().skip(from + 2).take(MAX_PIECE_CHARS - 1) {
                let piece = &word[start..end];
                if piece.len() == word.len() {
                    continue; // a whole word, not a piece
                }
                let letters = (length - from - 1) as u64;
                let spelt = if start == 0 { piece.to_owned() } else { format!("##{piece}") };
                *scores.entry(spelt).or_default() += weight * letters;
            }
        }
        if scores.len() > 6_000_000 {
            let mut all: Vec<u64> = scores.values().copied().collect();
            let (_, &mut middle, _) = all.select_nth_unstable(3_000_000);
            scores.retain(|_, score| *score > middle);
        }
    }
    let mut size = wanted * 4;
    loop {
        let mut ranked: Vec<(String, u64)> =
            scores.drain().filter(|(piece, _)| !known.contains(piece) && !single.contains(piece)).collect();
        ranked.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        ranked.truncate(size.max(wanted));
        if size <= wanted {
            out.extend(ranked.into_iter().map(|(piece, _)| piece));
            return out;
        }
        let kept: FxHashSet<String> = ranked.into_iter().map(|(piece, _)| piece).collect();
        for &(word, weight) in words {
            cut(
                word,
                |piece| known.contains(piece) || kept.contains(piece) || single.contains(piece),
                |piece| {
                    let letters = piece.trim_start_matches("##").chars().count() as u64;
                    if letters > 1 {
                        *scores.entry(piece.to_owned()).or_default() += weight * (letters - 1);
                    }
                },
            );
        }
        size /= 2;
    }
}

/// Splits a word from the left into the longest existing pieces, as [`Vocabulary::ids`] does.
fn cut(word: &str, exists: impl Fn(&str) -> bool, mut visit: impl FnMut(&str)) {
    let mut spelt = String::new();
    let mut start = 0;
    while start < word.len() {
        let mut found = None;
        for end in (start + 1..=word.len()).rev().filter(|&end| word.is_char_boundary(end)) {
            spelt.clear();
            if start > 0 {
                spelt.push_str("##");
            }
            spelt.push_str(&word[start..end]);
            if exists(&spelt) {
                found = Some(end);
                break;
            }
        }
        match found {
            Some(end) => {
                visit(&spelt);
                start = end;
            }
            None => start += word[start..].chars().next().map_or(1, char::len_utf8),
        }
    }
}

/// Human-readable share of the (square-rooted) word counts that whole entries cover.
fn coverage(weights: &Weights, entries: &[String]) -> String {
    let known: FxHashSet<&str> = entries.iter().map(String::as_str).collect();
    let total: u64 = weights.splittable.values().sum();
    let whole: u64 =
        weights.splittable.iter().filter(|(word, _)| known.contains(&***word)).map(|(_, n)| n).sum();
    let n_pieces = entries.iter().filter(|entry| entry.starts_with("##")).count();
    format!(
        "{:.1} % of the words (weighted) are whole entries; {n_pieces} entries are continuation pieces",
        100.0 * whole as f64 / total.max(1) as f64
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_entries_and_the_rest_is_split_into_pieces() {
        let mut weights = Weights::default();
        for (n, word) in ["pars", "header", "server"].iter().enumerate() {
            weights.splittable.insert((*word).into(), 10_000 - n as u64);
        }
        for prefix in ["micro", "macro", "nano", "tele", "over"] {
            for suffix in ["soft", "scope", "phone", "graph", "light"] {
                weights.splittable.insert(format!("{prefix}{suffix}").into(), 100);
            }
        }
        weights.fixed.insert("42".into(), 9_000);
        weights.fixed.insert("4711".into(), 1);
        let entries = choose(&weights, 84, 4.0 / 84.0);
        assert_eq!(entries[..4], ["pars", "header", "server", "42"]);
        assert_eq!(entries.len(), 84);
        for expected in ["z", "##0", "micro", "macro", "nano", "##soft", "##scope", "##phone"] {
            assert!(entries.iter().any(|entry| entry == expected), "{expected}: {entries:?}");
        }
        assert!(!entries.iter().any(|entry| entry == "4711"));
        assert_eq!(entries, choose(&weights, 84, 4.0 / 84.0));
    }

    #[test]
    fn words_are_split_from_the_left_into_the_longest_pieces() {
        let entries = ["http", "##server", "##s", "h"];
        let mut out = Vec::new();
        cut("httpserversé", |piece| entries.contains(&piece), |piece| out.push(piece.to_owned()));
        assert_eq!(out, ["http", "##server", "##s"]);
    }
}
