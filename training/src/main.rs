//! `codeweaver-train`: from public histories to the model in the binary, and from labelled questions to the weights of the
//! ranking.

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
    about = "Makes the embedding model and the ranking weights that are built into git-codeweaver"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Pairs of text and code from mirrors of public repositories
    Extract(extract::Options),
    /// Random pairs to look at
    Sample(extract::sample::Options),
    /// The share of training code that occurs in evaluated repositories
    Overlap(extract::overlap::Options),
    /// Counts and sources of all pairs, for the model card
    Summary(extract::summary::Options),
    /// The words and pieces that the model has rows for
    Vocabulary(vocabulary::Args),
    /// Bags of all pairs; repositories that are held out
    Dataset(dataset::Args),
    /// The table, trained
    Train(train::Args),
    /// Rows to start from, out of a sentence transformer (feature `onnx`)
    InitFromTransformer(train::TeacherArgs),
    /// Measures tables on repositories that were held out
    Evaluate(evaluate::Args),
    /// The linear weights of the ranking, learned from labelled questions
    Rank(rank::Options),
    /// The file that is compiled into the product
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
        Command::Export(args) => export::run(&args),
    }
}
