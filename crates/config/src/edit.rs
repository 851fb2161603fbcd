//! Changes one key of a settings file. Comments and order are kept.

use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike};

use codeweaver_base::durable::Replacement;
use codeweaver_base::real_path;

use super::error::{ConfigError, Problem};
use super::files::{self, REPOSITORY_FILE_NAME};
use super::keys::find;
use super::load::check_assignment;
use super::loaded::Loaded;
use super::origin::Origin;
use super::settings::Settings;
use super::sources::Sources;
use super::value::Value;
use super::yaml;

/// Writes `key = value` into `file`, which is created if it does not exist.
///
/// The value is parsed as on the command line (lists separated by commas or as in TOML). The file is replaced
/// atomically, and only if the result is valid. A file named `codeweaver.toml` belongs to a repository:
/// user-only keys are rejected there, and so is a symbolic link, which could point outside the repository.
/// YAML beside `file` is not edited; the error gives the lines to write.
pub fn set(file: &Path, key: &str, value: &str) -> Result<(), ConfigError> {
    let (spec, value) = check_assignment(key, value).map_err(|error| {
        let origin = "command line".to_owned();
        ConfigError::Invalid(vec![Problem { origin, message: error.message, suggestion: error.suggestion }])
    })?;

    if spec.user_only && is_repository_file(file) {
        return Err(ConfigError::UserOnly { key: key.to_owned() });
    }

    if let Some(path) = yaml_of(file)? {
        let change = format!("write there:\n{}", yaml::assignment(key, &value));
        return Err(ConfigError::Yaml { path, change });
    }

    edit(file, |document| put_setting(document, spec.path, key, value))
}

/// Removes `key` from `file`, so that sources of lower precedence apply, together with the tables that become
/// empty, and with the file if nothing is left in it. Does nothing if the key is absent.
pub fn unset(file: &Path, key: &str) -> Result<(), ConfigError> {
    let Some((spec, entry)) = find(key) else {
        return set(file, key, ""); // fails with the error for unknown keys
    };

    let mut segments = path_segments(spec.path);
    segments.extend(entry);

    if let Some(path) = yaml_of(file)? {
        let loaded = load(&path)?;
        return match loaded.origins.get(key) {
            Some(Origin::File { .. }) => {
                Err(ConfigError::Yaml { path, change: format!("remove `{key}` there") })
            }
            _ => Ok(()),
        };
    }

    if !file.exists() {
        return Ok(());
    }

    edit(file, |document| {
        remove(document.as_table_mut(), &segments);
    })
}

/// Puts the value of `key`, which is the key at `path` or an entry of the table there, into a document.
fn put_setting(document: &mut DocumentMut, path: &str, key: &str, value: Value) {
    let segments = path_segments(path);

    match value {
        // An entry of a table is added; the others stay.
        Value::Table(entries) if find(key).is_some_and(|(_, entry)| entry.is_some()) => {
            for (entry, text) in entries {
                put(document, &[&segments[..], &[entry.as_str()]].concat(), text.into());
            }
        }
        value => {
            if let Some(value) = value.to_toml() {
                put(document, &segments, value);
            }
        }
    }
}

/// Removes the value at a path, and each table on the way that becomes empty and has no comment. Returns
/// whether there was such a value.
fn remove(table: &mut dyn TableLike, segments: &[&str]) -> bool {
    match segments {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let Some(item) = table.get_mut(first) else { return false };
            let removed = item.as_table_like_mut().is_some_and(|inner| remove(inner, rest));

            if removed && item.as_table_like().is_some_and(TableLike::is_empty) && !has_comment(item) {
                table.remove(first);
            }
            removed
        }
    }
}

/// Returns whether a comment stands before or after a table.
fn has_comment(table: &Item) -> bool {
    let decor = match table {
        Item::Table(table) => table.decor(),
        Item::Value(value) => value.decor(),
        Item::ArrayOfTables(_) | Item::None => return false,
    };

    [decor.prefix(), decor.suffix()]
        .into_iter()
        .flatten()
        .any(|text| text.as_str().is_none_or(|text| text.contains('#')))
}

