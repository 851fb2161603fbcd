//! `sample`: prints random pairs for inspection.

use std::path::PathBuf;

use crate::pair::{Pair, PairKind, PairReader};

#[derive(clap::Args)]
pub struct Options {
    /// `.pairs` files.
    pairs: Vec<PathBuf>,
    /// Only pairs of this kind.
    #[arg(long)]
    kind: Option<String>,
    /// Only pairs in this language.
    #[arg(long)]
    language: Option<String>,
    /// Number of pairs.
    #[arg(long, default_value_t = 20)]
    n: usize,
    /// Maximum number of characters of each code.
    #[arg(long, default_value_t = 300)]
    code: usize,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub fn run(options: &Options) -> anyhow::Result<()> {
    let known = |name: &String| PairKind::ALL.iter().any(|kind| kind.name() == name);
    anyhow::ensure!(
        options.kind.as_ref().is_none_or(known),
        "unknown pair kind '{}'",
        options.kind.clone().unwrap_or_default()
    );
    let mut random = fastrand::Rng::with_seed(options.seed);
    let mut chosen: Vec<Pair> = Vec::new();
    let mut seen = 0;
    for path in &options.pairs {
        for pair in PairReader::open(path)? {
            let pair = pair?;
            let fits = options.kind.as_deref().is_none_or(|kind| pair.kind.name() == kind)
                && options.language.as_deref().is_none_or(|language| pair.language == language);
            if !fits {
                continue;
            }
            seen += 1;
            if chosen.len() < options.n {
                chosen.push(pair);
            } else {
                let at = random.usize(..seen);
                if at < options.n {
                    chosen[at] = pair;
                }
            }
        }
    }
    for pair in chosen {
        let shown: String = pair.code.chars().take(options.code).collect();
        println!("== {} {} {}\n{}\n--\n{shown}\n", pair.kind.name(), pair.language, pair.path, pair.text);
    }
    Ok(())
}
