//! Signatures as stored: with a placeholder for the name of the definition, so that declarations that differ
//! only in their names share one text.

/// The placeholder for the name: U+001A, the substitute character of Unicode.
const NAME: &str = "\u{1a}";

/// `signature` with [`NAME`] in the place of the first occurrence of `name`. [`NAME`]s of its own, which are
/// invisible, are left out.
pub fn pattern(signature: &str, name: &str) -> String {
    if signature.contains(NAME) {
        return pattern(&signature.replace(NAME, ""), name);
    }
    signature.replacen(name, NAME, 1)
}

/// The signature of the definition `name` whose pattern this is.
pub fn of_pattern(pattern: &str, name: &str) -> String {
    pattern.replacen(NAME, name, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_a_signature_are_left_out() {
        let pattern = pattern("fn \u{1a}f(x: \u{1a})", "f");
        assert_eq!(of_pattern(&pattern, "f"), "fn f(x: )");
    }

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
