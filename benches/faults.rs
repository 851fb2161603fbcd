//! Long form of the fault campaign: thousands of kills, counted by kind.
//!
//! Run with `cargo bench --profile dev --bench faults -- --kills 10000 --seed 1`. Only the dev profile
//! contains the injection of failing writes (`src/store/fault.rs`); a release build runs the same campaign
//! with kills and damage alone. It takes about a quarter of an hour for a thousand kills on one slow core and
//! prints a table after every repository. If a check fails, the exit code is 1 and the repositories concerned
//! stay on disk. The short form runs in `tests/it/robustness/faults.rs`, and `docs/reliability.md` describes
//! the campaign.

#![allow(dead_code, clippy::unwrap_used, reason = "shared with the tests, which use more of it")]

#[cfg(unix)]
#[path = "../tests/it/robustness/campaign/mod.rs"]
mod campaign;
#[cfg(unix)]
#[path = "../tests/it/support/mod.rs"]
mod support;

use std::process::ExitCode;

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("the campaign runs on Unix alone");
    ExitCode::FAILURE
}

#[cfg(unix)]
fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let number = |name: &str, default: u64| {
        let at = args.iter().position(|arg| arg == name);
        at.and_then(|at| args.get(at + 1)?.parse().ok()).unwrap_or(default)
    };
    let (n_kills, seed) = (number("--kills", 200), number("--seed", 1));
    let mut campaign = campaign::Campaign::new(seed);
    let started = std::time::Instant::now();
    campaign.run(n_kills, &mut |counts| {
        println!("after {} s, seed {seed}", started.elapsed().as_secs());
        println!("{counts}");
    });
    println!("end after {} s, seed {seed}, {} kills", started.elapsed().as_secs(), campaign.counts.kills());
    ExitCode::from(u8::from(!campaign.counts.failures.is_empty()))
}
