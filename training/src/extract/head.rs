//! Makes pairs from the files of the head tree of a repository that the product's policy accepts.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use codeweaver_chunk::LanguageId;
use codeweaver_chunk::language::Nature;
use codeweaver_config::{ChunkerSettings, PolicySettings};
use codeweaver_git::{BStr, ByteSlice as _, Mode, Oid, Repo, walk_tree};
use codeweaver_index::policy::{Exempt, PathDecision, PathFlags, Policy};

use super::filter::{Collector, stable_hash};
use super::licence::{self, Verdict};
use super::source::{self, SourceFile};
use super::{markdown, syntax};

const MAX_FILE_BYTES: u64 = 256 << 10;
/// Maximum number of files that are read. If there are more, they are chosen evenly.
const MAX_FILES: usize = 6_000;
/// Length of the file header that is searched for generator and licence notices, in bytes.
const BEGINNING: usize = 3_000;

/// Names of directories with test data or third-party code.
const NOT_CODE_FOLDERS: &[&str] = &[
    "fixtures",
    "fixture",
    "testdata",
    "test-data",
    "test_data",
    "__snapshots__",
    "snapshots",
    "golden",
    "goldens",
    "baselines",
    "corpus",
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "thirdparty",
    "3rdparty",
    "node_modules",
    "external",
    "externals",
    "deps",
    "dist",
    "__fixtures__",
    "__mocks__",
    "bundled",
    "resources",
];

/// Choice of the files of a repository that are used, for its head and its history.
pub struct Files {
    policy: Policy,
    /// Directories under a non-permissive licence of their own, with a trailing `/`.
    refused_folders: Vec<String>,
    /// Whether `.h` headers are C++.
    headers_are_cpp: bool,
}

/// Use of a path in the extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Code { language: Option<LanguageId>, is_test: bool },
    Markdown,
}

/// A listed file of the head tree.
pub struct HeadFile {
    path: String,
    oid: Oid,
    role: Role,
}

impl Files {
    /// Returns the rule for all paths, the files of the head tree that are used, and the number of skipped
    /// files by reason.
    pub fn list(
        repo: &Repo,
        tree: &Oid,
    ) -> anyhow::Result<(Files, Vec<HeadFile>, BTreeMap<&'static str, u64>)> {
        let policy = Policy::for_tree(repo, Some(tree), &PolicySettings::default())?;
        let mut files = Files { policy, refused_folders: Vec::new(), headers_are_cpp: false };
        let entries = walk_tree(repo, tree)?;
        let mut blobs = repo.blobs();
        for entry in &entries {
            let path = entry.path.to_str_lossy();
            let Some((folder, name)) = path.rsplit_once('/') else { continue };
            if entry.mode == Mode::File
                && licence::is_licence_file(name)
                && blobs.size(&entry.oid)?.is_some_and(|size| size < MAX_FILE_BYTES)
            {
                let text = blobs.read(&entry.oid)?.unwrap_or_default().to_str_lossy().into_owned();
                // A directory of licence texts (such as `LICENSES/`) does not license its content.
                let is_collection = folder.to_ascii_lowercase().contains("licen");
                if matches!(licence::recognise(&text), Verdict::Other(_)) && !is_collection {
                    files.refused_folders.push(format!("{folder}/"));
                }
            }
        }
        let mut skipped: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut list = Vec::new();
        for entry in entries {
            match files.role(entry.path.as_ref(), entry.mode) {
                Ok(role) => {
                    list.push(HeadFile { path: entry.path.to_str_lossy().into_owned(), oid: entry.oid, role })
                }
                Err(reason) => *skipped.entry(reason).or_default() += 1,
            }
        }
        files.headers_are_cpp = headers_are_cpp(&list);
        Ok((files, list, skipped))
    }

