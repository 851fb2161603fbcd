//! Openapi: the description of the API, made from the types of its answers.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use codeweaver::ask::answer;
use codeweaver::query::grep::GrepFile;
use codeweaver::query::{FileText, Outline, Response};
use codeweaver_index::status::StatusReport;
use codeweaver_xref::CallGraphResponse;

use super::api::{CommitItems, FileList, StreamEnd};
use super::failure::Failure;
use super::health::Health;
use super::repositories::Repositories;
use super::search::Answer;

/// A parameter of the query string: its name, type and meaning.
type Parameter = (&'static str, &'static str, &'static str);

const REV: Parameter = ("rev", "string", "Branch, tag, commit or tree instead of HEAD and the working tree");
const LIMIT: Parameter = ("limit", "integer", "Maximum number of results");
const OFFSET: Parameter = ("offset", "integer", "Number of best results to leave out");
const FILE: Parameter = ("path!", "string", "Path of a file, relative to the root of the repository");

const SEARCH: &[Parameter] = &[
    (
        "q!",
        "string",
        "What is searched for: words, a name, a report, \"exact text\" or /expression/, with conditions such as lang:go -word",
    ),
    ("lang", "strings", "Only files in this language"),
    ("path", "strings", "Only files that match this pathspec"),
    ("exclude", "strings", "No files that match this pathspec"),
    ("kind", "strings", "Only symbols of this kind or class"),
    ("repo", "strings", "Only repositories of a catalogue whose name matches this glob"),
    REV,
    ("state", "string", "Only files in this state: committed, staged, dirty or untracked"),
    ("committed", "boolean", "Only committed files"),
    ("tests", "boolean", "Whether tests are searched"),
    ("mode", "string", "hybrid, semantic, keyword, symbol, exact or regex"),
    ("intent", "string", "understand, implement, debug, optimize, test, configure, document or review"),
    LIMIT,
    OFFSET,
    ("token_limit", "integer", "Maximum number of tokens of the answer"),
    ("min_score", "number", "Minimum relevance of a match, 0–1"),
    ("explain", "boolean", "Whether each match explains its score"),
    ("locations", "boolean", "Whether matches have no text"),
    ("context", "integer", "Lines around a matching line"),
    ("ignore_case", "boolean", "Whether upper and lower case are the same, for lines"),
    ("word", "boolean", "Whether only whole words match, for lines"),
    (
        "stream",
        "boolean",
        "Whether lines are sent as they are found: a JSON line for each file, then the totals",
    ),
];

/// The OpenAPI document, version 3.1.
pub fn document() -> Value {
    let mut api = Api {
        schemas: SchemaSettings::draft2020_12()
            .with(|settings| settings.definitions_path = "/components/schemas".into())
            .for_serialize()
            .into_generator(),
        paths: Map::new(),
    };

    let failure = api.schemas.subschema_for::<Failure>();
    let file = api.schemas.subschema_for::<GrepFile>();
    let end = api.schemas.subschema_for::<StreamEnd>();

    api.add_code();
    api.add_repository();
    api.add_failures(&json!(failure));
    api.stream(&json!({ "anyOf": [file, end] }));
    api.add_update(&json!(failure));

    let schemas = api.schemas.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "git-codeweaver",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "The semantic code index that lives in git",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "security": [{}, { "token": [] }],
        "paths": api.paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
    })
}

struct Api {
    schemas: SchemaGenerator,
    paths: Map<String, Value>,
}

