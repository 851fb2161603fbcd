//! `codeweaver-train`: trains the built-in embedding model on histories of public repositories, and the
//! ranking weights on labelled queries.

mod calibrate;
mod dataset;
mod evaluate;
mod export;
mod extract;
mod pair;
mod rank;
mod train;
mod vocabulary;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "codeweaver-train",
    about = "Train the embedding model and the ranking weights that are built into git-codeweaver"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Extract pairs of text and code from mirrors of public repositories
    Extract(extract::Options),
    /// Print random pairs for inspection
    Sample(extract::sample::Options),
    /// Measure the share of training code that occurs in evaluated repositories
    Overlap(extract::overlap::Options),
    /// Summarise counts and sources of all pairs for the model card
    Summary(extract::summary::Options),
    /// Choose the vocabulary: the words and word pieces that the model has rows for
    Vocabulary(vocabulary::Args),
    /// Build the training dataset and choose the held-out repositories
    Dataset(dataset::Args),
    /// Train the table of the model
    Train(train::Args),
    /// Compute initial rows from a sentence transformer (feature `onnx`)
    InitFromTransformer(train::TeacherArgs),
    /// Evaluate models on the held-out repositories
    Evaluate(evaluate::Args),
    /// Learn the linear ranking weights from labelled queries
    Rank(rank::Options),
    /// Learn from which evidence a query is answered at all
    Calibrate(calibrate::Options),
    /// Write the model file that is compiled into the product
    Export(export::Args),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Extract(options) => extract::run(&options),
        Command::Sample(options) => extract::sample::run(&options),
        Command::Overlap(options) => extract::overlap::run(&options),
        Command::Summary(options) => extract::summary::run(&options),
        Command::Vocabulary(args) => vocabulary::run(&args),
        Command::Dataset(args) => dataset::run(&args),
        Command::Train(args) => train::run(&args),
        Command::InitFromTransformer(args) => train::init_from_transformer(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Rank(options) => rank::run(&options),
        Command::Calibrate(options) => calibrate::run(&options),
        Command::Export(args) => export::run(&args),
    }
}
