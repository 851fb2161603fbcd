//! The greeting, printed without a command: the state of the repository, and the next sensible step.

use std::io::Write;
use std::process::ExitCode;

use codeweaver_git::GitError;
use codeweaver_index::status::{self, StatusReport};
use codeweaver_index::{Codebase, IndexError};

use super::command_line::ABOUT;
use super::commands::doctor;
use super::commands::status::{hooks, progress, state, write_row};
use super::context::Context;
use super::error::CliError;
use super::render::{safe, shown_path};
use super::width;

const SEARCH: &str = "git codeweaver search \"your query\"";

/// A command, and what it does here.
type Step = (String, &'static str);

/// The facts to print, each with its name, and what to do next.
struct Greeting {
    facts: Vec<(&'static str, String)>,
    steps: Vec<Step>,
}

/// Prints the greeting.
///
/// # Errors
/// The directory that the user named is not one of a repository, or its repository cannot be read.
pub fn run(context: &Context) -> Result<ExitCode, CliError> {
    let greeting = match context.repo() {
        Err(GitError::NotARepository { .. }) if !context.is_explicit => outside(context),
        _ => inside(context)?,
    };

    let mut out = context.out();
    writeln!(out, "{ABOUT}\n")?;
    for (name, text) in greeting.facts {
        write_row(&mut out, name, &text, context)?;
    }

    let columns = greeting.steps.iter().map(|(command, _)| width::measure(command)).max().unwrap_or_default();
    for (at, (command, purpose)) in greeting.steps.iter().enumerate() {
        let name = if at == 0 { "Next" } else { "" };
        let step = format!("{command:<columns$}  {purpose}");
        write_row(&mut out, name, step.trim_end(), context)?;
    }

    writeln!(out, "\n`git codeweaver -h` lists all commands.")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The greeting outside of repositories.
fn outside(context: &Context) -> Greeting {
    let place = std::path::absolute(&context.dir).unwrap_or_else(|_| context.dir.clone());
    let problem = format!("{} is not in a git repository", safe(&place.to_string_lossy()));
    Greeting {
        facts: vec![("State", context.paint.warning(problem))],
        steps: vec![
            ("cd DIRECTORY".to_owned(), "change into a git repository"),
            ("git init".to_owned(), "or make this directory one"),
        ],
    }
}

fn inside(context: &Context) -> Result<Greeting, CliError> {
    let (codebase, problem) = context.codebase_despite_settings()?;
    if let Some(problem) = problem {
        return Ok(unusable(problem, context));
    }

    if codebase.repo.is_catalogue() && codebase.repo.members()?.all().is_empty() {
        return Ok(of_empty_catalogue(context));
    }

    let report = status::status(&codebase, false)?;
    let mut facts = vec![("State", state(&report, context))];
    facts.extend(progress(&report).map(|text| ("Progress", text)));
    if needs_hooks(&report, &codebase) {
        facts.push(("Hooks", hooks(&report, context)));
    }

    // Nothing is advised that this user cannot do.
    let (dir, written) = doctor::try_to_write(&codebase);
    if written.is_err() && report.state != "unreadable" {
        let problem = format!("{} cannot be written by this user", shown_path(&dir));
        facts.push(("Access", context.paint.warning(problem)));
        return Ok(Greeting { facts, steps: without_writing(steps(&report, &codebase)) });
    }

    Ok(Greeting { facts, steps: steps(&report, &codebase) })
}

fn of_empty_catalogue(context: &Context) -> Greeting {
    let add = "git codeweaver catalogue add --recursive DIR".to_owned();
    Greeting {
        facts: vec![("State", context.paint.warning("a catalogue without repositories"))],
        steps: vec![(add, "add the repositories of a folder, and index them")],
    }
}

/// The greeting where the settings are invalid or the model is missing.
fn unusable(problem: IndexError, context: &Context) -> Greeting {
    let error = CliError::from(problem);
    Greeting {
        facts: vec![("State", context.paint.error(format!("{} ({})", safe(&error.what), safe(&error.why))))],
        steps: vec![(safe(&error.fix).into_owned(), "")],
    }
}

/// The steps that help most in this state, the best first.
fn steps(report: &StatusReport, codebase: &Codebase) -> Vec<Step> {
    if let Some(fix) = report.fix {
        return vec![(fix.to_owned(), purpose(report))];
    }

    let search = (SEARCH.to_owned(), "search by meaning, name or words");
    let update = ("git codeweaver index".to_owned(), "apply the present settings");
    let init = ("git codeweaver init".to_owned(), "install the hooks, which keep the index current");

    match report.state {
        "indexing" => vec![("git codeweaver status".to_owned(), "show how far it is")],
        _ if report.settings_changed => vec![update, search],
        _ if needs_hooks(report, codebase) => vec![init, search],
        _ => vec![search],
    }
}

/// The purpose of the command that leads from this state to an index.
fn purpose(report: &StatusReport) -> &'static str {
    match (report.state, report.initialised) {
        ("unreadable", _) => "find out why, and what helps",
        ("requires_reindex", _) => "build the index anew",
        ("index_failed", _) => "try again",
        ("not_indexed", true) if report.reason.is_some() => "continue with the first index",
        ("not_indexed", true) => "build the first index",
        _ => "set up this repository, and build the first index",
    }
}

/// Returns whether the hooks are not there or cannot run; only searches update the index then.
fn needs_hooks(report: &StatusReport, codebase: &Codebase) -> bool {
    let hooks = &report.hooks;
    let is_absent = !hooks.installed || !hooks.binary_found;
    report.state == "indexed" && is_absent && hooks.problem.is_none() && !codebase.repo.is_catalogue()
}

/// Returns whether a step writes to the store.
fn writes(command: &str) -> bool {
    ["git codeweaver init", "git codeweaver index"].iter().any(|prefix| command.starts_with(prefix))
}

/// The steps for a user who cannot write: those that only read, or asking the owner.
fn without_writing(steps: Vec<Step>) -> Vec<Step> {
    let (writing, reading): (Vec<Step>, Vec<Step>) =
        steps.into_iter().partition(|(command, _)| writes(command));
    if !reading.is_empty() {
        return reading;
    }

    let asked = writing.into_iter().map(|(command, _)| format!("ask the owner to run `{command}`"));
    asked.map(|asked| (asked, "or work in a clone of your own")).collect()
}
