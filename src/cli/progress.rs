//! Progress of an indexing run: a bar, one line per second, JSON events, or nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use codeweaver_config::ModelSettings;
use codeweaver_git::BStr;
use codeweaver_index::{Codebase, Counters, IndexError, Meter, Progress};

use super::checkpoint::Recorder;
use super::context::Context;
use super::estimate;
use super::events::event;
use super::render;

/// Interval at which the bar is drawn and signals are polled.
const TICK: Duration = Duration::from_millis(100);
/// Interval of progress lines, JSON events and checkpoint records; also the time after which a second signal
/// ends the process.
const SECOND: Duration = Duration::from_secs(1);
/// Seconds after which the time that is left is estimated. Threads and caches warm up first.
const EARLY: f64 = 1.5;

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

/// Runs `work`, displaying and recording its progress. SIGINT or SIGTERM stops the run at the next file;
/// another one, at least a second later, ends the process at once.
pub fn run<T>(
    context: &Context,
    codebase: &Codebase,
    style: Style,
    work: impl FnOnce(&dyn Progress) -> Result<T, IndexError>,
) -> Result<T, IndexError> {
    let monitor = Monitor {
        meter: Meter::default(),
        signals: Signals::listen(Arc::default()),
        style,
        context,
        model: &codebase.settings.model,
        bar: bar(style),
        started: Instant::now(),
    };

    let mut recorder = Recorder::new(codebase);

    let result = std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let (monitor, recorder) = (&monitor, &mut recorder);
        scope.spawn(move || monitor.run(recorder, &is_done));
        let result = work(monitor);

        // Dropping the sender ends the monitor.
        drop(done);
        result
    });

    monitor.bar.finish_and_clear();

    match &result {
        Ok(_) => recorder.remove(),
        Err(IndexError::Interrupted { .. }) => {}
        // Without progress nothing was done, for example because another run is active.
        Err(_) if monitor.meter.n_files.load(Ordering::Relaxed) > 0 => recorder.fail(),
        Err(_) => {}
    }
    result
}

/// Runs `work` with SIGINT and SIGTERM setting `stop`; another one, at least a second later, ends the
/// process.
pub fn until_stopped<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    let signals = Signals::listen(stop.clone());

    std::thread::scope(|scope| {
        let (done, is_done) = mpsc::channel::<()>();
        let signals = &signals;
        scope.spawn(move || {
            while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                signals.tick();
            }
        });

        let result = work();
        drop(done);
        result
    })
}

/// Handling of SIGINT and SIGTERM: the first asks the run to stop, another one at least a second later ends
/// the process.
///
/// The delay is needed because git forwards signals to the program it started: one Ctrl-C in a terminal
/// arrives twice.
#[derive(Default)]
struct Signals {
    stop: Arc<AtomicBool>,
    /// Once set, the next signal ends the process.
    armed: Arc<AtomicBool>,
    stopped_at: OnceLock<Instant>,
}

impl Signals {
    fn listen(stop: Arc<AtomicBool>) -> Signals {
        let signals = Signals { stop, ..Signals::default() };
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            // If registration fails, a signal ends the process, which loses only the work since the last
            // checkpoint.
            let code = super::exit::INTERRUPTED.into();
            let _ = signal_hook::flag::register_conditional_shutdown(signal, code, signals.armed.clone());
            let _ = signal_hook::flag::register(signal, signals.stop.clone());
        }
        signals
    }

    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Arms the second signal once the first is a second old. Called every [`TICK`].
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

/// Collects the progress of a run and displays it.
struct Monitor<'a> {
    meter: Meter,
    signals: Signals,
    style: Style,
    context: &'a Context,
    model: &'a ModelSettings,
    bar: ProgressBar,
    started: Instant,
}

/// The values of the meter at one time.
struct Reading {
    done: Counters,
    n_files: u64,
    n_bytes: u64,
    chunks_per_second: f64,
    eta: Option<Duration>,
}

