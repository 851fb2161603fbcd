//! The right of one process to change a repository, kept in the document of that repository.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use codeweaver_base::{random, sync};

use super::beat;
use super::error::OrgError;
use super::members::{OrgMember, PushState, Version};
use super::org::Org;

/// Time between two signs of life of a push.
const BEAT: Duration = Duration::from_secs(1);
/// Time between two looks at the lease of another push.
const POLL: Duration = Duration::from_millis(250);

/// The right to change a repository.
pub struct Lease<'a> {
    org: &'a Org,
    held: Mutex<(OrgMember, Version, Instant)>,
}

impl<'a> Lease<'a> {
    /// Takes the right to change the repository `name`, which was `known` when it was last looked at, and
    /// sets its state to `state`. Returns the right with the repository as it was.
    ///
    /// # Errors
    /// [`OrgError::Busy`] if another process works on it for longer than `patience`. One
    /// without a sign of life for `stall` counts as dead.
    pub fn take(
        org: &'a Org,
        name: &str,
        known: Option<(OrgMember, Version)>,
        state: PushState,
        (stall, patience): (Duration, Duration),
    ) -> Result<(Lease<'a>, Option<OrgMember>), OrgError> {
        let started = Instant::now();
        let mut last: Option<(String, u64, Instant)> = None;
        let mut found = known;

        loop {
            let is_free = match &found {
                Some((member, _)) if member.state != PushState::Complete && !member.writer.is_empty() => {
                    let is_same = last
                        .as_ref()
                        .is_some_and(|(writer, beat, _)| *writer == member.writer && *beat == member.beat);
                    if !is_same {
                        last = Some((member.writer.clone(), member.beat, Instant::now()));
                    }
                    last.as_ref().is_some_and(|(.., since)| since.elapsed() >= stall)
                }
                _ => true,
            };

            // Also of a repository that is new: its document is created by one process only.
            if is_free {
                let (before, version) = found.map_or((None, None), |(it, version)| (Some(it), Some(version)));
                let held = OrgMember {
                    state,
                    writer: format!("{:016x}", random::bits64()),
                    beat: 0,
                    ..before.clone().unwrap_or_else(|| OrgMember::new(name))
                };
                // Otherwise another process was faster.
                if let Some(version) = org.put_member(&held, version)? {
                    let held = Mutex::new((held, version, Instant::now()));
                    return Ok((Lease { org, held }, before));
                }
            }

            if started.elapsed() >= patience {
                return Err(OrgError::Busy { member: name.to_owned() });
            }
            std::thread::sleep(POLL);
            found = org.member(name)?;
        }
    }

    /// Shows that this process works, once a second.
    ///
    /// # Errors
    /// [`OrgError::Busy`] if another process has taken over.
    pub fn beat(&self) -> Result<(), OrgError> {
        let mut held = sync::lock(&self.held);
        if held.2.elapsed() < BEAT {
            return Ok(());
        }

        held.0.beat += 1;
        let put = self.org.touch_member(&held.0, held.1)?;
        held.1 = put.ok_or_else(|| OrgError::Busy { member: held.0.name.clone() })?;
        held.2 = Instant::now();
        Ok(())
    }

    /// Runs `work` while a thread shows that this process works: some requests take longer than others wait
    /// for a sign of life.
    pub fn beating<T>(&self, work: impl FnOnce() -> T) -> T {
        // The work meets a lost lease at its own next beat, or at its end.
        beat::beating(BEAT, || !matches!(self.beat(), Err(OrgError::Busy { .. })), work)
    }

    /// Returns whether no other process has taken over.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn is_held(&self) -> Result<bool, OrgError> {
        let (name, writer) = {
            let held = sync::lock(&self.held);
            (held.0.name.clone(), held.0.writer.clone())
        };
        let there = self.org.member(&name)?;
        Ok(there.is_some_and(|(there, _)| there.writer == writer))
    }

    /// Writes the repository as it is now, which ends the lease.
    ///
    /// # Errors
    /// As [`Self::beat`].
    pub fn finish(&self, member: OrgMember) -> Result<(), OrgError> {
        let version = sync::lock(&self.held).1;
        match self.org.put_member(&member, Some(version))? {
            Some(_) => Ok(()),
            None => Err(OrgError::Busy { member: member.name }),
        }
    }
}
