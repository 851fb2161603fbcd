// Four commands: search as you type, definition, similar code, callers. Each shows its places in a quick
// pick; the one that is selected is shown in a preview, Enter opens it, and Escape goes back to where the
// cursor was.
'use strict';

const { execFile } = require('node:child_process');
const path = require('node:path');
const vscode = require('vscode');

const places = require('./places');
const { Problem, Server } = require('./server');

// Time without typing after which the query is searched for.
const PAUSE_MS = 120;

// The process that answers, from `activate` on.
let server;
// The roots of repositories, by directory.
const roots = new Map();

function activate(context) {
  server = new Server();
  context.subscriptions.push(server);
  const commands = { search, definition, similar, callers };
  for (const [name, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(`codeweaver.${name}`, guarded(run)));
  }
}

// Shows the text of a `Problem` instead of failing with it.
function guarded(run) {
  return async (...args) => {
    try {
      return await run(...args);
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      vscode.window.showErrorMessage(problem.message);
    }
  };
}

function setting(name) {
  return vscode.workspace.getConfiguration('codeweaver').get(name);
}

// The root of the repository of the active file, or else of the first folder that is open.
async function findRoot() {
  const document = vscode.window.activeTextEditor?.document;
  const isFile = document?.uri.scheme === 'file';
  const directory = isFile ? path.dirname(document.uri.fsPath) : vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (!directory) throw new Problem('Open a file or a folder of a git repository first.');

  if (!roots.has(directory)) roots.set(directory, await rootOf(directory));
  return roots.get(directory);
}

function rootOf(directory) {
  return new Promise((resolve, reject) => {
    execFile('git', ['rev-parse', '--show-toplevel'], { cwd: directory }, (error, stdout) => {
      if (error) reject(new Problem(`${directory} is not in a git repository.`));
      else resolve(stdout.trim());
    });
  });
}

// Calls a tool of the program, whose lists are as long as the setting says.
function start(root, { tool, args }) {
  return server.call(setting('path'), root, tool, args);
}

// A query in quotes is a text, and one between slashes a regular expression: all lines with it are listed.
function callOfQuery(query) {
  const max_results = setting('limit');
  const [, text] = /^"([^"]+)"$/.exec(query) ?? [];
  if (text) return { tool: 'find_text', args: { pattern: text, regex: false, max_results } };
  const [, pattern, flag] = /^\/(.+)\/(i?)$/.exec(query) ?? [];
  if (pattern) return { tool: 'find_text', args: { pattern, regex: true, ignore_case: flag === 'i', max_results } };
  return { tool: 'find_code', args: { query, explore: false, max_results } };
}

// The line of the cursor.
function lineOfCursor() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) throw new Problem('Place the cursor in a file first.');
  return { editor, file: editor.document.uri.fsPath, line: editor.selection.active.line + 1 };
}

async function search() {
  const root = await findRoot();
  const pick = newPick(root, 'Search code by meaning, name, or "exact text"');
  let running;
  let timer;

  async function update(query) {
    running?.stop();
    running = undefined;
    if (query.trim() === '') {
      pick.items = [];
      pick.busy = false;
      return;
    }
    pick.busy = true;
    const current = (running = start(root, callOfQuery(query.trim())));
    try {
      const response = await current.response;
      // Stopped, because more was typed.
      if (response === undefined) return;
      pick.items = items(places.ofMatches(response));
      pick.title = places.doubt(response);
    } catch (problem) {
      pick.items = [];
      pick.title = problem.message;
    }
    if (current === running) pick.busy = false;
  }

  pick.onDidChangeValue((query) => {
    clearTimeout(timer);
    timer = setTimeout(update, PAUSE_MS, query);
  });
  pick.onDidHide(() => {
    clearTimeout(timer);
    running?.stop();
  });
  pick.show();
}

async function similar() {
  const { file, line } = lineOfCursor();
  const call = { tool: 'find_similar', args: { file, line, max_results: setting('limit') } };
  showPlaces(`Similar to ${path.basename(file)}:${line}`, await placesOf(call, places.ofMatches));
}

async function callers() {
  const name = nameAtCursor();
  showPlaces(`Callers of ${name}`, await placesOf(graphCall(name, 'callers'), places.ofCalls));
}

// Opens the only definition of the name at the cursor, or shows all.
async function definition() {
  const name = nameAtCursor();
  const answer = await placesOf(graphCall(name, 'definitions'), places.ofDefinitions);
  const { root, response, found } = answer;
  if (found.length !== 1) return showPlaces(`Definitions of ${name}`, answer);

  const doubt = places.doubt(response);
  if (doubt) vscode.window.showWarningMessage(doubt);
  await show(root, found[0], false);
}

function nameAtCursor() {
  const { editor } = lineOfCursor();
  const word = editor.document.getWordRangeAtPosition(editor.selection.active);
  if (!word) throw new Problem('Place the cursor on a name first.');
  return editor.document.getText(word);
}

function graphCall(symbol, direction) {
  return { tool: 'call_graph', args: { symbol, direction, limit: setting('limit'), note_limit: 0 } };
}

// The repository of the active file, the response of a tool, and the places that are found in it.
async function placesOf(call, read) {
  const root = await findRoot();
  const response = await start(root, call).response;
  return { root, response, found: read(response) };
}

function showPlaces(title, { root, response, found }) {
  const doubt = places.doubt(response);
  if (found.length === 0) {
    const message = places.nothingFound(title, response);
    if (doubt) vscode.window.showWarningMessage(message);
    else vscode.window.showInformationMessage(message);
    return;
  }
  const pick = newPick(root, title);
  pick.title = doubt;
  pick.items = items(found);
  pick.show();
}

// The order is the program's, and its places need not contain the words of the query.
function items(found) {
  return found.map((place) => ({ ...place, alwaysShow: true }));
}

// A quick pick that previews the selected place and opens the accepted one.
function newPick(root, placeholder) {
  const before = vscode.window.activeTextEditor;
  const view = before && { uri: before.document.uri, selection: before.selection };
  const pick = vscode.window.createQuickPick();
  pick.placeholder = placeholder;
  let accepted = false;

  pick.onDidChangeActive(async ([place]) => {
    if (place) await show(root, place, true);
  });
  pick.onDidAccept(async () => {
    const [place] = pick.activeItems;
    if (!place) return;
    accepted = true;
    pick.hide();
    await show(root, place, false);
  });
  pick.onDidHide(async () => {
    pick.dispose();
    if (!accepted && view) await vscode.window.showTextDocument(view.uri, { selection: view.selection, preview: true });
  });
  return pick;
}

async function show(root, place, preview) {
  const uri = vscode.Uri.file(path.join(root, place.file));
  const first = new vscode.Position(place.line - 1, 0);
  const selection = new vscode.Range(first, preview ? new vscode.Position(place.endLine, 0) : first);
  await vscode.window.showTextDocument(uri, { selection, preview, preserveFocus: preview });
}

function deactivate() {}

module.exports = { activate, deactivate };
