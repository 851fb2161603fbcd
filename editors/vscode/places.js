// Places in files, as quick picks show them: `{ label, description, detail, file, line, endLine }`, lines
// from 1.
'use strict';

// The places of a response of `find_code`, `find_similar` or `find_text`, best first.
function ofMatches(response) {
  return response.files ? ofLines(response) : response.matches.map(ofMatch);
}

function ofMatch(match) {
  const [first, last] = match.focus ? [match.focus.start_line, match.focus.end_line] : match.span;
  const label = match.focus?.symbol ?? match.content.title ?? match.file.path;
  const detail = match.content.signature ?? firstLine(match.content.text);
  return place(match.file.path, first, last, label, detail);
}

// The lines that have a text.
function ofLines(response) {
  return response.files.flatMap((file) =>
    file.lines.map(({ line, text, symbol }) => place(file.path, line, line, text.trim(), symbol)),
  );
}

// The places where calls are written. A grade says how certain an edge is.
function ofCalls(response) {
  return response.edges.flatMap((edge) => {
    const label = edge.srcSymbolId.replace(/^[^#]*#/, '');
    const detail = edge.grade.replace('_', ' ');
    return edge.sites.map((site) => place(site.file, site.startLine, site.startLine, label, detail));
  });
}

function ofDefinitions(response) {
  return response.nodes.map(({ file, span, qualifiedName, signature }) =>
    place(file, span[0], span[1], qualifiedName, signature),
  );
}

function place(file, line, endLine, label, detail) {
  const description = withoutIcons(`${file}:${line}`);
  return { label: withoutIcons(label), description, detail: withoutIcons(detail), file, line, endLine };
}

// A text that is shown as it is: a quick pick renders `$(name)` as an icon unless a backslash is before it.
function withoutIcons(text) {
  return text?.replace(/\$\([A-Za-z0-9-]+(?:~[A-Za-z]+)?\)/g, '\\$&');
}

function firstLine(text) {
  return (text ?? '').split('\n', 1)[0].trim();
}

// The states of an answer in which places may exist that it does not have.
const INCOMPLETE = ['degraded', 'not_found', 'unsupported'];

// Why a response may lack places; undefined if it lacks none.
function doubt(response) {
  const isCovered = response.coverage?.complete ?? true;
  if (isCovered && !INCOMPLETE.includes(response.status)) return undefined;
  return (response.warnings ?? []).join(' ') || 'there may be more';
}

// The message that a response has no places, which proves that there are none only if it is complete.
function nothingFound(title, response) {
  const warnings = (response.warnings ?? []).join(' ');
  const more = doubt(response) ? '; there may be some' : '';
  return `${title}: nothing found${more}${warnings ? `: ${warnings}` : '.'}`;
}

module.exports = { doubt, nothingFound, ofCalls, ofDefinitions, ofMatches };
