//! Modules that are named by the paths of their files: Lua, Zig, shell.

use super::definitions::FileDefs;
use super::modules::{Module, Paths};
use super::tsconfig::join;

impl Paths<'_> {
    /// Resolves a path in `require`, `@import` or `source`, as written in `file`.
    pub(super) fn by_file_path(&self, path: &str, file: &FileDefs) -> Module {
        match file.dialect.map(|dialect| dialect.language) {
            Some("zig") => self.zig(path, file),
            Some("lua") => self.lua(path, file),
            _ => self.sourced(path, file),
        }
    }

    /// Resolves an import of Zig: a file beside the importing one, or a package.
    fn zig(&self, path: &str, file: &FileDefs) -> Module {
        if path.ends_with(".zig") {
            let entry = join(file.directory(), path).and_then(|path| self.at(&path));
            return entry.map_or(Module::Unknown, |entry| Module::Files(vec![entry]));
        }

        // The names of packages are given by the build.
        if matches!(path, "std" | "builtin") { Module::External } else { Module::Unknown }
    }

    /// Resolves a module of Lua, below any of the folders that the interpreter may search.
    fn lua(&self, path: &str, file: &FileDefs) -> Module {
        let path = path.trim_start_matches("./").trim_end_matches(".lua").replace('.', "/");
        let name = path.rsplit('/').next().unwrap_or(&path);

        let modules = self.ending_with(&format!("{path}.lua"), &format!("{name}.lua"));
        let found = if modules.is_empty() {
            self.ending_with(&format!("{path}/init.lua"), "init.lua")
        } else {
            modules
        };
        self.nearest(found, file).map_or(Module::External, |entry| Module::Files(vec![entry]))
    }

    /// Resolves a script that another one reads. The folder is often a variable.
    fn sourced(&self, path: &str, file: &FileDefs) -> Module {
        let plain = path.rsplit(['$', '`', ')']).next().unwrap_or(path);
        let rest =
            if plain.len() == path.len() { path } else { plain.split_once('/').map_or("", |(_, rest)| rest) };
        let rest = rest.trim_matches(['"', '\'']);

        if let Some(entry) = join(file.directory(), rest).and_then(|path| self.at(&path)) {
            return Module::Files(vec![entry]);
        }
        let name = rest.rsplit('/').next().unwrap_or(rest);
        match self.ending_with(rest.trim_start_matches("./"), name)[..] {
            [only] => Module::Files(vec![only]),
            _ => Module::Unknown,
        }
    }

    /// Returns the files called `name` whose path is `path` or ends with it.
    fn ending_with(&self, path: &str, name: &str) -> Vec<u32> {
        let end = format!("/{path}");
        let named = self.named(name).iter().copied();
        named.filter(|&entry| self.path_of(entry) == path || self.path_of(entry).ends_with(&end)).collect()
    }

    /// Returns the file that shares most of its path with `file`, the shortest of several.
    fn nearest(&self, found: Vec<u32>, file: &FileDefs) -> Option<u32> {
        found.into_iter().min_by_key(|&entry| {
            let path = self.path_of(entry);
            let n_shared = path.bytes().zip(file.path.bytes()).take_while(|(a, b)| a == b).count();
            (std::cmp::Reverse(n_shared), path.len(), path)
        })
    }
}
