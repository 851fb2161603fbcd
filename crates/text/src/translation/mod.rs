//! Puts queries in other languages than English into the English words that code uses.
//!
//! A table of programmers' words (`words.txt`) has a few hundred meanings in eight languages, and
//! `function_words.txt` has the words by which a language is recognised. Sentences are not translated: words
//! are replaced one by one, and those that are not in the table stay as they are.
//!
//! Words of languages with spaces are compared by stems, without case and diacritics. Compound words of
//! German are taken apart. Chinese, Japanese and Korean are cut at the longest words of the table.

mod detect;
mod language;
mod words;

use language::{Language, Script};
use words::{Dictionary, English, fold};

/// Minimum share of the query that the table must have: of the words with a meaning, or of the characters of
/// a script without spaces.
const MIN_KNOWN: f32 = 0.4;
/// Maximum number of English words for one word.
const MAX_ALTERNATIVES: usize = 3;

/// A query in English words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Translation {
    /// The words, in the order of the query.
    pub text: String,
    /// The language of the query, in English.
    pub language: &'static str,
}

/// Returns the English words for `query`. `None` if it is in English, if its language is not known, if the
/// table has too few of its words, or if all of them are words of the index, as told by `is_indexed`.
///
/// If a word has several English words, the indexed ones are taken, at most three, else the first.
pub fn translate(query: &str, is_indexed: &dyn Fn(&str) -> bool) -> Option<Translation> {
    let language = detect::language(query)?;
    let dictionary = Dictionary::for_language(language);
    let pieces = match language.script() {
        Script::Spaced => spaced(query, language, dictionary)?,
        Script::Dense => dense(query, language, dictionary)?,
    };

    // A query whose words the index has needs no translation.
    let needs_translation = pieces.iter().any(|piece| match piece {
        Piece::Known { written, .. } => !is_indexed(written),
        Piece::Kept(_) => false,
    });
    if !needs_translation {
        return None;
    }

    let mut english: Vec<&str> = Vec::new();
    for piece in &pieces {
        let words: Vec<&str> = match piece {
            Piece::Kept(word) => vec![word],
            Piece::Known { meanings, .. } => {
                meanings.iter().flat_map(|english| chosen(english, is_indexed)).collect()
            }
        };
        for word in words {
            if !english.contains(&word) {
                english.push(word);
            }
        }
    }

    Some(Translation { text: english.join(" "), language: language.name() })
}

/// Returns those of the English words for a word that are taken.
fn chosen(english: &English, is_indexed: &dyn Fn(&str) -> bool) -> Vec<&'static str> {
    let indexed = english.iter().filter(|word| is_indexed(word)).copied();
    let words: Vec<&str> = indexed.take(MAX_ALTERNATIVES).collect();

    if words.is_empty() { english.first().copied().into_iter().collect() } else { words }
}

/// A part of a query.
enum Piece<'q> {
    /// Text that the table has, as it is written, with the English words for each of its parts.
    Known { written: &'q str, meanings: Vec<&'static English> },
    /// Text that stays as it is.
    Kept(&'q str),
}

/// Returns the words of a query in a language with spaces, without function words.
fn spaced<'q>(query: &'q str, language: Language, dictionary: &'static Dictionary) -> Option<Vec<Piece<'q>>> {
    let words: Vec<&str> = query
        .split(|c: char| {
            c.is_whitespace() || matches!(c, '\'' | '’' | ',' | ';' | '?' | '!' | '¿' | '¡' | '"')
        })
        .map(|word| word.trim_matches(|c: char| matches!(c, '.' | ':' | '(' | ')' | '«' | '»' | '„' | '“')))
        .filter(|word| !word.is_empty())
        .flat_map(hyphenated_parts)
        .collect();
    let folded: Vec<String> = words.iter().map(|word| fold(word)).collect();

    let (mut pieces, mut at, mut n_known) = (Vec::new(), 0, 0);
    while at < words.len() {
        let phrase = dictionary.phrase(&folded[at..]);
        let (meanings, n_words) = match phrase {
            Some((english, n_words)) => (vec![english], n_words),
            None if detect::is_function_word(language, &folded[at]) => {
                at += 1;
                continue;
            }
            // A name in code stays as it is.
            None if is_name(words[at]) => (Vec::new(), 1),
            None => (dictionary.meanings(&folded[at], language.has_compounds()), 1),
        };

        let written = words[at];
        n_known += usize::from(!meanings.is_empty());
        pieces.push(if meanings.is_empty() {
            Piece::Kept(written)
        } else {
            Piece::Known { written, meanings }
        });
        at += n_words;
    }

    (n_known > 0 && n_known as f32 >= MIN_KNOWN * pieces.len() as f32).then_some(pieces)
}

