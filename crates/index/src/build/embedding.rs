//! Turns the chunks of a blob into rows with vectors, and counts the terms of their texts.

use std::borrow::Cow;

use codeweaver_chunk as chunk;
use codeweaver_embed::{self as embed, Embedder, TableModel, TermEntries};
use codeweaver_store::rows::{DocKey, RowMeta};
use codeweaver_store::segment::DocTerms;
use codeweaver_text::{TermCounts, TermTable};

use crate::error::IndexError;

/// Rows with their vectors.
pub(crate) struct EmbeddedChunks {
    pub rows: Vec<RowMeta>,
    /// Row-major.
    pub vectors: Vec<i8>,
    /// Number of vectors that were computed.
    pub n_embedded: u64,
}

/// A blob with its chunks.
pub(crate) struct ChunkedBlob<'a> {
    pub key: &'a DocKey,
    pub bytes: &'a [u8],
    pub chunks: Vec<chunk::Chunk>,
}

/// The text of a chunk of `bytes`.
fn text_of<'b>(chunk: &chunk::Chunk, bytes: &'b [u8]) -> Cow<'b, str> {
    let text = bytes.get(chunk.byte_range.start as usize..chunk.byte_range.end as usize).unwrap_or(&[]);
    String::from_utf8_lossy(text)
}

/// The model input of a chunk of `bytes`.
pub(super) fn input_of(chunk: &chunk::Chunk, bytes: &[u8]) -> String {
    let mut input = String::new();
    embed::document_input(chunk, &text_of(chunk, bytes), &mut input);
    input
}

/// The terms of docs, which are counted once for both the postings and the vectors of a table model.
pub(crate) struct Terms<'m> {
    pub(super) table: TermTable,
    /// Term counts of the chunk texts of the current doc.
    bodies: TermCounts,
    model: Option<(&'m TableModel<'m>, TermEntries<'m>)>,
    /// Term counts of the part of a model input that comes before the text of the chunk.
    head: TermCounts,
    bag: Vec<(u32, u32)>,
}

impl<'m> Terms<'m> {
    pub fn new(embedder: &'m dyn Embedder) -> Terms<'m> {
        let model = embedder.table().map(|model| (model, TermEntries::new(model.vocabulary())));

        Terms {
            table: TermTable::default(),
            bodies: TermCounts::default(),
            model,
            head: TermCounts::default(),
            bag: Vec::new(),
        }
    }

    pub(super) fn of_doc(&mut self) -> DocTerms<'_> {
        DocTerms { bodies: &self.bodies, table: &mut self.table }
    }

    /// Appends to `out` the vector of the chunk whose text was counted last. Returns false if the model is
    /// not a table.
    fn embed(&mut self, input: &Input<'_>, out: &mut Vec<i8>) -> bool {
        let Some((model, entries)) = &mut self.model else { return false };

        let (head, body) = input.text.split_at(input.body_at);
        self.head.clear();
        self.head.push(&mut self.table, head);

        // A long text is embedded only in part, so the counts of the whole text do not fit it.
        let is_cut = body.len() < input.body_len;
        if is_cut {
            self.head.push(&mut self.table, body);
        }

        let cut = if is_cut { self.head.get(1) } else { self.bodies.last() };
        entries.bag_of(&self.table, self.head.get(0).iter().chain(cut), &mut self.bag);
        model.embed_bag(&self.bag, out);
        true
    }
}

/// A model input.
struct Input<'a> {
    text: &'a str,
    /// Byte offset in `text` at which the text of the chunk begins, and the length of that text before it was
    /// cut.
    body_at: usize,
    body_len: usize,
}

/// Embeds the chunks of one blob, and counts their terms. Vectors whose input `known` has are reused.
pub(crate) fn embed_chunks(
    embedder: &dyn Embedder,
    blob: ChunkedBlob<'_>,
    known: &dyn Fn(&[u8; 16]) -> Option<Vec<i8>>,
    excerpts: bool,
    terms: &mut Terms<'_>,
) -> Result<EmbeddedChunks, IndexError> {
    let ChunkedBlob { key, bytes, chunks } = blob;
    let dim = embedder.dim();
    let mut rows = Vec::with_capacity(chunks.len());
    let mut vectors = vec![0i8; chunks.len() * dim];
    let mut missing: Vec<(usize, String)> = Vec::new();
    let (mut input, mut vector, mut n_from_table) = (String::new(), Vec::with_capacity(dim), 0);

    terms.bodies.clear();

    for (i, chunk) in chunks.into_iter().enumerate() {
        let text = text_of(&chunk, bytes);
        terms.bodies.push(&mut terms.table, &text);
        let body_at = embed::document_input(&chunk, &text, &mut input);
        let hash = embed::input_hash(embedder.fingerprint(), &input);
        rows.push(RowMeta::from_chunk(key, chunk, hash, excerpts));

        let target = &mut vectors[i * dim..(i + 1) * dim];
        if let Some(vector) = known(&hash).filter(|vector| vector.len() == dim) {
            target.copy_from_slice(&vector);
            continue;
        }

        vector.clear();
        if terms.embed(&Input { text: &input, body_at, body_len: text.len() }, &mut vector) {
            target.copy_from_slice(&vector);
            n_from_table += 1;
        } else {
            missing.push((i, std::mem::take(&mut input)));
        }
    }

    // One call for all chunks, so that a model behind an API gets full requests.
    let inputs: Vec<&str> = missing.iter().map(|(_, input)| input.as_str()).collect();
    let mut fresh = Vec::with_capacity(inputs.len() * dim);
    embedder.embed_documents(&inputs, &mut fresh)?;
    for ((i, _), vector) in missing.iter().zip(fresh.chunks_exact(dim)) {
        vectors[i * dim..(i + 1) * dim].copy_from_slice(vector);
    }

    Ok(EmbeddedChunks { rows, vectors, n_embedded: missing.len() as u64 + n_from_table })
}
