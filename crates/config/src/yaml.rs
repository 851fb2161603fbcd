//! Reads YAML as a tree of settings.
//!
//! A file of a repository may be hostile. Aliases count as often as they are used, and the size that a file
//! may expand to is bounded far below any harm. Scalars have the types of YAML 1.2, so `no` is a text.

use std::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Location, MessageFormatter as _, Spanned, UserMessageFormatter};

use super::keys::find;
use super::tree::{Entry, Node, Position, SyntaxError, parser_message};
use super::value::Value;

/// Maximum nesting, more than any setting has.
const MAX_DEPTH: usize = 32;
/// Maximum number of values of a file, including those of aliases.
const MAX_NODES: usize = 100_000;
/// Maximum number of bytes of all texts of a file, including those of aliases.
const MAX_TEXT_BYTES: usize = 4 << 20;
const MAX_ALIASES: usize = 1000;

/// Returns the tables of a file.
pub(super) fn parse(text: &str) -> Result<Vec<Entry>, SyntaxError> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_documents: 2,
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_total_scalar_bytes: MAX_TEXT_BYTES,
            max_aliases: MAX_ALIASES,
            max_merge_keys: MAX_ALIASES,
            max_recorded_anchor_events: MAX_NODES,
            max_recorded_anchor_bytes: MAX_TEXT_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MAX_NODES },
        strict_booleans: true,
        underscored_numbers_as_strings: false,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        reject_unsupported_tags: true,
        with_snippet: false,
    };

    let root: Spanned<Node> = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let at = error.location().map_or(Position::START, position);
        SyntaxError { at, message: parser_message(&UserMessageFormatter.format_message(&error)) }
    })?;

    match root.value {
        Node::Table(table) => Ok(table),
        Node::Nothing => Ok(Vec::new()),
        other => Err(SyntaxError {
            at: position(root.referenced),
            message: format!("expected sections with settings, found {}", other.describe()),
        }),
    }
}

/// Returns the lines that set `key` to `value`.
pub(super) fn assignment(key: &str, value: &Value) -> String {
    let mut sections: Vec<&str> = key.split('.').collect();
    let name = sections.pop().unwrap_or_default();

    let mut lines = String::new();
    for (depth, section) in sections.iter().enumerate() {
        let _ = writeln!(lines, "{}{section}:", "  ".repeat(depth));
    }

    // An entry of a table is set by itself. JSON is YAML.
    let value = match value {
        Value::Table(table) if find(key).is_some_and(|(_, entry)| entry.is_some()) => {
            serde_json::json!(table.values().next())
        }
        value => value.to_json(),
    };
    let _ = write!(lines, "{}{name}: {value}", "  ".repeat(sections.len()));

    lines
}

fn position(location: Location) -> Position {
    let number = |number: u64| usize::try_from(number).unwrap_or(1).max(1);
    Position { line: number(location.line()), column: number(location.column()) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Nothing)
    }

    fn visit_bool<E>(self, bool: bool) -> Result<Node, E> {
        Ok(Node::Bool(bool))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Node, E> {
        Ok(Node::Integer(integer))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Node, E> {
        // No setting takes an integer beyond `i64`, so its exact value does not matter.
        Ok(i64::try_from(integer).map_or(Node::Number(integer as f64), Node::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = sequence.next_element()? {
            list.push(node);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut table = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            table.push(Entry { key: key.value, at: position(key.referenced), value: map.next_value()? });
        }
        Ok(Node::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        parse(text).unwrap().pop().unwrap()
    }

    fn error(text: &str) -> String {
        let error = parse(text).unwrap_err();
        format!("{}:{}: {}", error.at.line, error.at.column, error.message)
    }

    #[test]
    fn scalars_have_the_types_of_yaml_1_2() {
        for (text, node) in [
            ("true", Node::Bool(true)),
            ("no", Node::Text("no".to_owned())),
            ("12", Node::Integer(12)),
            ("-3", Node::Integer(-3)),
            ("0.5", Node::Number(0.5)),
            (".inf", Node::Number(f64::INFINITY)),
            ("'12'", Node::Text("12".to_owned())),
            ("", Node::Nothing),
            ("~", Node::Nothing),
            ("[a, 1]", Node::List(vec![Node::Text("a".to_owned()), Node::Integer(1)])),
            ("99999999999999999999", Node::Number(1e20)),
        ] {
            assert_eq!(entry(&format!("key: {text}\n")).value, node, "{text}");
        }
    }

    #[test]
    fn keys_have_positions() {
        let section = entry("# first\nsearch:\n  é: 1\n  limit: 5\n");
        assert_eq!(section.at, Position { line: 2, column: 1 });
        let keys = section.value.as_table().unwrap();
        assert_eq!(keys[1].at, Position { line: 4, column: 3 });
        let flow = entry("search: { é: 1, limit: 5 }\n");
        assert_eq!(flow.value.as_table().unwrap()[1].at, Position { line: 1, column: 17 });
        assert!(parse("").unwrap().is_empty() && parse("# nothing\n").unwrap().is_empty());
        assert!(parse("---\n").unwrap().is_empty());
    }

    #[test]
    fn aliases_and_merges_are_read() {
        let text = "a: &x { inc: php }\nb: *x\nc:\n  <<: *x\n  foo: c\n";
        let table = parse(text).unwrap();
        assert_eq!(table[0].value.as_table().unwrap()[0].value, Node::Text("php".to_owned()));
        assert_eq!(table[1].value.as_table().unwrap()[0].key, "inc");
        assert_eq!(table[2].value.as_table().unwrap().len(), 2);
    }

    #[test]
    fn errors_have_a_place() {
        for (text, place) in [
            ("search:\n  limit: 1\n  limit: 2\n", "3:3: duplicate mapping key `limit`"),
            ("search: [1,\n", "1:9: "),
            ("a: *nowhere\n", "1:4: "),
            ("- a\n- b\n", "1:1: expected sections with settings, found a list"),
            ("text\n", "1:1: expected sections with settings, found the text \"text\""),
            ("search:\n\tlimit: 1\n", "2:"),
            ("a: !command rm\n", "1:13: unsupported tag"),
        ] {
            assert!(error(text).starts_with(place), "{text:?}: {}", error(text));
        }
        let several = error("a: 1\n---\nb: 2\n");
        assert!(several.contains("only single YAML document"), "{several}");
    }

    #[test]
    fn what_a_small_file_may_add_up_to_is_bounded() {
        let mut laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..9 {
            let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
            laughs.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
        }
        let long = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), vec!["*a"; 900].join(", "));
        let deep = format!("a: {}{}\n", "[".repeat(50_000), "]".repeat(50_000));
        let block: String = (0..5_000).map(|n| format!("{}a:\n", " ".repeat(n % 90))).collect();
        let wide = format!("a: [{}]\n", "1,".repeat(400_000));
        for text in [laughs, long, deep, block, wide] {
            let found = parse(&text).unwrap_err();
            assert!(found.message.len() < 300, "{}", found.message);
        }
    }
}
