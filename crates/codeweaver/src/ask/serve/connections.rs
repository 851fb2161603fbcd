//! Connections: those that are open, and which one ends if there are too many.

use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use codeweaver_base::sync;

/// Maximum number of connections. One more ends the one whose client has been silent for the longest time.
const MAX_CONNECTIONS: usize = 64;

/// The open connections of a server.
#[derive(Default)]
pub struct Connections {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    connections: Vec<Connection>,
    next: u64,
}

struct Connection {
    number: u64,
    /// A second handle, with which another thread can end the connection.
    stream: TcpStream,
    /// Since when its client has been silent; `None` while its question is being answered.
    silent_since: Option<Instant>,
}

/// A connection that is counted until this is dropped.
pub struct Counted {
    connections: Arc<Connections>,
    number: u64,
}

impl Connections {
    /// Counts a connection, and ends another one if there are too many; `None` if all clients are being
    /// answered.
    ///
    /// # Errors
    /// The operating system has no further descriptor.
    pub fn add(self: &Arc<Self>, stream: &TcpStream) -> std::io::Result<Option<Counted>> {
        let mut open = sync::lock(&self.open);
        if open.connections.len() >= MAX_CONNECTIONS && !open.end_one() {
            return Ok(None);
        }

        let stream = stream.try_clone()?;
        let number = open.next;
        open.next += 1;
        open.connections.push(Connection { number, stream, silent_since: Some(Instant::now()) });
        Ok(Some(Counted { connections: self.clone(), number }))
    }
}

impl Open {
    /// Ends the connection whose client has been silent for the longest time. Returns whether there is one.
    fn end_one(&mut self) -> bool {
        let silent = self.connections.iter().enumerate().filter_map(|(at, it)| Some((it.silent_since?, at)));
        let Some((_, at)) = silent.min() else { return false };

        // Its own thread finds the connection ended.
        let ended = self.connections.remove(at);
        let _ = ended.stream.shutdown(Shutdown::Both);
        true
    }
}

impl Counted {
    /// Notes that a question of the client is being answered.
    pub fn work(&self) {
        self.set_silent_since(None);
    }

    /// Notes that the client has its answer.
    pub fn wait(&self) {
        self.set_silent_since(Some(Instant::now()));
    }

    fn set_silent_since(&self, silent_since: Option<Instant>) {
        let mut open = sync::lock(&self.connections.open);
        // It may have ended for another one.
        if let Some(connection) = open.connections.iter_mut().find(|it| it.number == self.number) {
            connection.silent_since = silent_since;
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        sync::lock(&self.connections.open).connections.retain(|it| it.number != self.number);
    }
}
