//! Semantic classes and their importance (appendix A).

/// What a piece of code is for. Discriminants are stored in segments: append only.
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
