//! The output of one request, on its way to the client.

use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use codeweaver_base::sync;

use super::protocol::Frame;

/// Number of bytes that are collected before they are sent.
const BUFFER: usize = 64 << 10;

/// The streams of a client. Bytes of both arrive in the order in which they were written.
pub struct Replies {
    pending: Mutex<Pending>,
    is_cancelled: Arc<AtomicBool>,
}

struct Pending {
    stream: UnixStream,
    frames: Vec<u8>,
    /// Bytes of one of the streams, and whether that is stderr.
    text: Vec<u8>,
    is_err: bool,
    has_output: bool,
}

impl Replies {
    /// The replies on `stream`; `is_cancelled` is true once the client has gone.
    pub(crate) fn new(stream: UnixStream, is_cancelled: Arc<AtomicBool>) -> Replies {
        let pending =
            Pending { stream, frames: Vec::new(), text: Vec::new(), is_err: false, has_output: false };
        Replies { pending: Mutex::new(pending), is_cancelled }
    }

    /// Whether the client has gone, for tokens of cancellation.
    pub fn cancellation(&self) -> Arc<AtomicBool> {
        self.is_cancelled.clone()
    }

    /// Writes to the client's stdout.
    ///
    /// # Errors
    /// The client is gone.
    pub fn out(&self, bytes: &[u8]) -> io::Result<()> {
        self.lock().add(bytes, false)
    }

    /// Writes to the client's stderr.
    ///
    /// # Errors
    /// The client is gone.
    pub fn err(&self, bytes: &[u8]) -> io::Result<()> {
        self.lock().add(bytes, true)
    }

    /// Leaves `payload` to the client's pager.
    ///
    /// # Errors
    /// The client is gone.
    pub fn page(&self, payload: &[u8]) -> io::Result<()> {
        let mut pending = self.lock();
        pending.end_text()?;
        Frame::Paged(payload.to_vec()).write(&mut pending.frames)?;
        pending.has_output = true;
        pending.send()
    }

    /// Sends what is left and the exit code.
    pub(crate) fn finish(&self, code: u8) -> io::Result<()> {
        let mut pending = self.lock();
        pending.end_text()?;
        Frame::Exit(code).write(&mut pending.frames)?;
        pending.send()
    }

    /// Drops the output, if none was sent, and declines. Otherwise the client finds the connection broken.
    pub(crate) fn decline(&self, reason: &str) -> io::Result<()> {
        let mut pending = self.lock();
        if pending.has_output {
            return Err(io::Error::other("output has been sent"));
        }

        pending.text.clear();
        pending.frames.clear();
        Frame::Declined(reason.to_owned()).write(&mut pending.frames)?;
        pending.send()
    }

    fn lock(&self) -> MutexGuard<'_, Pending> {
        sync::lock(&self.pending)
    }
}

impl Pending {
    fn add(&mut self, bytes: &[u8], is_err: bool) -> io::Result<()> {
        if self.is_err != is_err {
            self.end_text()?;
            self.is_err = is_err;
        }

        self.text.extend_from_slice(bytes);
        if self.text.len() + self.frames.len() < BUFFER {
            return Ok(());
        }

        self.end_text()?;
        self.has_output = true;
        self.send()
    }

    /// Makes a frame of the text.
    fn end_text(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }

        let text = std::mem::take(&mut self.text);
        let frame = if self.is_err { Frame::Stderr(text) } else { Frame::Stdout(text) };
        frame.write(&mut self.frames)
    }

    fn send(&mut self) -> io::Result<()> {
        let frames = std::mem::take(&mut self.frames);
        self.stream.write_all(&frames)
    }
}

/// Marks a request as cancelled once its client has closed the connection.
pub(crate) fn watch(mut stream: UnixStream, is_cancelled: Arc<AtomicBool>) {
    // A client sends nothing after its request.
    let _ = io::Read::read(&mut stream, &mut [0]);
    is_cancelled.store(true, Ordering::Relaxed);
}
