//! `init`: sets up a repository.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use codeweaver_config::HooksMode;
use codeweaver_git as git;
use codeweaver_git::hooks::{
    self, Advice, HookMode, InstallOptions, InstallReport, Method, Outcome, Reason, Scope,
};
use codeweaver_index::status::hook_site;
use codeweaver_index::{Codebase, IndexError, Target, UpdateOptions};

use super::{completions, index, man};
use crate::cli::agent_files::{AgentFiles, Consent};
use crate::cli::checkpoint;
use crate::cli::client_setup::project_root;
use crate::cli::context::Context;
use crate::cli::downloads;
use crate::cli::error::CliError;
use crate::cli::estimate;
use crate::cli::progress::Style;
use crate::cli::render::{self, shown_path};

const EXAMPLES: &str = "\
Examples:
  git codeweaver init                  install hooks and build the first index
  git codeweaver init --no-hooks       build the index; update it with `git codeweaver index`
  git codeweaver init --global         install the hooks for all your repositories (git 2.54 or later)

It is safe to run `init` again. `git codeweaver deinit` undoes all of it.";

/// Set up this repository: create .codeweaver/, install hooks, build the first index
///
/// Creates .codeweaver/ at the root of the repository, excludes it from git in .git/info/exclude (.gitignore
/// is not changed), installs hooks that update the index after commits and checkouts (in a bare repository,
/// also after pushes), and builds the first index. No file is changed that git tracks or may come to track:
/// if `core.hooksPath` leads to such hooks, the lines to add are printed.
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
    /// Also tell the coding agents that are used in this repository, as `agent install` does
    #[arg(long)]
    agent: bool,
    /// Print what to add to hook managers and to hook files that are not written, and change nothing
    #[arg(long, conflicts_with_all = ["no_hooks", "no_index", "global", "agent"])]
    print_hooks: bool,
}

pub fn run(args: InitArgs, context: &Context) -> Result<ExitCode, CliError> {
    if !args.no_index {
        downloads::get_configured(context)?;
        estimate::ask_consent(context)?;
    }

    let codebase = context.codebase()?;
    if args.print_hooks {
        return print_hooks(&codebase, context);
    }

    let head = codebase.repo.head()?;
    // An index that is checked in comes from others and cannot be trusted.
    if let Some(path) = git::tracked_store(&codebase.repo, head.tree.as_ref())? {
        return Err(IndexError::Tracked { path: path.to_string() }.into());
    }

    let is_new = codebase.layout.create().map_err(CliError::from)?;
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
        if codebase.lease_holder().is_none() {
            index::announce(&checkpoint::unfinished(&codebase), style, context);
        }
        let (target, options) = (Target::head(&codebase)?, UpdateOptions::default());
        estimate::announce(&codebase, &target, options, context)?;
        let report = index::index(context, &codebase, &target, options, style)?;
        index::print(context, &codebase, &report)?;
    }

    if args.agent {
        tell_agents(context)?;
    }
    write_next(&args, context)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the files of the agents that are used in the repository. Without a terminal, the option is the
/// consent.
fn tell_agents(context: &Context) -> Result<(), CliError> {
    let mut files = AgentFiles::new(Some(project_root(context)?));
    let products = files.used();
    if products.is_empty() {
        context.note("Agents:  none is found; `git codeweaver agent install PRODUCT` tells one");
    }

    let consent = if context.is_interactive { Consent::Ask } else { Consent::Given };
    files.install(&products, consent, context)
}

/// Installs the hooks according to the settings. Also called after a change of `hooks.mode`, which the hooks
/// contain.
pub fn install_hooks(codebase: &Codebase, global: bool) -> Result<InstallReport, CliError> {
    Ok(hooks::install(&hook_site(codebase), &install_options(codebase, global)?)?)
}

fn install_options(codebase: &Codebase, global: bool) -> Result<InstallOptions, CliError> {
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

    Ok(InstallOptions { global, mode, ..InstallOptions::new(binary) })
}

