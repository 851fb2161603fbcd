//! Repositories of the source trees in `fixtures/`.

use std::path::{Path, PathBuf};

use codeweaver_testkit::TestRepo;

/// The path of a file or folder of this repository.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A repository with one commit of the folder `fixtures/NAME`.
pub fn fixture(name: &str) -> TestRepo {
    let repo = TestRepo::init();
    copy(&repo, &here("fixtures").join(name), "");
    repo.commit("fixture");
    repo
}

/// Writes `from`, a file or all files below a folder, to the path `to` of `repo`.
pub fn copy(repo: &TestRepo, from: &Path, to: &str) {
    if from.is_dir() {
        for child in std::fs::read_dir(from).unwrap().flatten() {
            let name = child.file_name().into_string().unwrap();
            copy(repo, &child.path(), &if to.is_empty() { name } else { format!("{to}/{name}") });
        }
    } else {
        repo.write(to, std::fs::read(from).unwrap());
    }
}
