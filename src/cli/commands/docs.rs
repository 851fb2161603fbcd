//! `docs`: collections of documents outside of repositories.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use codeweaver::ask::collection::{Collection, CollectionError, CollectionReport, Collections};
use codeweaver_base::real_path;
use codeweaver_index::progress::Silent;

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, shown_path};

const EXAMPLES: &str = "\
Examples:
  git codeweaver docs add notes ~/notes ~/wiki
  git codeweaver ask --index notes \"when is the rent due\"
  git codeweaver docs list
  git codeweaver docs remove notes";

/// Make documents outside of repositories available to `ask`
///
/// A collection is a named set of directories. Its index is in the cache folder of the user; the directories
/// are only read. `ask --index NAME` brings it up to date first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DocsArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a collection, or replace its directories, and index it
    Add {
        name: String,
        #[arg(required = true, value_name = "DIR")]
        directories: Vec<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Index what has changed; all collections without NAME
    Update {
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the collections
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a collection and its index; the documents stay
    Remove { name: String },
}

pub fn run(args: DocsArgs, context: &Context) -> Result<ExitCode, CliError> {
    let collections = Collections::from_user()?;

    match args.action {
        Action::Add { name, directories, json } => {
            let collection = collections.named(&name)?;
            let report = collection.update(Some(&absolute(&directories)), &Silent)?;
            print_report(&collection, &report, json, context)?;
        }
        Action::Update { name: Some(name), json } => {
            let collection = collections.named(&name)?;
            let report = collection.update(None, &Silent)?;
            print_report(&collection, &report, json, context)?;
        }
        Action::Update { name: None, json } => {
            for (collection, _) in collections.list() {
                let report = collection.update(None, &Silent)?;
                print_report(&collection, &report, json, context)?;
            }
        }
        Action::List { json } => list(&collections, json, context)?,
        Action::Remove { name } => collections.named(&name)?.remove()?,
    }

    Ok(ExitCode::SUCCESS)
}

/// Prints the result of an update.
fn print_report(
    collection: &Collection,
    report: &CollectionReport,
    json: bool,
    context: &Context,
) -> Result<(), CliError> {
    let mut out = context.out();
    let name = &collection.name;

    if json {
        let mut value = serde_json::to_value(report)?;
        value["name"] = name.as_str().into();
        writeln!(out, "{}", render::json(&value, false)?)?;
    } else {
        report.skipped.iter().for_each(|skipped| context.warn(&format!("{skipped}; it is left out")));
        let CollectionReport { files, added, modified, deleted, .. } = report;
        let files = render::plural(*files as u64, "document");
        writeln!(out, "{name}: {files} ({added} added, {modified} modified, {deleted} deleted)")?;
    }

    Ok(out.flush()?)
}

fn list(collections: &Collections, json: bool, context: &Context) -> Result<(), CliError> {
    let mut out = context.out();

    for (collection, manifest) in collections.list() {
        let (name, n_files) = (&collection.name, manifest.files.len());
        if json {
            let line =
                serde_json::json!({ "name": name, "files": n_files, "directories": manifest.directories });
            writeln!(out, "{line}")?;
            continue;
        }

        let directories: Vec<String> = manifest.directories.iter().map(|path| shown_path(path)).collect();
        let files = render::plural(n_files as u64, "document");
        writeln!(out, "{}  {files}  {}", context.paint.bold(name), directories.join(", "))?;
    }

    Ok(out.flush()?)
}

/// Returns `directories` as absolute paths, sorted and without duplicates. Links and `..` are resolved in
/// paths that exist.
pub fn absolute(directories: &[PathBuf]) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = directories.iter().map(|path| resolved(path)).collect();
    found.sort();
    found.dedup();

    found
}

fn resolved(path: &Path) -> PathBuf {
    let resolved = real_path::canonicalize(path).or_else(|_| std::path::absolute(path));
    resolved.unwrap_or_else(|_| Path::new("/").join(path))
}

impl From<CollectionError> for CliError {
    fn from(error: CollectionError) -> Self {
        match error {
            CollectionError::Git(error) => error.into(),
            CollectionError::Store(error) => error.into(),
            CollectionError::Index(error) => error.into(),
            other => {
                let (fix, text) = (other.fix(), other.to_string());
                let (what, why) = text.split_once(": ").unwrap_or((&text, "it has not been added"));
                CliError::new(what, why, fix)
            }
        }
    }
}
