//! Fuzzer: millions of generated and mutated inputs, in child processes that may crash, hang or grow.
//!
//! ```text
//! cargo bench --bench fuzz -- TARGET --cases N [--seed S] [--findings DIR]  one target, or `all`
//! cargo bench --bench fuzz -- adversarial [--bytes N] [LANGUAGE]            cost of adversarial sources
//! cargo bench --bench fuzz -- replay TARGET FILE                            one case
//! cargo bench --bench fuzz -- minimise TARGET FILE                          shrink a failing case, in place
//! ```
//!
//! The parent monitors the child's case number, CPU time and memory. If a child crashes, spends
//! [`HANG_SECONDS`] of CPU time on one case or exceeds [`MAX_RSS_MB`], the case is written to the findings
//! directory and a new child continues with the next one. Panics are caught in the child; one case is kept
//! for each panic location.

#[path = "../tests/fuzz/mod.rs"]
mod fuzz;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use fuzz::{Case, Driver, TARGETS, adversarial};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// CPU time within one case that counts as a hang.
const HANG_SECONDS: f64 = 20.0;
/// Maximum resident memory of a child, in MB. Grammars take about 150, a few large inputs several times that.
const MAX_RSS_MB: u64 = 1_500;
/// CPU time of a case, in seconds, above which it is reported as slow.
const SLOW: f64 = 0.5;

fn main() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let option = |name: &str| {
        args.iter().position(|arg| arg == name).and_then(|at| args.get(at + 1)).map(String::as_str)
    };
    let number =
        |name: &str, default: u64| option(name).and_then(|text| text.parse().ok()).unwrap_or(default);
    let words: Vec<&str> = args.iter().map(String::as_str).take_while(|arg| !arg.starts_with("--")).collect();
    let plan = Plan {
        cases: number("--cases", 20_000),
        seed: number("--seed", 1),
        findings: option("--findings").map_or_else(|| PathBuf::from("target/fuzz-findings"), PathBuf::from),
    };
    match words[..] {
        ["worker", target, from] => {
            worker(target, from.parse()?, &plan, Path::new(option("--dir").unwrap_or(".")))
        }
        ["replay", target, file] => replay(target, Path::new(file)),
        ["minimise", target, file] => minimise(target, Path::new(file)),
        ["adversarial-worker", language] => adversarial_worker(language, number("--bytes", 100_000) as usize),
        ["adversarial"] => {
            fuzz::LANGUAGES
                .iter()
                .try_for_each(|language| adversarial_of(language, number("--bytes", 100_000)))?;
            Ok(ExitCode::SUCCESS)
        }
        ["adversarial", language] => {
            adversarial_of(language, number("--bytes", 100_000)).map(|()| ExitCode::SUCCESS)
        }
        [] | ["all"] => {
            let n = TARGETS
                .iter()
                .map(|(name, _)| campaign(name, &plan))
                .collect::<Result<Vec<_>>>()?
                .iter()
                .sum::<usize>();
            Ok(ExitCode::from(u8::from(n > 0)))
        }
        [target] => Ok(ExitCode::from(u8::from(campaign(target, &plan)? > 0))),
        _ => Err("see the head of benches/fuzz.rs".into()),
    }
}

struct Plan {
    cases: u64,
    seed: u64,
    findings: PathBuf,
}

