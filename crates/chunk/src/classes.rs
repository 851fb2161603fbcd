//! Semantic classes, their category and importance for five kinds of work, and the task profiles that weight
//! them.

/// Semantic class of a chunk or symbol. Discriminants are stored in segments: append only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[repr(u8)]
pub enum SemanticClass {
    DefinitionCallable = 0,
    DefinitionType = 1,
    DefinitionData = 2,
    DefinitionTest = 3,
    BoundaryModule = 4,
    BoundaryError = 5,
    BoundaryResource = 6,
    DocumentationStructured = 7,
    FlowBranching = 8,
    FlowIteration = 9,
    FlowControl = 10,
    FlowAsync = 11,
    OperationInvocation = 12,
    OperationData = 13,
    OperationOperator = 14,
    ExpressionAnonymous = 15,
    SyntaxKeyword = 16,
    SyntaxIdentifier = 17,
    SyntaxLiteral = 18,
    SyntaxAnnotation = 19,
    SyntaxPunctuation = 20,
    Unknown = 21,
}

/// Importance of a class for five kinds of work, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Importance {
    #[serde(serialize_with = "hundredths")]
    pub discovery: f32,
    #[serde(serialize_with = "hundredths")]
    pub comprehension: f32,
    #[serde(serialize_with = "hundredths")]
    pub modification: f32,
    #[serde(serialize_with = "hundredths")]
    pub debugging: f32,
    #[serde(serialize_with = "hundredths")]
    pub documentation: f32,
}

/// Serialises `score` as a double with the two decimals of the table. Converted directly, 0.95 would be
/// 0.949999988079071.
fn hundredths<S: serde::Serializer>(score: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((f64::from(*score) * 100.0).round() / 100.0)
}

/// The task that the results of a query are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskProfile {
    Debug,
    Default,
    Document,
    Implement,
    LocalEdit,
    Refactor,
    Review,
    Search,
    Test,
}

use SemanticClass as C;

/// A class with its category and importance, as chunks are written for readers.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct ClassFacts {
    pub class: SemanticClass,
    pub category: &'static str,
    pub importance: Importance,
}

struct ClassRow {
    class: SemanticClass,
    name: &'static str,
    title: &'static str,
    tier: u8,
    importance: Importance,
}

const fn row(
    class: SemanticClass,
    name: &'static str,
    title: &'static str,
    tier: u8,
    scores: [f32; 5],
) -> ClassRow {
    ClassRow { class, name, title, tier, importance: importance(scores) }
}

const fn importance(scores: [f32; 5]) -> Importance {
    let [discovery, comprehension, modification, debugging, documentation] = scores;
    Importance { discovery, comprehension, modification, debugging, documentation }
}

