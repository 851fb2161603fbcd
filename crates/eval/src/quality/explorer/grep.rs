//! The grep explorer: takes the words of the issue, greps all files for them, and reads where rare ones meet.
//!
//! It shares no evidence with the search: no index, no terms of the tokeniser, no meaning, no symbols. A word
//! is a run of letters, digits and `_` of the text; parts of a compound name are words of half the weight. A
//! file scores the rarity of each word in it, ln(1 + files / files with the word), damped for repetition, and
//! again if the word is in its path.

use super::{Exploration, ExploredFile};
use crate::error::EvalError;
use crate::quality::subject::Subject;
use codeweaver_git::{self as git, Mode};
use codeweaver_text as text;
use regex::bytes::{Regex, RegexBuilder};
use std::collections::BTreeMap;

/// Most words that are looked for.
const MAX_WORDS: usize = 24;
/// A shorter word is not looked for.
const MIN_WORD: usize = 3;
/// Weight of a part of a compound name.
const PART: f64 = 0.5;
/// Weight of a word in the path, as a factor of its rarity.
const IN_PATH: f64 = 1.0;
/// A larger file is not read.
const MAX_BYTES: u64 = 1 << 20;
/// As in git, a file with a NUL in its first bytes is binary.
const BINARY_PROBE: usize = 8000;
/// Most files that are returned.
const MAX_FILES: usize = 8;
/// Least score of a file, as a share of the best.
const MIN_SHARE: f64 = 0.6;
/// Number of lines that are read around a place.
const WINDOW: u32 = 40;

/// A word that is looked for.
struct Word {
    text: String,
    weight: f64,
}

/// A file with the words in it.
struct Grepped {
    path: String,
    /// By word: number of occurrences.
    counts: BTreeMap<usize, u32>,
    /// Lines with words, 1-based, ascending.
    lines: Vec<(u32, usize)>,
}

/// Explores by the words of the text.
pub fn explore(subject: &Subject<'_>) -> Result<Exploration, EvalError> {
    let words = words(&subject.issue.text);
    let log = vec![format!(
        "grep -i -w: {}",
        words.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ")
    )];
    let Some(pattern) = pattern(&words) else {
        return Ok(Exploration { explored: true, log, ..Exploration::default() });
    };
    let (mut n_files, mut found) = (0usize, Vec::new());
    let mut blobs = subject.repo.blobs();
    for file in git::walk_tree(subject.repo, &subject.tree)? {
        if !matches!(file.mode, Mode::File | Mode::Executable) {
            continue;
        }
        if blobs.size(&file.oid)?.is_none_or(|size| size > MAX_BYTES) {
            continue;
        }
        let Some(bytes) = blobs.read(&file.oid)? else { continue };
        if bytes[..bytes.len().min(BINARY_PROBE)].contains(&0) {
            continue;
        }
        n_files += 1;
        let grepped = grep(&pattern, &words, git::quoting::text(&file.path), bytes);
        if !grepped.counts.is_empty() {
            found.push(grepped);
        }
    }
    let files = best(&words, n_files, found);
    Ok(Exploration { explored: true, files, log, ..Exploration::default() })
}

/// The words of `text`, each once, in order.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut add = |word: &str, weight: f64| {
        let word = word.to_lowercase();
        let is_known = words.iter().any(|known| known.text == word);
        if word.len() >= MIN_WORD && !is_known && !text::is_stop_word(&word) && words.len() < MAX_WORDS {
            words.push(Word { text: word, weight });
        }
    };
    for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        add(name, 1.0);
        let parts = parts(name);
        if parts.len() > 1 {
            parts.iter().for_each(|part| add(part, PART));
        }
    }
    words
}

/// The parts of a compound name: `readHTTPHeader_now` → read, HTTP, Header, now.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in name.split('_') {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;
        for (i, &(at, c)) in chars.iter().enumerate().skip(1) {
            let before = chars[i - 1].1;
            let after = chars.get(i + 1).is_some_and(|(_, next)| next.is_lowercase());
            if c.is_uppercase() && (!before.is_uppercase() || after) {
                parts.push(&piece[start..at]);
                start = at;
            }
        }
        parts.push(&piece[start..]);
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Matches any of `words`, the longest first; `None` if there is none.
fn pattern(words: &[Word]) -> Option<Regex> {
    let mut longest_first: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    longest_first.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let alternatives: Vec<String> = longest_first.into_iter().map(regex::escape).collect();
    if alternatives.is_empty() {
        return None;
    }
    RegexBuilder::new(&alternatives.join("|")).case_insensitive(true).build().ok()
}

