//! Survives SIGBUS in registered memory maps.
//!
//! Reading a page of a map behind the end of its file, or one that the disk fails to read, raises SIGBUS and
//! by default ends the process. This program never truncates files of the store, but another one may. The
//! handler recognises an address in a registered map, puts zeros in place of its unreadable part, sets a mark
//! and returns, so that the read continues. Users of a map check the mark before they rely on the bytes that
//! they read. Every other SIGBUS is left to the handler that was installed before.
//!
//! Every [`Mapped`](super::Mapped) registers itself, but the handler belongs to the whole process, so that a
//! program decides about it: [`install_handler`].

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, Once, PoisonError};

/// Installs the handler of SIGBUS for the process; later calls do nothing.
///
/// From then on a read of a [`Mapped`](super::Mapped) file that another program has truncated, or that the
/// disk fails to read, gives zeros, which [`Mapped::has_failed`](super::Mapped::has_failed) reports. Without
/// the handler such a read ends the process. A SIGBUS about other memory goes to the handler that was
/// installed before this call, or ends the process if there was none. A program that installs a handler of
/// its own afterwards replaces this one, and has to pass on what it does not handle.
///
/// On Linux and macOS. Does nothing elsewhere: Windows refuses to truncate a mapped file.
pub fn install_handler() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(handler::install);
}

/// Returns the number of reads by this process that the handler has answered with zeros.
///
/// If it is the same before and after some work, that work read nothing but the contents of files.
pub fn n_failed_reads() -> usize {
    N_FAILED_READS.load(SeqCst)
}

static N_FAILED_READS: AtomicUsize = AtomicUsize::new(0);

