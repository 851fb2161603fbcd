//! JSON events of a run, for programs that call this one.

use super::render;
use super::streams::Streams;

/// Prints a JSON object on one line of stdout.
pub fn event(value: &impl serde::Serialize) {
    event_to(&Streams::Process, value);
}

/// As [`event`], to `streams`.
pub fn event_to(streams: &Streams, value: &impl serde::Serialize) {
    if let Ok(text) = render::json(value, false) {
        let _ = streams.out(format!("{text}\n").as_bytes());
    }
}
