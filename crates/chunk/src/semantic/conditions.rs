//! Shows the parser of C# a text without the conditions of the preprocessor that its grammar does not know.
//!
//! The grammar knows `#if … #else … #endif` between members and statements, but not everywhere: around a
//! modifier, in a list, in an expression. A condition at an error is shown in another form, and the others
//! stay as they are, so the definitions of their branches are all found. Offsets and line ends are kept.

use std::ops::Range;

use tree_sitter::Tree;

use super::{blank, bodies};

/// Maximum number of parses in which the forms of conditions are looked for.
const MAX_ROUNDS: usize = 3;

/// The form in which a condition is shown, in the order in which they are tried.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    AsWritten,
    /// All branches one after the other, without the directives.
    Joined,
    /// The first branch alone.
    First,
}

/// A condition with its branches: `#if … #elif … #else … #endif`.
struct Condition {
    /// The lines of its directives. The branches are between them.
    directives: Vec<Range<usize>>,
    form: Form,
}

/// Returns the text in the form that has the fewest errors, with its tree; `None` if that is `tree`.
pub(super) fn resolved(
    bytes: &[u8],
    tree: &Tree,
    parse: &dyn Fn(&[u8]) -> Option<Tree>,
) -> Option<(Vec<u8>, Tree)> {
    let mut conditions = conditions(bytes);
    let mut best: Option<(Vec<u8>, Tree)> = None;
    let mut n_least = bodies::error_bytes(tree);
    let mut errors = bodies::errors_of(tree);

    for _ in 0..MAX_ROUNDS {
        let n_changed = conditions
            .iter_mut()
            .filter(|condition| errors.iter().any(|error| condition.touches(bytes, error)))
            .map(|condition| condition.give_way(bytes))
            .filter(|&has_changed| has_changed)
            .count();
        if n_changed == 0 {
            break;
        }

        let shown = shown(bytes, &conditions);
        let Some(again) = parse(&shown) else { return best };
        let n_errors = bodies::error_bytes(&again);
        errors = bodies::errors_of(&again);
        if n_errors < n_least {
            n_least = n_errors;
            best = Some((shown, again));
        }
        if n_errors == 0 {
            return best;
        }
    }

    // Every other branch is lost then, which is worth it only for a much better tree.
    conditions.iter_mut().for_each(|condition| condition.form = Form::First);
    let shown = shown(bytes, &conditions);
    let Some(again) = parse(&shown) else { return best };
    if bodies::error_bytes(&again) * 2 < n_least { Some((shown, again)) } else { best }
}

impl Condition {
    /// Returns whether an error is in the condition or beside it.
    fn touches(&self, bytes: &[u8], error: &Range<usize>) -> bool {
        let (Some(first), Some(last)) = (self.directives.first(), self.directives.last()) else {
            return false;
        };
        let start = bytes[..first.start].trim_ascii_end().len();
        let end = bytes.len() - bytes[last.end..].trim_ascii_start().len();
        error.start <= end + 1 && start <= error.end + 1
    }

    /// Takes the next form. Returns false if there is none.
    fn give_way(&mut self, bytes: &[u8]) -> bool {
        let next = match self.form {
            Form::AsWritten if self.branches().all(|branch| is_list(&bytes[branch])) => Form::Joined,
            Form::AsWritten | Form::Joined => Form::First,
            Form::First => return false,
        };
        self.form = next;
        true
    }

    /// Returns the ranges between the directives.
    fn branches(&self) -> impl Iterator<Item = Range<usize>> {
        self.directives.windows(2).map(|pair| pair[0].end..pair[1].start)
    }

    /// Hides the directives, and the branches that the form does not show.
    fn hide(&self, shown: &mut [u8]) {
        if self.form == Form::AsWritten {
            return;
        }

        for directive in &self.directives {
            blank(&mut shown[directive.clone()]);
        }
        if self.form == Form::First {
            self.branches().skip(1).for_each(|branch| blank(&mut shown[branch]));
        }
    }
}

