//! The table of words, and the search for words of a query in it.

use std::sync::OnceLock;

use super::language::{Language, Script};

const TABLE: &str = include_str!("words.txt");
const N_LANGUAGES: usize = 8;

/// Maximum number of characters in a word of a language without spaces.
const MAX_CHARACTERS: usize = 10;
/// Minimum length in bytes of a part of a compound.
const MIN_PART: usize = 4;
/// Maximum length of an ending of a German word; a longer one may be a word.
const MAX_ENDING: usize = 4;
/// Letters that may stand between the parts of a German word.
const LINKS: [&str; 9] = ["", "s", "n", "en", "es", "er", "e", "ungs", "ations"];

/// English words with the meanings of a word, the most common first.
pub type English = Vec<&'static str>;

/// The words of one language.
pub struct Dictionary {
    /// [Folded](fold) stems, sorted.
    stems: Vec<(String, English)>,
    /// Stems of several words.
    phrases: Vec<(Vec<String>, English)>,
}

impl Dictionary {
    /// Returns the words of `language`, which are read when they are first needed.
    pub fn for_language(language: Language) -> &'static Dictionary {
        static ALL: [OnceLock<Dictionary>; N_LANGUAGES] = [const { OnceLock::new() }; N_LANGUAGES];
        ALL[language as usize - 1].get_or_init(|| Dictionary::read(language))
    }

    /// Reads the column of a language.
    fn read(language: Language) -> Dictionary {
        let (mut stems, mut phrases): (Vec<(String, English)>, Vec<_>) = (Vec::new(), Vec::new());
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            for word in column(line, language as usize).filter(|word| !word.is_empty()) {
                let parts = word.split([' ', '\'']).filter(|part| !part.is_empty());
                let parts: Vec<String> = parts.map(fold).collect();
                match (language.script(), parts.len()) {
                    (Script::Spaced, 2..) => phrases.push((parts, english(line))),
                    // Words of Korean may be written together.
                    (Script::Dense, 2..) => {
                        stems.push((parts.join(" "), english(line)));
                        stems.push((parts.concat(), english(line)));
                    }
                    _ => stems.push((parts.concat(), english(line))),
                }
            }
        }

        // Several lines may have a word; the first of them is its most common meaning.
        stems.sort_by(|a, b| a.0.cmp(&b.0));
        stems.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1.append(&mut later.1);
            }
            is_same
        });

        Dictionary { stems, phrases }
    }

    fn get(&self, stem: &str) -> Option<&English> {
        self.stems.binary_search_by(|(known, _)| known.as_str().cmp(stem)).ok().map(|at| &self.stems[at].1)
    }

    /// Returns the meanings of a folded word, or those of each of its parts.
    pub fn meanings(&'static self, word: &str, has_compounds: bool) -> Vec<&'static English> {
        let whole = self.by_stem(word, true);
        // A long ending may be a word of its own.
        if let Some((english, _)) = whole.filter(|(_, len)| !has_compounds || word.len() - len <= MAX_ENDING)
        {
            return vec![english];
        }
        if !has_compounds {
            return Vec::new();
        }

        let participle = word.strip_prefix("ge").and_then(|rest| self.by_stem(rest, true));
        if let Some((english, _)) = participle {
            return vec![english];
        }
        if let Some(parts) = self.parts(word) {
            return parts;
        }
        whole.map(|(english, _)| vec![english]).unwrap_or_default()
    }

    /// Returns the longest stem that `word` begins with, and its length. If `is_whole`, the rest of the word
    /// must be short enough for an ending.
    fn by_stem(&self, word: &str, is_whole: bool) -> Option<(&English, usize)> {
        let ends = word.char_indices().map(|(at, _)| at).skip(1).chain([word.len()]);
        let ends: Vec<usize> = ends.collect();

        // The longest stem is tried first.
        for end in ends.into_iter().rev() {
            let (stem, rest) = word.split_at(end);
            if is_whole && rest.chars().count() > longest_ending(stem.chars().count()) {
                continue;
            }
            if let Some(english) = self.get(stem) {
                return Some((english, end));
            }
        }

        None
    }

    /// Returns the meanings of the parts of a compound, if all of it is made of words of the table.
    fn parts(&self, word: &str) -> Option<Vec<&English>> {
        if word.len() < 2 * MIN_PART {
            return None;
        }

        let ends = (MIN_PART..=word.len() - MIN_PART).rev().filter(|&end| word.is_char_boundary(end));
        // The longest first part is tried first.
        for end in ends {
            let Some(first) = self.get(&word[..end]) else { continue };
            for link in LINKS {
                let Some(rest) = word[end..].strip_prefix(link).filter(|rest| rest.len() >= MIN_PART) else {
                    continue;
                };
                let rest = match self.by_stem(rest, true) {
                    Some((english, _)) => Some(vec![english]),
                    None => self.parts(rest),
                };
                if let Some(rest) = rest {
                    return Some([vec![first], rest].concat());
                }
            }
        }

        None
    }

    /// Returns the phrase that `words` begin with, and its number of words.
    pub fn phrase(&self, words: &[String]) -> Option<(&English, usize)> {
        let found = self.phrases.iter().find(|(parts, _)| is_at_start(parts, words))?;
        Some((&found.1, found.0.len()))
    }

    /// Returns the longest word that `text` begins with, and its length in bytes.
    pub fn longest(&self, text: &str) -> Option<(&English, usize)> {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(MAX_CHARACTERS);
        let ends: Vec<usize> = ends.collect();
        ends.into_iter().rev().find_map(|end| Some((self.get(&fold(&text[..end]))?, end)))
    }
}

