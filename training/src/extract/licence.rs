//! Licence of a repository, detected by characteristic phrases of its licence files.

use serde::Serialize;

/// A detected licence, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Licence {
    /// SPDX identifier; several are joined by ` OR `.
    pub id: String,
    /// Path of the file that states the licence.
    pub evidence: String,
}

/// Result for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Permissive(&'static str),
    /// A known licence that is not permissive.
    Other(&'static str),
    Unknown,
}

/// Detection rule: phrases that must all occur, and phrases that must not. Lower case, single spaces.
struct Phrases {
    id: &'static str,
    all: &'static [&'static str],
    none: &'static [&'static str],
}

impl Phrases {
    /// Returns whether the rule detects `text`, which must be in lower case with single spaces.
    fn hold(&self, text: &str) -> bool {
        self.all.iter().all(|phrase| text.contains(phrase))
            && !self.none.iter().any(|phrase| text.contains(phrase))
    }
}

const fn phrases(id: &'static str, all: &'static [&'static str], none: &'static [&'static str]) -> Phrases {
    Phrases { id, all, none }
}

const REDISTRIBUTION: &str = "redistribution and use in source and binary forms";
const GRANT: &str = "permission is hereby granted, free of charge, to any person obtaining a copy";

/// Restrictions that exclude a file regardless of its other text.
const RESTRICTIONS: &[Phrases] = &[
    phrases("BUSL", &["business source license"], &[]),
    phrases("SSPL", &["server side public license"], &[]),
    phrases("Commons-Clause", &["commons clause"], &[]),
    phrases("Elastic", &["elastic license"], &[]),
];

/// Phrases of non-permissive licences. They exclude a file unless it offers a choice, or they occur only in
/// an appendix on third-party code.
const REFUSED: &[Phrases] = &[
    phrases(
        "AGPL",
        &["gnu affero general public license", "everyone is permitted to copy and distribute verbatim"],
        &[],
    ),
    phrases(
        "LGPL",
        &["gnu lesser general public license", "everyone is permitted to copy and distribute verbatim"],
        &[],
    ),
    phrases(
        "GPL",
        &["gnu general public license", "everyone is permitted to copy and distribute verbatim"],
        &[],
    ),
    phrases("MPL", &["mozilla public license", "covered software"], &[]),
    phrases(
        "EPL",
        &["the accompanying program is provided under the terms of this eclipse public license"],
        &[],
    ),
    phrases("EUPL", &["european union public licen"], &[]),
    phrases("CDDL", &["common development and distribution license", "covered software"], &[]),
    phrases("BSD-4-Clause", &[REDISTRIBUTION, "all advertising materials mentioning"], &[]),
    phrases("Vim", &["vim license"], &[]),
];

const PERMISSIVE: &[Phrases] = &[
    phrases("Apache-2.0", &["apache license", "version 2.0"], &[]),
    phrases("NCSA", &[GRANT, "university of illinois", "redistributions of source code must retain"], &[]),
    phrases("MIT", &[GRANT, "the above copyright notice and this permission notice"], &[]),
    phrases("MIT", &[GRANT, "permission notice"], &[]),
    phrases("MIT-0", &[GRANT, "without restriction"], &["permission notice"]),
    phrases(
        "BSD-3-Clause",
        &[REDISTRIBUTION, "redistributions in binary form must reproduce", "endorse or promote"],
        &[],
    ),
    phrases("BSD-3-Clause", &[REDISTRIBUTION, "must reproduce", "neither the name"], &[]),
    phrases(
        "BSD-2-Clause",
        &[REDISTRIBUTION, "retain the above copyright", "must reproduce the above copyright"],
        &["endorse or promote"],
    ),
    phrases("BSL-1.0", &["boost software license"], &[]),
    phrases(
        "Zlib",
        &["this software is provided 'as-is'", "altered source versions must be plainly marked"],
        &[],
    ),
    phrases("Unlicense", &["this is free and unencumbered software released into the public domain"], &[]),
    phrases("CC0-1.0", &["cc0 1.0 universal"], &[]),
    phrases("CC0-1.0", &["cc0", "waive", "public domain"], &[]),
    phrases(
        "ISC",
        &[
            "permission to use, copy, modify, and",
            "distribute this software for any purpose with or without fee is hereby granted, provided that",
        ],
        &[],
    ),
    phrases(
        "0BSD",
        &[
            "permission to use, copy, modify, and",
            "distribute this software for any purpose with or without fee is hereby granted.",
        ],
        &[],
    ),
    phrases(
        "curl",
        &[
            "permission to use, copy, modify, and distribute this software for any purpose with or without fee is hereby granted",
        ],
        &[],
    ),
    phrases(
        "PostgreSQL",
        &[
            "permission to use, copy, modify, and distribute this software and its documentation for any purpose",
        ],
        &[],
    ),
];

/// Phrases, in lower case, of files that offer a choice of licences.
const CHOICE: &[&str] = &[
    "at your option",
    "dual-licensed",
    "dual licensed",
    "dual license",
    "either of the following",
    "choice of license",
    "choose either",
    "either license",
];

/// Phrases, in lower case, that introduce an appendix with licences of bundled code.
const APPENDIX: &[&str] =
    &["third party", "third-party", "subcomponents", "bundle", "dependenc", "portions", "derived from"];

/// Detects a licence by its text, or by its name in a usual phrase.
pub fn recognise(text: &str) -> Verdict {
    let text = text
        .to_lowercase()
        .replace(['\u{2018}', '\u{2019}', '`', '"', '\u{201c}', '\u{201d}'], "'")
        .replace("\u{feff}", "");
    // Some files have comment marks or list stars between words.
    let words: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, '*' | '#' | '>'))
        .filter(|word| !word.is_empty() && *word != "//")
        .collect();
    let text = words.join(" ");
    if let Some(restriction) = RESTRICTIONS.iter().find(|phrases| phrases.hold(&text)) {
        return Verdict::Other(restriction.id);
    }

    // The GNU licences name each other; the first title decides.
    let refused =
        REFUSED.iter().filter(|phrases| phrases.hold(&text)).min_by_key(|phrases| text.find(phrases.all[0]));
    let permissive = PERMISSIVE.iter().find(|phrases| phrases.hold(&text));
    let choice = CHOICE.iter().any(|phrase| text.contains(phrase));
    let at = |phrases: &Phrases| phrases.all.iter().filter_map(|phrase| text.find(phrase)).max();
    let in_appendix =
        |refused, permissive| at(permissive) < at(refused) && APPENDIX.iter().any(|word| text.contains(word));
    match (refused, permissive) {
        (Some(refused), Some(permissive)) if choice || in_appendix(refused, permissive) => {
            Verdict::Permissive(permissive.id)
        }
        (Some(refused), _) => Verdict::Other(refused.id),
        (None, Some(permissive)) => Verdict::Permissive(permissive.id),
        (None, None) => Verdict::Unknown,
    }
}

