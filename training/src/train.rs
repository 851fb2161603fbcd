//! `train`: trains the table of the model on a dataset.
//!
//! * [`sampler`], [`cluster`]: choose the pairs of a batch. [`batch`], [`noise`]: make bags of them.
//! * [`step`]: one optimisation step; [`contrast`]: its loss.
//! * [`init`]: the initial table. [`rows`]: the table and its file.
//! * [`teacher`]: the `init-from-transformer` command.
//!
//! The same arguments give the same bytes, also if a run is interrupted and resumed.

mod batch;
mod cluster;
mod contrast;
mod init;
mod noise;
mod options;
pub mod rows;
mod sampler;
mod step;
mod teacher;

use std::time::Instant;

use anyhow::{Context, Result, ensure};

use codeweaver_embed::Vocabulary;

use crate::dataset::Dataset;
use crate::evaluate::Sample;
use batch::{Batch, Mixing};
use noise::Noise;
use rows::{Progress, Rows};
use sampler::{Sampler, Selection};
use step::{Hyperparameters, Trainer};

pub use options::Args;
pub use teacher::{Args as TeacherArgs, run as init_from_transformer};

pub fn run(args: &Args) -> Result<()> {
    let data = Dataset::read(&args.dataset)?;
    std::fs::create_dir_all(&args.out)?;
    std::fs::write(args.out.join("arguments.json"), serde_json::to_vec_pretty(args)?)?;
    let checkpoint = args.out.join("checkpoint");
    let levels = args.levels()?;
    let dim = levels.last().map_or(0, |level| level.dim);
    let mut sampler = Sampler::new(&data, args.selection()?);
    ensure!(sampler.epoch() > 0, "{} has no pairs to train on", args.dataset.display());

    let mut random = fastrand::Rng::with_seed(args.seed);
    let mut clustered = false;
    let mut done = 0;
    let (rows, moments) = if args.resume && checkpoint.exists() {
        let (rows, progress) = rows::read_checkpoint(&checkpoint)?;
        ensure!(
            rows.n() == data.vocabulary.len()
                && rows.dim == dim
                && progress.queues.len() == sampler.queues.len(),
            "{} belongs to another dataset or other arguments",
            checkpoint.display()
        );
        random = fastrand::Rng::with_seed(progress.seed);
        clustered = progress.clustered;
        done = progress.step;
        sampler.queues = progress.queues;
        (rows, progress.moments)
    } else {
        let rows = match &args.init {
            Some(file) => init::read(file, &data, dim, args.init_scale)?,
            None => init::random(&data, dim, args.init_scale, &mut random),
        };
        let size = rows.data.len();
        (rows, [vec![0.0; size], vec![0.0; size]])
    };
    println!(
        "{} pairs an epoch; {} steps are {:.2} epochs",
        sampler.epoch(),
        args.steps,
        (args.steps * args.batch as u64) as f64 / sampler.epoch() as f64
    );

    let encoded = Vocabulary::encode(&data.vocabulary)?;
    let mixing = Mixing {
        path_share: args.path_share,
        noise_share: args.noise,
        unshared_share: args.unshared,
        text_dropout: args.text_dropout,
        code_dropout: args.code_dropout,
        noise: Noise::new(&Vocabulary::new(&encoded)?),
    };
    let hyperparameters = Hyperparameters {
        batch: args.batch,
        temperature: args.temperature,
        levels,
        path_weight: args.path_weight,
        beta: [args.beta1, args.beta2],
        threads: args.threads,
    };
    let sample = Sample::new(&data, args.sample);
    let mut trainer = Trainer::new(rows, moments, hyperparameters);
    let hard_from = (args.steps as f64 * (1.0 - args.hard_negatives)) as u64;
    let (started, mut losses) = (Instant::now(), Losses::default());
    for step in done + 1..=args.steps {
        let hard = args.hard_negatives > 0.0 && step > hard_from;
        if hard && !clustered {
            sampler.cluster(&mut random, &trainer.rows);
            clustered = true;
        }
        let pairs = sampler.next(&mut random, hard.then_some(&trainer.rows));
        let batch = Batch::new(&data, &pairs, &mixing, &mut random);
        let loss = trainer.step(&batch, step, args.rate_at(step));
        ensure!(loss.is_finite(), "the loss of step {step} is not a number; lower --rate");
        losses.add(loss);
        let last = step == args.steps;
        if step % args.report_every == 0 || last {
            let pace = started.elapsed().as_secs_f64() / (step - done) as f64;
            println!(
                "step {step} loss {:.4} {pace:.3} s a step; {}",
                losses.take(),
                sample.report(&trainer.rows)
            );
        }
        let stop = args.stop_after == Some(step);
        if step % args.checkpoint_every == 0 || last || stop {
            let progress = Progress {
                step,
                seed: random.get_seed(),
                moments: trainer.moments.clone(),
                queues: sampler.queues.clone(),
                clustered,
            };
            rows::write(&checkpoint, &trainer.rows, Some(&progress))?;
        }
        if stop {
            return Ok(());
        }
    }
    write_model(args, &trainer.rows)
}

fn write_model(args: &Args, rows: &Rows) -> Result<()> {
    let path = args.out.join("model.rows");
    rows::write(&path, rows, None).with_context(|| format!("writing {}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

/// Accumulated loss since the last report.
#[derive(Default)]
struct Losses {
    sum: f64,
    n: u32,
}

impl Losses {
    fn add(&mut self, loss: f64) {
        self.sum += loss;
        self.n += 1;
    }

    fn take(&mut self) -> f64 {
        let mean = self.sum / f64::from(self.n.max(1));
        *self = Losses::default();
        mean
    }
}

#[cfg(test)]
mod tests;
