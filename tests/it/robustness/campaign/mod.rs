//! The fault campaign: groups of two to eight processes on one store, killed at random.
//!
//! A round sets a scene (a commit, a switch, damage…), records the answers of a fresh index, starts writers
//! and readers and kills each at a random moment, while another reader searches in a loop. Afterwards
//! `verify` must find nothing and every worktree must give the answers of a fresh index. Every few rounds an
//! undisturbed run must make all worktrees current. `cargo test` runs a few rounds; `cargo bench --profile
//! dev --bench faults -- --kills 10000` runs many.

mod crowd;
mod damage;
mod report;
mod scene;
mod site;

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use codeweaver_testkit::comes_true;

use crowd::{Ended, Plan};
use scene::Scene;
use site::{Answers, Asked, Site};

pub use report::Counts;

/// Rounds on one repository.
const ROUNDS_PER_SITE: u32 = 24;
/// Rounds between undisturbed runs.
const ROUNDS_PER_CHECK: u32 = 4;
/// Number of failures that ends a campaign.
const MOST_FAILURES: usize = 20;
/// Steps that write in the longest run.
const STEPS: u32 = 60;

pub struct Campaign {
    rng: fastrand::Rng,
    pub counts: Counts,
    /// Estimated run time of each kind of process; the moments of death are spread over it.
    lives: BTreeMap<&'static str, Duration>,
    /// Whether a complete index existed before the round.
    was_indexed: bool,
    /// Also damage files and inject failing writes, not only kills.
    pub with_faults: bool,
}

impl Campaign {
    pub fn new(seed: u64) -> Campaign {
        Campaign {
            rng: fastrand::Rng::with_seed(seed),
            counts: Counts::default(),
            lives: BTreeMap::new(),
            was_indexed: false,
            with_faults: true,
        }
    }

