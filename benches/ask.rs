//! Questions about documents: in a new process, in a running one, and from the memory of a server.
//!
//! Run with `cargo bench --bench ask`; corpus: 1,000 generated documents, about 10,000 chunks, or those of
//! the repositories in CODEWEAVER_BENCH_REPO. Ten questions in turn, CODEWEAVER_BENCH_RUNS = 50 of each kind.
//! How good the answers are is measured by `benches/ask.py`.

mod common;

use std::time::Instant;

use codeweaver::ask::serve::held::Held;
use codeweaver::ask::{self, SHOWN_PASSAGES};
use codeweaver::query::Searcher;
use codeweaver_index::Codebase;

use common::{Corpus, QUERIES, Result, Samples, corpora, ms, row, setting};

const DOCUMENTS: Corpus = Corpus::Documents { name: "documents", n_files: 1000 };

fn main() -> Result<()> {
    match std::env::var_os("CODEWEAVER_BENCH_REPO") {
        Some(_) => corpora().iter().try_for_each(measure),
        None => measure(&DOCUMENTS),
    }
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    scratch.codeweaver.run(["init", "--no-hooks"])?;
    let runs = setting("CODEWEAVER_BENCH_RUNS", 50);
    let codebase = Codebase::open(&scratch.dir, &[])?;
    let min_relevance = codebase.settings.ask.min_relevance;
    let searcher = Searcher::new(codebase);
    let (mut asked, mut n_answered, mut n_chunks) = (Samples::default(), 0, 0);
    for (i, question) in QUERIES.iter().cycle().take(runs + QUERIES.len()).enumerate() {
        let started = Instant::now();
        let request = ask::request(question, &searcher);
        let answer = ask::extractive(&searcher, question, &request, SHOWN_PASSAGES, &|_, _| false)?;
        // The first round fills caches.
        if i >= QUERIES.len() {
            asked.push(started.elapsed());
            n_answered += usize::from(answer.is_answered());
        }
        n_chunks = answer.index.chunks;
    }
    row(&scratch.name, "chunks", n_chunks);
    row(&scratch.name, "question in a running process, working tree compared", &asked);
    row(&scratch.name, "share of these with an answer", format!("{n_answered} of {runs}"));
    let started = Instant::now();
    let held = Held::open(Codebase::open(&scratch.dir, &[])?, false, min_relevance)?;
    row(&scratch.name, "loading index and documents into memory", ms(started.elapsed()));
    let mut next = QUERIES.iter().cycle();
    let in_memory = Samples::new(runs, || Ok(held.answer(next.next().unwrap_or(&""), SHOWN_PASSAGES)?))?;
    row(&scratch.name, "question from memory, as in a server", in_memory);
    // `ask` ends with 1 if there is no answer, so the questions are those with one.
    let mut answered = Vec::new();
    for question in QUERIES {
        if held.answer(question, SHOWN_PASSAGES)?.is_answered() {
            answered.push(question);
        }
    }
    let mut next = answered.iter().cycle();
    let whole =
        Samples::new(runs, || scratch.codeweaver.time(["ask", next.next().map_or("", |question| question)]))?;
    row(&scratch.name, "git codeweaver ask, whole process", whole);
    Ok(())
}
