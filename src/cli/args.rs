//! Arguments of several commands: global options, output formats and paths.

use std::path::PathBuf;

use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};

use codeweaver_git::quoting;

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct GlobalArgs {
    /// Directory inside the repository [default: the current directory]
    #[arg(short, long, global = true, value_name = "PATH")]
    pub project: Option<PathBuf>,
    /// Catalogue of repositories to work on, see `git codeweaver catalogue`
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "project")]
    pub catalogue: Option<PathBuf>,
    /// When to use colours and hyperlinks; auto: only on a terminal
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColorWhen::Auto, hide_default_value = true)]
    pub color: ColorWhen,
    /// Do not page long output (in git's configuration: pager.codeweaver)
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// Write debug messages to stderr (CODEWEAVER_LOG selects more finely)
    #[arg(long, global = true)]
    pub debug: bool,
}

/// Parser of arguments that are or begin with a path: raw bytes that are not UTF-8 are quoted, as they would
/// be printed.
pub fn place() -> impl clap::builder::TypedValueParser<Value = String> {
    clap::builder::OsStringValueParser::new().map(|typed| match typed.into_string() {
        Ok(text) => text,
        Err(typed) => {
            let bytes = typed.as_encoded_bytes();
            let (path, lines) = bytes.split_at(quoting::lines_at(bytes).unwrap_or(bytes.len()));
            quoting::text(path) + &String::from_utf8_lossy(lines)
        }
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    Auto,
    Always,
    Never,
}

/// Output format of the commands that run queries.
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputArgs {
    /// Output format [default: table]
    #[arg(short, long, visible_alias = "format", value_enum, value_name = "FORMAT")]
    output_format: Option<Format>,
    /// Same as `-o json`
    #[arg(long, conflicts_with = "output_format")]
    json: bool,
}

impl OutputArgs {
    pub fn format(self) -> Format {
        if self.json { Format::Json } else { self.output_format.unwrap_or_default() }
    }

    /// Returns whether a format is given.
    pub fn is_given(self) -> bool {
        self.json || self.output_format.is_some()
    }
}

/// Output formats of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    #[default]
    Table,
    Json,
    Markdown,
}
