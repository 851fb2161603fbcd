//! Duplicates as SARIF 2.1.0, which code scanners of forges and editors read.
//!
//! A group is one result. Its location is the first member that was changed, or else the first; the other
//! members are related locations.

use serde_json::{Value, json};

use super::Class;
use super::answer::{DuplicateGroup, DuplicateMember, Duplicates};
use super::tokens::hash_bytes;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const CLASSES: [Class; 4] = [Class::Identical, Class::Renamed, Class::Near, Class::Semantic];

/// The log of one run with the groups of `duplicates`. `version` is that of the program.
pub fn log(duplicates: &Duplicates, version: &str) -> Value {
    let results: Vec<Value> = duplicates.groups.iter().map(result).collect();
    let rules: Vec<Value> = CLASSES.into_iter().map(rule).collect();

    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "git-codeweaver",
                "semanticVersion": version,
                "rules": rules,
            } },
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": { "ROOT": { "description": { "text": "The root of the repository." } } },
            "results": results,
        }],
    })
}

fn rule(class: Class) -> Value {
    let (name, text) = match class {
        Class::Identical => ("IdenticalCode", "The same code but for layout, comments and its name."),
        Class::Renamed => ("RenamedCode", "The same code but for names and literals."),
        Class::Near => ("NearDuplicateCode", "Code that differs in few tokens."),
        Class::Semantic => ("SimilarMeaning", "Code with a similar meaning."),
    };

    json!({
        "id": rule_id(class),
        "name": name,
        "shortDescription": { "text": text },
        "defaultConfiguration": { "level": level(class) },
    })
}

fn rule_id(class: Class) -> String {
    format!("duplicate/{}", class.name())
}

fn level(class: Class) -> &'static str {
    match class {
        Class::Identical | Class::Renamed => "warning",
        Class::Near | Class::Semantic => "note",
    }
}

fn result(group: &DuplicateGroup) -> Value {
    let first = group.members.iter().position(|member| member.changed == Some(true)).unwrap_or(0);
    let others = group.members.iter().enumerate().filter(|(at, _)| *at != first);
    let related: Vec<Value> = others
        .map(|(at, member)| {
            let mut place = location(member);
            place["id"] = json!(at + 1);
            place["message"] = json!({ "text": format!("{} {}", member.kind, member.name) });
            place
        })
        .collect();

    json!({
        "ruleId": rule_id(group.class),
        "ruleIndex": CLASSES.iter().position(|&class| class == group.class),
        "level": level(group.class),
        "message": { "text": message(group, first) },
        "locations": [location(&group.members[first])],
        "relatedLocations": related,
        "partialFingerprints": { "duplicates/v1": fingerprint(group) },
        "properties": { "similarity": group.similarity, "savedLines": group.saved_lines },
    })
}

fn message(group: &DuplicateGroup, first: usize) -> String {
    let member = &group.members[first];
    let others = group.members.iter().enumerate().filter(|(at, _)| *at != first);
    let others: Vec<String> =
        others.map(|(at, other)| format!("[{}]({})", other.name.replace(['[', ']'], ""), at + 1)).collect();
    let relation = match group.class {
        Class::Identical => "is the same as",
        Class::Renamed => "is, but for names and literals, the same as",
        Class::Near => "is nearly the same as",
        Class::Semantic => "has a similar meaning as",
    };

    let kind = member.kind;
    let name = member.name.replace(['[', ']'], "");
    format!(
        "The {kind} {name} {relation} {}. One for all saves about {} lines.",
        others.join(", "),
        group.saved_lines
    )
}

fn location(member: &DuplicateMember) -> Value {
    json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&member.path), "uriBaseId": "ROOT" },
            "region": { "startLine": member.span.0, "endLine": member.span.1 },
        },
        "logicalLocations": [{ "fullyQualifiedName": member.name }],
    })
}

/// A path as a relative reference of a URI.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for &byte in path.as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

/// A hash of the paths and names of a group, which stays when lines move.
fn fingerprint(group: &DuplicateGroup) -> String {
    let places: Vec<String> = group.members.iter().map(|it| format!("{}\0{}", it.path, it.name)).collect();
    format!("{:016x}", hash_bytes(places.join("\n").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uri_references() {
        assert_eq!(uri("a b/ü%.rs"), "a%20b/%C3%BC%25.rs");
    }
}
