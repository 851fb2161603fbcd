//! Literals: the string literals of a part of a file, with their values as gaps.
//!
//! They are found by the marks of the language alone ([`syntax`]), without a parser: a part of a file is read
//! in microseconds, and an error costs one literal. Literals that a statement joins, such as the parts of a
//! long message on several lines, form one [`Statement`].

mod gaps;
mod scan;
pub mod syntax;

use std::ops::Range;

pub use gaps::{Piece, pieces, words};

/// Maximum number of literals that are joined.
const MAX_JOINED: usize = 12;
/// Maximum length of the code between two literals of one statement.
const MAX_BETWEEN: usize = 160;

/// A string literal, or a text that is one without marks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// The bytes between its marks.
    pub range: Range<usize>,
    /// The bytes with its marks.
    pub outer: Range<usize>,
    /// Whether `\` is a character like any other.
    pub is_raw: bool,
}

/// Literals that stand together in one statement, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Each with whether it continues the one before directly, as `"a" "b"` does.
    pub literals: Vec<(Literal, bool)>,
}

impl Statement {
    /// The end of the last literal.
    pub fn end(&self) -> usize {
        self.literals.last().map_or(0, |(literal, _)| literal.outer.end)
    }
}

/// Returns the statements with literals of `text`, a part of a file in the language called `language`.
pub fn statements(text: &[u8], language: &str) -> Vec<Statement> {
    let syntax = syntax::Syntax::by_language(language);
    let mut statements: Vec<Statement> = Vec::new();

    for literal in scan::literals(text, &syntax) {
        let last = statements.last_mut().filter(|it| it.literals.len() < MAX_JOINED);
        if let Some(statement) = last
            && let Some((before, _)) = statement.literals.last()
            && let Some(is_direct) = joint(text, before.outer.end..literal.outer.start)
            && (is_direct || !syntax.is_data)
        {
            statement.literals.push((literal, is_direct));
            continue;
        }
        statements.push(Statement { literals: vec![(literal, false)] });
    }

    statements
}

/// Returns whether literals with the bytes `between` them continue each other directly, or with a value in
/// between; `None` if they are of different statements.
fn joint(text: &[u8], between: Range<usize>) -> Option<bool> {
    let between = text.get(between).filter(|between| between.len() <= MAX_BETWEEN)?;
    if between.iter().any(|byte| matches!(byte, b';' | b'{' | b'}')) {
        return None;
    }

    let code = between.trim_ascii();
    if code.is_empty() || is_prefix(code) || is_operator(code) {
        return Some(true);
    }

    // A line that neither ends nor begins with an operator ends the statement.
    let lines: Vec<&[u8]> = between.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).collect();
    let continues = lines
        .windows(2)
        .all(|pair| pair[0].is_empty() || pair[1].is_empty() || ends_open(pair[0]) || begins_inside(pair[1]));
    continues.then_some(false)
}

/// Returns whether `code` is the letter of a literal, such as `f`.
fn is_prefix(code: &[u8]) -> bool {
    code.len() <= 2 && code.iter().all(u8::is_ascii_alphabetic)
}

/// Returns whether `code` is an operator that joins two literals, with the prefix of the second.
fn is_operator(code: &[u8]) -> bool {
    let end = code.iter().rposition(|byte| !byte.is_ascii_alphabetic()).map_or(0, |at| at + 1);
    let (operator, prefix) = code.split_at(end);

    let joins =
        matches!(operator.trim_ascii(), b"+" | b"." | b".." | b"<>" | b"++" | b"<<" | b"&" | b"\\" | b"~");
    joins && (prefix.is_empty() || is_prefix(prefix))
}

/// Returns whether the statement of a `line` that ends so goes on.
fn ends_open(line: &[u8]) -> bool {
    line.last().is_some_and(|byte| b"+.,(<>&|\\~[?:".contains(byte))
}

/// Returns whether a `line` that begins so belongs to the statement before.
fn begins_inside(line: &[u8]) -> bool {
    line.first().is_some_and(|byte| b"+.,)<>&|~]?:%".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, language: &str) -> Vec<Vec<String>> {
        let statements = statements(text.as_bytes(), language);
        let literals = statements.into_iter().map(|it| it.literals);
        literals
            .map(|it| it.into_iter().map(|(literal, _)| text[literal.range].to_owned()).collect())
            .collect()
    }

    #[test]
    fn literals_are_found_between_the_marks_of_the_language() {
        for (language, text, expected) in [
            (
                "rust",
                "// \"no\"\nlet x: &'a str = f('\"', \"a \\\" b\"); g(r#\"c \"d\"\"#);",
                vec![vec!["a \\\" b"], vec!["c \"d\""]],
            ),
            ("rust", "bail!(\"one \\\n   two\");", vec![vec!["one \\\n   two"]]),
            ("python", "# 'no'\nraise A(f\"x {y['k']}\")\nb = 'it'\n", vec![vec!["x {y['k']}"], vec!["it"]]),
            ("python", "\"\"\"three \"quoted\" lines\"\"\"", vec![vec!["three \"quoted\" lines"]]),
            ("javascript", "x(`a ${f(\"b\")} c`, 'd')", vec![vec!["a ${f(\"b\")} c", "d"]]),
            ("ruby", "raise A, \"x #{h[\"k\"]} y\"", vec![vec!["x #{h[\"k\"]} y"]]),
            ("ruby", "abort <<~MSG\n  far away\n  lines\nMSG\nx", vec![vec!["  far away\n  lines\n"]]),
            ("lua", "error([[long text]]) -- \"no\"", vec![vec!["long text"]]),
            ("csharp", "throw new A($\"x {n}\" + @\"c:\\\");", vec![vec!["x {n}", "c:\\"]]),
            (
                "yaml",
                "blank: can't be blank # no\nkey: \"quoted text\"\n",
                vec![vec!["can't be blank"], vec!["quoted text"]],
            ),
            ("xml", "<data name=\"k\"><value>some text</value></data>", vec![vec!["k"], vec!["some text"]]),
            ("zig", "const a =\n    \\\\first\n    \\\\second\n;", vec![vec!["first", "second"]]),
        ] {
            assert_eq!(found(text, language), expected, "{language}: {text}");
        }
    }

    #[test]
    fn literals_of_one_statement_are_joined() {
        assert_eq!(found("f(\"a \" + x +\n  \"b\");\ng(\"c\");", "java"), [vec!["a ", "b"], vec!["c"]]);
        assert_eq!(
            found("raise A(\n    \"a\"\n    f\"b\"\n)\nb = \"c\"\n", "python"),
            [vec!["a", "b"], vec!["c"]]
        );
        let direct = |text: &str| {
            let statements = statements(text.as_bytes(), "c");
            statements[0].literals.iter().map(|(_, is_direct)| *is_direct).collect::<Vec<_>>()
        };
        assert_eq!(direct("f(\"a\"\n  \"b\", \"c\")"), [false, true, false]);
        assert_eq!(direct("f(\"a\" PRId64 \"b\")"), [false, false]);
    }
}
