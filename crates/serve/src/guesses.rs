//! Guesses: a limit on the wrong tokens that a peer may present.
//!
//! A peer that has presented many wrong tokens must wait before it can try another one, so that a token
//! cannot be found by trying. Tokens that were right from this peer before stay right meanwhile: behind a
//! proxy all clients are one peer, and one of them must not lock the others out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use codeweaver_base::sync;

/// Number of wrong tokens that a peer may present at once, and the time after which it may present one more.
const BURST: u32 = 20;
const REFILL: Duration = Duration::from_secs(2);
/// Maximum number of peers that are remembered; with more, those that may present tokens are forgotten, and
/// then all.
const MAX_PEERS: usize = 10_000;
/// Maximum number of right, and of wrong, tokens that are remembered of one peer.
const MAX_KEPT: usize = 64;

/// The tokens that each peer has presented, as far as they count.
#[derive(Debug, Default)]
pub struct Guesses(Mutex<HashMap<IpAddr, Peer>>);

#[derive(Debug, Default)]
struct Peer {
    /// Number of wrong tokens that count now.
    n_wrong: u32,
    /// Time since when `n_wrong` has been counted down.
    since: Option<Instant>,
    /// Hashes of wrong tokens that were counted, the latest last. A browser repeats its cookie.
    wrong: Vec<blake3::Hash>,
    /// Hashes of right tokens, the latest last.
    right: Vec<blake3::Hash>,
}

impl Peer {
    /// Counts the wrong tokens down by the time that has passed.
    fn settle(&mut self, now: Instant) {
        let Some(since) = self.since else { return };
        let n = now.duration_since(since).as_secs() / REFILL.as_secs();
        self.n_wrong = self.n_wrong.saturating_sub(u32::try_from(n).unwrap_or(u32::MAX));
        self.since = (self.n_wrong > 0).then(|| since + REFILL * u32::try_from(n).unwrap_or(0));
    }
}

impl Guesses {
    /// Returns whether `peer` may present a token now, of which `hash` is the hash.
    pub fn may_present(&self, peer: IpAddr, hash: &blake3::Hash, now: Instant) -> bool {
        let mut peers = sync::lock(&self.0);
        let Some(known) = peers.get_mut(&network_of(peer)) else { return true };
        known.settle(now);
        known.n_wrong < BURST || known.right.contains(hash)
    }

    /// Notes whether the token with `hash` was right.
    pub fn note(&self, peer: IpAddr, hash: &blake3::Hash, is_right: bool, now: Instant) {
        let mut peers = sync::lock(&self.0);
        make_room(&mut peers, now);
        let known = peers.entry(network_of(peer)).or_default();

        if is_right {
            keep(&mut known.right, *hash);
            return;
        }

        // A token that was taken back is not right any more.
        known.right.retain(|other| other != hash);
        if !known.wrong.contains(hash) {
            known.settle(now);
            known.n_wrong += 1;
            known.since.get_or_insert(now);
            keep(&mut known.wrong, *hash);
        }
    }
}

/// Adds a hash to the latest ones.
fn keep(latest: &mut Vec<blake3::Hash>, hash: blake3::Hash) {
    if latest.contains(&hash) {
        return;
    }
    if latest.len() >= MAX_KEPT {
        latest.remove(0);
    }
    latest.push(hash);
}

/// Forgets peers if there are too many.
fn make_room(peers: &mut HashMap<IpAddr, Peer>, now: Instant) {
    if peers.len() < MAX_PEERS {
        return;
    }

    peers.retain(|_, peer| {
        peer.settle(now);
        peer.n_wrong > 0
    });
    if peers.len() >= MAX_PEERS {
        peers.clear();
    }
}

/// The address of a peer without the part that a host with a network of its own can choose.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_tokens_of_one_peer_lock_out_its_new_ones_only() {
        let guesses = Guesses::default();
        let (peer, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let right = blake3::hash(b"right");
        let wrong = |n: u32| blake3::hash(&n.to_be_bytes());
        let start = Instant::now();

        guesses.note(peer, &right, true, start);
        for n in 0..BURST {
            assert!(guesses.may_present(peer, &wrong(n), start), "{n}");
            guesses.note(peer, &wrong(n), false, start);
            guesses.note(peer, &wrong(n), false, start);
        }
        assert!(!guesses.may_present(peer, &wrong(100), start));
        assert!(guesses.may_present(peer, &right, start), "it was right before");
        assert!(guesses.may_present(other, &wrong(100), start), "another peer");

        let later = start + REFILL;
        assert!(guesses.may_present(peer, &wrong(100), later));
        guesses.note(peer, &wrong(100), false, later);
        assert!(!guesses.may_present(peer, &wrong(101), later), "one more, not {BURST}");
        assert!(guesses.may_present(peer, &wrong(101), later + REFILL * BURST));
    }

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for n in 0..BURST {
            let wrong = blake3::hash(&n.to_be_bytes());
            guesses.note(format!("2001:db8::{n:x}").parse().unwrap(), &wrong, false, now);
        }
        let hash = blake3::hash(b"wrong");
        assert!(!guesses.may_present("2001:db8::ffff".parse().unwrap(), &hash, now));
        assert!(guesses.may_present("2001:db8:0:1::1".parse().unwrap(), &hash, now));
        assert_eq!(network_of("::ffff:192.0.2.1".parse().unwrap()), "192.0.2.1".parse::<IpAddr>().unwrap());
    }

    #[test]
    fn many_peers_are_not_remembered() {
        let guesses = Guesses::default();
        let (hash, now) = (blake3::hash(b"wrong"), Instant::now());
        for n in 0..(MAX_PEERS as u32 + 2) {
            guesses.note(IpAddr::from(n.to_be_bytes()), &hash, false, now);
        }
        assert!(guesses.0.lock().unwrap().len() < MAX_PEERS);
    }
}
