//! Deciding what to change. Files are read here, nothing is written until [`Plan::write`].

use super::edit::EditError;
use super::entry::{Entry, NAME};
use super::error::{ClientError, shown_path};
use super::file;
use super::places::Surroundings;
use super::receipt::{Receipt, Receipts, Stretch, hash};
use super::table::Client;
use std::path::{Path, PathBuf};

/// Configurations are not secret by themselves; the usual mask applies.
const MODE: u32 = 0o666;

/// What a client is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: String,
}

/// What is to be done with one file.
#[derive(Debug)]
pub enum Step {
    /// It says already what it should.
    Keep {
        file: PathBuf,
    },
    /// There is no entry to take out.
    Absent {
        file: PathBuf,
    },
    Change(Box<Plan>),
}

/// One change of one file.
#[derive(Debug)]
pub struct Plan {
    /// As the client names it.
    pub file: PathBuf,
    /// Where the links of `file` lead.
    pub target: PathBuf,
    /// The text now; `None` if there is no file.
    pub before: Option<String>,
    /// The text to be; `None` if the file goes.
    pub after: Option<String>,
    /// Folders that go with the file if they are empty.
    pub folders: Vec<PathBuf>,
    /// The receipt of an installation; `None` drops the one that is there.
    pub receipt: Option<Receipt>,
}

/// What plans depend on.
#[derive(Debug, Clone, Copy)]
pub struct Planner<'a> {
    pub surroundings: &'a Surroundings,
    pub receipts: &'a Receipts,
    /// The root of the project, with `--scope project`.
    pub root: Option<&'a Path>,
    pub command: &'a Command,
}

impl Command {
    /// The plain name if the path leads to such a program, so that an update elsewhere is found; else this very program.
    pub fn find(surroundings: &Surroundings, absolute: bool) -> Result<Command, ClientError> {
        if !absolute && surroundings.program(NAME).is_some() {
            return Ok(Command { program: NAME.to_owned() });
        }
        let failed = |why: String| {
            ClientError::new("the path of this program cannot be written down", why, "add its folder to PATH")
        };
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let program = program.into_os_string().into_string();
        Ok(Command { program: program.map_err(|path| failed(format!("{path:?} is not UTF-8")))? })
    }

    pub fn is_absolute(&self) -> bool {
        self.program != NAME
    }

    pub fn shown(&self) -> &str {
        &self.program
    }

    fn entry(&self, client: &Client) -> Entry {
        client.shape.entry(&self.program, &["mcp"])
    }

    /// A whole configuration with nothing but the entry.
    pub fn snippet(&self, client: &Client) -> Result<String, ClientError> {
        let edited = client.format.put(client.fresh, client.tables, &self.entry(client));
        edited.map(|edited| edited.text).map_err(|error| {
            ClientError::new("the entry cannot be written", error.to_string(), "please report this")
        })
    }
}

/// The file of a project that a client would be given.
pub fn project_file(client: &Client) -> Result<&'static str, ClientError> {
    client.project.first().copied().ok_or_else(|| {
        ClientError::new(
            format!("{} has no configuration per project", client.name),
            "it reads the user's own file only",
            "leave --scope project out",
        )
    })
}

