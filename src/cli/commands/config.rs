//! `config`: settings with their origin (requirement U4).

use super::init::install_hooks;
use crate::cli::context::{Context, shown_path};
use crate::cli::error::CliError;
use crate::cli::render::{self, safe};
use crate::config::{self, Origin, Settings, Sources};
use crate::git::GitError;
use crate::hooks;
use crate::index::status::hook_site;
use clap::{Args, Subcommand};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The one setting that is written into hook scripts.
const HOOKS_MODE: &str = "hooks.mode";

/// Show and change settings
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  git codeweaver config --show                        every setting, its value and where it comes from
  git codeweaver config get search.limit
  git codeweaver config set search.limit 20           in codeweaver.toml of this repository
  git codeweaver config set --user model.path ~/models/bge
  git codeweaver config unset search.limit

Lowest to highest: default, environment (CODEWEAVER_SEARCH_LIMIT), your file, the repository's file, command line.",
    args_conflicts_with_subcommands = true
)]
pub struct ConfigArgs {
    /// Show every setting with its origin (what happens without arguments, too)
    #[arg(long)]
    show: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    verb: Option<ConfigVerb>,
}

#[derive(Debug, Subcommand)]
enum ConfigVerb {
    /// Print the value of a setting
    Get { key: String },
    /// Write a setting to codeweaver.toml of the repository, or to your own file
    Set {
        key: String,
        /// Lists by commas or as in TOML
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// For every repository of yours
        #[arg(long)]
        user: bool,
    },
    /// Remove a setting from a file, so that lower sources decide
    Unset {
        key: String,
        /// From your own file
        #[arg(long)]
        user: bool,
    },
}

pub fn run(args: ConfigArgs, context: &Context) -> Result<ExitCode, CliError> {
    let root = work_dir(context)?;
    let sources = Sources::discover(root.as_deref());
    match &args.verb {
        None => show(&sources, args.json, context)?,
        Some(ConfigVerb::Get { key }) => get(&sources, key, context)?,
        Some(ConfigVerb::Set { key, value, user }) => {
            let file = file(&sources, *user)?;
            config::set(file, key, value)?;
            changed(key, file, context)?;
        }
        Some(ConfigVerb::Unset { key, user }) => {
            let file = file(&sources, *user)?;
            config::unset(file, key)?;
            changed(key, file, context)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The root of the worktree; settings can be had outside of repositories, too.
fn work_dir(context: &Context) -> Result<Option<PathBuf>, CliError> {
    match context.repo() {
        Ok(repo) => Ok(repo.work_dir().map(Path::to_path_buf)),
        Err(GitError::NotARepository { .. }) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

fn file(sources: &Sources, user: bool) -> Result<&Path, CliError> {
    let (file, why, fix) = if user {
        (&sources.user_file, "neither XDG_CONFIG_HOME nor HOME is set", "set HOME")
    } else {
        (
            &sources.repository_file,
            "there is no working tree here to keep codeweaver.toml in",
            "add --user, or use --project PATH",
        )
    };
    file.as_deref().ok_or_else(|| CliError::new("there is no file for this setting", why, fix))
}

fn show(sources: &Sources, as_json: bool, context: &Context) -> Result<(), CliError> {
    let loaded = Settings::load(sources)?;
    let mut out = context.out();
    if as_json {
        let lines: Vec<_> = loaded
            .shown()
            .into_iter()
            .map(|line| serde_json::json!({ "key": line.key, "value": line.value, "origin": line.origin.to_string() }))
            .collect();
        writeln!(out, "{}", render::json(&lines, true)?)?;
    } else {
        let lines = loaded.shown();
        let width = lines
            .iter()
            .map(|line| line.key.len() + line.value.chars().count() + 3)
            .max()
            .unwrap_or(0)
            .min(70);
        for line in &lines {
            let text = format!("{} = {}", safe(&line.key), safe(&line.value));
            let origin = context.paint.dim(format!("# {}", safe(&line.origin.to_string())));
            let text = if line.origin == Origin::Default {
                format!("{text:<width$}")
            } else {
                context.paint.bold(format!("{text:<width$}"))
            };
            writeln!(out, "{text}  {origin}")?;
        }
    }
    out.flush()?;
    loaded.warnings.iter().for_each(|warning| context.warn(warning));
    Ok(())
}

fn get(sources: &Sources, key: &str, context: &Context) -> Result<(), CliError> {
    let loaded = Settings::load(sources)?;
    let Some(value) = config::get(&loaded.settings, key) else {
        // The error that knows the nearest key.
        config::unset(Path::new(""), key)?;
        return Err(CliError::new(
            format!("`{key}` is not set"),
            "its table has no such entry",
            "git codeweaver config --show",
        ));
    };
    let mut out = context.out();
    writeln!(out, "{}", safe(&value))?;
    out.flush()?;
    Ok(())
}

/// Says where it went; a change of the hooks' mode is written into the hooks.
fn changed(key: &str, file: &Path, context: &Context) -> Result<(), CliError> {
    context.note(&format!("{}: {}", shown_path(file), safe(key)));
    let Ok(codebase) = context.open() else { return Ok(()) };
    if key == HOOKS_MODE && hooks::inspect(&hook_site(&codebase)).is_ok_and(|status| status.is_installed()) {
        install_hooks(&codebase, false)?;
        context.note("The hooks of this repository were updated; run `git codeweaver init` in others");
    }
    Ok(())
}
