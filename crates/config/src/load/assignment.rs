//! Validates a key and its value given as text, and suggests known keys for unknown ones.

use super::super::error::{did_you_mean, excerpt};
use super::super::keys::{KeySpec, find, keys};
use super::super::value::{KeyKind, Value, ValueError, table_key};

/// Validates a key and a value given as text on the command line.
pub fn check_assignment(path: &str, text: &str) -> Result<(&'static KeySpec, Value), ValueError> {
    let Some((spec, entry)) = find(path) else {
        let (prefix, name) = path.rsplit_once('.').unwrap_or(("", path));
        let suggestion =
            did_you_mean(path, keys().iter().map(|spec| spec.path)).or_else(|| suggest(name, prefix));
        return Err(ValueError { message: format!("unknown key `{}`", excerpt(path)), suggestion });
    };

    let value = match entry {
        None => spec.kind.check_plain(text).map_err(|error| named(path, error))?,
        Some(entry) => match KeyKind::Text.check_plain(text).map_err(|error| named(path, error))? {
            Value::Text(text) => {
                let entry = table_key(entry).map_err(|error| named(path, error))?;
                Value::Table([(entry, text)].into())
            }
            other => other,
        },
    };

    Ok((spec, value))
}

/// Adds the key to the message of an error.
fn named(path: &str, error: ValueError) -> ValueError {
    ValueError { message: format!("`{}`: {}", excerpt(path), error.message), ..error }
}

/// Suggests a known key for the unknown key `name` in the section `prefix`.
pub(super) fn suggest(name: &str, prefix: &str) -> Option<String> {
    let siblings = keys().iter().filter_map(|spec| {
        let rest =
            if prefix.is_empty() { spec.path } else { spec.path.strip_prefix(prefix)?.strip_prefix('.')? };
        rest.split('.').next()
    });

    did_you_mean(name, siblings).or_else(|| {
        let elsewhere = keys().iter().find(|spec| spec.path.rsplit('.').next() == Some(name))?;
        Some(format!("did you mean `{}`?", elsewhere.path))
    })
}
