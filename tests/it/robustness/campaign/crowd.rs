//! Concurrent processes that are killed at different moments.

use std::io::Read as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::site::Site;

/// A process to start and kill.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Category in the counts.
    pub kind: &'static str,
    pub words: Vec<&'static str>,
    pub dir: PathBuf,
    pub start: Duration,
    /// Time from its start to the kill.
    pub life: Duration,
    /// Time between SIGTERM and the kill, so that the program dies while it writes a checkpoint.
    pub term: Option<Duration>,
    /// For `CODEWEAVER_FAULT`; empty for none.
    pub fault: String,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub kind: &'static str,
    pub fault: String,
    pub status: ExitStatus,
    pub stderr: String,
    pub words: Vec<&'static str>,
    /// It held a work lease at some time of its life.
    pub held_lease: bool,
    was_asked_to_stop: bool,
}

impl Ended {
    /// Whether the `kill -9` ended it.
    pub fn was_killed(&self) -> bool {
        self.status.signal() == Some(9)
    }

    /// Whether SIGTERM ended it, in a phase or command without anything to save.
    pub fn was_terminated(&self) -> bool {
        self.was_asked_to_stop && self.status.signal() == Some(15)
    }

    /// Whether the injected abort ended it.
    pub fn was_aborted(&self) -> bool {
        self.fault.starts_with("abort") && self.status.signal() == Some(6)
    }
}

/// Starts all processes, kills each at its time, and waits for all.
pub fn run(site: &Site, plans: &[Plan]) -> Vec<Ended> {
    let began = Instant::now();
    let mut events: Vec<(Duration, usize, Event)> = Vec::new();
    for (i, plan) in plans.iter().enumerate() {
        events.push((plan.start, i, Event::Start));
        if let Some(before) = plan.term {
            events.push((plan.start + plan.life.saturating_sub(before), i, Event::Term));
        }
        events.push((plan.start + plan.life, i, Event::Kill));
    }
    events.sort_by_key(|(at, i, _)| (*at, *i));
    let mut children: Vec<Option<Child>> = plans.iter().map(|_| None).collect();
    for (at, i, event) in events {
        // The plan has a time for each event, whatever the processes do at it.
        std::thread::sleep(at.saturating_sub(began.elapsed()));
        match event {
            Event::Start => children[i] = Some(start(site, &plans[i])),
            Event::Term => {
                let pid =
                    children[i].as_ref().and_then(|child| rustix::process::Pid::from_raw(child.id() as i32));
                if let Some(pid) = pid {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
                }
            }
            // Not waited for here, so that a slow death does not delay the other kills.
            Event::Kill => {
                if let Some(child) = &mut children[i] {
                    let _ = child.kill();
                }
            }
        }
    }
    plans.iter().zip(children).filter_map(|(plan, child)| Some(end(site, plan, child?))).collect()
}

#[derive(Clone, Copy)]
enum Event {
    Start,
    Term,
    Kill,
}

fn start(site: &Site, plan: &Plan) -> Child {
    let mut command = site.command(&plan.dir, &plan.words);
    if !plan.fault.is_empty() {
        command.env("CODEWEAVER_FAULT", &plan.fault);
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

fn end(site: &Site, plan: &Plan, mut child: Child) -> Ended {
    let pid = child.id();
    let mut stderr = String::new();
    if let Some(stream) = &mut child.stderr {
        let mut bytes = Vec::new();
        let _ = stream.take(1 << 16).read_to_end(&mut bytes);
        stderr = String::from_utf8_lossy(&bytes).into_owned();
    }
    let status = child.wait().unwrap();
    Ended {
        kind: plan.kind,
        fault: plan.fault.clone(),
        status,
        stderr,
        words: plan.words.clone(),
        was_asked_to_stop: plan.term.is_some(),
        held_lease: names_holder(&site.store_dir().join("locks"), pid),
    }
}

/// Whether a lease file still names this process as its last holder.
fn names_holder(locks: &Path, pid: u32) -> bool {
    let wanted = format!("PID {pid},");
    let files = std::fs::read_dir(locks).into_iter().flatten().flatten();
    files
        .filter(|file| file.file_name().to_string_lossy().starts_with("work-"))
        .any(|file| std::fs::read_to_string(file.path()).is_ok_and(|text| text.starts_with(&wanted)))
}
