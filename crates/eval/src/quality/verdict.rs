//! Verdicts: the answer of a judge on an issue.

use serde::{Deserialize, Serialize};

use super::figures::Dimensions;

/// Whether a file has to do with the issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relevant {
    Yes,
    No,
    NotJudged,
}

/// Whether the issue can be fixed in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Actionable {
    Yes,
    No,
    Maybe,
    NotJudged,
}

/// The verdict of a judge on one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    pub path: String,
    pub relevant: Relevant,
    /// Whether the issue can be fixed in this file.
    #[serde(default = "not_judged")]
    pub actionable: Actionable,
    #[serde(default)]
    pub reasoning: String,
}

fn not_judged() -> Actionable {
    Actionable::NotJudged
}

/// A check of the area of an issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AreaCheck {
    pub accurate: bool,
    /// The right area, if the judge knows a better one.
    #[serde(default)]
    pub better: Option<String>,
}

/// The whole answer of a judge on one issue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    pub verdicts: Vec<Verdict>,
    #[serde(default)]
    pub area: Option<AreaCheck>,
    #[serde(default)]
    pub dimensions: Dimensions,
    /// The score of the answer as a whole, 1–5.
    #[serde(default)]
    pub gestalt: Option<f64>,
    #[serde(default)]
    pub reasoning: String,
}
