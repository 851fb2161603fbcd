//! What an indexing run shows while it works (requirement U2): a bar, a line a second, JSON events, or nothing.

use super::checkpoint::Recorder;
use super::context::Context;
use super::render;
use crate::index::{Codebase, Counters, IndexError, Meter, Progress, UpdateReport};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::Write as _;
use std::sync::{Arc, OnceLock};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Steps of the bar.
const TICK: Duration = Duration::from_millis(100);
/// Lines, events and records.
const SECOND: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Quiet,
    Bar,
    Lines,
    Json,
}

impl Style {
    pub fn choose(context: &Context, quiet: bool, json: bool) -> Style {
        match (json, quiet, context.err_is_terminal) {
            (true, ..) => Style::Json,
            (_, true, _) => Style::Quiet,
            (_, _, true) => Style::Bar,
            _ => Style::Lines,
        }
    }
}

/// Runs `work`, showing and recording its progress. SIGINT and SIGTERM end it at the next file; one more,
/// a second later, at once.
pub fn watch(
    context: &Context,
    codebase: &Codebase,
    style: Style,
    work: impl FnOnce(&dyn Progress) -> Result<UpdateReport, IndexError>,
) -> Result<UpdateReport, IndexError> {
    let watched = Watched {
        meter: Meter::default(),
        signals: Signals::listen(),
        n_warnings: AtomicU64::new(0),
        style,
        context,
        bar: bar(style),
        started: Instant::now(),
    };
    let mut recorder = Recorder::new(codebase);
    let result = std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let (watched, recorder) = (&watched, &mut recorder);
        scope.spawn(move || watched.follow(recorder, &is_done));
        let result = work(watched);
        drop(done);
        result
    });
    watched.bar.finish_and_clear();
    if result.is_ok() {
        recorder.remove();
    }
    result
}

/// What SIGINT and SIGTERM do: the first asks the run to stop, one that comes later ends it.
///
/// Git passes the signals it gets on to the program it started, so one Ctrl-C in a terminal arrives twice.
#[derive(Default)]
struct Signals {
    stop: Arc<AtomicBool>,
    /// From now on a signal ends the process.
    armed: Arc<AtomicBool>,
    stopped_at: OnceLock<Instant>,
}

impl Signals {
    fn listen() -> Signals {
        let signals = Signals::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // Without them a signal ends the process, which loses the work since the last checkpoint and nothing else.
            let code = super::exit::INTERRUPTED.into();
            let _ = signal_hook::flag::register_conditional_shutdown(signal, code, signals.armed.clone());
            let _ = signal_hook::flag::register(signal, signals.stop.clone());
        }
        signals
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Called now and then.
    fn tick(&self) {
        if self.is_stopping() && self.stopped_at.get_or_init(Instant::now).elapsed() >= SECOND {
            self.armed.store(true, Ordering::Relaxed);
        }
    }
}

fn bar(style: Style) -> ProgressBar {
    if style != Style::Bar {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::default_spinner());
    bar.set_message("Reading the tree");
    bar
}

struct Watched<'a> {
    meter: Meter,
    signals: Signals,
    n_warnings: AtomicU64,
    style: Style,
    context: &'a Context,
    bar: ProgressBar,
    started: Instant,
}

/// One look at the meter.
struct Look {
    done: Counters,
    n_files: u64,
    chunks_per_second: f64,
    eta: Option<Duration>,
}

impl Watched<'_> {
    /// Shows and records until the work is done.
    fn follow(&self, recorder: &mut Recorder, is_done: &mpsc::Receiver<()>) {
        let mut said = Instant::now();
        while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            self.signals.tick();
            let look = self.look();
            self.draw(&look);
            if said.elapsed() >= SECOND {
                said = Instant::now();
                self.say(&look);
                if look.n_files > 0 {
                    recorder.write(look.done.files, look.n_files, look.done.chunks);
                }
            }
        }
        let look = self.look();
        if look.done.files < look.n_files {
            // Interrupted or failed: the record says how far it came.
            recorder.write(look.done.files, look.n_files, look.done.chunks);
        }
    }

    fn look(&self) -> Look {
        let done = self.meter.counters();
        let n_files = self.meter.n_files.load(Ordering::Relaxed);
        let elapsed = self.meter.started.get().map_or(0.0, |started| started.elapsed().as_secs_f64());
        let share = if n_files == 0 { 0.0 } else { done.files as f64 / n_files as f64 };
        // Early guesses jump about.
        let eta = (share > 0.01 && elapsed > 0.5)
            .then(|| Duration::from_secs_f64(elapsed / share * (1.0 - share).max(0.0)));
        Look { done, n_files, chunks_per_second: done.chunks as f64 / elapsed.max(0.001), eta }
    }

    fn draw(&self, look: &Look) {
        if self.style != Style::Bar {
            return;
        }
        if self.signals.is_stopping() {
            self.bar.set_message("Stopping; once more Ctrl-C drops what is not stored yet");
        } else if look.n_files > 0 && look.done.files >= look.n_files {
            self.bar.set_message("Writing the index");
        } else if look.n_files > 0 {
            self.bar.set_message(look.text());
        }
        self.bar.set_position(look.done.files);
        self.bar.tick();
    }

    fn say(&self, look: &Look) {
        match self.style {
            Style::Lines if look.n_files > 0 => {
                let of = format!("{}/{} files", render::count(look.done.files), render::count(look.n_files));
                self.context.note(&format!("Indexing: {of}, {}", look.text()));
            }
            Style::Json => event(&serde_json::json!({
                "event": "progress",
                "files": look.done.files,
                "files_total": look.n_files,
                "chunks": look.done.chunks,
                "embedded": look.done.embedded,
                "chunks_per_second": look.chunks_per_second.round(),
                "elapsed_ms": self.started.elapsed().as_millis() as u64,
                "eta_ms": look.eta.map(|eta| eta.as_millis() as u64),
            })),
            _ => {}
        }
    }
}

impl Look {
    fn text(&self) -> String {
        let eta = self.eta.map_or(String::new(), |eta| format!(", {} left", render::duration(eta)));
        let rate = render::count(self.chunks_per_second as u64);
        format!("{} ({rate}/s){eta}", render::plural(self.done.chunks, "chunk"))
    }
}

impl Progress for Watched<'_> {
    fn begin(&self, n_files: u64) {
        self.meter.begin(n_files);
        match self.style {
            Style::Json => event(&serde_json::json!({ "event": "begin", "files_total": n_files })),
            Style::Bar => {
                let style = ProgressStyle::with_template("Indexing [{bar:30}] {pos}/{len} files  {msg}");
                self.bar.set_length(n_files);
                self.bar
                    .set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
            }
            _ => {}
        }
    }

    fn add(&self, done: &Counters) {
        self.meter.add(done);
    }

    fn stopped(&self) -> bool {
        self.signals.is_stopping()
    }

    fn warn(&self, message: &str) {
        self.n_warnings.fetch_add(1, Ordering::Relaxed);
        match self.style {
            Style::Json => event(&serde_json::json!({ "event": "warning", "message": message })),
            _ => self.bar.suspend(|| self.context.warn(message)),
        }
    }
}

/// One JSON object on one line of stdout.
pub fn event(value: &impl serde::Serialize) {
    if let Ok(text) = render::json(value, false) {
        let _ = writeln!(std::io::stdout(), "{text}");
    }
}
