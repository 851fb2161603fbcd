//! JSON schemas of the arguments and results of tools.
//!
//! Subschemas are inlined, Rust-specific formats are removed, and optional arguments are not nullable: some
//! clients pass schemas to models that support nothing else. Every word in the list of tools costs tokens, so
//! its schemas contain only what models need.

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::answer::Failure;
use super::answer::{FORMAT, Format};
use super::envelope::Envelope;

/// Returns the schema of arguments, with their ranges.
pub fn input<T: JsonSchema>() -> Map<String, Value> {
    let mut schema = plain::<T>(Contract::Deserialize);
    without_null(&mut schema);
    let mut schema = object(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(FORMAT.to_owned(), Format::schema());
    }
    schema
}

/// Keyword that marks arguments left out of the list of tools, since models do without them.
const UNLISTED: &str = "unlisted";

/// Returns the schema of arguments for the list of tools: without ranges, which errors name.
pub fn listed(input: &Map<String, Value>) -> Map<String, Value> {
    let mut listed = input.clone();
    listed.remove("description");

    if let Some(Value::Object(properties)) = listed.get_mut("properties") {
        properties.retain(|_, property| property.get(UNLISTED).is_none());
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.remove("minimum");
            property.remove("maximum");
            property.remove("default");
        }
    }
    listed
}

/// An argument, for people and for agents in a shell.
pub struct Argument {
    pub name: String,
    /// Its type, or the values that it may have, separated by `|`.
    pub kind: String,
    pub description: String,
}

/// The arguments of the schema `input` that the list of tools has.
pub fn arguments(input: &Map<String, Value>) -> Vec<Argument> {
    let listed = listed(input);
    let properties = listed.get("properties").and_then(Value::as_object);
    let argument = |(name, property): (&String, &Value)| Argument {
        name: name.clone(),
        kind: kind(property),
        description: property["description"].as_str().unwrap_or_default().to_owned(),
    };
    properties.into_iter().flatten().map(argument).collect()
}

fn kind(property: &Value) -> String {
    let words = |values: &Value| {
        let values = values.as_array().into_iter().flatten().filter_map(Value::as_str);
        values.collect::<Vec<_>>().join("|")
    };
    match (property.get("enum"), &property["type"]) {
        (Some(values), _) => words(values),
        (None, Value::String(name)) if name == "array" => "string, may be repeated".to_owned(),
        (None, Value::String(name)) => name.clone(),
        (None, names) => words(names),
    }
}

/// Returns the schema of a result as structured content: `T`, the envelope of a gate, or a failure.
pub fn output<T: JsonSchema>() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": { "status": { "type": "string" } },
        "required": ["status"],
        "anyOf": [written::<T>(), written::<Envelope>(), written::<Failure>()],
    }))
}

/// The schema of serialised values: fields that may be skipped are not required.
fn written<T: JsonSchema>() -> Value {
    plain::<T>(Contract::Serialize)
}

fn plain<T: JsonSchema>(contract: Contract) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.contract = contract.clone();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });

    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    let mut value = schema.to_value();
    tidy(&mut value);

    if let Value::Object(fields) = &mut value {
        // The title is the name of a Rust type.
        fields.remove("title");
    }

    value
}

/// Removes number formats, and the line breaks of doc comments.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            }

            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Replaces `["string", "null"]` by `"string"` and `anyOf: [X, null]` by X, recursively.
fn without_null(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    fields.insert("type".to_owned(), only);
                }
            }

            if let Some(Value::Array(choices)) = fields.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }

            if let Some(Value::Array(kinds)) = fields.get_mut("anyOf") {
                kinds.retain(|kind| kind.get("type").is_none_or(|name| name != "null"));
                if let [Value::Object(only)] = kinds.as_slice() {
                    let only = only.clone();
                    fields.remove("anyOf");
                    for (name, value) in only {
                        // Keywords beside `anyOf`, such as a description, have precedence.
                        fields.entry(name).or_insert(value);
                    }
                }
            }

            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }

            fields.values_mut().for_each(without_null);
        }
        Value::Array(items) => items.iter_mut().for_each(without_null),
        _ => {}
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
