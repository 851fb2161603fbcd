//! Learners: propose other ranking weights from what was judged so far.
//!
//! [`Learner::Tune`] is `eval tune` over all judged issues, with the areas as groups of its guards; it learns
//! nothing before its least number of queries. Any other learner is an external command, described in
//! docs/quality-loop.md. The next iteration searches with the proposed weights, which are taken back if an
//! area loses by them.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use codeweaver::query::rank::{Weights, own_weights};

use super::external;
use crate::error::EvalError;
use crate::runner::Runner;
use crate::tune::bootstrap::Interval;
use crate::tune::guard::{Guard, Limits};
use crate::tune::{self, Options, WeightChange};

/// A learner. Its text form is `none`, `tune` or a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Learner {
    None,
    Tune,
    /// A command for the shell.
    External(String),
}

impl From<String> for Learner {
    fn from(text: String) -> Learner {
        match text.as_str() {
            "none" => Learner::None,
            "tune" => Learner::Tune,
            _ => Learner::External(text),
        }
    }
}

impl From<Learner> for String {
    fn from(learner: Learner) -> String {
        learner.to_string()
    }
}

impl fmt::Display for Learner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Learner::None => "none",
            Learner::Tune => "tune",
            Learner::External(command) => command,
        })
    }
}

/// A change of the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub description: String,
    pub weights: Vec<WeightChange>,
    /// The gain of NDCG@10 over the issues so far, cross-validated; `None` for an external learner.
    pub gain: Option<Interval>,
    pub guards: Vec<Guard>,
}

/// The proposal of a learner.
pub enum Proposed {
    /// A change, with the weights that it leads to.
    Change(Change, Box<Weights>),
    /// No change, with the reason.
    Nothing(String),
}

/// The input of an external learner.
#[derive(Serialize)]
struct Question<'a, M: Serialize> {
    version: u32,
    role: &'static str,
    weights: &'a Weights,
    memory: &'a M,
}

/// The output of an external learner.
#[derive(Deserialize)]
struct Answer {
    description: String,
    /// `null` for no change.
    weights: Option<Weights>,
}

impl Learner {
    /// Proposes a change of `current`. `open` opens the judged issues as a suite; `memory` has the results of
    /// the loop so far.
    ///
    /// # Errors
    /// Those of `open`, and of [`external::run`]; [`EvalError::Command`] for weights out of their range.
    pub fn propose(
        &self,
        current: &Weights,
        open: &dyn Fn() -> Result<Runner, EvalError>,
        memory: &impl Serialize,
        directory: &Path,
        limits: &external::Limits,
    ) -> Result<Proposed, EvalError> {
        match self {
            Learner::None => Ok(Proposed::Nothing("no learner was given".to_owned())),
            Learner::Tune => tuned(current, &open()?),
            Learner::External(command) => {
                let question =
                    Question { version: super::PROTOCOL, role: "learner", weights: current, memory };
                let answer: Answer = external::run(command, directory, &question, limits)?;

                answered(answer, current).map_err(|why| EvalError::Command { command: command.clone(), why })
            }
        }
    }
}

/// Checks the answer of an external learner; the error says what is wrong with its weights.
fn answered(answer: Answer, current: &Weights) -> Result<Proposed, String> {
    let description = answer.description;
    let Some(weights) = answer.weights.filter(|weights| weights != current) else {
        return Ok(Proposed::Nothing(format!("the learner proposes nothing: {description}")));
    };
    own_weights::check(&weights)?;

    let changes = changes(current, &weights);
    let change = Change { description, weights: changes, gain: None, guards: Vec::new() };
    Ok(Proposed::Change(change, Box::new(weights)))
}

/// Proposes the weights of `eval tune`, if all of its guards hold.
fn tuned(current: &Weights, runner: &Runner) -> Result<Proposed, EvalError> {
    // The time to rank differs from run to run, and a resumed loop must decide as one that was not
    // interrupted.
    let limits = Limits { time: f64::INFINITY, ..Limits::default() };
    let proposal = match tune::propose(&[runner], current, &Options { limits, ..Options::default() }) {
        Ok(proposal) => proposal,
        Err(EvalError::TooFewQueries { n, least }) => {
            let why = format!("{n} issues have a relevant file among their results, and {least} are needed");
            return Ok(Proposed::Nothing(why));
        }
        Err(error) => return Err(error),
    };

    let holds = proposal.holds();
    let guards: Vec<Guard> = proposal.guards.into_iter().filter(|guard| guard.name != "time").collect();

    if !holds || proposal.changes.is_empty() {
        let failed: Vec<String> = guards
            .iter()
            .filter(|guard| !guard.holds)
            .map(|guard| format!("{} ({})", guard.name, guard.figure))
            .collect();
        let why = if failed.is_empty() { "no weight changes".to_owned() } else { failed.join("; ") };
        return Ok(Proposed::Nothing(format!("the learned weights are refused: {why}")));
    }

    let description = format!("weights learned from {} issues", proposal.n_queries);
    let change = Change { description, weights: proposal.changes, gain: Some(proposal.gain), guards };
    Ok(Proposed::Change(change, Box::new(proposal.weights)))
}

/// Returns the weights that differ.
fn changes(before: &Weights, after: &Weights) -> Vec<WeightChange> {
    let pairs = before.by_name().into_iter().zip(after.by_name());
    pairs
        .filter(|((_, before), (_, after))| before != after)
        .map(|((name, before), (_, after))| WeightChange { name, before, after })
        .collect()
}
