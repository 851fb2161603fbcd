//! Sampling: chooses the issues of an iteration from the pool.
//!
//! Each area has a share in proportion to the square root of its number of unused issues: rare areas come up
//! more often than by chance, and last for more than the first iterations. Seats go to areas by the highest
//! average (Sainte-Laguë); within an area the order is that of a hash of seed and id. An issue is used once.

use std::collections::{BTreeMap, HashSet};

/// Chooses up to `n` issues of `pool`, given as (id, area), whose ids are not `used`. Returns indexes into
/// `pool`, in the order of choice.
pub fn sample(pool: &[(String, String)], used: &HashSet<String>, n: usize, seed: u64) -> Vec<usize> {
    let mut by_area: BTreeMap<&str, Vec<(blake3::Hash, usize)>> = BTreeMap::new();
    for (i, (id, area)) in pool.iter().enumerate().filter(|(_, (id, _))| !used.contains(id)) {
        by_area.entry(area).or_default().push((order(seed, id), i));
    }

    let mut areas: Vec<Area> = by_area.into_values().map(Area::new).collect();
    let mut chosen = Vec::new();
    while chosen.len() < n {
        let open = areas.iter_mut().filter(|area| area.n_chosen < area.issues.len());
        // On equal averages the first area by name is next.
        let next = open.reduce(|best, area| if area.average() > best.average() { area } else { best });
        let Some(area) = next else { break };
        chosen.push(area.issues[area.n_chosen]);
        area.n_chosen += 1;
    }

    chosen
}

/// The unused issues of an area, in the order in which they are chosen.
struct Area {
    issues: Vec<usize>,
    n_chosen: usize,
}

impl Area {
    fn new(mut issues: Vec<(blake3::Hash, usize)>) -> Area {
        issues.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
        Area { issues: issues.into_iter().map(|(_, i)| i).collect(), n_chosen: 0 }
    }

    /// Returns the Sainte-Laguë average of the area. The area with the highest one gets the next seat.
    fn average(&self) -> f64 {
        (self.issues.len() as f64).sqrt() / (2 * self.n_chosen + 1) as f64
    }
}

/// Returns the hash by which the issues of an area are ordered.
fn order(seed: u64, id: &str) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes()).update(id.as_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(areas: &[(&str, usize)]) -> Vec<(String, String)> {
        let ids = areas
            .iter()
            .flat_map(|(area, n)| (0..*n).map(move |i| (format!("{area}{i}"), (*area).to_owned())));
        ids.collect()
    }

    #[test]
    fn rare_areas_are_represented_and_used_issues_left_out() {
        let pool = pool(&[("common", 100), ("some", 25), ("rare", 4)]);
        let first = sample(&pool, &HashSet::new(), 17, 1);
        let count = |name: &str| first.iter().filter(|i| pool[**i].1 == name).count();
        // 10 : 5 : 2
        assert_eq!((count("common"), count("some"), count("rare")), (10, 5, 2));
        assert_eq!(first, sample(&pool, &HashSet::new(), 17, 1), "the same seed");
        let used: HashSet<String> = first.iter().map(|i| pool[*i].0.clone()).collect();
        let rest = sample(&pool, &used, 999, 1);
        assert_eq!(rest.len(), 129 - 17, "no more than there are");
        assert!(rest.iter().all(|i| !first.contains(i)));
        let others = (2..20).map(|seed| sample(&pool, &HashSet::new(), 17, seed));
        assert!(others.into_iter().any(|other| other != first), "another seed");
    }
}