/// Returns the YAML file that has the settings of `file`.
///
/// # Errors
///
/// If there are several files.
fn yaml_of(file: &Path) -> Result<Option<PathBuf>, ConfigError> {
    Ok(files::present(file)?.filter(|path| files::is_yaml(path)))
}

fn path_segments(path: &str) -> Vec<&str> {
    path.split('.').collect()
}

fn is_repository_file(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == REPOSITORY_FILE_NAME)
}

/// Sets the value at a path, keeping the comments of an existing value.
fn put(document: &mut DocumentMut, segments: &[&str], mut value: toml_edit::Value) {
    let Some((last, parents)) = segments.split_last() else { return };
    let mut at: &mut dyn TableLike = document.as_table_mut();

    for parent in parents {
        let is_inside_inline = at.get(parent).is_some_and(|item| item.is_inline_table());
        let is_missing = at.get(parent).is_none_or(|item| item.as_table_like().is_none());
        if is_missing {
            // An implicit table has no header of its own until a value is put into it.
            let mut table = Table::new();
            table.set_implicit(true);
            let created =
                if is_inside_inline { Item::Value(InlineTable::new().into()) } else { Item::Table(table) };
            at.insert(parent, created);
        }

        match at.get_mut(parent).and_then(Item::as_table_like_mut) {
            Some(table) => at = table,
            None => return,
        }
    }

    if let Some(existing) = at.get(last).and_then(Item::as_value) {
        *value.decor_mut() = existing.decor().clone();
    }

    // An existing item keeps its key, and with it the comments above.
    match at.get_mut(last) {
        Some(item) => *item = Item::Value(value),
        None => {
            at.insert(last, Item::Value(value));
        }
    }
}

/// Changes the document of a file and writes it if the result is valid.
fn edit(file: &Path, change: impl FnOnce(&mut DocumentMut)) -> Result<(), ConfigError> {
    let is_link = std::fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
    if is_link && is_repository_file(file) {
        return Err(ConfigError::Symlink { path: file.to_owned() });
    }

    // A user file may be a link into a directory of dot files: the link is kept and its target changed.
    let target: PathBuf = if is_link {
        real_path::canonicalize(file).unwrap_or_else(|_| file.to_owned())
    } else {
        file.to_owned()
    };

    let before = match std::fs::read(&target) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(ConfigError::Read { path: file.to_owned(), source }),
    };

    validate(file)?;

    let text = String::from_utf8_lossy(&before);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
        let (origin, message) = (file.display().to_string(), error.message().to_owned());
        ConfigError::Invalid(vec![Problem { origin, message, suggestion: None }])
    })?;
    change(&mut document);

    let mut after = document.to_string();
    if !text.starts_with('\n') {
        // Removes the blank lines above a table that has become the first.
        after.drain(..after.len() - after.trim_start_matches('\n').len());
    }

    // The editor writes `\n` only; files from Windows keep their line ends.
    if text.contains("\r\n") {
        after = after.replace("\r\n", "\n").replace('\n', "\r\n");
    }

    // A file that this change has emptied is of no use, and git would show it to everyone.
    if after.trim().is_empty() && !text.trim().is_empty() && !is_link {
        return std::fs::remove_file(&target)
            .map_err(|source| ConfigError::Write { path: file.to_owned(), source });
    }

    write_atomically(file, &target, after.as_bytes())
}

/// Fails if `file` is invalid. An invalid file is not edited, so that its errors refer to unchanged text.
fn validate(file: &Path) -> Result<(), ConfigError> {
    load(file).map(drop)
}

fn load(file: &Path) -> Result<Loaded, ConfigError> {
    Settings::load(&Sources { user_file: Some(file.to_owned()), ..Sources::default() })
}

/// Writes `bytes` to a temporary file beside `target`, validates it, and renames it over `target`.
fn write_atomically(file: &Path, target: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    let write_error = |source| ConfigError::Write { path: file.to_owned(), source };

    let dir = target.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(dir).map_err(write_error)?;

    let replacement = Replacement::new(target).named(".codeweaver-", ".toml").mode(0o644);
    let staged = replacement.stage(bytes).map_err(write_error)?;
    staged.sync().map_err(write_error)?;

    let temporary = staged.temporary_path();
    // The new file is read as any other before it replaces the old one.
    validate(temporary).map_err(|error| with_final_path(error, temporary, file))?;

    // The file keeps its permissions; failing that is no reason not to write it.
    if let Ok(metadata) = std::fs::metadata(target) {
        let _ = staged.set_permissions(metadata.permissions());
    }

    staged.commit().map_err(write_error)
}

