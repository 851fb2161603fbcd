//! Order of the pairs of a repository in which neighbours are similar, so that the pairs of a group are hard
//! negatives of each other.
//!
//! A set is bisected by the projection of its codes on the line between two random ones, until the parts are
//! groups.

use super::rows::{Rows, dot};
use crate::dataset::Dataset;

/// Reorders `queue` into groups of `group` similar pairs, in random order. Groups are consumed from the end.
pub fn order(data: &Dataset, rows: &Rows, queue: &mut Vec<u32>, group: usize, random: &mut fastrand::Rng) {
    // The remainder that fills no group is consumed last.
    let loose = queue.len() % group;
    let mut members: Vec<u32> = (loose..queue.len()).map(|at| at as u32).collect();
    let mut vectors = vec![0.0; queue.len() * rows.dim];
    for (pair, vector) in queue.iter().zip(vectors.chunks_exact_mut(rows.dim)) {
        rows.unit(data.pair(*pair as usize).code, vector);
    }
    cut(&mut members, &vectors, rows.dim, group, random);
    let mut groups: Vec<&[u32]> = members.chunks_exact(group).collect();
    random.shuffle(&mut groups);
    let ordered = groups.concat().into_iter().map(|at| queue[at as usize]);
    *queue = queue[..loose].iter().copied().chain(ordered.collect::<Vec<u32>>()).collect();
}

fn cut(members: &mut [u32], vectors: &[f32], dim: usize, group: usize, random: &mut fastrand::Rng) {
    if members.len() <= group {
        return;
    }
    let vector = |at: u32| &vectors[at as usize * dim..][..dim];
    let (a, b) = (members[random.usize(..members.len())], members[random.usize(..members.len())]);
    let line: Vec<f32> = vector(a).iter().zip(vector(b)).map(|(a, b)| a - b).collect();
    let mut placed: Vec<(f32, u32)> = members.iter().map(|&at| (dot(vector(at), &line), at)).collect();
    let middle = (members.len() / group).div_ceil(2) * group;
    placed.select_nth_unstable_by(middle.min(members.len() - 1), |a, b| {
        a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
    });
    for (member, (_, at)) in members.iter_mut().zip(placed) {
        *member = at;
    }
    let (left, right) = members.split_at_mut(middle);
    cut(left, vectors, dim, group, random);
    cut(right, vectors, dim, group, random);
}
