//! Cursors: opaque strings from which a client continues a long answer.
//!
//! A cursor contains an offset and a hash of the arguments, so that a cursor of a call with other arguments
//! is rejected. It refers to no state of the server and stays valid when the server is restarted.

use super::answer::CallError;

/// A position in the answer to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// Number of items already returned: matches, symbols or lines.
    pub offset: usize,
    key_hash: u32,
}

impl Cursor {
    /// The position `offset` in the answer to the call identified by `key`.
    pub fn at(offset: usize, key: &impl serde::Serialize) -> Cursor {
        Cursor { offset, key_hash: hash(key) }
    }

    /// Returns the offset from which to continue; 0 if there is no `cursor`.
    ///
    /// # Errors
    /// The cursor is malformed or belongs to a call with other arguments.
    pub fn resume(cursor: Option<&str>, key: &impl serde::Serialize) -> Result<usize, CallError> {
        let Some(text) = cursor else { return Ok(0) };
        let parsed = text.split_once('-').and_then(|(offset, hash)| {
            Some(Cursor { offset: offset.parse().ok()?, key_hash: u32::from_str_radix(hash, 16).ok()? })
        });

        match parsed {
            Some(found) if found.key_hash == hash(key) => Ok(found.offset),
            Some(_) => Err(CallError::parameter("cursor", "that of an answer to the same arguments", text)),
            None => Err(CallError::parameter("cursor", "the `next_cursor` of an earlier answer", text)),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:08x}", self.offset, self.key_hash)
    }
}

/// Hashes the arguments of a call. The hash is short, since a cursor costs a model tokens: it guards against
/// mistakes, not against deliberate collisions.
fn hash(key: &impl serde::Serialize) -> u32 {
    let text = serde_json::to_vec(key).unwrap_or_default();
    let hash = blake3::hash(&text);
    hash.as_bytes().iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_valid_only_for_the_same_arguments() {
        let key = ("retry", 10);
        let cursor = Cursor::at(42, &key).to_string();
        assert_eq!(Cursor::resume(Some(&cursor), &key).unwrap(), 42);
        assert_eq!(Cursor::resume(None, &key).unwrap(), 0);
        assert!(Cursor::resume(Some(&cursor), &("retry", 11)).is_err());
        for bad in ["", "-", "x-1", "7", "7-xyz", "99999999999999999999-0"] {
            assert!(Cursor::resume(Some(bad), &key).is_err(), "{bad}");
        }
    }
}
