//! Brackets: the end of a group in the text of a program.

/// The length of the group in brackets that `text` begins with, and everything in it; `None` if `text` does not begin
/// with `open`, or if the group does not end within `max` bytes. Brackets in literals count like others.
pub fn group_len(text: &[u8], (open, close): (u8, u8), max: usize) -> Option<usize> {
    let mut depth = 0usize;

    for (at, &byte) in text.iter().take(max).enumerate() {
        if byte == open {
            depth += 1;
        } else if byte == close {
            depth = depth.checked_sub(1)?;
        }
        if depth == 0 {
            return (at > 0).then_some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_ends_with_the_bracket_of_its_first() {
        let len = |text: &str, max| group_len(text.as_bytes(), (b'(', b')'), max);
        assert_eq!(len("(a(b)c) d)", 100), Some(7));
        assert_eq!(len("()", 2), Some(2));
        for none in ["", "a()", ")", "((a)", "(abc)"] {
            assert_eq!(len(none, 4), None, "{none}");
        }
    }
}
