//! Splits identifiers and paths into words.

/// Path components without meaning, which most repositories have.
const COMMON_FOLDERS: &[&str] = &[
    "src", "lib", "libs", "main", "java", "kotlin", "scala", "com", "org", "io", "net", "php", "python",
    "include", "sources", "source", "pkg", "internal", "packages", "modules", "crates", "index", "mod",
    "init", "app", "jvm", "common", "js", "ts", "swift", "dev", "github", "public", "private", "cmd", "code",
    "impl",
];

/// Words of an identifier, lower case: `parseHTTPHeader_v2` is `parse http header v2`.
pub fn of_identifier(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_alphanumeric() {
            words.push(std::mem::take(&mut word));
            continue;
        }
        let before = at.checked_sub(1).map(|before| chars[before]);
        let hump = c.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || before.is_some_and(char::is_uppercase)
                    && chars.get(at + 1).is_some_and(|next| next.is_lowercase()));
        if hump {
            words.push(std::mem::take(&mut word));
        }
        word.extend(c.to_lowercase());
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The distinct meaningful words of the last two directories and of the file stem.
pub fn of_path(path: &str) -> Vec<String> {
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = file.trim_start_matches('.').split('.').next().unwrap_or(file);
    let folders: Vec<&str> = folder
        .split('/')
        .filter(|folder| {
            !folder.is_empty() && !COMMON_FOLDERS.contains(&folder.to_ascii_lowercase().as_str())
        })
        .collect();
    let last_two = folders[folders.len().saturating_sub(2)..].iter().copied();
    let stem = Some(stem)
        .filter(|stem| !COMMON_FOLDERS.contains(&stem.trim_matches('_').to_ascii_lowercase().as_str()));
    let mut words: Vec<String> = Vec::new();
    for word in last_two.chain(stem).flat_map(of_identifier) {
        if word.len() > 1 && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// `code` without the occurrences of the identifier `name`.
pub fn without_identifier(code: &str, name: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    let part = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(at) = rest.find(name) {
        let (before, after) = (&rest[..at], &rest[at + name.len()..]);
        out.push_str(before);
        let inside =
            before.ends_with(part) || after.starts_with(part) || before.is_empty() && out.ends_with(part);
        if inside {
            out.push_str(name);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_into_words() {
        assert_eq!(of_identifier("parseHTTPHeader_v2"), ["parse", "http", "header", "v2"]);
        assert_eq!(of_identifier("__init__"), ["init"]);
        assert_eq!(of_identifier("is-empty?"), ["is", "empty"]);
    }

    #[test]
    fn paths_keep_their_meaningful_words() {
        assert_eq!(
            of_path("src/main/java/org/acme/http/HeaderParser.java"),
            ["acme", "http", "header", "parser"]
        );
        assert_eq!(of_path("lib/http/index.js"), ["http"]);
        assert_eq!(of_path("a.rs"), [""; 0]);
    }

    #[test]
    fn only_whole_names_are_removed() {
        assert_eq!(
            without_identifier("fn read(x) { read(x - 1) + reader + unread }", "read"),
            "fn (x) { (x - 1) + reader + unread }"
        );
    }
}