/// Returns the parts of a word between hyphens, which are mostly words of their own. A name stays whole.
fn hyphenated_parts(word: &str) -> Vec<&str> {
    if is_name(word) {
        return vec![word];
    }
    word.split('-').filter(|part| !part.is_empty()).collect()
}

/// Returns the words of the table in a query in a language without spaces, and its words in ASCII. Function
/// words of Korean, and the text between a word and the next blank, have no meaning of their own.
fn dense<'q>(query: &'q str, language: Language, dictionary: &'static Dictionary) -> Option<Vec<Piece<'q>>> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    // End of the last word of the table.
    let mut word_end = usize::MAX;
    let (mut n_known, mut n_characters) = (0usize, 0usize);

    while let Some(first) = query[at..].chars().next() {
        let rest = &query[at..];

        if first.is_ascii_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':')));
            let word = &rest[..end.unwrap_or(rest.len())];
            pieces.push(Piece::Kept(word));
            at += word.len();
            continue;
        }

        let is_start = query[..at].chars().next_back().is_none_or(|before| !language::is_hangul(before));
        if is_start && language::is_hangul(first) {
            let token = &rest[..rest.find(|c: char| !language::is_hangul(c)).unwrap_or(rest.len())];
            if detect::is_function_word(language, &fold(token)) {
                at += token.len();
                continue;
            }
        }

        match dictionary.longest(rest) {
            Some((english, len)) => {
                let written = &rest[..len];
                let n = written.chars().filter(|&c| language::is_content(c)).count();
                (n_known, n_characters) = (n_known + n, n_characters + n);
                pieces.push(Piece::Known { written, meanings: vec![english] });
                at += len;
                word_end = at;
            }
            None => {
                let is_ending = language::is_hangul(first) && at == word_end;
                n_characters += usize::from(language::is_content(first) && !is_ending);
                at += first.len_utf8();
                if is_ending {
                    word_end = at;
                }
            }
        }
    }

    (n_known > 0 && n_known as f32 >= MIN_KNOWN * n_characters as f32).then_some(pieces)
}

/// Returns whether a word is written like a name in code.
fn is_name(word: &str) -> bool {
    let has_hump = word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    has_hump || word.contains(['_', '(', '.', ':', '/', '`'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english(query: &str) -> String {
        translate(query, &|_| false).map_or(String::new(), |found| found.text)
    }

    #[test]
    fn words_are_put_into_english() {
        for (query, expected) in [
            ("Wie werden Sitzungscookies signiert?", "session cookie signature"),
            ("wo wird die Datenbankverbindung geschlossen", "database connection close"),
            ("comment le cache est-il supprimé", "cache delete"),
            ("connexion à la base de données", "connection database"),
            ("¿dónde se valida la contraseña del usuario?", "validation password user"),
            ("onde a configuração é carregada", "configuration load"),
            ("как обрабатываются ошибки", "handle error"),
            ("セッションのクッキーに署名する", "session cookie signature"),
            ("如何解析配置文件", "parse configuration file"),
            ("비밀번호 검증", "password verify"),
            ("비밀번호를 검증하는 방법은", "password verify"),
            ("HTTPヘッダーの解析", "HTTP header parse"),
        ] {
            assert_eq!(english(query), expected, "{query}");
        }
    }

    #[test]
    fn english_and_unknown_words_are_left_alone() {
        for query in [
            "where are session cookies signed",
            "parse the configuration file",
            "Parser::next",
            "COBOL mainframe integration",
            "de la soul",
            "die on error",
            "wie backe ich einen Kuchen mit Äpfeln",
            "料理",
            "",
        ] {
            assert_eq!(translate(query, &|_| false), None, "{query}");
        }
        assert_eq!(translate("解析配置", &|_| true), None, "the index is in this language");
    }

    #[test]
    fn english_words_that_are_indexed_are_preferred() {
        let only = |word: &str| word == "settings";
        let found = translate("wo ist die Konfiguration", &only);
        assert_eq!(found.map(|it| it.text), Some("settings".to_owned()));
    }
}
