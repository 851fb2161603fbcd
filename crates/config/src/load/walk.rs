//! Traverses the keys of a settings file.

use std::path::Path;

use super::super::error::excerpt;
use super::super::keys::{KeySpec, keys};
use super::super::origin::Origin;
use super::super::tree::{Entry, Node};
use super::super::value::{KeyKind, table_key};
use super::assignment::suggest;
use super::{Loader, Trust};

/// A settings file whose values go to `loader`.
pub(super) struct FileWalk<'a> {
    pub loader: &'a mut Loader,
    pub path: &'a Path,
    pub trust: Trust,
    pub is_yaml: bool,
}

impl FileWalk<'_> {
    /// Visits a table. The recursion is only as deep as known keys are.
    pub fn table(&mut self, table: &[Entry], prefix: &str) {
        for entry in table {
            let name = &entry.key;
            let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
            let origin = Origin::in_file(self.path, entry.at);
            self.entry(&path, prefix, &entry.value, &origin);
        }
    }

    /// Loads the entry at `path`, in the table at `prefix`.
    fn entry(&mut self, path: &str, prefix: &str, node: &Node, origin: &Origin) {
        if let Some(spec) = keys().iter().find(|spec| spec.path == path) {
            return self.setting(spec, node, origin);
        }

        let is_section =
            keys().iter().any(|spec| spec.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('.')));
        if is_section {
            return self.section(path, node, origin);
        }

        let message = format!("unknown key `{}`", excerpt(path));
        let name = if prefix.is_empty() { path } else { &path[prefix.len() + 1..] };
        self.loader.problem(origin, message, suggest(name, prefix));
    }

    /// Loads the value of a known key.
    fn setting(&mut self, spec: &KeySpec, node: &Node, origin: &Origin) {
        let path = spec.path;

        // The file of a repository may come from anyone.
        if spec.user_only && self.trust == Trust::Repository {
            self.loader.warnings.push(format!(
                "{origin}: `{path}` is ignored: only your own settings file, the environment and the command line \
                 may set it"
            ));
            return;
        }

        match spec.kind.check_node(node) {
            Ok(value) => {
                self.loader.put(spec, value, origin);
                self.entry_origins(spec, node);
            }
            Err(error) => self.loader.value_error(path, error, origin),
        }
    }

    /// Visits the table of a section.
    fn section(&mut self, path: &str, node: &Node, origin: &Origin) {
        match node {
            Node::Table(table) => self.table(table, path),
            // The keys of the section are all commented out.
            Node::Nothing if self.is_yaml => {}
            _ => {
                let form = if self.is_yaml { format!("`{path}:`") } else { format!("`[{path}]`") };
                self.loader.problem(origin, format!("`{path}` is a section, written {form}"), None);
            }
        }
    }

    /// Records the line of each entry of a table.
    fn entry_origins(&mut self, spec: &KeySpec, node: &Node) {
        let (KeyKind::Table | KeyKind::Delimiters, Some(table)) = (spec.kind, node.as_table()) else {
            return;
        };

        for entry in table {
            let Ok(name) = table_key(&entry.key) else { continue };
            let origin = Origin::in_file(self.path, entry.at);
            self.loader.origins.insert(format!("{}.{name}", spec.path), origin);
        }
    }
}