    /// Runs until `kill -9` has ended `n_kills` processes. Calls `watch` after each repository.
    pub fn run(&mut self, n_kills: u64, watch: &mut dyn FnMut(&Counts)) {
        while self.counts.kills() < n_kills && self.counts.failures.len() < MOST_FAILURES {
            let graphs = self.rng.u8(..4) == 0;
            let mut site = Site::new(graphs);
            for round in 0..ROUNDS_PER_SITE {
                if self.counts.kills() >= n_kills {
                    break;
                }
                let mut said = format!("site {}, round {round}: ", self.counts.n_sites);
                let result =
                    std::panic::catch_unwind(AssertUnwindSafe(|| self.round(&mut site, round, &mut said)));
                let failure = match result {
                    Ok(Ok(())) => continue,
                    Ok(Err(what)) => what,
                    Err(panic) => {
                        let text = panic.downcast_ref::<String>().cloned();
                        text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()))
                            .unwrap_or_default()
                    }
                };
                let kept = site.sandbox.keep();
                self.counts.failures.push(format!("{said}\n  {failure}\n  kept in {}", kept.display()));
                watch(&self.counts);
                site = Site::new(graphs);
            }
            self.counts.n_sites += 1;
            watch(&self.counts);
        }
    }

    fn round(&mut self, site: &mut Site, round: u32, said: &mut String) -> Result<(), String> {
        let scene = Scene::choose(&mut self.rng, round == 0, self.with_faults);
        let w = self.rng.usize(..site.worktrees.len());
        let scene = scene.set(site, w, &mut self.rng)?;
        said.push_str(&format!("{scene:?} in worktree {w}; "));
        let wanted: Vec<Answers> = (0..site.worktrees.len()).map(|w| site.wanted(w)).collect();
        self.was_indexed = site.is_indexed();
        let plans = self.plans(site, &scene, w);
        said.push_str(&plans.iter().map(|p| format!("{:?} {} ", p.words, p.fault)).collect::<String>());
        let ended = self.disturbed(site, &scene, &plans, &wanted)?;
        for end in &ended {
            self.learn(end);
            self.counts.add(end);
            self.check_end(end, &scene)?;
        }
        self.counts.n_rounds += 1;
        self.settle(site)?;
        self.check_after(site, &scene, &wanted)?;
        if round.is_multiple_of(ROUNDS_PER_CHECK) || scene.needs_repair() {
            self.check_undisturbed(site, &scene, &wanted)?;
        }
        Ok(())
    }

    /// Two to eight processes: that of the scene and random others.
    fn plans(&mut self, site: &Site, scene: &Scene, w: usize) -> Vec<Plan> {
        let mut plans = vec![self.plan(scene.kind(), scene.words(), site.worktrees[w].clone())];
        // Mostly many: eight processes cost little more than two.
        let n_others = if self.rng.u8(..4) == 0 { self.rng.usize(1..8) } else { 7 };
        for _ in 0..n_others {
            let (kind, words) = scene.other(&mut self.rng);
            let dir = site.worktrees[self.rng.usize(..site.worktrees.len())].clone();
            plans.push(self.plan(kind, words, dir));
        }
        plans
    }

    fn plan(&mut self, kind: &'static str, words: &[&'static str], dir: PathBuf) -> Plan {
        let typical = *self.lives.entry(kind).or_insert(Duration::from_millis(120));
        let within = |rng: &mut fastrand::Rng, most: Duration| {
            Duration::from_micros(rng.u64(0..=most.as_micros() as u64))
        };
        let life = within(&mut self.rng, typical);
        let start = if self.rng.bool() { Duration::ZERO } else { within(&mut self.rng, typical / 2) };
        let term = (self.rng.u8(..5) == 0).then(|| within(&mut self.rng, Duration::from_millis(20)));
        let fault = if self.with_faults && self.rng.u8(..5) == 0 {
            let kinds = ["abort", "io", "full", "stale", "lost"];
            format!("{}:{}", kinds[self.rng.usize(..kinds.len())], self.rng.u32(1..=STEPS))
        } else {
            String::new()
        };
        Plan { kind, words: words.to_vec(), dir, start, life, term, fault }
    }

    /// Runs the processes while a reader searches in a loop.
    fn disturbed(
        &mut self,
        site: &Site,
        scene: &Scene,
        plans: &[Plan],
        wanted: &[Answers],
    ) -> Result<Vec<Ended>, String> {
        let (done, right) = (AtomicBool::new(false), AtomicU64::new(0));
        let (w, was_indexed) = (self.rng.usize(..wanted.len()), self.was_indexed);
        let (ended, read) = std::thread::scope(|scope| {
            let reader = scope.spawn(|| -> Result<(), String> {
                while !done.load(Ordering::Relaxed) {
                    match site.ask(w, &wanted[w])? {
                        Asked::Right => drop(right.fetch_add(1, Ordering::Relaxed)),
                        asked => scene.allows(&asked, was_indexed)?,
                    }
                    // A pause, so that the reader leaves the processes a core.
                    std::thread::sleep(Duration::from_millis(5));
                }
                Ok(())
            });
            let ended = crowd::run(site, plans);
            done.store(true, Ordering::Relaxed);
            (ended, reader.join().unwrap_or_else(|_| Err("a reader panicked".to_owned())))
        });
        self.counts.answers_meanwhile += right.into_inner();
        read.map_err(|what| format!("while they ran: {what}"))?;
        Ok(ended)
    }

    /// Adapts the estimated run time so that about three of four processes are killed.
    fn learn(&mut self, end: &Ended) {
        let life = self.lives.entry(end.kind).or_insert(Duration::from_millis(120));
        *life = if end.was_killed() { life.mul_f64(1.04) } else { life.mul_f64(0.89) };
        *life = (*life).clamp(Duration::from_millis(8), Duration::from_secs(4));
    }

    /// Checks that a surviving process has not panicked, and has explained a failure.
    fn check_end(&self, end: &Ended, scene: &Scene) -> Result<(), String> {
        let said = &end.stderr;
        if said.contains("panicked") || said.contains("overflow") {
            return Err(format!("{:?} panicked: {said}", end.words));
        }
        if end.was_killed() || end.was_aborted() || end.words[0] == "hook" {
            return Ok(());
        }
        if end.was_terminated() {
            return Ok(());
        }
        match end.status.code() {
            Some(0 | 1 | 130) => Ok(()),
            Some(_) if said.contains("error: ") && said.contains("  fix: ") => Ok(()),
            _ => Err(format!("{:?} in {scene:?} ended with {}: {said:?}", end.words, end.status)),
        }
    }

    /// Waits for background processes of the killed ones.
    fn settle(&self, site: &Site) -> Result<(), String> {
        let is_free = comes_true(|| {
            let mut locks = std::fs::read_dir(site.store_dir().join("locks")).into_iter().flatten().flatten();
            locks.all(|lock| codeweaver_store::lock::holder(&lock.path()).is_none())
        });
        is_free.then_some(()).ok_or("a lock is held long after all processes were killed".to_owned())
    }

    fn check_after(&mut self, site: &Site, scene: &Scene, wanted: &[Answers]) -> Result<(), String> {
        match site.verify() {
            Ok(()) => self.counts.verified += 1,
            Err(_) if scene.needs_repair() => {}
            Err(what) => return Err(format!("afterwards: {what}")),
        }
        for (w, wanted) in wanted.iter().enumerate() {
            match site.ask(w, wanted).map_err(|what| format!("afterwards: {what}"))? {
                Asked::Right => self.counts.answers_after += 1,
                asked => {
                    scene.allows(&asked, self.was_indexed).map_err(|what| format!("afterwards: {what}"))?
                }
            }
        }
        Ok(())
    }

    /// Checks that an undisturbed run succeeds and gives the answers of a fresh index.
    fn check_undisturbed(&mut self, site: &Site, scene: &Scene, wanted: &[Answers]) -> Result<(), String> {
        let run = |w: usize, words: &[&str]| -> Result<(), String> {
            let out = site.command(&site.worktrees[w], words).output().map_err(|e| e.to_string())?;
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            if out.status.success() {
                Ok(())
            } else {
                Err(format!("undisturbed {words:?}: {}: {said}", out.status))
            }
        };
        if scene.may_leave_untrusted()
            && codeweaver_index::Codebase::open(site.sandbox.root(), &[])
                .is_ok_and(|c| c.check_trust().is_err())
        {
            // The fix that the error names.
            std::fs::remove_dir_all(site.store_dir()).map_err(|e| e.to_string())?;
            self.counts.untrusted += 1;
        }
        if scene.needs_repair() {
            match run(0, &["verify", "--repair"]) {
                // Without a state there is nothing to repair, and `verify` says so.
                Err(said) if said.contains("is not indexed") => {}
                repaired => {
                    repaired?;
                    self.counts.repaired += 1;
                }
            }
        }
        for w in 0..site.worktrees.len() {
            run(w, &["index", "--quiet", "--resume"])?;
            if !site.is_current(w) {
                return Err(format!("worktree {w} is not current after an undisturbed run"));
            }
        }
        site.verify()?;
        for (w, wanted) in wanted.iter().enumerate() {
            match site.ask(w, wanted)? {
                Asked::Right => self.counts.answers_after += 1,
                asked => return Err(format!("after an undisturbed run: {asked:?}")),
            }
        }
        self.counts.undisturbed += 1;
        Ok(())
    }
}
