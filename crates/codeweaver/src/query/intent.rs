//! Intent: the kind of answer that a query asks for, given with the request or detected by its words.

use codeweaver_chunk::classes::TaskProfile;

/// Maximum number of characters of an unknown name that a warning quotes.
const MAX_QUOTED: usize = 100;

/// The task that an answer is for: to understand, implement, debug, optimise, test, configure, document or
/// review something. A given intent changes the ranking and selects an importance profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(
    missing_docs,
    reason = "documented at the type: variants with documentation have another JSON schema"
)]
pub enum Intent {
    Understand,
    Implement,
    Debug,
    Optimize,
    Test,
    Configure,
    Document,
    Review,
}

/// A detected or given intent.
#[derive(Debug, Clone, PartialEq, schemars::JsonSchema, serde::Serialize)]
pub struct QueryIntent {
    /// `None` if no word suggests one.
    #[serde(rename = "type")]
    pub intent: Option<Intent>,
    /// 0–1; 1 if it is given with the request.
    pub confidence: f32,
    /// The reason for the choice.
    pub reasoning: String,
    /// The first terms of the query.
    pub focus_areas: Vec<String>,
    /// Depends on the number of words.
    pub complexity: Complexity,
    /// Whether it changes the ranking: if it is given, or if the query states it (`fix the crash in …`). An
    /// intent that is only guessed from a word of the query does not.
    #[serde(skip)]
    pub acts: bool,
    /// The terms that state it, if it is not given. They say little about the subject.
    #[serde(skip)]
    pub stated_by: Vec<String>,
}

impl QueryIntent {
    /// Returns whether it was given with the request.
    pub fn is_given(&self) -> bool {
        self.confidence == 1.0
    }

    /// Returns the intent, if it changes the ranking.
    pub fn acting(&self) -> Option<Intent> {
        self.intent.filter(|_| self.acts)
    }
}

/// Length of a query: up to 3, up to 9, or more words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, schemars::JsonSchema, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    Simple,
    Moderate,
    Complex,
}

impl Intent {
    /// All intents, in the order in which they are listed and, of equally likely ones, chosen.
    pub const ALL: [Intent; 8] = [
        Intent::Understand,
        Intent::Implement,
        Intent::Debug,
        Intent::Optimize,
        Intent::Test,
        Intent::Configure,
        Intent::Document,
        Intent::Review,
    ];

    /// Names of tasks of agents that mean an intent of another name.
    const SYNONYMS: [(&str, Intent); 3] =
        [("search", Intent::Understand), ("refactor", Intent::Implement), ("local_edit", Intent::Implement)];

    /// Returns the intent called `name`, in any case; `None` if there is none.
    pub fn by_name(name: &str) -> Option<Intent> {
        let own = Intent::ALL.into_iter().map(|intent| (intent.name(), intent));
        let mut all = own.chain(Intent::SYNONYMS);
        all.find(|(known, _)| known.eq_ignore_ascii_case(name.trim())).map(|(_, intent)| intent)
    }

    /// Returns the intent called `name`, if one is named. If there is no such intent, adds that to
    /// `warnings`: it only adjusts the ranking, so that a misspelt name is not worth an error.
    pub fn named(name: Option<&str>, warnings: &mut Vec<String>) -> Option<Intent> {
        let name = name?;
        let intent = Intent::by_name(name);

        // The task of agents without an intent.
        if intent.is_none() && !name.trim().eq_ignore_ascii_case("default") {
            let known: Vec<&str> = Intent::names().collect();
            let tasks: Vec<&str> = Intent::SYNONYMS.iter().map(|(task, _)| *task).collect();
            let name: String = name.chars().take(MAX_QUOTED).flat_map(char::escape_debug).collect();
            warnings.push(format!(
                "unknown intent '{name}' is ignored; the intents are {}, and the tasks {} mean one of them",
                known.join(", "),
                tasks.join(", ")
            ));
        }

        intent
    }

    /// Returns the task of agents called `name`, in any case, whose intent has another name.
    pub fn task_named(name: &str) -> Option<&'static str> {
        let mut tasks = Intent::SYNONYMS.iter().map(|(task, _)| *task);
        tasks.find(|task| task.eq_ignore_ascii_case(name.trim()))
    }

    /// The names of all intents.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Intent::ALL.into_iter().map(Intent::name)
    }

    /// The name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Intent::Understand => "understand",
            Intent::Implement => "implement",
            Intent::Debug => "debug",
            Intent::Optimize => "optimize",
            Intent::Test => "test",
            Intent::Configure => "configure",
            Intent::Document => "document",
            Intent::Review => "review",
        }
    }

    /// The importance profile of a request that gives this intent.
    pub fn task(self) -> TaskProfile {
        match self {
            Intent::Understand => TaskProfile::Search,
            Intent::Implement => TaskProfile::Implement,
            Intent::Debug => TaskProfile::Debug,
            Intent::Optimize => TaskProfile::Refactor,
            Intent::Test => TaskProfile::Test,
            Intent::Configure => TaskProfile::LocalEdit,
            Intent::Document => TaskProfile::Document,
            Intent::Review => TaskProfile::Review,
        }
    }
}
