//! JSON events of a run, for programs that call this one.

use std::io::Write as _;

use super::render;

/// Prints a JSON object on one line of stdout.
pub fn event(value: &impl serde::Serialize) {
    if let Ok(text) = render::json(value, false) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}
