//! Information that only the client has: the workspace folders of its user, and the user's consent.
//!
//! Both are requests from the server to the client, which must have the capabilities `roots` and
//! `elicitation`. The protocol of 2026-07-28 has no such requests; nothing is asked then.

#![expect(
    deprecated,
    reason = "the next revision of the protocol drops roots; clients of today have nothing else"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitationAction, ElicitationSchema, ServerRequest,
};
use rmcp::service::Peer;
use tokio::runtime::Handle;

use codeweaver::service::Codebases;

use super::uri;

/// Time limit of the client for naming its folders.
const FOLDERS_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time that a call waits for an answer of its user.
const USER_TIMEOUT: Duration = Duration::from_secs(300);
/// Interval at which a waiting call checks whether it was stopped.
const POLL: Duration = Duration::from_millis(100);

/// Learns the workspace folders of the client.
#[derive(Default)]
pub struct Folders {
    is_asked: AtomicBool,
}

impl Folders {
    /// Asks the client once in a session.
    pub fn learn_once(&self, codebases: &Arc<Codebases>, peer: &Peer<RoleServer>) {
        if !self.is_asked.swap(true, Ordering::Relaxed) {
            self.learn(codebases, peer);
        }
    }

    /// Asks the client if it has the capability; the answer arrives later. Must be called in the runtime.
    pub fn learn(&self, codebases: &Arc<Codebases>, peer: &Peer<RoleServer>) {
        if peer.peer_info().is_none_or(|client| client.capabilities.roots.is_none()) {
            return;
        }

        codebases.trust.await_folders();
        let (codebases, peer) = (codebases.clone(), peer.clone());

        tokio::spawn(async move {
            let listed = tokio::time::timeout(FOLDERS_TIMEOUT, peer.list_roots()).await;
            let folders = match listed {
                // Folders on other machines are left out. Some clients name a plain path.
                Ok(Ok(listed)) => {
                    Some(listed.roots.iter().filter_map(|root| uri::local_path(&root.uri)).collect())
                }
                Ok(Err(error)) => {
                    tracing::warn!(component = "mcp", operation = "roots", %error, "the client does not name its workspace folders");
                    None
                }
                Err(_) => None,
            };

            codebases.trust.announce(folders);
        });
    }
}

/// The user of the client.
pub struct User {
    /// `None` if the client cannot ask its user.
    client: Option<(Peer<RoleServer>, Handle)>,
}

impl User {
    /// The user of `peer`. Must be called in the runtime.
    pub fn new(peer: &Peer<RoleServer>) -> User {
        let info = peer.peer_info();
        let elicitation = info.as_ref().and_then(|client| client.capabilities.elicitation.as_ref());

        // A client that names no mode has forms.
        let has_forms = elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none());

        User { client: has_forms.then(|| (peer.clone(), Handle::current())) }
    }

    /// A user who cannot be asked.
    pub fn absent() -> User {
        User { client: None }
    }

    /// Asks the user a yes-or-no question and waits for the answer. Returns `None` if the client cannot ask,
    /// there is no answer in time, or the call `is_stopped`. Must be called outside of the runtime.
    pub fn ask(&self, question: &str, is_stopped: &dyn Fn() -> bool) -> Option<bool> {
        let (peer, runtime) = self.client.as_ref()?;

        let params = ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: question.to_owned(),
            // The form has no fields, since accepting it is the answer.
            requested_schema: ElicitationSchema::new(BTreeMap::new()),
        };

        let request = peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(params)));
        let answered = runtime.block_on(async {
            tokio::select! {
                answered = request => answered.ok(),
                () = tokio::time::sleep(USER_TIMEOUT) => None,
                () = stopped(is_stopped) => None,
            }
        });

        match answered? {
            ClientResult::ElicitResult(result) => match result.action {
                ElicitationAction::Accept => Some(true),
                ElicitationAction::Decline => Some(false),
                // The user has dismissed the question.
                _ => None,
            },
            _ => None,
        }
    }
}

async fn stopped(is_stopped: &dyn Fn() -> bool) {
    while !is_stopped() {
        tokio::time::sleep(POLL).await;
    }
}
