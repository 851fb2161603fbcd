//! Letters: the weight of a word of a message or a literal.

/// Maximum length of a word that counts, in letters.
const MAX_LETTERS: usize = 12;
/// Number of letters that a word of everyday language or a number counts.
const COMMON: f32 = 1.0;
/// Words that most messages have.
const COMMON_WORDS: &[&str] = &[
    "a", "an", "and", "as", "at", "be", "but", "by", "for", "from", "has", "in", "is", "it", "of", "on",
    "or", "that", "the", "this", "to", "was", "with", "s", "t", "you",
];

/// The number of letters that `word` counts.
pub fn letters(word: &str) -> f32 {
    if COMMON_WORDS.contains(&word) || word.bytes().all(|byte| byte.is_ascii_digit()) {
        return COMMON;
    }
    word.chars().count().min(MAX_LETTERS) as f32
}
