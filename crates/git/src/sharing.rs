//! `core.sharedRepository`: the permissions of new files in a repository.

use super::Repo;

/// Read and written by the owner alone.
const PRIVATE: u32 = 0o600;
const GROUP: u32 = 0o660;
const EVERYBODY: u32 = 0o664;

impl Repo {
    /// Permission bits of files in the repository: 0600 unless `core.sharedRepository` shares it.
    ///
    /// A setting that git would refuse counts as private.
    pub fn file_mode(&self) -> u32 {
        let local = self.local();
        let config = local.config_snapshot();
        match config.string("core.sharedRepository") {
            Some(value) => parse(&value.to_string()),
            // A key without a value.
            None if config.boolean("core.sharedRepository") == Some(true) => GROUP,
            None => PRIVATE,
        }
    }
}

/// Returns the permission bits of directories for those of files. Directories can be entered by the users who
/// can read their files, and new files in them get their group.
pub fn directory_mode(file_mode: u32) -> u32 {
    let set_group = if file_mode & 0o070 != 0 { 0o2000 } else { 0 };
    file_mode | (file_mode & 0o444) >> 2 | set_group
}

/// Parses a value of `core.sharedRepository`.
fn parse(value: &str) -> u32 {
    match value.to_ascii_lowercase().as_str() {
        "umask" | "false" | "no" | "off" | "0" | "" => PRIVATE,
        "group" | "true" | "yes" | "on" | "1" => GROUP,
        "all" | "world" | "everybody" | "2" => EVERYBODY,
        octal => match u32::from_str_radix(octal, 8) {
            Ok(mode) if mode & 0o600 == 0o600 => mode & 0o666,
            _ => PRIVATE,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{OpenRepo as _, TestRepo};

    #[test]
    fn the_modes_are_those_of_git() {
        let cases = [
            ("umask", 0o600, 0o700),
            ("false", 0o600, 0o700),
            ("group", 0o660, 0o2770),
            ("true", 0o660, 0o2770),
            ("1", 0o660, 0o2770),
            ("all", 0o664, 0o2775),
            ("everybody", 0o664, 0o2775),
            ("2", 0o664, 0o2775),
            ("0660", 0o660, 0o2770),
            ("0640", 0o640, 0o2750),
            ("0600", 0o600, 0o700),
            ("0444", 0o600, 0o700),
            ("nonsense", 0o600, 0o700),
        ];
        let repo = TestRepo::init();
        assert_eq!(repo.open().file_mode(), 0o600);
        for (value, file, directory) in cases {
            if value != "0444" && value != "nonsense" {
                repo.git(["config", "core.sharedRepository", value]);
                assert_eq!(repo.open().file_mode(), file, "{value}");
            }
            assert_eq!((parse(value), directory_mode(file)), (file, directory), "{value}");
        }
    }
}
