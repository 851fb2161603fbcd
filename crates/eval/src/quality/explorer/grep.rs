//! The grep explorer: searches all files for the words of the issue, and shows the lines in which rare ones
//! stand together.
//!
//! It shares no evidence with the search: no index, no tokeniser, no vectors, no symbols. A word is a run of
//! letters, digits and `_` of the text; parts of a compound name are words of half the weight. The score of a
//! file sums over its words the rarity, ln(1 + files / files with the word), damped for the number of
//! occurrences and added once more if the word is in the path.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use codeweaver_git::{self as git, Mode};
use codeweaver_text as text;

use super::{Exploration, ExploredFile};
use crate::error::EvalError;
use crate::quality::subject::Subject;

/// Most words that are searched for.
const MAX_WORDS: usize = 24;
/// Least number of bytes of a word.
const MIN_WORD: usize = 3;
/// Weight of a part of a compound name.
const PART: f64 = 0.5;
/// Weight of a word in the path, as a factor of its rarity.
const IN_PATH: f64 = 1.0;
/// Most bytes of a file that is read.
const MAX_BYTES: u64 = 1 << 20;
/// Number of bytes that are probed for a NUL, which marks a binary file as in git.
const BINARY_PROBE: usize = 8000;
/// Most files that are returned.
const MAX_FILES: usize = 8;
/// Least score of a file, as a share of the best.
const MIN_SHARE: f64 = 0.6;
/// Most lines of the span that is shown.
const WINDOW: u32 = 40;

/// A word that is searched for.
struct Word {
    text: String,
    weight: f64,
}

/// A file with the words in it.
struct Grepped {
    path: String,
    /// The number of occurrences of each word, by the index of the word.
    counts: BTreeMap<usize, u32>,
    /// Lines (1-based, ascending) with the index of a word in them.
    lines: Vec<(u32, usize)>,
}

/// Explores by the words of the text. All files of the tree are read.
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
        // Links and submodules have no text of their own.
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

/// Returns the words of `text`, each once, in order.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for name in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        add_word(&mut words, name, 1.0);

        let parts = parts(name);
        if parts.len() > 1 {
            parts.iter().for_each(|part| add_word(&mut words, part, PART));
        }
    }

    words
}

/// Adds a word unless it is short, known or a stop word, or there are enough words.
fn add_word(words: &mut Vec<Word>, word: &str, weight: f64) {
    let text = word.to_lowercase();
    let is_known = words.iter().any(|known| known.text == text);
    if text.len() >= MIN_WORD && !is_known && !text::is_stop_word(&text) && words.len() < MAX_WORDS {
        words.push(Word { text, weight });
    }
}

/// Splits a compound name into its parts: `readHTTPHeader_now` → read, HTTP, Header, now.
fn parts(name: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for piece in name.split('_') {
        let chars: Vec<(usize, char)> = piece.char_indices().collect();
        let mut start = 0;

        for (i, &(at, c)) in chars.iter().enumerate().skip(1) {
            let before = chars[i - 1].1;
            let after = chars.get(i + 1).is_some_and(|(_, next)| next.is_lowercase());
            // The last capital of a run begins the next part.
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

/// Compiles a pattern that matches any of `words`; `None` if there are none.
fn pattern(words: &[Word]) -> Option<Regex> {
    // The leftmost alternative wins: a word must not hide a longer one that begins with it.
    let mut longest_first: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    longest_first.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let alternatives: Vec<String> = longest_first.into_iter().map(regex::escape).collect();
    if alternatives.is_empty() {
        return None;
    }

    RegexBuilder::new(&alternatives.join("|")).case_insensitive(true).build().ok()
}

/// Finds the words in a file. Line numbers are counted from hit to hit, so the file is read once.
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

/// Returns the best files of `found`, best first; on equal scores the smaller path comes first.
fn best(words: &[Word], n_files: usize, found: Vec<Grepped>) -> Vec<ExploredFile> {
    let rarity = rarity(words, n_files, &found);
    let mut scored: Vec<(f64, Grepped)> =
        found.into_iter().map(|file| (score(&file, words, &rarity), file)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));

    let least = scored.first().map_or(0.0, |(best, _)| best * MIN_SHARE);
    let mut files = Vec::new();
    for (_, file) in scored.into_iter().take(MAX_FILES).take_while(|(score, _)| *score >= least) {
        let names: Vec<&str> = file.counts.keys().map(|word| words[*word].text.as_str()).collect();
        files.push(ExploredFile {
            lines: window(&file.lines, &rarity),
            why: format!("has {}", names.join(", ")),
            path: file.path,
        });
    }

    files
}

/// Returns the weighted rarity of each word in `n_files` files, of which those with a word are in `found`.
fn rarity(words: &[Word], n_files: usize, found: &[Grepped]) -> Vec<f64> {
    let mut rarity = Vec::new();
    for (i, word) in words.iter().enumerate() {
        let n_with = found.iter().filter(|file| file.counts.contains_key(&i)).count();
        rarity.push(word.weight * libm::log(1.0 + n_files as f64 / n_with.max(1) as f64));
    }

    rarity
}

/// Returns the score of a file: the sum over its words, in their order.
fn score(file: &Grepped, words: &[Word], rarity: &[f64]) -> f64 {
    let path = file.path.to_lowercase();
    let scores = file.counts.iter().map(|(&word, &n)| {
        let in_path = if path.contains(&words[word].text) { IN_PATH } else { 0.0 };
        rarity[word] * (f64::from(n) / (f64::from(n) + 2.0) + in_path)
    });
    scores.sum()
}

/// Returns the span of at most [`WINDOW`] lines in which the rarest different words stand together.
fn window(lines: &[(u32, usize)], rarity: &[f64]) -> Option<(u32, u32)> {
    let mut best: Option<(f64, (u32, u32))> = None;

    for (i, &(first, _)) in lines.iter().enumerate() {
        let near = lines[i..].iter().take_while(|(line, _)| *line < first + WINDOW);
        let mut seen = vec![false; rarity.len()];
        let (mut sum, mut last) = (0.0, first);

        for &(line, word) in near {
            // A word counts once, regardless of its occurrences in the window.
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
