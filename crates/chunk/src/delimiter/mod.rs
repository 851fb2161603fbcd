//! Splits texts by the delimiters of a language's family, for languages without a grammar.
//!
//! [`scan`](scan::scan) finds pairs of delimiters. [`parts`] resolves overlaps by priority and takes the text
//! apart at the remaining pairs, level by level where a pair is too large. [`packing`] joins the parts to
//! pieces of `target_tokens`. Text between pairs becomes parts too, so no line is lost. [`generic`] does the
//! same with delimiters that most texts share.

use codeweaver_config::{ChunkerSettings, CustomDelimiter};

use super::language::LanguageId;
use super::pieces::Piece;

pub(super) mod families;
pub(super) mod generic;
mod packing;
mod parts;
mod scan;
mod source;

use families::Family;
use source::Source;

pub use scan::{Lexeme, LexemeKind, lexemes};

/// Splits `text` at the delimiters of its language.
///
/// `base` is the offset of `text` in its blob. `settings.custom_delimiters` of the language take precedence.
/// Plain text gets a family by inference. Returns `None` if the text holds no pair. No piece exceeds
/// `settings.token_limit`; see [`Piece`] for the other guarantees. Time is O(n log n), without recursion.
pub(super) fn chunk_delimited(
    text: &str,
    base: u32,
    language: LanguageId,
    settings: &ChunkerSettings,
) -> Option<Vec<Piece>> {
    let family_name = families::family_name(language, text);
    match custom_delimiters(language, settings) {
        [] => chunk_with_family(text, base, families::by_name(family_name), settings),
        custom => chunk_with_family(text, base, &families::with_custom(family_name, custom), settings),
    }
}

/// Does the work of [`chunk_delimited`] with a given family.
fn chunk_with_family(
    text: &str,
    base: u32,
    family: &Family,
    settings: &ChunkerSettings,
) -> Option<Vec<Piece>> {
    let boundaries = scan::scan(text, family);
    // Comments alone are no structure to cut at.
    if !boundaries.iter().any(|boundary| boundary.delimiter != family.comment) {
        return None;
    }

    let source = Source::new(text, family, settings, &boundaries);
    Some(packing::pack(&source, parts::parts(&source), base))
}

fn custom_delimiters(language: LanguageId, settings: &ChunkerSettings) -> &[CustomDelimiter] {
    settings
        .custom_delimiters
        .iter()
        .find(|(name, _)| LanguageId::by_name(name) == Some(language))
        .map_or(&[], |(_, custom)| custom)
}

#[cfg(test)]
mod tests;
