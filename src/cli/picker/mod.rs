//! The picker: results while you type, the text of the selected one, and its file in your editor.
//!
//! * `state`: the query, the results and what keys do;
//! * `frame`: the lines of the screen;
//! * `searches`: the thread that searches;
//! * `item`: a result with its text;
//! * `editor`: the program that opens a file at a line.

mod editor;
mod frame;
mod item;
mod searches;
mod state;

use std::io::Write as _;
use std::process::ExitCode;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind};
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute, queue, style};

use codeweaver::service::Requests;
use codeweaver_git::Prefix;

use self::frame::Frame;
use self::item::Item;
use self::searches::{Answer, Searches};
use self::state::{Action, Picker};

use super::context::Context;
use super::error::CliError;
use super::exit;
use super::places::Places;
use super::render::{Paint, safe};
use super::scope::ScopeArgs;
use super::surroundings::Surroundings;

/// Interval at which an answer that is awaited is looked for while no key is pressed.
const TICK: Duration = Duration::from_millis(10);
/// The same while none is awaited.
const IDLE: Duration = Duration::from_secs(3600);

/// Returns whether there is a terminal for it.
pub fn is_possible(around: &Surroundings) -> bool {
    around.stdin_is_terminal && around.stdout_is_terminal
}

/// The end of a picker.
enum End {
    Quit,
    Open(Item),
    Print(String),
}

/// Runs the picker, and then what was chosen.
pub fn run(scope: ScopeArgs, context: &Context) -> Result<ExitCode, CliError> {
    let codebase = context.codebase()?;
    Requests::new(&codebase, context).admit()?;

    let prefix = context.prefix(&codebase);
    let places = Places::new(context, &codebase, scope.rev.as_deref());
    let searches = Searches::start(codebase, scope, context.clone());

    match show(&searches, &places, context.paint)? {
        End::Quit => Ok(ExitCode::from(exit::NEGATIVE)),
        End::Print(place) => {
            writeln!(context.out(), "{place}")?;
            Ok(ExitCode::SUCCESS)
        }
        End::Open(item) => open(&item, &prefix),
    }
}

/// Opens the file of an item in the editor.
fn open(item: &Item, prefix: &Prefix) -> Result<ExitCode, CliError> {
    let Some(file) = prefix.on_disk(&item.path).filter(|file| file.is_file()) else {
        return Err(CliError::new(
            format!("'{}' cannot be edited", item.path),
            "it is not a file of the working tree",
            format!("git codeweaver read {}:{}", item.path, item.line),
        ));
    };

    let status = editor::open(&file, item.line).map_err(|error| {
        CliError::new(
            format!("the editor '{}' does not start", editor::name()),
            error.to_string(),
            "set EDITOR to the editor that you use",
        )
    })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::from(exit::NEGATIVE) })
}

/// Shows the picker until it ends. The terminal is then as it was before.
fn show(searches: &Searches, places: &Places, paint: Paint) -> Result<End, CliError> {
    let _screen = FullScreen::enter()?;
    let mut picker = Picker::default();
    let mut number = 0;
    let mut is_changed = true;

    loop {
        loop {
            match searches.answers.try_recv() {
                Ok((answered, answer)) if answered == number => {
                    picker.answered(answer);
                    is_changed = true;
                }
                Ok(_) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(searches_ended()),
            }
        }

        if std::mem::take(&mut is_changed) {
            draw(&mut picker, places, paint)?;
        }

        if event::poll(if picker.is_busy { TICK } else { IDLE })? {
            is_changed = true;
            let action = match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => picker.press(key),
                Event::Paste(text) => picker.insert(&text),
                _ => Action::Draw,
            };

            match (action, picker.selected()) {
                (Action::Quit, _) => return Ok(End::Quit),
                // What a revision has is not what an editor would open.
                (Action::Open, Some(item)) if picker.answer.rev.is_none() => {
                    return Ok(End::Open(item.clone()));
                }
                (Action::Open | Action::Print, Some(item)) => {
                    return Ok(End::Print(place(item, picker.answer.rev.as_deref(), places)));
                }
                (Action::Ask, _) => number = ask(&mut picker, searches),
                _ => {}
            }
        }
    }
}

/// The error of a thread that has panicked. A search that panics is an answer, so this is a rare defect.
fn searches_ended() -> CliError {
    CliError::new("results cannot be shown", "the thread that searches has ended", "please report this")
}

/// The place of an item, as editors and `git show` take it.
fn place(item: &Item, rev: Option<&str>, places: &Places) -> String {
    match rev {
        Some(rev) => format!("{}:{}:{}", safe(rev), safe(&item.path), item.line),
        None => format!("{}:{}", places.editor_path(&item.path), item.line),
    }
}

/// Asks the present query, and returns its number. An empty one has no results.
fn ask(picker: &mut Picker, searches: &Searches) -> u64 {
    let query = picker.query.trim();
    if query.is_empty() {
        picker.answered(Ok(Answer::default()));
        return searches.cancel();
    }

    picker.is_busy = true;
    searches.ask(query)
}

/// Draws the screen. The text is not scrolled further than there are lines.
fn draw(picker: &mut Picker, places: &Places, paint: Paint) -> Result<(), CliError> {
    let (columns, rows) = size();
    let Frame { lines, cursor, scroll } =
        frame::frame(picker, &|path| places.path(path), (columns.into(), rows.into()), paint);
    picker.scroll = scroll;

    let mut out = std::io::stdout().lock();
    queue!(out, BeginSynchronizedUpdate, cursor::Hide)?;
    for (row, line) in (0..).zip(&lines) {
        queue!(out, cursor::MoveTo(0, row), style::Print(line), Clear(ClearType::UntilNewLine))?;
    }

    let below = u16::try_from(lines.len()).unwrap_or(rows);
    if below < rows {
        queue!(out, cursor::MoveTo(0, below), Clear(ClearType::FromCursorDown))?;
    }

    let column = u16::try_from(cursor).unwrap_or(columns);
    queue!(out, cursor::MoveTo(column, 0), cursor::Show, EndSynchronizedUpdate)?;
    out.flush()?;
    Ok(())
}

/// Columns and rows of the terminal; those of a usual one if it does not say.
fn size() -> (u16, u16) {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => (columns, rows),
        _ => (80, 24),
    }
}

/// The whole screen with keys as they are pressed; left when dropped, also by a panic.
struct FullScreen;

impl FullScreen {
    fn enter() -> std::io::Result<FullScreen> {
        enable_raw_mode()?;
        // From here on, the mode is left again.
        let screen = FullScreen;
        execute!(std::io::stdout(), EnterAlternateScreen, EnableBracketedPaste)?;
        Ok(screen)
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        // A terminal that is gone needs no cleaning.
        let _ = execute!(std::io::stdout(), DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}
