//! Report on one repository, written beside its pairs.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::commits::History;
use super::filter::Dropped;
use super::licence::Licence;
use crate::pair::Pair;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Used,
    /// Excluded, or not under a permissive licence.
    Refused {
        reason: String,
    },
    /// An error occurred; the next run tries again.
    Failed {
        reason: String,
    },
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub repository: String,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// HEAD of the mirror.
    pub commit: String,
    pub licence: Option<Licence>,
    pub main_language: String,
    pub pairs: u64,
    pub by_kind: BTreeMap<&'static str, u64>,
    pub by_language: BTreeMap<String, u64>,
    /// Counts of candidates that did not become pairs.
    pub dropped: BTreeMap<Dropped, u64>,
    pub files_skipped: BTreeMap<&'static str, u64>,
    pub head_complete: bool,
    pub history: History,
    /// Size of the `.pairs` file.
    pub bytes: u64,
    pub seconds: f64,
}

impl Report {
    pub fn new(repository: &str) -> Report {
        Report {
            repository: repository.to_owned(),
            outcome: Outcome::Used,
            commit: String::new(),
            licence: None,
            main_language: String::new(),
            pairs: 0,
            by_kind: BTreeMap::new(),
            by_language: BTreeMap::new(),
            dropped: BTreeMap::new(),
            files_skipped: BTreeMap::new(),
            head_complete: false,
            history: History::default(),
            bytes: 0,
            seconds: 0.0,
        }
    }

    pub fn count(&mut self, pairs: &[Pair]) {
        self.pairs = pairs.len() as u64;
        for pair in pairs {
            *self.by_kind.entry(pair.kind.name()).or_default() += 1;
            *self.by_language.entry(pair.language.clone()).or_default() += 1;
        }
    }

    /// Writes the report to a temporary file, which is then renamed.
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        let temporary = path.with_extension("json.tmp");
        std::fs::write(&temporary, serde_json::to_vec_pretty(self)?)?;
        std::fs::rename(&temporary, path)?;
        Ok(())
    }

    /// One-line summary for the log.
    pub fn line(&self) -> String {
        let what = match &self.outcome {
            Outcome::Used => format!("{} pairs", self.pairs),
            Outcome::Refused { reason } => format!("refused: {reason}"),
            Outcome::Failed { reason } => format!("failed: {reason}"),
        };
        let licence = self.licence.as_ref().map_or("", |licence| &licence.id);
        format!("{} {what} {licence} {} {:.1} s", self.repository, self.main_language, self.seconds)
    }
}

/// Whether the report at `path` is final: used or refused, not failed.
pub fn is_done(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let report: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
    report.is_some_and(|report| matches!(report["outcome"].as_str(), Some("used" | "refused")))
}
