//! Session: one connection of a client, from the handshake to its end.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use tungstenite::handshake::server::{ErrorResponse, Request, Response};
use tungstenite::http::StatusCode;
use tungstenite::protocol::WebSocketConfig;
use tungstenite::{Message, WebSocket};

use super::connections::Counted;
use super::protocol::{MAX_QUERY_BYTES, Query, Readiness, Reply};
use super::shared::Shared;
use crate::ask::answer::NOTHING_FOUND;
use crate::ask::{self, Answer, readable};
use crate::service::sender::{parse_authority, parse_origin};

/// Time for the handshake, and to take one message.
const IO_TIMEOUT: Duration = Duration::from_secs(10);
/// Time between two checks whether the server is ending.
const TICK: Duration = Duration::from_millis(500);
/// Number of queries that a client may send at once, and the number that it regains each second.
const BURST: f64 = 40.0;
const PER_SECOND: f64 = 20.0;

/// Serves one client until it leaves.
pub fn serve(stream: TcpStream, shared: &Shared, counted: &Counted) {
    if let Err(error) = converse(stream, shared, counted) {
        tracing::debug!(component = "server", operation = "session", %error, "the connection has ended");
    }
}

/// Makes the handshake and answers queries until the connection ends.
fn converse(stream: TcpStream, shared: &Shared, counted: &Counted) -> Result<(), Box<dyn std::error::Error>> {
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    stream.set_nodelay(true)?;

    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_QUERY_BYTES))
        .max_frame_size(Some(MAX_QUERY_BYTES))
        .max_write_buffer_size(1 << 20);
    let mut socket = tungstenite::accept_hdr_with_config(stream, check_origin, Some(config))
        .map_err(|error| error.to_string())?;

    // A short timeout, so that the end of the server is noticed between messages.
    socket.get_ref().set_read_timeout(Some(TICK))?;
    send(&mut socket, &Reply::Status { status: shared.readiness() })?;

    let mut allowance = Allowance::new();

    loop {
        let message = match socket.read() {
            Ok(message) => message,
            Err(tungstenite::Error::Io(error)) if may_go_on(&error) && !shared.is_ending() => continue,
            Err(tungstenite::Error::Capacity(_)) => {
                // The rest of the frame cannot be skipped.
                send(
                    &mut socket,
                    &Reply::Error { message: format!("a message has at most {MAX_QUERY_BYTES} bytes") },
                )?;
                return Ok(socket.close(None)?);
            }
            Err(error) => return Err(error.into()),
        };

        let text = match &message {
            Message::Text(text) => Ok(text.as_str()),
            Message::Binary(_) => Err("the message is binary; send JSON as text".to_owned()),
            Message::Close(_) => return Ok(()),
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => continue,
        };

        // Malformed messages count too.
        if !allowance.take() {
            let message = format!("more than {PER_SECOND} messages a second; wait a moment");
            send(&mut socket, &Reply::Error { message })?;
            continue;
        }

        match text.and_then(Query::parse) {
            Ok(Query::Query { question, index }) => {
                counted.work();
                reply(&mut socket, shared, &question, index.as_deref())?;
                counted.wait();
            }
            Err(message) => send(&mut socket, &Reply::Error { message })?,
        }
    }
}

/// Refuses the handshake of a request from elsewhere.
#[expect(clippy::result_large_err, reason = "given by tungstenite")]
fn check_origin(request: &Request, response: Response) -> Result<Response, ErrorResponse> {
    if is_allowed(request) {
        return Ok(response);
    }

    let mut refusal = ErrorResponse::new(Some("this origin may not ask".to_owned()));
    *refusal.status_mut() = StatusCode::FORBIDDEN;
    Err(refusal)
}

