//! Planning of changes. Files are only read here; [`Plan::write`] writes them.

use std::path::{Path, PathBuf};

use codeweaver_base::real_path;

use super::edit::Format;
use super::entry::{Entry, NAME};
use super::error::ClientError;
use super::places::Environment;
use super::receipt::{Receipt, Receipts, TextChange, hash};
use super::table::Client;
use super::{file, yaml};

/// Mode of a new configuration, reduced by the umask.
const MODE: u32 = 0o666;

/// The program that a client starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: String,
}

/// The outcome of planning for one file.
#[derive(Debug)]
pub enum Step {
    /// The file already contains the entry.
    Keep {
        file: PathBuf,
    },
    /// There is no entry to remove.
    Absent {
        file: PathBuf,
    },
    Change(Box<Plan>),
}

/// A planned change of a file.
#[derive(Debug)]
pub struct Plan {
    /// Path of the file in the client's documentation.
    pub file: PathBuf,
    /// `file` with symbolic links resolved.
    pub target: PathBuf,
    /// The current text; `None` if there is no file.
    pub before: Option<String>,
    /// The new text; `None` if the file will be removed.
    pub after: Option<String>,
    /// Directories that are removed with the file if they are empty.
    pub directories: Vec<PathBuf>,
    /// The receipt of an installation; `None` removes an existing receipt.
    pub receipt: Option<Receipt>,
}

/// Plans changes in one scope.
#[derive(Debug, Clone, Copy)]
pub struct Planner<'a> {
    pub environment: &'a Environment,
    pub receipts: &'a Receipts,
    /// Root of the project, with `--scope project`.
    pub root: Option<&'a Path>,
    pub command: &'a Command,
}

impl Command {
    /// The plain name if it is found on `PATH`, so that a program installed elsewhere later is used;
    /// otherwise, or if `absolute`, the full path of this program.
    pub fn find(environment: &Environment, absolute: bool) -> Result<Command, ClientError> {
        if !absolute && environment.program(NAME).is_some() {
            return Ok(Command { program: NAME.to_owned() });
        }

        let program = std::env::current_exe().map_err(|source| ClientError::ProgramPath { source })?;
        let program = program.into_os_string().into_string();
        let program = program.map_err(|path| ClientError::ProgramPathNotUtf8 { path: path.into() })?;
        Ok(Command { program })
    }

    pub fn is_absolute(&self) -> bool {
        self.program != NAME
    }

    /// The command as written into configurations.
    pub fn as_str(&self) -> &str {
        &self.program
    }

    fn entry(&self, client: &Client) -> Entry {
        client.shape.entry(&self.program, &["mcp"])
    }

    /// A configuration that contains nothing but the entry.
    pub fn snippet(&self, client: &Client) -> Result<String, ClientError> {
        let entry = self.entry(client);
        match client.format {
            None => Ok(yaml::snippet(client.tables.last().copied().unwrap_or_default(), &entry)),
            Some(format) => {
                let edited = format.insert(client.fresh, client.tables, &entry);
                edited.map(|edited| edited.text).map_err(|source| ClientError::Snippet { source })
            }
        }
    }
}

/// Returns the file of a project that a client creates.
pub fn project_file(client: &Client) -> Result<&'static str, ClientError> {
    client.project.first().copied().ok_or(ClientError::NoProjectFile { client: client.name })
}

