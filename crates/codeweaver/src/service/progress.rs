//! Progress of a request that waits for its index.

use std::fmt;

use codeweaver_store::StoreError;

/// A reason for which a request waits. `Display` is a sentence for the user, as long as it does.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// There is no index yet, and building it takes a moment.
    First,
    /// The index is gone, and is being built again.
    Rebuilding,
    /// The index is damaged or of another version, and is being repaired.
    Repairing(&'a StoreError),
}

impl Progress<'_> {
    /// The sentence for the answer to a request that has waited.
    pub fn past(&self) -> String {
        match self {
            Progress::First => "this repository was not indexed; this call has indexed it".to_owned(),
            Progress::Rebuilding => {
                "the index of this repository was deleted or damaged; this answer has waited for the new one"
                    .to_owned()
            }
            Progress::Repairing(damage) => format!("{damage}; this answer has waited for its repair"),
        }
    }
}

impl Progress<'_> {
    /// The sentence on what is missing, for a request that cannot wait for it.
    pub(super) fn loss(&self) -> String {
        match self {
            Progress::First => "this repository is not indexed".to_owned(),
            Progress::Rebuilding => "the index of this repository was deleted or damaged".to_owned(),
            Progress::Repairing(damage) => damage.to_string(),
        }
    }
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::First => f.write_str("this repository is being indexed for the first time"),
            Progress::Rebuilding => {
                f.write_str("the index of this repository was deleted or damaged and is being rebuilt")
            }
            Progress::Repairing(damage) => write!(f, "{damage}; it is being repaired"),
        }
    }
}
