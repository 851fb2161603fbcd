// Places in files, as quick picks show them: `{ label, description, detail, file, line, endLine }`, lines
// from 1.
'use strict';

// The places of the matches of `search` and `similar`, best first.
function ofMatches(response) {
  return response.matches.map((match) => {
    const [first, last] = match.focus ? [match.focus.start_line, match.focus.end_line] : match.span;
    return {
      label: match.focus?.symbol ?? match.content.title ?? match.file.path,
      description: `${match.file.path}:${first}`,
      detail: match.content.signature ?? firstLine(match.content.text),
      file: match.file.path,
      line: first,
      endLine: last,
    };
  });
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

function firstLine(text) {
  return (text ?? '').split('\n', 1)[0].trim();
}

module.exports = { ofCalls, ofMatches };
