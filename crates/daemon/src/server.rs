//! The loop of the daemon: accepts connections until there is a reason to end.

use std::io;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec};
use serde::Serialize;

use super::address::{Address, is_same_user};
use super::error::DaemonError;
use super::identity::{FileId, Identity};
use super::protocol::{Call, Frame, Message, read_message};
use super::replies::{self, Replies};

/// Interval at which reasons to end are looked for.
const TICK: Duration = Duration::from_secs(1);
/// Time that a client may take to send its request and to receive a part of the answer.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);
/// A pager or a slow terminal takes as long as its user.
const WRITE_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Stack of a request. A command has the stack of a main thread otherwise.
const STACK: usize = 8 << 20;

/// The commands that a daemon runs.
pub trait Handler: Send + Sync + 'static {
    /// Runs `call`, whose directory is `directory`. Output goes to `replies`.
    ///
    /// # Errors
    /// The reason for which the client is to do the work itself.
    fn run(&self, call: &Call, directory: PathBuf, replies: &Arc<Replies>) -> Result<u8, String>;

    /// Called about once a second while nothing is answered, with the time since the last request.
    fn idle(&self, since: Duration);
}

/// The limits of a daemon.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time without a request after which it ends.
    pub idle: Duration,
    /// Maximum number of requests that are answered at the same time; others are declined.
    pub requests: usize,
}

/// The reason for which a daemon ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It was told to.
    Stopped,
    /// Nothing was asked for some time.
    Idle,
    /// Its socket is gone, with the store or the repository.
    Gone,
    /// The program file was replaced.
    OtherProgram,
}

/// The state that requests share.
struct Shared<H> {
    handler: H,
    identity: Identity,
    limits: Limits,
    started: Instant,
    last_request: Mutex<Instant>,
    n_active: AtomicUsize,
    n_served: AtomicUsize,
    n_declined: AtomicUsize,
    /// The reason for which a request was declined last.
    last_declined: Mutex<Option<String>>,
    is_stopping: AtomicBool,
}

/// The report of a daemon about itself.
#[derive(Debug, Serialize)]
struct Status<'a> {
    pid: u32,
    version: &'a str,
    uptime_s: u64,
    idle_s: u64,
    ends_after_s: u64,
    active: usize,
    served: usize,
    declined: usize,
    last_declined: Option<String>,
}

/// Serves `handler` at `address` until there is a reason to end, or `is_stopping` becomes true.
///
/// # Errors
/// Another daemon runs, or there can be no socket.
pub fn serve<H: Handler>(
    address: &Address,
    identity: Identity,
    handler: H,
    limits: Limits,
    is_stopping: &AtomicBool,
) -> Result<Ending, DaemonError> {
    let lock = address.lock()?;
    let listener = address.listen(&lock)?;
    let own_socket = address.socket_file();
    let program = std::env::current_exe().and_then(|path| Ok((FileId::from_path(&path)?, path)));
    let program = program.map_err(DaemonError::io("find", "the program"))?;

    let shared = Arc::new(Shared {
        handler,
        identity,
        limits,
        started: Instant::now(),
        last_request: Mutex::new(Instant::now()),
        n_active: AtomicUsize::new(0),
        n_served: AtomicUsize::new(0),
        n_declined: AtomicUsize::new(0),
        last_declined: Mutex::default(),
        is_stopping: AtomicBool::new(false),
    });

    listener.set_nonblocking(true).map_err(DaemonError::io("set up", address.socket()))?;

    let ending = loop {
        match accept(&listener) {
            Ok(Some(stream)) => start(&shared, stream),
            Ok(None) => {}
            // Too many open files, or a client that has gone again.
            Err(error) => {
                tracing::warn!(component = "daemon", operation = "accept", %error, "no connection");
                std::thread::sleep(Duration::from_millis(10));
            }
        }

        if is_stopping.load(Ordering::Relaxed) {
            shared.is_stopping.store(true, Ordering::Relaxed);
        }
        let is_active = shared.n_active.load(Ordering::Relaxed) > 0;
        let since = shared.idle_time();

        if shared.is_stopping.load(Ordering::Relaxed) {
            break Ending::Stopped;
        } else if own_socket.is_none() || address.socket_file() != own_socket {
            break Ending::Gone;
        } else if !FileId::from_path(&program.1).is_ok_and(|now| now == program.0) {
            break Ending::OtherProgram;
        } else if !is_active && since > limits.idle {
            break Ending::Idle;
        } else if !is_active {
            shared.handler.idle(since);
        }
    };

    // New clients find no daemon; those that are being answered get their answers.
    if let Some(own) = own_socket {
        address.remove_socket(own);
    }
    drop(listener);
    // The next daemon may start at once.
    drop(lock);
    while shared.n_active.load(Ordering::Relaxed) > 0 && !is_stopping.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(ending)
}

