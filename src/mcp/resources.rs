//! The status of an index as a resource, for clients that display or attach resources.

use super::codebases::Codebases;
use crate::index::status;
use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use std::fmt::Write as _;
use std::path::Path;

const SCHEME: &str = "codeweaver://status";
const MIME: &str = "application/json";

/// Lists a resource for the repository of the server, if there is one, and for each other open repository.
pub fn list(codebases: &Codebases) -> Vec<Resource> {
    // Opens the repository of the server; an error means that there is none.
    let _ = codebases.find(None, None);
    let mut roots = codebases.roots();
    roots.sort();
    roots.iter().map(|root| describe(root)).collect()
}

/// The resource template for any path inside a repository.
pub fn template() -> ResourceTemplate {
    ResourceTemplate::new(format!("{SCHEME}{{+path}}"), "index-status")
        .with_title("Index status")
        .with_description("What is indexed of the repository at this absolute path, how current it is, and what is going on")
        .with_mime_type(MIME)
}

/// Reads `uri`.
pub fn read(codebases: &Codebases, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let shown: String = uri.chars().take(200).collect();
    let unknown = |why: &str| ErrorData::resource_not_found(format!("{shown:?}: {why}"), None);
    let path = uri.strip_prefix(SCHEME).filter(|path| path.starts_with('/')).and_then(decode);
    let path = path.ok_or_else(|| unknown("resources are codeweaver://status/ABSOLUTE/PATH"))?;
    let target = codebases.find(Some(&path), None).map_err(|_| unknown("it is not in a git repository"))?;
    let report = status::status(target.codebase(), false)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let text = serde_json::to_string_pretty(&report)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(MIME)]))
}

fn describe(root: &Path) -> Resource {
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy();
    Resource::new(uri_of(root), format!("index-status-{name}"))
        .with_title(format!("Index status of {name}"))
        .with_description(format!("What is indexed of {} and how current it is", root.display()))
        .with_mime_type(MIME)
}

/// Returns the URI of a repository, percent-encoded.
fn uri_of(root: &Path) -> String {
    let mut uri = SCHEME.to_owned();
    for &byte in root.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(byte as char),
            byte if byte.is_ascii_alphanumeric() => uri.push(byte as char),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// Decodes a percent-encoded path. Returns `None` if an escape is invalid or the result is not UTF-8.
fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip_through_uris() {
        for path in ["/home/u/repo", "/tmp/with space/ä%20&?#", "/"] {
            let uri = uri_of(Path::new(path));
            assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
            assert_eq!(decode(uri.strip_prefix(SCHEME).unwrap()).as_deref(), Some(path));
        }
        assert_eq!(decode("/a%2"), None);
        assert_eq!(decode("/a%ff"), None);
    }
}