/// All classes in the order of their discriminants, with name, title, tier and importance.
#[rustfmt::skip]
static CLASSES: [ClassRow; 22] = [
    row(C::DefinitionCallable, "DEFINITION_CALLABLE", "function", 1, [0.95, 0.92, 0.85, 0.85, 0.92]),
    row(C::DefinitionType, "DEFINITION_TYPE", "type", 1, [0.95, 0.92, 0.90, 0.80, 0.92]),
    row(C::DefinitionData, "DEFINITION_DATA", "data", 1, [0.85, 0.88, 0.80, 0.65, 0.90]),
    row(C::DefinitionTest, "DEFINITION_TEST", "test", 1, [0.88, 0.90, 0.70, 0.90, 0.85]),
    row(C::BoundaryModule, "BOUNDARY_MODULE", "module", 2, [0.85, 0.80, 0.85, 0.60, 0.75]),
    row(C::BoundaryError, "BOUNDARY_ERROR", "error handling", 2, [0.70, 0.85, 0.75, 0.95, 0.70]),
    row(C::BoundaryResource, "BOUNDARY_RESOURCE", "resource handling", 2, [0.65, 0.80, 0.80, 0.90, 0.65]),
    row(C::DocumentationStructured, "DOCUMENTATION_STRUCTURED", "documentation", 2, [0.55, 0.75, 0.50, 0.40, 0.95]),
    row(C::FlowBranching, "FLOW_BRANCHING", "branch", 3, [0.60, 0.75, 0.65, 0.90, 0.50]),
    row(C::FlowIteration, "FLOW_ITERATION", "loop", 3, [0.50, 0.70, 0.65, 0.80, 0.45]),
    row(C::FlowControl, "FLOW_CONTROL", "jump", 3, [0.45, 0.65, 0.55, 0.90, 0.35]),
    row(C::FlowAsync, "FLOW_ASYNC", "asynchronous code", 3, [0.65, 0.80, 0.75, 0.85, 0.60]),
    row(C::OperationInvocation, "OPERATION_INVOCATION", "call", 4, [0.45, 0.65, 0.45, 0.75, 0.25]),
    row(C::OperationData, "OPERATION_DATA", "assignment", 4, [0.35, 0.55, 0.50, 0.70, 0.25]),
    row(C::OperationOperator, "OPERATION_OPERATOR", "operator", 4, [0.25, 0.45, 0.35, 0.60, 0.25]),
    row(C::ExpressionAnonymous, "EXPRESSION_ANONYMOUS", "anonymous function", 4, [0.40, 0.65, 0.50, 0.60, 0.45]),
    row(C::SyntaxKeyword, "SYNTAX_KEYWORD", "keyword", 5, [0.20, 0.30, 0.40, 0.50, 0.15]),
    row(C::SyntaxIdentifier, "SYNTAX_IDENTIFIER", "identifier", 5, [0.25, 0.40, 0.25, 0.45, 0.20]),
    row(C::SyntaxLiteral, "SYNTAX_LITERAL", "literal", 5, [0.15, 0.20, 0.15, 0.40, 0.20]),
    row(C::SyntaxAnnotation, "SYNTAX_ANNOTATION", "annotation", 5, [0.35, 0.45, 0.60, 0.40, 0.40]),
    row(C::SyntaxPunctuation, "SYNTAX_PUNCTUATION", "punctuation", 5, [0.05, 0.05, 0.05, 0.05, 0.05]),
    row(C::Unknown, "UNKNOWN", "other", 6, [0.0, 0.0, 0.0, 0.0, 0.0]),
];

impl SemanticClass {
    /// Returns the class of a stored discriminant.
    pub fn from_u8(value: u8) -> Option<Self> {
        CLASSES.get(usize::from(value)).map(|row| row.class)
    }

    /// Returns the name in JSON and filters, for example `DEFINITION_CALLABLE`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the class in plain words, for people, for example `function`.
    pub fn title(self) -> &'static str {
        self.row().title
    }

    /// Returns the class of that name, the inverse of [`name`](Self::name).
    pub fn by_name(name: &str) -> Option<Self> {
        CLASSES.iter().find(|row| row.name == name).map(|row| row.class)
    }

    /// Returns the tier, from 1 (primary definitions) to 5 (syntax); 6 for `UNKNOWN`.
    pub fn tier(self) -> u8 {
        self.row().tier
    }

    /// Returns the first word of the name in lower case, for example `definition`.
    pub fn category(self) -> &'static str {
        match self {
            C::DefinitionCallable | C::DefinitionType | C::DefinitionData | C::DefinitionTest => "definition",
            C::BoundaryModule | C::BoundaryError | C::BoundaryResource => "boundary",
            C::DocumentationStructured => "documentation",
            C::FlowBranching | C::FlowIteration | C::FlowControl | C::FlowAsync => "flow",
            C::OperationInvocation | C::OperationData | C::OperationOperator => "operation",
            C::ExpressionAnonymous => "expression",

            C::SyntaxKeyword
            | C::SyntaxIdentifier
            | C::SyntaxLiteral
            | C::SyntaxAnnotation
            | C::SyntaxPunctuation => "syntax",
            C::Unknown => "unknown",
        }
    }

    /// Returns the class with its category and importance.
    pub fn facts(self) -> ClassFacts {
        ClassFacts { class: self, category: self.category(), importance: self.importance() }
    }

    /// Returns the five scores; all are 0 for `UNKNOWN`.
    pub fn importance(self) -> Importance {
        self.row().importance
    }

    /// Returns true for the four classes of tier 1.
    pub fn is_definition(self) -> bool {
        self.tier() == 1
    }

    fn row(self) -> &'static ClassRow {
        &CLASSES[self as usize]
    }
}

