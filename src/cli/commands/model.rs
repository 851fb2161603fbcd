//! `model`: downloads, chooses, removes and carries embedding models.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use codeweaver_config::{self as config, ModelSettings, Settings, Sources};
use codeweaver_embed::hub::cache::{Cache, Cached};
use codeweaver_embed::hub::{self, DownloadError, Kind, runtime};
use codeweaver_embed::{self as embed, EmbedError};

use crate::cli::context::Context;
use crate::cli::downloads;
use crate::cli::error::CliError;
use crate::cli::render::{self, safe, shown_path};

/// Download, choose and remove embedding models
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver model list                        known and downloaded models
  git codeweaver model get onnxruntime             the library that runs transformers
  git codeweaver model use bge-small-en-v1.5       download it, and use it in all your repositories
  git codeweaver model use builtin                 return to the model that is part of the program
  git codeweaver model pack bge-small-en-v1.5 bge.zip    for a machine without a network; there: model unpack bge.zip

HF_ENDPOINT names another hub, HF_TOKEN a token for it, HF_HUB_OFFLINE=1 forbids downloads.")]
pub struct ModelArgs {
    #[command(subcommand)]
    command: ModelCommand,
}

#[derive(Debug, Subcommand)]
enum ModelCommand {
    /// List known and downloaded models
    List {
        /// Print JSON to stdout
        #[arg(long)]
        json: bool,
    },
    /// Download a model, or `onnxruntime`; continues where an earlier attempt broke off
    Get {
        /// A name of `model list`, or OWNER/NAME of the hub
        name: String,
    },
    /// Download a model if necessary, and write its name to your settings
    Use {
        /// A name of `model list`, OWNER/NAME of the hub, or builtin
        name: String,
    },
    /// Delete a downloaded model
    Remove { name: String },
    /// Write a downloaded model to a file
    Pack { name: String, file: PathBuf },
    /// Add the model in a file of `model pack`
    Unpack { file: PathBuf },
}

pub fn run(args: ModelArgs, context: &Context) -> Result<ExitCode, CliError> {
    match &args.command {
        ModelCommand::List { json } => list(*json, context)?,
        ModelCommand::Get { name } => {
            let folder = downloads::get(context, name)?;
            say(context, &format!("{}: {}", safe(name), shown_path(&folder)))?;
            if name != runtime::NAME {
                try_out(name, context)?;
            }
        }
        ModelCommand::Use { name } => use_model(name, context)?,
        ModelCommand::Remove { name } => {
            if !cache(name)?.remove(&hub::folder_name(name)).map_err(|error| failed(name, error))? {
                return Err(not_here(name));
            }
            say(context, &format!("{}: removed", safe(name)))?;
        }
        ModelCommand::Pack { name, file } => {
            let (cache, short) = (cache(name)?, hub::folder_name(name));
            if !cache.has(&short) {
                return Err(not_here(name));
            }

            let size = cache.pack(&short, file).map_err(|error| failed(name, error))?;
            say(context, &format!("{}: {} in {}", safe(name), render::bytes(size), shown_path(file)))?;
        }
        ModelCommand::Unpack { file } => {
            let name = file.to_string_lossy().into_owned();
            let manifest = cache(&name)?.unpack(file).map_err(|error| {
                CliError::new(
                    format!("{} cannot be unpacked", shown_path(file)),
                    error.to_string(),
                    error.fix(),
                )
            })?;

            say(context, &format!("{}: {}", safe(&manifest.name), render::bytes(manifest.size())))?;
        }
    }

    Ok(ExitCode::SUCCESS)
}

