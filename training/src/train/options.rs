//! Arguments of `train`.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use super::Selection;
use super::contrast::Level;
use crate::pair::PairKind;

#[derive(Debug, Clone, clap::Args, serde::Serialize)]
pub struct Args {
    #[arg(long)]
    pub dataset: PathBuf,
    /// Output directory for the checkpoint, the arguments and `model.rows`.
    #[arg(long)]
    pub out: PathBuf,
    #[arg(long, default_value_t = 3_000)]
    pub steps: u64,
    #[arg(long, default_value_t = 1_024)]
    pub batch: usize,
    /// Number of pairs of the same repository in a batch.
    #[arg(long, default_value_t = 128)]
    pub group: usize,
    /// Whether negatives come from the pair's own repository or from all.
    #[arg(long, value_enum, default_value_t = Negatives::Repository)]
    pub negatives: Negatives,
    /// Repositories are drawn in proportion to their number of pairs raised to this power.
    #[arg(long, default_value_t = 0.75)]
    pub repository_power: f64,
    #[arg(long, default_value_t = 0.05)]
    pub temperature: f32,
    #[arg(long, default_value_t = 0.008)]
    pub rate: f32,
    #[arg(long, default_value_t = 100)]
    pub warm_up: u64,
    #[arg(long, value_enum, default_value_t = Decay::Linear)]
    pub decay: Decay,
    #[arg(long, default_value_t = 0.9)]
    pub beta1: f32,
    #[arg(long, default_value_t = 0.98)]
    pub beta2: f32,
    /// Vector lengths to train, each with the weight of its loss.
    #[arg(long, default_value = "64:0.2,128:0.2,256:1")]
    pub dims: String,
    /// Weight of a pair's path relative to its code.
    #[arg(long, default_value_t = 0.4)]
    pub path_weight: f32,
    /// Probability that the path is part of the document.
    #[arg(long, default_value_t = 0.5)]
    pub path_share: f32,
    /// Probability that query words are added to a text.
    #[arg(long, default_value_t = 0.2)]
    pub noise: f32,
    /// Probability that the words of its code are removed from a text.
    #[arg(long, default_value_t = 0.0)]
    pub unshared: f32,
    /// Probability that an entry of a text's bag is dropped.
    #[arg(long, default_value_t = 0.0)]
    pub text_dropout: f32,
    /// Probability that an entry of a code's bag is dropped.
    #[arg(long, default_value_t = 0.0)]
    pub code_dropout: f32,
    /// Probability that a pair is part of an epoch, by kind, such as `path=0.5,name=0.5`; 1 for other kinds.
    #[arg(long, default_value = "")]
    pub kinds: String,
    /// Share of the pairs to use.
    #[arg(long, default_value_t = 1.0)]
    pub fraction: f64,
    /// Initial rows; default: random rows whose length is the inverse document frequency of the word.
    #[arg(long)]
    pub init: Option<PathBuf>,
    #[arg(long, default_value_t = 1.0)]
    pub init_scale: f32,
    /// Share of the steps, at the end, in which the pairs of a group are similar to each other.
    #[arg(long, default_value_t = 0.0)]
    pub hard_negatives: f64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Maximum number of held-out pairs of a kind and language in a report.
    #[arg(long, default_value_t = 200)]
    pub sample: usize,
    #[arg(long, default_value_t = 250)]
    pub report_every: u64,
    #[arg(long, default_value_t = 500)]
    pub checkpoint_every: u64,
    /// Write a checkpoint after this step and stop; `--resume` continues.
    #[arg(long)]
    pub stop_after: Option<u64>,
    /// Continue from the checkpoint in the output directory.
    #[arg(long)]
    pub resume: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
pub enum Negatives {
    Repository,
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
pub enum Decay {
    Linear,
    Cosine,
}

impl Args {
    /// Learning rate of a step, counted from 1: linear warm-up, then decay to zero.
    pub fn rate_at(&self, step: u64) -> f32 {
        if step <= self.warm_up {
            return self.rate * step as f32 / self.warm_up as f32;
        }
        let rest = self.steps.saturating_sub(self.warm_up).max(1) as f32;
        let left = 1.0 - (step - self.warm_up - 1) as f32 / rest;
        match self.decay {
            Decay::Linear => self.rate * left,
            Decay::Cosine => self.rate * 0.5 * (1.0 - (std::f32::consts::PI * left).cos()),
        }
    }

    pub fn levels(&self) -> Result<Vec<Level>> {
        let levels: Option<Vec<Level>> = self.dims.split(',').map(parse_level).collect();
        let levels = levels.with_context(|| format!("--dims `{}` is not like `64:0.2,256:1`", self.dims))?;
        ensure!(
            levels[0].dim > 0 && levels.windows(2).all(|pair| pair[0].dim < pair[1].dim),
            "--dims `{}` does not ascend",
            self.dims
        );
        Ok(levels)
    }

    pub fn selection(&self) -> Result<Selection> {
        let mut kinds = [1.0; PairKind::ALL.len()];
        for part in self.kinds.split(',').filter(|part| !part.is_empty()) {
            let parsed = part.split_once('=').and_then(|(name, share)| {
                let kind = PairKind::ALL.into_iter().find(|kind| kind.name() == name.trim())?;
                Some((kind, share.trim().parse::<f32>().ok()?))
            });
            let (kind, share) =
                parsed.with_context(|| format!("--kinds: `{part}` is not like `path=0.5`"))?;
            kinds[kind as usize] = share;
        }
        Ok(Selection {
            batch: self.batch,
            group: if self.negatives == Negatives::Random { 0 } else { self.group },
            power: self.repository_power,
            kinds,
            fraction: self.fraction,
            threads: self.threads,
        })
    }
}

/// Parses `DIM:WEIGHT`; the weight is 1 if it is left out.
fn parse_level(part: &str) -> Option<Level> {
    let (dim, weight) = part.split_once(':').unwrap_or((part, "1"));
    Some(Level { dim: dim.trim().parse().ok()?, weight: weight.trim().parse().ok()? })
}
