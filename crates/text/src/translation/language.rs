//! Recognises the language of a query by its script and its function words.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::words::{Dictionary, fold};
use crate::is_stop_word;

/// Function words, one line per language.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// A language of the table. Its number is its column, after English.
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

/// The way in which the words of a text are separated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Spaced,
    /// Words without spaces, or with endings that are words.
    Dense,
}

const LATIN: [Language; 4] = [Language::German, Language::French, Language::Spanish, Language::Portuguese];

impl Language {
    /// Returns the language of `query`; `None` for English and for unknown languages.
    pub fn detect(query: &str) -> Option<Language> {
        let has = |is_of: fn(char) -> bool| query.chars().any(is_of);
        match () {
            () if has(is_kana) => Some(Language::Japanese),
            () if has(is_hangul) => Some(Language::Korean),
            () if has(is_han) => Some(Language::Chinese),
            () if has(is_cyrillic) => Some(Language::Russian),
            () => Language::of_latin(query),
        }
    }

    /// Returns the language of a query in the Latin alphabet: the one that has most of its function words, if
    /// these are more than the English ones. Without function words, it is a language that has all of the
    /// words.
    fn of_latin(query: &str) -> Option<Language> {
        let words = query.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(fold).collect();

        let n_english = words.iter().filter(|word| is_stop_word(word)).count();

        let n_function = LATIN.map(|language| language.count_function_words(&words));
        let most = n_function.iter().copied().max().unwrap_or(0);
        if most > 0 {
            // One word that English has too, such as `die`, speaks for neither.
            let n_shared = words.iter().filter(|word| is_english(word)).count();
            if most + n_shared.min(1) < n_english {
                return None;
            }
            let best =
                LATIN.into_iter().zip(n_function).filter(|(_, n)| *n == most).map(|(language, _)| language);
            // `max_by_key` returns the last of equals; the first is wanted.
            return best
                .rev()
                .max_by_key(|language| words.iter().filter(|word| language.knows(word)).count());
        }

        if n_english > 0 || words.is_empty() {
            return None;
        }

        LATIN.into_iter().find(|language| {
            words.iter().all(|word| language.knows(word))
                && words.iter().any(|word| language.is_foreign(word))
        })
    }

    fn count_function_words(self, words: &[String]) -> usize {
        words.iter().filter(|word| self.is_function_word(word) && !is_english(word)).count()
    }

    /// Returns whether the table has a word.
    fn knows(self, word: &str) -> bool {
        !Dictionary::for_language(self).meanings(word, self.has_compounds()).is_empty()
    }

    /// Returns whether a word begins unlike all of its English words. Words that are English too, such as
    /// `cache`, say nothing about the language.
    fn is_foreign(self, word: &str) -> bool {
        let meanings = Dictionary::for_language(self).meanings(word, self.has_compounds());
        let start = &word[..word.char_indices().nth(4).map_or(word.len(), |(at, _)| at)];
        meanings.iter().all(|english| english.iter().all(|english| !english.starts_with(start)))
    }

    /// Returns the name of the language in English.
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

    /// Returns whether words of the language may be made of several.
    pub fn has_compounds(self) -> bool {
        self == Language::German
    }

    /// Returns whether a [folded](fold) word is a function word.
    pub fn is_function_word(self, word: &str) -> bool {
        static WORDS: OnceLock<Vec<HashSet<String>>> = OnceLock::new();
        let words = WORDS.get_or_init(|| {
            let lines = FUNCTION_WORDS.lines().filter(|line| !line.starts_with('#'));
            lines.map(|line| line.split(' ').skip(1).map(fold).collect()).collect()
        });
        words.get(self as usize - 1).is_some_and(|words| words.contains(word))
    }
}

/// Returns whether a function word of another language is an English word too.
fn is_english(word: &str) -> bool {
    is_stop_word(word)
        || matches!(
            word,
            "die" | "man" | "war" | "son" | "sa" | "ses" | "tout" | "plus" | "des" | "or" | "pas"
        )
}

/// Returns whether a character belongs to the words of a script without spaces. Hiragana are mostly endings.
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
