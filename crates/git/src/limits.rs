//! Limits of the memory in which objects are read.

/// Maximum size of an object that is read: of a blob, of a tree, and of a commit.
pub(super) const MAX_OBJECT_BYTES: u64 = 32 << 20;
/// Maximum memory in which one object is decoded, which its repository cannot raise. A delta takes its base,
/// its result and its instructions, and the sizes of all three are numbers in a file that anyone may have
/// written.
pub(super) const MAX_DECODED_BYTES: usize = 3 * MAX_OBJECT_BYTES as usize;
/// Maximum memory that a buffer keeps for the next object.
pub(super) const MAX_KEPT_BYTES: usize = 8 << 20;
/// Settings of a repository that bound the memory of reading its objects.
pub(super) const MEMORY_SETTINGS: [&str; 2] =
    // The second is the memory of a thread for the bases of deltas; 64 of them are kept at most.
    ["gitoxide.objects.allocLimit=100663296", "core.deltaBaseCacheLimit=16777216"];

/// The reason for which an object of `size` bytes is not read.
pub(super) fn too_large(size: u64) -> String {
    format!("it has {size} bytes; at most {MAX_OBJECT_BYTES} are read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_the_limit() {
        assert!(MEMORY_SETTINGS[0].ends_with(&format!("={MAX_DECODED_BYTES}")));
    }
}