/// Returns the words in a column of a line of the table. English is column 0.
fn column(line: &'static str, language: usize) -> impl Iterator<Item = &'static str> {
    line.split('|').nth(language).unwrap_or_default().split(',')
}

fn english(line: &'static str) -> English {
    column(line, 0).collect()
}

/// Returns whether `words` begin with the stems of a phrase, each with no more than an ending after it.
fn is_at_start(stems: &[String], words: &[String]) -> bool {
    words.len() >= stems.len()
        && stems.iter().zip(words).all(|(stem, word)| {
            let rest = word.strip_prefix(stem.as_str());
            rest.is_some_and(|rest| rest.chars().count() <= longest_ending(stem.chars().count()))
        })
}

/// Returns the maximum number of letters that follow a stem of some length.
fn longest_ending(stem: usize) -> usize {
    match stem {
        0..=2 => 1,
        3 => 3,
        4 => 5,
        _ => 7,
    }
}

/// Returns a word in lower case without diacritics.
pub fn fold(word: &str) -> String {
    let mut folded = String::with_capacity(word.len());

    for c in word.chars().flat_map(char::to_lowercase) {
        match c {
            'à'..='å' | 'ā' => folded.push('a'),
            'ç' => folded.push('c'),
            'è'..='ë' => folded.push('e'),
            'ì'..='ï' => folded.push('i'),
            'ñ' => folded.push('n'),
            'ò'..='ö' => folded.push('o'),
            'ù'..='ü' => folded.push('u'),
            'œ' => folded.push_str("oe"),
            'ß' => folded.push_str("ss"),
            'ё' => folded.push('е'),
            c => folded.push(c),
        }
    }

    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_has_every_column() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.split('|').count(), N_LANGUAGES + 1, "{line}");
            let mut english = line.split('|').next().unwrap_or_default().split(',');
            assert!(english.all(|word| word.is_ascii() && !word.is_empty()), "{line}");
        }
    }

    #[test]
    fn compounds_are_taken_apart() {
        let german = Dictionary::for_language(Language::German);
        let english = |word: &str| {
            german.meanings(&fold(word), true).into_iter().map(|english| english[0]).collect::<Vec<_>>()
        };
        assert_eq!(english("Verbindungspool"), ["connection", "pool"]);
        assert_eq!(english("Konfigurationsdatei"), ["configuration", "file"]);
        assert_eq!(english("gespeichert"), ["save"]);
        assert_eq!(english("Apfelkuchen"), [""; 0]);
    }
}
