//! JSON schemas of the arguments and results of tools.
//!
//! Subschemas are inlined, Rust-specific formats are removed, and optional arguments are not nullable: some
//! clients pass schemas to models that support nothing else.

use super::answer::Failure;
use super::envelope::Envelope;
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Returns the schema of arguments.
pub fn input<T: JsonSchema>() -> Arc<Map<String, Value>> {
    let mut schema = plain::<T>(Contract::Deserialize);
    without_null(&mut schema);
    Arc::new(object(schema))
}

/// Returns the schema of a result: `T`, the envelope of a gate, or a failure. It has no descriptions, since
/// only validators use it and they would cost models tokens in the list of tools.
pub fn output<T: JsonSchema>() -> Arc<Map<String, Value>> {
    let mut schema = json!({
        "type": "object",
        "properties": { "status": { "type": "string" } },
        "required": ["status"],
        "anyOf": [written::<T>(), written::<Envelope>(), written::<Failure>()],
    });
    without_descriptions(&mut schema);
    Arc::new(object(schema))
}

/// Removes the descriptions of a schema, but not properties of the name `description`.
fn without_descriptions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(without_descriptions);
        }
        Value::Array(items) => items.iter_mut().for_each(without_descriptions),
        _ => {}
    }
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

/// Replaces `["string", "null"]` by `"string"`, recursively.
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
