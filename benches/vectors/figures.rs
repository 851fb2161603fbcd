//! The figures as JSON lines, for `benches/vectors/__main__.py`.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use crate::common::{Result, Samples};

/// The times of one method for one number of rows.
pub struct Figure<'a> {
    pub rows: u32,
    pub method: &'a str,
    /// Number of rows retrieved.
    pub keep: usize,
    /// Size of the candidate list of HNSW.
    pub ef: Option<usize>,
    /// Of the best `keep` rows.
    pub recall: f64,
    pub times: &'a Samples,
}

impl<'a> Figure<'a> {
    pub fn new(rows: u32, method: &'a str, keep: usize, recall: f64, times: &'a Samples) -> Figure<'a> {
        Figure { rows, method, keep, ef: None, recall, times }
    }
}

/// The file that CODEWEAVER_BENCH_JSON names, if it is set.
pub struct Figures(Option<File>);

impl Figures {
    /// Creates the file, or empties it.
    pub fn open() -> Result<Figures> {
        let path = std::env::var_os("CODEWEAVER_BENCH_JSON");
        Ok(Figures(path.map(File::create).transpose()?))
    }

    /// Writes a line at once, so that what was measured survives an interruption.
    pub fn record(&mut self, corpus: &str, indexed: u32, figure: &Figure<'_>) -> Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        let line = serde_json::json!({
            "corpus": corpus,
            "indexed": indexed,
            "rows": figure.rows,
            "method": figure.method,
            "keep": figure.keep,
            "ef": figure.ef,
            "recall": figure.recall,
            "ms": ms(figure.times.median()),
            "min_ms": ms(figure.times.min()),
            "p95_ms": ms(figure.times.quantile(0.95)),
        });
        writeln!(file, "{line}")?;
        Ok(())
    }
}
