//! `man`: prints or installs the manual pages, which are generated from the argument parser.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use clap::Args;

use crate::cli::completion::PROGRAM;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, shown_path};
use crate::cli::user_files;

/// Print the manual page, or install all pages
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver man | man -l -
  git codeweaver man --install                   then `git codeweaver --help` and `git help codeweaver` work
  git codeweaver man --out /usr/share/man/man1   for packages")]
pub struct ManArgs {
    /// Write the pages to where `man` looks for those of the programs on your PATH
    #[arg(long)]
    install: bool,
    /// Directory to write git-codeweaver.1 and a page for each command to
    #[arg(long, value_name = "DIR", conflicts_with = "install")]
    out: Option<PathBuf>,
}

pub fn run(args: ManArgs, program: clap::Command, context: &Context) -> Result<ExitCode, CliError> {
    let program = program.name(PROGRAM);

    if args.install {
        return install(program, context);
    }
    if let Some(dir) = args.out {
        write_pages(&dir, program)?;
        return Ok(ExitCode::SUCCESS);
    }

    let mut out = context.out();
    clap_mangen::Man::new(program).render(&mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one page for the program and one for each command.
fn write_pages(dir: &Path, program: clap::Command) -> Result<(), CliError> {
    for subcommand in program.get_subcommands().filter(|subcommand| !subcommand.is_hide_set()) {
        let name = format!("{PROGRAM}-{}", subcommand.get_name());
        write_page(dir, &name, subcommand.clone().display_name(name.clone()))?;
    }
    write_page(dir, PROGRAM, program)
}

fn write_page(dir: &Path, name: &str, command: clap::Command) -> Result<(), CliError> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).title(name).render(&mut page)?;
    user_files::write(&dir.join(format!("{name}.1")), &page)
}

/// Writes the pages to the directory where `man` looks, and tells whether it does.
fn install(program: clap::Command, context: &Context) -> Result<ExitCode, CliError> {
    let dir = directory()?;
    write_pages(&dir.join("man1"), program)?;

    let mut out = context.out();
    writeln!(out, "{} {}/{PROGRAM}*.1", context.paint.good("Written:"), shown_path(&dir.join("man1")))?;

    match is_found_by_man() {
        Some(true) => writeln!(out, "         `git codeweaver --help` and `git help codeweaver` show them")?,
        Some(false) => {
            writeln!(out, "  `man` does not look there. Add to the start-up file of your shell:")?;
            writeln!(out, "      export MANPATH=\"{}:$MANPATH\"", render::safe(&dir.to_string_lossy()))?;
        }
        None => writeln!(out, "         the program `man` is not installed")?,
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The directory for manual pages that belongs to a directory of `PATH`, from which `man` derives its search
/// path: the one of `~/.local/bin`, else the one of this program if it is below the home directory. Without
/// either, the same directory as for `~/.local/bin`.
fn directory() -> Result<PathBuf, CliError> {
    let Some(home) = user_files::home() else { return Ok(user_files::data_dir()?.join("man")) };

    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();

    let local = home.join(".local/share/man");
    if dirs.contains(&home.join(".local/bin")) {
        return Ok(local);
    }

    let bin = dirs.iter().find(|dir| dir.starts_with(&home) && dir.join(PROGRAM).is_file());
    Ok(bin.and_then(|bin| bin.parent()).map_or(local, |prefix| prefix.join("share/man")))
}

/// Returns whether `man` finds the page; `None` if there is no `man`.
fn is_found_by_man() -> Option<bool> {
    let mut man = Command::new("man");
    man.args(["-w", PROGRAM]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    man.status().ok().map(|status| status.success())
}

/// The installed page of the program, if it is in a directory where `man` usually looks.
pub fn installed() -> Option<PathBuf> {
    let manpath = std::env::var_os("MANPATH").unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();

    let beside_path = std::env::split_paths(&path).filter_map(|dir| {
        let prefix = dir.parent()?.to_owned();
        Some([prefix.join("share/man"), prefix.join("man")])
    });

    let dirs = std::env::split_paths(&manpath).chain(beside_path.flatten());
    let mut pages =
        dirs.flat_map(|dir| ["1", "1.gz"].map(|end| dir.join("man1").join(format!("{PROGRAM}.{end}"))));
    pages.find(|page| page.is_file())
}