/// Whether a file of this name (without directory) may contain a licence.
pub fn is_licence_file(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let code = [
        ".rs", ".go", ".py", ".js", ".ts", ".java", ".c", ".h", ".cpp", ".rb", ".php", ".cs", ".json",
        ".html", ".svg", ".png", ".tmpl", ".yml", ".yaml",
    ];
    ["license", "licence", "copying", "unlicense", "mit-license", "copyright"]
        .iter()
        .any(|start| lower.starts_with(start))
        && !code.iter().any(|extension| lower.ends_with(extension))
}

/// Whether the file applies to the whole repository (`LICENSE`, `COPYING.md`, …). `LICENSE-MIT` is one of a
/// choice.
fn is_main(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let stem = ["md", "txt", "rst", "markdown", "adoc", "asciidoc"]
        .iter()
        .find_map(|extension| lower.strip_suffix(extension))
        .and_then(|stem| stem.strip_suffix('.'))
        .unwrap_or(&lower);
    ["license", "licence", "copying", "unlicense", "copyright", "licenses"].contains(&stem)
}

/// Whether the file name contains the name of a licence (`LICENSE-APACHE`, `MIT-LICENSE`): one of a choice.
fn names_a_choice(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    ["mit", "apache", "bsd", "isc", "zlib", "unlicense", "boost", "cc0", "0bsd"]
        .iter()
        .any(|licence| lower.contains(licence))
}

/// Licence of a repository of packages without a licence file in its root: the licences of its packages, if
/// all are permissive. `files` are the licence files of the top-level directories, by path.
pub fn decide_by_packages(files: &[(String, String)]) -> Option<Licence> {
    let mut ids = Vec::new();
    for (_, text) in files {
        match recognise(text) {
            Verdict::Permissive(id) => ids.push(id),
            Verdict::Other(_) | Verdict::Unknown => return None,
        }
    }
    ids.sort_unstable();
    ids.dedup();
    let evidence = files.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>().join(", ");
    (!ids.is_empty()).then(|| Licence { id: ids.join(" AND "), evidence })
}

