//! Child processes and their cost.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::Result;

/// Cost of a process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    pub wall: Duration,
    /// User and system time of the process and the children it waited for, in steps of 10 ms; zero on systems
    /// without `/proc`.
    pub cpu: Duration,
    /// Largest observed resident set in bytes; zero on systems without `/proc`.
    pub peak_rss: u64,
}

/// A program that is run repeatedly in the same directory and environment.
#[derive(Debug, Clone)]
pub struct Program {
    path: PathBuf,
    dir: PathBuf,
    home: PathBuf,
}

impl Program {
    pub fn new(path: impl Into<PathBuf>, dir: &Path, home: &Path) -> Program {
        Program { path: path.into(), dir: dir.to_owned(), home: home.to_owned() }
    }

    /// The binary under test: the one cargo built for this bench, or CODEWEAVER_BENCH_BINARY.
    pub fn codeweaver(dir: &Path, home: &Path) -> Program {
        let named = std::env::var_os("CODEWEAVER_BENCH_BINARY").map(PathBuf::from);
        Program::new(named.unwrap_or_else(|| codeweaver_testkit::program().to_path_buf()), dir, home)
    }

    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = codeweaver_testkit::command(&self.path, &self.dir, &self.home);
        // Settings of the caller are measured.
        let settings =
            std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"CODEWEAVER_"));
        command.args(args).envs(settings);
        command
    }

    /// Runs it and returns its output; an exit code other than zero is an error.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Output> {
        let output = self.command(args).output()?;
        if output.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("{} in {}: {}\n{said}", self.path.display(), self.dir.display(), output.status).into())
    }

    pub fn text<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<String> {
        Ok(String::from_utf8(self.run(args)?.stdout)?)
    }

    /// Runs it to its end and discards its output; any exit code is accepted.
    pub fn time<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Duration> {
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let started = Instant::now();
        command.status()?;
        Ok(started.elapsed())
    }

    /// Runs it and samples its memory. Sampling costs a little, so this is for runs of a second and more.
    pub fn measure<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<(Output, Cost)> {
        let mut command = self.command(args);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let cpu_before = children_cpu();
        let started = Instant::now();
        let child = command.spawn()?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let watcher = std::thread::spawn(move || watch_peak(&status));
        let output = child.wait_with_output()?;
        let wall = started.elapsed();
        let peak_rss = watcher.join().unwrap_or(0);
        let cost = Cost { wall, cpu: children_cpu().saturating_sub(cpu_before), peak_rss };
        if !output.status.success() {
            return Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok((output, cost))
    }
}

/// High-water mark of the process with this status file, polled until it ends. Growth in the last 5 ms is
/// missed.
fn watch_peak(status: &Path) -> u64 {
    let mut peak = 0;
    while let Ok(text) = std::fs::read_to_string(status) {
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let Some(kib) = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()) else {
            break;
        };
        peak = peak.max(kib << 10);
        std::thread::sleep(Duration::from_millis(5));
    }
    peak
}

/// CPU time of all children waited for so far.
pub fn children_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The second field is the name in parentheses, which may contain anything; cutime and cstime are the 16th
    // and 17th.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Bytes of all files below `dir`.
pub fn disk_use(dir: &Path) -> u64 {
    let Ok(children) = std::fs::read_dir(dir) else { return 0 };
    let size = |child: std::fs::DirEntry| match child.file_type() {
        Ok(kind) if kind.is_dir() => disk_use(&child.path()),
        _ => child.metadata().map_or(0, |metadata| metadata.len()),
    };
    children.flatten().map(size).sum()
}
