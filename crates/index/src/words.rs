//! Decides which blobs have their words stored, and reads them for a segment that is rebuilt.

use codeweaver_git::BlobReader;
use codeweaver_store::rows::DocMeta;
use codeweaver_text as text;

use crate::policy::{SkipReason, skip_reason};

/// Maximum size of blobs that are read for their words alone.
pub(super) const MAX_BYTES: u64 = 32 << 20;

/// Returns whether the words of a blob in UTF-8 that is `skipped` are stored. Binary files have no words, and
/// those of credentials must not be searchable. A blob that was not read is passed without bytes.
pub(super) fn are_stored(skipped: Option<SkipReason>, blob: &[u8]) -> bool {
    match skipped {
        Some(SkipReason::Binary | SkipReason::Secret | SkipReason::NotLocal) => false,
        Some(SkipReason::TooLarge) => !blob.is_empty() && memchr::memchr(0, blob).is_none(),
        _ => true,
    }
}

/// Calls `set` with the blob of `doc` in UTF-8, if its words are stored and it can be read. A doc without
/// words is read by each search.
pub(super) fn set_last(blobs: &mut BlobReader, doc: &DocMeta, set: impl FnOnce(&[u8])) {
    let skipped = skip_reason(doc.skipped);
    if skipped == Some(SkipReason::TooLarge) && u64::from(doc.blob_bytes) > MAX_BYTES {
        return;
    }

    match blobs.read(&doc.key.blob_oid) {
        Ok(Some(blob)) => {
            let blob = &*text::to_utf8(blob);
            if are_stored(skipped, blob) {
                set(blob);
            }
        }
        Ok(None) => {}
        Err(error) => {
            tracing::debug!(component = "indexer", operation = "words", %error, "a blob could not be read");
        }
    }
}
