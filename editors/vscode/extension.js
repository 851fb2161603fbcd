// Three commands: search as you type, similar code, callers. Each shows its places in a quick pick; the one
// that is selected is shown in a preview, Enter opens it, and Escape goes back to where the cursor was.
'use strict';

const { execFile } = require('node:child_process');
const path = require('node:path');
const vscode = require('vscode');

const places = require('./places');
const { Problem, start } = require('./program');

// Time without typing after which the query is searched for.
const PAUSE_MS = 120;

function activate(context) {
  const commands = { search, similar, callers };
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
function findRoot() {
  const document = vscode.window.activeTextEditor?.document;
  const isFile = document?.uri.scheme === 'file';
  const directory = isFile ? path.dirname(document.uri.fsPath) : vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  if (!directory) throw new Problem('Open a file or a folder of a git repository first.');

  return new Promise((resolve, reject) => {
    execFile('git', ['rev-parse', '--show-toplevel'], { cwd: directory }, (error, stdout) => {
      if (error) reject(new Problem(`${directory} is not in a git repository.`));
      else resolve(stdout.trim());
    });
  });
}

// The line of the cursor, as the program takes it.
function lineOfCursor() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) throw new Problem('Place the cursor in a file first.');
  return { editor, at: `${editor.document.uri.fsPath}:${editor.selection.active.line + 1}` };
}

async function search() {
  const root = await findRoot();
  const pick = newPick(root, 'Search code by meaning, name, or "exact text"');
  let running;
  let timer;

  async function update(query) {
    running?.stop();
    if (query.trim() === '') {
      pick.items = [];
      return;
    }
    pick.busy = true;
    const args = ['search', '-o', 'json', '-l', String(setting('limit')), '--', query];
    const current = (running = start(setting('path'), args, root));
    try {
      const response = await current.response;
      // Stopped, because more was typed.
      if (response === undefined) return;
      pick.items = items(places.ofMatches(response));
      pick.title = undefined;
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
  const { at } = lineOfCursor();
  const args = ['similar', '-o', 'json', '-l', String(setting('limit')), '--', at];
  await showPlaces(`Similar to ${path.basename(at)}`, args, places.ofMatches);
}

async function callers() {
  const { editor } = lineOfCursor();
  const word = editor.document.getWordRangeAtPosition(editor.selection.active);
  if (!word) throw new Problem('Place the cursor on the name of a function first.');
  const name = editor.document.getText(word);
  const args = ['graph', 'callers', '-o', 'json', '-l', String(setting('limit')), '--', name];
  await showPlaces(`Callers of ${name}`, args, places.ofCalls);
}

// Runs a command once and shows its places.
async function showPlaces(title, args, read) {
  const root = await findRoot();
  const found = read(await start(setting('path'), args, root).response);
  if (found.length === 0) {
    vscode.window.showInformationMessage(`${title}: nothing found.`);
    return;
  }
  const pick = newPick(root, title);
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
