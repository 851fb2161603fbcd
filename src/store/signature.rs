//! Signatures as stored: with a placeholder for the name of the definition, so that declarations that differ in
//! their name alone are one text.

/// Stands for the name: U+001A, which Unicode has for what is substituted. Signatures of
/// [`SymbolMeta`](super::rows::SymbolMeta) have none of their own.
pub const NAME: char = '\u{1a}';

/// `signature` with [`NAME`] in the place of the first occurrence of `name`.
pub fn pattern(signature: &str, name: &str) -> String {
    signature.replacen(name, NAME.encode_utf8(&mut [0; 4]), 1)
}

/// The signature of the definition `name` whose pattern this is.
pub fn of_pattern(pattern: &str, name: &str) -> String {
    pattern.replacen(NAME, name, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_made_from_its_pattern() {
        let cases = [
            ("f", "fn f(f: F)", "\u{1a}n f(f: F)"),
            ("in", "int in(void)", "\u{1a}t in(void)"),
            ("parse", "fn g()", "fn g()"),
            ("parse", "", ""),
            ("", "impl Trait", "\u{1a}impl Trait"),
            ("größe", "fn größe()", "fn \u{1a}()"),
        ];
        for (name, signature, expected) in cases {
            assert_eq!(pattern(signature, name), expected);
            assert_eq!(of_pattern(expected, name), signature);
        }
    }
}
