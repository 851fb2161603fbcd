//! Arguments of calls: lenient in form, strict in meaning.
//!
//! The schema of a tool decides. A value that means the same in another form is converted: `"5"` and `5.0` to
//! 5, `"true"` to true, `"src"` to `["src"]`, `tokenLimit` to `token_limit`, `limit` to `max_results`; `null`
//! counts as absent. Everything else that the schema does not allow is an error that names the argument and
//! what it may be: ignoring a misspelt filter would return unfiltered results.

use rmcp::model::JsonObject;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use codeweaver_config::{did_you_mean, nearest_first};

use super::answer::{CallError, FORMAT};

/// Names that arguments have in other programs, with the argument that is meant if the tool has no own one of
/// the name.
const OTHER_NAMES: [(&str, &str); 13] = [
    ("limit", "max_results"),
    ("max_count", "max_results"),
    ("head_limit", "max_results"),
    ("max_results", "limit"),
    ("max_tokens", "token_limit"),
    ("query", "pattern"),
    ("text", "pattern"),
    ("query", "symbol"),
    ("name", "symbol"),
    ("query", "question"),
    ("case_insensitive", "ignore_case"),
    ("context_lines", "context"),
    ("glob", "paths"),
];

/// Converts the arguments of a call of `tool` to what its `schema` asks for.
///
/// # Errors
/// The first argument that is unknown, missing, given twice, or cannot be converted.
pub fn parse<T: DeserializeOwned>(
    tool: &str,
    schema: &JsonObject,
    given: JsonObject,
) -> Result<T, CallError> {
    let none = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);

    let mut arguments = JsonObject::new();
    for (given, value) in given.into_iter().filter(|(_, value)| !value.is_null()) {
        let (name, property) = find(&given, properties).ok_or_else(|| unknown(tool, &given, properties))?;
        let value = converted(name, value, property)?;
        if arguments.get(name).is_some_and(|other| *other != value) {
            let twice = format!("{tool} has two values of `{name}`, one of them as {}", quoted(&given));
            return Err(CallError::invalid(twice));
        }

        // The form is an argument of every tool; the types of arguments do not have it.
        if name != FORMAT {
            arguments.insert(name.clone(), value);
        }
    }

    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(missing) = required.filter_map(Value::as_str).find(|name| !arguments.contains_key(*name)) {
        let what =
            properties.get(missing).map_or_else(String::new, |property| format!(": {}", must_be(property)));
        return Err(CallError::invalid(format!("{tool} needs the argument `{missing}`{what}")));
    }

    serde_json::from_value(arguments.into()).map_err(|error| {
        // The error quotes the value, which may be long.
        let text: String = error.to_string().chars().take(400).collect();
        CallError::invalid(format!("the arguments of {tool} cannot be used: {text}"))
    })
}

/// Returns whether a tool with this `schema` has an argument called `name`, also in camel case.
pub fn is_known(name: &str, schema: &JsonObject) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| find_own(name, properties).is_some())
}

/// Returns whether `name` is another name of an argument of a tool with this `schema`, or a misspelt one.
pub fn is_meant(name: &str, schema: &JsonObject) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| {
        find(name, properties).is_some() || did_you_mean(name, names(properties)).is_some()
    })
}

/// Finds an argument by its name or by one that it has in other programs.
fn find<'a>(name: &str, properties: &'a JsonObject) -> Option<(&'a String, &'a Value)> {
    let mut meant = OTHER_NAMES.iter().filter(|(other, _)| is_written_as(other, name));
    find_own(name, properties).or_else(|| meant.find_map(|(_, argument)| properties.get_key_value(*argument)))
}

/// Finds an argument by its name, which may also be written in camel case.
fn find_own<'a>(name: &str, properties: &'a JsonObject) -> Option<(&'a String, &'a Value)> {
    properties.get_key_value(name).or_else(|| properties.iter().find(|(known, _)| is_written_as(known, name)))
}

/// Returns whether `written` is `name`, in any case and with any separators of its words.
fn is_written_as(name: &str, written: &str) -> bool {
    name.replace('_', "").eq_ignore_ascii_case(&written.replace(['_', '-'], ""))
}

fn names(properties: &JsonObject) -> impl Iterator<Item = &str> {
    properties.keys().map(String::as_str)
}

fn unknown(tool: &str, name: &str, properties: &JsonObject) -> CallError {
    let hint =
        did_you_mean(name, names(properties)).map_or_else(|| ".".to_owned(), |hint| format!("; {hint}"));
    let known = nearest_first(name, names(properties)).join(", ");

    CallError::invalid(format!("{tool} has no argument {}{hint} It has {known}", quoted(name)))
}

