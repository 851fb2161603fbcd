//! Where a long answer goes on: an opaque text that the client hands back.
//!
//! It holds the place and a fingerprint of the question, so that a cursor of another question is an error and not a hole
//! in the answer. It holds no state: a server that was started anew takes it as well.

use super::answer::CallError;

/// A place in the answer to one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// What was shown already: matches, symbols or lines.
    pub offset: usize,
    question: u64,
}

impl Cursor {
    /// The place `offset` in the answer to the question with these arguments.
    pub fn at(offset: usize, question: &impl serde::Serialize) -> Cursor {
        Cursor { offset, question: fingerprint(question) }
    }

    /// The place to go on from: the beginning if there is no `cursor`.
    pub fn resume(cursor: Option<&str>, question: &impl serde::Serialize) -> Result<usize, CallError> {
        let Some(text) = cursor else { return Ok(0) };
        let parsed = text.split_once('-').and_then(|(offset, question)| {
            Some(Cursor { offset: offset.parse().ok()?, question: u64::from_str_radix(question, 16).ok()? })
        });
        match parsed {
            Some(found) if found.question == fingerprint(question) => Ok(found.offset),
            Some(_) => Err(CallError::parameter("cursor", "that of an answer to the same arguments", text)),
            None => Err(CallError::parameter("cursor", "the `next_cursor` of an earlier answer", text)),
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{:016x}", self.offset, self.question)
    }
}

fn fingerprint(question: &impl serde::Serialize) -> u64 {
    let text = serde_json::to_vec(question).unwrap_or_default();
    let hash = blake3::hash(&text);
    hash.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_place_and_to_no_other_question() {
        let question = ("retry", 10);
        let cursor = Cursor::at(42, &question).to_string();
        assert_eq!(Cursor::resume(Some(&cursor), &question).unwrap(), 42);
        assert_eq!(Cursor::resume(None, &question).unwrap(), 0);
        assert!(Cursor::resume(Some(&cursor), &("retry", 11)).is_err());
        for bad in ["", "-", "x-1", "7", "7-xyz", "99999999999999999999-0"] {
            assert!(Cursor::resume(Some(bad), &question).is_err(), "{bad}");
        }
    }
}
