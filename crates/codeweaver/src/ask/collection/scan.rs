//! Scan: the documents in directories, with their times and sizes. Reads no contents.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use codeweaver_chunk::document;

use super::manifest::FileRecord;

/// The documents that were found, and the paths that were left out.
#[derive(Debug, Default)]
pub struct Scan {
    /// Records of the documents, by absolute path.
    pub files: BTreeMap<PathBuf, FileRecord>,
    pub skipped: Vec<Skipped>,
}

/// A directory or file that is left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Skipped {
    Missing(PathBuf),
    NotADirectory(PathBuf),
    /// It has more documents than this.
    TooManyFiles(PathBuf, usize),
    /// The file has more bytes than this.
    TooLarge(PathBuf, u64),
    Unreadable(PathBuf),
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skipped::Missing(path) => write!(f, "{} does not exist", path.display()),
            Skipped::NotADirectory(path) => write!(f, "{} is not a directory", path.display()),
            Skipped::TooManyFiles(path, limit) => {
                write!(f, "{} has more than {limit} documents", path.display())
            }
            Skipped::TooLarge(path, limit) => write!(f, "{} has more than {limit} bytes", path.display()),
            Skipped::Unreadable(path) => write!(f, "{} cannot be read", path.display()),
        }
    }
}

/// The documents below `directories`, each of at most `max_bytes`. A directory with more than `max_files` is
/// left out as a whole. Hidden directories and symbolic links below them are not followed.
pub fn scan(directories: &[PathBuf], max_bytes: u64, max_files: usize) -> Scan {
    let mut scan = Scan::default();

    for directory in directories {
        match std::fs::metadata(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                scan.skipped.push(Skipped::Unreadable(directory.clone()));
            }
            Err(_) => scan.skipped.push(Skipped::Missing(directory.clone())),
            Ok(metadata) if !metadata.is_dir() => {
                scan.skipped.push(Skipped::NotADirectory(directory.clone()))
            }
            Ok(_) => {
                // It is scanned by itself first, because it may have to be left out as a whole.
                let mut found = Scan::default();
                if walk(directory, max_bytes, max_files, &mut found) {
                    scan.files.append(&mut found.files);
                    scan.skipped.append(&mut found.skipped);
                } else {
                    scan.skipped.push(Skipped::TooManyFiles(directory.clone(), max_files));
                }
            }
        }
    }

    scan
}

/// Adds the documents below `directory` to `found`. Returns false as soon as there are more than `max_files`.
fn walk(directory: &Path, max_bytes: u64, max_files: usize, found: &mut Scan) -> bool {
    let mut directories = vec![directory.to_owned()];

    while let Some(directory) = directories.pop() {
        let Ok(children) = std::fs::read_dir(&directory) else {
            found.skipped.push(Skipped::Unreadable(directory));
            continue;
        };

        for child in children.flatten() {
            let path = child.path();
            let Ok(metadata) = child.metadata() else { continue };

            if metadata.is_dir() {
                if !child.file_name().as_encoded_bytes().starts_with(b".") {
                    directories.push(path);
                }
            } else if metadata.is_file() && document::is_document(path.as_os_str().as_encoded_bytes()) {
                if metadata.len() > max_bytes {
                    found.skipped.push(Skipped::TooLarge(path, max_bytes));
                    continue;
                }

                found.files.insert(path, record(&metadata));
                if found.files.len() > max_files {
                    return false;
                }
            }
        }
    }

    true
}

fn record(metadata: &Metadata) -> FileRecord {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let mtime_ns = since.map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
    FileRecord { mtime_ns, size_bytes: metadata.len(), ..FileRecord::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_left_out_with_its_reason() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        for (path, text) in [
            ("a/one.md", "# 1"),
            ("a/deep/two.md", "# 2"),
            ("a/.git/three.md", ""),
            ("a/x.rs", ""),
            ("b/big.md", "12345678901"),
        ] {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), text).unwrap();
        }
        let directories = ["a", "missing", "a/x.rs", "b"].map(|name| root.join(name));
        let found = scan(&directories, 10, 2);
        let names: Vec<_> =
            found.files.keys().map(|path| path.strip_prefix(root).unwrap().to_owned()).collect();
        assert_eq!(names, [PathBuf::from("a/deep/two.md"), PathBuf::from("a/one.md")]);
        let [missing, file, big] = found.skipped.as_slice() else { panic!("{:?}", found.skipped) };
        assert!(matches!(missing, Skipped::Missing(_)) && matches!(file, Skipped::NotADirectory(_)));
        assert!(matches!(big, Skipped::TooLarge(_, 10)));
        assert!(matches!(scan(&directories[..1], 10, 1).skipped[..], [Skipped::TooManyFiles(_, 1)]));
    }
}