/// Decides the licence of a repository by its root licence files (name and text), then by the `license`
/// fields of its manifests.
///
/// Error: the reason why the repository may not be used.
pub fn decide(files: &[(String, String)], manifests: &[(String, String)]) -> Result<Licence, String> {
    let verdicts: Vec<(&str, Verdict)> =
        files.iter().map(|(name, text)| (name.as_str(), recognise(text))).collect();
    let main = permissive(&verdicts, true);
    let choices = permissive(&verdicts, false);
    let refused: Vec<String> = verdicts
        .iter()
        .filter_map(|(name, verdict)| match verdict {
            Verdict::Other(id) if is_main(name) => Some(format!("{id} ({name})")),
            _ => None,
        })
        .collect();

    if !refused.is_empty() && choices.is_empty() {
        // Several main files (COPYING beside LICENSE) are a choice only if a manifest states so.
        return Err(format!("not permissive: {}", refused.join(", ")));
    }

    let found: Vec<(&str, &str)> = main.into_iter().chain(choices).collect();
    if !found.is_empty() {
        let mut ids: Vec<&str> = found.iter().map(|(_, id)| *id).collect();
        ids.dedup();
        let evidence = found.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Ok(Licence { id: ids.join(" OR "), evidence });
    }
    for (path, text) in manifests {
        if let Some(id) = manifest_licence(text) {
            let names = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
            let also =
                if names.is_empty() { String::new() } else { format!(" (beside {names}, not recognised)") };
            return Ok(Licence { id, evidence: format!("{path}{also}") });
        }
    }
    let names = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    Err(if names.is_empty() {
        "no licence file".to_owned()
    } else {
        format!("licence not recognised: {names}")
    })
}

/// Returns the permissive files with their licences: main files, or those whose names are one of a choice.
fn permissive<'a>(verdicts: &[(&'a str, Verdict)], main: bool) -> Vec<(&'a str, &'static str)> {
    let mut found = Vec::new();
    for (name, verdict) in verdicts {
        if let Verdict::Permissive(id) = verdict
            && is_main(name) == main
            && (main || names_a_choice(name))
        {
            found.push((*name, *id));
        }
    }

    found
}

/// Returns whether a file of this name is a manifest with a `license` field.
pub fn is_manifest(name: &str) -> bool {
    matches!(
        name,
        "package.json"
            | "Cargo.toml"
            | "composer.json"
            | "pyproject.toml"
            | "mix.exs"
            | "setup.cfg"
            | "setup.py"
            | "package.yaml"
            | "pubspec.yaml"
    ) || name.ends_with(".gemspec")
        || name.ends_with(".cabal")
        || name.ends_with(".rockspec")
}