/// Prints a line to stdout.
fn say(context: &Context, line: &str) -> Result<(), CliError> {
    let mut out = context.out();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn cache(name: &str) -> Result<Cache, CliError> {
    Cache::from_environment().map_err(|error| failed(name, error))
}

fn failed(name: &str, error: DownloadError) -> CliError {
    let fix = error.fix();
    CliError::new(format!("`{name}` failed"), error.to_string(), fix)
}

fn not_here(name: &str) -> CliError {
    CliError::new(
        format!("there is no model `{}` on this machine", safe(name)),
        "it is not in the cache of models",
        "git codeweaver model list",
    )
}

/// The settings of the user, and of the repository of the directory if there is one.
fn sources(context: &Context) -> Sources {
    let work_dir = context.repo().ok().and_then(|repo| repo.work_dir().map(PathBuf::from));
    Sources::discover(work_dir.as_deref())
}

/// Prints the known models, and those that are only in the cache.
fn list(as_json: bool, context: &Context) -> Result<(), CliError> {
    let settings = Settings::load(&sources(context))?.settings;
    let in_use = [embed::name_of(&settings.model), settings.search.rerank.clone().unwrap_or_default()];
    let cached = cache("the list").map(|cache| cache.list()).unwrap_or_default();

    let find = |name: &str| cached.iter().find(|cached| cached.name == name);

    let builtin = embed::name_of(&ModelSettings::default());
    let mut rows = vec![Row::new(&builtin, "built in", "", None)];
    for (name, kind, repository) in hub::known() {
        rows.push(Row::new(name, kind.name(), repository, find(name)));
    }
    rows.push(Row::new(runtime::NAME, Kind::Runtime.name(), "", find(runtime::NAME)));

    for other in &cached {
        // Any model of the hub can be downloaded, not only the known ones.
        if !rows.iter().any(|row| row.name == other.name) {
            let source = other.manifest.as_ref().map_or("", |manifest| manifest.source.as_str());
            rows.push(Row::new(&other.name, "", source, Some(other)));
        }
    }

    rows.iter_mut().for_each(|row| row.in_use = in_use.contains(&row.name));

    let mut out = context.out();
    if as_json {
        writeln!(out, "{}", render::json(&rows, true)?)?;
        return Ok(out.flush()?);
    }

    for row in &rows {
        let mark = if row.in_use { "*" } else { " " };
        let size = row.size_bytes.map_or_else(String::new, render::bytes);
        let line =
            format!("{mark} {:<36} {:<12} {size:>9}  {}", safe(&row.name), row.kind, safe(&row.source));
        writeln!(out, "{}", line.trim_end())?;
    }

    writeln!(out, "\n* in use. With a size: on this machine.")?;
    Ok(out.flush()?)
}

#[derive(serde::Serialize)]
struct Row {
    name: String,
    kind: &'static str,
    source: String,
    /// `None` if it is not on this machine.
    size_bytes: Option<u64>,
    revision: Option<String>,
    in_use: bool,
}

impl Row {
    fn new(name: &str, kind: &'static str, source: &str, cached: Option<&Cached>) -> Row {
        Row {
            name: name.to_owned(),
            kind,
            source: source.to_owned(),
            size_bytes: cached.map(|cached| cached.size_bytes),
            revision: cached.and_then(|cached| Some(cached.manifest.as_ref()?.revision.clone())),
            in_use: false,
        }
    }
}

/// Writes the name of a model to the settings of the user, after a test that it can be used.
fn use_model(name: &str, context: &Context) -> Result<(), CliError> {
    let sources = sources(context);
    let Some(file) = sources.user_file.as_deref() else {
        return Err(CliError::new(
            "there is no file for your settings",
            "neither XDG_CONFIG_HOME nor HOME is set",
            "set HOME",
        ));
    };

    if hub::known().any(|(known, kind, _)| known == hub::folder_name(name) && kind == Kind::Reranker) {
        return Err(CliError::new(
            format!("`{}` is a reranker", safe(name)),
            "it orders what another model has found",
            format!(
                "git codeweaver model get {name}, then git codeweaver config set --user search.rerank {name}"
            ),
        ));
    }

    // The settings change only after the model has been opened.
    if name != ModelSettings::BUILTIN {
        downloads::get(context, name)?;
        try_out(name, context)?;
    }

    config::set(file, "model.name", name)?;
    say(context, &format!("{}: model.name = {}", shown_path(file), safe(name)))?;

    let loaded = Settings::load(&sources)?;
    if loaded.settings.model.path.is_some() {
        context.warn(
            "model.path is set, and has precedence over model.name; git codeweaver config --show says where",
        );
    }

    context.note("In each repository: git codeweaver index --reindex");
    Ok(())
}

/// Opens the model `name` and prints its size. A missing runtime is a warning only, since it can be installed
/// later.
fn try_out(name: &str, context: &Context) -> Result<(), CliError> {
    if hub::known().any(|(known, kind, _)| known == hub::folder_name(name) && kind == Kind::Reranker) {
        return Ok(());
    }

    let loaded = Settings::load(&sources(context))?;
    let settings = ModelSettings { name: name.to_owned(), path: None, ..loaded.settings.model };

    match embed::open(&settings) {
        Ok(model) => {
            let (dim, kb) = (model.dim(), 1000 * model.dim() as u64);
            say(context, &format!("{dim} dimensions: {} per 1,000 chunks", render::bytes(kb)))
        }
        Err(error @ EmbedError::RuntimeMissing { .. }) => {
            context.warn(&format!("{}; {}", error.what(), error.fix()));
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}
