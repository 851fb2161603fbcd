//! Words of docs that were indexed without them, by an earlier version.

use super::codebase::Codebase;
use super::error::IndexError;
use super::plan::skip_reason;
use super::progress::Progress;
use crate::git::BlobReader;
use crate::policy::SkipReason;
use crate::store::layout::write_content_addressed;
use crate::store::reader::OpenFiles;
use crate::store::rows::DocMeta;
use crate::store::words::WordsBuilder;
use crate::store::{StoreReader, shard};

/// Whether a segment has no words.
pub fn are_missing(reader: &StoreReader) -> bool {
    reader.segments.iter().any(|segment| segment.words().is_none())
}

/// Adds the words to segments that have none. Everything else in them stays as it is, so readers are not
/// affected. Ends early when `progress` asks to stop. The caller holds the work lease.
pub fn complete(codebase: &Codebase, files: &OpenFiles, progress: &dyn Progress) -> Result<(), IndexError> {
    let store = codebase.store();
    let Some(reader) = StoreReader::open_with(&store, files)? else { return Ok(()) };
    if are_missing(&reader) {
        codebase.find_member_blobs()?;
    }
    for (reference, segment) in reader.state.segments.iter().zip(&reader.segments) {
        if segment.words().is_some() {
            continue;
        }
        let path = store.shard(&reference.name);
        // A damaged segment must not be sealed again under a name that proves it whole.
        segment.verify(&reference.name, &path)?;
        let (docs, _) = shard::read_docs(&path)?;
        let (mut blobs, mut words) = (codebase.repo.blobs(), WordsBuilder::default());
        for doc in &docs {
            if progress.stopped() {
                return Ok(());
            }
            words.push_unknown();
            set_last(&mut blobs, doc, |blob| words.set_last(blob));
        }
        write_content_addressed(&store.segment(&reference.name), &segment.with_words(words))?;
    }
    Ok(())
}

/// Maximum size of blobs that are read for their words alone.
pub(super) const MAX_BYTES: u64 = 32 << 20;

/// Whether the words of a blob that is `skipped` are stored. Those of binary files are no words, those of
/// credentials are no one's business. A blob that was not read is passed without bytes.
pub(super) fn are_stored(skipped: Option<SkipReason>, blob: &[u8]) -> bool {
    match skipped {
        Some(SkipReason::Binary | SkipReason::Secret | SkipReason::NotLocal) => false,
        Some(SkipReason::TooLarge) => !blob.is_empty() && memchr::memchr(0, blob).is_none(),
        _ => true,
    }
}

/// Calls `set` with the blob of `doc`, if its words are stored and it can be read. Without words, the doc is
/// read by each search.
pub(super) fn set_last(blobs: &mut BlobReader, doc: &DocMeta, set: impl FnOnce(&[u8])) {
    let skipped = skip_reason(doc.skipped);
    if skipped == Some(SkipReason::TooLarge) && u64::from(doc.blob_bytes) > MAX_BYTES {
        return;
    }
    match blobs.read(&doc.key.blob_oid) {
        Ok(Some(blob)) if are_stored(skipped, blob) => set(blob),
        Ok(_) => {}
        Err(error) => {
            tracing::debug!(component = "index", operation = "words", %error, "a blob could not be read");
        }
    }
}
