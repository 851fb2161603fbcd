//! Packs a sequence of atoms, with the cost of every boundary, into chunks near the target size.
//!
//! Dynamic programming over the sequence minimises the sum of the distances of the chunks from the target
//! size and of the costs of their boundaries (0 between top-level siblings, high inside a function).
//! Arithmetic is on integers, so the result is the same on every machine.

use std::ops::Range;

/// The smallest unit of packing: a node with its comments, a piece of the text of an oversized node, or
/// several small ones.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Atom {
    /// First byte; the atom ends where the next one starts.
    pub start: u32,
    pub tokens: u32,
    /// Cost of a boundary before this atom.
    pub cut: u32,
    /// Cost for a chunk that holds both this atom and the one before it.
    pub crossing: u32,
    /// A boundary before this atom is between whole nodes.
    pub on_node: bool,
    /// A boundary before this atom is obligatory.
    pub forced: bool,
}

/// Sizes in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Wanted size of a chunk.
    pub target: u32,
    /// Size up to which a chunk may grow if that avoids a cut: 1.6 × the target.
    pub soft: u32,
    /// Size that no chunk exceeds.
    pub hard: u32,
}

impl Bounds {
    /// Returns the bounds of the settings, with the limit at least 16 and the target between 8 and the limit.
    pub fn new(target_tokens: u32, token_limit: u32) -> Self {
        let hard = token_limit.max(16);
        let target = target_tokens.clamp(8, hard);
        Self { target, soft: (target * 8 / 5).min(hard), hard }
    }
}

/// Returns the cost of the size of a chunk: the squared relative distance to the target, in thousandths, with
/// steps at the soft and the hard bound and below 2/5 of the target.
fn size_cost(tokens: u32, bounds: &Bounds) -> u64 {
    let distance = u64::from(tokens.abs_diff(bounds.target)) * 1000 / u64::from(bounds.target);

    let mut cost = distance * distance / 1000;

    if tokens * 5 < bounds.target * 2 {
        cost += 500;
    }
    if tokens > bounds.soft {
        cost += 20_000;
    }
    // A chunk over the hard bound is the last resort.
    if tokens > bounds.hard {
        cost += 1_000_000_000;
    }

    cost
}

/// Fraction of the target up to which atoms are joined before packing, which bounds the work of [`pack`].
const GRAIN: u32 = 24;

/// Joins runs of tiny atoms at the same level.
pub(crate) fn coarsen(atoms: &mut Vec<Atom>, bounds: &Bounds) {
    let grain = bounds.target / GRAIN;
    let mut last_at = 0;

    for at in 1..atoms.len() {
        let atom = atoms[at];
        let last = &mut atoms[last_at];
        // A boundary inside the joined atom must not be cheaper than the one before it.
        let is_same_level = atom.cut >= last.cut && atom.crossing == 0 && !atom.forced;

        if is_same_level && last.tokens + atom.tokens <= grain {
            last.tokens += atom.tokens;
        } else {
            last_at += 1;
            atoms[last_at] = atom;
        }
    }

    atoms.truncate(last_at + 1);
}

/// Returns groups of consecutive atoms, in order, that cover all of them. Cost: O(n × atoms in a chunk).
pub(crate) fn pack(atoms: &[Atom], bounds: &Bounds) -> Vec<Range<usize>> {
    let n = atoms.len();

    // `best[i]`: cost of the cheapest grouping of the first `i` atoms; `from[i]`: start of its last group.
    let mut best = vec![u64::MAX; n + 1];
    let mut from = vec![0usize; n + 1];
    best[0] = 0;

    for end in 1..=n {
        let (mut tokens, mut crossing) = (0u32, 0u64);
        for start in (0..end).rev() {
            tokens = tokens.saturating_add(atoms[start].tokens);
            // A group of several atoms stays within the soft bound; one atom over it has no alternative.
            if start + 1 < end && tokens > bounds.soft {
                break;
            }

            let cut = if start == 0 { 0 } else { u64::from(atoms[start].cut) };
            let cost = best[start].saturating_add(size_cost(tokens, bounds)).saturating_add(cut + crossing);
            if cost < best[end] {
                best[end] = cost;
                from[end] = start;
            }

            // No group may reach back over an obligatory boundary.
            if atoms[start].forced {
                break;
            }
            crossing += u64::from(atoms[start].crossing);
        }
    }

    let mut groups = Vec::new();
    let mut end = n;
    while end > 0 {
        groups.push(from[end]..end);
        end = from[end];
    }

    groups.reverse();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn atoms(tokens: &[u32]) -> Vec<Atom> {
        tokens.iter().map(|&tokens| Atom { tokens, ..Atom::default() }).collect()
    }

    fn sizes(atoms: &[Atom]) -> Vec<u32> {
        let groups = pack(atoms, &Bounds::new(500, 4000));
        groups.into_iter().map(|group| atoms[group].iter().map(|atom| atom.tokens).sum()).collect()
    }

    #[test]
    fn a_small_tail_joins_what_precedes_it() {
        assert_eq!(sizes(&atoms(&[100, 150, 250, 100])), [600]);
    }

    #[test]
    fn sizes_come_near_the_target() {
        assert_eq!(sizes(&atoms(&[250; 8])), [500; 4]);
        assert!(sizes(&atoms(&[37; 200])).iter().all(|&size| (400..=600).contains(&size)));
    }

    #[test]
    fn costly_boundaries_are_avoided_and_forced_ones_kept() {
        let mut costly = atoms(&[300, 300, 300]);
        costly[1].cut = 1000;
        assert_eq!(sizes(&costly), [600, 300]);
        let mut forced = atoms(&[10, 10]);
        forced[1].forced = true;
        assert_eq!(sizes(&forced), [10, 10]);
        assert_eq!(sizes(&[]), [0; 0]);
    }

    #[test]
    fn coarsening_keeps_the_sum() {
        let mut many = atoms(&[1; 1000]);
        coarsen(&mut many, &Bounds::new(500, 4000));
        assert!(many.len() < 60);
        assert_eq!(many.iter().map(|atom| atom.tokens).sum::<u32>(), 1000);
    }
}
