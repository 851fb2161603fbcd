//! Every call site of a view with its resolution, for measuring how precise the resolution is.

use serde::Serialize;

use super::definitions::{Def, Definitions, FileDefs};
use super::modules::Paths;
use super::resolution::Resolution;
use super::resolver::Resolver;
use super::response::Grade;
use super::sources::Sources;

/// One call site, with the definitions that it is resolved to.
#[derive(Debug, Serialize)]
pub struct CallSite {
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in bytes.
    pub column: u32,
    pub name: String,
    pub grade: Grade,
    pub evidence: &'static str,
    pub targets: Vec<CallTarget>,
}

/// A definition that a call site is resolved to.
#[derive(Debug, Serialize)]
pub struct CallTarget {
    pub file: String,
    /// First and last line, 1-based, inclusive.
    pub span: (u32, u32),
    #[serde(rename = "qualifiedName")]
    pub qualified_name: String,
    pub kind: &'static str,
}

/// Visits the call sites of all files whose path begins with one of `prefixes`, ordered by path and position.
pub(super) fn each(
    (defs, sources, paths, resolver): (&Definitions<'_>, &Sources<'_>, &Paths<'_>, &Resolver<'_, '_>),
    prefixes: &[String],
    visit: &mut dyn FnMut(CallSite),
) {
    for entry in paths.all() {
        let Some(file) = defs.file(entry).filter(|file| file.dialect.is_some()) else { continue };
        if !prefixes.is_empty() && !prefixes.iter().any(|prefix| file.path.starts_with(prefix.as_str())) {
            continue;
        }

        let Some(facts) = sources.facts(&file) else { continue };
        for site in &facts.references {
            let Some(Resolution { grade, targets, evidence }) = resolver.resolve(&file, &facts, site) else {
                continue;
            };

            let before = facts.text.get(..site.at as usize).unwrap_or_default();
            visit(CallSite {
                file: file.path.clone(),
                line: site.line,
                column: (before.len() - before.rfind('\n').map_or(0, |at| at + 1)) as u32 + 1,
                name: site.name.to_string(),
                grade,
                evidence,
                targets: targets.iter().filter_map(|&id| defs.with(id, target)).collect(),
            });
        }
    }
}

fn target(file: &FileDefs, def: &Def) -> CallTarget {
    CallTarget {
        file: file.path.clone(),
        span: def.lines,
        qualified_name: def.qualified.clone(),
        kind: def.kind.name(),
    }
}
