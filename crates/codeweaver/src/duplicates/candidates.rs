//! Candidates: pairs of texts that are worth a comparison.
//!
//! Texts of the same shape are candidates. Other texts are candidates if their sketches share hashes that few
//! shapes have: an inverted index over the rarest hashes of each shape finds them, in time that depends on
//! how much is alike and hardly on the number of definitions. Names do not count in either, so copies are
//! found whatever they were renamed to, which changes their vectors.

use rustc_hash::FxHashMap;

use super::fingerprint::Fingerprint;
use super::texts::Text;
use crate::query::retrieve::parallel;

/// Number of the rarest hashes of a shape by which it is found.
const N_RAREST: usize = 20;
/// Maximum number of shapes with a hash by which they are found. More are an idiom of the language.
const MAX_SHAPES: u32 = 256;
/// Maximum number of texts of one shape that are all compared with each other; of more, each is compared with
/// this many.
const MAX_ALL_PAIRS: usize = 128;
/// Maximum number of texts of a shape that are compared with those of another.
const MAX_OF_SHAPE: usize = 6;
/// Minimum share of the smaller of two sketches that similar texts have in common. A difference of one token
/// changes eight hashes.
const MIN_SHARED: f32 = 0.2;

/// Minimum number of shapes for which threads are used.
const MIN_PARALLEL: usize = 1024;

/// A test of the numbers of tokens of two texts: true if they may be similar.
type LengthTest<'t> = dyn Fn(u32, u32) -> bool + Sync + 't;
/// Two positions of texts, the lesser first.
pub type Candidate = (u32, u32);

/// Returns all candidates among `texts`, ascending and different. Texts with two numbers of tokens are
/// compared only if `may_be_similar` says so, which holds for equal ones.
pub fn candidates(texts: &[Text], may_be_similar: impl Fn(u32, u32) -> bool + Sync) -> Vec<Candidate> {
    let shapes = Shapes::new(texts);
    let mut found: Vec<Candidate> = Vec::new();

    for shape in &shapes.members {
        pairs_within(shape, &mut found);
    }
    for (one, two) in shapes.alike(texts, &may_be_similar) {
        for &a in shapes.members[one as usize].iter().take(MAX_OF_SHAPE) {
            let others = shapes.members[two as usize].iter().take(MAX_OF_SHAPE);
            found.extend(others.map(|&b| (a.min(b), a.max(b))));
        }
    }

    found.sort_unstable();
    found.dedup();
    found
}

/// Adds the pairs of texts of one shape.
fn pairs_within(shape: &[u32], found: &mut Vec<Candidate>) {
    for (at, &two) in shape.iter().enumerate() {
        // Of very many, the first represent the others, and neighbours are often written together.
        let first = shape[..at].iter().take(MAX_ALL_PAIRS / 2);
        let last = shape[..at].iter().skip(MAX_ALL_PAIRS / 2).rev().take(MAX_ALL_PAIRS / 2);
        found.extend(first.chain(last).map(|&one| (one, two)));
    }
}

/// Texts by their shapes.
struct Shapes {
    /// Positions of the texts of each shape, ascending; the shapes by their first text.
    members: Vec<Vec<u32>>,
}

impl Shapes {
    fn new(texts: &[Text]) -> Shapes {
        let mut places: FxHashMap<(u64, u32, bool), usize> = FxHashMap::default();
        let mut members: Vec<Vec<u32>> = Vec::new();

        for (at, text) in texts.iter().enumerate() {
            let key = (text.fingerprint.shape, text.fingerprint.n_tokens, text.is_callable);
            let place = *places.entry(key).or_insert(members.len());
            if place == members.len() {
                members.push(Vec::new());
            }
            members[place].push(at as u32);
        }

        Shapes { members }
    }

    fn first<'t>(&self, texts: &'t [Text], shape: u32) -> &'t Text {
        &texts[self.members[shape as usize][0] as usize]
    }

    /// Pairs of different shapes that share rare hashes, each pair once.
    fn alike(&self, texts: &[Text], may_be_similar: &LengthTest<'_>) -> Vec<(u32, u32)> {
        let n_shapes = self.members.len() as u32;
        let index = RareHashes::new((0..n_shapes).map(|shape| &self.first(texts, shape).fingerprint));

        let found = parallel::map_with(
            self.members.len(),
            self.members.len() >= MIN_PARALLEL,
            Vec::new,
            |others, shape| self.alike_before(texts, &index, shape as u32, may_be_similar, others),
        );
        found.into_iter().flatten().collect()
    }

    /// The pairs of `shape` with those before it. `others` is memory for them.
    fn alike_before(
        &self,
        texts: &[Text],
        index: &RareHashes,
        shape: u32,
        may_be_similar: &LengthTest<'_>,
        others: &mut Vec<u32>,
    ) -> Vec<(u32, u32)> {
        let text = self.first(texts, shape);

        others.clear();
        for hash in index.rarest(&text.fingerprint) {
            others.extend(index.shapes(hash).iter().take_while(|&&other| other < shape));
        }
        others.sort_unstable();
        others.dedup();

        let alike = others.iter().filter(|&&other| {
            let other = self.first(texts, other);
            let (one, two) = (&text.fingerprint, &other.fingerprint);
            // Sketches are compared last, since that costs most.
            other.is_callable == text.is_callable
                && may_be_similar(one.n_tokens, two.n_tokens)
                && one.shared(two) >= MIN_SHARED
        });
        alike.map(|&other| (other, shape)).collect()
    }
}

/// The shapes that have each of the rarer hashes.
struct RareHashes {
    /// Number of shapes with each hash that at least two have.
    counts: FxHashMap<u32, u32>,
    /// Shapes by hash, ascending.
    shapes: FxHashMap<u32, Vec<u32>>,
}

impl RareHashes {
    fn new<'f>(fingerprints: impl Iterator<Item = &'f Fingerprint> + Clone) -> RareHashes {
        let mut index = RareHashes { counts: counts(fingerprints.clone()), shapes: FxHashMap::default() };

        for (shape, fingerprint) in fingerprints.enumerate() {
            for hash in index.rarest(fingerprint) {
                index.shapes.entry(hash).or_default().push(shape as u32);
            }
        }
        index
    }

    /// The rarest hashes of a fingerprint that another has too.
    fn rarest(&self, fingerprint: &Fingerprint) -> Vec<u32> {
        let known = fingerprint.sketch.iter().filter_map(|hash| Some((*self.counts.get(hash)?, *hash)));
        let mut known: Vec<(u32, u32)> = known.filter(|(count, _)| *count <= MAX_SHAPES).collect();
        known.sort_unstable();
        known.truncate(N_RAREST);
        known.into_iter().map(|(_, hash)| hash).collect()
    }

    fn shapes(&self, hash: u32) -> &[u32] {
        self.shapes.get(&hash).map_or(&[], Vec::as_slice)
    }
}

/// The number of fingerprints with each hash that at least two have.
fn counts<'f>(fingerprints: impl Iterator<Item = &'f Fingerprint>) -> FxHashMap<u32, u32> {
    // Most hashes are in one fingerprint only, and a sorted list takes less memory than a map of all.
    let mut all: Vec<u32> = fingerprints.flat_map(|fingerprint| fingerprint.sketch.iter().copied()).collect();
    all.sort_unstable();
    let several = all.chunk_by(|one, two| one == two).filter(|run| run.len() > 1);
    several.map(|run| (run[0], run.len() as u32)).collect()
}
