//! Names of models: known ones, their repositories and their folders.

use super::EmbedError;
use super::known::{KNOWN, KNOWN_STATIC, known};

/// Returns the repository of `name`: that of a known model, or `name` itself if it is `OWNER/NAME`.
///
/// # Errors
/// [`EmbedError::UnknownModel`] with the most similar known name.
pub fn repository(name: &str) -> Result<String, EmbedError> {
    let short = folder_name(name);
    if let Some((.., repository)) = known().find(|(known, ..)| *known == short) {
        return Ok(repository.to_owned());
    }
    match name.split_once('/') {
        Some((owner, rest)) if is_plain_name(owner) && is_plain_name(rest) => Ok(name.to_owned()),
        _ => Err(unknown(short)),
    }
}

/// The error for a name that is not a known one.
pub(super) fn unknown(name: String) -> EmbedError {
    unknown_among(name, KNOWN.iter().map(|known| known.name).chain(KNOWN_STATIC.iter().map(|known| known.0)))
}

/// The error for a name that is not in `known`.
pub(super) fn unknown_among(name: String, known: impl Iterator<Item = &'static str>) -> EmbedError {
    let known: Vec<&'static str> = known.collect();
    let suggestion = nearest(&name, &known);
    EmbedError::UnknownModel { name, known, suggestion }
}

/// Returns the name of the folder of a model: its name in lower case and without the publisher.
pub fn folder_name(name: &str) -> String {
    name.rsplit('/').next().unwrap_or_default().to_ascii_lowercase()
}

/// Returns whether a name is a plain file name, which does not lead out of the cache.
pub(super) fn is_plain_name(name: &str) -> bool {
    !name.starts_with('.')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

/// Replaces characters that a file name should not have.
pub(super) fn file_safe(name: &str) -> String {
    name.chars()
        .take(64)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .collect()
}

/// Finds the known name with the most letter pairs in common (Dice coefficient), if that is more than half.
fn nearest(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let pairs = letter_pairs(name);
    known
        .iter()
        .map(|known| (dice_percent(&pairs, &letter_pairs(known)), *known))
        .max_by_key(|(percent, _)| *percent)
        .filter(|(percent, _)| *percent > 50)
        .map(|(_, known)| known)
}

fn letter_pairs(text: &str) -> Vec<[u8; 2]> {
    text.as_bytes().windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

fn dice_percent(one: &[[u8; 2]], other: &[[u8; 2]]) -> usize {
    let common = one.iter().filter(|pair| other.contains(pair)).count();
    200 * common / (one.len() + other.len()).max(1)
}
