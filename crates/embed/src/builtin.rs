//! The model in the binary: a [table](super::table) trained for code search, used in place.
//! `models/README.md` describes its training.

use super::table::TableModel;

/// Name of the model. New weights need a new name, which `the_model_is_pinned` enforces.
const NAME: &str = "codeweaver-v1";
static FILE: &[u8] = include_bytes!("../models/builtin.bin");

/// Opens the model without reading it.
pub(super) fn open() -> TableModel<'static> {
    TableModel::new(NAME, FILE).expect("the model file in the binary is valid: a test reads it")
}

#[cfg(test)]
mod tests {
    use super::super::{Embedder, bag_of, verify_table};
    use super::*;

    /// Pins the weights and the bytes of a text: if one of them changes, so must the name of the model or a
    /// version in its fingerprint.
    #[test]
    fn the_model_is_pinned() {
        verify_table(FILE).unwrap();
        let model = open();
        let row = model.embed_query("fn parse_header(input: &str) -> Header // Überschrift 日本").unwrap();
        let pinned =
            format!("{} {}", model.fingerprint(), &blake3::hash(bytemuck::cast_slice(&row)).to_hex()[..16]);
        assert_eq!(pinned, "codeweaver-v1-03829c6c523e-256-i8-4sd-t1-r1 dd2a0c9604786c78");
    }

    #[test]
    fn it_is_small_enough_to_be_compiled_in() {
        assert!((1 << 20..16 << 20).contains(&FILE.len()), "{} bytes", FILE.len());
    }

    #[test]
    fn related_texts_are_nearer_than_unrelated_ones() {
        let model = open();
        let row = |text: &str| model.embed_query(text).unwrap();
        let cosine = |a: &str, b: &str| {
            let dot = row(a).iter().zip(&row(b)).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>();
            dot as f32 / model.scale().powi(2)
        };
        let code = "fn parse_header(input: &str) -> Result<Header, ParseError> { let mut tokens = tokenize(input); }";
        let other =
            "def render_template(name, context): return environment.get_template(name).render(context)";
        assert!(cosine("how are headers parsed", code) > cosine("how are headers parsed", other) + 0.2);
        let [near, far] =
            ["delete_account(member)", "sort_rows(column)"].map(|code| cosine("remove a user", code));
        assert!(near > far + 0.1, "{near} {far}");
        assert!(cosine("authentication", "authenticate") > 0.25);
    }

    #[test]
    fn common_words_of_code_are_entries_and_no_word_of_ascii_is_lost() {
        let (vocabulary, mut bag) = (open().vocabulary(), Vec::new());
        for word in ["return", "function", "string", "error", "parse", "request", "config", "server"] {
            bag_of(word, &vocabulary, &mut bag);
            assert_eq!(bag.len(), 1, "{word}");
        }
        for word in ["zyxqv", "qqxzj", "frobnicatorish"] {
            bag_of(word, &vocabulary, &mut bag);
            assert!(!bag.is_empty(), "{word}");
        }
    }

    #[test]
    fn paths_share_a_space_with_text() {
        let model = open();
        let path = model.embed_path("src/http/request_parser.rs").unwrap();
        let dot = |text: &str| {
            let row = model.embed_query(text).unwrap();
            row.iter().zip(&path).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum::<i32>()
        };
        assert!(dot("http request parser") > 3 * dot("unicode tables").abs());
        assert_eq!(model.embed_path("").unwrap(), vec![0; model.dim()]);
    }
}
