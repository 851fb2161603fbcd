//! The scene of a round: the state of the repository, the processes, and the refusals that are allowed.

use std::time::{Duration, SystemTime};

use codeweaver_index::{Codebase, publish};

use super::damage;
use super::site::{Asked, Site};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scene {
    FirstIndex,
    Update,
    /// An update that has small segments to merge at its end.
    Compaction,
    Switch,
    Reindex,
    /// Snapshots are forgotten and files are old: there is something to collect.
    Gc,
    Graphs,
    Hook,
    /// Deleted and created again.
    Deinit,
    /// `git clean -fdx` in the middle of it.
    Clean,
    /// A file of this kind was damaged.
    Repair(String),
}

const TABLE: &[(u32, Scene)] = &[
    (4, Scene::FirstIndex),
    (8, Scene::Update),
    (4, Scene::Switch),
    (4, Scene::Reindex),
    (4, Scene::Gc),
    (2, Scene::Graphs),
    (3, Scene::Hook),
    (1, Scene::Deinit),
    (1, Scene::Clean),
];
/// One round in so many begins with damage.
const DAMAGED: u8 = 6;

impl Scene {
    pub fn choose(rng: &mut fastrand::Rng, is_first: bool, with_faults: bool) -> Scene {
        if is_first {
            return Scene::FirstIndex;
        }
        if with_faults && rng.u8(..DAMAGED) == 0 {
            return Scene::Repair(String::new());
        }
        let total: u32 = TABLE.iter().map(|(often, _)| often).sum();
        let mut at = rng.u32(..total);
        let found = TABLE.iter().find(|(often, _)| {
            let found = at < *often;
            at = at.saturating_sub(*often);
            found
        });
        found.map_or(Scene::Update, |(_, scene)| scene.clone())
    }

    /// Sets the scene; returns a more precise description of it.
    pub fn set(self, site: &mut Site, w: usize, rng: &mut fastrand::Rng) -> Result<Scene, String> {
        match &self {
            Scene::FirstIndex => {
                let _ = std::fs::remove_dir_all(site.store_dir());
                let _ = std::fs::remove_file(site.sandbox.root().join(".git/codeweaver-nonce"));
            }
            Scene::Switch => site.switch(w, rng),
            Scene::Update | Scene::Hook | Scene::Deinit | Scene::Clean => {
                for other in 0..site.worktrees.len() {
                    if other == w || rng.bool() {
                        site.commit(other, rng);
                    }
                }
            }
            Scene::Compaction | Scene::Reindex => {}
            Scene::Gc => {
                site.commit(w, rng);
                make_collectable(site);
            }
            Scene::Graphs => {
                let _ = site
                    .files()
                    .iter()
                    .filter(|(kind, _)| kind == "graphs")
                    .try_for_each(|(_, path)| std::fs::remove_file(path));
            }
            Scene::Repair(_) => {
                let kind = damage::random(site, rng).unwrap_or_else(|| "nothing".to_owned());
                return Ok(Scene::Repair(kind));
            }
        }
        let n_segments = state(site).map_or(0, |state| state.segments.len());
        Ok(if self == Scene::Update && n_segments >= 6 { Scene::Compaction } else { self })
    }

    /// Category of the main process.
    pub fn kind(&self) -> &'static str {
        match self {
            Scene::FirstIndex => "first index",
            Scene::Update => "update",
            Scene::Compaction => "update that compacts",
            Scene::Switch => "switch",
            Scene::Reindex => "reindex",
            Scene::Gc => "gc",
            Scene::Graphs => "graphs",
            Scene::Hook => "hook",
            Scene::Deinit => "deinit",
            Scene::Clean => "update during git clean",
            Scene::Repair(_) => "repair",
        }
    }

    pub fn words(&self) -> &'static [&'static str] {
        match self {
            Scene::FirstIndex | Scene::Update | Scene::Compaction | Scene::Switch | Scene::Clean => {
                &["index", "--quiet", "--resume"]
            }
            Scene::Reindex => &["index", "--quiet", "--reindex"],
            Scene::Gc => &["gc", "--json"],
            Scene::Graphs => &["hook", "graphs"],
            Scene::Hook => &["hook", "sync"],
            Scene::Deinit => &["deinit"],
            Scene::Repair(_) => &["verify", "--repair", "--json"],
        }
    }

    /// A random process that runs at the same time.
    pub fn other(&self, rng: &mut fastrand::Rng) -> (&'static str, &'static [&'static str]) {
        const OTHERS: &[(u32, &str, &[&str])] = &[
            (6, "another writer", &["index", "--quiet", "--resume"]),
            (4, "hook", &["hook", "sync"]),
            (6, "reader (search)", &["search", "-o", "json", "alpha function"]),
            (1, "reader (status)", &["status", "--json"]),
            (1, "reader (verify)", &["verify", "--json"]),
            (1, "gc", &["gc", "--json"]),
        ];
        if *self == Scene::Deinit && rng.bool() {
            return ("init", &["init", "--no-hooks"]);
        }
        if rng.u8(..5) < 2 {
            return (self.kind(), self.words());
        }
        let total: u32 = OTHERS.iter().map(|(often, ..)| often).sum();
        let mut at = rng.u32(..total);
        let found = OTHERS.iter().find(|(often, ..)| {
            let found = at < *often;
            at = at.saturating_sub(*often);
            found
        });
        found.map_or(("hook", &["hook", "sync"]), |(_, kind, words)| (kind, words))
    }

    /// Whether this outcome is allowed instead of a right answer.
    pub fn allows(&self, asked: &Asked, was_indexed: bool) -> Result<(), String> {
        let may_be_absent = !was_indexed
            || matches!(self, Scene::FirstIndex | Scene::Deinit | Scene::Clean | Scene::Repair(_));
        match asked {
            Asked::Right => Ok(()),
            Asked::Incomplete if may_be_absent => Ok(()),
            Asked::Refused(_) if may_be_absent => Ok(()),
            // After an injected failure a worktree without an index reports the failed first index and the
            // fix.
            Asked::Refused(state) if state.starts_with("IndexFailed") => Ok(()),
            Asked::Honest(_) if self.needs_repair() => Ok(()),
            asked => Err(format!("{asked:?} in {self:?}")),
        }
    }

    pub fn needs_repair(&self) -> bool {
        matches!(self, Scene::Repair(_))
    }

    /// The store may have lost its nonce and must then be removed by hand, as the error says.
    pub fn may_leave_untrusted(&self) -> bool {
        matches!(self, Scene::Clean | Scene::Repair(_))
    }
}

fn state(site: &Site) -> Option<codeweaver_store::state::State> {
    let codebase = Codebase::open(site.sandbox.root(), &[]).ok()?;
    codeweaver_store::state::State::read(&codebase.store().state()).ok()?
}

/// Drops all snapshots that are not current, and sets the times of all files back by three hours.
fn make_collectable(site: &Site) {
    let Ok(codebase) = Codebase::open(site.sandbox.root(), &[]) else { return };
    if codebase.store().root().exists() {
        let _ = publish::change_state(&codebase, |state| {
            let kept: Vec<String> = state.heads.values().map(|head| head.snapshot.clone()).collect();
            state.snapshots.retain(|key, _| kept.contains(key));
        });
    }
    let then = SystemTime::now() - Duration::from_secs(3 * 3600);
    for (_, path) in site.files() {
        let _ = std::fs::File::options().append(true).open(path).and_then(|file| file.set_modified(then));
    }
}
