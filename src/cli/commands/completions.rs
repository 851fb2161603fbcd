//! `completions`: prints or installs the completion script of a shell; `complete`, which the scripts call.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Command, ValueEnum as _};
use clap_complete::Shell;

use crate::cli::completion::{self, PROGRAM};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::render::{self, shown_path};
use crate::cli::user_files;

/// Print or install the completion script of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  git codeweaver completions --install           for the shell that you use, from its next start
  git codeweaver completions bash --install
  source <(git codeweaver completions bash)      for this session only

Both `git codeweaver` and `git-codeweaver` are completed.")]
pub struct CompletionsArgs {
    /// Shell to complete in [default with --install: that of $SHELL]
    #[arg(value_enum, required_unless_present = "install")]
    shell: Option<Shell>,
    /// Write the script to the directory where the shell looks for yours (bash, zsh, fish)
    #[arg(long)]
    install: bool,
}

pub fn run(args: CompletionsArgs, program: Command, context: &Context) -> Result<ExitCode, CliError> {
    if args.install {
        return install(args.shell, program, context);
    }
    let mut out = context.out();
    out.write_all(&args.shell.map(|shell| completion::script(shell, program)).unwrap_or_default())?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the script to the directory of the shell, and tells how it is loaded.
fn install(shell: Option<Shell>, program: Command, context: &Context) -> Result<ExitCode, CliError> {
    let shell = shell.or_else(Shell::from_env).ok_or_else(|| {
        CliError::new(
            "the shell is not known",
            "SHELL names none that has completions here",
            "name it: git codeweaver completions bash --install",
        )
    })?;

    let name = shell.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let file = file_of(shell)?.ok_or_else(|| {
        CliError::new(
            format!("the script for {name} is not installed"),
            format!("{name} has no directory for completion scripts"),
            format!("load the output of `git codeweaver completions {name}` in its start-up file"),
        )
    })?;

    user_files::write(&file, &completion::script(shell, program))?;
    let mut out = context.out();
    writeln!(out, "{} {}", context.paint.good("Written:"), shown_path(&file))?;

    match shell {
        Shell::Bash => {
            writeln!(out, "         it works in new shells if the package bash-completion is installed")?;
        }
        Shell::Zsh if !zsh_knows(&file) => {
            let dir = file.parent().unwrap_or(&file).to_string_lossy();
            writeln!(
                out,
                "  Add to your .zshrc, before compinit:\n      fpath=({} $fpath)",
                render::safe(&dir)
            )?;
        }
        _ => writeln!(out, "         it works in new shells")?,
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The file in which the shell looks for the completion script of a user; `None` if it has no such place.
fn file_of(shell: Shell) -> Result<Option<PathBuf>, CliError> {
    let file = match shell {
        Shell::Bash => match user_files::variable("BASH_COMPLETION_USER_DIR") {
            Some(dir) => dir.join("completions").join(PROGRAM),
            None => user_files::data_dir()?.join("bash-completion/completions").join(PROGRAM),
        },
        Shell::Zsh => user_files::data_dir()?.join("zsh/site-functions").join(format!("_{PROGRAM}")),
        // The directory `completions` is read by fish only for a command of this very name, which git has
        // itself.
        Shell::Fish => user_files::config_dir()?.join("fish/conf.d").join(format!("{PROGRAM}.fish")),
        _ => return Ok(None),
    };

    Ok(Some(file))
}

/// Returns whether the script is installed for the shell in use; true for shells without a place for it.
pub fn is_installed() -> bool {
    let file = Shell::from_env().and_then(|shell| file_of(shell).ok().flatten());
    file.is_none_or(|file| file.exists())
}

/// Returns whether the start-up file of zsh seems to put the directory of `file` on the function path.
fn zsh_knows(file: &std::path::Path) -> bool {
    let dir = user_files::variable("ZDOTDIR").or_else(user_files::home);
    let text = dir.and_then(|dir| std::fs::read_to_string(dir.join(".zshrc")).ok()).unwrap_or_default();
    let full = file.parent().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();

    text.contains("share/zsh/site-functions") || text.contains(&full)
}

/// Print the candidates for a word of a command line (called by the completion scripts)
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// Shell that asks
    #[arg(value_enum)]
    shell: Shell,
    /// Position of the word, from 0
    index: usize,
    /// The command line, from the name of the program on
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Prints one candidate a line, followed by a tab and its help for shells that show help.
pub fn complete(args: CompleteArgs, program: Command, context: &Context) -> Result<ExitCode, CliError> {
    let current_dir = std::env::current_dir().ok();
    let mut out = context.out();
    for line in completion::candidates(program, args.words, args.index, current_dir.as_deref()) {
        let value = line.split('\t').next().unwrap_or_default();
        writeln!(out, "{}", if args.shell == Shell::Bash { value } else { &line })?;
    }

    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
