//! The hook in the settings of Claude Code, which are JSON.
//!
//! An edit keeps everything else in the text, which is checked by a comparison of both values.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::{Value, json};

use crate::clients::json::{OPTIONS, invalid};
use crate::clients::text::EditError;

/// The program that the hook runs. Colleagues who do not have it see no error.
pub(super) const COMMAND: &str = "git-codeweaver agent hook || true";
/// Part of the command that an entry is known by, whatever is around it.
const MARK: &str = "codeweaver agent hook";
/// Event after which the hook runs, and the tools that it runs for.
const EVENT: &str = "PostToolUse";
const MATCHER: &str = "Grep|Glob|Read|Bash";
/// Seconds after which Claude Code ends the hook; it ends by itself long before.
const TIMEOUT: u32 = 5;

/// Returns `text` with the hook. An earlier one is replaced.
pub(super) fn insert(text: &str) -> Result<String, EditError> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or_else(|| wrong("it does not hold a JSON object"))?;

    if let Some(entry) = entries(&object)?.into_iter().next() {
        // The spelling of an entry that is right is kept.
        if entry.to_serde_value() == Some(value()) {
            return Ok(text.to_owned());
        }
        replace(entry);
    } else {
        let hooks =
            object.object_value_or_create("hooks").ok_or_else(|| wrong("`hooks` in it is not an object"))?;
        let list =
            hooks.array_value_or_create(EVENT).ok_or_else(|| wrong("`PostToolUse` in it is not a list"))?;
        list.append(input());
    }

    let after = root.to_string();
    check(text, &after)?;
    Ok(after)
}

/// Returns `text` without the hook, and without the tables around it that are then empty; `None` if it has
/// none.
pub(super) fn remove(text: &str) -> Result<Option<String>, EditError> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(None) };
    let entries = entries(&object)?;
    if entries.is_empty() {
        return Ok(None);
    }

    entries.into_iter().for_each(remove_node);
    // Tables that others use have more in them.
    if let Some(hooks) = object.object_value("hooks") {
        if let Some(list) = hooks.get(EVENT)
            && list.array_value().is_some_and(|list| list.elements().is_empty())
        {
            list.remove();
        }
        if hooks.properties().is_empty()
            && let Some(hooks) = object.get("hooks")
        {
            hooks.remove();
        }
    }

    let after = root.to_string();
    check(text, &after)?;
    Ok(Some(after))
}

/// Returns whether a text has no setting and no comment.
pub(super) fn is_void(text: &str) -> bool {
    text.trim().is_empty() || text.split_whitespace().collect::<String>() == "{}"
}

/// The entries of the hook.
fn entries(root: &CstObject) -> Result<Vec<CstNode>, EditError> {
    let is_hooks = |name: Option<String>| name.as_deref() == Some("hooks");
    if root.properties().iter().filter(|property| is_hooks(property.decoded_name())).count() > 1 {
        return Err(wrong("it has two entries `hooks`"));
    }

    let list: Option<CstArray> = root.object_value("hooks").and_then(|hooks| hooks.array_value(EVENT));
    let elements = list.map(|list| list.elements()).unwrap_or_default();
    Ok(elements
        .into_iter()
        .filter(|entry| entry.to_serde_value().is_some_and(|value| is_ours(&value)))
        .collect())
}

/// Returns whether all commands of an entry are ours.
fn is_ours(entry: &Value) -> bool {
    let commands = entry.get("hooks").and_then(Value::as_array);
    commands.is_some_and(|commands| {
        !commands.is_empty()
            && commands
                .iter()
                .all(|hook| hook["command"].as_str().is_some_and(|command| command.contains(MARK)))
    })
}

fn replace(entry: CstNode) {
    if let Some(object) = entry.as_object() {
        object.replace_with(input());
    }
}

fn remove_node(entry: CstNode) {
    if let Some(object) = entry.as_object() {
        object.remove();
    }
}

