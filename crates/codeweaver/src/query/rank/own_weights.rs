//! Own weights: weights of the user's own, in place of the built-in ones.
//!
//! `git codeweaver eval tune` writes them. They are in the file that `search.weights` names, or else in
//! `weights.json` of the index directory if it is there, and have every weight by name. With any other
//! content, the built-in weights stay in use, with a warning.

use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use codeweaver_base::sync;
use codeweaver_index::Codebase;

use super::weights::{WEIGHTS, Weights};

/// Name of the file in the index directory.
pub const FILE_NAME: &str = "weights.json";
/// Maximum size of the file.
const MAX_BYTES: u64 = 64 << 10;
/// Largest value of a weight.
const MAX_WEIGHT: f32 = 1000.0;

/// The weights with which a query is ranked.
#[derive(Debug, Clone)]
pub struct InUse {
    pub weights: Arc<Weights>,
    /// The file that they are from; `None` for the built-in ones.
    pub path: Option<PathBuf>,
    /// The reason why the file is not used.
    pub warning: Option<String>,
}

impl InUse {
    fn built_in(warning: Option<String>) -> InUse {
        InUse { weights: BUILT_IN.clone(), path: None, warning }
    }
}

/// The own weights of a codebase, which are read again when their file changes.
pub struct OwnWeights {
    path: PathBuf,
    /// Whether the settings name the file, so that its absence is an error.
    is_named: bool,
    last: Mutex<Option<(Stamp, InUse)>>,
}

/// Values that differ between versions of a file.
#[derive(Debug, Clone, PartialEq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    inode: u64,
}

/// Returns the path of the weights of `codebase`, and whether its settings name it.
pub fn path_of(codebase: &Codebase) -> (PathBuf, bool) {
    match &codebase.settings.search.weights {
        Some(path) => (path.clone(), true),
        None => (codebase.layout.root().join(FILE_NAME), false),
    }
}

/// Reads weights that a user or `eval tune` wrote.
///
/// # Errors
/// The reason why they cannot be used: the file cannot be read, is no JSON object with exactly the names of
/// the weights, or has a value that is negative or above 1000.
pub fn read(path: &Path) -> Result<Weights, String> {
    // Checked before the file is opened: opening a pipe would wait.
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!("it is not a file of at most {MAX_BYTES} bytes"));
    }

    let mut text = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(MAX_BYTES).read_to_end(&mut text).map_err(|error| error.to_string())?;

    let weights: Weights = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    check(&weights).map(|()| weights)
}

/// Checks that every weight is in its range.
///
/// # Errors
/// The first weight that is negative or above 1000.
pub fn check(weights: &Weights) -> Result<(), String> {
    let wrong = weights.by_name().into_iter().find(|(_, value)| !(0.0..=MAX_WEIGHT).contains(value));
    match wrong {
        Some((name, value)) => Err(format!("`{name}` is {value}, which is not between 0 and {MAX_WEIGHT}")),
        None => Ok(()),
    }
}

impl OwnWeights {
    pub fn open(codebase: &Codebase) -> OwnWeights {
        let (path, is_named) = path_of(codebase);
        OwnWeights { path, is_named, last: Mutex::new(None) }
    }

    /// Returns the weights that are in use now. Costs one `stat` while the file does not change.
    pub fn get(&self) -> InUse {
        let stamp = match std::fs::metadata(&self.path) {
            Ok(metadata) => Stamp::new(&metadata),
            Err(error) if !self.is_named && error.kind() == std::io::ErrorKind::NotFound => {
                return InUse::built_in(None);
            }
            Err(error) => return InUse::built_in(Some(self.warning(&error.to_string()))),
        };

        let mut last = sync::lock(&self.last);
        if let Some((known, in_use)) = &*last
            && *known == stamp
        {
            return in_use.clone();
        }

        // An unusable file is cached too, so that it is read once.
        let in_use = match read(&self.path) {
            Ok(weights) => InUse { weights: Arc::new(weights), path: Some(self.path.clone()), warning: None },
            Err(why) => InUse::built_in(Some(self.warning(&why))),
        };

        *last = Some((stamp, in_use.clone()));
        in_use
    }

    fn warning(&self, why: &str) -> String {
        format!(
            "the weights in {} are not used, but the built-in ones: {why}; run `git codeweaver eval tune` again, \
             or `git codeweaver eval tune --undo`",
            self.path.display()
        )
    }
}

static BUILT_IN: std::sync::LazyLock<Arc<Weights>> = std::sync::LazyLock::new(|| Arc::new(WEIGHTS.clone()));

impl Stamp {
    fn new(metadata: &Metadata) -> Stamp {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(metadata);
        #[cfg(not(unix))]
        let inode = 0;

        Stamp { len: metadata.len(), modified: metadata.modified().ok(), inode }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_weights_within_their_bounds_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let written = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
            let mut value = serde_json::to_value(&*WEIGHTS).unwrap();
            change(value.as_object_mut().unwrap());
            std::fs::write(&path, value.to_string()).unwrap();
            read(&path)
        };
        assert_eq!(written(&|_| ()).as_ref(), Ok(&*WEIGHTS));
        assert_eq!(written(&|map| drop(map.insert("path".into(), 2.5.into()))).unwrap().path, 2.5);
        type Map = serde_json::Map<String, serde_json::Value>;
        type Change = fn(&mut Map);
        let changes: [(Change, &str); 5] = [
            (|map| drop(map.remove("path")), "missing field `path`"),
            (|map| drop(map.insert("pth".into(), 1.into())), "unknown field `pth`"),
            (|map| drop(map.insert("path".into(), (-1).into())), "`path` is -1"),
            (|map| drop(map.insert("path".into(), 1e9.into())), "`path` is 1000000000"),
            (|map| drop(map.insert("path".into(), serde_json::Value::Null)), "invalid type: null"),
        ];
        for (change, why) in changes {
            let error = written(&change).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        std::fs::write(&path, vec![b' '; MAX_BYTES as usize + 1]).unwrap();
        assert!(read(&path).unwrap_err().contains("at most"));
        assert!(read(folder.path()).is_err());
    }
}
