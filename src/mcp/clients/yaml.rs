//! YAML, for the block style that Goose writes. The syntax tree says where things stand; lines are put in and taken out.
//! What the tree does not show to be safe (several documents, flow style, aliases) is refused.

use super::edit::{EditError, Edited, Fields, Keys, line_end, line_start, newline, replaced};
use super::entry::{Entry, NAME, Value};
use tree_sitter::{Node, Parser, Tree};

/// Words that are no text without quotes.
const RESERVED: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"];

pub(super) fn put(text: &str, tables: &[&Keys], entry: &Entry) -> Result<Edited, EditError> {
    let key = single(tables)?;
    let tree = parse(text)?;
    let top = top(text, &tree)?;
    let newline = newline(text);
    let table = top.map(|top| pair(text, top, key)).transpose()?.flatten();
    let (after, made) = match (top, table) {
        (_, Some(table)) => (into_table(text, table, entry, newline)?, 0),
        (top, None) => {
            let indent = top.map_or(0, |top| top.start_position().column);
            (append(text, top, key, indent, entry, newline)?, 1)
        }
    };
    check(text, &after, key, Some(entry))?;
    Ok(Edited { text: after, made })
}

pub(super) fn take(text: &str, tables: &[&Keys], made: usize) -> Result<Option<String>, EditError> {
    let key = single(tables)?;
    let tree = parse(text)?;
    let Some(table) = top(text, &tree)?.map(|top| pair(text, top, key)).transpose()?.flatten() else {
        return Ok(None);
    };
    let Some(servers) = table.child_by_field_name("value").and_then(block_mapping) else { return Ok(None) };
    let Some(entry) = pair(text, servers, NAME)? else { return Ok(None) };
    let lines = |node: Node| line_start(text, node.start_byte())..line_end(text, content_end(text, node));
    let is_alone = pairs(text, servers).len() == 1;
    let changes = if !is_alone {
        vec![(lines(entry), String::new())]
    } else if made > 0 && !has_comment(table) {
        vec![(lines(table), String::new())]
    } else {
        let colon = colon_end(table)?;
        vec![(colon..colon, " {}".to_owned()), (lines(entry), String::new())]
    };
    let after = replaced(text, changes);
    check(text, &after, key, None)?;
    Ok(Some(after))
}

/// The fields of the entry.
pub(super) fn fields(text: &str, tables: &[&Keys]) -> Result<Option<Fields>, EditError> {
    let tree = parse(text)?;
    let table = top(text, &tree)?.map(|top| pair(text, top, single(tables)?)).transpose()?.flatten();
    let servers = table.and_then(|table| table.child_by_field_name("value")).and_then(block_mapping);
    let entry = servers.map(|servers| pair(text, servers, NAME)).transpose()?.flatten();
    let Some(entry) = entry else { return Ok(None) };
    let fields = entry.child_by_field_name("value").and_then(block_mapping);
    let fields = fields.map(|fields| pairs(text, fields)).unwrap_or_default().into_iter();
    let of_field = |(name, field): (String, Node)| {
        let value = field.child_by_field_name("value");
        (name, value.map(|value| words(text, value).into_iter().flatten().collect()).unwrap_or_default())
    };
    Ok(Some(fields.map(of_field).collect()))
}

fn single(tables: &[&Keys]) -> Result<&'static str, EditError> {
    match tables {
        [[key]] => Ok(key),
        _ => Err(EditError("a table of servers is expected at the top".to_owned())),
    }
}

fn parse(text: &str) -> Result<Tree, EditError> {
    let mut parser = Parser::new();
    let tree =
        parser.set_language(&tree_sitter_yaml::LANGUAGE.into()).ok().and_then(|()| parser.parse(text, None));
    let tree = tree.ok_or_else(|| EditError("it cannot be parsed".to_owned()))?;
    match first_error(tree.root_node()) {
        Some(row) => Err(EditError(format!("it is not valid YAML near line {}", row + 1))),
        None => Ok(tree),
    }
}

