//! Query words that are added to texts, so that the model learns a low weight for them: pairs contain
//! statements and titles, while users ask questions.

use codeweaver_embed::{Vocabulary, bag_of};

use crate::dataset::Bag;

/// Query phrases without their content words.
const FRAMES: &[&str] = &[
    "how does work",
    "how does the work",
    "how do we",
    "how is handled",
    "how is implemented",
    "how are handled",
    "how to",
    "where is the code that",
    "where is implemented",
    "where is defined",
    "where do we",
    "where does it",
    "where are",
    "what does do",
    "what is",
    "what happens when",
    "which function",
    "which file",
    "why does",
    "find",
    "find the code that",
    "find where",
    "show me the",
    "show me how",
    "code for",
    "code that",
    "the function that",
    "the part that",
    "implementation of",
    "explain how",
    "i want to",
    "i need to change how",
    "when does",
    "is there a",
    "does it",
    "can it",
];

/// [`FRAMES`] as bags.
pub struct Noise(Vec<Vec<(u32, u32)>>);

impl Noise {
    pub fn new(vocabulary: &Vocabulary) -> Noise {
        let bags = FRAMES.iter().map(|frame| {
            let mut bag = Vec::new();
            bag_of(frame, vocabulary, &mut bag);
            bag
        });
        Noise(bags.collect())
    }

    /// Writes `bag` together with a random frame to `out`.
    pub fn apply(&self, bag: Bag, random: &mut fastrand::Rng, out: &mut Vec<(u16, u32)>) {
        out.clear();
        out.extend(bag.ids.iter().zip(bag.counts).map(|(&id, &count)| (id, u32::from(count))));
        if self.0.is_empty() {
            return;
        }
        for &(id, count) in &self.0[random.usize(..self.0.len())] {
            match out.iter_mut().find(|(known, _)| u32::from(*known) == id) {
                Some((_, sum)) => *sum += count,
                None => out.push((id as u16, count)),
            }
        }
    }
}