impl Planner<'_> {
    /// Plans the installation of the entry, in the preferred file of those that exist, or in a new one.
    pub fn install(&self, client: &'static Client) -> Result<Step, ClientError> {
        let files = self.files(client)?;
        let file =
            files.iter().rev().find(|file| file.exists()).or(files.first()).cloned().unwrap_or_default();

        let Some(format) = client.format else {
            return Err(ClientError::YamlInsert { path: file, client: client.name, id: client.id });
        };

        let target = target(&file, self.root)?;
        let before = file::read(&target)?;
        // The receipt of a deleted file is obsolete.
        let earlier = self.receipts.find(client.id, &target).filter(|_| before.is_some());

        let entry = self.command.entry(client);
        let now = before.as_deref().unwrap_or(client.fresh);

        // If an earlier edit can be undone, insert into the text before it: the new receipt then covers both
        // edits.
        let undone = earlier.and_then(|receipt| receipt.undo(now));
        let redone = undone
            .and_then(|base| format.insert(&base, client.tables, &entry).ok().map(|edited| (base, edited)));

        let (base, edited) = match redone {
            Some(redone) => redone,
            None => {
                let edited = format.insert(now, client.tables, &entry);
                let edited = edited.map_err(|source| ClientError::Insert {
                    path: file.clone(),
                    snippet: self.command.snippet(client).unwrap_or_default(),
                    source,
                })?;
                (now.to_owned(), edited)
            }
        };

        if before.as_ref() == Some(&edited.text) {
            return Ok(Step::Keep { file });
        }

        let receipt = Receipt {
            client: client.id.to_owned(),
            file: target.clone(),
            created_file: earlier.map_or(before.is_none(), |earlier| earlier.created_file),
            created_directories: match earlier {
                Some(earlier) => earlier.created_directories.clone(),
                None => file::missing_directories(&target),
            },
            n_new_tables: edited.n_new_tables.max(earlier.map_or(0, |earlier| earlier.n_new_tables)),
            change: TextChange::between(&base, &edited.text),
            after: hash(&edited.text),
        };

        let after = Some(edited.text);
        Ok(Step::Change(Box::new(Plan {
            file,
            target,
            before,
            after,
            directories: Vec::new(),
            receipt: Some(receipt),
        })))
    }

    /// Plans the removal of the entry from every file that the client reads.
    pub fn uninstall(&self, client: &'static Client) -> Result<Vec<Step>, ClientError> {
        let files = self.files(client)?;
        let mut steps = Vec::new();

        for file in &files {
            let target = target(file, self.root)?;
            let Some(before) = file::read(&target)? else { continue };

            let Some(format) = client.format else {
                // YAML is not edited, but the user has to know that the entry is still there.
                if before.contains(NAME) {
                    let table = client.tables.last().copied().unwrap_or_default().join(".");
                    let path = file.clone();
                    return Err(ClientError::YamlUninstall { path, client: client.name, table });
                }
                continue;
            };

            if let Some(plan) = self.removal(client, format, file, before)? {
                steps.push(Step::Change(Box::new(plan)));
            }
        }

        if steps.is_empty() {
            steps.extend(files.into_iter().next().map(|file| Step::Absent { file }));
        }
        Ok(steps)
    }

    /// Plans the removal of the entry from `file`; `None` if it has none.
    fn removal(
        &self,
        client: &'static Client,
        format: Format,
        file: &Path,
        before: String,
    ) -> Result<Option<Plan>, ClientError> {
        let target = target(file, self.root)?;
        let receipt = self.receipts.find(client.id, &target);

        // The text before an undone installation is used only if it is still valid.
        let undone = receipt
            .and_then(|receipt| receipt.undo(&before))
            .filter(|text| format.remove(text, client.tables, 0).is_ok());
        let after = match undone {
            Some(text) => Some(text),
            None => {
                let n_new_tables = receipt.map_or(0, |receipt| receipt.n_new_tables);
                format
                    .remove(&before, client.tables, n_new_tables)
                    .map_err(|source| ClientError::Uninstall { path: file.to_path_buf(), source })?
            }
        };
        let Some(after) = after else { return Ok(None) };

        // A file that the installation created is removed if nothing else is in it.
        let is_file_removed =
            receipt.is_some_and(|receipt| receipt.created_file) && format.is_equivalent(&after, client.fresh);

        let directories = receipt.map(|receipt| receipt.created_directories.clone()).unwrap_or_default();
        let after = (!is_file_removed).then_some(after);
        let file = file.to_path_buf();
        Ok(Some(Plan { file, target, before: Some(before), after, directories, receipt: None }))
    }

    /// The files that the client reads in this scope.
    fn files(&self, client: &'static Client) -> Result<Vec<PathBuf>, ClientError> {
        if let Some(root) = self.root {
            project_file(client)?;
            return Ok(client.project.iter().map(|file| root.join(file)).collect());
        }

        let files: Option<Vec<PathBuf>> =
            client.user.iter().map(|place| self.environment.find(place)).collect();
        files.ok_or(ClientError::NoHome { client: client.name })
    }
}

/// Resolves the symbolic links of `file`. Those of the project at `root` are untrusted and must not lead out of
/// it.
pub(crate) fn target(file: &Path, root: Option<&Path>) -> Result<PathBuf, ClientError> {
    let target = file::resolve(file)?;
    let Some(root) = root else { return Ok(target) };

    let existing = target.ancestors().find_map(|path| real_path::canonicalize(path).ok());
    if existing.is_some_and(|path| path.starts_with(root)) {
        return Ok(target);
    }
    Err(ClientError::OutsideRepository { path: file.to_path_buf() })
}

impl Plan {
    /// Writes or removes the file.
    pub fn write(&self) -> Result<(), ClientError> {
        match (&self.before, &self.after) {
            (before, Some(after)) => file::write(&self.target, before.as_deref(), after, MODE),
            (Some(before), None) => file::remove(&self.target, before, &self.directories),
            (None, None) => Ok(()),
        }
    }
}
