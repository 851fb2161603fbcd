//! Reindex: copying an index into one with the present fields and other numbers of shards, while it is
//! searched.
//!
//! Each of the three indices is copied by itself, and the alias is switched when its copy is whole. The
//! description of the copy names the process that makes it and counts up while it works. A copy without such
//! a sign of life is taken away by the next process, which begins another: what is behind an alias is whole
//! at all times. Until then an index whose copy was nearly whole takes no pushes.
//!
//! A process that was taken for dead may go on at any time. Copies have names that no copy before had, and an
//! index is switched to and deleted only as long as the alias is where the process has found it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_base::random;

use super::beat;
use super::error::OrgError;
use super::http::{Method, checked};
use super::org::{Org, all_shards};
use super::schema::{self, Kind, Layout, Meta};

/// Time between two signs of life of a copy.
const BEAT: Duration = Duration::from_secs(2);
/// Time between two looks at the copy of another process, and at tasks that end.
const POLL: Duration = Duration::from_millis(250);
/// Time for which an index that is replaced stays.
const GRACE: Duration = Duration::from_secs(2);
/// Time in which a task ends that is cancelled.
const PATIENCE: Duration = Duration::from_secs(60);

/// A copy that this process makes, called `index`.
struct Copying<'a> {
    org: &'a Org,
    index: String,
    meta: Meta,
    writer: String,
}

impl Org {
    /// Copies the index into a new one with the present fields and `layout`, and switches. Searches are
    /// answered all the time; pushes wait at the end. A copy without a sign of life for `stall` counts as
    /// dead, and is begun anew.
    ///
    /// # Errors
    /// [`OrgError::Copied`] if another process copies it, and those of the connection. The old index stays in
    /// use until the new one is whole.
    pub fn reindex(&self, layout: Layout, stall: Duration) -> Result<(), OrgError> {
        self.put_script()?;
        // Rows last: their index says which version all of them have.
        for kind in [Kind::Files, Kind::Repos, Kind::Rows] {
            self.reindex_one(kind, layout, stall)?;
        }
        Ok(())
    }

    fn reindex_one(&self, kind: Kind, layout: Layout, stall: Duration) -> Result<(), OrgError> {
        let (old, generation) = self.index_of(kind)?;
        let left_over = self.left_over(kind, &old)?;
        let last = left_over.keys().next_back().map_or(generation, |last| generation.max(*last));
        let new = kind.index(&self.address().prefix, last + 1);

        // Before the others are taken away, of which the last goes last: so no name is used again.
        let copy = Copying::create(self, &new, kind, layout)?;
        copy.beating(|| {
            for left in left_over.values() {
                self.take_away(kind, left, &old, stall).inspect_err(|error| copy.give_way(error))?;
            }

            let copied = self.copy(&old, &new).and_then(|()| copy.check());
            let switched = copied.and_then(|()| self.switch(kind, &old, &new));
            switched.map_err(|error| copy.unblock(&old, error))
        })?;
        copy.end()?;

        // Searches that have begun on the old index end there.
        std::thread::sleep(GRACE);
        self.delete_index(&old)
    }

    /// Copies the documents of `old` to `new`, of which the last step takes no changes to `old`.
    fn copy(&self, old: &str, new: &str) -> Result<(), OrgError> {
        // Versions are kept, so a second copy takes only what has changed since the first.
        let mut copy = json!({
            "conflicts": "proceed",
            "source": { "index": old, "size": 1000 },
            "dest": { "index": new, "version_type": "external" },
        });
        if self.meta.version == 1 {
            copy["script"] = json!({ "lang": "painless", "source": schema::UPGRADE });
        }

        self.task("_reindex", &copy)?;
        self.refresh()?;
        self.connection.ask(Method::Put, &format!("{old}/_block/write"), None)?;
        self.connection.ask(Method::Post, &format!("{old}/_refresh"), None)?;
        self.task("_reindex", &copy)?;
        self.connection.ask(Method::Post, &format!("{new}/_refresh"), None)?;
        self.check_copy(old, new)
    }

    /// Checks that a copy has as many documents as the original.
    fn check_copy(&self, old: &str, new: &str) -> Result<(), OrgError> {
        let count = |index: &str| -> Result<u64, OrgError> {
            let answer = self.connection.ask(Method::Get, &format!("{index}/_count"), None)?;
            all_shards(&answer)?;
            Ok(answer["count"].as_u64().unwrap_or(0))
        };

        // Documents that were deleted meanwhile may be in the copy. No repository has them, so no search
        // finds them.
        let (n_old, n_new) = (count(old)?, count(new)?);
        match n_old <= n_new {
            true => Ok(()),
            false => Err(OrgError::Degraded { why: format!("{n_new} of {n_old} documents were copied") }),
        }
    }