    /// Use of a path, or the reason why it is skipped.
    pub fn role(&self, path: &BStr, mode: Mode) -> Result<Role, &'static str> {
        let text = path.to_str().map_err(|_| "path_not_utf8")?;
        let (language, flags) = match self.policy.decide_path(path, mode) {
            PathDecision::Index { language, flags, .. } => (language, flags),
            PathDecision::Skip(reason) => return Err(reason.name()),
        };
        if text
            .rsplit('/')
            .skip(1)
            .any(|folder| NOT_CODE_FOLDERS.contains(&folder.to_ascii_lowercase().as_str()))
        {
            return Err("fixture_or_vendored");
        }
        if self.refused_folders.iter().any(|folder| text.starts_with(folder.as_str())) {
            return Err("licence_of_folder");
        }
        if flags.contains(PathFlags::VENDORED_LIKE) {
            return Err("fixture_or_vendored");
        }
        let is_test = flags.contains(PathFlags::TEST);
        match language {
            Some(language) if language.name() == "markdown" => Ok(Role::Markdown),
            Some(language)
                if language.nature() != Nature::Code
                    || matches!(
                        language.name(),
                        "css" | "html" | "scss" | "less" | "svg" | "ignore_list"
                    ) =>
            {
                Err("not_code")
            }
            Some(language) if self.headers_are_cpp && language.name() == "c" && text.ends_with(".h") => {
                Ok(Role::Code { language: LanguageId::by_name("cpp"), is_test })
            }
            language => Ok(Role::Code { language, is_test }),
        }
    }

    /// Language of a file, or the reason why it is skipped.
    pub fn check_bytes(
        &self,
        path: &str,
        language: Option<LanguageId>,
        bytes: &[u8],
    ) -> Result<LanguageId, &'static str> {
        if let Some(reason) = self.policy.decide_blob(bytes, Exempt::default()) {
            return Err(reason.name());
        }
        let language = self.policy.language(language, path.into(), bytes);
        if language.nature() != Nature::Code {
            return Err("not_code");
        }
        let beginning = bytes[..bytes.len().min(BEGINNING)].to_str_lossy().to_lowercase();
        const GENERATED: [&str; 8] = [
            "code generated",
            "do not edit",
            "@generated",
            "auto-generated",
            "autogenerated",
            "automatically generated",
            "this file was generated",
            "generated by ",
        ];
        if GENERATED.iter().any(|mark| beginning.contains(mark)) {
            return Err("generated");
        }
        const COPYLEFT: [&str; 6] = [
            "gnu general public license",
            "gnu lesser general",
            "gnu library general",
            "mozilla public license",
            "identifier: gpl",
            "identifier: lgpl",
        ];
        if COPYLEFT.iter().any(|mark| beginning.contains(mark)) {
            return Err("licence_of_file");
        }
        Ok(language)
    }
}

/// Whether the repository has more `.cc`, `.cpp`, … than `.c` files; without either, whether it has `.hpp`
/// files.
fn headers_are_cpp(list: &[HeadFile]) -> bool {
    let count = |wanted: &dyn Fn(&str) -> bool| list.iter().filter(|file| wanted(&file.path)).count();
    let c = count(&|path| path.ends_with(".c"));
    let cpp = count(&|path| {
        [".cc", ".cpp", ".cxx", ".hpp", ".hh", ".hxx"].iter().any(|extension| path.ends_with(extension))
    });
    cpp > c
}

/// Adds the pairs of the head tree, in an order that gives an even choice if time runs out; returns whether
/// all files were read.
pub fn add_pairs(
    repo: &Repo,
    files: &Files,
    mut list: Vec<HeadFile>,
    budget: Duration,
    collector: &mut Collector,
    skipped: &mut BTreeMap<&'static str, u64>,
) -> anyhow::Result<bool> {
    let started = Instant::now();
    let settings = ChunkerSettings::default();
    list.sort_by_key(|file| stable_hash([file.path.as_str()]));
    let mut blobs = repo.blobs();
    let complete = list.len() <= MAX_FILES;
    for file in list.into_iter().take(MAX_FILES) {
        if started.elapsed() > budget {
            return Ok(false);
        }
        let mut skip = |reason| *skipped.entry(reason).or_default() += 1;
        if blobs.size(&file.oid)?.is_none_or(|size| size > MAX_FILE_BYTES) {
            skip("too_large");
            continue;
        }
        let bytes = blobs.read(&file.oid)?.unwrap_or_default();
        let Ok(text) = std::str::from_utf8(bytes) else {
            skip("not_utf8");
            continue;
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
        match file.role {
            Role::Markdown => markdown::add_pairs(&file.path, &text, collector),
            Role::Code { language, is_test } => {
                match files.check_bytes(&file.path, language, text.as_bytes()) {
                    Ok(language) => {
                        source::add_pairs(
                            &SourceFile { path: &file.path, text: &text, language, is_test },
                            &settings,
                            collector,
                        );
                    }
                    Err(reason) => skip(reason),
                }
            }
        }
    }
    Ok(complete)
}

/// A file without its licence header, for code that starts at the beginning of the file.
pub fn without_licence(text: &str, language: &str) -> String {
    let legal = source::legal_comments(text, language);
    if legal.is_empty() { text.to_owned() } else { syntax::without(text, 0, legal) }
}
