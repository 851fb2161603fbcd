//! The built-in model: throughput on one core, by step, and the time from the start of a process to the first
//! vector.
//!
//! Run with `cargo bench --bench embed`; corpus: see `corpus.rs`, every text file split at lines into pieces
//! of at most 1,500 bytes. The steps (terms, bags, sums of rows) are measured with a model of the corpus's
//! own 32,768 most frequent terms and random rows of 256 components, which costs as much as a trained model
//! of this size. Figures are medians of CODEWEAVER_BENCH_RUNS = 5 runs. For the start-up time, the bench
//! starts itself.

mod common;

use std::collections::HashMap;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use codeweaver_config::ModelSettings;
use codeweaver_embed::{self as embed, Embedder, TableModel, bag_of, bag_terms, encode_table};
use codeweaver_text::visit_terms;

use common::{Corpus, Result, Samples, Scratch, corpora, row, setting};

const PIECE_BYTES: usize = 1500;
const ENTRIES: usize = 32_768;
const DIM: usize = 256;
/// Environment variable with the role of a child process: `nothing` or `query`.
const ROLE: &str = "CODEWEAVER_BENCH_EMBED_ROLE";
const QUERY: &str = "where is the configuration file read";

fn main() -> Result<()> {
    match std::env::var(ROLE).as_deref() {
        Ok("query") => answer(),
        Ok(_) => Ok(()),
        Err(_) => {
            corpora().iter().try_for_each(throughput)?;
            start()
        }
    }
}

fn throughput(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    let texts = texts(&scratch)?;
    let pieces: Vec<&str> = texts.iter().flat_map(|text| pieces(text)).collect();
    let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let runs = setting("CODEWEAVER_BENCH_RUNS", 5);
    let measure = |what: &str, step: &mut dyn FnMut()| -> Result<()> {
        let timed = || {
            step();
            Ok(())
        };
        let median = Samples::new(runs, timed)?.median().as_secs_f64();
        let (chunks, megabytes) = (pieces.len() as f64 / median, bytes as f64 / median / 1e6);
        let each = median * 1e6 / pieces.len() as f64;
        row(&scratch.name, what, format!("{chunks:.0} chunks/s, {megabytes:.0} MB/s, {each:.2} µs a chunk"));
        Ok(())
    };
    row(&scratch.name, "text", format!("{} chunks, {:.1} MB", pieces.len(), bytes as f64 / 1e6));

    measure("terms", &mut || {
        let mut n = 0;
        pieces.iter().for_each(|piece| visit_terms(piece, |term, _| n += term.len()));
        black_box(n);
    })?;
    let file = model_of(&pieces)?;
    let model = TableModel::new("bench", &file)?;
    let vocabulary = model.vocabulary();
    let mut bag = Vec::new();
    let mut n_distinct = 0;
    measure("terms, look-up and counting", &mut || {
        n_distinct = 0;
        for piece in &pieces {
            bag_of(piece, &vocabulary, &mut bag);
            n_distinct += bag.len();
        }
    })?;
    let bags: Vec<_> = pieces
        .iter()
        .map(|piece| {
            bag_of(piece, &vocabulary, &mut bag);
            bag.clone()
        })
        .collect();
    let mut rows = Vec::new();
    let distinct = n_distinct as f64 / pieces.len().max(1) as f64;
    measure(&format!("sums of {distinct:.0} rows, length 1, int8"), &mut || {
        rows.clear();
        bags.iter().for_each(|bag| model.embed_bag(bag, &mut rows));
    })?;
    let builtin = embed::open(&ModelSettings::default())?;
    for model in [&model as &dyn Embedder, &*builtin] {
        let mut failed = None;
        measure(&format!("everything, model `{}`", model.name()), &mut || {
            rows.clear();
            failed = model.embed_documents(&pieces, &mut rows).err();
        })?;
        failed.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Contents of the text files in the working tree.
fn texts(scratch: &Scratch) -> Result<Vec<String>> {
    let files = scratch.source_files()?;
    let read = files.iter().filter_map(|file| std::fs::read_to_string(scratch.dir.join(file)).ok());
    Ok(read.filter(|text| !text.contains('\0')).collect())
}

fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let most = &rest[..rest.floor_char_boundary(PIECE_BYTES)];
        let cut = if most.len() == rest.len() {
            most.len()
        } else {
            most.rfind('\n').map_or(most.len(), |at| at + 1)
        };
        let (piece, after) = rest.split_at(cut);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

fn model_of(pieces: &[&str]) -> Result<Vec<u8>> {
    let mut counts: HashMap<String, u32> = HashMap::new();
    for piece in pieces {
        bag_terms(piece, |term, _| match counts.get_mut(term) {
            Some(count) => *count += 1,
            None => _ = counts.insert(term.to_owned(), 1),
        });
    }
    let mut terms: Vec<(u32, String)> = counts.into_iter().map(|(term, count)| (count, term)).collect();
    terms.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    // Rare terms are split into pieces of two letters, as many words of new repositories are.
    let letters = || (b'a'..=b'z').map(char::from);
    let mut entries: Vec<String> = letters()
        .flat_map(|a| letters().map(move |b| format!("##{a}{b}")))
        .chain(letters().map(String::from))
        .collect();
    let words = terms.into_iter().map(|(_, term)| term).filter(|term| term.len() > 1);
    entries.splice(0..0, words.take(ENTRIES - entries.len()));
    let mut random = fastrand::Rng::with_seed(1);
    let rows: Vec<f32> = (0..entries.len() * DIM).map(|_| random.f32() - 0.5).collect();
    Ok(encode_table(&entries, &rows, DIM)?)
}

/// Child process: prints the nanoseconds until the first query is embedded.
fn answer() -> Result<()> {
    let started = Instant::now();
    let model = embed::open(&ModelSettings::default())?;
    let vector = black_box(model.embed_query(QUERY)?);
    println!("{} {}", started.elapsed().as_nanos(), vector.len());
    Ok(())
}

fn start() -> Result<()> {
    let this = std::env::current_exe()?;
    let run = |role: &str| -> Result<(Duration, String)> {
        let started = Instant::now();
        let output = Command::new(&this).env(ROLE, role).output()?;
        Ok((started.elapsed(), String::from_utf8(output.stdout)?))
    };
    let (mut nothing, mut query, mut inside) = (Samples::default(), Samples::default(), Samples::default());
    for _ in 0..40 {
        nothing.push(run("nothing")?.0);
        let (whole, said) = run("query")?;
        query.push(whole);
        inside.push(Duration::from_nanos(said.split(' ').next().unwrap_or_default().parse()?));
    }
    row("new process", "opening the model and embedding one query", micros(&inside));
    row("new process", "whole process that does it", micros(&query));
    row("new process", "whole process that does nothing", micros(&nothing));
    Ok(())
}

fn micros(samples: &Samples) -> String {
    let [median, most] = [0.5, 0.95].map(|share| samples.quantile(share).as_secs_f64() * 1e6);
    format!("median {median:.0} µs, p95 {most:.0} µs")
}
