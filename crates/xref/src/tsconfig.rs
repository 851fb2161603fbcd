//! Aliases of modules in `tsconfig.json` and `jsconfig.json`: `paths` and `baseUrl`.

use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::Value;

/// Maximum number of configurations that extend each other.
pub(super) const MAX_EXTENDS: usize = 8;

/// The options of one configuration that name modules.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ModuleOptions {
    /// Folder that names of modules are relative to, if there is one.
    pub base_url: Option<String>,
    /// Patterns with at most one `*`, each with the paths that it stands for, relative to the repository.
    pub paths: Vec<(String, Vec<String>)>,
    /// Configurations that this one extends, as written.
    pub extends: Vec<String>,
}

impl ModuleOptions {
    /// Parses a configuration in the folder `directory`, which may have comments; `None` if it is no object.
    pub fn parse(text: &str, directory: &str) -> Option<ModuleOptions> {
        let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
        let json = Value::from(parsed.ok()?.value?);
        json.as_object()?;
        let options = json.get("compilerOptions");
        let option = |name: &str| options.and_then(|options| options.get(name));

        let base_url = option("baseUrl").and_then(Value::as_str).and_then(|path| join(directory, path));
        let base = base_url.clone().unwrap_or_else(|| directory.to_owned());

        let mut paths = Vec::new();
        for (pattern, targets) in option("paths").and_then(Value::as_object).into_iter().flatten() {
            let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
            let targets: Vec<String> = targets.filter_map(|target| join(&base, target)).collect();
            paths.push((pattern.clone(), targets));
        }

        let extends = match json.get("extends") {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };

        Some(ModuleOptions { base_url, paths, extends })
    }

    /// Adds what `self` does not set from a configuration that it extends.
    pub fn inherit(&mut self, base: ModuleOptions) {
        self.base_url = self.base_url.take().or(base.base_url);
        if self.paths.is_empty() {
            self.paths = base.paths;
        }
    }

    /// The paths without extension that a module may be at, the most specific pattern first.
    pub fn candidates(&self, module: &str) -> Vec<String> {
        let mut matching: Vec<(usize, &Vec<String>, &str)> = Vec::new();
        for (pattern, targets) in &self.paths {
            match pattern.split_once('*') {
                None if pattern == module => matching.push((usize::MAX, targets, "")),
                Some((head, tail)) if module.len() >= head.len() + tail.len() => {
                    let inside = module.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
                    matching.extend(inside.map(|inside| (head.len(), targets, inside)));
                }
                _ => {}
            }
        }
        matching.sort_by_key(|(length, ..)| std::cmp::Reverse(*length));

        let mut found = Vec::new();
        if let Some((_, targets, inside)) = matching.first() {
            found.extend(targets.iter().map(|target| target.replacen('*', inside, 1)));
        }
        found.extend(self.base_url.as_ref().and_then(|base| join(base, module)));
        found
    }
}

/// Joins a relative path to a folder of the repository; `None` if the result is outside of it.
pub(super) fn join(directory: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();

    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }

    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_alias_is_tried_first() {
        let text = "{\n  // aliases\n  \"extends\": \"../base.json\",\n  \"compilerOptions\": {\n    \"baseUrl\": \"./src\", /* of all */\n    \
                    \"paths\": { \"@app/*\": [\"app/*\", \"shared/*\"], \"@app/core/*\": [\"core/*\"], \"config\": [\"./settings\"], },\n  },\n}\n";
        let options = ModuleOptions::parse(text, "web").unwrap();
        assert_eq!(options.extends, ["../base.json"]);
        assert_eq!(options.candidates("@app/core/log"), ["web/src/core/log", "web/src/@app/core/log"]);
        assert_eq!(options.candidates("@app/a"), ["web/src/app/a", "web/src/shared/a", "web/src/@app/a"]);
        assert_eq!(options.candidates("config"), ["web/src/settings", "web/src/config"]);
        assert_eq!(options.candidates("react"), ["web/src/react"]);
    }

    #[test]
    fn a_text_that_is_no_configuration_has_no_options() {
        for text in ["", "{", "\"", "/*", "[1, 2", "{\"a\": \"\\"] {
            assert_eq!(ModuleOptions::parse(text, ""), None, "{text}");
        }
        assert_eq!(ModuleOptions::parse("{}", "a"), Some(ModuleOptions::default()));
    }

    #[test]
    fn relative_paths_cannot_leave_the_repository() {
        assert_eq!(join("a/b", "../c").as_deref(), Some("a/c"));
        assert_eq!(join("a", "./b/./c").as_deref(), Some("a/b/c"));
        assert_eq!(join("", "../x"), None);
        assert_eq!(join("a", "../../x"), None);
    }
}