/// Replaces the path of the temporary file by `file` in an error.
fn with_final_path(error: ConfigError, temporary: &Path, file: &Path) -> ConfigError {
    match error {
        ConfigError::Invalid(problems) => {
            let (temporary, file) = (temporary.to_string_lossy(), file.to_string_lossy());
            let mut named = Vec::with_capacity(problems.len());

            for problem in problems {
                let origin = problem.origin.replace(&*temporary, &file);
                named.push(Problem { origin, ..problem });
            }

            ConfigError::Invalid(named)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(before: &str, name: &str, key: &str, value: &str) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, before).unwrap();
        set(&file, key, value).map_err(|error| error.to_string())?;
        Ok(std::fs::read_to_string(&file).unwrap())
    }

    #[test]
    fn an_edit_keeps_comments_and_order() {
        let before = "# top\n[search] # section\nlimit = 5 # five\n# end\n";
        let after = edited(before, "config.toml", "search.limit", "7").unwrap();
        assert_eq!(after, "# top\n[search] # section\nlimit = 7 # five\n# end\n");
        let after = edited(before, "config.toml", "chunker.markdown.overlap", "10").unwrap();
        assert!(
            after.starts_with("# top\n[search] # section\nlimit = 5 # five\n") && after.contains("# end"),
            "{after}"
        );
        assert!(after.contains("[chunker.markdown]\noverlap = 10"), "{after}");
    }

    #[test]
    fn tables_lists_and_line_endings_are_written_correctly() {
        let after = edited("", "codeweaver.toml", "policy.file_extensions.inc", "php").unwrap();
        assert_eq!(after, "[policy.file_extensions]\ninc = \"php\"\n");
        let after = edited(&after, "codeweaver.toml", "policy.file_extensions.foo", "c").unwrap();
        assert_eq!(after, "[policy.file_extensions]\ninc = \"php\"\nfoo = \"c\"\n");
        let after = edited("", "codeweaver.toml", "policy.exclude", "a/**,b").unwrap();
        assert_eq!(after, "[policy]\nexclude = [\"a/**\", \"b\"]\n");
        let after = edited("\u{feff}search.limit = 1\r\n", "codeweaver.toml", "search.limit", "2").unwrap();
        assert_eq!(after, "search.limit = 2\r\n");
        let after = edited("policy = { exclude = [] }\n", "codeweaver.toml", "policy.max_blob_bytes", "2048")
            .unwrap();
        assert!(after.contains("max_blob_bytes = 2048"), "{after}");
    }

    #[test]
    fn an_invalid_edit_fails() {
        for (before, name, key, value) in [
            ("", "config.toml", "search.limit", "0"),
            ("", "config.toml", "serch.limit", "1"),
            ("broken = = 1", "config.toml", "search.limit", "1"),
            ("unknown = 1", "config.toml", "search.limit", "1"),
            ("", "codeweaver.toml", "model.path", "/x"),
            ("", "config.toml", "chunker.target_tokens", "5000"),
        ] {
            assert!(edited(before, name, key, value).is_err(), "{before} {key}");
        }
        let error = edited("", "config.toml", "chunker.target_tokens", "5000").unwrap_err();
        assert!(error.contains("config.toml:"), "{error}");
    }

    #[test]
    fn set_creates_a_file_and_unset_removes_a_key() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/b/config.toml");
        set(&file, "search.limit", "4").unwrap();
        set(&file, "hooks.mode", "foreground").unwrap();
        unset(&file, "search.limit").unwrap();
        unset(&file, "search.timeout_ms").unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("limit") && text.contains("mode = \"foreground\""), "{text}");
        assert!(unset(&file, "serch.limit").is_err());

        unset(&file, "hooks.mode").unwrap();
        assert!(!file.exists(), "nothing is left in it");
        std::fs::write(&file, "# mine\n[search]\nlimit = 4\n").unwrap();
        unset(&file, "search.limit").unwrap();
        assert!(file.exists(), "a comment is left in it");
    }

    #[test]
    fn unset_leaves_no_empty_tables_and_loses_no_comment() {
        let unset_in = |before: &str, key: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("config.toml");
            std::fs::write(&file, before).unwrap();
            unset(&file, key).unwrap();
            // A file without a setting or a comment is removed.
            if file.exists() { std::fs::read_to_string(&file).unwrap() } else { String::new() }
        };
        for (before, key, after) in [
            ("[search]\nlimit = 5\n", "search.limit", ""),
            ("[search]\nlimit = 5\n\n[index]\nthreads = 2\n", "search.limit", "[index]\nthreads = 2\n"),
            ("[search]\nlimit = 5\nmin_score = 0.5\n", "search.limit", "[search]\nmin_score = 0.5\n"),
            ("[chunker.markdown]\noverlap = 10\n", "chunker.markdown.overlap", ""),
            ("[policy.file_extensions]\ninc = \"php\"\n", "policy.file_extensions.inc", ""),
            ("search = { limit = 5 }\nindex.threads = 2\n", "search.limit", "index.threads = 2\n"),
            ("search.limit = 5\n", "search.limit", ""),
            ("# mine\n[search]\nlimit = 5\n", "search.limit", "# mine\n[search]\n"),
            ("[search] # mine\nlimit = 5\n", "search.limit", "[search] # mine\n"),
            ("[search]\nlimit = 5\n# end\n", "search.limit", "# end\n"),
            ("[search]\n", "search.limit", "[search]\n"),
        ] {
            assert_eq!(unset_in(before, key), after, "{before}");
        }
    }

    #[test]
    fn yaml_is_not_edited_and_the_error_says_what_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let (file, yaml) = (folder.path().join("config.toml"), folder.path().join("config.yml"));
        let text = "search:\n  limit: 5 # five\n";
        std::fs::write(&yaml, text).unwrap();
        for (key, value, lines) in [
            ("search.min_score", "0.5", "search:\n  min_score: 0.5"),
            ("policy.exclude", "a/**,b", "policy:\n  exclude: [\"a/**\",\"b\"]"),
            ("policy.file_extensions.inc", "php", "policy:\n  file_extensions:\n    inc: \"php\""),
            ("chunker.markdown.overlap", "10", "chunker:\n  markdown:\n    overlap: 10"),
        ] {
            let error = set(&file, key, value).unwrap_err();
            assert!(matches!(&error, ConfigError::Yaml { path, .. } if *path == yaml), "{error}");
            assert!(error.fix().ends_with(lines), "{}", error.fix());
            std::fs::write(&yaml, lines).unwrap();
            let written = load(&yaml).unwrap();
            assert!(matches!(written.origins[key], Origin::File { .. }), "{lines}");
            std::fs::write(&yaml, text).unwrap();
        }
        assert!(set(&file, "search.limit", "0").unwrap_err().to_string().contains("from 1 to 1000"));
        assert!(unset(&file, "search.limit").unwrap_err().fix().contains("remove `search.limit`"));
        unset(&file, "search.min_score").unwrap();
        assert_eq!(std::fs::read_to_string(&yaml).unwrap(), text);
        assert!(!file.exists());
        std::fs::write(&file, "").unwrap();
        assert!(matches!(set(&file, "search.limit", "7"), Err(ConfigError::Several { .. })));
    }

    #[test]
    #[cfg(unix)]
    fn a_symlinked_repository_file_is_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join(REPOSITORY_FILE_NAME));
        std::fs::write(&victim, "search.limit = 1\n").unwrap();
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(matches!(set(&link, "search.limit", "2"), Err(ConfigError::Symlink { .. })));
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "search.limit = 1\n");
        let own = folder.path().join("config.toml");
        std::os::unix::fs::symlink(&victim, &own).unwrap();
        set(&own, "search.limit", "2").unwrap();
        assert!(own.is_symlink());
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "search.limit = 2\n");
    }
}
