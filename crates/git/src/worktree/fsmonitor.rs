//! File-system monitor: which files were touched since the last run, as reported by the kernel.
//!
//! Linux only (inotify). The kernel queues an event before the call that changed a file returns, so draining
//! the queue before checking files misses no change that was completed earlier. Writes through a memory map
//! and asynchronous writes are reported when the file is closed. None of this holds for changes that another
//! machine or process makes to a network drive or a FUSE file system, so only local file systems are
//! monitored, and no working tree with another file system mounted below it. Changes that are not reported at
//! all are listed in [`super::status`].
//!
//! Other operating systems report changes with a delay, which does not prove that an answer is fresh.

use rustc_hash::FxHashSet;

use crate::BString;

/// Paths that changed since the last check.
pub(super) enum Touched {
    /// No other files than these, relative to the root.
    Files(FxHashSet<BString>),
    /// Too many files, or other things than files, or events were lost.
    Unknown,
}

/// Maximum number of touched files that are reported one by one. A full scan, on all cores, is as fast
/// for more files.
pub(super) const MAX_TOUCHED_FILES: usize = 2_000;

#[cfg(target_os = "linux")]
pub(super) use linux::FsMonitor;
#[cfg(not(target_os = "linux"))]
pub(super) use unsupported::FsMonitor;

#[cfg(target_os = "linux")]
mod linux {
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use rustc_hash::{FxHashMap, FxHashSet};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use codeweaver_base::real_path;

    use super::super::fs_kind;
    use super::super::inputs::is_pattern_file;
    use super::{MAX_TOUCHED_FILES, Touched};
    use crate::{BStr, BString, ByteSlice as _, STORE_DIR};

    /// Maximum number of watched directories.
    const MAX_DIRECTORIES: usize = 32_768;
    /// The part of a user's watches that is used at most is one over this number: editors need watches too.
    const WATCH_LIMIT_DIVISOR: usize = 4;

    /// Watches the directories of one working tree.
    pub struct FsMonitor {
        queue: OwnedFd,
        root: PathBuf,
        device: u64,
        max_directories: usize,
        /// Watched directories with their slash, by watch descriptor; the root is empty.
        directories: FxHashMap<i32, BString>,
        /// Watched directories that are walked for untracked files.
        walked: FxHashSet<BString>,
        /// Whether a directory could not be watched, or has moved.
        is_broken: bool,
    }

    impl FsMonitor {
        /// Creates a monitor without watches; `None` where events are not reliable.
        pub fn new(root: &Path) -> Option<FsMonitor> {
            let device = fs_kind::device(root)?;
            let limit = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
            let limit: usize = limit.trim().parse().ok()?;

            let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
            let queue =
                queue.inspect_err(|error| tracing::debug!(%error, "cannot watch directories")).ok()?;

            let monitor = FsMonitor {
                queue,
                root: root.to_owned(),
                device,
                max_directories: MAX_DIRECTORIES.min(limit / WATCH_LIMIT_DIVISOR),
                directories: FxHashMap::default(),
                walked: FxHashSet::default(),
                is_broken: false,
            };

            (!monitor.has_mounts()).then_some(monitor)
        }

        /// Watches a directory with tracked files somewhere below it. Must be called before its files are
        /// checked.
        pub fn watch_tracked(&mut self, prefix: &BStr) {
            self.add(prefix, false);
        }

        /// Watches a directory that is walked for untracked files. Must be called before it is read.
        pub fn watch_walked(&mut self, prefix: &BStr) {
            self.add(prefix, true);
            self.walked.insert(prefix.to_owned());
        }

        /// Removes the mark that a directory is walked: it belongs to a nested repository.
        pub fn unmark_walked(&mut self, prefix: &BStr) {
            self.walked.remove(prefix);
        }

        /// Returns whether every requested directory is watched.
        pub fn is_complete(&self) -> bool {
            !self.is_broken
        }

