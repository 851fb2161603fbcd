//! Counts of a campaign.

use std::collections::BTreeMap;
use std::fmt;

use super::crowd::Ended;

/// Counts of one kind of process.
#[derive(Debug, Clone, Default)]
pub struct Kind {
    /// Ended by `kill -9`; of these: held a work lease at some time; were sent SIGTERM just before.
    pub killed: u64,
    pub with_lease: u64,
    /// Ended by an injected abort at a step that writes; armed with another fault and ended with an error, of
    /// that or of another reason.
    pub aborted: u64,
    pub failed: u64,
    /// Ended by itself before the kill came.
    pub ended: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub kinds: BTreeMap<&'static str, Kind>,
    pub n_sites: u64,
    pub n_rounds: u64,
    /// Answers that equalled those of a fresh index, while processes were killed and afterwards.
    pub answers_meanwhile: u64,
    pub answers_after: u64,
    /// Rounds after which `verify` found nothing.
    pub verified: u64,
    /// Undisturbed runs of all worktrees that made everything current.
    pub undisturbed: u64,
    /// `verify --repair` after damage.
    pub repaired: u64,
    /// Folders without their nonce that had to be removed, as the error said.
    pub untrusted: u64,
    pub failures: Vec<String>,
}

impl Counts {
    pub fn kills(&self) -> u64 {
        self.kinds.values().map(|kind| kind.killed).sum()
    }

    pub(super) fn add(&mut self, end: &Ended) {
        let kind = self.kinds.entry(end.kind).or_default();
        if end.was_killed() {
            kind.killed += 1;
            kind.with_lease += u64::from(end.held_lease);
        } else if end.was_aborted() {
            kind.aborted += 1;
        } else if !end.fault.is_empty() && !end.status.success() {
            kind.failed += 1;
        } else {
            kind.ended += 1;
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<26} {:>8} {:>16} {:>14} {:>14} {:>10}",
            "process", "kill -9", "of these writing", "injected abort", "armed, failed", "ended"
        )?;
        let mut all = Kind::default();
        for (name, kind) in &self.kinds {
            row(f, name, kind)?;
            all.killed += kind.killed;
            all.with_lease += kind.with_lease;
            all.aborted += kind.aborted;
            all.failed += kind.failed;
            all.ended += kind.ended;
        }
        row(f, "all", &all)?;
        writeln!(f, "repositories {}, rounds {}", self.n_sites, self.n_rounds)?;
        writeln!(
            f,
            "answers equal to a fresh index: {} meanwhile, {} afterwards",
            self.answers_meanwhile, self.answers_after
        )?;
        writeln!(
            f,
            "verify found nothing: {}; undisturbed runs: {}; repairs after damage: {}; folders without nonce: {}",
            self.verified, self.undisturbed, self.repaired, self.untrusted
        )?;
        writeln!(f, "failures: {}", self.failures.len())?;
        self.failures.iter().try_for_each(|failure| writeln!(f, "{failure}"))
    }
}

fn row(f: &mut fmt::Formatter<'_>, name: &str, kind: &Kind) -> fmt::Result {
    let Kind { killed, with_lease, aborted, failed, ended } = kind;
    writeln!(f, "{name:<26} {killed:>8} {with_lease:>16} {aborted:>14} {failed:>14} {ended:>10}")
}
