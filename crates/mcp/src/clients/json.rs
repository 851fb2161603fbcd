//! Editing of JSON with comments and trailing commas. Everything else keeps its spelling: an entry is
//! inserted into a concrete syntax tree, which contains white space and comments, and is removed from the
//! text itself.

use jsonc_parser::ast::{Object, ObjectProp, ObjectPropName, Value as Ast};
use jsonc_parser::common::Range;
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, ParseResult, parse_to_ast};

use super::entry::{Entry, NAME, Value};
use super::text::{EditError, Edited, Fields, Keys, line_end, line_start, replaced};

/// Strict JSON plus what VS Code and similar programs accept. Most clients cannot read anything looser.
pub(crate) const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn insert(text: &str, tables: &[&Keys], entry: &Entry) -> Result<Edited, EditError> {
    let root = parse(text)?;
    let object = root
        .object_value_or_create()
        .ok_or_else(|| EditError("it does not hold a JSON object".to_owned()))?;

    let table = choose(&object, tables);
    let (mut at, mut n_new_tables) = (object, 0);
    for key in table {
        at = match child(&at, key)? {
            Some(child) => child,
            None => {
                n_new_tables += 1;
                at.append(key, CstInputValue::Object(Vec::new()));
                child(&at, key)?.ok_or_else(|| EditError(format!("`{key}` cannot be added to it")))?
            }
        };
    }

    match property(&at, NAME)? {
        None => {
            let fields = entry.fields.iter().map(|(name, value)| ((*name).to_owned(), input(value)));
            at.append(NAME, CstInputValue::Object(fields.collect()));
        }
        Some(existing) => update(&existing.object_value().ok_or_else(|| not_an_object(NAME))?, entry)?,
    }

    let after = root.to_string();
    check(text, &after, table, Some(entry))?;
    Ok(Edited { text: after, n_new_tables })
}

/// Sets the fields of an existing entry that differ. A field with the right value keeps its spelling.
fn update(object: &CstObject, entry: &Entry) -> Result<(), EditError> {
    for (name, value) in &entry.fields {
        let Some(field) = property(object, name)? else {
            object.append(name, input(value));
            continue;
        };

        if field.value().and_then(|value| value.to_serde_value()) != Some(value.to_json()) {
            field.set_value(input(value));
        }
    }
    Ok(())
}

pub(super) fn remove(text: &str, tables: &[&Keys], n_new_tables: usize) -> Result<Option<String>, EditError> {
    let tree = read(text)?;
    let tokens = tree.tokens.unwrap_or_default();
    let Some(Ast::Object(root)) = &tree.value else { return Ok(None) };

    for table in tables {
        let Some(path) = path_to_entry(root, table)? else { continue };
        // The tables around the entry that were created for it and contain nothing else are removed as well.
        let mut outermost = path.len() - 1;
        while outermost > 0
            && path.len() - 1 - outermost < n_new_tables
            && is_only_entry(&path[outermost - 1].value, &tokens)
        {
            outermost -= 1;
        }

        let after = without(text, &path[outermost].range, &tokens);
        check(text, &after, table, None)?;
        return Ok(Some(after));
    }

    Ok(None)
}

/// Returns the fields of the entry; `None` if there is no entry.
pub(super) fn fields(text: &str, tables: &[&Keys]) -> Result<Option<Fields>, EditError> {
    let root = parse(text)?.to_serde_value().unwrap_or_default();
    let mut entries = tables.iter().filter_map(|table| lookup(&root, table)?.get(NAME));
    let Some(entry) = entries.next() else { return Ok(None) };

    let fields = entry.as_object().into_iter().flatten();
    Ok(Some(fields.map(|(name, value)| (name.clone(), words(value))).collect()))
}

/// Returns the value at a path of keys.
fn lookup<'v>(root: &'v serde_json::Value, table: &Keys) -> Option<&'v serde_json::Value> {
    table.iter().try_fold(root, |at, key| at.get(key))
}

/// Returns a string, or the strings of a list.
fn words(value: &serde_json::Value) -> Vec<String> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    list.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Returns the properties along `table` down to the entry; `None` if there is no entry.
fn path_to_entry<'a, 't>(
    root: &'a Object<'t>,
    table: &Keys,
) -> Result<Option<Vec<&'a ObjectProp<'t>>>, EditError> {
    let (mut at, mut path) = (Some(root), Vec::new());

    for key in table.iter().chain(std::iter::once(&NAME)) {
        let mut found = at.iter().flat_map(|at| &at.properties).filter(|property| name(property) == *key);
        let (first, second) = (found.next(), found.next());

        if second.is_some() {
            return Err(twice(key));
        }

        let Some(property) = first else { return Ok(None) };
        at = property.value.as_object();
        path.push(property);
    }

    Ok(Some(path))
}

fn name<'a>(property: &'a ObjectProp) -> &'a str {
    match &property.name {
        ObjectPropName::String(name) => &name.value,
        ObjectPropName::Word(name) => name.value,
    }
}

/// Returns true if an object has one property and no comment.
fn is_only_entry(value: &Ast, tokens: &[TokenAndRange]) -> bool {
    let Some(object) = value.as_object() else { return false };
    let mut inside =
        tokens.iter().filter(|t| t.range.start >= object.range.start && t.range.end <= object.range.end);
    object.properties.len() == 1 && !inside.any(|token| is_comment(&token.token))
}

fn is_comment(token: &Token) -> bool {
    matches!(token, Token::CommentLine(_) | Token::CommentBlock(_))
}

