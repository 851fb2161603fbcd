//! `codeweaver-train`: from public histories to the model in the binary.

mod dataset;
mod evaluate;
mod export;
mod pair;
mod train;
mod vocabulary;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "codeweaver-train", about = "Makes the embedding model that is built into git-codeweaver")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
    /// The file that is compiled into the product
    Export(export::Args),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Vocabulary(args) => vocabulary::run(&args),
        Command::Dataset(args) => dataset::run(&args),
        Command::Train(args) => train::run(&args),
        Command::InitFromTransformer(args) => train::init_from_transformer(&args),
        Command::Evaluate(args) => evaluate::run(&args),
        Command::Export(args) => export::run(&args),
    }
}
