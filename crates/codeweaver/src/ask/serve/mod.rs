//! Serve: answers over WebSocket, from indexes that are held in memory.
//!
//! * [`protocol`]: the messages.
//! * [`held`]: an index in memory.
//! * [`shared`]: the state of all connections, replaced as a whole.
//! * [`session`]: one connection. `connections`: their number.
//!
//! One thread accepts connections, each connection has its own, and the calling thread loads the indexes,
//! reloads them every `ask.reload_interval` seconds, and checks every half second whether a configuration
//! file has changed.
//!
//! This check is a `stat` of at most six paths. It takes 0.1 ms including the wake-up, so an idle server
//! uses 0.2 ms of CPU time a second. Notifications of the operating system (the crate `notify`) would save
//! that, but miss common changes of a configuration: the file or its directory need not exist yet; editors
//! replace the file, so that its directory has to be watched; links to files elsewhere (dotfile managers)
//! would need a watch on each of their targets; network file systems and some mounts of containers deliver
//! none. A watcher that handles all these cases polls as well. Changes of documents are found at reloads,
//! which compare times and sizes.

mod connections;
pub mod held;
pub mod protocol;
mod session;
mod shared;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use codeweaver_config::{ConfigError, Settings, Sources};
use codeweaver_git::{GitError, Repo};
use codeweaver_index::progress::Silent;
use codeweaver_index::{Codebase, IndexError, Target, UpdateOptions, updater};

use super::api::{Api, ApiError, key_of_environment};
use super::collection::{Collection, CollectionError, Collections};
use crate::query::QueryError;
use connections::Connections;
use held::Held;
use shared::Shared;

/// Time between two checks of the configuration.
const TICK: Duration = Duration::from_millis(500);

/// An error that keeps a server from starting.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process listens on the port.
    #[error("Server already running on port {port}")]
    Running { port: u16 },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error(transparent)]
    Collection(#[from] CollectionError),
    #[error(transparent)]
    Query(#[from] QueryError),
}

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Directory in the repository whose documents are served, unless directories are given or set. Outside
    /// of a repository there is nothing to serve then, and the status is `no_content`.
    pub repository: PathBuf,
    /// Directories whose documents are served instead; those of `ask.directories` if empty.
    pub directories: Vec<PathBuf>,
    /// Names of further collections that are served.
    pub collections: Vec<String>,
    /// File with the settings, instead of the configuration of the user.
    pub config: Option<PathBuf>,
    /// Build the indexes again at the start.
    pub reindex: bool,
    /// Settings of the command line, which keep their precedence when the configuration is read again.
    pub overrides: Vec<(String, String)>,
}

/// An event that a server reports to its user.
#[derive(Debug)]
pub enum ServeEvent<'a> {
    Listening(SocketAddr),
    Ready {
        n_documents: usize,
    },
    /// Something is left out or has failed; the server goes on.
    Warning(&'a str),
    /// The configuration was read again.
    Configured,
}

/// Serves until the process is ended.
///
/// # Errors
/// The address is in use, the settings are invalid, or an index cannot be loaded at the start. Later failures
/// are reported as warnings, and the old state stays in use.
pub fn run(options: &ServeOptions, tell: &dyn Fn(ServeEvent<'_>)) -> Result<(), ServeError> {
    let mut server = Server::start(options, tell)?;
    server.load(true)?;

    let n_documents = server.n_documents();
    tell(ServeEvent::Ready { n_documents });
    if n_documents == 0 {
        tell(ServeEvent::Warning("no indexed content: questions are answered with the status no_content"));
    }

    loop {
        std::thread::sleep(TICK);
        server.tick();
    }
}

struct Server<'a> {
    options: &'a ServeOptions,
    tell: &'a dyn Fn(ServeEvent<'_>),
    settings: Settings,
    shared: Arc<Shared>,
    /// Stat data of the configuration files.
    stamps: Vec<Stamp>,
    next_reload: Instant,
    /// Name and settings of each collection that is served.
    served: Vec<(String, String)>,
    /// Reasons for leaving out directories and files that were reported to the user, by index.
    skipped: BTreeMap<String, Vec<String>>,
}

/// Time and size of a file, if it is there.
type Stamp = (PathBuf, Option<(SystemTime, u64)>);