impl Api {
    /// Adds the operations that find and read code.
    fn add_code(&mut self) {
        self.get::<Answer>("/api/search", "search", "Search for code, or for lines", SEARCH);
        self.get::<Response>(
            "/api/similar",
            "similar",
            "Code similar to the definition at a line",
            &[FILE, ("line!", "integer", "A line of the definition, from 1"), REV, LIMIT],
        );

        self.get::<FileText>(
            "/api/file",
            "readFile",
            "A file, or some of its lines",
            &[
                FILE,
                REV,
                ("blob", "string", "Hex oid of contents, instead of a revision"),
                ("first", "integer", "First line, from 1"),
                ("last", "integer", "Last line, inclusive"),
            ],
        );
        self.get::<FileList>(
            "/api/files",
            "listFiles",
            "The files of the repository",
            &[
                ("path", "strings", "Only files that match this pathspec"),
                ("skipped", "boolean", "Only files that are not indexed"),
                REV,
                LIMIT,
                OFFSET,
            ],
        );

        self.get::<Outline>("/api/outline", "outline", "What a file defines", &[FILE, REV]);
        self.get::<CallGraphResponse>(
            "/api/graph",
            "callGraph",
            "Callers, callees, references or definitions of a symbol",
            &[
                ("symbol!", "string", "A name, Type.name, or path:line"),
                ("direction", "string", "callers, callees, both, references or definitions"),
                ("depth", "integer", "Levels of callers or callees, 1–5"),
                REV,
                LIMIT,
            ],
        );
    }

    /// Adds the operations about the history, the documentation and the state of the repository.
    fn add_repository(&mut self) {
        self.get::<CommitItems>(
            "/api/history",
            "history",
            "The commits that touch a file or a definition",
            &[
                ("path", "strings", "A file"),
                ("symbol", "string", "A definition, also when it moves"),
                ("message", "string", "Text in the message"),
                REV,
                LIMIT,
                OFFSET,
            ],
        );
        self.get::<answer::Answer>(
            "/api/ask",
            "ask",
            "Passages of the documentation that answer a question",
            &[("q!", "string", "The question"), REV, LIMIT],
        );

        self.get::<Repositories>(
            "/api/repositories",
            "repositories",
            "The repositories that are served",
            &[],
        );
        self.get::<StatusReport>(
            "/api/status",
            "status",
            "What is indexed, and how current it is",
            &[("files", "boolean", "Whether skipped files are listed")],
        );
        self.get::<Health>("/health/", "health", "Whether the server and what it needs work", &[]);
    }

    /// Adds the request for an update.
    fn add_update(&mut self, failure: &Value) {
        self.paths.insert(
            "/api/update".to_owned(),
            json!({ "post": {
                "operationId": "update",
                "summary": "Ask for an update of the index, as after a push",
                "parameters": [parameter(&("repo", "strings", "Only these repositories of a catalogue"))],
                "responses": { "202": { "description": "The update will be made" }, "default": failure_of(failure) },
            }}),
        );
    }

    /// Adds a `GET` operation that answers with a `T`.
    fn get<T: schemars::JsonSchema>(
        &mut self,
        path: &str,
        id: &str,
        summary: &str,
        parameters: &[Parameter],
    ) {
        let schema = self.schemas.subschema_for::<T>();
        let parameters: Vec<Value> = parameters.iter().map(parameter).collect();

        self.paths.insert(
            path.to_owned(),
            json!({ "get": {
                "operationId": id,
                "summary": summary,
                "parameters": parameters,
                "responses": { "200": {
                    "description": summary,
                    "content": { "application/json": { "schema": schema } },
                }},
            }}),
        );
    }

    /// Adds the response of a failure to every operation.
    fn add_failures(&mut self, failure: &Value) {
        for path in self.paths.values_mut() {
            path["get"]["responses"]["default"] = failure_of(failure);
        }
    }

    /// Adds the streamed form of the answer to a search.
    fn stream(&mut self, line: &Value) {
        let description = "With `stream`: a JSON line for each file, then one with the totals";
        self.paths["/api/search"]["get"]["responses"]["200"]["content"]["application/x-ndjson"] =
            json!({ "schema": { "description": description, "anyOf": line["anyOf"] } });
    }
}

/// A parameter in OpenAPI. An exclamation mark after the name means that it is required.
fn parameter((name, kind, description): &Parameter) -> Value {
    let schema = match *kind {
        "strings" => json!({ "type": "array", "items": { "type": "string" } }),
        kind => json!({ "type": kind }),
    };

    json!({
        "name": name.trim_end_matches('!'),
        "in": "query",
        "required": name.ends_with('!'),
        "description": description,
        "schema": schema,
    })
}

/// The response of a failure.
fn failure_of(schema: &Value) -> Value {
    json!({
        "description": "Why there is no answer",
        "content": { "application/json": { "schema": schema } },
    })
}