fn first_error(node: Node) -> Option<usize> {
    if node.is_error() || node.is_missing() {
        return Some(node.start_position().row);
    }
    let mut cursor = node.walk();
    if !node.has_error() {
        return None;
    }
    node.children(&mut cursor).find_map(first_error)
}

/// The mapping at the top; `None` if the text holds nothing yet.
fn top<'t>(text: &str, tree: &'t Tree) -> Result<Option<Node<'t>>, EditError> {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let documents: Vec<Node> =
        root.named_children(&mut cursor).filter(|child| child.kind() == "document").collect();
    let document = match documents.as_slice() {
        [] => return Ok(None),
        [document] => *document,
        _ => return Err(EditError("it holds several documents".to_owned())),
    };
    let mapping = named(document).into_iter().find_map(block_mapping);
    let mapping = mapping.ok_or_else(|| EditError("it does not hold a mapping in block style".to_owned()))?;
    if text[line_start(text, mapping.start_byte())..mapping.start_byte()].chars().any(|c| c != ' ') {
        return Err(EditError("its mapping does not begin on a line of its own".to_owned()));
    }
    Ok(Some(mapping))
}

fn named(node: Node) -> Vec<Node> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

fn block_mapping(node: Node) -> Option<Node> {
    match node.kind() {
        "block_mapping" => Some(node),
        "block_node" => named(node).into_iter().find(|child| child.kind() == "block_mapping"),
        _ => None,
    }
}

/// Keys with their pairs; keys that are no plain text have an empty name.
fn pairs<'t>(text: &str, mapping: Node<'t>) -> Vec<(String, Node<'t>)> {
    let pairs = named(mapping).into_iter().filter(|child| child.kind() == "block_mapping_pair");
    pairs
        .map(|pair| {
            let key = pair.child_by_field_name("key").and_then(|key| scalar(text, key));
            (key.unwrap_or_default(), pair)
        })
        .collect()
}

fn pair<'t>(text: &str, mapping: Node<'t>, key: &str) -> Result<Option<Node<'t>>, EditError> {
    let mut found = pairs(text, mapping).into_iter().filter(|(name, _)| name == key).map(|(_, pair)| pair);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(EditError(format!("it has two entries `{key}` in one mapping"))),
        (first, None) => Ok(first),
    }
}

