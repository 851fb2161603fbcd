//! Fingerprints of the chunker: everything that a stored chunk depends on besides the bytes of its blob.

use std::sync::LazyLock;

use codeweaver_config::{ChunkerSettings, CustomDelimiter, Granularity, MarkdownSettings};

use super::delimiter::families;
use super::grammar::{self, GRAMMARS};
use super::language::{self, LanguageId};
use super::{embedded, markdown, tokens};

/// Version of the chunker. Raised whenever the same blob and settings would give other chunks.
const VERSION: &str = "8";

/// Returns the identity of everything that decides the chunks of a language. Blobs are chunked again when it
/// changes.
pub fn fingerprint(language: LanguageId, settings: &ChunkerSettings) -> String {
    let grammar = grammars_of(language);
    let relevant = format!("{grammar}|{}|{}", language.name(), shared_fingerprint(settings));

    let hash = blake3::hash(relevant.as_bytes());
    format!("{}-{VERSION}-{}", language.name(), &hash.to_hex()[..16])
}

/// Returns the versions of the grammars that files of a language are parsed with: all if they hold texts of
/// other languages.
fn grammars_of(language: LanguageId) -> String {
    if embedded::has_parts(language) || markdown::has_headings(language) {
        GRAMMARS.iter().map(|grammar| grammar.version).collect::<Vec<_>>().join(" ")
    } else {
        grammar::versions_of(language.name())
    }
}

/// Returns the identity of everything that decides the chunks of any language.
pub fn fingerprint_of_all(settings: &ChunkerSettings) -> String {
    let grammars: Vec<String> =
        GRAMMARS.iter().map(|one| format!("{}={}", one.name, grammar::versions_of(one.name))).collect();

    let relevant = format!("{}|{}", grammars.join(" "), shared_fingerprint(settings));
    blake3::hash(relevant.as_bytes()).to_hex().to_string()
}

/// The part of a fingerprint that all languages have in common.
///
/// The data files are hashed whole, so even a changed comment in one of them is a new fingerprint.
fn shared_fingerprint(settings: &ChunkerSettings) -> String {
    static DATA: LazyLock<String> = LazyLock::new(|| {
        let data = concat!(include_str!("data/symbols.txt"), include_str!("data/classes.txt"));
        blake3::hash(data.as_bytes()).to_hex()[..16].to_owned()
    });

    let (languages, families) = (language::table_fingerprint(), families::table_fingerprint());
    let encodings = codeweaver_text::ENCODING_VERSION;
    format!(
        "{VERSION}|{encodings}|{}|{}|{languages}|{families}|{}",
        tokens::NAME,
        *DATA,
        settings_key(settings)
    )
}

/// Returns the canonical text of the settings that decide how blobs are chunked.
///
/// It is hashed into the key of every stored doc, so its form is fixed: the names and the order below are
/// those of the file format, not of the Rust fields, and renaming a field must not change them. Lists and
/// maps of strings are written as `Debug` writes them.
fn settings_key(settings: &ChunkerSettings) -> String {
    let ChunkerSettings {
        semantic_importance_threshold,
        prefer_semantic,
        force_delimiter_for_languages,
        enable_hybrid_chunking,
        custom_delimiters,
        granularity,
        target_tokens,
        token_limit,
        max_error_share,
        simple_overlap,
        markdown: MarkdownSettings { chunk_size, overlap },
    } = settings;

    let granularity = match granularity {
        Granularity::Packed => "Packed",
        Granularity::Definition => "Definition",
    };

    let custom_delimiters: Vec<String> = custom_delimiters
        .iter()
        .map(|(language, delimiters)| {
            let delimiters: Vec<String> = delimiters.iter().map(delimiter_key).collect();
            format!("{language:?}: [{}]", delimiters.join(", "))
        })
        .collect();
    let custom_delimiters = custom_delimiters.join(", ");

    format!(
        "ChunkerSettings {{ semantic_importance_threshold: {semantic_importance_threshold:?}, \
         prefer_semantic: {prefer_semantic}, force_delimiter_for_languages: {force_delimiter_for_languages:?}, \
         enable_hybrid_chunking: {enable_hybrid_chunking}, custom_delimiters: {{{custom_delimiters}}}, \
         granularity: {granularity}, target_tokens: {target_tokens}, token_limit: {token_limit}, \
         max_error_share: {max_error_share:?}, simple_overlap: {simple_overlap}, \
         markdown: MarkdownSettings {{ chunk_size: {chunk_size}, overlap: {overlap} }} }}"
    )
}

fn delimiter_key(delimiter: &CustomDelimiter) -> String {
    let CustomDelimiter { starts, ends, kind, priority, inclusive, take_whole_lines, nestable } = delimiter;
    format!(
        "CustomDelimiter {{ starts: {starts:?}, ends: {ends:?}, kind: {kind:?}, priority: {priority}, \
         inclusive: {inclusive}, take_whole_lines: {take_whole_lines}, nestable: {nestable} }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure here means that every existing index is chunked anew: raise [`VERSION`] if that is intended.
    #[test]
    fn the_settings_key_is_pinned() {
        let mut settings = ChunkerSettings::default();
        assert_eq!(
            settings_key(&settings),
            "ChunkerSettings { semantic_importance_threshold: 0.3, prefer_semantic: true, \
             force_delimiter_for_languages: [], enable_hybrid_chunking: true, custom_delimiters: {}, \
             granularity: Packed, target_tokens: 500, token_limit: 4000, max_error_share: 0.3, simple_overlap: 0, \
             markdown: MarkdownSettings { chunk_size: 1000, overlap: 200 } }"
        );
        settings.force_delimiter_for_languages = vec!["go".into(), "c".into()];
        settings.granularity = Granularity::Definition;
        let delimiter = CustomDelimiter {
            starts: vec!["begin \"x\"".into()],
            ends: vec!["end".into()],
            kind: "block".into(),
            priority: 7,
            inclusive: true,
            take_whole_lines: false,
            nestable: true,
        };
        settings.custom_delimiters.insert("pascal".into(), vec![delimiter]);
        assert_eq!(
            settings_key(&settings),
            "ChunkerSettings { semantic_importance_threshold: 0.3, prefer_semantic: true, \
             force_delimiter_for_languages: [\"go\", \"c\"], enable_hybrid_chunking: true, custom_delimiters: {\
             \"pascal\": [CustomDelimiter { starts: [\"begin \\\"x\\\"\"], ends: [\"end\"], kind: \"block\", \
             priority: 7, inclusive: true, take_whole_lines: false, nestable: true }]}, granularity: Definition, \
             target_tokens: 500, token_limit: 4000, max_error_share: 0.3, simple_overlap: 0, \
             markdown: MarkdownSettings { chunk_size: 1000, overlap: 200 } }"
        );
    }
}
