//! Sessions: those of the clients of `/mcp`, of which there are only so many.

use std::collections::HashMap;
use std::sync::Mutex;

use codeweaver_base::sync;

/// Maximum number of sessions.
const MAX_SESSIONS: usize = 256;

/// The sessions, by name. A session that its transport has ended stays here until it is the oldest.
#[derive(Default)]
pub struct Sessions {
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    sessions: HashMap<String, Session>,
    /// Counts up with each use.
    clock: u64,
}

struct Session {
    last_use: u64,
    /// Whether its client has said anything after its first message.
    is_used: bool,
}

impl Sessions {
    /// Notes that a client uses the session `name`, if there is one.
    pub fn used(&self, name: &str) {
        let mut known = sync::lock(&self.known);
        known.clock += 1;
        let now = known.clock;
        if let Some(session) = known.sessions.get_mut(name) {
            *session = Session { last_use: now, is_used: true };
        }
    }

    /// Notes that an answer names the session `name`. If it is new and there are too many, returns one that
    /// must end: the oldest of those whose clients have been silent since, or else the one that has not been
    /// used for the longest time.
    pub fn begun(&self, name: &str) -> Option<String> {
        let mut known = sync::lock(&self.known);
        if known.sessions.contains_key(name) {
            return None;
        }

        let is_full = known.sessions.len() >= MAX_SESSIONS;
        let oldest = known.sessions.iter().min_by_key(|(_, session)| (session.is_used, session.last_use));
        let surplus = oldest.filter(|_| is_full).map(|(name, _)| name.clone());
        if let Some(surplus) = &surplus {
            known.sessions.remove(surplus);
        }

        known.clock += 1;
        let session = Session { last_use: known.clock, is_used: false };
        known.sessions.insert(name.to_owned(), session);
        surplus
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_sessions_end_before_used_ones() {
        let sessions = Sessions::default();
        for n in 0..MAX_SESSIONS {
            assert_eq!(sessions.begun(&n.to_string()), None);
        }
        for used in ["0", "1", "unknown"] {
            sessions.used(used);
        }
        assert_eq!(sessions.begun("1"), None, "it is not new");
        let ended: Vec<_> = (0..MAX_SESSIONS).filter_map(|n| sessions.begun(&format!("new {n}"))).collect();
        assert_eq!(ended.len(), MAX_SESSIONS);
        assert_eq!(ended[0], "2");
        assert!(!ended.contains(&"0".to_owned()) && !ended.contains(&"1".to_owned()));
    }
}