fn grep(pattern: &Regex, words: &[Word], path: String, bytes: &[u8]) -> Grepped {
    let mut grepped = Grepped { path, counts: BTreeMap::new(), lines: Vec::new() };
    let (mut line, mut counted) = (1u32, 0usize);
    for hit in pattern.find_iter(bytes) {
        let word = String::from_utf8_lossy(hit.as_bytes()).to_lowercase();
        let Some(word) = words.iter().position(|known| known.text == word) else { continue };
        line += memchr::memchr_iter(b'\n', &bytes[counted..hit.start()]).count() as u32;
        counted = hit.start();
        *grepped.counts.entry(word).or_default() += 1;
        if grepped.lines.last() != Some(&(line, word)) {
            grepped.lines.push((line, word));
        }
    }
    grepped
}

/// The best of `found`, the best first.
fn best(words: &[Word], n_files: usize, found: Vec<Grepped>) -> Vec<ExploredFile> {
    let n_with = |word: usize| found.iter().filter(|file| file.counts.contains_key(&word)).count();
    let rarity: Vec<f64> = (0..words.len())
        .map(|word| words[word].weight * libm::log(1.0 + n_files as f64 / n_with(word).max(1) as f64))
        .collect();
    let score = |file: &Grepped| -> f64 {
        let path = file.path.to_lowercase();
        let of = |(&word, &n): (&usize, &u32)| {
            let in_path = if path.contains(&words[word].text) { IN_PATH } else { 0.0 };
            rarity[word] * (f64::from(n) / (f64::from(n) + 2.0) + in_path)
        };
        file.counts.iter().map(of).sum()
    };
    let mut scored: Vec<(f64, Grepped)> = found.into_iter().map(|file| (score(&file), file)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
    let least = scored.first().map_or(0.0, |(best, _)| best * MIN_SHARE);
    let kept = scored.into_iter().take(MAX_FILES).take_while(|(score, _)| *score >= least);
    kept.map(|(_, file)| {
        let names: Vec<&str> = file.counts.keys().map(|word| words[*word].text.as_str()).collect();
        ExploredFile {
            lines: window(&file.lines, &rarity),
            why: format!("has {}", names.join(", ")),
            path: file.path,
        }
    })
    .collect()
}

/// The lines in which the rarest different words stand together.
fn window(lines: &[(u32, usize)], rarity: &[f64]) -> Option<(u32, u32)> {
    let mut best: Option<(f64, (u32, u32))> = None;
    for (i, &(first, _)) in lines.iter().enumerate() {
        let near = lines[i..].iter().take_while(|(line, _)| *line < first + WINDOW);
        let mut seen = vec![false; rarity.len()];
        let (mut sum, mut last) = (0.0, first);
        for &(line, word) in near {
            if !std::mem::replace(&mut seen[word], true) {
                (sum, last) = (sum + rarity[word], line);
            }
        }
        if best.is_none_or(|(most, _)| sum > most) {
            best = Some((sum, (first, last)));
        }
    }
    best.map(|(_, lines)| lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_and_common_words_left_out() {
        assert_eq!(parts("readHTTPHeader_now"), ["read", "HTTP", "Header", "now"]);
        let found: Vec<(String, f64)> =
            words("The parseQuery of the parser").into_iter().map(|word| (word.text, word.weight)).collect();
        let of = |word: &str, weight| (word.to_owned(), weight);
        assert_eq!(found, [of("parsequery", 1.0), of("parse", PART), of("query", PART), of("parser", 1.0)]);
    }

    #[test]
    fn files_with_rare_words_come_first() {
        let words = words("timeout of the retry policy");
        let pattern = pattern(&words).unwrap();
        let of = |path: &str, text: &str| grep(&pattern, &words, path.to_owned(), text.as_bytes());
        let found = vec![
            of("a.rs", "timeout\ntimeout\n"),
            of("b.rs", "timeout\n"),
            of("retry.rs", "x\nfn retry_policy() {\n    timeout\n}\n"),
        ];
        let files = best(&words, 10, found);
        assert_eq!(files[0].path, "retry.rs");
        assert_eq!(files[0].lines, Some((2, 3)));
        assert!(files[0].why.contains("policy"), "{}", files[0].why);
    }
}
