//! Stream: an answer that is sent as it is found, as JSON lines.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Frame;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use codeweaver_text::safe_json;

use super::failure::Failure;
use super::job::{Job, Work};

/// Maximum number of bytes that wait for a slow client, unless a single line is longer.
const MAX_BUFFERED: u32 = 1 << 20;

/// Maximum number of lines that are sent at once.
const BATCH: usize = 64;

/// Number of times that an answer waits for a client that reads nothing, each for [`WAIT`]. If others wait
/// for their answer to begin, it waits once.
const MAX_WAITS: usize = 10;
const WAIT: Duration = Duration::from_secs(1);

/// A line of an answer, or its failure, with the room in the buffer that it takes.
type Line = (Result<Bytes, Failure>, OwnedSemaphorePermit);

/// Sender of the lines of an answer.
pub struct Lines {
    sender: mpsc::UnboundedSender<Line>,
    /// A permit for each byte that may be buffered.
    room: Arc<Semaphore>,
    /// Whether the answer was broken off because its client reads nothing.
    is_broken: Arc<AtomicBool>,
}

impl Lines {
    /// Sends `value` as a line of the answer to `work`; waits while the client is slow, without a slot.
    /// Returns false if the client has disconnected or reads nothing.
    ///
    /// # Errors
    /// The value cannot be serialised.
    pub fn send(&self, value: &impl serde::Serialize, work: &Work) -> Result<bool, Failure> {
        let mut line = safe_json(serde_json::to_string(value).map_err(Failure::internal)?);
        line.push('\n');

        let line = Bytes::from(line);
        match self.room.clone().try_acquire_many_owned(size(&line)) {
            Ok(room) => Ok(self.sender.send((Ok(line), room)).is_ok()),
            Err(_) => Ok(work.pause(|| self.wait_and_send(Ok(line), work))),
        }
    }

    /// Sends `line` as soon as the client has read enough. If the client disconnects, there is room at
    /// once, and sending fails.
    fn wait_and_send(&self, line: Result<Bytes, Failure>, work: &Work) -> bool {
        let size = line.as_ref().map_or(1, size);
        for _ in 0..MAX_WAITS {
            let room = async { timeout(WAIT, self.room.clone().acquire_many_owned(size)).await };
            match Handle::current().block_on(room) {
                Ok(Ok(room)) => return self.sender.send((line, room)).is_ok(),
                Ok(Err(_)) => return false,
                Err(_) if work.app.streams.is_waited_for() => break,
                Err(_) => {}
            }
        }

        self.is_broken.store(true, Relaxed);
        false
    }
}

/// The room that a line takes in the buffer.
fn size(line: &Bytes) -> u32 {
    u32::try_from(line.len()).unwrap_or(u32::MAX).min(MAX_BUFFERED)
}

/// Runs `work` like [`Job::run`], and sends its lines. An error before the first line becomes the response; a
/// later one is sent as the last line.
///
/// # Errors
/// Those of `work` before its first line.
pub async fn stream(
    job: Job,
    work: impl FnOnce(&Work, &Lines) -> Result<(), Failure> + Send + 'static,
) -> Result<Response, Failure> {
    // Each of them may keep a thread waiting for its client.
    let streams = job.app.streams.clone();
    let Ok(Ok(place)) = timeout(MAX_WAITS as u32 * WAIT, streams.place(&job.client)).await else {
        job.app.metrics.shed();
        return Err(Failure::busy());
    };

    let (sender, mut receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(MAX_BUFFERED as usize));
    let is_broken = Arc::new(AtomicBool::default());
    let lines = Lines { sender, room, is_broken: is_broken.clone() };

    let running = job.run(move |request| {
        let _place = place;
        match work(request, &lines) {
            // A client that has not read the lines does not read the failure.
            Err(failure) if !lines.is_broken.load(Relaxed) => {
                request.pause(|| lines.wait_and_send(Err(failure), request));
            }
            Ok(()) | Err(_) => {}
        }
        Ok(())
    });

    // Dropping the body cancels the work, since its receiver and this task end.
    let task = tokio::spawn(running);
    let abort = AbortOnDrop(task.abort_handle());

    let first = match receiver.recv().await {
        Some((first, _)) => first?,
        // The work has sent no line, or was refused before it began.
        None => {
            task.await.map_err(Failure::internal)??;
            Bytes::new()
        }
    };

    let body = Body::new(LineBody { first: Some(first), receiver, is_broken, _abort: abort });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

struct LineBody {
    first: Option<Bytes>,
    receiver: mpsc::UnboundedReceiver<Line>,
    is_broken: Arc<AtomicBool>,
    _abort: AbortOnDrop,
}

impl hyper::body::Body for LineBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }

        // All lines that are there go out at once.
        let mut lines = Vec::new();
        if ready!(self.receiver.poll_recv_many(context, &mut lines, BATCH)) == 0 {
            // So that the client does not take the answer for complete.
            let error = self.is_broken.load(Relaxed).then(|| Err(io::ErrorKind::TimedOut.into()));
            return Poll::Ready(error);
        }

        let mut text = Vec::new();
        for (line, _) in lines {
            match line {
                Ok(line) => text.extend_from_slice(&line),
                Err(failure) => {
                    let line = serde_json::to_string(&failure).map(safe_json).unwrap_or_default();
                    text.extend_from_slice(line.as_bytes());
                    text.push(b'\n');
                }
            }
        }
        Poll::Ready(Some(Ok(Frame::data(text.into()))))
    }
}

/// Aborts the task when dropped. This drops the future that cancels the work.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