/// The next connection; `None` if there is none within [`TICK`].
fn accept(listener: &std::os::unix::net::UnixListener) -> io::Result<Option<UnixStream>> {
    let tick = Timespec { tv_sec: TICK.as_secs() as i64, tv_nsec: 0 };
    match rustix::event::poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&tick)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }

    match listener.accept() {
        Ok((stream, _)) => {
            stream.set_nonblocking(false)?;
            Ok(Some(stream))
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Answers a connection on a thread of its own.
fn start<H: Handler>(shared: &Arc<Shared<H>>, stream: UnixStream) {
    shared.n_active.fetch_add(1, Ordering::Relaxed);
    let own = Active(shared.clone());
    let thread = std::thread::Builder::new().name("request".into()).stack_size(STACK);

    // Without a thread the connection closes, and the client does the work itself.
    let started = thread.spawn(move || {
        if let Err(error) = answer(&own.0, stream) {
            tracing::debug!(component = "daemon", operation = "answer", %error, "the client has gone");
        }
    });
    if let Err(error) = started {
        tracing::warn!(component = "daemon", operation = "answer", %error, "no thread");
    }
}

/// A request that is being answered.
struct Active<H: Handler>(Arc<Shared<H>>);

impl<H: Handler> Drop for Active<H> {
    fn drop(&mut self) {
        self.0.touch();
        self.0.n_active.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer<H: Handler>(shared: &Arc<Shared<H>>, mut stream: UnixStream) -> io::Result<()> {
    if !is_same_user(&stream)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;

    match read_message(&mut stream)? {
        Message::Run(call) => {
            shared.touch();
            run(shared, &call, stream)
        }
        Message::Status => Frame::Text(serde_json::to_vec(&shared.status())?).write(&mut stream),
        Message::Stop => {
            shared.is_stopping.store(true, Ordering::Relaxed);
            Frame::Text(serde_json::to_vec(&shared.status())?).write(&mut stream)
        }
    }
}

/// Runs a command.
fn run<H: Handler>(shared: &Arc<Shared<H>>, call: &Call, mut stream: UnixStream) -> io::Result<()> {
    let directory = match shared.directory_of(call) {
        Ok(directory) => directory,
        Err(reason) => {
            shared.note_declined(reason);
            return Frame::Declined(reason.to_owned()).write(&mut stream);
        }
    };

    Frame::Accepted.write(&mut stream)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;

    let is_cancelled = Arc::new(AtomicBool::new(false));
    let (watched, flag) = (stream.try_clone()?, is_cancelled.clone());
    std::thread::Builder::new().name("watch".into()).spawn(move || replies::watch(watched, flag))?;

    let replies = Arc::new(Replies::new(stream.try_clone()?, is_cancelled));
    let ran = catch_unwind(AssertUnwindSafe(|| shared.handler.run(call, directory, &replies)));
    let sent = match ran {
        Ok(Ok(code)) => {
            shared.n_served.fetch_add(1, Ordering::Relaxed);
            replies.finish(code)
        }
        Ok(Err(reason)) => {
            shared.note_declined(&reason);
            replies.decline(&reason)
        }
        Err(_) => replies.decline("the request failed"),
    };

    // Ends the thread that watches.
    let _ = stream.shutdown(std::net::Shutdown::Both);
    sent
}

impl<H: Handler> Shared<H> {
    /// The directory of a call that can be answered here.
    ///
    /// # Errors
    /// The reason for which it is not.
    fn directory_of(&self, call: &Call) -> Result<PathBuf, &'static str> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err("the daemon is ending");
        }
        // The connections of this call and of those that ask about the daemon count too.
        if self.n_active.load(Ordering::Relaxed) > self.limits.requests {
            return Err("the daemon is busy");
        }

        if call.identity.program != self.identity.program {
            return Err("the daemon runs another program file");
        }
        if call.identity != self.identity {
            return Err("the daemon has another environment");
        }
        call.directory.here().ok_or("the daemon sees another file system")
    }

    fn status(&self) -> Status<'_> {
        let last_declined = self.last_declined.lock().unwrap_or_else(PoisonError::into_inner).clone();

        Status {
            pid: std::process::id(),
            version: &self.identity.program.version,
            uptime_s: self.started.elapsed().as_secs(),
            idle_s: self.idle_time().as_secs(),
            ends_after_s: self.limits.idle.as_secs(),
            active: self.n_active.load(Ordering::Relaxed).saturating_sub(1),
            served: self.n_served.load(Ordering::Relaxed),
            declined: self.n_declined.load(Ordering::Relaxed),
            last_declined,
        }
    }

    fn note_declined(&self, reason: &str) {
        self.n_declined.fetch_add(1, Ordering::Relaxed);
        *self.last_declined.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
    }

    fn idle_time(&self) -> Duration {
        self.last_request.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    fn touch(&self) {
        *self.last_request.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}
