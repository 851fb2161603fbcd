//! Waits: the reasons for which a request has waited, for callers that show them with its answer.

use std::sync::Mutex;

use codeweaver_base::sync;

use super::error::{ErrorKind, ServiceError};
use super::progress::Progress;

/// The reasons for which a request has waited, in the order in which its caller was told them.
#[derive(Default)]
pub struct Waits(Mutex<Vec<Wait>>);

/// A reason, in the sentences of [`Progress`].
#[derive(PartialEq, Eq)]
struct Wait {
    /// While the request waits.
    present: String,
    /// In its answer.
    past: String,
}

impl Waits {
    /// Adds the reason `progress`, unless it is known.
    pub fn add(&self, progress: Progress<'_>) {
        let wait = Wait { present: progress.to_string(), past: progress.past() };

        let mut waits = sync::lock(&self.0);
        if !waits.contains(&wait) {
            waits.push(wait);
        }
    }

    /// Returns the reasons as warnings of an answer, and clears them.
    pub fn take(&self) -> Vec<String> {
        sync::lock(&self.0).drain(..).map(|wait| wait.past).collect()
    }

    /// The error of the request, with the reasons if it says that the index is not ready.
    pub fn explain(&self, mut error: ServiceError) -> ServiceError {
        if error.kind != ErrorKind::NotReady {
            return error;
        }

        for wait in sync::lock(&self.0).iter().rev() {
            error.why = format!("{}; {}", wait.present, error.why);
            if let Some(gate) = &mut error.gate {
                gate.message = format!("{}; {}", wait.present, gate.message);
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use codeweaver_index::Lifecycle;
    use codeweaver_store::StoreError;

    use super::*;

    #[test]
    fn a_reason_is_in_the_answer_once_or_in_the_error() {
        let other = StoreError::Version { path: PathBuf::from("state.json"), found: 2, expected: 1 };
        let waits = Waits::default();
        waits.add(Progress::Repairing(&other));
        waits.add(Progress::Repairing(&other));

        let error = waits.explain(Lifecycle::Indexing.into());
        assert!(error.why.contains("another version"), "{error}");
        assert!(error.why.contains("; it is being repaired; "), "{error}");
        let error = waits.explain(Lifecycle::NotIndexed.into());
        assert!(!error.why.contains("another version"), "{error}");

        let warnings = waits.take();
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].contains("another version"), "{warnings:?}");
        assert!(waits.take().is_empty());
    }
}
