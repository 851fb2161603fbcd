//! Guards: the conditions that must hold before weights are changed.

use serde::{Deserialize, Serialize};

use super::bootstrap::Interval;
use super::gain::Group;

/// Limits of the guards.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The gain must be above 0, and the lower end of its interval at most this much below. A certain gain
    /// would take more queries than most repositories have, so the guard only makes sure that nothing is
    /// lost.
    pub margin: f64,
    /// Least number of queries of a group that is judged.
    pub least_queries: usize,
    /// The NDCG@10 that a group of fewer than `many_queries` queries may lose: the limit at which a change is
    /// taken back (document 003, "rollback procedure").
    pub tolerance: f64,
    /// Number of queries from which a group may lose `strict_tolerance` only.
    pub many_queries: usize,
    pub strict_tolerance: f64,
    /// The share of first places that may be lost over all queries.
    pub first_place: f64,
    /// The median time to rank, as a factor of that with the present weights. Learned weights change only the
    /// order and not the work, so the limit allows for other load on the machine.
    pub time: f64,
    /// Largest learned weight.
    pub largest: f32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            margin: 0.005,
            least_queries: 5,
            tolerance: 0.10,
            many_queries: 30,
            strict_tolerance: 0.02,
            first_place: 0.0,
            time: 1.25,
            largest: 10.0,
        }
    }
}

impl Limits {
    /// Returns whether the median time to rank may change from `before` to `after` microseconds.
    pub fn allow_time(&self, (before, after): (u64, u64)) -> bool {
        after as f64 <= before.max(1) as f64 * self.time
    }
}

/// One guard with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Guard {
    pub name: String,
    pub holds: bool,
    /// The figure and its limit.
    pub figure: String,
}

/// The figures that the guards check.
pub struct Measured<'a> {
    /// Difference of NDCG@10, cross-validated.
    pub gain: Interval,
    /// Difference of the share of first places, cross-validated.
    pub first_place: f64,
    pub groups: &'a [Group],
    /// Median time to rank before and after, in microseconds.
    pub micros: (u64, u64),
    /// Largest learned weight.
    pub largest: f32,
}

/// Checks all guards and returns them in a fixed order.
pub fn check(measured: &Measured<'_>, limits: &Limits) -> Vec<Guard> {
    let Measured { gain, first_place, groups, micros, largest } = *measured;

    let mut guards = vec![
        Guard {
            name: "gain".to_owned(),
            holds: gain.mean > 0.0 && gain.low >= -limits.margin,
            figure: format!(
                "{:+.4} NDCG@10, 95 % of samples between {:+.4} and {:+.4}; above 0, the lower at least −{}",
                gain.mean, gain.low, gain.high, limits.margin
            ),
        },
        Guard {
            name: "first place".to_owned(),
            holds: first_place >= -limits.first_place,
            figure: format!(
                "{:+.1} points; at least {:.1}",
                first_place * 100.0,
                0.0 - limits.first_place * 100.0
            ),
        },
    ];

    // Chance decides on the smallest groups, which are left out.
    for group in groups.iter().filter(|group| group.n >= limits.least_queries) {
        let is_large = group.n >= limits.many_queries;
        let tolerance = if is_large { limits.strict_tolerance } else { limits.tolerance };
        guards.push(Guard {
            name: format!("{} {}", group.kind, group.name),
            holds: group.change() >= -tolerance,
            figure: format!("{:+.4} over {} queries; at least −{tolerance}", group.change(), group.n),
        });
    }

    let (before, after) = micros;
    guards.push(Guard {
        name: "time".to_owned(),
        holds: limits.allow_time(micros),
        figure: format!(
            "{after} µs a query (median), {before} µs before; at most {} times as much",
            limits.time
        ),
    });
    guards.push(Guard {
        name: "bounds".to_owned(),
        holds: largest <= limits.largest,
        figure: format!("the largest learned weight is {largest:.3}; at most {}", limits.largest),
    });

    guards
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(n: usize, before: f64, after: f64) -> Group {
        Group { kind: "category".to_owned(), name: "x".to_owned(), n, before, after }
    }

    fn failing(change: impl FnOnce(&mut Measured<'_>)) -> Vec<String> {
        failing_with(&[], change)
    }

    fn failing_with(groups: &[Group], change: impl FnOnce(&mut Measured<'_>)) -> Vec<String> {
        let mut measured = Measured {
            gain: Interval { mean: 0.02, low: 0.01, high: 0.03 },
            first_place: 0.0,
            groups,
            micros: (400, 500),
            largest: 3.0,
        };
        change(&mut measured);
        let guards = check(&measured, &Limits::default());
        guards.into_iter().filter(|guard| !guard.holds).map(|guard| guard.name).collect()
    }

    #[test]
    fn each_guard_can_fail_alone() {
        assert_eq!(failing(|_| ()), [""; 0]);
        assert_eq!(failing(|it| it.gain.low = -0.005), [""; 0]);
        assert_eq!(failing(|it| it.gain.low = -0.006), ["gain"], "it may lose");
        let none = Interval { mean: 0.0, low: 0.0, high: 0.0 };
        assert_eq!(failing(|it| it.gain = none), ["gain"], "nothing is gained");
        assert_eq!(failing(|it| it.first_place = -0.01), ["first place"]);
        assert_eq!(failing(|it| it.micros = (400, 501)), ["time"]);
        assert_eq!(failing(|it| it.largest = 10.5), ["bounds"]);
    }

    #[test]
    fn small_groups_have_a_larger_tolerance_and_the_smallest_none() {
        let judged = |group: Group| failing_with(&[group], |_| ());
        assert_eq!(judged(group(29, 0.8, 0.71)), [""; 0]);
        assert_eq!(judged(group(29, 0.8, 0.69)), ["category x"]);
        assert_eq!(judged(group(30, 0.8, 0.77)), ["category x"]);
        assert_eq!(judged(group(4, 0.8, 0.0)), [""; 0]);
    }
}
