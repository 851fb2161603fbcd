//! Ablation: runs the suite again with one weight of the ranking changed, or without one of its stages.

use std::path::Path;

use codeweaver::query::rank::{WEIGHTS, Weights};
use codeweaver::query::{Stage, Stages};

use super::error::EvalError;
use super::metric::DEPTH;
use super::report::Report;
use super::runner::Runner;

/// NDCG@10 with one weight changed, or without one stage.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Change {
    /// Name of the weight or of the stage.
    pub weight: String,
    pub value: f32,
    pub overall: f64,
    pub tuned: f64,
    #[serde(rename = "kept_aside")]
    pub held_out: f64,
}

impl Change {
    fn new(weight: &str, value: f32, report: &Report) -> Change {
        let ndcg = [report.overall, report.tuned, report.held_out].map(|scores| scores.ndcg);
        Change { weight: weight.to_owned(), value, overall: ndcg[0], tuned: ndcg[1], held_out: ndcg[2] }
    }
}

/// Returns the names of all weights, in the order of the weight table.
pub fn names() -> Vec<String> {
    WEIGHTS.by_name().into_iter().map(|(name, _)| name).collect()
}

/// Returns `weights` with the one called `name` set to `value`.
pub fn with(weights: &Weights, name: &str, value: f32) -> Result<Weights, EvalError> {
    let mut map = serde_json::to_value(weights).map_err(|_| unknown_weight(name))?;
    let slot = map.get_mut(name).ok_or_else(|| unknown_weight(name))?;
    *slot = value.into();

    serde_json::from_value(map).map_err(|e| EvalError::format(Path::new("weights"), e))
}

fn unknown_weight(name: &str) -> EvalError {
    EvalError::UnknownWeight { name: name.to_owned() }
}

/// Returns the value of the weight called `name`; 0 if there is none.
pub fn value(weights: &Weights, name: &str) -> f32 {
    let map = serde_json::to_value(weights).unwrap_or_default();
    map.get(name).and_then(serde_json::Value::as_f64).unwrap_or(0.0) as f32
}

/// Runs the suite once for each of `values` of the weight called `name`.
pub fn sweep(
    runner: &Runner,
    weights: &Weights,
    name: &str,
    values: &[f32],
) -> Result<Vec<Change>, EvalError> {
    values
        .iter()
        .map(|&value| Ok(Change::new(name, value, &runner.run(&with(weights, name, value)?, DEPTH))))
        .collect()
}

/// Runs the suite with each weight neutralised in turn: set to 0, or to 1 if it is a factor or a prior; then
/// without each stage in turn.
pub fn leave_out(runner: &Runner, weights: &Weights) -> Result<Vec<Change>, EvalError> {
    let mut changes = vec![Change::new("all", 0.0, &runner.run(weights, DEPTH))];
    for name in names() {
        let neutral = if name.starts_with("prior_") || name == "definition_in_own_file" { 1.0 } else { 0.0 };
        // A weight that is neutral already would give the report of all weights again.
        if value(weights, &name) != neutral {
            changes.extend(sweep(runner, weights, &name, &[neutral])?);
        }
    }

    for stage in Stage::ALL {
        let report = runner.run_with(weights, Stages::default().without(stage), DEPTH);
        changes.push(Change::new(stage.name(), 0.0, &report));
    }

    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_changed_by_name() {
        assert!(names().len() > 20);
        assert!(Stage::ALL.iter().all(|stage| !names().contains(&stage.name().to_owned())));
        for name in names() {
            assert_eq!(value(&with(&WEIGHTS, &name, 0.123).unwrap(), &name), 0.123);
        }
        assert!(matches!(with(&WEIGHTS, "nonsense", 1.0), Err(EvalError::UnknownWeight { .. })));
    }
}
