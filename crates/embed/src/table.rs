//! Table models: one row of integers for each entry of a vocabulary. The vector of a text is the weighted sum
//! of the rows of its [bag](super::bag), normalised to length 1.
//!
//! The file is used in place. Layout, integers little-endian: a header of 64 bytes (magic, version,
//! dimension, rows, bytes of the vocabulary, 8 zero bytes, BLAKE3 hash of everything else), the vocabulary,
//! the rows (`rows × dimension` int8), and for each row an f32 by which its components are multiplied.
//!
//! The weight of an entry is `sqrt(count) · row scale`, rounded to steps so large that sums fit 32 bits. Sums
//! are integers and all other operations single IEEE operations in a fixed order, so every machine computes
//! the same bytes.

use std::cell::RefCell;

use codeweaver_base::sys::add_rows;
use codeweaver_text::TERMS_VERSION;

use super::bag::{bag_of, bag_of_path};
use super::model_input::MODEL_INPUT_VERSION;
use super::quantise::{QUANTISATION, quantise, scale_for};
use super::vocabulary::{Vocabulary, VocabularyError};
use super::{EmbedCost, EmbedError, Embedder};

const MAGIC: [u8; 8] = *b"cw-table";
/// Version of the format. Raised when the layout changes, or the ids of a text ([`super::bag`]).
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const HASH: std::ops::Range<usize> = 32..64;
const MAX_DIM: usize = 1024;

/// Maximum weight, and maximum sum of weights, of a bag: `2^23 · 127` is half of the range of a sum.
const MAX_WEIGHT: f32 = 32_767.0;
const MAX_SUM: f32 = 8_388_608.0;
/// Buffers for bags of at most this many entries stay allocated in a thread, so that one huge text does not
/// occupy memory for good.
const KEPT_ENTRIES: usize = 1 << 16;

/// A view over the bytes of a model file; see the module documentation.
#[derive(Debug)]
pub struct TableModel<'a> {
    name: String,
    fingerprint: String,
    dim: usize,
    vocabulary: Vocabulary<'a>,
    rows: &'a [i8],
    /// One little-endian f32 per row.
    scales: &'a [u8],
}

/// The reason why bytes are not a model, or numbers cannot be encoded as one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("not a table of vectors: {0}")]
    Damaged(&'static str),
    #[error("version {found} of the format, this program reads {VERSION}")]
    Version { found: u32 },
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
    #[error("vectors of {0} components; multiples of 16 up to 1024 are possible")]
    Dimension(usize),
    #[error("{found} numbers for {entries} entries of {dim} components")]
    Shape { entries: usize, dim: usize, found: usize },
    #[error("row {0} has a component that is not a finite number")]
    NotFinite(usize),
}

impl<'a> TableModel<'a> {
    /// Opens a model file. Checks only its sizes, in constant time; [`verify_table`] reads all of it.
    ///
    /// `name` is shown in output and begins the fingerprint: letters, digits, `-`, `.`.
    pub fn new(name: &str, bytes: &'a [u8]) -> Result<TableModel<'a>, TableError> {
        let damaged = TableError::Damaged;
        let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(damaged("too short"))?;
        if header[..8] != MAGIC {
            return Err(damaged("wrong magic number"));
        }

        let [version, dim, n, vocabulary_bytes] = [0, 1, 2, 3].map(|index| header_field(header, index));
        if version != VERSION {
            return Err(TableError::Version { found: version });
        }
        let [dim, n, vocabulary_bytes] = [dim, n, vocabulary_bytes].map(|field| field as usize);
        check_dim(dim)?;

        let (vocabulary, rest) =
            rest.split_at_checked(vocabulary_bytes).ok_or(damaged("its vocabulary is cut off"))?;
        let vocabulary = Vocabulary::new(vocabulary)?;
        if vocabulary.len() != n || rest.len() != n * (dim + 4) {
            return Err(damaged("its length does not match its header"));
        }

        let (rows, scales) = rest.split_at(n * dim);

        let hash: String = header[HASH].iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        let fingerprint =
            format!("{name}-{hash}-{dim}-{QUANTISATION}-t{TERMS_VERSION}-r{MODEL_INPUT_VERSION}");

        let rows = bytemuck::cast_slice(rows);
        Ok(TableModel { name: name.to_owned(), fingerprint, dim, vocabulary, rows, scales })
    }

    /// The vocabulary of the model.
    pub fn vocabulary(&self) -> Vocabulary<'a> {
        self.vocabulary
    }

