//! The training dataset: all pairs as bags of ids, compact enough to be kept in memory.
//!
//! * [`build`]: the `dataset` command, which makes the dataset file from `.pairs` files. [`held_out`]:
//!   chooses
//!   the held-out repositories.
//! * [`file`]: the dataset file. [`source`]: the `.pairs` files of a directory.

mod build;
mod file;
mod held_out;
mod source;

use std::ops::Range;

use crate::pair::PairKind;

pub use build::{Args, held_out_folder, run};
pub use source::{for_each_file, pair_files};

/// Maximum number of ids in a bag; the least frequent ids of a larger one are dropped.
pub const MAX_BAG: usize = 256;

/// A repository with the range of its pairs.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Repository {
    /// `owner+name`.
    pub name: String,
    /// The most frequent language of its pairs.
    pub language: String,
    /// Excluded from training.
    pub held_out: bool,
    pub pairs: Range<usize>,
}

/// All pairs, grouped by repository.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dataset {
    /// Spelling of every id.
    pub vocabulary: Vec<String>,
    pub languages: Vec<String>,
    pub repositories: Vec<Repository>,
    kinds: Vec<u8>,
    language: Vec<u8>,
    /// Start of the entries of each pair (text, then code, then path), and the end of the last.
    starts: Vec<u32>,
    text_lengths: Vec<u16>,
    code_lengths: Vec<u16>,
    ids: Vec<u16>,
    counts: Vec<u8>,
}

/// Distinct ids, ascending, with their counts (at most 255).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Bag<'a> {
    pub ids: &'a [u16],
    pub counts: &'a [u8],
}

/// One pair of a [`Dataset`].
#[derive(Debug, Clone, Copy)]
pub struct PairBags<'a> {
    pub kind: PairKind,
    /// Index into [`Dataset::languages`].
    pub language: usize,
    pub text: Bag<'a>,
    pub code: Bag<'a>,
    /// Empty for kinds whose text is derived from the path.
    pub path: Bag<'a>,
}

impl Dataset {
    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    pub fn pair(&self, index: usize) -> PairBags<'_> {
        let (start, end) = (self.starts[index] as usize, self.starts[index + 1] as usize);
        let code = start + usize::from(self.text_lengths[index]);
        let path = code + usize::from(self.code_lengths[index]);
        let bag = |range: Range<usize>| Bag { ids: &self.ids[range.clone()], counts: &self.counts[range] };
        PairBags {
            kind: self.kind(index),
            language: usize::from(self.language[index]),
            text: bag(start..code),
            code: bag(code..path),
            path: bag(path..end),
        }
    }

    pub fn kind(&self, index: usize) -> PairKind {
        PairKind::ALL[usize::from(self.kinds[index])]
    }

    /// Number of texts and codes that contain each id, and the number of all texts and codes; held-out pairs
    /// excluded.
    pub fn document_frequencies(&self) -> (Vec<u32>, usize) {
        let mut frequencies = vec![0; self.vocabulary.len()];
        let mut n = 0;
        for index in
            self.repositories.iter().filter(|repository| !repository.held_out).flat_map(|r| r.pairs.clone())
        {
            let pair = self.pair(index);
            n += 2;
            for &id in pair.text.ids.iter().chain(pair.code.ids) {
                frequencies[usize::from(id)] += 1;
            }
        }
        (frequencies, n)
    }
}
