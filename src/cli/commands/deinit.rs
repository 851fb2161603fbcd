//! `deinit`: undoes `init`.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Args;

use codeweaver_base::real_path;
use codeweaver_git::GitError;
use codeweaver_git::hooks;
use codeweaver_index::status::hook_site;
use codeweaver_index::updater;
use codeweaver_store::exclude;

use crate::cli::agent_files::AgentFiles;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::shown_path;

/// Undo `init`: remove the hooks, the index, and what was told to agents
#[derive(Debug, Args)]
#[command(
    after_help = "With --keep-index only the hooks are removed; the index can still be searched, and `init` uses it again."
)]
pub struct DeinitArgs {
    /// Keep .codeweaver/ and its contents
    #[arg(long)]
    keep_index: bool,
    /// Also remove the hooks that `init --global` installed for every repository
    #[arg(long)]
    global: bool,
}

pub fn run(args: DeinitArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    updater::refuse_while_indexing(&codebase)?;
    let report = hooks::uninstall(&hook_site(&codebase), args.global)?;

    let mut out = context.out();
    let label = context.paint.good("Removed:");

    for path in &report.removed {
        writeln!(out, "{label} {}", shown_path(path))?;
    }
    for path in &report.restored {
        writeln!(out, "{label} the codeweaver block in {}", shown_path(path))?;
    }
    if !report.scopes.is_empty() {
        writeln!(out, "{label} the hooks in git's configuration")?;
    }

    // Lines that were added by hand are never removed.
    for path in &report.damaged {
        context
            .warn(&format!("the codeweaver block in {} has been edited; remove it by hand", path.display()));
    }
    for path in &report.kept {
        context.note(&format!(
            "Kept:    {}, which has lines that were added by hand or are shared; they do nothing without an index",
            shown_path(path)
        ));
    }

    if args.keep_index {
        writeln!(out, "Kept:    {}/", shown_path(codebase.layout.root()))?;
    } else {
        let existed = codebase.layout.root().exists();
        codebase.layout.remove().map_err(CliError::from)?;
        exclude::remove_exclude(codebase.repo.common_dir()).map_err(GitError::from)?;
        if existed {
            writeln!(out, "{label} {}/", shown_path(codebase.layout.root()))?;
        }
    }

    out.flush()?;
    drop(out);

    // What `init --agent` or `agent install` wrote.
    let root = codebase.repo.work_dir().and_then(|root| real_path::canonicalize(root).ok());
    AgentFiles::new(root).undo(context)?;
    Ok(ExitCode::SUCCESS)
}
