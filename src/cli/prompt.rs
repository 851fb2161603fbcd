//! The prompt: reads the lines that a user types, one after the other.
//!
//! On a terminal the lines can be edited, and the arrow keys bring earlier lines back. This history ends with
//! the process: questions are not written to disk.

use std::io::{self, IsTerminal};

use rustyline::history::MemHistory;
use rustyline::{Config, Editor};

use super::context::Context;

/// The mark before each line.
const MARK: &str = "? ";

/// A source of lines.
pub enum Prompt {
    Terminal(Box<Editor<(), MemHistory>>),
    /// The terminal cannot be edited on, or stdin is not a terminal. The flag is whether the mark is shown.
    Plain(bool),
}

impl Prompt {
    /// The prompt of this process.
    pub fn new(context: &Context) -> Prompt {
        let can_edit = context.is_interactive && io::stdout().is_terminal();
        let config = Config::builder().auto_add_history(true).build();
        let history = MemHistory::with_config(&config);

        match can_edit.then(|| Editor::with_history(config, history)) {
            Some(Ok(editor)) => Prompt::Terminal(Box::new(editor)),
            _ => Prompt::Plain(context.is_interactive),
        }
    }

    /// The next line without its end; `None` at the end of the input and after Ctrl+C.
    pub fn line(&mut self) -> Option<String> {
        match self {
            Prompt::Terminal(editor) => editor.readline(MARK).ok(),
            Prompt::Plain(is_marked) => {
                if *is_marked {
                    eprint!("{MARK}");
                }
                io::stdin().lines().next()?.ok()
            }
        }
    }
}
