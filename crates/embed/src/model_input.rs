//! Model input: the text of a chunk that is embedded.
//!
//! It does not depend on the path, so a blob has the same vectors at every path and a rename embeds nothing.

use codeweaver_chunk::Chunk;

/// Version of the model input, part of every fingerprint. Raised when the same chunk would give another
/// input.
pub const MODEL_INPUT_VERSION: u32 = 1;

/// Maximum number of bytes of the text of a chunk. Chunks within the default token limit are rarely longer.
const MAX_BODY_BYTES: usize = 16 << 10;
const MAX_DOC_BYTES: usize = 200;

/// Replaces `out` by the model input of a chunk with the given text, and returns the position of that text in
/// it. The bytes before it are not part of a word of the text.
///
/// Lines: the enclosing names, outermost first, with the title; the first sentence of documentation, unless
/// the text contains it; at most [`MAX_BODY_BYTES`] of the text. Names come first because transformers cut
/// off long inputs.
pub fn document_input(chunk: &Chunk, text: &str, out: &mut String) -> usize {
    out.clear();
    for name in &chunk.enclosing {
        out.push_str(name);
        out.push_str(" > ");
    }
    out.push_str(&chunk.title);
    out.push('\n');

    let doc = chunk.symbols.first().map(|symbol| up_to(&symbol.doc, MAX_DOC_BYTES)).unwrap_or_default();
    let body = up_to(text, MAX_BODY_BYTES);
    if !doc.is_empty() && !body.contains(doc) {
        out.push_str(doc);
        out.push('\n');
    }

    out.push_str(body);
    out.len() - body.len()
}

/// Key under which a vector may be reused: equal for equal input in the same vector space.
pub fn input_hash(fingerprint: &str, input: &str) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(fingerprint.len() as u64).to_le_bytes());
    hasher.update(fingerprint.as_bytes());
    hasher.update(input.as_bytes());

    let mut short = [0; 16];
    hasher.finalize_xof().fill(&mut short);
    short
}

/// The first `max_bytes` of a text, or a few less at a character of several bytes.
fn up_to(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use codeweaver_chunk::{ChunkSource, LanguageId, LineSpan, SemanticClass, Symbol, SymbolKind};

    pub(crate) fn chunk(enclosing: &[&str], title: &str, doc: &str) -> Chunk {
        let line_span = LineSpan { start: 1, end: 1 };
        let symbol = Symbol {
            name: title.into(),
            qualified_name: title.into(),
            kind: SymbolKind::Function,
            class: SemanticClass::DefinitionCallable,
            signature: String::new(),
            doc: doc.into(),
            byte_range: 0..1,
            line_span,
            nesting: 0,
        };

        Chunk {
            byte_range: 0..1,
            line_span,
            language: LanguageId(0),
            source: ChunkSource::Semantic,
            class: SemanticClass::DefinitionCallable,
            token_count: 1,
            title: title.into(),
            symbols: vec![symbol],
            enclosing: enclosing.iter().map(|name| (*name).to_owned()).collect(),
            is_container: false,
            parent_semantic_node: None,
            semantic_context: None,
            delimiter: None,
        }
    }

    #[test]
    fn names_come_first_and_documentation_once() {
        let mut out = "old".to_owned();
        document_input(&chunk(&["Parser"], "fn next", "Reads on."), "fn next() {}", &mut out);
        assert_eq!(out, "Parser > fn next\nReads on.\nfn next() {}");
        document_input(&chunk(&[], "fn next", "Reads on."), "/// Reads on.\nfn next() {}", &mut out);
        assert_eq!(out, "fn next\n/// Reads on.\nfn next() {}");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let mut out = String::new();
        document_input(&chunk(&[], "t", ""), &"é€".repeat(20_000), &mut out);
        assert!(out.len() <= MAX_BODY_BYTES + 2);
    }

    #[test]
    fn hashes_depend_on_both_parts() {
        assert_eq!(input_hash("a", "b"), input_hash("a", "b"));
        assert_ne!(input_hash("a", "b"), input_hash("ab", ""));
        assert_ne!(input_hash("a", "b"), input_hash("a", "c"));
    }
}
