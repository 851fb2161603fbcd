// A stand-in for the module `vscode`: what the extension uses of it, without a window. `shown` lists what was
// shown.
'use strict';

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

class Position {
  constructor(line, character) {
    Object.assign(this, { line, character });
  }
}

class Range {
  constructor(start, end) {
    Object.assign(this, { start, end, active: start });
  }
}

class Uri {
  static file(fsPath) {
    return Object.assign(new Uri(), { scheme: 'file', fsPath });
  }
}

class Event {
  listeners = [];
  subscribe = (listener) => this.listeners.push(listener);
  async fire(value) {
    for (const listener of this.listeners) await listener(value);
  }
}

class QuickPick {
  value = '';
  activeItems = [];
  isVisible = false;
  disposed = false;
  #items = [];
  #events = { ChangeValue: new Event(), ChangeActive: new Event(), Accept: new Event(), Hide: new Event() };

  constructor() {
    for (const [name, event] of Object.entries(this.#events)) this[`onDid${name}`] = event.subscribe;
  }

  get items() {
    return this.#items;
  }

  // VS Code selects the first item.
  set items(items) {
    this.#items = items;
    this.select(0);
  }

  select(index) {
    this.activeItems = this.#items.slice(index, index + 1);
    return this.#events.ChangeActive.fire(this.activeItems);
  }

  type(value) {
    this.value = value;
    return this.#events.ChangeValue.fire(value);
  }

  accept() {
    return this.#events.Accept.fire();
  }

  show() {
    this.isVisible = true;
  }

  hide() {
    if (!this.isVisible) return undefined;
    this.isVisible = false;
    return this.#events.Hide.fire();
  }

  dispose() {
    this.disposed = true;
  }
}

// A fresh module and the commands that the extension has registered with it. `close` ends the extension as
// the editor does.
function load(extension, folder, program) {
  const shown = { documents: [], errors: [], messages: [], picks: [], warnings: [] };
  const commands = new Map();
  const settings = { path: program, limit: 30 };
  const window = {
    activeTextEditor: undefined,
    createQuickPick() {
      shown.picks.push(new QuickPick());
      return shown.picks.at(-1);
    },
    async showTextDocument(uri, options) {
      const text = fs.readFileSync(uri.fsPath, 'utf8');
      shown.documents.push({ file: path.relative(folder, uri.fsPath), ...options });
      window.activeTextEditor = { document: documentOf(uri, text), selection: options.selection };
    },
    showErrorMessage: (message) => shown.errors.push(message),
    showInformationMessage: (message) => shown.messages.push(message),
    showWarningMessage: (message) => shown.warnings.push(message),
  };
  const vscode = {
    Position,
    Range,
    Uri,
    window,
    commands: {
      registerCommand(name, run) {
        commands.set(name, run);
        return { dispose() {} };
      },
    },
    workspace: {
      workspaceFolders: [{ uri: Uri.file(folder) }],
      getConfiguration: () => ({ get: (name) => settings[name] }),
    },
  };

  const original = Module._load;
  Module._load = (name, ...rest) => (name === 'vscode' ? vscode : original(name, ...rest));
  delete require.cache[require.resolve(extension)];
  const subscriptions = [];
  require(extension).activate({ subscriptions });
  Module._load = original;
  const close = () => subscriptions.forEach((subscription) => subscription.dispose());
  return { vscode, shown, settings, close, run: (name) => commands.get(`codeweaver.${name}`)() };
}

function documentOf(uri, text) {
  const lines = text.split('\n');
  return {
    uri,
    getText: (range) => lines[range.start.line].slice(range.start.character, range.end.character),
    getWordRangeAtPosition({ line, character }) {
      for (const word of lines[line].matchAll(/\w+/g)) {
        const end = word.index + word[0].length;
        if (word.index <= character && character <= end) {
          return new Range(new Position(line, word.index), new Position(line, end));
        }
      }
      return undefined;
    },
  };
}

module.exports = { load };