fn converted(name: &str, value: Value, property: &Value) -> Result<Value, CallError> {
    let result = if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        choice(&value, choices)
    } else {
        match property.get("type").and_then(Value::as_str) {
            Some("integer") => integer(&value, property),
            Some("boolean") => boolean(&value),
            Some("string") => string(&value),
            Some("array") => array(&value, property),
            _ => Some(value.clone()),
        }
    };

    result.ok_or_else(|| CallError::parameter(name, &must_be(property), shown(&value)))
}

/// Describes the values that `property` accepts, for a message.
fn must_be(property: &Value) -> String {
    if let Some(choices) = property.get("enum").and_then(Value::as_array) {
        let names: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", names.join(", "));
    }

    let (min, max) = (property.get("minimum"), property.get("maximum"));

    match (property.get("type").and_then(Value::as_str), min, max) {
        (Some("integer"), Some(min), Some(max)) => format!("a whole number between {min} and {max}"),
        (Some("integer"), Some(min), None) => format!("a whole number of at least {min}"),
        (Some("integer"), None, Some(max)) => format!("a whole number of at most {max}"),
        (Some("integer"), None, None) => "a whole number".to_owned(),
        (Some("boolean"), ..) => "true or false".to_owned(),
        (Some("array"), ..) => "a list of strings".to_owned(),
        (Some("string"), ..) => "a string".to_owned(),
        _ => "of another form".to_owned(),
    }
}

fn choice(value: &Value, choices: &[Value]) -> Option<Value> {
    let name = value.as_str()?.trim();
    choices
        .iter()
        .find(|choice| choice.as_str().is_some_and(|choice| choice.eq_ignore_ascii_case(name)))
        .cloned()
}

/// Reads a whole number within the range of `property`. Without a maximum, numbers above those of 32 bits
/// mean "as many as there are".
fn integer(value: &Value, property: &Value) -> Option<Value> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    if number.fract() != 0.0 {
        return None;
    }

    let number = match property.get("maximum") {
        Some(_) => number,
        None => number.min(f64::from(u32::MAX)),
    };
    let min = property.get("minimum").and_then(Value::as_f64).unwrap_or(i64::MIN as f64);
    let max = property.get("maximum").and_then(Value::as_f64).unwrap_or(i64::MAX as f64);

    (min..=max).contains(&number).then(|| json!(number as i64))
}

fn boolean(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(_) => Some(value.clone()),
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" => Some(json!(true)),
            "false" => Some(json!(false)),
            _ => None,
        },
        _ => None,
    }
}

fn string(value: &Value) -> Option<Value> {
    match value {
        Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(json!(number.to_string())),
        Value::Bool(flag) => Some(json!(flag.to_string())),
        // A list of one, as some models pass single values.
        Value::Array(items) if items.len() == 1 => items.first().filter(|only| only.is_string()).cloned(),
        _ => None,
    }
}

/// Reads a list of strings. A single value is a list of one; a string may also contain a list in JSON.
fn array(value: &Value, property: &Value) -> Option<Value> {
    let item = property.get("items").unwrap_or(&Value::Null);
    let parsed = match value {
        Value::String(text) if text.trim_start().starts_with('[') => serde_json::from_str::<Value>(text)
            .ok()
            .filter(|list| list.as_array().is_some_and(|items| items.iter().all(Value::is_string))),
        _ => None,
    };

    let items = match parsed.as_ref().unwrap_or(value) {
        Value::Array(items) => items.as_slice(),
        single => std::slice::from_ref(single),
    };
    let converted = items.iter().map(|value| converted("", value.clone(), item).ok());
    converted.collect::<Option<Vec<Value>>>().map(Value::Array)
}

