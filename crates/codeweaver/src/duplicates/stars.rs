//! Stars: the division of similar texts into groups in which every text is similar to one.
//!
//! A chain of pairs, each similar, may end far from its beginning. So a group is a text with those that are
//! similar to it, whatever else they are similar to. The star that saves the most is taken first, and its
//! texts are in no other.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::Class;

/// Two similar texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Similar {
    pub one: u32,
    pub two: u32,
    pub class: Class,
    pub similarity: f32,
}

/// The size of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of definitions with this text.
    pub n_copies: u32,
    pub n_lines: u32,
}

/// A text with those that are similar to it.
#[derive(Debug, Clone, PartialEq)]
pub struct Star {
    pub centre: u32,
    /// Ascending by text, without the centre.
    pub others: Vec<Ray>,
}

/// A text of a star, and its relation to the centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ray {
    pub text: u32,
    pub class: Class,
    pub similarity: f32,
}

/// A star that may be taken. The best is the greatest.
#[derive(Debug, PartialEq)]
struct Offer {
    saved: f32,
    centre: u32,
}

impl Eq for Offer {}

impl Ord for Offer {
    fn cmp(&self, other: &Offer) -> Ordering {
        self.saved.total_cmp(&other.saved).then_with(|| other.centre.cmp(&self.centre))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Offer) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Divides the texts of `sizes` into stars by `pairs`. Texts with one definition that are similar to none are
/// in no star. The result does not depend on the order of `pairs`.
pub fn stars(sizes: &[Size], pairs: &[Similar]) -> Vec<Star> {
    let mut rays: Vec<Vec<Ray>> = vec![Vec::new(); sizes.len()];
    for pair in pairs {
        let ray = |text| Ray { text, class: pair.class, similarity: pair.similarity };
        rays[pair.one as usize].push(ray(pair.two));
        rays[pair.two as usize].push(ray(pair.one));
    }
    rays.iter_mut().for_each(|rays| rays.sort_by_key(|ray| ray.text));

    let offer = |centre: usize, rays: &[Vec<Ray>]| Offer {
        saved: saved_lines(sizes, centre as u32, &rays[centre]),
        centre: centre as u32,
    };
    let mut offers: BinaryHeap<Offer> = (0..sizes.len()).map(|centre| offer(centre, &rays)).collect();

    let mut is_taken = vec![false; sizes.len()];
    let mut stars = Vec::new();
    while let Some(best) = offers.pop() {
        let centre = best.centre as usize;
        if is_taken[centre] || best.saved <= 0.0 {
            continue;
        }

        // A star that has lost texts to another saves less than it was offered for.
        let n_before = rays[centre].len();
        rays[centre].retain(|ray| !is_taken[ray.text as usize]);
        if rays[centre].len() < n_before {
            offers.push(offer(centre, &rays));
            continue;
        }

        let others = std::mem::take(&mut rays[centre]);
        is_taken[centre] = true;
        others.iter().for_each(|ray| is_taken[ray.text as usize] = true);
        stars.push(Star { centre: best.centre, others });
    }

    stars
}

/// The number of lines that go if the texts of a star become one.
fn saved_lines(sizes: &[Size], centre: u32, others: &[Ray]) -> f32 {
    let lines = |text: u32| sizes[text as usize].n_lines as f32;
    let copies = |text: u32| sizes[text as usize].n_copies as f32;

    let own = lines(centre) * (copies(centre) - 1.0);
    own + others.iter().map(|ray| ray.similarity * lines(ray.text) * copies(ray.text)).sum::<f32>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(one: u32, two: u32, similarity: f32) -> Similar {
        Similar { one, two, class: Class::Near, similarity }
    }

    fn sizes(n: usize) -> Vec<Size> {
        vec![Size { n_copies: 1, n_lines: 10 }; n]
    }

    fn members(star: &Star) -> Vec<u32> {
        let mut all: Vec<u32> = star.others.iter().map(|ray| ray.text).chain([star.centre]).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn a_chain_is_not_one_group() {
        // Each is similar to the next only.
        let chain: Vec<Similar> = (0..6).map(|at| similar(at, at + 1, 0.9)).collect();
        let found = stars(&sizes(7), &chain);
        assert!(found.iter().all(|star| star.others.len() <= 2), "{found:?}");
        let all: Vec<Vec<u32>> = found.iter().map(members).collect();
        assert_eq!(all, [vec![0, 1, 2], vec![3, 4, 5]]);
    }

    #[test]
    fn the_star_that_saves_most_is_first_and_order_does_not_matter() {
        let mut pairs = vec![similar(0, 1, 0.99), similar(2, 3, 0.9), similar(2, 4, 0.9), similar(1, 2, 0.8)];
        let found = stars(&sizes(6), &pairs);
        assert_eq!(found.iter().map(members).collect::<Vec<_>>(), [vec![1, 2, 3, 4]]);
        pairs.reverse();
        assert_eq!(stars(&sizes(6), &pairs), found);
    }

    #[test]
    fn copies_of_one_text_are_a_star_and_a_single_text_is_not() {
        let mut sizes = sizes(2);
        sizes[1].n_copies = 3;
        assert_eq!(stars(&sizes, &[]), [Star { centre: 1, others: Vec::new() }]);
    }
}
