//! Audience: the weight of a document by the people that it is for, which its path tells.

/// Weight of a change log: it says what has changed, not how things are.
const CHANGE_LOG_SHARE: f32 = 0.5;
/// Weight of a document for those who develop the software, or about its announcement.
const ASIDE_SHARE: f32 = 0.75;

/// Beginnings of the names of change logs.
const CHANGE_LOGS: [&str; 8] =
    ["changelog", "changes", "history", "news", "upgrad", "release_notes", "release-notes", "releases"];
/// Beginnings of the names of files and directories that are not for those who use the software.
const ASIDES: [&str; 11] = [
    "blog",
    "announc",
    "design",
    "contribut",
    "internals",
    "technical",
    "adr",
    "rfc",
    "proposal",
    "roadmap",
    "governance",
];

/// Returns the weight of the document at `path`, as a share of that of one for users.
pub fn share(path: &str) -> f32 {
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    if CHANGE_LOGS.iter().any(|start| name.starts_with(start)) {
        return CHANGE_LOG_SHARE;
    }

    let is_aside = path.split('/').any(|part| ASIDES.iter().any(|start| part.starts_with(start)));
    if is_aside { ASIDE_SHARE } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_logs_and_documents_for_developers_count_less() {
        assert_eq!(share("docs/guide.md"), 1.0);
        assert_eq!(share("docs/Changes.rst"), CHANGE_LOG_SHARE);
        assert_eq!(share("docs/blog/announcing-2.md"), ASIDE_SHARE);
        assert_eq!(share("CONTRIBUTING.md"), ASIDE_SHARE);
    }
}
