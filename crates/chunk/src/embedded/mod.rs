//! Files that hold texts of several languages: single-file components ([`components`]) and notebooks
//! ([`notebook`]). Each text is chunked as what it is, at its own place in the file.

mod components;
mod cover;
mod json;
mod notebook;
mod source_map;

use codeweaver_config::ChunkerSettings;

use super::Chunk;
use super::language::LanguageId;
use super::lines::TextIndex;
use cover::Host;

pub use components::{Part, parts};

/// Chunker of an embedded text, called with `(code, language, base, document)`, where `base` is the byte
/// offset of `code` in the document.
pub(super) type EmbeddedChunker<'a> = dyn Fn(&str, LanguageId, u32, &TextIndex<'_>) -> Vec<Chunk> + 'a;

/// Returns whether files of a language hold texts of several languages.
pub(super) fn has_parts(language: LanguageId) -> bool {
    notebook::is_notebook(language) || components::is_component(language)
}

/// Chunks a file by the texts in it, in order of position. `None` if it has none.
///
/// Text between them, such as tags and the syntax of JSON, belongs to the chunk that follows if it is short, so
/// every non-blank line is in some chunk. No chunk exceeds `settings.token_limit`. Time is linear.
pub(super) fn chunk_parts(
    index: &TextIndex<'_>,
    text: &str,
    language: LanguageId,
    settings: &ChunkerSettings,
    embedded: &EmbeddedChunker<'_>,
) -> Option<Vec<Chunk>> {
    let host = Host { text, index, language, settings, embedded };
    if notebook::is_notebook(language) { notebook::chunks(&host) } else { components::chunks(&host) }
}