/// The text of a scalar in flow style.
fn scalar(text: &str, node: Node) -> Option<String> {
    let inner = if node.kind() == "flow_node" { named(node).into_iter().next()? } else { node };
    let raw = &text[inner.byte_range()];
    match inner.kind() {
        "plain_scalar" => Some(raw.to_owned()),
        "double_quote_scalar" => serde_json::from_str(raw).ok(),
        "single_quote_scalar" => Some(raw.strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'")),
        _ => None,
    }
}

/// The texts of a list, or the one of a scalar; what is no text is `None`.
fn words(text: &str, node: Node) -> Vec<Option<String>> {
    let inner = named(node).into_iter().next().filter(|inner| inner.kind().ends_with("_sequence"));
    let Some(sequence) = inner else { return vec![scalar(text, node)] };
    named(sequence)
        .into_iter()
        .map(|item| match item.kind() {
            "block_sequence_item" => scalar(text, named(item).into_iter().next()?),
            _ => scalar(text, item),
        })
        .collect()
}

fn is_same(text: &str, node: Node, value: &Value) -> bool {
    match value {
        Value::Text(wanted) => scalar(text, node).is_some_and(|there| there == *wanted),
        Value::Flag(flag) => scalar(text, node).is_some_and(|there| there == flag.to_string()),
        Value::Number(number) => scalar(text, node).is_some_and(|there| there == number.to_string()),
        Value::List(wanted) => {
            let items = words(text, node);
            items.len() == wanted.len()
                && items.iter().zip(wanted).all(|(item, word)| item.as_ref() == Some(word))
        }
    }
}

/// Where the content of a node ends; comments and line ends that the tree counts to it are left out.
fn content_end(text: &str, node: Node) -> usize {
    let mut cursor = node.walk();
    let children: Vec<Node> = node.children(&mut cursor).filter(|child| child.kind() != "comment").collect();
    let end = children.iter().map(|child| content_end(text, *child)).max().unwrap_or(node.end_byte());
    text[..end].trim_end().len().max(node.start_byte())
}

fn ends_in_block_scalar(node: Node) -> bool {
    let last = named(node).into_iter().rev().find(|child| child.kind() != "comment");
    node.kind() == "block_scalar" || last.is_some_and(ends_in_block_scalar)
}

fn has_comment(node: Node) -> bool {
    named(node).into_iter().any(|child| child.kind() == "comment" || has_comment(child))
}

fn colon_end(pair: Node) -> Result<usize, EditError> {
    let mut cursor = pair.walk();
    let colon = pair.children(&mut cursor).find(|child| child.kind() == ":");
    colon.map(|colon| colon.end_byte()).ok_or_else(|| EditError("it has a key without a colon".to_owned()))
}

/// A new table at the end.
fn append(
    text: &str,
    top: Option<Node>,
    key: &str,
    indent: usize,
    entry: &Entry,
    newline: &str,
) -> Result<String, EditError> {
    let end = top.map_or(0, |top| content_end(text, top));
    if text[end..].lines().any(|line| line.starts_with("...")) {
        return Err(EditError("its document is ended with `...`".to_owned()));
    }
    let mut out = text.to_owned();
    if !out.is_empty() && !out.ends_with('\n') {
        // A line end would belong to its text.
        if top.is_some_and(ends_in_block_scalar) {
            return Err(EditError("its last line has no end".to_owned()));
        }
        out.push_str(newline);
    }
    out.push_str(&format!("{:indent$}{key}:{newline}", ""));
    out.push_str(&render(entry, indent + 2, 2, newline));
    Ok(out)
}

/// The entry in a table that is there: before the first of its kin, where nothing that ends a value can come between.
fn into_table(text: &str, table: Node, entry: &Entry, newline: &str) -> Result<String, EditError> {
    let column = table.start_position().column;
    let Some(value) = table.child_by_field_name("value") else {
        return Ok(after_line(text, table, None, column, entry, newline));
    };
    if let Some(servers) = block_mapping(value) {
        if let Some(there) = pair(text, servers, NAME)? {
            return update(text, there, entry, newline);
        }
        let first = servers.start_byte();
        let start = line_start(text, first);
        if text[start..first].chars().any(|c| c != ' ') {
            return Err(EditError("its extensions do not begin on a line of their own".to_owned()));
        }
        let lines = render(entry, first - start, (first - start).saturating_sub(column).max(2), newline);
        return Ok(replaced(text, vec![(start..start, lines)]));
    }
    let inner = named(value).into_iter().next();
    let is_void = inner.is_some_and(|inner| match inner.kind() {
        "flow_mapping" => named(inner).is_empty(),
        "plain_scalar" => ["null", "~"].contains(&&text[inner.byte_range()]),
        _ => false,
    });
    if !is_void {
        return Err(EditError("its extensions are not written in block style".to_owned()));
    }
    Ok(after_line(text, table, Some(colon_end(table)?..value.end_byte()), column, entry, newline))
}

/// The entry after the line of a table that holds nothing, `void` being how it says so.
fn after_line(
    text: &str,
    table: Node,
    void: Option<std::ops::Range<usize>>,
    column: usize,
    entry: &Entry,
    newline: &str,
) -> String {
    let end = line_end(text, void.as_ref().map_or(content_end(text, table), |void| void.end));
    let lines = render(entry, column + 2, 2, newline);
    let lines = if text[..end].ends_with('\n') { lines } else { format!("{newline}{lines}") };
    let mut changes = vec![(end..end, lines)];
    changes.extend(void.map(|void| (void, String::new())));
    replaced(text, changes)
}

/// Only what differs.
fn update(text: &str, there: Node, entry: &Entry, newline: &str) -> Result<String, EditError> {
    let fields = there.child_by_field_name("value").and_then(block_mapping);
    let fields = fields.ok_or_else(|| EditError(format!("`{NAME}` in it is not written in block style")))?;
    let start = line_start(text, fields.start_byte());
    let indent = fields.start_byte() - start;
    let mut changes = Vec::new();
    for (name, value) in &entry.fields {
        match pair(text, fields, name)? {
            None => changes.push((start..start, format!("{:indent$}{name}: {}{newline}", "", spelt(value)))),
            Some(field) => {
                let there = field.child_by_field_name("value");
                if !there.is_some_and(|there| is_same(text, there, value)) {
                    let range = colon_end(field)?..content_end(text, field);
                    changes.push((range, format!(" {}", spelt(value))));
                }
            }
        }
    }
    Ok(replaced(text, changes))
}

fn render(entry: &Entry, indent: usize, step: usize, newline: &str) -> String {
    let inner = indent + step;
    let mut out = format!("{:indent$}{NAME}:{newline}", "");
    for (name, value) in &entry.fields {
        out.push_str(&format!("{:inner$}{name}: {}{newline}", "", spelt(value)));
    }
    out
}

/// Plain where that is safe, as people write it; otherwise as JSON, which YAML contains.
fn spelt(value: &Value) -> String {
    match value {
        Value::Text(text)
            if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
                && !RESERVED.contains(&text.to_ascii_lowercase().as_str()) =>
        {
            text.clone()
        }
        value => value.to_line(),
    }
}

/// The edited text holds what it should, and the pairs beside the entry as they were.
fn check(before: &str, after: &str, key: &str, entry: Option<&Entry>) -> Result<(), EditError> {
    let wrong = || EditError("editing it would change more than the entry".to_owned());
    let tree = parse(after)?;
    let mapping = top(after, &tree)?;
    let servers = mapping.map(|top| pair(after, top, key)).transpose()?.flatten();
    let servers = servers.and_then(|table| table.child_by_field_name("value")).and_then(block_mapping);
    let there = servers.map(|servers| pair(after, servers, NAME)).transpose()?.flatten();
    let is_right = match (entry, there) {
        (None, None) => true,
        (Some(entry), Some(there)) => {
            let fields = there.child_by_field_name("value").and_then(block_mapping).ok_or_else(wrong)?;
            entry.fields.iter().all(|(name, value)| {
                let field = pair(after, fields, name).ok().flatten();
                let there = field.and_then(|field| field.child_by_field_name("value"));
                there.is_some_and(|there| is_same(after, there, value))
            })
        }
        _ => false,
    };
    let old = parse(before)?;
    if is_right && others(before, &old, key)? == others(after, &tree, key)? { Ok(()) } else { Err(wrong()) }
}

/// Keys and values beside the entry, at the top and in the table.
fn others(text: &str, tree: &Tree, key: &str) -> Result<Vec<(String, String)>, EditError> {
    let mut found = Vec::new();
    let Some(mapping) = top(text, tree)? else { return Ok(found) };
    for (name, node) in pairs(text, mapping) {
        if name != key {
            found.push((name, text[node.start_byte()..content_end(text, node)].to_owned()));
        } else if let Some(servers) = node.child_by_field_name("value").and_then(block_mapping) {
            let kin = pairs(text, servers).into_iter().filter(|(name, _)| name != NAME);
            found.extend(
                kin.map(|(name, node)| (name, text[node.start_byte()..content_end(text, node)].to_owned())),
            );
        }
    }
    Ok(found)
}
