//! Which files have been touched since they were last looked at, told by the kernel (Linux; elsewhere nothing can be watched).
//!
//! The kernel queues an event before the call that changed a file returns. Whoever empties the queue and then looks
//! therefore misses nothing that was finished before. That does not hold for file systems that others change (network
//! drives, FUSE), so only local ones are watched, nor for writes through a memory map, which make no event: see
//! [`super::memory`] for what is done about those.
//!
//! Other systems tell of changes some time after them, which is no proof of freshness (G8).

use rustc_hash::FxHashSet;

use super::super::BString;

/// What happened since the last time.
pub(super) enum Touched {
    /// At most these files, relative to the root.
    Files(FxHashSet<BString>),
    /// Too much, or nobody knows what.
    Unknown,
}

#[cfg(target_os = "linux")]
pub(super) use linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(super) use nowhere::Watch;

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt as _;
    use std::path::{Path, PathBuf};

    use rustc_hash::{FxHashMap, FxHashSet};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::super::super::{BStr, BString, ByteSlice as _, STORE_DIR};
    use super::Touched;

    /// More directories are not watched: what a user may watch is shared with editors.
    const MAX_DIRECTORIES: usize = 32_768;
    /// More files are not told one by one: looking at everything, on all cores, takes no longer.
    const MAX_FILES: usize = 2_000;
    /// Magic numbers (`statfs(2)`) of ext2 to ext4, XFS, Btrfs, F2FS, bcachefs, ZFS, tmpfs and overlayfs.
    const LOCAL_FILE_SYSTEMS: [u64; 8] =
        [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0xca45_1a4e, 0x2fc1_2fc1, 0x0102_1994, 0x794c_7630];

    /// The directories of one working tree.
    pub struct Watch {
        queue: OwnedFd,
        root: PathBuf,
        device: u64,
        directories: FxHashMap<i32, Directory>,
        /// Something could not be watched, or is not what it was.
        is_broken: bool,
    }

    struct Directory {
        /// Empty or with its slash.
        prefix: BString,
        /// Whether files that git does not track count here.
        is_walked: bool,
    }

    impl Watch {
        /// `None` where changes are not told reliably.
        pub fn new(root: &Path) -> Option<Watch> {
            let kind = rustix::fs::statfs(root).ok()?.f_type as u64;
            if !LOCAL_FILE_SYSTEMS.contains(&(kind & u64::from(u32::MAX))) {
                return None;
            }
            let device = std::fs::symlink_metadata(root).ok()?.dev();
            let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let (root, directories) = (root.to_owned(), FxHashMap::default());
            Some(Watch { queue, root, device, directories, is_broken: false })
        }

        /// Watches a directory that has tracked files. To be called before it is looked at.
        pub fn tracked(&mut self, prefix: &BStr) {
            self.add(prefix, false);
        }

        /// Watches a directory whose files count whether tracked or not. To be called before it is read.
        pub fn walked(&mut self, prefix: &BStr) {
            self.add(prefix, true);
        }

        /// Whether everything asked for is watched.
        pub fn is_complete(&self) -> bool {
            !self.is_broken
        }

        fn add(&mut self, prefix: &BStr, is_walked: bool) {
            if self.is_broken {
                return;
            }
            let full = self.root.join(prefix.to_path_lossy());
            let flags = WatchFlags::MODIFY
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVE
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR
                | WatchFlags::DONT_FOLLOW;
            match inotify::add_watch(&self.queue, &full, flags) {
                Ok(watch) => {
                    let known = self
                        .directories
                        .entry(watch)
                        .or_insert_with(|| Directory { prefix: prefix.to_owned(), is_walked });
                    known.is_walked |= is_walked;
                    // Two names of one directory, a directory that has moved, another file system within this one.
                    self.is_broken = known.prefix != prefix
                        || self.directories.len() > MAX_DIRECTORIES
                        || std::fs::symlink_metadata(&full).is_ok_and(|meta| meta.dev() != self.device);
                }
                // Not there: it would be created in a directory that is watched.
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(_) => self.is_broken = true,
            }
        }

        /// Empties the queue.
        pub fn touched(&mut self) -> Touched {
            let mut files = FxHashSet::default();
            let mut is_known = !self.is_broken;
            let mut buffer = [MaybeUninit::<u8>::uninit(); 64 << 10];
            let mut events = inotify::Reader::new(&self.queue, &mut buffer);
            loop {
                match events.next() {
                    Ok(event) => {
                        let name = event.file_name().map(std::ffi::CStr::to_bytes).unwrap_or_default();
                        let directory = self.directories.get(&event.wd());
                        match directory.map(|directory| told(directory, name, event.events())) {
                            Some(Told::Nothing) => {}
                            Some(Told::File(file)) if files.len() < MAX_FILES => drop(files.insert(file)),
                            _ => is_known = false,
                        }
                    }
                    Err(Errno::WOULDBLOCK) => break,
                    Err(Errno::INTR) => {}
                    Err(_) => {
                        is_known = false;
                        break;
                    }
                }
            }
            if is_known { Touched::Files(files) } else { Touched::Unknown }
        }
    }

    enum Told {
        Nothing,
        File(BString),
        Anything,
    }

    fn told(directory: &Directory, name: &[u8], event: ReadFlags) -> Told {
        let is_store = directory.prefix.is_empty() && name.eq_ignore_ascii_case(STORE_DIR.as_bytes());
        if is_store {
            return Told::Nothing;
        }
        let decides_for_others = name.eq_ignore_ascii_case(b".gitignore")
            || name.eq_ignore_ascii_case(b".gitattributes")
            || name.eq_ignore_ascii_case(b".git");
        let of_directory = ReadFlags::ISDIR
            | ReadFlags::IGNORED
            | ReadFlags::MOVE_SELF
            | ReadFlags::UNMOUNT
            | ReadFlags::QUEUE_OVERFLOW;
        if name.is_empty() && event == ReadFlags::ATTRIB | ReadFlags::ISDIR {
            // Of the directory itself, which its parent tells too.
            return Told::Nothing;
        }
        if name.is_empty() || decides_for_others || event.intersects(of_directory) {
            return Told::Anything;
        }
        let mut file = directory.prefix.clone();
        file.extend_from_slice(name);
        Told::File(file)
    }

    impl Watch {
        /// Whether `file` lies where untracked files count.
        pub fn is_walked(&self, file: &BStr) -> bool {
            let prefix = &file[..file.rfind_byte(b'/').map_or(0, |slash| slash + 1)];
            self.directories.values().any(|directory| directory.is_walked && directory.prefix == prefix)
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    use super::super::super::BStr;
    use super::Touched;
    use std::path::Path;

    /// Watches nothing.
    pub enum Watch {}

    impl Watch {
        pub fn new(_: &Path) -> Option<Watch> {
            None
        }

        pub fn tracked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn walked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn is_complete(&self) -> bool {
            match *self {}
        }

        pub fn touched(&mut self) -> Touched {
            match *self {}
        }

        pub fn is_walked(&self, _: &BStr) -> bool {
            match *self {}
        }
    }
}