impl Monitor<'_> {
    /// Displays and records progress until the sender of `is_done` is dropped.
    fn run(&self, recorder: &mut Recorder, is_done: &mpsc::Receiver<()>) {
        let mut last_report = Instant::now();
        while is_done.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            self.signals.tick();
            let reading = self.reading();
            self.draw(&reading);

            if last_report.elapsed() >= SECOND {
                last_report = Instant::now();
                self.report(&reading);
                if reading.n_files > 0 {
                    recorder.write(&reading.done, reading.n_files, reading.n_bytes, self.meter.file());
                }
            }
        }

        let reading = self.reading();
        if reading.done.files + reading.done.errors < reading.n_files {
            // Interrupted or failed: record the final counts.
            recorder.write(&reading.done, reading.n_files, reading.n_bytes, self.meter.file());
        }
    }

    fn reading(&self) -> Reading {
        let done = self.meter.counters();

        let n_files = self.meter.n_files.load(Ordering::Relaxed);
        let elapsed = self.meter.started.get().map_or(0.0, |started| started.elapsed().as_secs_f64());
        let n_bytes = self.meter.n_bytes.load(Ordering::Relaxed);
        let share = done.share(n_files, n_bytes);
        // Early estimates fluctuate too much to be shown.
        let eta = (share > 0.01 && elapsed > EARLY)
            .then(|| Duration::from_secs_f64(elapsed / share * (1.0 - share).max(0.0)));

        Reading { done, n_files, n_bytes, chunks_per_second: done.chunks as f64 / elapsed.max(0.001), eta }
    }

    /// Updates the bar.
    fn draw(&self, reading: &Reading) {
        if self.style != Style::Bar {
            return;
        }

        if self.signals.is_stopping() {
            self.bar.set_message("Stopping; press Ctrl-C again to discard unsaved work");
        } else if reading.n_files > 0 && reading.done.files >= reading.n_files {
            self.bar.set_message("Writing the index");
        } else if reading.n_files > 0 {
            self.bar.set_message(reading.text(self.model));
        }

        self.bar.set_position(reading.done.files);
        self.bar.tick();
    }

    /// Prints a line or an event.
    fn report(&self, reading: &Reading) {
        match self.style {
            Style::Lines if reading.n_files > 0 => {
                let files =
                    format!("{}/{} files", render::count(reading.done.files), render::count(reading.n_files));

                self.context.note(&format!("Indexing: {files}, {}", reading.text(self.model)));
            }
            Style::Json => event(&serde_json::json!({
                "event": "progress",
                "files": reading.done.files,
                "files_total": reading.n_files,
                "chunks": reading.done.chunks,
                "embedded": reading.done.embedded,
                "tokens": reading.done.tokens,
                "errors": reading.done.errors,
                "chunks_per_second": reading.chunks_per_second.round(),
                "elapsed_ms": self.started.elapsed().as_millis() as u64,
                "eta_ms": reading.eta.map(|eta| eta.as_millis() as u64),
            })),
            _ => {}
        }
    }
}

impl Reading {
    fn text(&self, model: &ModelSettings) -> String {
        let eta = self.eta.map_or(String::new(), |eta| format!(", {} left", render::duration(eta)));
        let rate = render::count(self.chunks_per_second as u64);
        let tokens = match self.done.tokens {
            0 => String::new(),
            n => format!(", {} tokens sent{}", render::count(n), estimate::price(n, model)),
        };
        format!("{} ({rate}/s){tokens}{eta}", render::plural(self.done.chunks, "chunk"))
    }
}

impl Progress for Monitor<'_> {
    fn begin(&self, n_files: u64, n_bytes: u64) {
        self.meter.begin(n_files, n_bytes);
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

    fn is_at(&self, path: &BStr) {
        self.meter.is_at(path);
    }

    fn stopped(&self) -> bool {
        self.signals.is_stopping()
    }

    fn warn(&self, message: &str) {
        match self.style {
            Style::Json => event(&serde_json::json!({ "event": "warning", "message": message })),
            _ => self.bar.suspend(|| self.context.warn(message)),
        }
    }
}