    /// Appends the row of a bag: distinct ids with their counts, in a fixed order. The row is zero for an
    /// empty bag and for one whose rows cancel out.
    pub fn embed_bag(&self, bag: &[(u32, u32)], out: &mut Vec<i8>) {
        SCRATCH.with_borrow_mut(|scratch| self.embed(bag, &mut scratch.weighted, out));
    }

    /// As [`Self::embed_bag`], with a buffer for the weights.
    fn embed(&self, bag: &[(u32, u32)], weighted: &mut Vec<(u32, i16)>, out: &mut Vec<i8>) {
        let weight = |&(id, count): &(u32, u32)| (count as f32).sqrt() * self.row_scale(id);
        let (max, sum) = bag.iter().map(weight).fold((0f32, 0f32), |(max, sum), w| (max.max(w), sum + w));

        // `as` saturates and maps NaN to zero, so damaged scales give a wrong vector but no panic.
        let steps = (MAX_WEIGHT / max).min(MAX_SUM / sum);
        weighted.clear();
        weighted.extend(bag.iter().map(|entry| (entry.0, (weight(entry) * steps).round() as i16)));

        let mut sums = [0i32; MAX_DIM];
        let sums = &mut sums[..self.dim];
        add_rows(self.rows, weighted, sums);

        let squares: f64 = sums.iter().map(|&sum| f64::from(sum) * f64::from(sum)).sum();
        let norm = if squares == 0.0 { 1.0 } else { squares.sqrt() };
        let mut unit = [0f32; MAX_DIM];
        for (to, &sum) in unit.iter_mut().zip(&*sums) {
            *to = (f64::from(sum) / norm) as f32;
        }

        quantise(&unit[..self.dim], scale_for(self.dim), out);
    }

    /// The factor of the components of a row.
    fn row_scale(&self, id: u32) -> f32 {
        let bytes = self.scales.get(id as usize * 4..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0.0, |bytes| f32::from_le_bytes(*bytes))
    }

    /// Appends the row of the bag that `fill` writes.
    fn embed_into(&self, fill: impl FnOnce(&Vocabulary, &mut Vec<(u32, u32)>), out: &mut Vec<i8>) {
        // Filling a bag does not embed anything, so the cell is not borrowed.
        SCRATCH.with_borrow_mut(|Scratch { bag, weighted }| {
            fill(&self.vocabulary, bag);
            self.embed(bag, weighted, out);

            // A huge bag is rare, so its buffers are freed.
            if bag.capacity() > KEPT_ENTRIES {
                (*bag, *weighted) = Default::default();
            }
        });
    }
}

/// Checks the hash of a model file. Reads all of it.
pub fn verify_table(bytes: &[u8]) -> Result<(), TableError> {
    TableModel::new("", bytes)?;
    if bytes[HASH] != hash_of(bytes)[..] {
        return Err(TableError::Damaged("its content does not match its hash"));
    }
    Ok(())
}

/// Encodes the file of a model. Row `i` (`rows[i * dim..][..dim]`) belongs to entry `i` of the vocabulary
/// (see [`Vocabulary::encode`]); its norm is a weight. Each row is quantised by its largest component.
pub fn encode_table(entries: &[String], rows: &[f32], dim: usize) -> Result<Vec<u8>, TableError> {
    check_dim(dim)?;
    if rows.len() != entries.len() * dim {
        return Err(TableError::Shape { entries: entries.len(), dim, found: rows.len() });
    }

    let vocabulary = Vocabulary::encode(entries)?;

    let mut out = MAGIC.to_vec();
    for number in [VERSION as usize, dim, entries.len(), vocabulary.len()] {
        out.extend((number as u32).to_le_bytes());
    }
    out.resize(HEADER_BYTES, 0);
    out.extend(vocabulary);

    let mut scales = Vec::with_capacity(entries.len() * 4);
    for (number, row) in rows.chunks_exact(dim).enumerate() {
        if !row.iter().all(|component| component.is_finite()) {
            return Err(TableError::NotFinite(number));
        }

        let largest = row.iter().fold(0f32, |largest, component| largest.max(component.abs()));
        let scale = largest / 127.0;
        // A row whose scale is subnormal becomes zero.
        let inverse = if scale.is_normal() { 1.0 / scale } else { 0.0 };

        let quantised = row.iter().map(|component| (component * inverse).round().clamp(-127.0, 127.0) as i8);
        out.extend(quantised.map(i8::cast_unsigned));
        scales.extend(if inverse > 0.0 { scale } else { 0.0 }.to_le_bytes());
    }

    out.extend(scales);
    let hash = hash_of(&out);
    out[HASH].copy_from_slice(&hash);
    Ok(out)
}