/// Returns the conditions of a text that have an end, in the order of their ends.
fn conditions(bytes: &[u8]) -> Vec<Condition> {
    let mut conditions = Vec::new();
    let mut open: Vec<Vec<Range<usize>>> = Vec::new();
    let mut start = 0;

    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let range = start..start + line.len();
        start = range.end;

        let Some(directive) = line.trim_ascii_start().strip_prefix(b"#") else { continue };
        let directive = directive.trim_ascii_start();
        if directive.starts_with(b"if") {
            open.push(vec![range]);
        } else if directive.starts_with(b"el") {
            open.last_mut().into_iter().for_each(|directives| directives.push(range.clone()));
        } else if directive.starts_with(b"endif")
            && let Some(mut directives) = open.pop()
        {
            directives.push(range);
            conditions.push(Condition { directives, form: Form::AsWritten });
        }
    }

    conditions
}

/// Returns the text with every condition in its form.
fn shown(bytes: &[u8], conditions: &[Condition]) -> Vec<u8> {
    let mut shown = bytes.to_vec();
    conditions.iter().for_each(|condition| condition.hide(&mut shown));
    shown
}

/// Returns whether a branch is blank or a sequence of whole members, statements, attributes or list elements:
/// its brackets are balanced, and it ends as these do.
fn is_list(branch: &[u8]) -> bool {
    let mut depth = 0i32;
    let mut last = b';';
    let mut at = 0;

    while let Some(&byte) = branch.get(at) {
        let rest = &branch[at..];
        at += match byte {
            b'/' if rest.starts_with(b"//") => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'#' => memchr::memchr(b'\n', rest).unwrap_or(rest.len()),
            b'"' | b'\'' => {
                last = byte;
                literal_length(rest)
            }
            _ => {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => depth -= 1,
                    _ => {}
                }
                if !byte.is_ascii_whitespace() {
                    last = byte;
                }
                1
            }
        };

        // It closes what the text before it has opened.
        if depth < 0 {
            return false;
        }
    }

    depth == 0 && matches!(last, b',' | b';' | b'}' | b']')
}

/// Returns the length of the string or character that `text` begins with, at most up to the end of its line.
fn literal_length(text: &[u8]) -> usize {
    let mut is_escaped = false;
    for (at, &byte) in text.iter().enumerate().skip(1) {
        if byte == b'\n' || byte == text[0] && !is_escaped {
            return at + 1;
        }
        is_escaped = byte == b'\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LanguageId, chunk_blob};
    use codeweaver_config::ChunkerSettings;

    /// The names of the symbols of a text.
    fn names(text: &str) -> Vec<String> {
        let language = LanguageId::by_name("csharp").unwrap();
        let blob = chunk_blob(text.as_bytes(), language, &ChunkerSettings::default());
        blob.chunks.iter().flat_map(|chunk| &chunk.symbols).map(|symbol| symbol.name.clone()).collect()
    }

    #[test]
    fn other_branches_stay_beside_a_condition_that_the_grammar_does_not_know() {
        let members = "#if A\n    void One() { }\n#else\n    void Two() { }\n#endif\n";
        for unknown in [
            "    enum E {\n        P,\n#if Y\n        Q,\n#else\n        R,\n#endif\n        S\n    }\n",
            "#if B\n    internal\n#else\n    public\n#endif\n    void F() { }\n",
            "#if B\n    void F(int a)\n#else\n    void F()\n#endif\n    { g(); }\n",
            "    void F(int a\n#if B\n        , int b\n#endif\n    ) { }\n",
            "    int P {\n#if B\n        get { return 1; }\n#else\n        get { return 2; }\n#endif\n    }\n",
            "    void F() {\n#if B\n        if (a) {\n#else\n        if (b) {\n#endif\n            c();\n        }\n    }\n",
        ] {
            let found = names(&format!("class C {{\n{unknown}{members}}}\nclass D {{ }}\n"));
            for name in ["C", "One", "Two", "D"] {
                assert!(found.iter().any(|found| found == name), "{name} of {unknown}: {found:?}");
            }
        }
    }

    #[test]
    fn all_branches_of_a_list_are_found() {
        let text = "enum E {\n    P,\n#if Y\n    Q,\n#else\n    R,\n#endif\n    S\n}\n";
        assert_eq!(names(text), ["E", "P", "Q", "R", "S"]);
    }

    #[test]
    fn lists_are_told_from_other_branches() {
        for list in
            ["", "  a(); // b\n", "A,\n", "[B]\n", "void F() { s = \"}\"; c = '{'; }\n", "#region a\nb;"]
        {
            assert!(is_list(list.as_bytes()), "{list}");
        }
        for other in ["internal\n", "if (a) {\n", "} else {\n", "2\n", "\"a\"\n"] {
            assert!(!is_list(other.as_bytes()), "{other}");
        }
    }
}