/// The text of a value as given; the message puts it in quotes.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn quoted(name: &str) -> String {
    let name: String = name.chars().take(100).collect();
    format!("{name:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use schemars::JsonSchema;
    use serde::Deserialize;

    #[derive(Debug, Deserialize, PartialEq, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Way {
        In,
        Out,
    }

    #[derive(Debug, Deserialize, PartialEq, JsonSchema)]
    struct Sample {
        query: String,
        #[schemars(range(min = 1, max = 50))]
        max_results: Option<u32>,
        #[schemars(range(min = 1))]
        token_limit: Option<u32>,
        include_tests: Option<bool>,
        paths: Option<Vec<String>>,
        way: Option<Way>,
    }

    fn parsed(arguments: Value) -> Result<Sample, String> {
        let Value::Object(arguments) = arguments else { panic!("not an object") };
        parse("sample", &schema::input::<Sample>(), arguments).map_err(|error| match error {
            CallError::Failed(failure) => failure.message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn other_forms_of_the_same_value_are_converted() {
        let plain = json!({ "query": "42", "max_results": 5, "token_limit": 9, "include_tests": true,
            "paths": ["src"], "way": "in" });
        let expected = parsed(plain.clone()).unwrap();
        assert_eq!(expected.max_results, Some(5));
        for (name, other) in [
            ("query", json!(42)),
            ("query", json!(["42"])),
            ("max_results", json!("5")),
            ("max_results", json!(5.0)),
            ("max_results", json!(" 5.0 ")),
            ("include_tests", json!("True")),
            ("paths", json!("src")),
            ("paths", json!("[\"src\"]")),
            ("way", json!("IN")),
            ("format", json!("JSON")),
            ("format", Value::Null),
        ] {
            let mut arguments = plain.clone();
            arguments[name] = other.clone();
            assert_eq!(parsed(arguments), Ok(parsed(plain.clone()).unwrap()), "{name}: {other}");
        }
        let camel = json!({ "query": "42", "maxResults": 5, "tokenLimit": 9, "includeTests": true,
            "paths": ["src"], "way": "in" });
        assert_eq!(parsed(camel), Ok(expected));
        assert_eq!(parsed(json!({ "query": "x", "paths": null })).unwrap().paths, None);
        let glob = parsed(json!({ "query": "x", "paths": "[ab]*.rs" })).unwrap();
        assert_eq!(glob.paths.unwrap(), ["[ab]*.rs"]);
        let huge = parsed(json!({ "query": "x", "token_limit": 1e15 })).unwrap();
        assert_eq!(huge.token_limit, Some(u32::MAX));
    }

    #[test]
    fn errors_name_the_argument_and_what_it_may_be() {
        for (arguments, expected) in [
            (json!({}), "sample needs the argument `query`: a string"),
            (
                json!({ "query": "x", "max_results": 0 }),
                "`max_results` must be a whole number between 1 and 50, not \"0\"",
            ),
            (
                json!({ "query": "x", "max_results": 1.5 }),
                "`max_results` must be a whole number between 1 and 50, not \"1.5\"",
            ),
            (
                json!({ "query": "x", "token_limit": "-1" }),
                "`token_limit` must be a whole number of at least 1, not \"-1\"",
            ),
            (
                json!({ "query": "x", "include_tests": "maybe" }),
                "`include_tests` must be true or false, not \"maybe\"",
            ),
            (json!({ "query": {} }), "`query` must be a string, not \"{}\""),
            (json!({ "query": "x", "paths": [{}] }), "`paths` must be a list of strings, not \"[{}]\""),
            (json!({ "query": "x", "way": "up" }), "`way` must be one of in, out, not \"up\""),
            (json!({ "query": "x", "format": "xml" }), "`format` must be one of text, json, not \"xml\""),
        ] {
            assert_eq!(parsed(arguments.clone()).unwrap_err(), expected, "{arguments}");
        }
        let unknown = parsed(json!({ "query": "x", "max_result": 5 })).unwrap_err();
        assert!(
            unknown.starts_with(
                "sample has no argument \"max_result\"; did you mean `max_results`? It has max_results, "
            ),
            "{unknown}"
        );
        for name in ["query", "token_limit", "include_tests", "paths", "way", "format"] {
            assert!(unknown.contains(name), "{name}: {unknown}");
        }
        let far = parsed(json!({ "query": "x", "patterns": 5 })).unwrap_err();
        assert!(far.starts_with("sample has no argument \"patterns\". It has paths, "), "{far}");
    }

    #[test]
    fn names_of_other_programs_are_accepted_where_the_tool_has_none_of_the_name() {
        for (given, name) in [
            (json!({ "query": "x", "limit": 5 }), "max_results"),
            (json!({ "query": "x", "maxCount": 5 }), "max_results"),
            (json!({ "query": "x", "limit": 5, "max_results": "5" }), "max_results"),
            (json!({ "query": "x", "max-tokens": 5 }), "token_limit"),
        ] {
            assert_eq!(parsed(given.clone()), parsed(json!({ "query": "x", name: 5 })), "{given}");
        }
        // Its own `query` is not taken for a `pattern`, and nothing for what it lacks.
        assert_eq!(parsed(json!({ "query": "x", "glob": "src" })).unwrap().paths.unwrap(), ["src"]);
        assert!(parsed(json!({ "query": "x", "context_lines": 1 })).is_err());
        let twice = parsed(json!({ "query": "x", "limit": 5, "max_results": 6 })).unwrap_err();
        assert!(twice.contains("two values of `max_results`"), "{twice}");
    }

    #[test]
    fn a_name_is_own_or_meant() {
        let schema = schema::input::<Sample>();
        for (name, is_own, is_other) in [
            ("max_results", true, true),
            ("maxResults", true, true),
            ("limit", false, true),
            ("max_result", false, true),
            ("timeout", false, false),
        ] {
            assert_eq!((is_known(name, &schema), is_meant(name, &schema)), (is_own, is_other), "{name}");
        }
    }
}
