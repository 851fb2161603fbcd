//! Locations of configurations on each system. Only this module of `clients` reads environment variables.

use std::ffi::OsString;
use std::path::PathBuf;

/// A directory that places are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// `HOME`, on Windows `USERPROFILE`.
    Home,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    XdgConfig,
    /// `~/.config`, regardless of `XDG_CONFIG_HOME`.
    DotConfig,
    /// `~/Library/Application Support`.
    Support,
    /// `APPDATA`, or `~/AppData/Roaming`.
    Roaming,
}

/// Location of a file on each system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Environment variable that overrides the location, and the path relative to its value.
    pub variable: Option<(&'static str, &'static str)>,
    pub linux: (Base, &'static str),
    pub macos: (Base, &'static str),
    pub windows: (Base, &'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    Linux,
    MacOs,
    Windows,
}

/// The operating system and the environment variables.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    os: Option<Os>,
    variables: Vec<(String, OsString)>,
}

impl Place {
    const fn everywhere(base: Base, path: &'static str) -> Place {
        Place { variable: None, linux: (base, path), macos: (base, path), windows: (base, path) }
    }

    /// Relative to the home directory on every system.
    pub const fn home(path: &'static str) -> Place {
        Place::everywhere(Base::Home, path)
    }

    /// Relative to the XDG configuration directory on every system.
    pub const fn dot_config(path: &'static str) -> Place {
        Place::everywhere(Base::XdgConfig, path)
    }

    /// Relative to the standard directory for application data of each system.
    pub const fn program(path: &'static str) -> Place {
        Place {
            variable: None,
            linux: (Base::XdgConfig, path),
            macos: (Base::Support, path),
            windows: (Base::Roaming, path),
        }
    }

    /// The same place, at `path` in the directory `variable` if that is set.
    pub const fn overridden_by(self, variable: &'static str, path: &'static str) -> Place {
        Place { variable: Some((variable, path)), ..self }
    }
}

impl Environment {
    /// The environment of this process.
    pub fn from_process() -> Environment {
        let os = if cfg!(windows) {
            Os::Windows
        } else if cfg!(target_os = "macos") {
            Os::MacOs
        } else {
            Os::Linux
        };

        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Environment { os: Some(os), variables: variables.collect() }
    }

    /// The path of `place`; `None` if the home directory is not known.
    pub fn find(&self, place: &Place) -> Option<PathBuf> {
        if let Some((name, path)) = place.variable
            && let Some(dir) = self.directory(name)
        {
            return Some(dir.join(path));
        }

        let (base, path) = match self.os() {
            Os::Linux => place.linux,
            Os::MacOs => place.macos,
            Os::Windows => place.windows,
        };

        Some(self.base(base)?.join(path))
    }

    /// The path of a state file of this program.
    pub fn state_file(&self, name: &str) -> Option<PathBuf> {
        let dir = match self.os() {
            Os::Linux => self
                .directory("XDG_STATE_HOME")
                .or_else(|| Some(self.base(Base::Home)?.join(".local/state")))?,
            Os::MacOs => self.base(Base::Support)?,
            Os::Windows => self.directory("LOCALAPPDATA").or_else(|| self.base(Base::Roaming))?,
        };

        Some(dir.join("codeweaver").join(name))
    }

    /// Finds a program on `PATH`.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let file = format!(
            "{}{}",
            name.trim_end_matches(std::env::consts::EXE_SUFFIX),
            std::env::consts::EXE_SUFFIX
        );

        let mut files = std::env::split_paths(self.value("PATH")?).map(|dir| dir.join(&file));
        // A relative directory in `PATH` depends on where the client is started.
        files.find(|file| file.is_absolute() && file.is_file())
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        let home = match self.os() {
            Os::Windows => self.directory("USERPROFILE").or_else(|| self.directory("HOME")),
            _ => self.directory("HOME"),
        };

        match base {
            Base::Home => home,
            Base::XdgConfig => self.directory("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config"))),
            Base::DotConfig => Some(home?.join(".config")),
            Base::Support => Some(home?.join("Library/Application Support")),
            Base::Roaming => self.directory("APPDATA").or_else(|| Some(home?.join("AppData/Roaming"))),
        }
    }

    fn os(&self) -> Os {
        self.os.unwrap_or(Os::Linux)
    }

    fn value(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The directory in a variable. A relative path would depend on where the client is started and is
    /// ignored.
    fn directory(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{CLIENTS, find};
    use super::*;

    fn with(os: Os, variables: &[(&str, &str)]) -> Environment {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        Environment { os: Some(os), variables }
    }

    fn file(environment: &Environment, client: &str) -> String {
        environment.find(&find(client).unwrap().user[0]).unwrap().to_string_lossy().replace('\\', "/")
    }

    #[test]
    fn every_client_has_a_location_on_every_system() {
        let home = &[("HOME", "/h"), ("USERPROFILE", "/h"), ("APPDATA", "/h/AppData/Roaming")];
        let places = |os| CLIENTS.map(|client| file(&with(os, home), client.id));
        assert_eq!(
            places(Os::Linux),
            [
                "/h/.claude.json",
                "/h/.config/Claude/claude_desktop_config.json",
                "/h/.cursor/mcp.json",
                "/h/.config/Code/User/mcp.json",
                "/h/.codex/config.toml",
                "/h/.gemini/settings.json",
                "/h/.config/opencode/opencode.json",
                "/h/.config/zed/settings.json",
                "/h/.codeium/windsurf/mcp_config.json",
                "/h/.config/goose/config.yaml",
            ]
        );
        let mac = places(Os::MacOs);
        assert_eq!(mac[1], "/h/Library/Application Support/Claude/claude_desktop_config.json");
        assert_eq!(mac[3], "/h/Library/Application Support/Code/User/mcp.json");
        assert_eq!([&mac[7], &mac[9]], ["/h/.config/zed/settings.json", "/h/.config/goose/config.yaml"]);
        let windows = places(Os::Windows);
        assert_eq!(windows[1], "/h/AppData/Roaming/Claude/claude_desktop_config.json");
        assert_eq!(windows[2], "/h/.cursor/mcp.json");
        assert_eq!(windows[6], "/h/.config/opencode/opencode.json");
        assert_eq!(windows[7], "/h/AppData/Roaming/Zed/settings.json");
        assert_eq!(windows[9], "/h/AppData/Roaming/Block/goose/config/config.yaml");
    }

    #[test]
    fn variables_override_locations_unless_they_are_relative() {
        let moved = with(
            Os::Linux,
            &[("HOME", "/h"), ("CODEX_HOME", "/c"), ("XDG_CONFIG_HOME", "/x"), ("CLAUDE_CONFIG_DIR", "rel")],
        );
        assert_eq!(file(&moved, "codex"), "/c/config.toml");
        assert_eq!(file(&moved, "zed"), "/x/zed/settings.json");
        assert_eq!(file(&moved, "claude-code"), "/h/.claude.json");
        assert_eq!(moved.state_file("f").unwrap(), PathBuf::from("/h/.local/state/codeweaver/f"));
        assert_eq!(with(Os::Linux, &[]).find(&CLIENTS[0].user[0]), None);
    }
}
