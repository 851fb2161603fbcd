//! Where configurations lie on each system. The environment is read here and nowhere else in the setup.

use std::ffi::OsString;
use std::path::PathBuf;

/// A folder that places are relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// `HOME`, on Windows `USERPROFILE`.
    Home,
    /// `XDG_CONFIG_HOME`, or `~/.config`.
    XdgConfig,
    /// `~/.config`, whatever the variable says.
    DotConfig,
    /// `~/Library/Application Support`.
    Support,
    /// `APPDATA`, or `~/AppData/Roaming`.
    Roaming,
}

/// A file, per system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// If this variable is set, the file lies there, at this path below it.
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

/// The system and the variables that say where things are.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    os: Option<Os>,
    variables: Vec<(String, OsString)>,
}

impl Place {
    const fn everywhere(base: Base, path: &'static str) -> Place {
        Place { variable: None, linux: (base, path), macos: (base, path), windows: (base, path) }
    }

    /// Below the home directory on every system.
    pub const fn home(path: &'static str) -> Place {
        Place::everywhere(Base::Home, path)
    }

    /// Below the XDG folder on every system.
    pub const fn dot_config(path: &'static str) -> Place {
        Place::everywhere(Base::XdgConfig, path)
    }

    /// Where the system wants the data of programs.
    pub const fn program(path: &'static str) -> Place {
        Place {
            variable: None,
            linux: (Base::XdgConfig, path),
            macos: (Base::Support, path),
            windows: (Base::Roaming, path),
        }
    }

    /// The same, unless `variable` names the folder of `path`.
    pub const fn moved_by(self, variable: &'static str, path: &'static str) -> Place {
        Place { variable: Some((variable, path)), ..self }
    }
}

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Surroundings {
        let os = if cfg!(windows) {
            Os::Windows
        } else if cfg!(target_os = "macos") {
            Os::MacOs
        } else {
            Os::Linux
        };
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
        Surroundings { os: Some(os), variables: variables.collect() }
    }

    /// The file of `place`; `None` if no variable says where the home directory is.
    pub fn find(&self, place: &Place) -> Option<PathBuf> {
        if let Some((name, path)) = place.variable
            && let Some(folder) = self.folder(name)
        {
            return Some(folder.join(path));
        }
        let (base, path) = match self.os() {
            Os::Linux => place.linux,
            Os::MacOs => place.macos,
            Os::Windows => place.windows,
        };
        Some(self.base(base)?.join(path))
    }

    /// Where this program keeps what it must remember of its own doings.
    pub fn state_file(&self, name: &str) -> Option<PathBuf> {
        let folder = match self.os() {
            Os::Linux => {
                self.folder("XDG_STATE_HOME").or_else(|| Some(self.base(Base::Home)?.join(".local/state")))?
            }
            Os::MacOs => self.base(Base::Support)?,
            Os::Windows => self.folder("LOCALAPPDATA").or_else(|| self.base(Base::Roaming))?,
        };
        Some(folder.join("codeweaver").join(name))
    }

    /// The program of this name that the path leads to.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let file = format!(
            "{}{}",
            name.trim_end_matches(std::env::consts::EXE_SUFFIX),
            std::env::consts::EXE_SUFFIX
        );
        let mut files = std::env::split_paths(self.value("PATH")?).map(|dir| dir.join(&file));
        files.find(|file| file.is_absolute() && file.is_file())
    }

    fn base(&self, base: Base) -> Option<PathBuf> {
        let home = match self.os() {
            Os::Windows => self.folder("USERPROFILE").or_else(|| self.folder("HOME")),
            _ => self.folder("HOME"),
        };
        match base {
            Base::Home => home,
            Base::XdgConfig => self.folder("XDG_CONFIG_HOME").or_else(|| Some(home?.join(".config"))),
            Base::DotConfig => Some(home?.join(".config")),
            Base::Support => Some(home?.join("Library/Application Support")),
            Base::Roaming => self.folder("APPDATA").or_else(|| Some(home?.join("AppData/Roaming"))),
        }
    }

    fn os(&self) -> Os {
        self.os.unwrap_or(Os::Linux)
    }

    fn value(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Relative folders would depend on where the client is started, so they count as not set.
    fn folder(&self, name: &str) -> Option<PathBuf> {
        self.value(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }
}

#[cfg(test)]
mod tests {
    use super::super::table::{CLIENTS, find};
    use super::*;

    fn with(os: Os, variables: &[(&str, &str)]) -> Surroundings {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), value.into())).collect();
        Surroundings { os: Some(os), variables }
    }

    fn file(surroundings: &Surroundings, client: &str) -> String {
        surroundings.find(&find(client).unwrap().user[0]).unwrap().to_string_lossy().replace('\\', "/")
    }

    #[test]
    fn every_client_has_its_place_on_every_system() {
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
    fn variables_move_files_unless_they_are_relative() {
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