/// A registered range of addresses. Unregistered when dropped, which must be before it is unmapped.
pub(super) struct Guard(&'static Slot);

impl Guard {
    /// Registers the map of `len` bytes at `start`.
    pub(super) fn new(start: *const u8, len: usize) -> Guard {
        let slot = Slot::claim();
        slot.set(start.addr(), start.addr() + len);
        Guard(slot)
    }

    /// Returns whether a part of the map could not be read and was replaced by zeros.
    pub(super) fn has_failed(&self) -> bool {
        self.0.has_failed.load(SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.set(0, 0);
        self.0.is_claimed.store(false, SeqCst);
    }
}

/// The registered range of one map, `start..end`. Blocks of slots are allocated when needed and never freed,
/// so that the handler can walk them at any moment without a lock.
struct Slot {
    is_claimed: AtomicBool,
    /// Odd while the range is being changed, and different after it. The handler skips a slot that changes
    /// while it looks at it. That is never the slot that it searches, since a map that is being read is
    /// neither registered nor unregistered at that moment.
    version: AtomicUsize,
    start: AtomicUsize,
    end: AtomicUsize,
    has_failed: AtomicBool,
}

const SLOTS_PER_BLOCK: usize = 64;

/// A link of the list of slots.
struct Block {
    slots: [Slot; SLOTS_PER_BLOCK],
    next: AtomicPtr<Block>,
}

static FIRST: Block = Block::new();

impl Block {
    const fn new() -> Block {
        Block { slots: [const { Slot::new() }; SLOTS_PER_BLOCK], next: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The block after this one.
    fn next(&self) -> Option<&'static Block> {
        // SAFETY: the pointer is null or comes from `Box::leak` in `Slot::claim`, and is set once.
        unsafe { self.next.load(SeqCst).as_ref() }
    }
}

/// All blocks, in the order of their creation.
fn blocks() -> impl Iterator<Item = &'static Block> {
    std::iter::successors(Some(&FIRST), |block| block.next())
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            is_claimed: AtomicBool::new(false),
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Claims a slot without another user.
    fn claim() -> &'static Slot {
        /// Held while a block is added. The handler never takes it.
        static GROWING: Mutex<()> = Mutex::new(());

        loop {
            if let Some(slot) = Slot::claim_free() {
                return slot;
            }

            let _growing = GROWING.lock().unwrap_or_else(PoisonError::into_inner);
            let last = blocks().last().unwrap_or(&FIRST);
            // Another thread may have added a block in the meantime.
            if let Some(slot) = Slot::claim_free() {
                return slot;
            }
            last.next.store(Box::leak(Box::new(Block::new())), SeqCst);
        }
    }

    /// Claims a slot of the existing blocks; `None` if all are taken.
    fn claim_free() -> Option<&'static Slot> {
        let mut slots = blocks().flat_map(|block| &block.slots);
        slots.find(|slot| slot.is_claimed.compare_exchange(false, true, SeqCst, SeqCst).is_ok())
    }

    /// Sets the range. Must be called by the owner only.
    fn set(&self, start: usize, end: usize) {
        self.version.fetch_add(1, SeqCst);
        self.start.store(start, SeqCst);
        self.end.store(end, SeqCst);
        self.has_failed.store(false, SeqCst);
        self.version.fetch_add(1, SeqCst);
    }

    /// Returns the end of the range if `address` is in it.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn end_around(&self, address: usize) -> Option<usize> {
        let version = self.version.load(SeqCst);
        let (start, end) = (self.start.load(SeqCst), self.end.load(SeqCst));
        let is_stable = version.is_multiple_of(2) && self.version.load(SeqCst) == version;
        (is_stable && (start..end).contains(&address)).then_some(end)
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod handler {
    //! Everything that runs in the handler is async-signal-safe: loads and stores of atomics, `mmap`, which
    //! is one system call, and, only on the way to the end of the process, `sigaction` and `raise`. It
    //! allocates nothing and takes no lock.

    use std::sync::OnceLock;

    use libc::{c_int, c_void, siginfo_t};

    use super::{N_FAILED_READS, SeqCst, blocks};

    /// The handler of SIGBUS before ours: in a Rust program the detection of stack overflows.
    static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();
    static PAGE_BYTES: OnceLock<usize> = OnceLock::new();

    type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
    type SimpleHandler = unsafe extern "C" fn(c_int);

    pub(super) fn install() {
        // SAFETY: `sysconf` has no preconditions. A zeroed `sigaction` is a valid one (no flags, default
        // action); all pointers are to local values or null. The previous handler and the page size are
        // stored before the new handler can run.
        unsafe {
            let Ok(page_bytes) = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)) else { return };

            let mut previous: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut previous) != 0 {
                return;
            }

            let _ = (PAGE_BYTES.set(page_bytes), PREVIOUS.set(previous));

            let mut ours: libc::sigaction = std::mem::zeroed();
            let on_bus_error: Handler = on_bus_error;
            ours.sa_sigaction = on_bus_error as *const () as usize;
            // The previous handler may be that of stack overflows, which runs on the alternate stack.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;

            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut());
        }
    }

    unsafe extern "C" fn on_bus_error(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel passes a valid `siginfo_t`, which has an address if it is about a fault.
        let address = unsafe { is_fault(&*info).then(|| (*info).si_addr().addr()) };
        if !address.is_some_and(replace_by_zeros) {
            // SAFETY: the arguments are those of this call.
            unsafe { pass_on(signal, info, context) };
        }
    }

    /// Returns whether the signal is about memory that this thread has just read and that is not there. A
    /// signal sent by a process has other data in place of the address; one about memory that failed without
    /// being read (`BUS_MCEERR_AO`) may come while another thread unmaps it.
    fn is_fault(info: &siginfo_t) -> bool {
        #[cfg(target_os = "linux")]
        return matches!(info.si_code, libc::BUS_ADRERR | libc::BUS_MCEERR_AR);
        #[cfg(not(target_os = "linux"))]
        return (1..0x10000).contains(&info.si_code);
    }

    /// Replaces the registered map from the page of `address` to its end by zeros; false if there is none.
    ///
    /// To its end, because the pages behind an unreadable one are mostly gone too, and because a map for each
    /// page could exceed the number of maps that a process may have.
    fn replace_by_zeros(address: usize) -> bool {
        let Some(page_bytes) = PAGE_BYTES.get() else { return false };
        let slots = blocks().flat_map(|block| &block.slots);
        for slot in slots {
            let Some(end) = slot.end_around(address) else { continue };
            let page = address & !(page_bytes - 1);

            // The mark is set before the zeros can be seen.
            slot.has_failed.store(true, SeqCst);
            N_FAILED_READS.fetch_add(1, SeqCst);

            // SAFETY: `page..end` is within a map that the owner of the slot keeps mapped while it is
            // registered, and it is registered while it is read, which the faulting instruction is about to
            // do. So the fixed map replaces pages of that map only; nothing writes to them, and other threads
            // that read them see the file before and zeros after.
            let map = unsafe {
                libc::mmap(
                    std::ptr::without_provenance_mut(page),
                    end - page,
                    libc::PROT_READ,
                    libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                    -1,
                    0,
                )
            };

            return map != libc::MAP_FAILED;
        }

        false
    }

    /// Leaves the signal to the previous handler, or to the default action, which ends the process.
    unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
        let previous = PREVIOUS.get();
        let handler = previous.map_or(libc::SIG_DFL, |previous| previous.sa_sigaction);
        let takes_info = previous.is_some_and(|previous| previous.sa_flags & libc::SA_SIGINFO != 0);

        // SAFETY: the handler that `sigaction` returned is one of the two constants, or a function of the
        // type given by its flags. A zeroed `sigaction` is the default action. The signal is blocked until
        // this handler returns, and is then delivered again.
        unsafe {
            if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
                let default: libc::sigaction = std::mem::zeroed();
                libc::sigaction(signal, &raw const default, std::ptr::null_mut());
                libc::raise(signal);
            } else if takes_info {
                std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
            } else {
                std::mem::transmute::<usize, SimpleHandler>(handler)(signal);
            }
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
mod handler {
    pub(super) fn install() {}
}

