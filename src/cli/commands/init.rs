//! `init`: sets up a repository.

use super::index;
use crate::cli::context::{Context, shown_path};
use crate::cli::error::CliError;
use crate::cli::progress::Style;
use crate::cli::render;
use crate::config::HooksMode;
use crate::git::{self, GitError};
use crate::hooks::{self, Event, HookMode, InstallOptions, InstallReport, Method, Outcome, Scope};
use crate::index::status::hook_site;
use crate::index::{Codebase, IndexError, Target, UpdateOptions};
use crate::store::exclude;
use clap::Args;
use std::io::Write as _;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Examples:
  git codeweaver init                  install hooks and build the first index
  git codeweaver init --no-hooks       build the index; update it with `git codeweaver index`
  git codeweaver init --global         install the hooks for all your repositories (git 2.54 or later)

It is safe to run `init` again. `git codeweaver deinit` undoes all of it.";

/// Set up this repository: create .codeweaver/, install hooks, build the first index
///
/// Creates .codeweaver/ at the root of the repository, excludes it from git in .git/info/exclude (.gitignore
/// is not changed), installs hooks that update the index after commits and checkouts, and builds the first
/// index.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct InitArgs {
    /// Do not install hooks
    #[arg(long)]
    no_hooks: bool,
    /// Do not build the first index
    #[arg(long)]
    no_index: bool,
    /// Install the hooks for all your repositories (git 2.54 or later)
    #[arg(long, conflicts_with = "no_hooks")]
    global: bool,
}

pub fn run(args: InitArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    let head = codebase.repo.head()?;
    if let Some(path) = git::tracked_store(&codebase.repo, head.tree.as_ref())? {
        return Err(IndexError::Tracked { path: path.to_string() }.into());
    }
    let is_new = codebase.layout.create().map_err(CliError::from)?;
    exclude::add_exclude(codebase.repo.common_dir()).map_err(GitError::from)?;
    let dir = shown_path(codebase.layout.root());
    let mut out = context.out();
    let label = |text| context.paint.good(text);
    match is_new {
        true => writeln!(out, "{} {dir}/ (excluded from git in .git/info/exclude)", label("Created:"))?,
        false => writeln!(out, "{} {dir}/ already exists", label("Store:  "))?,
    }
    if !args.no_hooks {
        let report = install_hooks(&codebase, args.global)?;
        write_hooks(&mut out, context, &report)?;
    }
    out.flush()?;
    drop(out);
    if !args.no_index {
        let style = Style::choose(context, false, false);
        let report =
            index::index(context, &codebase, &Target::head(&codebase)?, UpdateOptions::default(), style)?;
        index::print(context, &codebase, &report)?;
    }
    write_next(&args, context)?;
    Ok(ExitCode::SUCCESS)
}

/// Installs the hooks according to the settings. Also called after a change of `hooks.mode`, which the hooks
/// contain.
pub fn install_hooks(codebase: &Codebase, global: bool) -> Result<InstallReport, CliError> {
    let binary = std::env::current_exe().map_err(|e| {
        CliError::new(
            "the path of this program cannot be determined",
            e.to_string(),
            "git codeweaver init --no-hooks",
        )
    })?;
    let mode = match codebase.settings.hooks.mode {
        HooksMode::Background => HookMode::Background,
        HooksMode::Foreground => HookMode::Foreground,
    };
    Ok(hooks::install(&hook_site(codebase), &InstallOptions { global, mode, ..InstallOptions::new(binary) })?)
}

fn write_hooks(
    out: &mut impl std::io::Write,
    context: &Context,
    report: &InstallReport,
) -> Result<(), CliError> {
    let installed: Vec<&(Event, Outcome)> =
        report.events.iter().filter(|(_, o)| !matches!(o, Outcome::Advised(_))).collect();
    let place = match &report.method {
        Method::Configuration(Scope::Local) => "in the configuration of this repository".to_owned(),
        Method::Configuration(Scope::Global) => "in your git configuration, for every repository".to_owned(),
        Method::Files(dir) => format!("in {}", shown_path(dir)),
    };
    if !installed.is_empty() {
        let names: Vec<&str> = installed.iter().map(|(event, _)| event.name()).collect();
        let is_unchanged = installed.iter().all(|(_, outcome)| *outcome == Outcome::Unchanged);
        let state = if is_unchanged { ", unchanged" } else { "" };
        writeln!(out, "{} {} ({place}{state})", context.paint.good("Hooks:  "), names.join(", "))?;
    }
    let chained: Vec<&str> =
        installed.iter().filter(|(_, o)| *o == Outcome::Chained).map(|(e, _)| e.name()).collect();
    if !chained.is_empty() {
        writeln!(out, "         a marked block was appended to your own {}", chained.join(", "))?;
    }
    if report.in_worktree {
        writeln!(out, "         these files are in the working tree and appear in `git status`")?;
    }
    for (event, outcome) in &report.events {
        if let Outcome::Advised(reason) = outcome {
            writeln!(
                out,
                "{} {} was not installed: {reason}",
                context.paint.warning("Hooks:  "),
                event.name()
            )?;
        }
    }
    for advice in &report.advice {
        let purpose = advice.manager.map_or("To install it yourself", |_| "For the whole team");
        let action = if advice.optional { "you can add" } else { "add" };
        writeln!(out, "  {purpose}, {action} to {}:", shown_path(&advice.file))?;
        for line in advice.text.lines() {
            writeln!(out, "      {}", render::safe(line))?;
        }
        if let Some(then) = &advice.then {
            writeln!(out, "  and run: {}", render::safe(then))?;
        }
    }
    Ok(())
}

fn write_next(args: &InitArgs, context: &Context) -> Result<(), CliError> {
    let mut out = context.out();
    writeln!(out, "\nNext:")?;
    if args.no_index {
        writeln!(out, "  git codeweaver index                         build the index")?;
    }
    writeln!(out, "  git codeweaver search \"your query\"           search by meaning, name or words")?;
    writeln!(
        out,
        "  git codeweaver status                        show what is indexed and how current it is"
    )?;
    if args.no_hooks {
        writeln!(out, "  git codeweaver index                         update the index after commits")?;
    }
    out.flush()?;
    Ok(())
}
