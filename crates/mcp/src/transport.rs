//! Transport of messages as lines over two streams.
//!
//! One thread reads lines and another writes them, so that the protocol loop never blocks on a stream. The
//! length of lines and the number of concurrent requests are bounded: a client that sends faster than it
//! reads is slowed down, and no input can exhaust memory.

use std::collections::{HashSet, VecDeque};
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, ProtocolVersion, RequestId,
};
use rmcp::service::TxJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::{Notify, mpsc};

use codeweaver_base::sync;

use super::id_scanner::IdScanner;
use super::message::{self, Incoming, MAX_MESSAGE_BYTES, Rejection, reject};

/// Maximum number of concurrent requests; further ones are answered with an error.
pub const MAX_REQUESTS: usize = 64;
/// Number of lines buffered between the threads and the protocol loop, in each direction.
const QUEUE: usize = 16;
/// Error code from JSON-RPC's range for servers.
const TOO_MANY_REQUESTS: ErrorCode = ErrorCode(-32000);

/// A line of input.
#[derive(Debug, PartialEq)]
enum Line {
    Text(Vec<u8>),
    /// Its content is discarded, except for the id of its request.
    TooLong(Option<RequestId>),
}

/// Transport over two streams.
pub struct LineTransport {
    lines: mpsc::Receiver<Line>,
    /// The messages of a batch that are not processed yet.
    batch: VecDeque<Line>,
    out: mpsc::Sender<Vec<u8>>,
    requests: Arc<Mutex<HashSet<RequestId>>>,
    /// A rejection that waits for space in `out`. It is a field because the future of `receive` may be
    /// dropped.
    unsent: Option<Vec<u8>>,
    /// Set once a session has begun. Before that, `rmcp` ends if it receives anything but a request.
    is_open: bool,
    ends: StreamEnds,
}

/// Notified when a stream ends.
#[derive(Clone, Default)]
pub struct StreamEnds {
    /// The input has ended; pending requests are still answered.
    pub input: Arc<Notify>,
    /// The reader of the output has closed it.
    pub output: Arc<Notify>,
}

/// The writing thread.
pub struct Writer {
    thread: JoinHandle<()>,
}

impl LineTransport {
    /// Starts the threads.
    pub fn start(
        input: impl BufRead + Send + 'static,
        output: impl Write + Send + 'static,
        ends: StreamEnds,
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
        let transport = LineTransport {
            lines,
            batch: VecDeque::new(),
            out,
            requests,
            unsent: None,
            is_open: false,
            ends,
        };

        Ok((transport, Writer { thread }))
    }

    /// Parses a line and registers its request. Returns the message for the service, or `None` if it is
    /// ignored.
    fn accept(&mut self, line: Line) -> Result<Option<Incoming>, Box<Rejection>> {
        let line = match line {
            Line::Text(line) => line,
            Line::TooLong(id) => return Err(message::too_long(id)),
        };
        let Some(message) = message::parse(&line)? else { return Ok(None) };

        match &message {
            JsonRpcMessage::Request(request) => {
                self.is_open |= opens_session(&request.request);
                self.register(&request.id)?;
            }
            JsonRpcMessage::Notification(note) if self.is_open => {
                // A cancelled request gets no answer that would remove its id.
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    lock(&self.requests).remove(id);
                }
            }
            _ if self.is_open => {}
            // Before a session, `rmcp` would end at anything but a request.
            _ => return Ok(None),
        }

        Ok(Some(message))
    }

    /// Adds a request to those being worked on.
    fn register(&self, id: &RequestId) -> Result<(), Box<Rejection>> {
        let mut requests = lock(&self.requests);
        if requests.contains(id) {
            let what = "a request with this id is being worked on";
            return Err(reject(Some(id.clone()), ErrorCode::INVALID_REQUEST, what));
        }
        if requests.len() >= MAX_REQUESTS {
            let what = "too many requests at once; wait for an answer";
            return Err(reject(Some(id.clone()), TOO_MANY_REQUESTS, what));
        }

        requests.insert(id.clone());
        Ok(())
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
            // The future may be dropped at the `await`; the rejection then waits for the next call.
            if self.unsent.is_some() {
                let permit = self.out.reserve().await.ok()?;
                if let Some(line) = self.unsent.take() {
                    permit.send(line);
                }
            }

            let line = match self.batch.pop_front() {
                Some(line) => line,
                None => match self.lines.recv().await {
                    Some(line) => line,
                    None => {
                        self.ends.input.notify_one();
                        return None;
                    }
                },
            };

            if let Line::Text(text) = &line
                && let Some(messages) = message::batch(text)
            {
                self.batch.extend(messages.into_iter().map(Line::Text));
                continue;
            }

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
    /// Waits until all queued lines are written. All senders must have been dropped.
    pub fn finish(self) {
        // The panic hook has already reported a panic of the thread.
        let _ = self.thread.join();
    }
}

/// Returns true if `rmcp` accepts this request as the beginning of a session.
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

/// Reads lines until the input ends or the receiver is dropped.
fn read(mut input: impl BufRead, lines: &mpsc::Sender<Line>) {
    while let Ok(Some(line)) = read_line(&mut input, MAX_MESSAGE_BYTES) {
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Reads the next line without its ending. The content of a line above `limit` is discarded. Returns `None`
/// at the end of the input; an incomplete last line is ignored.
fn read_line(input: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut text = Vec::new();
    // Once the line is too long.
    let mut scanner: Option<IdScanner> = None;
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
        if scanner.is_none() && text.len() + part.len() > limit {
            // Frees what was read of the line, so that a line of any length needs no more than `limit`.
            let mut begun = IdScanner::default();
            begun.read(&std::mem::take(&mut text));
            scanner = Some(begun);
        }
        match &mut scanner {
            Some(scanner) => scanner.read(part),
            None => text.extend_from_slice(part),
        }

        let used = end.map_or(available.len(), |end| end + 1);
        input.consume(used);

        if end.is_some() {
            return Ok(Some(match scanner {
                Some(scanner) => Line::TooLong(scanner.id()),
                None => Line::Text(text),
            }));
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
    fn long_lines_are_discarded_and_an_incomplete_line_is_ignored() {
        let text = b"one\n\ntwelve bytes\nfour\ncut";
        for capacity in [1, 2, 3, 100] {
            let mut input = BufReader::with_capacity(capacity, &text[..]);
            let mut next = || read_line(&mut input, 5).unwrap();
            assert_eq!(next(), Some(Line::Text(b"one".to_vec())));
            assert_eq!(next(), Some(Line::Text(Vec::new())));
            assert_eq!(next(), Some(Line::TooLong(None)));
            assert_eq!(next(), Some(Line::Text(b"four".to_vec())));
            assert_eq!(next(), None);
        }
    }

    #[test]
    fn a_long_request_keeps_its_id() {
        let text = b"{\"method\":\"x\",\"params\":{\"id\":1},\"id\":7}\n";
        for capacity in [1, 5, 100] {
            let mut input = BufReader::with_capacity(capacity, &text[..]);
            let line = read_line(&mut input, 20).unwrap();
            assert_eq!(line, Some(Line::TooLong(Some(RequestId::Number(7)))));
        }
    }
}
