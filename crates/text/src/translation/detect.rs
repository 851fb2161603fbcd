//! Recognises the language of a query by its script and its function words.

use std::collections::HashSet;
use std::sync::OnceLock;

use super::language::{Language, is_cyrillic, is_han, is_hangul, is_kana};
use super::words::{Dictionary, fold};
use crate::is_stop_word;

/// Function words, one line per language.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");

const LATIN: [Language; 4] = [Language::German, Language::French, Language::Spanish, Language::Portuguese];

/// Returns the language of `query`; `None` for English and for unknown languages.
pub fn language(query: &str) -> Option<Language> {
    let has = |is_of: fn(char) -> bool| query.chars().any(is_of);
    match () {
        () if has(is_kana) => Some(Language::Japanese),
        () if has(is_hangul) => Some(Language::Korean),
        () if has(is_han) => Some(Language::Chinese),
        () if has(is_cyrillic) => Some(Language::Russian),
        () => in_latin(query),
    }
}

/// Returns the language of a query in the Latin alphabet: the one that has most of its function words, if
/// these are more than the English ones. Without function words, it is a language that has all of the
/// words.
fn in_latin(query: &str) -> Option<Language> {
    let words = query.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(fold).collect();

    let n_english = words.iter().filter(|word| is_stop_word(word)).count();

    let n_function = LATIN.map(|language| count_function_words(language, &words));
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
        return best.rev().max_by_key(|language| words.iter().filter(|word| knows(*language, word)).count());
    }

    if n_english > 0 || words.is_empty() {
        return None;
    }

    LATIN.into_iter().find(|language| {
        words.iter().all(|word| knows(*language, word))
            && words.iter().any(|word| is_foreign(*language, word))
    })
}

fn count_function_words(language: Language, words: &[String]) -> usize {
    words.iter().filter(|word| is_function_word(language, word) && !is_english(word)).count()
}

/// Returns whether the table has a word.
fn knows(language: Language, word: &str) -> bool {
    !Dictionary::for_language(language).meanings(word, language.has_compounds()).is_empty()
}

/// Returns whether a word begins unlike all of its English words. Words that are English too, such as
/// `cache`, say nothing about the language.
fn is_foreign(language: Language, word: &str) -> bool {
    let meanings = Dictionary::for_language(language).meanings(word, language.has_compounds());
    let start = &word[..word.char_indices().nth(4).map_or(word.len(), |(at, _)| at)];
    meanings.iter().all(|english| english.iter().all(|english| !english.starts_with(start)))
}

/// Returns whether a [folded](fold) word is a function word of `language`.
pub fn is_function_word(language: Language, word: &str) -> bool {
    static WORDS: OnceLock<Vec<HashSet<String>>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let lines = FUNCTION_WORDS.lines().filter(|line| !line.starts_with('#'));
        lines.map(|line| line.split(' ').skip(1).map(fold).collect()).collect()
    });
    words.get(language as usize - 1).is_some_and(|words| words.contains(word))
}

/// Returns whether a function word of another language is an English word too.
fn is_english(word: &str) -> bool {
    is_stop_word(word)
        || matches!(
            word,
            "die" | "man" | "war" | "son" | "sa" | "ses" | "tout" | "plus" | "des" | "or" | "pas"
        )
}
