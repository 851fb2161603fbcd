//! Connections: those that are open, and which one ends if there are too many.
//!
//! A client that needs a connection gets one. If all are in use, the one ends that has waited longest for its
//! client, of the client with the most connections: one that sends no request, does not finish it, or does
//! not read the answer. So clients that wait on purpose take connections from each other, and not from
//! others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use codeweaver_base::sync;
use codeweaver_mcp::queue::Client;
use tokio::sync::Notify;

/// The open connections of a server.
pub struct Connections {
    limit: usize,
    started: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    connections: HashMap<u64, Arc<Connection>>,
    per_peer: HashMap<Peer, Arc<AtomicUsize>>,
    next: u64,
}

/// The address of a client. An IPv6 client has a network of 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Peer(IpAddr);

/// An open connection.
pub struct Connection {
    number: u64,
    peer: Peer,
    /// Number of connections of the peer.
    n_of_peer: Arc<AtomicUsize>,
    started: Instant,
    /// When its client had to act: milliseconds since the start of the server.
    waits_since: AtomicU64,
    /// Whether the server works on a request that has arrived whole.
    is_working: AtomicBool,
    /// Whether a body has not arrived in time.
    is_late: AtomicBool,
    ended: Notify,
}

/// A connection that is counted until this is dropped.
pub struct Counted {
    connections: Arc<Connections>,
    connection: Arc<Connection>,
}

impl Connections {
    /// At most `limit` connections.
    pub fn new(limit: usize) -> Arc<Connections> {
        Arc::new(Connections { limit, started: Instant::now(), open: Mutex::default() })
    }

    /// Counts a new connection from `address`. If there are too many, ends another one; `None` if all of them
    /// are being worked on.
    pub fn add(self: &Arc<Self>, address: IpAddr) -> Option<Counted> {
        let mut open = sync::lock(&self.open);
        if open.connections.len() >= self.limit {
            let victim = open.victim()?;
            open.remove(victim);
        }

        let number = open.next;
        open.next += 1;
        let peer = Peer::new(address);
        let n_of_peer = open.per_peer.entry(peer).or_default().clone();
        n_of_peer.fetch_add(1, Relaxed);
        let connection = Arc::new(Connection {
            number,
            peer,
            n_of_peer,
            started: self.started,
            waits_since: AtomicU64::default(),
            is_working: AtomicBool::default(),
            is_late: AtomicBool::default(),
            ended: Notify::new(),
        });

        connection.wait();
        open.connections.insert(number, connection.clone());
        Some(Counted { connections: self.clone(), connection })
    }
}

impl Open {
    /// The number of the connection that should end for another one.
    fn victim(&self) -> Option<u64> {
        let waiting = self.connections.values().filter(|connection| !connection.is_working.load(Relaxed));
        let worst = waiting.min_by_key(|connection| {
            let n_of_peer = connection.n_of_peer.load(Relaxed);
            (std::cmp::Reverse(n_of_peer), connection.waits_since.load(Relaxed), connection.number)
        });
        worst.map(|connection| connection.number)
    }

    /// Ends a connection, unless it has ended already.
    fn remove(&mut self, number: u64) {
        let Some(connection) = self.connections.remove(&number) else { return };
        connection.ended.notify_one();

        if connection.n_of_peer.fetch_sub(1, Relaxed) == 1 {
            self.per_peer.remove(&connection.peer);
        }
    }
}

impl Connection {
    /// The client at the other end, for the order of its requests.
    pub fn client(&self) -> Client {
        Client::new(self.n_of_peer.clone())
    }

    /// The client has to act: to send a request, or to read an answer.
    pub fn wait(&self) {
        self.is_working.store(false, Relaxed);
        self.progress();
    }

    /// The client has acted, by reading a part of an answer.
    pub fn progress(&self) {
        self.waits_since.store(self.started.elapsed().as_millis() as u64, Relaxed);
    }

    /// A request has arrived whole.
    pub fn work(&self) {
        self.is_working.store(true, Relaxed);
    }

    /// The body of a request has not arrived in time.
    pub fn set_late(&self) {
        self.is_late.store(true, Relaxed);
    }

    pub fn is_late(&self) -> bool {
        self.is_late.load(Relaxed)
    }

    /// Completes when the connection must end for another one.
    pub async fn ended(&self) {
        self.ended.notified().await;
    }
}

impl Counted {
    pub fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        sync::lock(&self.connections.open).remove(self.connection.number);
    }
}

impl Peer {
    fn new(address: IpAddr) -> Peer {
        Peer(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(Ipv6Addr::from(network))
            }
            address => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn has(connections: &Connections, counted: &Counted) -> bool {
        sync::lock(&connections.open).connections.contains_key(&counted.connection.number)
    }

    #[test]
    fn the_longest_wait_of_the_busiest_peer_ends() {
        let connections = Connections::new(4);
        let add = |text: &str| connections.add(address(text)).unwrap();
        let single = add("10.0.0.1");
        let (first, second, third) = (add("2001:db8::1"), add("2001:db8::2"), add("2001:db8::3"));
        first.connection().work();
        let new = add("10.0.0.2");
        assert!(has(&connections, &single) && has(&connections, &first) && has(&connections, &new));
        assert!(!has(&connections, &second) && has(&connections, &third));
        drop(second);
        let other = add("10.0.0.3");
        assert!(!has(&connections, &third) && has(&connections, &single) && has(&connections, &other));
    }

    #[test]
    fn a_request_that_is_worked_on_never_ends_for_another() {
        let connections = Connections::new(1);
        let working = connections.add(address("10.0.0.1")).unwrap();
        working.connection().work();
        assert!(connections.add(address("10.0.0.2")).is_none());
        working.connection().wait();
        assert!(connections.add(address("10.0.0.2")).is_some());
    }
}
