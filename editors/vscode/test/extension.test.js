// The extension with a stand-in for `vscode`, the real program and a real repository. CODEWEAVER_TEST_BINARY
// and CODEWEAVER_TEST_REPOSITORY name the two, CODEWEAVER_TEST_STAND_IN a program whose answers are given;
// `python3 editors/test_editors.py` makes the repository.
'use strict';

const assert = require('node:assert/strict');
const childProcess = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');

const manifest = require('../package.json');
const { load } = require('./stub');

const folder = process.env.CODEWEAVER_TEST_REPOSITORY;
const program = process.env.CODEWEAVER_TEST_BINARY;

// The processes that the extension has started.
const started = [];
const { spawn } = childProcess;
childProcess.spawn = (...args) => {
  started.push(spawn(...args));
  return started.at(-1);
};

// An editor with the extension, until the test ends.
function open(t) {
  started.length = 0;
  const editor = load(path.join(__dirname, '../extension.js'), folder, program);
  t.after(editor.close);
  return editor;
}

// An editor with a program that answers each call with `answer`.
function openWith(t, answer) {
  process.env.CODEWEAVER_TEST_ANSWER = JSON.stringify(answer);
  const editor = open(t);
  editor.settings.path = process.env.CODEWEAVER_TEST_STAND_IN;
  return editor;
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

test('a search shows matches as the query is typed, previews the best, and opens it', async (t) => {
  const editor = open(t);
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

test('Escape goes back to where the cursor was', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/cart.py', 2, 0);
  await editor.run('search');
  const [pick] = editor.shown.picks;
  await pick.type('where are session cookies signed');
  await until(() => editor.shown.documents.length > 1);
  await pick.hide();
  assert.equal(lastShown(editor), 'src/cart.py:2');
});

test('a query in quotes or between slashes lists the lines', async (t) => {
  const editor = open(t);
  await editor.run('search');
  const [pick] = editor.shown.picks;
  for (const query of ['"response.cookies"', '/COOKIES\\.\\w+/i']) {
    pick.items = [];
    await pick.type(query);
    await until(() => pick.items.length > 0);
    assert.deepEqual(
      pick.items.map(({ label, description, detail }) => [label, description, detail]),
      [['response.cookies.append(sign_session(user, secret))', 'src/login.py:6', 'log_in']],
    );
  }

  await pick.type('/(/');
  await until(() => pick.title);
  assert.match(pick.title, /unclosed group/);
  assert.deepEqual(pick.items, []);
});

test('the definition of the name at the cursor', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/login.py', 6, 30);
  await editor.run('definition');
  assert.equal(lastShown(editor), 'src/session.py:4');
  assert.equal(editor.shown.picks.length, 0);
});

test('the callers of the name at the cursor', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  const [pick] = editor.shown.picks;
  assert.deepEqual(
    pick.items.map(({ label, file }) => [label, file]),
    [['log_in', 'src/login.py']],
  );
});

test('code similar to that at the cursor', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/session.py', 4, 0);
  await editor.run('similar');
  assert.ok(editor.shown.picks[0].items.length > 0);
});

test('a name that nothing calls', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/login.py', 4, 6);
  await editor.run('callers');
  assert.equal(editor.shown.picks.length, 0);
  assert.equal(editor.shown.messages.length + editor.shown.errors.length, 1);
});

test('nothing found in an incomplete answer proves nothing', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/hooks.py', 1, 6);
  await editor.run('callers');
  assert.equal(editor.shown.picks.length, 0);
  assert.match(editor.shown.warnings[0], /^Callers of close_cart: nothing found; there may be some/);
});

test('an incomplete answer says so', async (t) => {
  const degraded = { status: 'degraded', warnings: ['3 files are not in this clone'] };
  const none = openWith(t, { ...degraded, matches: [] });
  await openAt(none, 'src/login.py', 1, 0);
  await none.run('similar');
  const expected = 'Similar to login.py:1: nothing found; there may be some: 3 files are not in this clone';
  assert.deepEqual(none.shown.warnings, [expected]);

  const match = { file: { path: 'src/login.py' }, span: [4, 6], content: { title: 'log_in' } };
  const some = openWith(t, { ...degraded, matches: [match] });
  await openAt(some, 'src/login.py', 1, 0);
  await some.run('similar');
  assert.equal(some.shown.picks[0].title, '3 files are not in this clone');

  const node = { file: 'src/session.py', span: [4, 8], qualifiedName: 'sign_session', signature: '' };
  const coverage = { complete: false };
  const one = openWith(t, { status: 'ok', nodes: [node], coverage, warnings: ['stopped after 9 files'] });
  await openAt(one, 'src/login.py', 6, 30);
  await one.run('definition');
  assert.equal(lastShown(one), 'src/session.py:4');
  assert.deepEqual(one.shown.warnings, ['stopped after 9 files']);
});

