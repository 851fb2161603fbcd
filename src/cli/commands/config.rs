//! `config`: shows and changes settings.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};

use codeweaver_config::{self as config, Origin, Settings, Sources};
use codeweaver_git::GitError;
use codeweaver_git::hooks::{self, Outcome};
use codeweaver_index::status::hook_site;

use super::init::install_hooks;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, safe, shown_path};

/// The only setting that is also written into hook scripts.
const HOOKS_MODE: &str = "hooks.mode";

/// Show and change settings
#[derive(Debug, Args)]
#[command(
    after_help = "\
Examples:
  git codeweaver config --show                        list every setting with its value and origin
  git codeweaver config get search.limit
  git codeweaver config set search.limit 20           write to codeweaver.toml of this repository
  git codeweaver config set --user model.path ~/models/bge
  git codeweaver config unset search.limit

Precedence, from lowest to highest: default, environment (CODEWEAVER_SEARCH_LIMIT), user file, repository file, command line.",
    args_conflicts_with_subcommands = true
)]
pub struct ConfigArgs {
    /// List every setting with its value and origin (the default)
    #[arg(long)]
    show: bool,
    /// Print JSON to stdout
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<ConfigCommand>,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the value of a setting
    Get {
        /// Name of the setting, for example search.limit
        key: String,
    },
    /// Write a setting to codeweaver.toml of the repository, or to the user file; YAML is not edited
    Set {
        /// Name of the setting, for example search.limit
        key: String,
        /// Value; lists are separated by commas or written as in TOML
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Write to the user file, which applies to all your repositories
        #[arg(long)]
        user: bool,
    },
    /// Remove a setting from codeweaver.toml of the repository, or from the user file
    Unset {
        /// Name of the setting, for example search.limit
        key: String,
        /// Remove from the user file
        #[arg(long)]
        user: bool,
    },
}

pub fn run(args: ConfigArgs, context: &Context) -> Result<ExitCode, CliError> {
    let root = work_dir(context)?;
    let sources = Sources::discover(root.as_deref());

    match &args.command {
        None => show(&sources, args.json, context)?,
        Some(ConfigCommand::Get { key }) => get(&sources, key, context)?,
        Some(ConfigCommand::Set { key, value, user }) => {
            let file = file(&sources, *user)?;
            let is_new = !file.exists();
            config::set(file, key, value)?;
            report_change(key, file, context)?;
            if is_new && !user {
                context.note("The file is new: commit it for all who work here, or use --user for yourself");
            }
        }
        Some(ConfigCommand::Unset { key, user }) => {
            let file = file(&sources, *user)?;
            let was_there = file.exists();
            config::unset(file, key)?;
            report_change(key, file, context)?;
            if was_there && !file.exists() {
                context.note("The file had no other setting and is removed");
            }
        }
    }

    Ok(ExitCode::SUCCESS)
}

/// Returns the root of the worktree; `None` outside a repository, where only user settings apply.
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
            "codeweaver.toml belongs to a working tree, and there is none here",
            "add --user, or use --project PATH",
        )
    };

    file.as_deref().ok_or_else(|| CliError::new("there is no file for this setting", why, fix))
}

/// Prints all settings with their origins.
fn show(sources: &Sources, as_json: bool, context: &Context) -> Result<(), CliError> {
    let loaded = Settings::load(sources)?;

    let mut out = context.out();

    if as_json {
        let lines: Vec<_> = loaded
            .rows()
            .into_iter()
            .map(|line| serde_json::json!({ "key": line.key, "value": line.value, "origin": line.origin.to_string() }))
            .collect();
        writeln!(out, "{}", render::json(&lines, true)?)?;
    } else {
        let lines = loaded.rows();
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
        // Fails for an unknown key, with a suggestion; nothing is written, since the path is empty.
        config::unset(Path::new(""), key)?;
        return Err(CliError::new(
            format!("`{key}` is not set"),
            "the table has no such entry",
            "git codeweaver config --show",
        ));
    };

    let mut out = context.out();
    writeln!(out, "{}", safe(&value))?;
    out.flush()?;
    Ok(())
}

/// Prints the changed file. A change of `hooks.mode` is also written into the installed hooks.
fn report_change(key: &str, file: &Path, context: &Context) -> Result<(), CliError> {
    context.note(&format!("{}: {}", shown_path(file), safe(key)));

    // Outside of a repository there are no hooks to update.
    let Ok(codebase) = context.open() else { return Ok(()) };

    if key == HOOKS_MODE && hooks::inspect(&hook_site(&codebase)).is_ok_and(|status| status.is_installed()) {
        let report = install_hooks(&codebase, false)?;
        if report.events.iter().any(|(_, outcome)| *outcome == Outcome::Updated) {
            context.note(
                "The hooks of this repository were updated; run `git codeweaver init` in other repositories",
            );
        }
    }
    Ok(())
}
