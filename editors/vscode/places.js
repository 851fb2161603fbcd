// Places in files, as quick picks show them: `{ label, description, detail, file, line, endLine }`, lines
// from 1.
'use strict';

// The places of a response of `find_code`, `find_similar` or `find_text`, best first.
function ofMatches(response) {
  return response.files ? ofLines(response) : response.matches.map(ofMatch);
}

function ofMatch(match) {
  const [first, last] = match.focus ? [match.focus.start_line, match.focus.end_line] : match.span;
  return {
    label: match.focus?.symbol ?? match.content.title ?? match.file.path,
    description: `${match.file.path}:${first}`,
    detail: match.content.signature ?? firstLine(match.content.text),
    file: match.file.path,
    line: first,
    endLine: last,
  };
}

// The lines that have a text.
function ofLines(response) {
  return response.files.flatMap((file) =>
    file.lines.map(({ line, text, symbol }) => ({
      label: text.trim(),
      description: `${file.path}:${line}`,
      detail: symbol,
      file: file.path,
      line,
      endLine: line,
    })),
  );
}

// The places where calls are written. A grade says how certain an edge is.
function ofCalls(response) {
  return response.edges.flatMap((edge) =>
    edge.sites.map((site) => ({
      label: edge.srcSymbolId.replace(/^[^#]*#/, ''),
      description: `${site.file}:${site.startLine}`,
      detail: edge.grade.replace('_', ' '),
      file: site.file,
      line: site.startLine,
      endLine: site.startLine,
    })),
  );
}

function ofDefinitions(response) {
  return response.nodes.map((node) => ({
    label: node.qualifiedName,
    description: `${node.file}:${node.span[0]}`,
    detail: node.signature,
    file: node.file,
    line: node.span[0],
    endLine: node.span[1],
  }));
}

function firstLine(text) {
  return (text ?? '').split('\n', 1)[0].trim();
}

module.exports = { ofCalls, ofDefinitions, ofMatches };