impl<'a> Server<'a> {
    fn start(options: &'a ServeOptions, tell: &'a dyn Fn(ServeEvent<'_>)) -> Result<Server<'a>, ServeError> {
        let (settings, stamps) = read_settings(options)?;
        let api = Api::open(&settings.ask, key_of_environment())?;

        let address = SocketAddr::from(([127, 0, 0, 1], settings.ask.port));
        let listener = TcpListener::bind(address).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::Running { port: settings.ask.port },
            _ => ServeError::Listen { address, source },
        })?;
        let listening = listener.local_addr().map_err(|source| ServeError::Listen { address, source })?;

        let mut names = vec![settings.ask.index_name.clone()];
        names.extend(options.collections.iter().cloned());
        let shared = Arc::new(Shared::new(&names, api));

        // Connections are accepted before the indexes are loaded; until then their status is `not_ready`.
        accept(listener, shared.clone());
        tell(ServeEvent::Listening(listening));

        let next_reload = Instant::now();
        let (served, skipped) = (Vec::new(), BTreeMap::new());
        Ok(Server { options, tell, settings, shared, stamps, next_reload, served, skipped })
    }

    /// Loads the indexes, except collections that have not changed.
    fn load(&mut self, is_first: bool) -> Result<(), ServeError> {
        self.next_reload = Instant::now() + Duration::from_secs(self.settings.ask.reload_interval);

        let collections = Collections::from_user();
        let own = self.settings.ask.index_name.clone();
        let directories = match self.options.directories.as_slice() {
            [] => self.settings.ask.directories.iter().map(|typed| at_home(typed)).collect(),
            given => given.to_vec(),
        };

        if !directories.is_empty() {
            let collection = Collections::from_user()?.named(&format!("served-{own}"))?;
            self.load_collection(&own, &collection, Some(&directories), is_first)?;
        } else if self.is_in_repository()? {
            self.load_repository(&own, is_first)?;
        } else {
            // A collection of its own, so that those of directories keep their documents.
            let nothing = Collections::from_user()?.of_directories(&[])?;
            self.load_collection(&own, &nothing, Some(&[]), is_first)?;
        }

        for name in &self.options.collections.clone() {
            let collection = collections.as_ref().map_err(|_| CollectionError::NoCache)?.named(name)?;
            self.load_collection(name, &collection, None, is_first)?;
        }

        Ok(())
    }

    /// Returns whether there is a repository at the directory. One may be created while the server runs.
    fn is_in_repository(&self) -> Result<bool, ServeError> {
        match Repo::discover(&self.options.repository) {
            Ok(_) => Ok(true),
            Err(GitError::NotARepository { .. }) => Ok(false),
            Err(error) => Err(IndexError::from(error).into()),
        }
    }

    /// Opens the repository again, whether or not it has changed: uncommitted files are part of it.
    fn load_repository(&mut self, name: &str, is_first: bool) -> Result<(), ServeError> {
        let codebase = Codebase::open(&self.options.repository, &self.options.overrides)?;
        if is_first && self.options.reindex {
            let options = UpdateOptions { reindex: true, ..UpdateOptions::default() };
            updater::run(&codebase, &Target::head(&codebase)?, options, &Silent)?;
        }

        let min_relevance = self.min_relevance(&codebase);
        self.shared.replace(name, Held::open(codebase, false, min_relevance)?);
        Ok(())
    }

    /// The limit of the named configuration file, else that of the codebase.
    fn min_relevance(&self, codebase: &Codebase) -> f32 {
        let settings = if self.options.config.is_some() { &self.settings } else { &codebase.settings };
        settings.ask.min_relevance
    }

    fn load_collection(
        &mut self,
        name: &str,
        collection: &Collection,
        directories: Option<&[PathBuf]>,
        is_first: bool,
    ) -> Result<(), ServeError> {
        let report = match is_first && self.options.reindex {
            true => collection.rebuild(directories, &Silent)?,
            false => collection.update(directories, &Silent)?,
        };

        let reported = self.skipped.insert(name.to_owned(), report.skipped.clone()).unwrap_or_default();
        for skipped in report.skipped.iter().filter(|skipped| !reported.contains(skipped)) {
            (self.tell)(ServeEvent::Warning(&format!("{skipped}; it is left out")));
        }

        let has_changed = report.added + report.modified + report.deleted > 0 || report.rebuilt;
        // Changed settings count too, since the index is held with its limit of relevance.
        let key = (name.to_owned(), format!("{:?}", self.settings.ask));
        if has_changed || !self.served.contains(&key) {
            let codebase = collection.codebase()?;
            let min_relevance = self.min_relevance(&codebase);
            self.shared.replace(name, Held::open(codebase, true, min_relevance)?);
            self.served.retain(|(served, _)| served != name);
            self.served.push(key);
        }

        Ok(())
    }