#[cfg(test)]
#[cfg(any(target_os = "linux", target_os = "macos"))]
mod tests {
    use super::*;
    use crate::sys::Mapped;
    use std::os::unix::process::ExitStatusExt as _;

    fn file(len: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7u8; len]).unwrap();
        file
    }

    fn truncate(file: &tempfile::NamedTempFile, len: u64) {
        file.as_file().set_len(len).unwrap();
    }

    #[test]
    fn a_truncated_map_reads_as_zeros_and_is_marked() {
        install_handler();
        let (cut, whole) = (file(10 * 65536), file(65536));
        let (map, other) = (Mapped::open(cut.path()).unwrap(), Mapped::open(whole.path()).unwrap());

        let before = n_failed_reads();
        truncate(&cut, 65536);
        assert_eq!((map[0], map[65535]), (7, 7));
        assert!(!map.has_failed());
        assert_eq!((map[9 * 65536], map[2 * 65536], map[10 * 65536 - 1]), (0, 0, 0));
        assert!(map.has_failed() && n_failed_reads() > before);

        assert_eq!((map[0], other[65535]), (7, 7));
        assert!(!other.has_failed());

        drop(map);
        assert!(!Mapped::open(cut.path()).unwrap().has_failed(), "the slot is used again without its mark");
    }

    #[test]
    fn maps_are_read_registered_and_truncated_on_many_threads() {
        install_handler();
        std::thread::scope(|scope| {
            for seed in 0..8 {
                scope.spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(seed);
                    for _ in 0..200 {
                        let cut = file(5 * 65536);
                        let maps: Vec<Mapped> = (0..20).map(|_| Mapped::open(cut.path()).unwrap()).collect();
                        let kept = file(65536);
                        let other = Mapped::open(kept.path()).unwrap();

                        truncate(&cut, rng.u64(..2) * 65536);
                        for map in &maps {
                            assert_eq!(map[rng.usize(2 * 65536..map.len())], 0);
                            assert!(map.has_failed());
                        }
                        assert!(other.iter().all(|&byte| byte == 7) && !other.has_failed());
                    }
                });
            }
        });
    }

    /// The variable that makes this test executable the child of a test, and names what the child does.
    const CHILD: &str = "CODEWEAVER_TEST_BUS_ERROR";

    /// Runs this test executable as the child that does `what`; returns how it ended.
    fn child(what: &str) -> std::process::Output {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "sys::bus_error::tests::child_that_reads_a_truncated_map"]);
        command.env(CHILD, what).output().unwrap()
    }

    /// The child of the tests below; does nothing in the run that starts it.
    #[test]
    fn child_that_reads_a_truncated_map() {
        let Some(what) = std::env::var_os(CHILD) else { return };
        if what != "ours, without a handler" {
            install_handler();
        }

        let (ours, foreign) = (file(2 * 65536), file(2 * 65536));
        let registered = Mapped::open(ours.path()).unwrap();
        // SAFETY: what the tests are about: the file is truncated below.
        let map = unsafe { memmap2::Mmap::map(foreign.as_file()).unwrap() };
        truncate(&ours, 0);
        truncate(&foreign, 0);
        std::hint::black_box(if what == "foreign" { map[65536] } else { registered[65536] });
    }

    #[test]
    fn a_foreign_bus_error_still_ends_the_process() {
        let child = child("foreign");
        assert_eq!(child.status.signal(), Some(libc::SIGBUS), "{child:?}");
    }

    #[test]
    fn a_process_without_the_handler_ends() {
        let (with, without) = (child("ours"), child("ours, without a handler"));
        assert!(with.status.success(), "{with:?}");
        assert_eq!(without.status.signal(), Some(libc::SIGBUS), "{without:?}");
    }
}
