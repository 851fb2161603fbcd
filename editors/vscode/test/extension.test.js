// The extension with a stand-in for `vscode`, the real program and a real repository. CODEWEAVER_TEST_BINARY
// and CODEWEAVER_TEST_REPOSITORY name the two; `python3 editors/test_editors.py` makes the repository.
'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const test = require('node:test');

const manifest = require('../package.json');
const { load } = require('./stub');

const folder = process.env.CODEWEAVER_TEST_REPOSITORY;
const program = process.env.CODEWEAVER_TEST_BINARY;

function open() {
  return load(path.join(__dirname, '../extension.js'), folder, program);
}

// Waits until a condition holds; the runner has the time limit.
async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}

// The file and first line, from 1, that was shown last.
function lastShown({ shown }) {
  const document = shown.documents.at(-1);
  return `${document.file}:${document.selection.start.line + 1}`;
}

async function openAt(editor, file, line, character) {
  const { Position, Range, Uri } = editor.vscode;
  const at = new Position(line - 1, character);
  await editor.vscode.window.showTextDocument(Uri.file(path.join(folder, file)), { selection: new Range(at, at) });
}

test('a search shows matches as the query is typed, previews the best, and opens it', async () => {
  const editor = open();
  await editor.run('search');
  const [pick] = editor.shown.picks;
  await pick.type('where are');
  await pick.type('where are session cookies signed');
  await until(() => pick.items.length > 0 && editor.shown.documents.length > 0);

  assert.match(pick.items[0].label, /sign_session/);
  assert.match(pick.items[0].description, /^src\/session\.py:\d+$/);
  assert.equal(pick.items[0].detail, 'def sign_session(user, secret)');
  assert.equal(editor.shown.documents.at(-1).preview, true);
  assert.equal(editor.shown.documents.at(-1).preserveFocus, true);
  assert.equal(lastShown(editor), pick.items[0].description);

  await pick.accept();
  await until(() => editor.shown.documents.at(-1).preview === false);
  assert.equal(lastShown(editor), pick.items[0].description);
  assert.ok(pick.disposed);
});

test('Escape goes back to where the cursor was', async () => {
  const editor = open();
  await openAt(editor, 'src/cart.py', 2, 0);
  await editor.run('search');
  const [pick] = editor.shown.picks;
  await pick.type('where are session cookies signed');
  await until(() => editor.shown.documents.length > 1);
  await pick.hide();
  assert.equal(lastShown(editor), 'src/cart.py:2');
});

test('the callers of the name at the cursor', async () => {
  const editor = open();
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  const [pick] = editor.shown.picks;
  assert.deepEqual(
    pick.items.map(({ label, file }) => [label, file]),
    [['log_in', 'src/login.py']],
  );
});

test('code similar to that at the cursor', async () => {
  const editor = open();
  await openAt(editor, 'src/session.py', 4, 0);
  await editor.run('similar');
  assert.ok(editor.shown.picks[0].items.length > 0);
});

test('a name that nothing calls', async () => {
  const editor = open();
  await openAt(editor, 'src/login.py', 4, 6);
  await editor.run('callers');
  assert.equal(editor.shown.picks.length, 0);
  assert.equal(editor.shown.messages.length + editor.shown.errors.length, 1);
});

test('a missing program is named', async () => {
  const editor = open();
  editor.settings.path = 'no-such-program';
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  assert.match(editor.shown.errors[0], /no-such-program is not on the PATH/);
});

test('every command of the manifest is registered', () => {
  const editor = open();
  for (const { command } of manifest.contributes.commands) {
    assert.doesNotThrow(() => editor.run(command.replace('codeweaver.', '')));
  }
});