    /// Puts `new` behind the alias in place of `old`. Fails if `new` is gone, or if another index is there
    /// meanwhile: an alias has one index that is written to.
    fn switch(&self, kind: Kind, old: &str, new: &str) -> Result<(), OrgError> {
        let alias = self.alias(kind);
        let switch = json!({ "actions": [
            { "remove": { "index": old, "alias": alias } },
            { "add": { "index": new, "alias": alias, "is_write_index": true } },
        ] });
        self.connection.ask(Method::Post, "_aliases", Some(&switch)).map(drop)
    }

    fn unblock(&self, index: &str) -> Result<(), OrgError> {
        let unblock = json!({ "index.blocks.write": null });
        self.connection.ask(Method::Put, &format!("{index}/_settings"), Some(&unblock)).map(drop)
    }

    /// The index behind an alias, with its generation.
    fn index_of(&self, kind: Kind) -> Result<(String, u64), OrgError> {
        let answer = self.connection.ask(Method::Get, &format!("_alias/{}", self.alias(kind)), None)?;
        let name = answer.as_object().and_then(|indices| indices.keys().next().cloned());
        let Some(name) = name else {
            return Err(OrgError::Answer { status: 200, why: "an alias has no index".to_owned() });
        };
        let generation = generation(&name, &self.alias(kind)).unwrap_or(0);
        Ok((name, generation))
    }

    /// The indices of this kind besides `used`, by their generations: those that were replaced, and copies
    /// that are not whole.
    fn left_over(&self, kind: Kind, used: &str) -> Result<BTreeMap<u64, String>, OrgError> {
        let alias = self.alias(kind);
        let answer = self.connection.ask(Method::Get, &format!("{alias}-*/_alias"), None)?;
        let names = answer.as_object().into_iter().flatten().map(|(name, _)| name);
        let others = names.filter(|name| *name != used);
        Ok(others.filter_map(|name| Some((generation(name, &alias)?, name.clone()))).collect())
    }

    /// Deletes the index `left`, once its maker has shown no sign of life for `stall`, and unless it has put
    /// it in place of `used` meanwhile.
    fn take_away(&self, kind: Kind, left: &str, used: &str, stall: Duration) -> Result<(), OrgError> {
        let since = Instant::now();
        let first = self.description(left)?;
        // An index that was replaced has no maker.
        while first["writer"].is_string() && since.elapsed() < stall {
            std::thread::sleep(POLL);
            let now = self.description(left)?;
            if now.is_null() {
                break;
            }
            if now != first {
                return Err(OrgError::Copied { index: left.to_owned() });
            }
        }

        self.cancel_copies(left)?;
        self.delete_left_over(kind, left, used)
    }

    /// Deletes the index `left` in one step with a check that `used` is behind the alias.
    fn delete_left_over(&self, kind: Kind, left: &str, used: &str) -> Result<(), OrgError> {
        let alias = self.alias(kind);
        let delete = json!({ "actions": [
            { "remove": { "index": used, "alias": alias, "must_exist": true } },
            { "add": { "index": used, "alias": alias, "is_write_index": true } },
            { "remove_index": { "index": left } },
        ] });
        let body = delete.to_string();

        let answer = self.connection.send(Method::Post, "_aliases", Some(body.as_bytes()))?;
        if answer.status != 404 {
            return checked(answer).map(drop);
        }

        // Either `left` is gone, or `used` has been replaced.
        let (index, _) = self.index_of(kind)?;
        if index == used { Ok(()) } else { Err(OrgError::Copied { index }) }
    }

    /// The description of an index; null if there is no such index.
    fn description(&self, index: &str) -> Result<Value, OrgError> {
        let answer = self.connection.send(Method::Get, &format!("{index}/_mapping"), None)?;
        if answer.status == 404 {
            return Ok(Value::Null);
        }
        let mappings = checked(answer)?;
        Ok(mappings[index]["mappings"]["_meta"].clone())
    }

    /// Ends the tasks that copy into `index`. They go on without the process that has started them, and would
    /// create the index again.
    fn cancel_copies(&self, index: &str) -> Result<(), OrgError> {
        let started = Instant::now();
        let target = format!("to [{index}]");

        while started.elapsed() < PATIENCE {
            let tasks = self.connection.ask(Method::Get, "_tasks?actions=*reindex&detailed", None)?;
            let nodes = tasks["nodes"].as_object().into_iter().flatten().map(|(_, node)| &node["tasks"]);
            let tasks = nodes.filter_map(Value::as_object).flatten();
            let own = tasks.filter(|(_, task)| {
                // A slice of a task ends with it.
                let text = task["description"].as_str().unwrap_or_default();
                text.contains(&target) && task["parent_task_id"].is_null()
            });
            let own: Vec<&String> = own.map(|(name, _)| name).collect();
            if own.is_empty() {
                return Ok(());
            }

            for name in own {
                let answer = self.connection.send(Method::Post, &format!("_tasks/{name}/_cancel"), None)?;
                // It may have ended meanwhile.
                if answer.status != 404 {
                    checked(answer)?;
                }
            }
            std::thread::sleep(POLL);
        }
        Err(OrgError::Degraded { why: format!("a task still copies into {index}") })
    }

