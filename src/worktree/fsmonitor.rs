//! Which files have been touched since they were last looked at, told by the kernel (Linux; elsewhere nothing can be watched).
//!
//! The kernel queues an event before the call that changed a file returns, so whoever empties the queue and then looks misses
//! nothing that was finished before. Writes through a memory map or asynchronous ones are told when the file is closed. That
//! does not hold for file systems that others change (network drives, FUSE), so only local ones are watched, nor for those
//! mounted somewhere within the working tree. What is not told at all: see [`super::status`].
//!
//! Other systems tell of changes some time after them, which is no proof of freshness (G8).

use rustc_hash::FxHashSet;

use crate::git::BString;

/// What happened since the last time.
pub(super) enum Touched {
    /// At most these files, relative to the root.
    Files(FxHashSet<BString>),
    /// Too much, or nobody knows what.
    Unknown,
}

#[cfg(target_os = "linux")]
pub(super) use linux::{FsMonitor, MAX_TOUCHED_FILES};
#[cfg(not(target_os = "linux"))]
pub(super) use nowhere::{FsMonitor, MAX_TOUCHED_FILES};

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use rustc_hash::{FxHashMap, FxHashSet};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::super::{fs_kind, is_pattern_file};
    use super::Touched;
    use crate::git::{BStr, BString, ByteSlice as _, STORE_DIR};

    /// More directories are not watched, nor more than this share of what a user may watch in all: editors need them too.
    const MAX_DIRECTORIES: usize = 32_768;
    const SHARE_OF_LIMIT: usize = 4;
    /// More files are not told one by one: looking at everything, on all cores, takes no longer.
    pub const MAX_TOUCHED_FILES: usize = 2_000;

    /// The directories of one working tree.
    pub struct FsMonitor {
        queue: OwnedFd,
        root: PathBuf,
        device: u64,
        max_directories: usize,
        /// With their slash; the root is empty.
        directories: FxHashMap<i32, BString>,
        /// Those of them whose files count whether tracked or not.
        walked: FxHashSet<BString>,
        /// Something could not be watched, or is not what it was.
        is_broken: bool,
    }

    impl FsMonitor {
        /// `None` where changes are not told reliably.
        pub fn new(root: &Path) -> Option<FsMonitor> {
            let device = fs_kind::device(root)?;
            let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
            let limit: usize = limit.trim().parse().ok()?;
            let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
            let queue =
                queue.inspect_err(|error| tracing::debug!(%error, "no directory can be watched")).ok()?;
            let watch = FsMonitor {
                queue,
                root: root.to_owned(),
                device,
                max_directories: MAX_DIRECTORIES.min(limit / SHARE_OF_LIMIT),
                directories: FxHashMap::default(),
                walked: FxHashSet::default(),
                is_broken: false,
            };
            (!watch.has_mounts()).then_some(watch)
        }

        /// Watches a directory that has tracked files somewhere below it. To be called before it is looked at.
        pub fn tracked(&mut self, prefix: &BStr) {
            self.add(prefix, false);
        }

        /// Watches a directory whose files count whether tracked or not. To be called before it is read.
        pub fn walked(&mut self, prefix: &BStr) {
            self.add(prefix, true);
            self.walked.insert(prefix.to_owned());
        }

        /// The directory turned out to be another repository's.
        pub fn not_walked(&mut self, prefix: &BStr) {
            self.walked.remove(prefix);
        }

        /// Whether everything asked for is watched.
        pub fn is_complete(&self) -> bool {
            !self.is_broken
        }

        fn add(&mut self, prefix: &BStr, may_be_unreadable: bool) {
            if self.is_broken {
                return;
            }
            let is_root = prefix.is_empty();
            let full = match prefix.strip_suffix(b"/") {
                Some(directory) => self.root.join(directory.as_bstr().to_path_lossy()),
                None => self.root.clone(),
            };
            let mut flags = WatchFlags::MODIFY
                | WatchFlags::CLOSE_WRITE
                | WatchFlags::ATTRIB
                | WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVE
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            flags.set(WatchFlags::DONT_FOLLOW, !is_root);
            let failure = match inotify::add_watch(&self.queue, &full, flags) {
                Ok(watch) => {
                    let known = self.directories.entry(watch).or_insert_with(|| prefix.to_owned());
                    // Two names of one directory, or a directory that has moved.
                    let is_other = known != prefix;
                    let is_elsewhere = || {
                        std::fs::metadata(&full).is_ok_and(|meta| fs_kind::device_of(&meta) != self.device)
                    };
                    (is_other || self.directories.len() > self.max_directories || is_elsewhere())
                        .then_some("too many, moved or elsewhere".to_owned())
                }
                // Not there, or something else: a directory would be created in one that is watched.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !is_root => None,
                // It is passed over, and becoming readable is told to its parent. Tracked files in it would be another matter.
                Err(Errno::ACCESS) if may_be_unreadable && !is_root => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(reason) = failure {
                tracing::debug!(path = %full.display(), reason, "a directory is not watched");
                self.is_broken = true;
            }
        }

        /// Whether another file system, or another part of one, is mounted below the root: what happens to it is not told.
        fn has_mounts(&self) -> bool {
            let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else { return true };
            let Ok(root) = self.root.canonicalize() else { return true };
            let mut root = root.as_os_str().as_bytes().to_vec();
            if !root.ends_with(b"/") {
                root.push(b'/');
            }
            mounts.lines().any(|line| {
                line.split(|&byte| byte == b' ')
                    .nth(4)
                    .is_some_and(|point| unescaped(point).starts_with(&root))
            })
        }

        /// Empties the queue.
        pub fn touched(&mut self) -> Touched {
            if self.is_broken || self.has_mounts() {
                return Touched::Unknown;
            }
            let mut files = FxHashSet::default();
            let mut buffer = [MaybeUninit::<u8>::uninit(); 64 << 10];
            let mut events = inotify::Reader::new(&self.queue, &mut buffer);
            loop {
                match events.next() {
                    Ok(event) => {
                        let name = event.file_name().map(std::ffi::CStr::to_bytes).unwrap_or_default();
                        let directory = self.directories.get(&event.wd());
                        match directory.map(|directory| told(directory, name, event.events())) {
                            Some(Effect::Nothing) => {}
                            Some(Effect::File(file)) if files.len() < MAX_TOUCHED_FILES => {
                                files.insert(file);
                            }
                            _ => return Touched::Unknown,
                        }
                    }
                    Err(Errno::WOULDBLOCK) => return Touched::Files(files),
                    Err(Errno::INTR) => {}
                    Err(_) => return Touched::Unknown,
                }
            }
        }
    }

    /// Blanks and backslashes of paths in `mountinfo` are octal numbers (proc(5)).
    fn unescaped(point: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(point.len());
        let mut rest = point;
        while let Some((&first, tail)) = rest.split_first() {
            let octal = tail.get(..3).filter(|_| first == b'\\');
            let number = octal.and_then(|octal| u8::from_str_radix(octal.to_str().ok()?, 8).ok());
            bytes.push(number.unwrap_or(first));
            rest = if number.is_some() { &tail[3..] } else { tail };
        }
        bytes
    }

    enum Effect {
        Nothing,
        File(BString),
        Anything,
    }

    fn told(directory: &BString, name: &[u8], event: ReadFlags) -> Effect {
        let is_store = directory.is_empty() && name.eq_ignore_ascii_case(STORE_DIR.as_bytes());
        if is_store {
            return Effect::Nothing;
        }
        let is_of_git = is_pattern_file(name) || name.eq_ignore_ascii_case(b".git");
        let of_directory = ReadFlags::ISDIR
            | ReadFlags::IGNORED
            | ReadFlags::MOVE_SELF
            | ReadFlags::UNMOUNT
            | ReadFlags::QUEUE_OVERFLOW;
        if name.is_empty() && event == ReadFlags::ATTRIB | ReadFlags::ISDIR && !directory.is_empty() {
            // Of the directory itself, which its parent tells too.
            return Effect::Nothing;
        }
        if name.is_empty() || is_of_git || event.intersects(of_directory) {
            return Effect::Anything;
        }
        let mut file = directory.clone();
        file.extend_from_slice(name);
        Effect::File(file)
    }

    impl FsMonitor {
        /// Whether `file` lies where untracked files count.
        pub fn is_walked(&self, file: &BStr) -> bool {
            let prefix = &file[..file.rfind_byte(b'/').map_or(0, |slash| slash + 1)];
            self.walked.contains(prefix.as_bstr())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    use super::Touched;
    use crate::git::BStr;
    use std::path::Path;

    pub const MAX_TOUCHED_FILES: usize = 0;

    /// Watches nothing.
    pub enum FsMonitor {}

    impl FsMonitor {
        pub fn new(_: &Path) -> Option<FsMonitor> {
            None
        }

        pub fn tracked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn walked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn not_walked(&mut self, _: &BStr) {
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
