//! `hook`: the command that git hooks run. It never fails and never prints, so that it cannot disturb a git
//! command.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use codeweaver_base::durable;
use codeweaver_config::HooksMode;
use codeweaver_git::hooks::HookCall;
use codeweaver_index::progress::Silent;
use codeweaver_index::updater::{self, Uncommitted};
use codeweaver_index::{Codebase, IndexError, background, hnsw, journal};
use codeweaver_store::layout::Trust;
use codeweaver_store::{Layout, time};

use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit;

/// Size above which the older half of the log is removed.
const MAX_LOG_BYTES: u64 = 256 << 10;

/// Update the index after HEAD has moved (run by git hooks)
///
/// Does not wait and prints nothing; errors are logged to .codeweaver/cache/hook.log. `hook sync` updates the
/// index to HEAD unconditionally, and indexes changed files if they are too many for a search to do so.
#[derive(Debug, Args)]
#[command(
    after_help = "The hooks installed by `init` run this command: `git-codeweaver hook post-checkout OLD NEW 1`."
)]
pub struct HookArgs {
    /// Name of the hook with the arguments that git passes to it, or `sync`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "EVENT [ARGS]")]
    args: Vec<OsString>,
}

/// Returns true unless `CODEWEAVER_HOOKS` selects foreground mode. The settings, which can select it too, are
/// not read yet at this point. A detached process that git does wait for is harmless: only Ctrl-C does not
/// interrupt it.
pub fn is_detached() -> bool {
    std::env::var_os("CODEWEAVER_HOOKS").is_none_or(|mode| mode != "foreground")
}

pub fn run(args: HookArgs, context: &Context) -> Result<ExitCode, CliError> {
    let is_sync = match args.args.first().and_then(|arg| arg.to_str()) {
        Some("sync") => true,
        Some("graphs") => return Ok(build_graphs(context)),
        Some("probe") => return Ok(probe(&args.args, context)),
        _ => false,
    };

    let call = HookCall::parse(&args.args);
    if call.is_none() && !is_sync {
        return Ok(ExitCode::SUCCESS);
    }

    let Ok(repo) = context.repo() else { return Ok(ExitCode::SUCCESS) };

    // The hook of a file checkout does not move HEAD.
    if call.is_some_and(|call| !call.moves_head(repo.git_dir())) {
        return Ok(ExitCode::SUCCESS);
    }

    let layout = Layout::new(&repo);
    if !layout.was_initialised() {
        return Ok(ExitCode::SUCCESS);
    }

    if let Err(error) = update(context, is_sync) {
        log(&layout, &error);
    }

    Ok(ExitCode::SUCCESS)
}

/// Updates the index to HEAD, or leaves that to the process that is indexing already.
fn update(context: &Context, is_sync: bool) -> Result<(), IndexError> {
    let codebase = context.open()?;
    // If the store has been deleted, it is created again and the index is rebuilt.
    codebase.layout.create()?;
    updater::request_update(&codebase)?;

    // A reader calls `sync` also if it found more changed files than it can index itself.
    let uncommitted = if is_sync { Uncommitted::Index } else { Uncommitted::Leave };
    updater::serve(&codebase, uncommitted, &Silent)?;

    background::build_graphs(&codebase);

    if codebase.settings.hooks.mode == HooksMode::Foreground {
        wait_for_other(&codebase);
    }

    Ok(())
}

/// Builds the HNSW graph that is missing (`hook graphs`).
fn build_graphs(context: &Context) -> ExitCode {
    let built = context.open().and_then(|codebase| {
        hnsw::build_missing(&codebase).inspect_err(|error| log(&codebase.layout, error))
    });
    if built.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(exit::ERROR) }
}

/// Parses stdin to test whether the parser crashes the process (`hook probe LANGUAGE`).
fn probe(args: &[OsString], context: &Context) -> ExitCode {
    if let [_, language] = args
        && let Ok(codebase) = context.open()
    {
        // Only the survival of this process matters, not the result.
        let _ = journal::probe(&codebase, &language.to_string_lossy());
    }
    ExitCode::SUCCESS
}

/// Waits until no other process is indexing this worktree. In foreground mode git continues with a current
/// index.
fn wait_for_other(codebase: &Codebase) {
    let path = codebase.layout.work_lock(&codebase.worktree_key);
    while codeweaver_store::lock::holder(&path).is_some() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn log(layout: &Layout, error: &IndexError) {
    // The log is written in place, so an untrusted store could redirect the write through a link.
    if !matches!(layout.trust(), Ok(Trust::Ours)) {
        return;
    }

    let path = layout.cache().join("hook.log");
    // Write errors are ignored, since they cannot be reported anywhere else.
    let _ = append(&path, &format!("{} {error}\n", time::rfc3339(time::now())));
}

fn append(path: &Path, line: &str) -> std::io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > MAX_LOG_BYTES) {
        let text = std::fs::read(path)?;
        // The newer half, from the first whole line.
        let newer = &text[text.len() / 2..];
        let start = newer.iter().position(|&byte| byte == b'\n').map_or(0, |i| i + 1);
        std::fs::write(path, &newer[start..])?;
    }

    durable::open_or_create(path)?;
    std::fs::File::options().append(true).open(path)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_oversized_log_keeps_its_newer_half() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hook.log");
        let line = "x".repeat(999) + "\n";
        for i in 0..600 {
            append(&path, &format!("{i} {line}")).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() as u64 <= MAX_LOG_BYTES + 2000, "{}", text.len());
        assert!(text.lines().last().unwrap().starts_with("599 "));
        assert!(text.lines().all(|line| line.len() > 999));
    }
}
