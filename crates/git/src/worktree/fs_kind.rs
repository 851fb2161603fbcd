//! File-system kind: whether all changes to a file system are made by this kernel.
//!
//! Only then are change times and notifications reliable. Changes that another machine or process makes to a
//! network drive or a FUSE file system are noticed late or never.

use std::fs::Metadata;
use std::path::Path;

/// Returns the device of `root` if it is on a local file system. Always `None` on systems other than Linux.
#[cfg(target_os = "linux")]
pub(super) fn device(root: &Path) -> Option<u64> {
    /// Magic numbers (`statfs(2)`) of ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, tmpfs and overlayfs.
    const LOCAL: [u64; 7] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x0102_1994, 0x794c_7630];

    let kind = rustix::fs::statfs(root).ok()?.f_type as u64 & u64::from(u32::MAX);
    LOCAL.contains(&kind).then_some(device_of(&std::fs::metadata(root).ok()?))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn device(_: &Path) -> Option<u64> {
    None
}

/// Returns the device that holds a file; 0 where the system has no such number.
#[cfg(unix)]
pub(super) fn device_of(meta: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::dev(meta)
}

#[cfg(not(unix))]
pub(super) fn device_of(_: &Metadata) -> u64 {
    0
}
