//! Resources: the status of an index, for clients that display or attach resources, and the schemas of
//! structured content, for clients that validate it.

use std::path::Path;

use rmcp::model::{ErrorData, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};

use codeweaver::service::Codebases;
use codeweaver::service::trust::Purpose;
use codeweaver_index::status;

use super::target::CallTarget;
use super::tools;
use super::uri as uris;

const SCHEME: &str = "codeweaver://status";
const SCHEMA_SCHEME: &str = "codeweaver://schema/";
const MIME: &str = "application/json";

/// Lists a resource for the repository of the server, if there is one, and for each other open repository.
pub fn list(codebases: &Codebases) -> Vec<Resource> {
    // Opens the repository of the server; an error means that there is none.
    let _ = CallTarget::find(codebases, None, None);
    let mut roots = codebases.roots();

    roots.sort();
    roots.iter().map(|root| describe(root)).collect()
}

/// The resource templates: for any path inside a repository, and for any tool.
pub fn templates() -> Vec<ResourceTemplate> {
    let status = ResourceTemplate::new(format!("{SCHEME}{{+path}}"), "index-status")
        .with_title("Index status")
        .with_description("What is indexed of the repository at this absolute path, how current it is, and what is going on")
        .with_mime_type(MIME);
    let schema = ResourceTemplate::new(format!("{SCHEMA_SCHEME}{{tool}}"), "schema")
        .with_title("Schema of answers")
        .with_description("JSON schema of the structured content of a tool, called with `format: \"json\"`")
        .with_mime_type("application/schema+json");
    vec![status, schema]
}

/// Reads `uri`.
pub fn read(codebases: &Codebases, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let shown: String = uri.chars().take(200).collect();
    let unknown = |why: &str| ErrorData::resource_not_found(format!("{shown:?}: {why}"), None);

    if let Some(name) = uri.strip_prefix(SCHEMA_SCHEME) {
        let spec = tools::by_name(name).ok_or_else(|| unknown("there is no such tool"))?;
        let text = serde_json::Value::from((spec.output)()).to_string();

        let contents = ResourceContents::text(text, uri).with_mime_type("application/schema+json");
        return Ok(ReadResourceResult::new(vec![contents]));
    }

    let path = uri.strip_prefix(SCHEME).filter(|path| path.starts_with('/')).and_then(uris::decode);
    let path = path.ok_or_else(|| {
        unknown("resources are codeweaver://status/ABSOLUTE/PATH and codeweaver://schema/TOOL")
    })?;
    let target = CallTarget::find(codebases, Some(uris::native(&path)), None)
        .map_err(|_| unknown("it is not in a git repository"))?;

    // The path comes from the client, so a resource needs the same permission as a call.
    let checked = codebases.trust.check(target.codebase(), Purpose::Read, target.naming);
    checked.map_err(|_| unknown("this session may not read it"))?;

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

/// The URI of a repository.
fn uri_of(root: &Path) -> String {
    format!("{SCHEME}{}", uris::encode(root))
}
