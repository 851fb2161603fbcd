//! Sets of docs.

/// A set of docs of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocSet {
    bits: Vec<u64>,
}

impl DocSet {
    /// A set without docs, of a segment of `n_docs`.
    pub fn empty(n_docs: u32) -> DocSet {
        DocSet { bits: vec![0; n_docs.div_ceil(64) as usize] }
    }

    pub fn insert(&mut self, doc: u32) {
        if let Some(bits) = self.bits.get_mut((doc / 64) as usize) {
            *bits |= 1 << (doc % 64);
        }
    }

    /// Number of docs.
    pub fn len(&self) -> u32 {
        self.bits.iter().map(|bits| bits.count_ones()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|bits| *bits == 0)
    }

    /// The docs, ascending. Damage may add some that the segment does not have.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let words = (0u32..).zip(&self.bits).filter(|(_, bits)| **bits != 0);
        words.flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| word * 64 + bit)
        })
    }

    pub fn contains(&self, doc: u32) -> bool {
        self.bits.get((doc / 64) as usize).is_some_and(|bits| bits >> (doc % 64) & 1 == 1)
    }

    /// Keeps only docs that are in `other` too.
    pub fn intersect(&mut self, other: &DocSet) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits &= other);
    }

    /// Adds the docs of `other`.
    pub fn unite(&mut self, other: &DocSet) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(bits, other)| *bits |= other);
    }
}
