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
    /// Folder for the checkpoint, the arguments and `model.rows`.
    #[arg(long)]
    pub out: PathBuf,
    #[arg(long, default_value_t = 3_000)]
    pub steps: u64,
    #[arg(long, default_value_t = 1_024)]
    pub batch: usize,
    /// Pairs of the same repository in a batch.
    #[arg(long, default_value_t = 128)]
    pub group: usize,
    /// Whether the negatives of a pair are of its own repository.
    #[arg(long, value_enum, default_value_t = Negatives::Repository)]
    pub negatives: Negatives,
    /// A repository is drawn in proportion to its pairs to this power.
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
    /// Lengths of vectors that are trained, each with how much its loss counts.
    #[arg(long, default_value = "64:0.2,128:0.2,256:1")]
    pub dims: String,
    /// How much the path of a pair counts beside its code.
    #[arg(long, default_value_t = 0.4)]
    pub path_weight: f32,
    /// How often the path is part of the document.
    #[arg(long, default_value_t = 0.5)]
    pub path_share: f32,
    /// How often question words are put around a text.
    #[arg(long, default_value_t = 0.2)]
    pub noise: f32,
    /// How often a text is left with those words only that its code does not have.
    #[arg(long, default_value_t = 0.0)]
    pub unshared: f32,
    /// How often an entry of a text's bag is left out, and of a code's bag.
    #[arg(long, default_value_t = 0.0)]
    pub text_dropout: f32,
    #[arg(long, default_value_t = 0.0)]
    pub code_dropout: f32,
    /// Probability that a pair takes part in an epoch, by kind, such as `path=0.5,name=0.5`; 1 for the others.
    #[arg(long, default_value = "")]
    pub kinds: String,
    /// Share of the pairs that is used.
    #[arg(long, default_value_t = 1.0)]
    pub fraction: f64,
    /// Rows to start from; without it random directions, each as long as its word is rare.
    #[arg(long)]
    pub init: Option<PathBuf>,
    #[arg(long, default_value_t = 1.0)]
    pub init_scale: f32,
    /// Share of the steps, the last ones, in which the pairs of a group are alike.
    #[arg(long, default_value_t = 0.0)]
    pub hard_negatives: f64,
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Held-out pairs of a kind and language in a report.
    #[arg(long, default_value_t = 200)]
    pub sample: usize,
    #[arg(long, default_value_t = 250)]
    pub report_every: u64,
    #[arg(long, default_value_t = 500)]
    pub checkpoint_every: u64,
    /// Stops early, at a checkpoint, as if interrupted; `--resume` goes on.
    #[arg(long)]
    pub stop_after: Option<u64>,
    /// Goes on from the checkpoint in the folder.
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
    /// Learning rate of a step, counted from 1: rises, then falls to zero.
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
        let level = |part: &str| {
            let (dim, weight) = part.split_once(':').unwrap_or((part, "1"));
            Some(Level { dim: dim.trim().parse().ok()?, weight: weight.trim().parse().ok()? })
        };
        let levels: Option<Vec<Level>> = self.dims.split(',').map(level).collect();
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