fn value() -> Value {
    json!({ "matcher": MATCHER, "hooks": [{ "type": "command", "command": COMMAND, "timeout": TIMEOUT }] })
}

fn input() -> CstInputValue {
    let text = |text: &str| CstInputValue::String(text.to_owned());
    let hook = CstInputValue::Object(vec![
        ("type".to_owned(), text("command")),
        ("command".to_owned(), text(COMMAND)),
        ("timeout".to_owned(), CstInputValue::Number(TIMEOUT.to_string())),
    ]);
    CstInputValue::Object(vec![
        ("matcher".to_owned(), text(MATCHER)),
        ("hooks".to_owned(), CstInputValue::Array(vec![hook])),
    ])
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &OPTIONS).map_err(invalid)
}

/// Verifies that two texts have the same value apart from the hook.
fn check(before: &str, after: &str) -> Result<(), EditError> {
    match plain(before)? == plain(after)? {
        true => Ok(()),
        false => Err(wrong("editing it would change more than the hook")),
    }
}

/// The value of a text without the hook and without tables that are then empty.
fn plain(text: &str) -> Result<Value, EditError> {
    let mut value = parse(text)?.to_serde_value().unwrap_or_else(|| json!({}));
    let Some(root) = value.as_object_mut() else { return Ok(value) };
    let Some(hooks) = root.get_mut("hooks").and_then(Value::as_object_mut) else { return Ok(value) };

    if let Some(list) = hooks.get_mut(EVENT).and_then(Value::as_array_mut) {
        list.retain(|entry| !is_ours(entry));
        if list.is_empty() {
            hooks.remove(EVENT);
        }
    }
    if hooks.is_empty() {
        root.remove("hooks");
    }
    Ok(value)
}

fn wrong(why: &str) -> EditError {
    EditError(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_is_added_once_and_removed_with_what_was_made_for_it() {
        let other = r#"{ "matcher": "Bash", "hooks": [{ "type": "command", "command": "lint" }] }"#;
        for text in [
            "",
            "{}\n",
            "{\n  \"model\": \"x\" // mine\n}\n",
            "{ \"hooks\": {} }",
            &format!("{{\n  \"hooks\": {{ \"PostToolUse\": [{other}], \"Stop\": [] }}\n}}\n"),
        ] {
            let with = insert(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            assert!(with.contains(COMMAND) && with.contains("// mine") == text.contains("// mine"), "{with}");
            assert_eq!(insert(&with).unwrap(), with, "{text:?}");
            assert_eq!(remove(text).unwrap(), None, "{text:?}");
            let without = remove(&with).unwrap().unwrap();
            assert_eq!(plain(&without).unwrap(), plain(text).unwrap(), "{without}");
            assert!(
                !without.contains(MARK) && without.contains("lint") == text.contains("lint"),
                "{without}"
            );
        }
    }

    #[test]
    fn an_older_hook_is_replaced_and_one_that_shares_its_entry_is_not_touched() {
        let old = r#"{ "hooks": { "PostToolUse": [{ "matcher": "Grep", "hooks": [{ "type": "command", "command": "/bin/git-codeweaver agent hook" }] }] } }"#;
        let new = insert(old).unwrap();
        assert!(new.contains(MATCHER) && new.matches(MARK).count() == 1, "{new}");
        let shared = r#"{ "hooks": { "PostToolUse": [{ "hooks": [{ "command": "git codeweaver agent hook" }, { "command": "x" }] }] } }"#;
        assert_eq!(remove(shared).unwrap(), None);
    }

    #[test]
    fn what_is_no_settings_file_is_refused() {
        for text in [
            "{",
            "[]",
            "{ \"hooks\": 1 }",
            "{ \"hooks\": { \"PostToolUse\": {} } }",
            "{ \"hooks\": {}, \"hooks\": {} }",
        ] {
            assert!(insert(text).is_err(), "{text}");
        }
    }
}
