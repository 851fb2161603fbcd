//! `chunks`: the chunks of a file, or chunking statistics of a tree.

use std::io::Write;
use std::process::ExitCode;
use std::time::UNIX_EPOCH;

use clap::Args;
use serde_json::{Value, json};

use codeweaver::query::locate;
use codeweaver_chunk::{self as chunk, ChunkedBlob, LanguageId};
use codeweaver_git::worktree::read_worktree_file;
use codeweaver_git::{BString, ByteSlice, Mode, hash_blob, quoting};
use codeweaver_index::policy::{Exempt, PathDecision, Policy};
use codeweaver_index::{Codebase, plan};
use codeweaver_store::rows::{DocKey, chunk_id_digits};
use codeweaver_text as text;

use crate::cli::args::place;
use crate::cli::chunk_stats::{self, LanguageStats, Report};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, count, safe};

/// Show the chunks of a file, or chunking statistics of a tree
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver chunks src/lib.rs              the chunks of a file in the working tree
  git codeweaver chunks --stats                 sizes, boundaries and degradations of HEAD
  git codeweaver chunks --stats v1.2 --sample   also a fixed sample of 100 chunks of each language

This command needs no index and changes nothing.")]
pub struct ChunksArgs {
    /// File, or a revision with --stats [default: HEAD]
    #[arg(value_name = "FILE|REV", required_unless_present = "stats", value_parser = place())]
    file_or_rev: Option<String>,
    /// Show statistics of every file of a tree
    #[arg(long)]
    stats: bool,
    /// Also list N chunks of each language
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "100", requires = "stats")]
    sample: Option<usize>,
    /// Parse the files of a tree and do nothing else, for benchmarks
    #[arg(long, requires = "stats", conflicts_with = "sample", hide = true)]
    parse_only: bool,
    /// Print one JSON object to stdout
    #[arg(long)]
    json: bool,
}

