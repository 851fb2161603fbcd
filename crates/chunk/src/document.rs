//! Files with headings, and their structure.

use codeweaver_git::{BStr, ByteSlice as _};

use super::language::{self, LanguageId};
use super::markdown;

pub use super::markdown::{DocumentCode, DocumentSection};

/// Returns whether the file at `path` is a document: Markdown, reStructuredText, AsciiDoc, Org and alike.
pub fn is_document(path: &[u8]) -> bool {
    language::by_path(path.as_bstr()).is_some_and(markdown::has_headings)
}

/// Returns whether files of `language` are documents.
pub fn is_document_language(language: LanguageId) -> bool {
    markdown::has_headings(language)
}

/// Returns the sections and the fenced blocks of the document `text` at `path`, each in order of position. A
/// file that is not a document is one section. Linear.
pub fn structure(text: &str, path: &BStr) -> (Vec<DocumentSection>, Vec<DocumentCode>) {
    let language: LanguageId = language::by_path(path).unwrap_or(language::TEXT);
    markdown::structure(text, language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_sections_and_code() {
        let text = "intro\n\n# A\nfirst\n\n## B\n```sh\nrun\n```\n";
        let (sections, codes) = structure(text, "x.md".into());
        let bodies: Vec<(&str, usize)> =
            sections.iter().map(|section| (&text[section.body.clone()], section.path.len())).collect();
        assert_eq!(bodies, [("intro\n\n", 0), ("first\n\n", 1), ("```sh\nrun\n```\n", 2)]);
        assert_eq!(&text[codes[0].code.clone()], "run\n");
        assert!(is_document(b"docs/a.md") && is_document(b"README.rst") && !is_document(b"src/lib.rs"));
    }
}
