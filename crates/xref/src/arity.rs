//! The number of arguments that a definition takes, from its signature.

/// Minimum and maximum number of arguments, without receivers; `None` if the signature has no parameter list.
pub(crate) fn from_signature(signature: &str, name: &str) -> Option<(u32, u32)> {
    let after = signature.find(name)? + name.len();
    let rest = &signature[after..];

    // Only type parameters may be between the name and its parameter list.
    let open = type_parameters(rest)?;
    let open = open + rest[open..].find(|c: char| !c.is_whitespace())?;
    if !rest[open..].starts_with('(') {
        return None;
    }

    let (mut depth, mut start) = (0i32, open + 1);
    let mut parts: Vec<&str> = Vec::new();

    for (at, byte) in rest.bytes().enumerate().skip(open) {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            // The arrow of a function type closes nothing.
            b'>' if rest[..at].ends_with(['-', '=']) => {}
            b')' | b']' | b'}' | b'>' => depth -= 1,
            b',' if depth == 1 => {
                parts.push(&rest[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        if depth == 0 {
            parts.push(&rest[start..at]);
            return Some(count(&parts));
        }
    }

    // The signature is truncated: the parameters before the cut are the minimum.
    Some((count(&parts).0, u32::MAX))
}

/// The end of the type parameters at the head of `text`; 0 if there are none, `None` if they are not closed.
fn type_parameters(text: &str) -> Option<usize> {
    if !text.trim_start().starts_with('<') {
        return Some(0);
    }

    let mut depth = 0i32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if !text[..at].ends_with(['-', '=']) => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }

    None
}

/// Counts required and optional parameters.
fn count(parts: &[&str]) -> (u32, u32) {
    let (mut least, mut most) = (0, 0u32);

    for part in parts.iter().map(|part| part.trim()) {
        let bare = part.trim_start_matches('&').trim_start_matches("mut ").trim();
        let is_receiver =
            bare == "self" || bare.starts_with("self:") || bare.ends_with(" self") || part == "void";
        if part.is_empty() || is_receiver {
            continue;
        }

        // A variadic parameter takes any number of arguments.
        if part.contains("...")
            || part.starts_with("params ")
            || part.starts_with("vararg ")
            || part.ends_with('*')
        {
            return (least, u32::MAX);
        }

        most += 1;
        least += u32::from(!part.contains('='));
    }

    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_counted() {
        for (signature, name, expected) in [
            ("int f(int a, int b)", "f", Some((2, 2))),
            ("public static <T> T get(Map<K, V> m, int... rest)", "get", Some((1, u32::MAX))),
            ("fn new() -> Self", "new", Some((0, 0))),
            ("fn map<F: Fn(A) -> B>(&self, f: F)", "map", Some((1, 1))),
            ("fn take(mut self, n: usize)", "take", Some((1, 1))),
            ("void f(int a = 3, bool b = g(1, 2))", "f", Some((0, 2))),
            ("int f(void)", "f", Some((0, 0))),
            ("fn cut(a: A, b", "cut", Some((1, u32::MAX))),
            ("struct S", "S", None),
            ("", "x", None),
        ] {
            assert_eq!(from_signature(signature, name), expected, "{signature}");
        }
    }
}
