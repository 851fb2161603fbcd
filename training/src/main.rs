//! `codeweaver-train`: from public histories to the model in the binary.

mod extract;
mod pair;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "codeweaver-train", about = "Makes the embedding model that is built into git-codeweaver")]
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
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Extract(options) => extract::run(&options),
        Command::Sample(options) => extract::sample::run(&options),
        Command::Overlap(options) => extract::overlap::run(&options),
        Command::Summary(options) => extract::summary::run(&options),
    }
}