        /// Adds a watch for a directory.
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
                    // One directory under two names, or a directory that has moved.
                    let is_other = known != prefix;
                    let is_too_much = self.directories.len() > self.max_directories;
                    (is_other || is_too_much || self.is_elsewhere(&full)).then_some(
                        "too many directories, a moved directory or another file system".to_owned(),
                    )
                }
                // If a directory is created here, the watch of its parent reports it.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !is_root => None,
                // The walk skips an unreadable directory, and the watch of its parent reports when it becomes
                // readable. Changes of tracked files in it would go unreported, so for those it is an error.
                Err(Errno::ACCESS) if may_be_unreadable && !is_root => None,
                Err(error) => Some(error.to_string()),
            };

            if let Some(reason) = failure {
                tracing::debug!(path = %full.display(), reason, "cannot watch a directory");
                self.is_broken = true;
            }
        }

        /// Returns whether a directory is on another file system than the root.
        fn is_elsewhere(&self, directory: &Path) -> bool {
            std::fs::metadata(directory).is_ok_and(|meta| fs_kind::device_of(&meta) != self.device)
        }

        /// Returns whether anything is mounted below the root. Changes inside a mount are not reported.
        fn has_mounts(&self) -> bool {
            let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else { return true };
            let Ok(root) = real_path::canonicalize(&self.root) else { return true };
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

        /// Drains the event queue and returns the touched files.
        pub fn take_touched(&mut self) -> Touched {
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
                        match directory.map(|directory| effect_of(directory, name, event.events())) {
                            Some(Effect::None) => {}
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

    /// Decodes a path of `mountinfo`, where blanks and backslashes are octal escapes (proc(5)).
    fn unescaped(point: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(point.len());
        let mut rest = point;

        // A backslash that begins no octal escape stands for itself.
        while let Some((&first, tail)) = rest.split_first() {
            let octal = tail.get(..3).filter(|_| first == b'\\');
            let number = octal.and_then(|octal| u8::from_str_radix(octal.to_str().ok()?, 8).ok());
            bytes.push(number.unwrap_or(first));
            rest = if number.is_some() { &tail[3..] } else { tail };
        }

        bytes
    }

    /// Effect of an event on the status.
    enum Effect {
        None,
        /// This file may have changed.
        File(BString),
        /// More than one file may have changed.
        Unknown,
    }

    /// Classifies an event of the file `name` in a watched directory, or of the directory if `name` is empty.
    fn effect_of(directory: &BString, name: &[u8], event: ReadFlags) -> Effect {
        let is_store = directory.is_empty() && name.eq_ignore_ascii_case(STORE_DIR.as_bytes());
        if is_store {
            return Effect::None;
        }

        // An event of the directory itself, which the watch of its parent reports too.
        if name.is_empty() && event == ReadFlags::ATTRIB | ReadFlags::ISDIR && !directory.is_empty() {
            return Effect::None;
        }
        let is_git_file = is_pattern_file(name) || name.eq_ignore_ascii_case(b".git");
        let of_directory = ReadFlags::ISDIR
            | ReadFlags::IGNORED
            | ReadFlags::MOVE_SELF
            | ReadFlags::UNMOUNT
            | ReadFlags::QUEUE_OVERFLOW;
        if name.is_empty() || is_git_file || event.intersects(of_directory) {
            return Effect::Unknown;
        }

        let mut file = directory.clone();
        file.extend_from_slice(name);
        Effect::File(file)
    }

    impl FsMonitor {
        /// Returns whether the directory of `file` is walked for untracked files.
        pub fn is_walked(&self, file: &BStr) -> bool {
            let prefix = &file[..file.rfind_byte(b'/').map_or(0, |slash| slash + 1)];
            self.walked.contains(prefix.as_bstr())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod unsupported {
    use super::Touched;
    use crate::BStr;
    use std::path::Path;

    /// A monitor that cannot be created.
    pub enum FsMonitor {}

    impl FsMonitor {
        pub fn new(_: &Path) -> Option<FsMonitor> {
            None
        }

        pub fn watch_tracked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn watch_walked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn unmark_walked(&mut self, _: &BStr) {
            match *self {}
        }

        pub fn is_complete(&self) -> bool {
            match *self {}
        }

        pub fn take_touched(&mut self) -> Touched {
            match *self {}
        }

        pub fn is_walked(&self, _: &BStr) -> bool {
            match *self {}
        }
    }
}
