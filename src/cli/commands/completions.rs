//! `completions` and `man`: shell completions and manual pages, generated from the argument parser.

use crate::cli::args::Cli;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const PROGRAM: &str = "git-codeweaver";

/// Print the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver completions bash > ~/.local/share/bash-completion/completions/git-codeweaver
  git codeweaver completions fish > ~/.config/fish/completions/git-codeweaver.fish")]
pub struct CompletionsArgs {
    /// Shell to generate the script for
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: CompletionsArgs, context: &Context) -> Result<ExitCode, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), PROGRAM, &mut script);
    let mut out = context.out();
    out.write_all(&script)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Print the manual page, or write all pages to a directory
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver man | man -l -
  git codeweaver man --out ~/.local/share/man/man1    then `git codeweaver --help` works")]
pub struct ManArgs {
    /// Directory to write git-codeweaver.1 and a page for each command to
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run_man(args: ManArgs, context: &Context) -> Result<ExitCode, CliError> {
    let command = Cli::command().name(PROGRAM);
    let Some(dir) = args.out else {
        let mut out = context.out();
        clap_mangen::Man::new(command).render(&mut out)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(&dir)?;
    for subcommand in command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let name = format!("{PROGRAM}-{}", subcommand.get_name());
        write_page(&dir, &name, subcommand.clone().display_name(name.clone()))?;
    }
    write_page(&dir, PROGRAM, command)?;
    Ok(ExitCode::SUCCESS)
}

fn write_page(dir: &Path, name: &str, command: clap::Command) -> Result<(), CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).title(name).render(&mut page)?;
    std::fs::write(dir.join(format!("{name}.1")), page)?;
    Ok(())
}
