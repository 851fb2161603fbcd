//! End-to-end training on synthetic pairs about a few topics.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::*;
use crate::pair::{Pair, PairKind, PairWriter};

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

/// A dataset whose texts and codes share no word; both are drawn from the words of a topic.
fn dataset(folder: &Path) -> PathBuf {
    let mut random = fastrand::Rng::with_seed(9);
    let mut words: Vec<String> = Vec::new();
    for topic in 0..40 {
        words.extend((0..4).map(|n| format!("ask{}{}", letters(topic), letters(n))));
        words.extend((0..4).map(|n| format!("code{}{}", letters(topic), letters(n))));
    }
    std::fs::write(folder.join("vocabulary"), words.join("\n")).unwrap();
    for repository in 0..5 {
        let mut writer = PairWriter::create(&folder.join(format!("o+r{repository}.pairs"))).unwrap();
        for n in 0..450 {
            let topic = random.usize(..40);
            let mut some = |kind: usize, n: usize| -> String {
                let words = (0..n).map(|_| words[topic * 8 + kind * 4 + random.usize(..4)].as_str());
                words.collect::<Vec<_>>().join(" ")
            };
            let (text, code, path) = (some(0, 3), some(1, 6), some(1, 1));
            let kind = [PairKind::Doc, PairKind::Commit, PairKind::Name][n % 3];
            let path = format!("src/{path}.rs");
            writer.write(&Pair { kind, language: "rust".into(), text, code, path }).unwrap();
        }
        writer.finish().unwrap();
    }
    let out = folder.join("dataset");
    let command = ["x", "--pairs", ".", "--vocabulary", "vocabulary", "--out", "dataset"].map(|argument| {
        if argument.starts_with('-') || argument == "x" {
            argument.to_owned()
        } else {
            folder.join(argument).to_string_lossy().into_owned()
        }
    });
    #[derive(Parser)]
    struct Build {
        #[command(flatten)]
        args: crate::dataset::Args,
    }
    crate::dataset::run(&Build::parse_from(command).args).unwrap();
    out
}

fn letters(n: usize) -> String {
    [b'a' + (n / 26) as u8, b'a' + (n % 26) as u8].map(char::from).iter().collect()
}

fn arguments(dataset: &Path, out: &Path, more: &str) -> Args {
    let common = "x --batch 64 --group 16 --dims 8:0.3,32 --warm-up 5 --report-every 1000 --checkpoint-every 20 --sample 100";
    let mut command: Vec<String> =
        common.split(' ').chain(more.split_whitespace()).map(str::to_owned).collect();
    for (name, path) in [("--dataset", dataset), ("--out", out)] {
        command.extend([name.to_owned(), path.to_string_lossy().into_owned()]);
    }
    Command::parse_from(command).args
}

#[test]
fn training_relates_texts_and_codes_without_shared_words() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let out = folder.path().join("run");
    run(&arguments(&dataset, &out, "--steps 120")).unwrap();
    let data = Dataset::read(&dataset).unwrap();
    let sample = Sample::new(&data, 60);
    let mean = |rows: &Rows| sample.mean_reciprocal_ranks(rows)[&PairKind::Doc];
    let trained = mean(&rows::read(&out.join("model.rows")).unwrap());
    let untrained = mean(&init::random(&data, 32, 1.0, &mut fastrand::Rng::with_seed(1)));
    assert!(trained > 0.6 && untrained < 0.2, "{trained} {untrained}");
}

#[test]
fn a_resumed_run_gives_the_bytes_of_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let dataset = dataset(folder.path());
    let run_to = |name: &str, more: &str| {
        let out = folder.path().join(name);
        run(&arguments(&dataset, &out, more)).unwrap();
        out
    };
    for extra in [
        "",
        "--hard-negatives 0.5 --kinds name=0.5 --text-dropout 0.1 --code-dropout 0.2",
        "--negatives random --noise 0 --fraction 0.5 --unshared 0.3",
    ] {
        let name = |run: &str| format!("{run}{}", extra.len());
        let whole = run_to(&name("whole"), &format!("--steps 60 {extra}"));
        // A run that is stopped after 40 of 60 steps and resumed.
        let partial = folder.path().join(name("partial"));
        let mut args = arguments(&dataset, &partial, &format!("--steps 60 --stop-after 40 {extra}"));
        run(&args).unwrap();
        args.resume = true;
        args.stop_after = None;
        run(&args).unwrap();
        for file in ["model.rows", "checkpoint"] {
            let bytes = |run: &Path| std::fs::read(run.join(file)).unwrap();
            assert!(bytes(&whole) == bytes(&partial), "{file} {extra}");
        }
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let args = |more: &str| arguments(folder.path(), folder.path(), more);
    assert!(args("--kinds doc").selection().is_err());
    assert!(args("--kinds name=0.25").selection().unwrap().kinds[PairKind::Name as usize] == 0.25);
    let mut wrong = args("");
    wrong.dims = "128,64".to_owned();
    assert!(wrong.levels().is_err());
    let rates: Vec<f32> = (1..=100).map(|step| args("--steps 100 --rate 0.01").rate_at(step)).collect();
    assert!(
        rates[..5].is_sorted() && rates[5..].is_sorted_by(|a, b| a > b) && rates[99] < 0.0002,
        "{rates:?}"
    );
}
