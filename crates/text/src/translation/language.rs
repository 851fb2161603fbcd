//! The languages of the table, and the way in which their words are written.

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

impl Language {
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
}

/// Returns whether a character belongs to the words of a script without spaces. Hiragana are mostly endings.
pub fn is_content(c: char) -> bool {
    is_han(c) || is_hangul(c) || matches!(c, '\u{30a0}'..='\u{30ff}')
}

pub fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

pub fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
}

pub fn is_hangul(c: char) -> bool {
    matches!(c, '\u{ac00}'..='\u{d7af}')
}

pub fn is_cyrillic(c: char) -> bool {
    matches!(c, '\u{0400}'..='\u{04ff}')
}