/// Returns `text` without a property and the comma that becomes superfluous. Comments are kept, and so is
/// white space other than that before the property.
fn without(text: &str, property: &Range, tokens: &[TokenAndRange]) -> String {
    let before =
        tokens.iter().rev().filter(|t| !is_comment(&t.token)).find(|t| t.range.end <= property.start);
    let after = tokens.iter().filter(|t| !is_comment(&t.token)).find(|t| t.range.start >= property.end);

    let (mut start, mut end) = (property.start, property.end);
    let mut changes = Vec::new();

    match (before, after) {
        (_, Some(next)) if matches!(next.token, Token::Comma) => {
            // The comma after the property goes with it, but a comment between them stays.
            if is_blank(&text[end..next.range.start]) {
                end = next.range.end;
            } else {
                changes.push((next.range.start..next.range.end, String::new()));
            }
        }
        // The property is the last one, so the comma before it would be a trailing one.
        (Some(comma), _) if matches!(comma.token, Token::Comma) => {
            changes.push((comma.range.start..comma.range.end, String::new()));
        }
        _ => {}
    }

    // A property on lines of its own is removed with these lines, otherwise with the blanks before it.
    let (line, next_line) = (line_start(text, start), line_end(text, end));
    if is_blank(&text[line..start]) && is_blank(&text[end..next_line]) {
        (start, end) = (line, next_line);
    } else if before.is_some_and(|before| is_blank(&text[before.range.end..start])) {
        start = text[..start].trim_end().len();
    }

    changes.push((start..end, String::new()));
    replaced(text, changes)
}

/// Returns whether both texts have the same value and neither has comments.
pub(super) fn is_equivalent(one: &str, other: &str) -> bool {
    plain_value(one).is_some_and(|one| Some(one) == plain_value(other))
}

/// Returns the value of a text; `None` if it is invalid or has comments.
fn plain_value(text: &str) -> Option<Option<serde_json::Value>> {
    let text = text.trim_start_matches('\u{feff}');
    let is_commented = read(text).ok()?.tokens?.iter().any(|token| is_comment(&token.token));
    (!is_commented).then(|| parse(text).ok()?.to_serde_value())
}

/// Returns true if `text` consists of white space.
fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Parses `text` into a syntax tree with all tokens and comments, for their positions.
fn read(text: &str) -> Result<ParseResult<'_>, EditError> {
    let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
    parse_to_ast(text, &collect, &OPTIONS).map_err(invalid)
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &OPTIONS).map_err(invalid)
}

pub(crate) fn invalid(error: ParseError) -> EditError {
    EditError(format!("it is not valid JSON: {error}"))
}

fn twice(key: &str) -> EditError {
    EditError(format!("it has two entries `{key}` in one object"))
}

fn not_an_object(key: &str) -> EditError {
    EditError(format!("`{key}` in it is not an object"))
}

/// Returns the property of a key. Duplicate keys are an error, since clients differ in which one they use.
fn property(object: &CstObject, key: &str) -> Result<Option<CstObjectProp>, EditError> {
    let mut found = object.properties().into_iter().filter(|p| p.decoded_name().as_deref() == Some(key));
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(twice(key)),
        (first, None) => Ok(first),
    }
}

fn child(object: &CstObject, key: &str) -> Result<Option<CstObject>, EditError> {
    match property(object, key)? {
        None => Ok(None),
        Some(property) => property.object_value().map(Some).ok_or_else(|| not_an_object(key)),
    }
}

/// Returns the first table that exists, else the last. An object with a `type` is a server of that name, not
/// a table.
fn choose<'k>(root: &CstObject, tables: &[&'k Keys]) -> &'k Keys {
    let existing = tables.iter().find(|table| {
        let found = table.iter().try_fold(root.clone(), |at, key| child(&at, key).ok().flatten());
        found.is_some_and(|found| found.get("type").is_none())
    });
    existing.or(tables.last()).copied().unwrap_or_default()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Text(text) => CstInputValue::String(text.clone()),
        Value::List(words) => {
            CstInputValue::Array(words.iter().map(|word| CstInputValue::String(word.clone())).collect())
        }
        Value::Flag(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
    }
}

/// Verifies that `after` contains the entry, or does not if `entry` is `None`, and is otherwise equal to
/// `before`.
fn check(before: &str, after: &str, table: &Keys, entry: Option<&Entry>) -> Result<(), EditError> {
    let mut before = value_of(before)?;
    let mut after = value_of(after)?;
    let found = lookup(&after, table).and_then(|at| at.get(NAME));
    let is_entry_right = match (entry, found) {
        (Some(entry), Some(found)) => {
            entry.fields.iter().all(|(name, value)| found.get(name) == Some(&value.to_json()))
        }
        (None, None) => true,
        _ => false,
    };

    // Apart from the entry, both texts must have the same value.
    without_entry(&mut before, table);
    without_entry(&mut after, table);
    if is_entry_right && before == after {
        Ok(())
    } else {
        Err(EditError("editing it would change more than the entry".to_owned()))
    }
}

/// Returns the value of a text; an empty text is an empty object.
fn value_of(text: &str) -> Result<serde_json::Value, EditError> {
    Ok(parse(text)?.to_serde_value().unwrap_or_else(|| serde_json::json!({})))
}

/// Removes the entry, and every table around it that is then empty.
fn without_entry(at: &mut serde_json::Value, table: &Keys) {
    let (key, rest) = table.split_first().map_or((NAME, None), |(key, rest)| (*key, Some(rest)));
    let Some(object) = at.as_object_mut() else { return };

    if let (Some(rest), Some(child)) = (rest, object.get_mut(key)) {
        without_entry(child, rest);
    }
    if rest.is_none() || object.get(key).is_some_and(|child| child == &serde_json::json!({})) {
        object.remove(key);
    }
}
