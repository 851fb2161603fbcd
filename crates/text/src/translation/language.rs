//! The language of a query, by its script and its function words.

use super::words::{Dictionary, fold};
use crate::is_stop_word;
use std::collections::HashSet;
use std::sync::OnceLock;

/// Function words, one line per language.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// A language of the table. The numbers are its columns, after English.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    German = 1,
    French = 2,
    Spanish = 3,
    Portuguese = 4,
    Russian = 5,
    Japanese = 6,
    Chinese = 7,
    Korean = 8,
}

/// How words are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Spaced,
    /// Words without spaces, or with endings that are words.
    Dense,
}

const LATIN: [Language; 4] = [Language::German, Language::French, Language::Spanish, Language::Portuguese];

impl Language {
    /// The language of `query`; `None` for English and for what is not recognised.
    pub fn of(query: &str) -> Option<Language> {
        let has = |is_of: fn(char) -> bool| query.chars().any(is_of);
        match () {
            () if has(is_kana) => Some(Language::Japanese),
            () if has(is_hangul) => Some(Language::Korean),
            () if has(is_han) => Some(Language::Chinese),
            () if has(is_cyrillic) => Some(Language::Russian),
            () => Language::of_latin(query),
        }
    }

    /// The language of a query in the Latin alphabet: the one whose function words it has most of, more than
    /// English ones. Without function words, one that has all of its words.
    fn of_latin(query: &str) -> Option<Language> {
        let words = query.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(fold).collect();
        let n_english = words.iter().filter(|word| is_stop_word(word)).count();
        let n_function = |language: Language| {
            words.iter().filter(|word| language.is_function_word(word) && !is_english(word)).count()
        };
        let counted = LATIN.map(|language| (n_function(language), language));
        let most = counted.iter().map(|(n, _)| *n).max().unwrap_or(0);
        let is_known = |language: Language, word: &String| {
            !Dictionary::of(language).meanings(word, language.has_compounds()).is_empty()
        };
        let n_known = |language: Language| words.iter().filter(|word| is_known(language, word)).count();
        if most > 0 {
            let n_shared = words.iter().filter(|word| is_english(word)).count();
            if most + n_shared.min(1) < n_english {
                return None;
            }
            let best = counted.into_iter().filter(|(n, _)| *n == most).map(|(_, language)| language);
            return best.rev().max_by_key(|language| n_known(*language));
        }
        if n_english > 0 || words.is_empty() {
            return None;
        }
        // A word of English too, such as `cache`, says nothing.
        let is_foreign = |language: Language, word: &String| {
            let meanings = Dictionary::of(language).meanings(word, language.has_compounds());
            let start = &word[..word.char_indices().nth(4).map_or(word.len(), |(at, _)| at)];
            meanings.iter().all(|english| english.iter().all(|english| !english.starts_with(start)))
        };
        LATIN.into_iter().find(|&language| {
            words.iter().all(|word| is_known(language, word))
                && words.iter().any(|word| is_foreign(language, word))
        })
    }

    /// Its name in English.
    pub fn name(self) -> &'static str {
        match self {
            Language::German => "German",
            Language::French => "French",
            Language::Spanish => "Spanish",
            Language::Portuguese => "Portuguese",
            Language::Russian => "Russian",
            Language::Japanese => "Japanese",
            Language::Chinese => "Chinese",
            Language::Korean => "Korean",
        }
    }

    pub fn script(self) -> Script {
        match self {
            Language::Japanese | Language::Chinese | Language::Korean => Script::Dense,
            _ => Script::Spaced,
        }
    }

    /// Whether its words may be made of several.
    pub fn has_compounds(self) -> bool {
        self == Language::German
    }

    /// Whether a [folded](fold) word is a function word.
    pub fn is_function_word(self, word: &str) -> bool {
        static WORDS: OnceLock<Vec<HashSet<String>>> = OnceLock::new();
        let words = WORDS.get_or_init(|| {
            let lines = FUNCTION_WORDS.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.split(' ').skip(1).map(fold).collect()).collect()
        });
        words.get(self as usize - 1).is_some_and(|words| words.contains(word))
    }
}

/// Whether a function word of another language is an English word too.
fn is_english(word: &str) -> bool {
    is_stop_word(word)
        || matches!(
            word,
            "die" | "man" | "war" | "son" | "sa" | "ses" | "tout" | "plus" | "des" | "or" | "pas"
        )
}

/// Whether a character belongs to the words of a script without spaces. Hiragana are mostly endings.
pub fn is_content(c: char) -> bool {
    is_han(c) || is_hangul(c) || matches!(c, '\u{30a0}'..='\u{30ff}')
}

fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

pub fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}')
}

fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{0400}'..='\u{04ff}')
}
