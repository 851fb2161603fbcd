//! Deadline: bodies of requests that must arrive in time, and answers that must be read.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::connections::Connection;

/// The body of a request, whose last byte must arrive before a deadline.
pub struct TimedBody {
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
    connection: Arc<Connection>,
}

impl TimedBody {
    /// A body that has `limit` from now on to arrive.
    pub fn new(body: Incoming, limit: Duration, connection: Arc<Connection>) -> TimedBody {
        if body.is_end_stream() {
            connection.work();
        }
        TimedBody { body, deadline: Box::pin(tokio::time::sleep(limit)), connection }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        // Checked first, since bytes that arrive one by one are no excuse.
        if !self.body.is_end_stream() && self.deadline.as_mut().poll(context).is_ready() {
            self.connection.set_late();
            return Poll::Ready(Some(Err(io::ErrorKind::TimedOut.into())));
        }

        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if frame.is_none() || self.body.is_end_stream() {
            self.connection.work();
        }
        Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A stream that fails if its client reads nothing for too long.
pub struct TimedStream {
    stream: TcpStream,
    limit: Duration,
    /// Runs while bytes wait for the client.
    stalled: Option<Pin<Box<Sleep>>>,
    connection: Arc<Connection>,
}

impl TimedStream {
    /// A stream whose client may read nothing for `limit`.
    pub fn new(stream: TcpStream, limit: Duration, connection: Arc<Connection>) -> TimedStream {
        TimedStream { stream, limit, stalled: None, connection }
    }

    /// Passes the outcome of a write on, unless the client has read nothing for too long.
    fn written<T>(&mut self, outcome: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            self.connection.progress();
            return outcome;
        }

        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(outcome, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(outcome, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