    fn delete_index(&self, index: &str) -> Result<(), OrgError> {
        let answer = self.connection.send(Method::Delete, index, None)?;
        if answer.status == 404 { Ok(()) } else { checked(answer).map(drop) }
    }
}

impl<'a> Copying<'a> {
    /// Creates the empty copy, whose description names this process.
    fn create(org: &'a Org, index: &str, kind: Kind, layout: Layout) -> Result<Copying<'a>, OrgError> {
        let meta = Meta::new(&org.meta.space, org.meta.dim, org.meta.texts);
        let writer = format!("{:016x}", random::bits64());
        let copy = Copying { org, index: index.to_owned(), meta, writer };
        let mut definition = schema::definition(kind, &copy.meta, layout);
        definition["mappings"]["_meta"] = copy.description(0);
        let body = definition.to_string();

        let answer = org.connection.send(Method::Put, index, Some(body.as_bytes()))?;
        if answer.body["error"]["type"] == "resource_already_exists_exception" {
            // It may be this request that has created it, by an attempt whose answer was lost.
            copy.check()?;
            return Ok(copy);
        }
        checked(answer)?;
        Ok(copy)
    }

    fn description(&self, beat: u64) -> Value {
        let mut description = json!(self.meta);
        description["writer"] = self.writer.clone().into();
        description["beat"] = beat.into();
        description
    }

    /// Checks that no other process has taken the copy away.
    fn check(&self) -> Result<(), OrgError> {
        let description = self.org.description(&self.index)?;
        match description["writer"] == self.writer.as_str() {
            true => Ok(()),
            false => Err(OrgError::Copied { index: self.index.clone() }),
        }
    }

    fn describe(&self, description: &Value) -> Result<(), OrgError> {
        let body = json!({ "_meta": description });
        self.org.connection.ask(Method::Put, &format!("{}/_mapping", self.index), Some(&body)).map(drop)
    }

    /// Deletes the copy if `error` says that another process makes one: that one was there first.
    fn give_way(&self, error: &OrgError) {
        if matches!(error, OrgError::Copied { .. })
            && let Err(error) = self.org.delete_index(&self.index)
        {
            tracing::warn!(component = "org", operation = "reindex", %error, "an empty copy is left over");
        }
    }

    /// Lets `old` take changes again after `error`, which has ended the copy. Returns the error to report.
    fn unblock(&self, old: &str, error: OrgError) -> OrgError {
        let unblocked = self.check().and_then(|()| self.org.unblock(old));

        match unblocked {
            Ok(()) => error,
            // Another process has taken this copy away, and the block is its own.
            Err(copied @ OrgError::Copied { .. }) => copied,
            Err(second) => {
                tracing::warn!(
                    component = "org",
                    operation = "reindex",
                    error = %second,
                    "pushes stay blocked"
                );
                error
            }
        }
    }

    /// Names no process any more. No sign of life may follow.
    fn end(&self) -> Result<(), OrgError> {
        self.describe(&json!(self.meta))
    }

    /// Shows that this process works. Returns false if the copy is gone, which the work meets at its own end.
    fn beat(&self, n: u64) -> bool {
        match self.check().and_then(|()| self.describe(&self.description(n))) {
            Ok(()) => true,
            Err(OrgError::Copied { .. }) => false,
            Err(error) => {
                tracing::warn!(component = "org", operation = "reindex", %error, "no sign of life");
                true
            }
        }
    }

    /// Runs `work` while a thread shows that this process works.
    fn beating<T>(&self, work: impl FnOnce() -> T) -> T {
        let mut n_beats = 0;
        let beat = || {
            n_beats += 1;
            self.beat(n_beats)
        };
        beat::beating(BEAT, beat, work)
    }
}

/// The generation of an index behind `alias`, by its name; `None` for an index of another name.
fn generation(index: &str, alias: &str) -> Option<u64> {
    let digits = index.strip_prefix(alias)?.strip_prefix('-')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_indices_of_the_same_name_have_a_generation() {
        assert_eq!(generation("acme-rows-000012", "acme-rows"), Some(12));
        assert_eq!(generation("acme-rows-rows-000012", "acme-rows"), None);
        assert_eq!(generation("acme-rows-", "acme-rows"), None);
        assert_eq!(generation("acme-rows", "acme-rows"), None);
    }
}
