//! Client: questions to a server over WebSocket.

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde_json::Value;
use tungstenite::{Message, WebSocket};

use super::serve::protocol::{PORT, Query, Readiness};

/// Time to connect, and to wait for a part of an answer.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
/// Number of requests to a server that is not ready, and the pause between two of them.
const MAX_ATTEMPTS: u32 = 60;
const PAUSE: Duration = Duration::from_secs(1);

/// A failure to get an answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It is not `ws://HOST[:PORT][/PATH]`.
    #[error("'{url}' is not the address of a server: ws://HOST:PORT")]
    Address { url: String },
    /// No server answers at the address.
    #[error("the server at {url} cannot be reached: {why}")]
    Unreachable { url: String, why: String },
    /// The connection was lost.
    #[error("the connection to the server was lost: {why}")]
    Lost { why: String },
    /// The server is still loading.
    #[error("the server is not ready: it is loading its index")]
    NotReady,
    /// The server says that something is wrong; the connection stays.
    #[error("the server answers: {message}")]
    Refused { message: String },
}

/// Progress of a question, reported while the client waits for the answer.
#[derive(Debug)]
pub enum Heard<'a> {
    /// A part of the answer.
    Chunk(&'a str),
    /// The server is loading; it is asked again.
    Waiting,
}

/// The end of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answered {
    pub sources: Vec<String>,
    /// The server has no documents.
    pub has_no_content: bool,
}

/// A connection to a server.
pub struct Client {
    socket: WebSocket<TcpStream>,
    status: Option<Readiness>,
}

impl Client {
    /// Connects to `url`.
    pub fn connect(url: &str) -> Result<Client, ClientError> {
        let authority = authority(url)?;
        let addresses = authority.to_socket_addrs().map_err(|error| unreachable(url, &error))?;
        let mut failure = "the host has no address".to_owned();

        // A name can have several addresses, not all of which are listened on.
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
                Ok(stream) => return Client::handshake(stream, url),
                Err(error) => failure = error.to_string(),
            }
        }

        Err(unreachable(url, &failure))
    }

    /// Opens the WebSocket on a connected stream.
    fn handshake(stream: TcpStream, url: &str) -> Result<Client, ClientError> {
        let limited =
            stream.set_read_timeout(Some(REPLY_TIMEOUT)).and(stream.set_write_timeout(Some(CONNECT_TIMEOUT)));
        limited.map_err(|error| unreachable(url, &error))?;
        let (socket, _) = tungstenite::client(url, stream).map_err(|error| unreachable(url, &error))?;

        let mut client = Client { socket, status: None };
        // The protocol of other servers does not begin with a status.
        if let Ok(message) = client.receive()
            && message["type"] == "status"
        {
            client.status = serde_json::from_value(message["status"].clone()).ok();
        }

        Ok(client)
    }

    /// The status that the server sent on connect; `None` if it sent none.
    pub fn status(&self) -> Option<Readiness> {
        self.status
    }

    /// Asks `question`, passes on the parts of the answer as they come, and returns its sources. A server
    /// that is not ready is asked again. An answer in one message is accepted.
    pub fn ask(
        &mut self,
        question: &str,
        index: Option<&str>,
        report: &mut dyn FnMut(Heard<'_>) -> io::Result<()>,
    ) -> Result<Answered, ClientError> {
        let query = Query::Query { question: question.to_owned(), index: index.map(str::to_owned) };
        let text = serde_json::to_string(&query).map_err(|error| lost(&error))?;

        for _ in 0..MAX_ATTEMPTS {
            self.socket.send(Message::text(text.clone())).map_err(|error| lost(&error))?;
            match self.reply(report)? {
                Some(answered) => return Ok(answered),
                None => {
                    report(Heard::Waiting).map_err(|error| lost(&error))?;
                    std::thread::sleep(PAUSE);
                }
            }
        }

        Err(ClientError::NotReady)
    }

    /// The reply to one query; `None` if the server is not ready.
    fn reply(
        &mut self,
        report: &mut dyn FnMut(Heard<'_>) -> io::Result<()>,
    ) -> Result<Option<Answered>, ClientError> {
        loop {
            let message = self.receive()?;
            match message["type"].as_str() {
                Some("stream_start") => {}
                Some("stream_chunk") => {
                    let chunk = message["chunk"].as_str().unwrap_or_default();
                    report(Heard::Chunk(chunk)).map_err(|error| lost(&error))?;
                }
                Some("stream_end") => {
                    return Ok(Some(Answered { sources: sources(&message), has_no_content: false }));
                }
                Some("status") => match message["status"].as_str() {
                    Some("not_ready") => return Ok(None),
                    Some("no_content") => {
                        return Ok(Some(Answered { has_no_content: true, ..Answered::default() }));
                    }
                    _ => {}
                },
                Some("error") => {
                    let message =
                        message["message"].as_str().unwrap_or("an error without a message").to_owned();
                    return Err(ClientError::Refused { message });
                }
                _ => {
                    // Some servers answer in one message.
                    let whole =
                        ["answer", "response", "text"].iter().find_map(|name| message[*name].as_str());

                    let Some(text) = whole else { continue };
                    report(Heard::Chunk(text)).map_err(|error| lost(&error))?;
                    return Ok(Some(Answered { sources: sources(&message), has_no_content: false }));
                }
            }
        }
    }

    /// Reads the next message that is JSON.
    fn receive(&mut self) -> Result<Value, ClientError> {
        loop {
            match self.socket.read().map_err(|error| lost(&error))? {
                Message::Text(text) => {
                    return serde_json::from_str(&text)
                        .map_err(|_| ClientError::Lost { why: "it sends what is not JSON".to_owned() });
                }
                Message::Close(_) => return Err(ClientError::Lost { why: "it has closed it".to_owned() }),
                _ => {}
            }
        }
    }
}

fn lost(error: &dyn std::fmt::Display) -> ClientError {
    ClientError::Lost { why: error.to_string() }
}

fn unreachable(url: &str, why: &dyn std::fmt::Display) -> ClientError {
    ClientError::Unreachable { url: url.to_owned(), why: why.to_string() }
}

/// The paths in the field `sources` of a message.
fn sources(message: &Value) -> Vec<String> {
    let list = message["sources"].as_array().into_iter().flatten();
    list.filter_map(|source| source.as_str().map(str::to_owned)).collect()
}

/// `HOST:PORT` of a `ws://` address.
fn authority(url: &str) -> Result<String, ClientError> {
    let address = || ClientError::Address { url: url.to_owned() };
    let rest = url.strip_prefix("ws://").ok_or_else(address)?;

    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains(['@', ' ']) {
        return Err(address());
    }

    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(if has_port { authority.to_owned() } else { format!("{authority}:{PORT}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_by_default_the_port() {
        assert_eq!(authority("ws://localhost").unwrap(), "localhost:8765");
        assert_eq!(authority("ws://127.0.0.1:1/ws").unwrap(), "127.0.0.1:1");
        for wrong in ["localhost", "http://x", "ws://", "ws://u@x", "wss://x"] {
            assert!(authority(wrong).is_err(), "{wrong}");
        }
    }
}
