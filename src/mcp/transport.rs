//! Standard streams ⇄ messages.
//!
//! A thread reads lines, another writes them, so the protocol loop never blocks on either, whatever kind of file they are.
//! Lines are bounded, and so is the number of requests that are worked on at once: a client that asks faster than it
//! reads waits, and no input makes this process grow.

use super::message::{self, Incoming, MAX_MESSAGE_BYTES, Rejection, reject};
use crate::sync;
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use std::collections::HashSet;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use tokio::sync::{Notify, mpsc};

/// Requests that are worked on at once; further ones are answered with an error.
pub const MAX_REQUESTS: usize = 64;
/// Lines that wait between the threads and the protocol loop, each way.
const QUEUE: usize = 16;
/// Of JSON-RPC's range for servers.
const TOO_MANY_REQUESTS: ErrorCode = ErrorCode(-32000);

/// A line of input.
#[derive(Debug, PartialEq)]
enum Line {
    Text(Vec<u8>),
    TooLong,
}

/// The transport of a server that talks over two streams.
pub struct LineTransport {
    lines: mpsc::Receiver<Line>,
    out: mpsc::Sender<Vec<u8>>,
    requests: Arc<Mutex<HashSet<RequestId>>>,
    /// A rejection that waits for room in `out`. Here and not on the stack: `receive` may be dropped at any point.
    unsent: Option<Vec<u8>>,
    /// A session has begun: `rmcp` ends if something else than a request comes before that.
    is_open: bool,
    ends: Ends,
}

/// Told when a stream ends.
#[derive(Clone, Default)]
pub struct Ends {
    /// There is no further input; what was asked is still answered.
    pub input: Arc<Notify>,
    /// Nobody reads the output any more.
    pub output: Arc<Notify>,
}

/// The thread that writes; what it still has is written before [`Writer::finish`] returns.
pub struct Writer {
    thread: JoinHandle<()>,
}

impl LineTransport {
    /// Starts the threads.
    pub fn start(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        ends: Ends,
    ) -> io::Result<(LineTransport, Writer)> {
        let (line_sender, lines) = mpsc::channel(QUEUE);
        let (out, out_receiver) = mpsc::channel(QUEUE);
        std::thread::Builder::new().name("read".into()).spawn(move || read(input, &line_sender))?;
        let output_end = ends.output.clone();
        let thread = std::thread::Builder::new().name("write".into()).spawn(move || {
            write(output, out_receiver);
            output_end.notify_one();
        })?;
        let requests = Arc::default();
        let transport = LineTransport { lines, out, requests, unsent: None, is_open: false, ends };
        Ok((transport, Writer { thread }))
    }

    /// A line → what goes on to the service, or a rejection.
    fn accept(&mut self, line: Line) -> Result<Option<Incoming>, Box<Rejection>> {
        let line = match line {
            Line::Text(line) => line,
            Line::TooLong => return Err(message::too_long()),
        };
        let Some(message) = message::parse(&line)? else { return Ok(None) };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.is_open |= opens_session(&request.request);
                let mut requests = lock(&self.requests);
                let refuse = |code, what| Err(reject(Some(request.id.clone()), code, what));
                if requests.contains(&request.id) {
                    return refuse(ErrorCode::INVALID_REQUEST, "a request with this id is being worked on");
                }
                if requests.len() >= MAX_REQUESTS {
                    return refuse(TOO_MANY_REQUESTS, "too many requests at once; wait for an answer");
                }
                requests.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(note) if self.is_open => {
                // No answer follows.
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    lock(&self.requests).remove(id);
                }
            }
            _ if self.is_open => {}
            _ => return Ok(None),
        }
        Ok(Some(message))
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = answered {
            lock(&self.requests).remove(id);
        }
        let line = to_line(&item);
        let out = self.out.clone();
        async move { out.send(line?).await.map_err(|_| io::ErrorKind::BrokenPipe.into()) }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        loop {
            if self.unsent.is_some() {
                let permit = self.out.reserve().await.ok()?;
                if let Some(line) = self.unsent.take() {
                    permit.send(line);
                }
            }
            let Some(line) = self.lines.recv().await else {
                self.ends.input.notify_one();
                return None;
            };
            match self.accept(line) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(rejection) => {
                    let Rejection { id, error } = *rejection;
                    self.unsent = to_line(&TxJsonRpcMessage::<RoleServer>::error(error, id)).ok();
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.lines.close();
        Ok(())
    }
}

impl Writer {
    /// Waits until everything is written. All senders must be gone.
    pub fn finish(self) {
        // A panic in it has been reported by its hook already.
        let _ = self.thread.join();
    }
}

/// Whether this request begins a session, as `rmcp` sees it.
fn opens_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_) => false,
        other => other.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}

fn to_line(message: &TxJsonRpcMessage<RoleServer>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

fn lock(requests: &Mutex<HashSet<RequestId>>) -> MutexGuard<'_, HashSet<RequestId>> {
    sync::lock(requests)
}

/// Reads lines until the input ends or nobody wants them any more.
fn read(mut input: impl BufRead, lines: &mpsc::Sender<Line>) {
    while let Ok(Some(line)) = read_line(&mut input, MAX_MESSAGE_BYTES) {
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The next line without its end; of one that is too long, nothing is kept. `None` at the end of the input: what follows
/// the last line end was cut off.
fn read_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut text = Vec::new();
    let mut is_too_long = false;
    loop {
        let available = match input.fill_buf() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            available => available?,
        };
        if available.is_empty() {
            return Ok(None);
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let part = &available[..end.unwrap_or(available.len())];
        is_too_long |= text.len() + part.len() > limit;
        if is_too_long {
            text = Vec::new();
        } else {
            text.extend_from_slice(part);
        }
        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(Some(if is_too_long { Line::TooLong } else { Line::Text(text) }));
        }
    }
}

fn write(mut output: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.blocking_recv() {
        if output.write_all(&line).and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn lines_are_bounded_and_a_cut_one_is_none() {
        let text = b"one\n\ntwelve bytes\nfour\ncut";
        for capacity in [1, 2, 3, 100] {
            let mut input = BufReader::with_capacity(capacity, &text[..]);
            let mut next = || read_line(&mut input, 5).unwrap();
            assert_eq!(next(), Some(Line::Text(b"one".to_vec())));
            assert_eq!(next(), Some(Line::Text(Vec::new())));
            assert_eq!(next(), Some(Line::TooLong));
            assert_eq!(next(), Some(Line::Text(b"four".to_vec())));
            assert_eq!(next(), None);
        }
    }
}
