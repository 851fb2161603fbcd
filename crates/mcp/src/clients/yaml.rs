//! The server's entry in YAML. YAML configurations are not edited, only printed.

use super::entry::{Entry, NAME, Value};
use super::text::Keys;

/// Plain scalars that YAML does not read as strings.
const RESERVED: [&str; 10] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"];

/// Returns a configuration that contains nothing but `entry` in `table`.
pub(super) fn snippet(table: &Keys, entry: &Entry) -> String {
    let mut out = String::new();
    let mut indent = 0;
    for key in table.iter().copied().chain([NAME]) {
        out.push_str(&format!("{:indent$}{key}:\n", ""));
        indent += 2;
    }

    for (name, value) in &entry.fields {
        out.push_str(&format!("{:indent$}{name}: {}\n", "", scalar(value)));
    }
    out
}

/// Formats a plain scalar where that is unambiguous, otherwise JSON, which is a subset of YAML.
fn scalar(value: &Value) -> String {
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