pub fn run(args: ChunksArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let mut out = context.out();

    if args.stats {
        let revision = codebase.repo.resolve(args.file_or_rev.as_deref().unwrap_or("HEAD"))?;
        if args.parse_only {
            let parsed = chunk_stats::parse(&codebase, &revision.tree)?;
            writeln!(out, "{}", render::json(&parsed, true)?)?;
            return Ok(ExitCode::SUCCESS);
        }

        let report = chunk_stats::measure(&codebase, &revision.tree, args.sample.unwrap_or(0))?;
        if args.json {
            writeln!(out, "{}", render::json(&report, true)?)?
        } else {
            write_stats(&mut out, &report, context)?
        }
    } else {
        let path = context.file(&codebase, args.file_or_rev.as_deref().unwrap_or_default(), None)?;
        let file = ChunkedFile::read(&codebase, &path)?;

        if args.json {
            writeln!(out, "{}", render::json(&file.report(&codebase)?, true)?)?;
        } else {
            let shown = context.prefix(&codebase).shown(&path);
            write_chunks(&mut out, &shown, file.language.name(), &file.chunked, context)?;
        }
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// A file of the working tree with its chunks.
struct ChunkedFile {
    path: BString,
    /// The bytes in UTF-8.
    bytes: Vec<u8>,
    key: DocKey,
    language: LanguageId,
    chunked: ChunkedBlob,
}

impl ChunkedFile {
    fn read(codebase: &Codebase, path: &str) -> Result<ChunkedFile, CliError> {
        let path = locate::clean(path)?;
        let bytes = read_worktree_file(&codebase.repo, path.as_bstr())?.ok_or_else(|| {
            CliError::new(
                format!("there is no file {path}"),
                "paths are relative to the current directory",
                "check the path; `chunks --stats REV` shows statistics of a tree",
            )
        })?;
        let blob = hash_blob(&bytes, codebase.repo.object_hash());

        let tree = codebase.repo.head()?.tree;
        let policy = Policy::for_tree(&codebase.repo, tree.as_ref(), &codebase.settings.policy)?;
        // A file that is not indexed is chunked nevertheless.
        let (decided, exempt) = match policy.decide_path(path.as_bstr(), Mode::File) {
            PathDecision::Index { language, exempt, .. } => (language, exempt),
            PathDecision::Skip(_) => (None, Exempt::default()),
        };

        let bytes = text::into_utf8(bytes);
        let language = policy.language(decided, path.as_bstr(), &bytes);
        let chunked = chunk::chunk_blob(&bytes, language, &codebase.settings.chunker);
        Ok(ChunkedFile {
            path,
            bytes,
            key: plan::doc_key(codebase, blob, language, exempt),
            language,
            chunked,
        })
    }

    /// The chunks as JSON, each with its identity, the time of the last change of the file, and its place in
    /// the syntax tree.
    fn report(&self, codebase: &Codebase) -> Result<Value, CliError> {
        let (text, _) = chunk::readable(&self.bytes);
        let places = chunk::tree_places(&text, self.language, &self.chunked.chunks);
        let on_disk = codebase.root().join(self.path.to_path_lossy());
        let changed = std::fs::symlink_metadata(on_disk).and_then(|metadata| metadata.modified()).ok();
        let changed = changed.and_then(|time| Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64()));

        let mut chunked = serde_json::to_value(&self.chunked)?;
        let values = chunked["chunks"].as_array_mut().into_iter().flatten();
        for ((value, chunk), place) in values.zip(&self.chunked.chunks).zip(places) {
            value["chunk_id"] = json!(chunk_id_digits(&self.key, &chunk.byte_range));
            value["parent_id"] = json!(self.key.blob_oid.to_string());
            value["timestamp"] = json!(changed);
            value["syntax"] = json!(place);
        }

        Ok(json!({ "path": quoting::text(&self.path), "language": self.language, "chunked": chunked }))
    }
}

/// Writes the chunks of a file with their symbols, and the degradations.
fn write_chunks(
    out: &mut impl Write,
    path: &str,
    language: &str,
    chunked: &ChunkedBlob,
    context: &Context,
) -> Result<(), CliError> {
    let n = render::plural(chunked.chunks.len() as u64, "chunk");
    writeln!(out, "{} ({language}, {n})", context.paint.title(safe(path)))?;

    for chunk in &chunked.chunks {
        let span = format!("{}-{}", chunk.line_span.start, chunk.line_span.end);
        let source = serde_json::to_value(chunk.source)?;
        let facts = format!(
            "{} tokens, {}, {}",
            chunk.token_count,
            source.as_str().unwrap_or_default(),
            chunk.class.title()
        );
        writeln!(
            out,
            "{span:>11}  {}  {}",
            context.paint.bold(safe(&chunk.title)),
            context.paint.dim(facts)
        )?;

        for symbol in &chunk.symbols {
            let kind = serde_json::to_value(symbol.kind)?;
            let name = safe(&symbol.qualified_name);
            writeln!(
                out,
                "{:>11}  {}{} {name}",
                "",
                "  ".repeat(symbol.nesting.into()),
                kind.as_str().unwrap_or_default()
            )?;
        }
    }

    for degradation in &chunked.degradations {
        let range = &degradation.byte_range;
        writeln!(out, "degraded: {} in bytes {}..{}", degradation.reason.name(), range.start, range.end)?;
    }

    Ok(())
}

/// Writes a table with a row for each language, then the samples.
fn write_stats(out: &mut impl Write, report: &Report, context: &Context) -> Result<(), CliError> {
    let head = format!(
        "{:<14} {:>8} {:>9} {:>7} {:>9} {:>9} {:>8} {:>8}  degradations",
        "language", "files", "chunks", "mean", "mean >800", "200-800", "on nodes", "unknown"
    );
    writeln!(out, "{}", context.paint.bold(head))?;

    let mut rows: Vec<(&&str, &LanguageStats)> = report.languages.iter().collect();
    rows.sort_by(|a, b| b.1.chunks.cmp(&a.1.chunks).then_with(|| a.0.cmp(b.0)));
    for (language, stats) in rows {
        writeln!(out, "{}", row(language, stats))?;
    }

    writeln!(out, "{}", context.paint.bold(row("all", &report.total)))?;
    writeln!(out, "\nmean: tokens per chunk; mean >800, 200-800: chunks of files with more than 800 tokens")?;

    for (language, samples) in &report.samples {
        writeln!(out, "\n{}", context.paint.bold(language))?;
        for sample in samples {
            let place = format!("{}:{}-{}", quoting::argument(&sample.path), sample.span.0, sample.span.1);
            writeln!(out, "{:>6} tokens  {place}  {}", sample.tokens, safe(&sample.title))?;
        }
    }

    Ok(())
}

/// A row of the table.
fn row(language: &str, stats: &LanguageStats) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);

    let degradations: Vec<String> =
        stats.degradations.iter().map(|(reason, n)| format!("{reason} {}", count(*n))).collect();

    format!(
        "{language:<14} {:>8} {:>9} {:>7.0} {:>9.0} {:>9} {:>8} {:>8}  {}",
        count(stats.files),
        count(stats.chunks),
        stats.mean_tokens,
        stats.mean_tokens_of_larger_files,
        percent(stats.share_200_to_800),
        percent(stats.share_on_nodes),
        percent(stats.share_unknown),
        degradations.join(", ")
    )
    .trim_end()
    .to_owned()
}
