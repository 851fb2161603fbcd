//! Stage: the ideas besides retrieval and ranking that act on a query, each with its name and its switch.

/// An idea that changes the form in which a query is searched for, or the order of the files that were ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// A long text is taken apart and searched for by its parts.
    Report,
    /// A query in another language is searched for in English words.
    Translation,
    /// Words that the index lacks are searched for in the spelling that it has.
    Spelling,
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
    pub const ALL: [Stage; 6] =
        [Stage::Report, Stage::Translation, Stage::Spelling, Stage::Files, Stage::Verbatim, Stage::Rerank];

    /// The name. Among the strategies of a response it says that the stage has acted; except
    /// [`Stage::Report`], which is shown by the parts in the explanation of each score, and [`Stage::Files`].
    pub fn name(self) -> &'static str {
        match self {
            Stage::Report => "report",
            Stage::Translation => "translated_words",
            Stage::Spelling => "respelt_words",
            Stage::Files => "files",
            Stage::Verbatim => "verbatim",
            Stage::Rerank => "rerank",
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