/// Runs all cases of one target; returns the number of findings.
fn campaign(target: &str, plan: &Plan) -> Result<usize> {
    let dir = scratch()?;
    std::fs::create_dir_all(&plan.findings)?;
    let (started, mut from, mut n_findings, mut peak) = (Instant::now(), 0, 0, 0);
    while from < plan.cases {
        let mut child = spawn(&["worker", target, &from.to_string()], |command| {
            command.args(["--cases", &plan.cases.to_string(), "--seed", &plan.seed.to_string()]);
            command.arg("--findings").arg(&plan.findings).arg("--dir").arg(dir.path());
        })?;
        let end = watch(&mut child, &dir.path().join("case"), &mut peak)?;
        let (number, case) = last_case(&dir.path().join("case"))?;
        match end {
            End::Done => break,
            End::Found(what) => {
                n_findings += 1;
                let path = plan.findings.join(format!("{target}-{what}-{number}"));
                std::fs::write(&path, case)?;
                println!("{target}: case {number} {what}: {}", path.display());
                from = number + 1;
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let prefix = format!("{target}-");
    let found: Vec<String> = std::fs::read_dir(&plan.findings)?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(&prefix) && !name.contains("-slow-"))
        .collect();
    println!(
        "{target}: {} cases in {seconds:.0} s ({:.0} a second), peak {peak} MB, {n_findings} processes ended, {} findings in total",
        plan.cases,
        plan.cases as f64 / seconds,
        found.len(),
    );
    Ok(found.len())
}

enum End {
    Done,
    Found(&'static str),
}

/// Monitors the child until it ends. `peak` is raised to its largest resident memory in MB.
fn watch(child: &mut Child, progress: &Path, peak: &mut u64) -> Result<End> {
    let (mut number, mut since) = (u64::MAX, 0.0);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(if status.success() { End::Done } else { End::Found("crash") });
        }
        let now = last_case(progress).map_or(number, |(now, _)| now);
        let cpu = cpu_seconds(child.id());
        if now != number {
            (number, since) = (now, cpu);
        }
        let rss = rss_mb(child.id());
        *peak = (*peak).max(rss);
        let what = match () {
            () if cpu - since > HANG_SECONDS => "hang",
            () if rss > MAX_RSS_MB => "memory",
            () => "",
        };
        if !what.is_empty() {
            child.kill()?;
            child.wait()?;
            return Ok(End::Found(what));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Number and content of the case that a child started last.
fn last_case(path: &Path) -> Result<(u64, Vec<u8>)> {
    let bytes = std::fs::read(path)?;
    let word =
        |at: usize| bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map(u64::from_le_bytes);
    let (Some(number), Some(len)) = (word(0), word(8)) else { return Err("no case yet".into()) };
    Ok((number, bytes.get(16..16 + len as usize).unwrap_or_default().to_vec()))
}

fn spawn(args: &[&str], more: impl FnOnce(&mut Command)) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(args).stdin(Stdio::null());
    more(&mut command);
    Ok(command.spawn()?)
}

/// A temporary directory, in memory if possible.
fn scratch() -> Result<tempfile::TempDir> {
    let builder = |dir: &Path| tempfile::Builder::new().prefix("codeweaver-fuzz-").tempdir_in(dir);
    Ok(builder(Path::new("/dev/shm")).or_else(|_| builder(&std::env::temp_dir()))?)
}

/// Runs the cases from `from` on. Each is first written to `dir/case`, where the parent reads it if this
/// process crashes.
fn worker(target: &str, from: u64, plan: &Plan, dir: &Path) -> Result<ExitCode> {
    let work = dir.join(format!("work-{from}"));
    std::fs::create_dir_all(&work)?;
    let mut progress = File::create(dir.join("case"))?;
    let target_of = fuzz::open(target, &work).ok_or_else(|| format!("no target {target}"))?;
    let mut driver = Driver::new(target_of, plan.seed ^ from);
    if from == 0 {
        fuzz::found_cases(target).iter().for_each(|(_, case)| driver.run(case));
    }
    fuzz::keep_panics();
    fuzz::quiet(true);
    let mut counted: BTreeMap<String, u32> = BTreeMap::new();
    for number in from..plan.cases {
        let case = driver.case(number);
        let encoded = case.encode();
        let head = [number.to_le_bytes(), (encoded.len() as u64).to_le_bytes()].concat();
        progress.rewind()?;
        progress.write_all(&[head, encoded].concat())?;
        let started = own_cpu_seconds();
        let result = catch_unwind(AssertUnwindSafe(|| driver.run(&case)));
        let took = own_cpu_seconds() - started;
        if took > SLOW {
            let path = plan.findings.join(format!("{target}-slow-{:05.0}-{number}", took * 1000.0));
            std::fs::write(path, case.encode())?;
        }
        if result.is_err() {
            let place = fuzz::last_panic().rsplit("/src/").next().unwrap_or_default().to_owned();
            let n = counted.entry(place.clone()).or_default();
            *n += 1;
            if *n == 1 {
                println!("{target}: case {number} panics: {place}");
                let name: String =
                    place.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
                std::fs::write(plan.findings.join(format!("{target}-panic-{name}")), case.encode())?;
            }
        }
    }
    for (place, n) in counted {
        println!("{target}: {n} times {place}");
    }
    Ok(ExitCode::SUCCESS)
}

fn replay(target: &str, file: &Path) -> Result<ExitCode> {
    let dir = scratch()?;
    let mut target = fuzz::open(target, dir.path()).ok_or("no such target")?;
    let case = Case::decode(&std::fs::read(file)?);
    let started = Instant::now();
    let behaviour = target.run(&case);
    println!(
        "{} bytes, {:?}, {behaviour:016x}, {} MB",
        case.bytes.len(),
        started.elapsed(),
        rss_mb(std::process::id())
    );
    Ok(ExitCode::SUCCESS)
}

/// Removes parts of a case as long as it still fails, or hangs for a tenth of [`HANG_SECONDS`].
fn minimise(target: &str, file: &Path) -> Result<ExitCode> {
    let mut case = Case::decode(&std::fs::read(file)?);
    let trial = file.with_extension("trial");
    let fails = |case: &Case| -> Result<bool> {
        std::fs::write(&trial, case.encode())?;
        let mut child = spawn(&["replay", target, &trial.to_string_lossy()], |command| {
            command.stdout(Stdio::null()).stderr(Stdio::null());
        })?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(!status.success());
            }
            if cpu_seconds(child.id()) > HANG_SECONDS / 10.0 || rss_mb(child.id()) > MAX_RSS_MB {
                child.kill()?;
                child.wait()?;
                return Ok(true);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    if !fails(&case)? {
        return Err("this case does not fail".into());
    }
    let mut part = case.bytes.len().div_ceil(2).max(1);
    loop {
        let (mut at, mut shorter) = (0, false);
        while at < case.bytes.len() {
            let mut tried = case.clone();
            tried.bytes.drain(at..(at + part).min(case.bytes.len()));
            if fails(&tried)? {
                (case, shorter) = (tried, true);
            } else {
                at += part;
            }
        }
        if part == 1 && !shorter {
            break;
        }
        part = if shorter { part.min(case.bytes.len().max(1)) } else { part.div_ceil(2) };
        if part == 1 && case.bytes.len() > 2_000 {
            break;
        }
    }
    std::fs::remove_file(&trial)?;
    std::fs::write(file, case.encode())?;
    println!("reduced to {} bytes in {}", case.bytes.len(), file.display());
    Ok(ExitCode::SUCCESS)
}

/// Runs all adversarial sources of one language in a child process.
fn adversarial_of(language: &str, n_bytes: u64) -> Result<()> {
    let mut child = spawn(&["adversarial-worker", language], |command| {
        command.args(["--bytes", &n_bytes.to_string()]);
    })?;
    let (mut peak, started) = (0, Instant::now());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        peak = peak.max(rss_mb(child.id()));
        std::thread::sleep(Duration::from_millis(20));
    };
    println!("{language}: {:.1} s in all, peak {peak} MB, {status}", started.elapsed().as_secs_f64());
    Ok(())
}

fn adversarial_worker(language: &str, n_bytes: usize) -> Result<ExitCode> {
    let dir = scratch()?;
    let mut target = fuzz::open("chunker", dir.path()).ok_or("no such target")?;
    let mut times = Vec::new();
    let base = rss_mb(std::process::id());
    for source in adversarial::sources(language, n_bytes) {
        let case = Case::new(format!("{language} 0"), source.bytes);
        let started = own_cpu_seconds();
        if catch_unwind(AssertUnwindSafe(|| target.run(&case))).is_err() {
            println!("{language}: {} panics", source.kind);
        }
        times.push((own_cpu_seconds() - started, source.kind));
    }
    times.sort_by(|a, b| b.0.total_cmp(&a.0));
    let worst: Vec<String> =
        times.iter().take(4).map(|(took, kind)| format!("{kind} {:.0} ms", took * 1000.0)).collect();
    println!(
        "{language}: {} sources of {n_bytes} bytes from {base} MB; slowest: {}",
        times.len(),
        worst.join(", ")
    );
    Ok(ExitCode::SUCCESS)
}

/// CPU time of the main thread in seconds, with nanosecond resolution.
fn own_cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|nanos| nanos.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// User and system time of a process in seconds, from `/proc`; 0 if it has ended.
fn cpu_seconds(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// Resident memory of a process in MB, from `/proc`; 0 if it has ended.
fn rss_mb(pid: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096 / (1 << 20)
}