/// Answers one question.
fn reply(
    socket: &mut WebSocket<TcpStream>,
    shared: &Shared,
    question: &str,
    index: Option<&str>,
) -> Result<(), tungstenite::Error> {
    let served = match shared.index(index) {
        Ok(served) => served,
        Err(message) => return send(socket, &Reply::Error { message }),
    };

    let Some(held) = served else {
        return send(socket, &Reply::Status { status: Readiness::NotReady });
    };
    if held.n_documents() == 0 {
        return send(socket, &Reply::Status { status: Readiness::NoContent });
    }

    let api = shared.api();
    // A language model can read more passages than a person.
    let max_passages = if api.is_some() { ask::GIVEN_PASSAGES } else { ask::SHOWN_PASSAGES };
    let mut answer = match held.answer(question, max_passages) {
        Ok(answer) => answer,
        Err(error) => return send(socket, &Reply::Error { message: error.to_string() }),
    };

    send(socket, &Reply::StreamStart)?;

    if let Some(api) = api {
        // The model stops as soon as the client is gone.
        let mut failure = None;
        ask::generate(&mut answer, &api, &mut |chunk| {
            let sent = send(socket, &Reply::StreamChunk { chunk: chunk.to_owned() });
            sent.map_err(|error| failure = Some(error)).is_ok()
        });
        if let Some(failure) = failure {
            return Err(failure);
        }
    }

    for chunk in rest(&answer) {
        send(socket, &Reply::StreamChunk { chunk })?;
    }

    let cited = answer.generated.as_ref().map(|generated| &generated.cited).filter(|cited| !cited.is_empty());
    let sources = answer.sources.iter().filter(|it| cited.is_none_or(|cited| cited.contains(&it.number)));
    let sources = sources.filter(|_| answer.is_answered()).map(|source| source.path.clone()).collect();

    send(socket, &Reply::StreamEnd { sources })
}

/// The parts of an answer that are sent besides the words of a language model.
fn rest(answer: &Answer) -> Vec<String> {
    if !answer.is_answered() {
        return if answer.generated.is_some() { Vec::new() } else { vec![NOTHING_FOUND.to_owned()] };
    }

    if answer.generated.is_some() {
        let warnings = answer.warnings.iter().map(|warning| format!("\n({warning})"));
        return warnings.collect();
    }

    let failure = answer.failure.iter().map(|failure| format!("({failure})\n\n"));
    let quotes =
        answer.answer.iter().map(|quote| format!("{} [{}]\n\n", readable(&quote.text), quote.source));
    let passages = answer.passages.iter().map(|quote| {
        format!(
            "[{}] {} {}\n{}\n\n",
            quote.source,
            quote.place(),
            quote.headings.join(" > "),
            readable(&quote.text)
        )
    });

    failure.chain(quotes).chain(passages).collect()
}

fn send(socket: &mut WebSocket<TcpStream>, reply: &Reply) -> Result<(), tungstenite::Error> {
    let text = serde_json::to_string(reply).map_err(|error| tungstenite::Error::Io(error.into()))?;
    socket.send(Message::text(text))
}

/// Returns whether nothing has come in time, or a signal or a tracer has interrupted the wait.
fn may_go_on(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock | Interrupted)
}

/// Returns whether a request comes from this machine: neither from a page of another host, nor to a name that
/// only resolves to this machine.
fn is_allowed(request: &Request) -> bool {
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap_or("?"));

    let is_local_page = |origin| parse_origin(origin).is_some_and(|(_, authority)| is_local(authority));

    header("origin").is_none_or(is_local_page) && header("host").is_some_and(is_local)
}

/// Returns whether the host in `HOST[:PORT]` is this machine.
fn is_local(authority: &str) -> bool {
    parse_authority(authority).is_some_and(|(host, _)| {
        let is_loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        is_loopback || host.eq_ignore_ascii_case("localhost")
    })
}

/// The number of queries that a client may still send.
struct Allowance {
    left: f64,
    since: Instant,
}

impl Allowance {
    fn new() -> Allowance {
        Allowance { left: BURST, since: Instant::now() }
    }

    /// Counts a query. Returns false if it is one too many.
    fn take(&mut self) -> bool {
        let now = Instant::now();
        let earned = now.duration_since(self.since).as_secs_f64() * PER_SECOND;
        self.since = now;
        self.left = (self.left + earned).min(BURST);

        let may = self.left >= 1.0;
        if may {
            self.left -= 1.0;
        }
        may
    }
}