fn check_dim(dim: usize) -> Result<(), TableError> {
    if dim == 0 || dim > MAX_DIM || !dim.is_multiple_of(16) {
        Err(TableError::Dimension(dim))
    } else {
        Ok(())
    }
}

/// Returns the number at `index` in the header, behind the magic number; 0 if there is none.
fn header_field(header: &[u8], index: usize) -> u32 {
    match header[8 + 4 * index..].first_chunk() {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => 0,
    }
}

/// Returns the hash of a file, which must be at least as long as its header.
fn hash_of(bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&bytes[..HASH.start]).update(&bytes[HASH.end..]);
    *hasher.finalize().as_bytes()
}

/// Buffers of a thread.
#[derive(Default)]
struct Scratch {
    bag: Vec<(u32, u32)>,
    weighted: Vec<(u32, i16)>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Embedder for TableModel<'_> {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Table
    }

    fn table(&self) -> Option<&TableModel<'_>> {
        Some(self)
    }

    fn embed_documents(&self, inputs: &[&str], out: &mut Vec<i8>) -> Result<(), EmbedError> {
        out.reserve(inputs.len() * self.dim);
        for input in inputs {
            self.embed_into(|vocabulary, bag| bag_of(input, vocabulary, bag), out);
        }
        Ok(())
    }

    fn embed_query(&self, query: &str) -> Result<Vec<i8>, EmbedError> {
        let mut row = Vec::with_capacity(self.dim);
        self.embed_documents(&[query], &mut row)?;
        Ok(row)
    }

    fn embed_path(&self, path: &str) -> Option<Vec<i8>> {
        let mut row = Vec::with_capacity(self.dim);
        self.embed_into(|vocabulary, bag| bag_of_path(path, vocabulary, bag), &mut row);
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "pars header http server request delet user file read ##s ##er 42 日 config";

    fn entries() -> Vec<String> {
        WORDS.split(' ').map(str::to_owned).collect()
    }

    /// Rows of random direction whose norms differ.
    fn rows(n: usize, dim: usize) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(11);
        (0..n * dim).map(|at| (random.f32() - 0.5) * (1 + at / dim % 5) as f32).collect()
    }

    fn small(dim: usize) -> Vec<u8> {
        encode_table(&entries(), &rows(entries().len(), dim), dim).unwrap()
    }

    fn length(row: &[i8], scale: f32) -> f32 {
        row.iter().map(|x| (f32::from(*x) / scale).powi(2)).sum::<f32>().sqrt()
    }

    #[test]
    fn the_vector_of_a_text_is_the_weighted_sum_of_rows() {
        for dim in [16, 48, 256, 1024] {
            let bytes = small(dim);
            let model = TableModel::new("small", &bytes).unwrap();
            let all = rows(entries().len(), dim);
            // pars ×4, header ×1, server by the pieces of `servers` once more.
            let text = "parse parsed(parses) parsing: header / serverser";
            let weights = [(0usize, 2f32), (1, 1.0), (3, 1.0), (9, 1.0), (10, 1.0)];
            let mut exact = vec![0f32; dim];
            for (id, weight) in weights {
                for (to, component) in exact.iter_mut().zip(&all[id * dim..]) {
                    *to += weight * component;
                }
            }
            let norm = exact.iter().map(|x| x * x).sum::<f32>().sqrt();
            let row = model.embed_query(text).unwrap();
            let mut error = 0f32;
            for (found, exact) in row.iter().zip(&exact) {
                error = error.max((f32::from(*found) / model.scale() - exact / norm).abs());
            }
            assert!(error * model.scale() < 1.6 + dim as f32 / 500.0, "{error} at {dim}");
            assert!((0.97..1.03).contains(&length(&row, model.scale())));
        }
    }

    #[test]
    fn texts_without_known_terms_are_the_zero_vector() {
        let bytes = small(64);
        let model = TableModel::new("small", &bytes).unwrap();
        for text in ["", "+ - *", "unbekannt", "\u{0}"] {
            assert_eq!(model.embed_query(text).unwrap(), vec![0; 64], "{text}");
        }
        assert_eq!(model.embed_path("a/b.txt"), Some(vec![0; 64]));
    }

    #[test]
    fn batches_and_threads_do_not_matter() {
        let bytes = small(256);
        let model = TableModel::new("small", &bytes).unwrap();
        let words: Vec<&str> = WORDS.split(' ').collect();
        let texts: Vec<String> = (0..200)
            .map(|n| {
                (0..n % 40).map(|at| words[(n * 7 + at * at) % words.len()]).collect::<Vec<_>>().join(" ")
            })
            .collect();
        let inputs: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut together = vec![1i8];
        model.embed_documents(&inputs, &mut together).unwrap();
        assert_eq!(together.len(), 1 + inputs.len() * 256);
        let alone: Vec<i8> = inputs.iter().flat_map(|input| model.embed_query(input).unwrap()).collect();
        assert_eq!(together[1..], alone);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut again = Vec::new();
                    model.embed_documents(&inputs, &mut again).unwrap();
                    assert_eq!(again, alone);
                });
            }
        });
    }

    #[test]
    fn huge_and_lopsided_bags_do_not_overflow() {
        let entries: Vec<String> = (0..20_000).map(|n| format!("w{n}")).collect();
        let bytes = encode_table(&entries, &vec![1e20; entries.len() * 16], 16).unwrap();
        let model = TableModel::new("same", &bytes).unwrap();
        let bags: [Vec<(u32, u32)>; 3] = [
            (0..20_000).map(|id| (id, u32::MAX)).collect(),
            (0..20_000).map(|id| (id, if id == 7 { u32::MAX } else { 1 })).collect(),
            vec![(3, 1)],
        ];
        for bag in bags {
            let mut row = Vec::new();
            model.embed_bag(&bag, &mut row);
            assert_eq!(row, [32; 16], "{} entries", bag.len());
        }
    }

    #[test]
    fn the_bytes_of_a_small_model_are_pinned() {
        let bytes = small(64);
        let model = TableModel::new("small", &bytes).unwrap();
        let row = model.embed_query("fn parse_headers(http: &Request) // 42 日本").unwrap();
        let pinned = blake3::hash(bytemuck::cast_slice(&row)).to_hex();
        assert_eq!(pinned[..16], *"2db3d0cd4365d17a", "vectors changed: raise VERSION in this file");
        assert_eq!(model.fingerprint(), "small-29b516a82c7a-64-i8-4sd-t1-r1");
        assert_eq!(bytes, small(64));
    }

    #[test]
    fn paths_share_a_space_with_text() {
        let bytes = small(256);
        let model = TableModel::new("small", &bytes).unwrap();
        assert_eq!(
            model.embed_path("http/server/parse_request.rs").unwrap(),
            model.embed_query("http server parse request").unwrap()
        );
    }

    #[test]
    fn invalid_rows_and_dimensions_are_refused() {
        let one = ["a".to_owned()];
        for dim in [0, 8, 24, 1040] {
            assert_eq!(encode_table(&one, &vec![0.0; dim], dim), Err(TableError::Dimension(dim)));
        }
        let shape = TableError::Shape { entries: 1, dim: 16, found: 17 };
        assert_eq!(encode_table(&one, &[0.0; 17], 16), Err(shape));
        assert_eq!(encode_table(&one, &[f32::NAN; 16], 16), Err(TableError::NotFinite(0)));
        let twice = ["a".to_owned(), "a".to_owned()];
        assert!(matches!(encode_table(&twice, &[0.0; 32], 16), Err(TableError::Vocabulary(_))));
    }

    #[test]
    fn damage_is_refused_or_embeds_without_panic() {
        let good = small(32);
        verify_table(&good).unwrap();
        for length in 0..good.len() {
            assert!(TableModel::new("x", &good[..length]).is_err());
        }
        let mut other = good.clone();
        other[8] = 9;
        assert_eq!(TableModel::new("x", &other).unwrap_err(), TableError::Version { found: 9 });
        let mut random = fastrand::Rng::with_seed(3);
        let mut opened = 0;
        for _ in 0..3000 {
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..60) {
                let at = random.usize(12..bytes.len());
                bytes[at] = random.u8(..);
            }
            assert!(verify_table(&bytes).is_err());
            // Rows and scales can be anything as long as the sizes hold.
            let mut sized = good.clone();
            sized[HEADER_BYTES + 32..].copy_from_slice(&bytes[HEADER_BYTES + 32..]);
            for candidate in [&bytes, &sized] {
                let Ok(model) = TableModel::new("x", candidate) else { continue };
                opened += 1;
                assert_eq!(model.embed_query("parse header httpserver files 42").unwrap().len(), model.dim());
            }
        }
        assert!(opened > 2000, "{opened}");
    }
}
