//! Stream: an answer that is sent as it is found, as JSON lines.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Frame;
use tokio::sync::mpsc;

use super::failure::Failure;
use super::job::{Job, Work};

/// Maximum number of lines that wait for a slow client.
const QUEUE: usize = 64;

/// Sender of the lines of an answer.
pub struct Lines(mpsc::Sender<Result<Bytes, Failure>>);

impl Lines {
    /// Sends `value` as a line; waits while the client is slow. Returns false if the client has disconnected.
    ///
    /// # Errors
    /// The value cannot be serialised.
    pub fn send(&self, value: &impl serde::Serialize) -> Result<bool, Failure> {
        let mut line = serde_json::to_vec(value).map_err(Failure::internal)?;
        line.push(b'\n');
        Ok(self.0.blocking_send(Ok(line.into())).is_ok())
    }
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
    let (sender, mut receiver) = mpsc::channel(QUEUE);
    let lines = Lines(sender);

    let running = job.run(move |request| {
        if let Err(failure) = work(request, &lines) {
            // If the client has disconnected, the failure cannot be sent.
            let _ = lines.0.blocking_send(Err(failure));
        }
        Ok(())
    });

    // Dropping the body cancels the work, since its receiver and this task end.
    let task = tokio::spawn(running);
    let abort = AbortOnDrop(task.abort_handle());

    let first = match receiver.recv().await {
        Some(first) => first?,
        // The work has sent no line, or was refused before it began.
        None => {
            task.await.map_err(Failure::internal)??;
            Bytes::new()
        }
    };

    let body = Body::new(LineBody { first: Some(first), receiver, _abort: abort });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response())
}

struct LineBody {
    first: Option<Bytes>,
    receiver: mpsc::Receiver<Result<Bytes, Failure>>,
    _abort: AbortOnDrop,
}

impl hyper::body::Body for LineBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(first) = self.first.take().filter(|first| !first.is_empty()) {
            return Poll::Ready(Some(Ok(Frame::data(first))));
        }

        self.receiver.poll_recv(context).map(|line| {
            let line = line?.unwrap_or_else(|failure| {
                let mut line = serde_json::to_vec(&failure).unwrap_or_default();
                line.push(b'\n');
                line.into()
            });
            Some(Ok(Frame::data(line)))
        })
    }
}

/// Aborts the task when dropped. This drops the future that cancels the work.
struct AbortOnDrop(tokio::task::AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