/// The permissive licence in a manifest's `license` field; one suffices in an expression with `OR`.
fn manifest_licence(text: &str) -> Option<String> {
    const KNOWN: [&str; 14] = [
        "MIT",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Zlib",
        "Unlicense",
        "0BSD",
        "BSL-1.0",
        "CC0-1.0",
        "NCSA",
        "MIT-0",
        "PostgreSQL",
        "curl",
    ];
    let line = text.lines().find(|line| {
        let key = line.trim_start().trim_start_matches(['"', '\'']).to_ascii_lowercase();
        (key.starts_with("license") || key.starts_with("licence") || key.contains(".license"))
            && line.contains(['=', ':'])
    })?;
    let (_, value) = line.split_once([':', '='])?;
    let named: Vec<&str> = value
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '.'))
        .filter_map(|word| KNOWN.iter().find(|known| known.eq_ignore_ascii_case(word)).copied())
        .collect();
    let conjunction = value.contains(" AND ");
    (!named.is_empty() && !conjunction).then(|| named.join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIT: &str = "Copyright (c) 2020 A\n\nPermission is hereby granted, free of charge, to any person obtaining\na copy of this software, to deal in the Software without restriction.\nThe above copyright notice and this\npermission notice shall be included.";
    const GPL: &str =
        "GNU GENERAL PUBLIC LICENSE\nVersion 3\nEveryone is permitted to copy and distribute verbatim copies";

    fn own(files: &[(&str, &str)]) -> Vec<(String, String)> {
        files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn texts_are_recognised() {
        let bsd2 = "Redistribution and use in source and binary forms, with or without\n * modification, are permitted: 1. Redistributions of source code must retain the above copyright notice 2. Redistributions in binary form must reproduce the above copyright notice";
        let bsd3 = format!("{bsd2} 3. Neither the name of X may be used to endorse or promote products");
        for (text, id) in [
            (MIT, "MIT"),
            ("Apache License\n   Version 2.0, January 2004", "Apache-2.0"),
            (bsd2, "BSD-2-Clause"),
            (&bsd3, "BSD-3-Clause"),
            (
                "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted, provided that the above",
                "ISC",
            ),
            (
                "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted.",
                "0BSD",
            ),
            (
                "This software is provided \u{2018}as-is\u{2019}. Altered source versions must be plainly marked as such",
                "Zlib",
            ),
            ("This is free and unencumbered software released into the public domain.", "Unlicense"),
            ("Boost Software License - Version 1.0", "BSL-1.0"),
            ("CC0 1.0 Universal", "CC0-1.0"),
            (
                "Permission to use, copy, modify, and distribute this software and its\ndocumentation for any purpose, without fee",
                "PostgreSQL",
            ),
        ] {
            assert_eq!(recognise(text), Verdict::Permissive(id), "{text}");
        }
        assert_eq!(recognise(GPL), Verdict::Other("GPL"));
        assert_eq!(
            recognise("Business Source License 1.1. Change License: Apache License, Version 2.0"),
            Verdict::Other("BUSL")
        );
        assert_eq!(recognise("Mozilla Public License Version 2.0 Covered Software"), Verdict::Other("MPL"));
        assert_eq!(recognise("All rights reserved."), Verdict::Unknown);
        assert_eq!(recognise(&format!("{MIT}\n{GPL}")), Verdict::Other("GPL"));
        let appendix = format!("{MIT}\nThird-party software:\n{GPL}");
        assert_eq!(recognise(&appendix), Verdict::Permissive("MIT"));
        assert_eq!(recognise(&format!("{MIT}\nCommons Clause")), Verdict::Other("Commons-Clause"));
        assert_eq!(recognise(&format!("Dual licensed.\n{MIT}\n{GPL}")), Verdict::Permissive("MIT"));
    }

    #[test]
    fn repositories_are_decided() {
        let ok = decide(&own(&[("LICENSE", MIT)]), &[]).unwrap();
        assert_eq!((ok.id.as_str(), ok.evidence.as_str()), ("MIT", "LICENSE"));
        assert_eq!(decide(&own(&[("LICENSE-MIT", MIT), ("COPYING", GPL)]), &[]).unwrap().id, "MIT");
        assert!(decide(&own(&[("LICENSE", GPL)]), &[]).is_err());
        // The licence of bundled code does not apply to the repository.
        assert!(decide(&own(&[("COPYING", GPL), ("LICENSE.third-party", MIT)]), &[]).is_err());
        assert!(decide(&[], &[]).unwrap_err().contains("no licence file"));
        let manifest = own(&[("package.json", "{\n  \"license\": \"(MIT OR GPL-3.0)\"\n}")]);
        assert_eq!(decide(&[], &manifest).unwrap().id, "MIT");
        assert!(decide(&own(&[("LICENSE", GPL)]), &manifest).is_err());
        let manifest = own(&[("Cargo.toml", "license = \"MIT/Apache-2.0\"")]);
        assert_eq!(decide(&[], &manifest).unwrap().id, "MIT OR Apache-2.0");
        assert!(decide(&[], &own(&[("Cargo.toml", "license = \"GPL-3.0\"")])).is_err());
    }

    #[test]
    fn a_root_without_licence_has_that_of_its_packages() {
        let apache = "Apache License Version 2.0";
        let found = decide_by_packages(&own(&[("a/LICENSE", MIT), ("b/LICENSE", apache)])).unwrap();
        assert_eq!(
            (found.id.as_str(), found.evidence.as_str()),
            ("Apache-2.0 AND MIT", "a/LICENSE, b/LICENSE")
        );
        assert_eq!(decide_by_packages(&own(&[("a/LICENSE", MIT), ("b/LICENSE", GPL)])), None);
        assert_eq!(decide_by_packages(&[]), None);
    }

    #[test]
    fn licence_files_are_known_by_name() {
        for name in
            ["LICENSE", "Licence.md", "COPYING", "LICENSE-MIT", "MIT-LICENSE", "UNLICENSE", "LICENSE.txt"]
        {
            assert!(is_licence_file(name), "{name}");
        }
        for name in ["license.rs", "licenses.json", "README.md"] {
            assert!(!is_licence_file(name), "{name}");
        }
        assert!(is_main("License.md") && is_main("COPYING") && !is_main("LICENSE-MIT"));
    }
}