impl Planner<'_> {
    /// The entry in the file that the client prefers of those that exist, or in a new one.
    pub fn install(&self, client: &'static Client) -> Result<Step, ClientError> {
        let files = self.files(client)?;
        let file =
            files.iter().rev().find(|file| file.exists()).or(files.first()).cloned().unwrap_or_default();
        let target = self.target(&file)?;
        let before = file::read(&target)?;
        let earlier = self.receipts.find(client.id, &target).filter(|_| before.is_some());
        let put = |text: &str| client.format.put(text, client.tables, &self.command.entry(client));
        let now = before.as_deref().unwrap_or(client.fresh);
        // From the text before the earlier edit, if that can still be told: then the new receipt covers both.
        let undone = earlier.and_then(|receipt| receipt.undo(now));
        let redone = undone.and_then(|base| put(&base).ok().map(|edited| (base, edited)));
        let (base, edited) = match redone {
            Some(done) => done,
            None => (now.to_owned(), put(now).map_err(|error| self.refused(client, &file, &error))?),
        };
        if before.as_ref() == Some(&edited.text) {
            return Ok(Step::Keep { file });
        }
        let receipt = Receipt {
            client: client.id.to_owned(),
            file: target.clone(),
            created_file: earlier.map_or(before.is_none(), |earlier| earlier.created_file),
            created_folders: match earlier {
                Some(earlier) => earlier.created_folders.clone(),
                None => file::missing_folders(&target),
            },
            made: edited.made.max(earlier.map_or(0, |earlier| earlier.made)),
            stretch: Stretch::between(&base, &edited.text),
            after: hash(&edited.text),
        };
        let after = Some(edited.text);
        Ok(Step::Change(Box::new(Plan {
            file,
            target,
            before,
            after,
            folders: Vec::new(),
            receipt: Some(receipt),
        })))
    }

    /// The entry out of every file that the client may read.
    pub fn uninstall(&self, client: &'static Client) -> Result<Vec<Step>, ClientError> {
        let files = self.files(client)?;
        let mut steps = Vec::new();
        for file in &files {
            let target = self.target(file)?;
            if let Some(before) = file::read(&target)?
                && let Some(plan) = self.removal(client, file, target, before)?
            {
                steps.push(Step::Change(Box::new(plan)));
            }
        }
        if steps.is_empty() {
            steps.extend(files.into_iter().next().map(|file| Step::Absent { file }));
        }
        Ok(steps)
    }

    fn removal(
        &self,
        client: &'static Client,
        file: &Path,
        target: PathBuf,
        before: String,
    ) -> Result<Option<Plan>, ClientError> {
        let receipt = self.receipts.find(client.id, &target);
        let take = |text: &str, made: usize| client.format.take(text, client.tables, made);
        // An undone text is taken only if it still makes sense.
        let undone = receipt.and_then(|receipt| receipt.undo(&before)).filter(|text| take(text, 0).is_ok());
        let after = match undone {
            Some(text) => Some(text),
            None => {
                let made = receipt.map_or(0, |receipt| receipt.made);
                take(&before, made).map_err(|error| self.refused_removal(file, &error))?
            }
        };
        let Some(after) = after else { return Ok(None) };
        let is_ours = receipt.is_some_and(|receipt| receipt.created_file)
            && client.format.says_no_more_than(&after, client.fresh);
        let folders = receipt.map(|receipt| receipt.created_folders.clone()).unwrap_or_default();
        let after = (!is_ours).then_some(after);
        let file = file.to_path_buf();
        Ok(Some(Plan { file, target, before: Some(before), after, folders, receipt: None }))
    }

    /// The files that the client may read, in this scope.
    fn files(&self, client: &'static Client) -> Result<Vec<PathBuf>, ClientError> {
        if let Some(root) = self.root {
            project_file(client)?;
            return Ok(client.project.iter().map(|file| root.join(file)).collect());
        }
        let files: Option<Vec<PathBuf>> =
            client.user.iter().map(|place| self.surroundings.find(place)).collect();
        files.ok_or_else(|| {
            ClientError::new(
                format!("the configuration of {} is not found", client.name),
                "no variable names the home directory",
                "set HOME, or use --print",
            )
        })
    }

    /// Links of the user's own are followed. Those of a project may come from anyone, so they may not lead out of it.
    fn target(&self, file: &Path) -> Result<PathBuf, ClientError> {
        let target = file::resolve(file)?;
        let Some(root) = self.root else { return Ok(target) };
        let existing = target.ancestors().find_map(|path| path.canonicalize().ok());
        if existing.is_some_and(|path| path.starts_with(root)) {
            return Ok(target);
        }
        Err(ClientError::new(
            format!("{} is not edited", shown_path(file)),
            "it is a link that leads out of the repository",
            "remove the link, or use --scope user",
        ))
    }

    fn refused(&self, client: &Client, file: &Path, error: &EditError) -> ClientError {
        let snippet = self.command.snippet(client).unwrap_or_default();
        ClientError::new(
            format!("{} is not edited", shown_path(file)),
            error.to_string(),
            format!("mend it and run this again, or add by hand:\n{snippet}"),
        )
    }

    fn refused_removal(&self, file: &Path, error: &EditError) -> ClientError {
        ClientError::new(
            format!("{} is not edited", shown_path(file)),
            error.to_string(),
            format!("mend it and run this again, or take `{NAME}` out by hand"),
        )
    }
}

impl Plan {
    /// Makes the change.
    pub fn write(&self) -> Result<(), ClientError> {
        match (&self.before, &self.after) {
            (before, Some(after)) => file::write(&self.target, before.as_deref(), after, MODE),
            (Some(before), None) => file::remove(&self.target, before, &self.folders),
            (None, None) => Ok(()),
        }
    }
}
