//! Renders a proposal for a terminal.

use std::fmt::Write as _;

use super::{Group, Proposal};

/// Renders the figures before and after, the guards and the changed weights.
pub fn table(proposal: &Proposal) -> String {
    let mut out = format!(
        "{:32} {:>7} {:>8} {:>8} {:>8}\n",
        "NDCG@10, cross-validated", "queries", "before", "after", "change"
    );
    for group in &proposal.groups {
        row(&mut out, &format!("{} {}", group.kind, group.name), group);
    }
    row(&mut out, "all", &proposal.all);

    let gain = &proposal.gain;
    let _ = writeln!(out, "95 % of samples of the change: {:+.4} to {:+.4}", gain.low, gain.high);

    let _ = writeln!(out, "\nGuards");
    for guard in &proposal.guards {
        let verdict = if guard.holds { "holds" } else { "FAILS" };
        let _ = writeln!(out, "  {verdict}  {}: {}", guard.name, guard.figure);
    }

    let _ = writeln!(out, "\n{:32} {:>8} {:>8}", "Weights", "before", "after");
    for change in &proposal.changes {
        let _ = writeln!(out, "{:32} {:8.3} {:8.3}", change.name, change.before, change.after);
    }

    out
}

/// Appends the row of a group.
fn row(out: &mut String, name: &str, group: &Group) {
    let Group { n, before, after, .. } = group;
    let _ = writeln!(out, "{name:32} {n:7} {before:8.4} {after:8.4} {:+8.4}", group.change());
}