/// Writes the installed hooks, those that are not installed with the reasons, and advice.
fn write_hooks(
    out: &mut impl std::io::Write,
    context: &Context,
    report: &InstallReport,
) -> Result<(), CliError> {
    let place = match &report.method {
        Method::Configuration(Scope::Local) => "in the configuration of this repository".to_owned(),
        Method::Configuration(Scope::Global) => "in your git configuration, for every repository".to_owned(),
        Method::Files(dir) => format!("in {}", shown_path(dir)),
    };

    let installed = event_names(report, |outcome| !matches!(outcome, Outcome::Advised(_)));
    if !installed.is_empty() {
        let is_unchanged =
            report.events.iter().all(|(_, o)| matches!(o, Outcome::Unchanged | Outcome::Advised(_)));
        let state = if is_unchanged { ", unchanged" } else { "" };
        writeln!(out, "{} {installed} ({place}{state})", context.paint.good("Hooks:  "))?;
    }

    let chained = event_names(report, |outcome| *outcome == Outcome::Chained);
    if !chained.is_empty() {
        writeln!(out, "         a marked block was added to your own {chained}")?;
    }

    let mut reasons: Vec<Reason> = Vec::new();
    for (_, outcome) in &report.events {
        if let Outcome::Advised(reason) = outcome
            && !reasons.contains(reason)
        {
            reasons.push(*reason);
            let missing = event_names(report, |outcome| *outcome == Outcome::Advised(*reason));
            writeln!(out, "{} {missing} not installed", context.paint.warning("Hooks:  "))?;
            writeln!(out, "         because {reason} ({place})")?;
        }
    }

    if !reasons.is_empty() {
        writeln!(out, "         without them the index is updated by the next search")?;
    }

    let (optional, needed): (Vec<&Advice>, Vec<&Advice>) =
        report.advice.iter().partition(|advice| advice.optional);
    needed.into_iter().try_for_each(|advice| write_advice(out, advice))?;

    let is_new = report.events.iter().any(|(_, o)| matches!(o, Outcome::Created | Outcome::Chained));
    if is_new && let Some(manager) = optional.iter().find_map(|advice| advice.manager) {
        let manager = manager.name();
        writeln!(out, "         {manager} needs no entry; for the whole team: `init --print-hooks`")?;
    }

    Ok(())
}

/// The names of the events whose outcome is as `is_meant` says.
fn event_names(report: &InstallReport, is_meant: impl Fn(&Outcome) -> bool) -> String {
    let events = report.events.iter().filter(|(_, outcome)| is_meant(outcome));
    events.map(|(event, _)| event.name()).collect::<Vec<_>>().join(", ")
}

/// Writes lines that the user may add to a file.
fn write_advice(out: &mut impl std::io::Write, advice: &Advice) -> Result<(), CliError> {
    let purpose = advice.manager.map_or("To install it yourself", |_| "For the whole team");
    let action = match advice.optional {
        true => "you can add to",
        false if advice.text.starts_with("#!") => "create",
        false => "add to",
    };

    writeln!(out, "  {purpose}, {action} {}:", shown_path(&advice.file))?;
    for line in advice.text.lines() {
        writeln!(out, "      {}", render::safe(line))?;
    }

    if let Some(then) = &advice.then {
        writeln!(out, "  and run: {}", render::safe(then))?;
    }
    Ok(())
}

/// The lines that [`hooks::install`] does not write itself: entries of hook managers, and lines for hook
/// files that are not the user's own.
pub fn hook_advice(codebase: &Codebase) -> Result<Vec<Advice>, CliError> {
    let site = hook_site(codebase);
    let planned = hooks::plan(&site, &hooks::survey(&site)?, &install_options(codebase, false)?)?;
    Ok(planned.report.advice)
}

/// Prints [`hook_advice`].
fn print_hooks(codebase: &Codebase, context: &Context) -> Result<ExitCode, CliError> {
    let advice = hook_advice(codebase)?;

    let mut out = context.out();
    advice.iter().try_for_each(|advice| write_advice(&mut out, advice))?;
    if advice.is_empty() {
        writeln!(out, "Nothing to add by hand: `git codeweaver init` installs the hooks.")?;
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the commands that are useful after `init`.
fn write_next(args: &InitArgs, context: &Context) -> Result<(), CliError> {
    let mut next = Vec::new();
    if args.no_index {
        next.push(("git codeweaver index", "build the index"));
    }
    next.push(("git codeweaver search \"your query\"", "search by meaning, name or words"));
    next.push(("git codeweaver status", "what is indexed, and how current it is"));
    if args.no_hooks {
        next.push(("git codeweaver index", "update the index after commits"));
    }
    if man::installed().is_none() {
        next.push(("git codeweaver man --install", "let `git codeweaver --help` work"));
    }
    if !completions::is_installed() {
        next.push(("git codeweaver completions --install", "complete commands and options with TAB"));
    }

    let mut out = context.out();
    writeln!(out, "\nNext:")?;
    for (command, purpose) in next {
        writeln!(out, "  {command:<36}  {purpose}")?;
    }

    out.flush()?;
    Ok(())
}