impl Importance {
    /// Returns the five scores in the order of the fields.
    pub fn scores(self) -> [f32; 5] {
        let Self { discovery, comprehension, modification, debugging, documentation } = self;
        [discovery, comprehension, modification, debugging, documentation]
    }

    /// Returns the highest of the five scores.
    pub fn max(self) -> f32 {
        self.scores().into_iter().fold(0.0, f32::max)
    }

    /// Returns the sum of the scores, weighted by the profile of a task and clamped to 0–1.
    pub fn weighted(self, task: TaskProfile) -> f32 {
        let weights = task.weights();
        let sum = self.discovery * weights.discovery
            + self.comprehension * weights.comprehension
            + self.modification * weights.modification
            + self.debugging * weights.debugging
            + self.documentation * weights.documentation;
        sum.clamp(0.0, 1.0)
    }
}

impl TaskProfile {
    /// Returns the weights of the five scores, normalised to the sum 1.
    pub fn weights(self) -> Importance {
        let raw: [f32; 5] = match self {
            Self::Debug => [0.20, 0.30, 0.10, 0.35, 0.05],
            Self::Default => [0.05; 5],
            Self::Document => [0.20, 0.20, 0.10, 0.05, 0.45],
            Self::Implement => [0.30, 0.30, 0.20, 0.10, 0.10],
            Self::LocalEdit => [0.40, 0.30, 0.20, 0.05, 0.05],
            Self::Refactor => [0.15, 0.25, 0.45, 0.10, 0.05],
            Self::Review => [0.25, 0.35, 0.15, 0.15, 0.10],
            Self::Search => [0.50, 0.20, 0.15, 0.10, 0.05],
            Self::Test => [0.50, 0.20, 0.20, 0.40, 0.10],
        };

        let sum: f32 = raw.iter().sum();
        importance(raw.map(|weight| weight / sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_discriminants() {
        for (position, row) in CLASSES.iter().enumerate() {
            assert_eq!(row.class as usize, position);
            assert_eq!(SemanticClass::from_u8(position as u8), Some(row.class));
            assert_eq!(SemanticClass::by_name(row.name), Some(row.class));
            let first_word = row.name.split('_').next().map(str::to_ascii_lowercase);
            assert_eq!(first_word.as_deref(), Some(row.class.category()));
        }
        assert_eq!(SemanticClass::from_u8(22), None);
    }

    #[test]
    fn titles_are_plain_words_of_one_class_each() {
        for (position, row) in CLASSES.iter().enumerate() {
            let is_plain = row.title.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b' ');
            assert!(is_plain && !row.title.is_empty(), "{}", row.title);
            assert!(CLASSES[..position].iter().all(|other| other.title != row.title), "{}", row.title);
        }
    }

    #[test]
    fn profiles_sum_to_one() {
        for task in [TaskProfile::Debug, TaskProfile::Default, TaskProfile::Test, TaskProfile::Search] {
            let w = task.weights();
            let sum = w.discovery + w.comprehension + w.modification + w.debugging + w.documentation;
            assert!((sum - 1.0).abs() < 1e-5);
        }
        let callable = C::DefinitionCallable.importance();
        assert!((callable.weighted(TaskProfile::Default) - 0.898).abs() < 1e-3);
        assert!(
            callable.weighted(TaskProfile::Search)
                > C::FlowControl.importance().weighted(TaskProfile::Search)
        );
    }
}
