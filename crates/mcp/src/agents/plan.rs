//! Planning of changes. Files are only read here; [`Plan::write`] writes them.

use std::path::{Path, PathBuf};

use super::product::{AgentFile, Product};
use crate::clients::error::ClientError;
use crate::clients::file;
use crate::clients::places::Environment;
use crate::clients::plan::{Plan, Step, target};
use crate::clients::receipt::{Receipt, Receipts, TextChange, hash};

/// Text that every edit contains.
const MARK: &str = "codeweaver";

/// Plans changes of the files of a project or of the user.
#[derive(Debug, Clone, Copy)]
pub struct Planner<'a> {
    pub environment: &'a Environment,
    pub receipts: &'a Receipts,
    /// Root of the project; `None` for the user's own files.
    pub root: Option<&'a Path>,
}

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Installed,
    /// It has an earlier text, or one that was changed.
    Differs,
    Absent,
    /// Why it cannot be read.
    Unreadable(String),
}

/// The name of a product in receipts, which clients of the MCP server have, too.
pub fn receipt_id(product: &Product) -> String {
    format!("agent:{}", product.id)
}

impl Planner<'_> {
    /// The products that show traces in the project or on the `PATH`.
    pub fn is_used(&self, product: &Product) -> bool {
        let has_trace =
            self.root.is_some_and(|root| product.traces.iter().any(|trace| root.join(trace).exists()));
        has_trace || product.programs.iter().any(|program| self.environment.program(program).is_some())
    }

    /// Plans the installation of all files of `product`.
    pub fn install(&self, product: &Product) -> Result<Vec<Step>, ClientError> {
        let files = self.files(product)?.into_iter();
        // A file that only an absent program reads is not written.
        let is_read =
            |file: &AgentFile| file.reader.is_none_or(|program| self.environment.program(program).is_some());
        let files = files.filter(|(file, _)| is_read(file));
        files.map(|(file, path)| self.insertion(product, file, path)).collect()
    }

    /// Plans the removal from all files of `product`.
    pub fn uninstall(&self, product: &Product) -> Result<Vec<Step>, ClientError> {
        let files = self.files(product)?;
        files.into_iter().map(|(file, path)| self.removal(product, file, path)).collect()
    }

    /// The files of `product` with their states.
    pub fn states(&self, product: &Product) -> Result<Vec<(PathBuf, State)>, ClientError> {
        let files = self.files(product)?.into_iter();
        Ok(files.map(|(file, path)| (path.clone(), self.state(product, file, path))).collect())
    }

    fn state(&self, product: &Product, file: &AgentFile, path: PathBuf) -> State {
        match self.insertion(product, file, path) {
            Ok(Step::Keep { .. }) => State::Installed,
            Ok(Step::Change(plan)) if self.is_found(product, file, &plan) => State::Differs,

            Ok(_) => State::Absent,
            Err(error) => State::Unreadable(error.to_string()),
        }
    }

    /// Returns whether the text before a change has something of ours.
    fn is_found(&self, product: &Product, file: &AgentFile, plan: &Plan) -> bool {
        let has_receipt = self.receipts.find(&receipt_id(product), &plan.target).is_some();
        plan.before
            .as_deref()
            .is_some_and(|text| has_receipt || matches!(file.kind.remove(text), Ok(Some(_))))
    }

    fn insertion(&self, product: &Product, file: &AgentFile, path: PathBuf) -> Result<Step, ClientError> {
        let target = target(&path, self.root)?;
        let before = file::read(&target)?;
        let now = before.as_deref().unwrap_or(file.kind.fresh());
        // The receipt of a deleted file is obsolete.
        let earlier = self.receipts.find(&receipt_id(product), &target).filter(|_| before.is_some());
        let is_ours = earlier.is_some_and(|receipt| receipt.after == hash(now));

        let after = file.kind.insert(now, is_ours);
        let after = after.map_err(|source| ClientError::Guide { path: path.clone(), source })?;
        if before.as_ref() == Some(&after) {
            return Ok(Step::Keep { file: path });
        }

        // The receipt covers an earlier edit as well, so that both are undone.
        let undone = earlier.and_then(|receipt| receipt.undo(now));
        let base = undone.or_else(|| file.kind.remove(now).ok().flatten()).unwrap_or_else(|| now.to_owned());
        let receipt = Receipt {
            client: receipt_id(product),
            file: target.clone(),
            created_file: earlier.map_or(before.is_none(), |earlier| earlier.created_file),
            created_directories: match earlier {
                Some(earlier) => earlier.created_directories.clone(),
                None => file::missing_directories(&target),
            },
            n_new_tables: 0,
            change: TextChange::between(&base, &after),
            after: hash(&after),
        };

        let (after, receipt) = (Some(after), Some(receipt));
        Ok(Step::Change(Box::new(Plan {
            file: path,
            target,
            before,
            after,
            directories: Vec::new(),
            receipt,
        })))
    }

    fn removal(&self, product: &Product, file: &AgentFile, path: PathBuf) -> Result<Step, ClientError> {
        let target = target(&path, self.root)?;
        let Some(before) = file::read(&target)? else { return Ok(Step::Absent { file: path }) };
        let receipt = self.receipts.find(&receipt_id(product), &target);
        // A file that has nothing of ours may be invalid.
        if receipt.is_none() && !before.contains(MARK) {
            return Ok(Step::Absent { file: path });
        }

        // The text before an undone installation is used only if it is still valid.
        let undone = receipt.and_then(|receipt| receipt.undo(&before));
        let undone = undone.filter(|text| {
            // What others added to a file of our own stays.
            file.kind.whole().is_some() || matches!(file.kind.remove(text), Ok(None))
        });
        let after = match undone {
            Some(text) => Some(text),
            None => {
                let removed = file.kind.remove(&before);
                removed.map_err(|source| ClientError::Guide { path: path.clone(), source })?
            }
        };
        let Some(after) = after else { return Ok(Step::Absent { file: path }) };

        let is_created = receipt.map_or(file.kind.whole().is_some(), |receipt| receipt.created_file);
        let is_file_removed = is_created && file.kind.is_void(&after);
        let directories = receipt.map(|receipt| receipt.created_directories.clone()).unwrap_or_default();
        let after = (!is_file_removed).then_some(after);
        let before = Some(before);
        Ok(Step::Change(Box::new(Plan { file: path, target, before, after, directories, receipt: None })))
    }

    /// The files of `product` in this scope.
    fn files(&self, product: &Product) -> Result<Vec<(&'static AgentFile, PathBuf)>, ClientError> {
        let mut files = Vec::new();
        for file in product.files {
            let path = match (self.root, file.project, &file.user) {
                (Some(root), Some(path), _) => root.join(path),
                (Some(_), None, _) => continue,

                // A variable of the product may name another place.
                (None, _, Some(place)) => {
                    self.environment.find(place).ok_or(ClientError::NoHome { client: product.name })?
                }
                (None, _, None) => return Err(ClientError::NoUserFile { client: product.name }),
            };
            files.push((file, path));
        }
        Ok(files)
    }
}
