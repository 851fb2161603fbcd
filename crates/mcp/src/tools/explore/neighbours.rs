//! Functions that the best ones call or that call them, and their tests.

use std::collections::HashMap;

use codeweaver_xref::{CallGraphRequest, CallGraphResponse, Direction, EdgeKind, Grade, Node, Xref};

use super::functions::{Function, is_function, sort};
use super::{Exploring, Place};
use crate::tools::CallError;

/// Number of the best functions whose neighbours are looked up.
const WITH_NEIGHBOURS: usize = 2;
/// Share of the score of a function that its neighbours gain.
const SHARE: f32 = 0.2;
/// Maximum time for the call graph, in milliseconds.
const TIME_LIMIT_MS: u64 = 2000;

/// The tests of the best functions, as the call graph has them.
#[derive(Default)]
pub(super) struct Neighbours {
    /// Tests that call one of the best functions.
    pub tests: Vec<Place>,
    /// True if a limit of the call graph was reached.
    pub is_cut: bool,
}

/// Raises the scores of the neighbours of the best `functions`, and adds those that are in other files.
pub(super) fn raise(
    functions: &mut Vec<Function>,
    exploring: &Exploring<'_>,
) -> Result<Neighbours, CallError> {
    let best: Vec<Function> = functions.iter().take(WITH_NEIGHBOURS).cloned().collect();
    let Some(first) = best.first() else { return Ok(Neighbours::default()) };

    let place = |function: &Function| format!("{}:{}", function.path, function.lines.0);
    let mut request = CallGraphRequest::new(&place(first), Direction::Both);
    request.symbols = best.iter().map(place).collect();
    request.rev = exploring.rev.map(str::to_owned);
    request.cancel = exploring.call.cancel();
    request.timeout_ms = TIME_LIMIT_MS;

    let searcher = &exploring.target.searcher;
    let asked =
        exploring.call.run_query(exploring.target, |updater| Xref::new(searcher).query(&request, updater));
    let graph = match asked {
        Ok(graph) => graph,
        // Its files may have changed since they were searched. The functions stand by themselves.
        Err(CallError::Failed(_)) => return Ok(Neighbours { is_cut: true, ..Neighbours::default() }),
        Err(error) => return Err(error),
    };

    let mut neighbours = Neighbours { is_cut: graph.coverage.is_cut, ..Neighbours::default() };
    for (of, node) in linked(&graph, &best) {
        let Some(lines) = node.span else { continue };
        if node.is_test {
            let (path, name) = (node.file.clone(), node.qualified_name.clone());
            neighbours.tests.push(Place { path, lines, kind: node.kind, name });
            continue;
        }

        let gain = best[of].score * SHARE;
        let known = functions.iter_mut().find(|it| it.path == node.file && it.lines.0 == lines.0);
        match known {
            Some(known) => known.score = 1.0 - (1.0 - known.score) * (1.0 - gain),
            None if is_function(node.kind) => functions.push(Function {
                path: node.file.clone(),
                lines,
                kind: node.kind,
                name: node.qualified_name.clone(),
                text: None,
                score: gain,
            }),
            None => {}
        }
    }

    sort(functions);
    Ok(neighbours)
}

/// The nodes that a sure call links to one of `best`, each once, with the position of the first such.
fn linked<'g>(graph: &'g CallGraphResponse, best: &[Function]) -> Vec<(usize, &'g Node)> {
    let nodes: HashMap<&str, &Node> =
        graph.nodes.iter().map(|node| (node.symbol_id.as_str(), node)).collect();
    let best_at = |node: &Node| {
        best.iter().position(|it| it.path == node.file && Some(it.lines.0) == node.span.map(|span| span.0))
    };

    let mut found: Vec<(usize, &Node)> = Vec::new();
    for edge in &graph.edges {
        let is_sure = matches!(edge.grade, Grade::Exact | Grade::UniqueName);
        if !is_sure || edge.kind != EdgeKind::Call {
            continue;
        }
        let Some(to) = edge.dst_symbol_id.as_deref().and_then(|id| nodes.get(id)) else { continue };
        let Some(from) = nodes.get(edge.src_symbol_id.as_str()) else { continue };

        let pair = match (best_at(from), best_at(to)) {
            (Some(of), None) => (of, *to),
            (None, Some(of)) => (of, *from),
            // Both are among the best already.
            _ => continue,
        };
        if !found.iter().any(|(_, known)| known.symbol_id == pair.1.symbol_id) {
            found.push(pair);
        }
    }

    found.sort_by_key(|(of, _)| *of);
    found
}
