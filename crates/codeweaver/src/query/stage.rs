//! Stage: the ideas besides retrieval and ranking that act on a query, each with its name and its switch.

use super::response::Strategy;

/// An idea that changes the form in which a query is searched for, or the order of the files that were
/// ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A long text is taken apart and searched for by its parts.
    Report,
    /// A query in another language is searched for in English words.
    Translation,
    /// Words that the index lacks are searched for in the spelling that it has.
    Spelling,
    /// The code that prints a message comes first.
    Raised,
    /// Files are ranked by everything that is known of them, not chunks by their similarity alone. The stages
    /// before and [`Stage::Verbatim`] are about files.
    Files,
    /// Files that have the query as it is written come first.
    Verbatim,
    /// A cross-encoder orders the best files.
    Rerank,
}

impl Stage {
    /// All stages, in the order in which they act.
    pub const ALL: [Stage; 7] = [
        Stage::Report,
        Stage::Translation,
        Stage::Spelling,
        Stage::Raised,
        Stage::Files,
        Stage::Verbatim,
        Stage::Rerank,
    ];

    /// The name in tables of measurements.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Report => "report",
            Stage::Translation => "translated_words",
            Stage::Spelling => "respelt_words",
            Stage::Raised => "raised_message",
            Stage::Files => "files",
            Stage::Verbatim => "verbatim",
            Stage::Rerank => "rerank",
        }
    }

    /// The strategy by which a response says that the stage has acted; `None` for [`Stage::Report`], which
    /// the parts in the explanation of each score show, and for [`Stage::Files`].
    pub fn strategy(self) -> Option<Strategy> {
        match self {
            Stage::Report | Stage::Files => None,
            Stage::Translation => Some(Strategy::TranslatedWords),
            Stage::Spelling => Some(Strategy::RespeltWords),
            Stage::Raised => Some(Strategy::RaisedMessage),
            Stage::Verbatim => Some(Strategy::Verbatim),
            Stage::Rerank => Some(Strategy::Rerank),
        }
    }
}

/// The stages that are switched on; by default all. Switching one off measures its effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stages {
    /// Indexed by stage.
    is_off: [bool; Stage::ALL.len()],
}

impl Stages {
    /// Returns whether `stage` is switched on.
    pub fn has(self, stage: Stage) -> bool {
        !self.is_off[stage as usize]
    }

    /// These stages without `stage`.
    pub fn without(mut self, stage: Stage) -> Stages {
        self.is_off[stage as usize] = true;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_lists_a_stage_under_its_name() {
        for stage in Stage::ALL {
            let listed = stage.strategy().map(|strategy| serde_json::to_value(strategy).unwrap());
            assert!(listed.is_none_or(|listed| listed == stage.name()), "{stage:?}");
        }
    }
}
