//! Profiles: effects of each intent on ranking and on the choice of the definition that is shown.
//!
//! The figures were chosen by `benches/intents.py`; `docs/intents.md` has the effect of each.

use codeweaver_chunk::SemanticClass as C;

use crate::query::intent::Intent;

/// Effects of an intent that acts. Gains are added to a factor of 1.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// Classes, and the factor on the score of a file whose best chunk is of one of them or has a definition
    /// that is.
    pub classes: &'static [C],
    pub class_factor: f32,
    /// Words of code that does what is asked for.
    pub marks: &'static [&'static str],
    /// Gain of a file whose best chunk has several marks and all words of the query.
    pub covered_marks_gain: f32,
    /// Gain of a file one of whose best chunks has several marks.
    pub marks_gain: f32,
    /// Words of paths, and the gain of a file whose name has one.
    pub path_words: &'static [&'static str],
    pub path_gain: f32,
    /// Gain of a file that defines a type or module named as the query.
    pub named_gain: f32,
    /// Gain of a file that is one of many in one folder whose names share a word of the query.
    pub siblings_gain: f32,
    /// Whether the entry point of a subject, a type, comes before the functions that do the work.
    pub entry_points: bool,
    /// Factor on tests, besides their prior.
    pub tests: f32,
    /// Factor on files without the role that is asked for.
    pub others: f32,
    /// Factor on files whose names begin with a dot: settings of tools.
    pub settings: f32,
    /// The minimum prior of documentation.
    pub docs_floor: f32,
    pub focus: FocusProfile,
}

/// Effects of an intent on the choice of the definition that is shown.
#[derive(Debug, Clone, Copy)]
pub struct FocusProfile {
    /// Factors on the evidence for types, for callables, and for data.
    pub types: f32,
    pub callables: f32,
    pub data: f32,
    /// Gain of a type or module that is named as the query.
    pub named_gain: f32,
    /// Gain of a definition with all words of the query beside a mark.
    pub marks_gain: f32,
}

impl FocusProfile {
    /// The profile without an intent: questions ask about the behaviour of code. Measured by the functions
    /// that commits changed, with their messages as queries (`benches/reports.py`).
    pub const NONE: FocusProfile =
        FocusProfile { types: 0.5, callables: 1.0, data: 0.6, named_gain: 0.0, marks_gain: 0.0 };
}

const NONE: Profile = Profile {
    classes: &[],
    class_factor: 1.0,
    marks: &[],
    covered_marks_gain: 0.0,
    marks_gain: 0.0,
    path_words: &[],
    path_gain: 0.0,
    named_gain: 0.0,
    siblings_gain: 0.0,
    entry_points: false,
    tests: 1.0,
    others: 1.0,
    settings: 1.0,
    docs_floor: 0.0,
    focus: FocusProfile::NONE,
};

/// For the type that explains, and the documentation.
static UNDERSTAND: Profile = Profile {
    named_gain: 0.5,
    entry_points: true,
    tests: 0.5,
    docs_floor: 0.9,
    focus: FocusProfile { types: 0.7, callables: 0.85, named_gain: 0.5, ..FocusProfile::NONE },
    ..NONE
};

/// For the place to add something, and its siblings.
static IMPLEMENT: Profile = Profile {
    classes: &[
        C::DefinitionCallable,
        C::DefinitionType,
        C::DefinitionData,
        C::BoundaryModule,
        C::BoundaryError,
        C::BoundaryResource,
    ],
    class_factor: 1.3,
    path_words: &["interface", "abstract", "base"],
    path_gain: 0.2,
    siblings_gain: 1.0,
    focus: FocusProfile { types: 1.2, ..FocusProfile::NONE },
    ..NONE
};

/// For code that raises and handles errors.
static DEBUG: Profile = Profile {
    marks: &[
        "raise",
        "throw",
        "throws",
        "panic",
        "panicked",
        "error",
        "errorf",
        "err",
        "exception",
        "fail",
        "failf",
        "failed",
        "failure",
        "abort",
        "catch",
        "except",
        "rescue",
        "reject",
        "invalid",
        "assert",
        "warn",
        "warning",
        "bail",
    ],
    marks_gain: 0.4,
    focus: FocusProfile { marks_gain: 1.0, ..FocusProfile::NONE },
    ..NONE
};

/// For code that was made to cost less, or could be.
static OPTIMIZE: Profile = Profile {
    marks: &[
        "cache",
        "pool",
        "buffer",
        "batch",
        "lazy",
        "reuse",
        "limit",
        "capacity",
        "memory",
        "stream",
        "fast",
        "allocate",
        "benchmark",
    ],
    covered_marks_gain: 0.3,
    path_gain: 0.4,
    path_words: &[
        "cache",
        "cached",
        "caching",
        "pool",
        "buffer",
        "batch",
        "lazy",
        "fast",
        "interning",
        "memoizer",
        "limit",
        "throttle",
        "debounce",
        "compressor",
        "gzip",
        "concurrency",
        "hint",
        "prefetch",
        "optimizer",
    ],
    ..NONE
};

/// For tests. They may be in the file that they test.
static TEST: Profile = Profile { classes: &[C::DefinitionTest], others: 0.5, ..NONE };

/// For settings, and the code that reads them.
static CONFIGURE: Profile = Profile {
    path_words: &[
        "config",
        "configuration",
        "conf",
        "setting",
        "option",
        "opt",
        "setopt",
        "default",
        "rc",
        "env",
    ],
    path_gain: 0.5,
    settings: 1.5,
    docs_floor: 0.7,
    ..NONE
};

static DOCUMENT: Profile = Profile { others: 0.5, ..NONE };

/// For the review of a change. Only its importance profile has an effect.
static REVIEW: Profile = NONE;

impl Intent {
    /// Returns the effects of the intent on ranking.
    pub fn profile(self) -> &'static Profile {
        match self {
            Intent::Understand => &UNDERSTAND,
            Intent::Implement => &IMPLEMENT,
            Intent::Debug => &DEBUG,
            Intent::Optimize => &OPTIMIZE,
            Intent::Test => &TEST,
            Intent::Configure => &CONFIGURE,
            Intent::Document => &DOCUMENT,
            Intent::Review => &REVIEW,
        }
    }
}
