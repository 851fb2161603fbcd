//! Merges the units of workers in job order, and writes a segment when it is large enough.

use codeweaver_store::layout::{StoreLayout, write_content_addressed};
use codeweaver_store::segment::SegmentBuilder;
use codeweaver_store::shard;
use codeweaver_store::state::SegmentRef;

use super::Built;
use super::worker::Unit;
use crate::error::IndexError;

/// Rows at which a segment is sealed: a million chunks are some twenty segments, and two in memory stay far
/// below the memory limit.
pub const SEAL_ROWS: usize = 48 * 1024;

/// Collects units in an open segment and seals it when it is full.
pub(super) struct Merger<'a> {
    pub(super) store: &'a StoreLayout,
    pub(super) open: SegmentBuilder,
    pub(super) built: &'a mut Built,
    pub(super) seal_names: usize,
}

impl Merger<'_> {
    /// Appends the docs of `unit` to the open segment, which is sealed before if it would grow too large, and
    /// afterwards if it is full.
    pub(super) fn merge(&mut self, unit: Unit) -> Result<(), IndexError> {
        if self.open.n_rows() + unit.builder.n_rows() > shard::MAX_ROWS {
            self.seal()?;
        }

        let base = self.open.n_docs() as u32;
        let sealed = self.built.n_sealed;
        self.built.docs.extend(unit.docs.into_iter().map(|doc| doc.map(|ordinal| (sealed, base + ordinal))));

        self.open.append(unit.builder);

        if self.open.n_rows() >= SEAL_ROWS || self.open.n_names() >= self.seal_names {
            self.seal()
        } else {
            Ok(())
        }
    }

    /// Writes the open segment, if it has docs, and begins another.
    pub(super) fn seal(&mut self) -> Result<(), IndexError> {
        if self.open.n_docs() == 0 {
            return Ok(());
        }

        let builder = std::mem::replace(&mut self.open, SegmentBuilder::new(0));
        self.open.data.dim = builder.data.dim;
        self.built.segments.push(write_segment(self.store, builder)?);
        self.built.n_sealed += 1;
        Ok(())
    }
}

/// Writes a shard and its segment. The returned reference has no doc ids yet.
pub fn write_segment(store: &StoreLayout, builder: SegmentBuilder) -> Result<SegmentRef, IndexError> {
    let (n_docs, n_rows) = (builder.n_docs() as u32, builder.n_rows() as u32);
    let (shard, segment) = builder.encode(store.root())?;

    let name = blake3::hash(&shard.bytes).to_hex().to_string();
    // The shard first: a segment without its shard could not be rebuilt.
    write_content_addressed(&store.shard(&name), &shard.bytes)?;
    write_content_addressed(&store.segment(&name), &segment)?;

    let (shard_bytes, segment_bytes) = (shard.bytes.len() as u64, segment.len() as u64);
    Ok(SegmentRef { name, doc_base: 0, n_docs, n_rows, shard_bytes, segment_bytes })
}