    fn n_documents(&self) -> usize {
        let own = self.shared.index(None).ok().flatten();
        own.map_or(0, |held| held.n_documents())
    }

    /// Reads the configuration again if it has changed, and reloads the indexes if it is time.
    fn tick(&mut self) {
        let stamps: Vec<Stamp> = self.stamps.iter().map(|(path, _)| stamp(path.clone())).collect();

        if stamps != self.stamps {
            // They are kept even if the settings are invalid, so that an error is reported only once.
            self.stamps = stamps;
            match self.configure() {
                Ok(()) => (self.tell)(ServeEvent::Configured),
                Err(error) => {
                    let message = format!("the configuration is not used, the old settings stay: {error}");
                    (self.tell)(ServeEvent::Warning(&message));
                }
            }
        }

        if Instant::now() >= self.next_reload
            && let Err(error) = self.load(false)
        {
            (self.tell)(ServeEvent::Warning(&format!("the reload failed, the old index answers: {error}")));
        }
    }

    /// Reads the settings again. Port and name of the index stay until the server is restarted.
    fn configure(&mut self) -> Result<(), ServeError> {
        let (mut settings, stamps) = read_settings(self.options)?;
        let api = Api::open(&settings.ask, key_of_environment())?;

        settings.ask.port = self.settings.ask.port;
        settings.ask.index_name.clone_from(&self.settings.ask.index_name);

        self.shared.set_api(api);
        (self.settings, self.stamps) = (settings, stamps);
        self.next_reload = Instant::now();
        Ok(())
    }
}

impl Drop for Server<'_> {
    fn drop(&mut self) {
        self.shared.end();
    }
}

/// Accepts connections in a thread of its own.
fn accept(listener: TcpListener, shared: Arc<Shared>) {
    // Without the thread, nothing is accepted, which clients notice.
    let _ = std::thread::Builder::new().name("accept".into()).spawn(move || accept_all(&listener, &shared));
}

/// Accepts connections until the server ends.
fn accept_all(listener: &TcpListener, shared: &Arc<Shared>) {
    let connections = Arc::new(Connections::default());
    for stream in listener.incoming() {
        if shared.is_ending() {
            return;
        }
        let Ok(stream) = stream else {
            // If file descriptors have run out, connections have to end first.
            std::thread::sleep(TICK);
            continue;
        };

        connect(stream, shared, &connections);
    }
}

/// Serves a connection in a thread of its own, unless all clients are being answered.
fn connect(stream: TcpStream, shared: &Arc<Shared>, connections: &Arc<Connections>) {
    let Ok(Some(counted)) = connections.add(&stream) else { return };

    let shared = shared.clone();
    // Without a thread, the connection is closed.
    let _ = std::thread::Builder::new()
        .name("session".into())
        .spawn(move || session::serve(stream, &shared, &counted));
}

/// The settings in effect, and the stat data of the files that they come from. The configuration of a
/// repository is not read, since it must not decide what is served.
fn read_settings(options: &ServeOptions) -> Result<(Settings, Vec<Stamp>), ServeError> {
    let mut sources = Sources::discover(None);
    if options.config.is_some() {
        sources.named_file.clone_from(&options.config);
    }

    sources.overrides.extend_from_slice(&options.overrides);
    let stamps = sources.paths().into_iter().map(stamp).collect();
    Ok((Settings::load(&sources)?.settings, stamps))
}

/// The path for which `~/…` stands, or `typed` itself.
fn at_home(typed: &str) -> PathBuf {
    match (typed.strip_prefix("~/"), codeweaver_base::home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(typed),
    }
}

/// Reads time and size of a file.
fn stamp(path: PathBuf) -> Stamp {
    let metadata = std::fs::metadata(&path).ok();
    let seen = metadata.and_then(|metadata| Some((metadata.modified().ok()?, metadata.len())));
    (path, seen)
}