test('code with the syntax of icons is shown as it is', async (t) => {
  const editor = open(t);
  await editor.run('search');
  const [pick] = editor.shown.picks;
  await pick.type('"$(pwd)"');
  await until(() => pick.items.length > 0);
  assert.deepEqual(
    pick.items.map(({ label, file }) => [label, file]),
    [['folder=\\$(pwd)', 'src/build.sh']],
  );
});

test('calls under way do not start a process after the editor has closed', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  // This call cannot be answered.
  started[0].kill('SIGSTOP');
  await openAt(editor, 'src/session.py', 4, 6);
  const running = editor.run('callers');
  await new Promise((resolve) => setTimeout(resolve, 50));
  editor.close();
  await running;
  await editor.run('callers');

  started[0].kill('SIGKILL');
  assert.equal(started.length, 1);
  assert.match(editor.shown.errors[0], /ended: the editor has closed it/);
});

test('a line that is no message is shown', async (t) => {
  const editor = open(t);
  const script = path.join(fs.mkdtempSync(`${folder}-program-`), 'program');
  fs.writeFileSync(script, '#!/bin/sh\necho these are no messages\ncat >/dev/null\n', { mode: 0o755 });
  editor.settings.path = script;
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  assert.deepEqual(editor.shown.errors, [`${script} printed what is no message: these are no messages`]);
  assert.equal(started.length, 1);
});

test('a missing program is named', async (t) => {
  const editor = open(t);
  editor.settings.path = 'no-such-program';
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  assert.match(editor.shown.errors[0], /no-such-program is not on the PATH/);
});

test('one process answers everything, and ends with the editor', async (t) => {
  const editor = open(t);
  await openAt(editor, 'src/session.py', 4, 6);
  await Promise.all([editor.run('callers'), editor.run('similar'), editor.run('definition')]);
  await editor.run('search');
  await editor.shown.picks.at(-1).type('where are session cookies signed');
  await until(() => editor.shown.picks.at(-1).items.length > 0);
  assert.equal(started.length, 1);

  const closed = once(started[0], 'close');
  editor.close();
  assert.deepEqual(await closed, [0, null]);
});

test('another repository is answered by the same process', async (t) => {
  const other = fs.mkdtempSync(`${folder}-other-`);
  const git = (...args) => childProcess.execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@e', ...args], { cwd: other });
  fs.writeFileSync(path.join(other, 'a.py'), 'def sail():\n    return 1\n\n\ndef travel():\n    return sail()\n');
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'first');

  const editor = open(t);
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  // It is small, so the first question indexes it.
  await openAt(editor, path.relative(folder, path.join(other, 'a.py')), 1, 6);
  await editor.run('callers');

  assert.deepEqual(editor.shown.errors, []);
  assert.deepEqual(
    editor.shown.picks.map((pick) => pick.items.map(({ label, file }) => [label, file])),
    [[['log_in', 'src/login.py']], [['travel', 'a.py']]],
  );
  assert.equal(started.length, 1);
});

test('a process that was killed is replaced, also while it answers', async (t) => {
  const editor = open(t);
  // The preview of a caller moves the cursor.
  const callers = async () => {
    await openAt(editor, 'src/session.py', 4, 6);
    await editor.run('callers');
  };
  await callers();
  const closed = once(started[0], 'close');
  started[0].kill('SIGKILL');
  await closed;
  await callers();

  // This call is sent to the second process, which cannot answer.
  started[1].kill('SIGSTOP');
  const running = callers();
  await new Promise((resolve) => setTimeout(resolve, 50));
  started[1].kill('SIGKILL');
  await running;

  assert.equal(started.length, 3);
  assert.deepEqual(
    editor.shown.picks.map((pick) => pick.items.map(({ label }) => label)),
    [['log_in'], ['log_in'], ['log_in']],
  );
  assert.deepEqual(editor.shown.errors, []);
});

test('a program that always ends is not started for ever, and its words are shown', async (t) => {
  const editor = open(t);
  // Node does not know the command either.
  editor.settings.path = process.execPath;
  await openAt(editor, 'src/session.py', 4, 6);
  await editor.run('callers');
  assert.match(editor.shown.errors[0], /Cannot find module/);
  assert.equal(started.length, 2);
});

test('every command of the manifest is registered', (t) => {
  const editor = open(t);
  for (const { command } of manifest.contributes.commands) {
    assert.doesNotThrow(() => editor.run(command.replace('codeweaver.', '')));
  }
});
