// The program as one process that stays while the editor does: `git-codeweaver mcp` answers calls of tools
// over stdin and stdout, in JSON-RPC with a message on each line (docs/mcp.md of the project has the tools).
'use strict';

const childProcess = require('node:child_process');
const { pathToFileURL } = require('node:url');

const PROTOCOL = '2025-06-18';
// Lists for people are limited by their length. This is more than the longest of them needs.
const TOKENS = 100_000;
// Characters of stderr that an error shows.
const MAX_STDERR = 2000;
// Characters of a line that is no message that an error shows.
const MAX_LINE = 200;
// Time that the server may take to ask for the folders of the user.
const FOLDERS_MS = 2000;

// An error whose text is for people.
class Problem extends Error {}

// The process ended before it answered.
class Ended extends Error {}

// The process for all repositories. It is started by the first call, and again after it has ended.
class Server {
  #connection;
  #isDisposed = false;
  #roots = new Set();

  // Calls a tool for the repository at `root`. Returns `response`, a promise of the structured content, which
  // a `Problem` rejects, and `stop`, after which the promise becomes undefined.
  call(program, root, tool, args) {
    let request;
    let stopped = false;
    const params = { name: tool, arguments: { ...args, path: root, format: 'json', token_limit: TOKENS } };

    const send = async () => {
      const connection = await this.#connect(program, root);
      if (stopped) return undefined;
      request = connection.request('tools/call', params);
      const result = await request.result;
      return stopped ? undefined : contentOf(result);
    };

    // A tool changes nothing, so it can be called again in place of a process that was killed.
    const response = send()
      .catch((error) => {
        if (!(error instanceof Ended) || stopped || this.#isDisposed) throw error;
        return send();
      })
      .catch((error) => {
        if (stopped) return undefined;
        throw error instanceof Ended ? new Problem(`${program} ended: ${error.message}`) : error;
      });

    const stop = () => {
      stopped = true;
      request?.cancel();
    };
    return { response, stop };
  }

  // A connection that knows `root` as a folder of the user.
  async #connect(program, root) {
    if (this.#isDisposed) throw new Ended('the editor has closed it');
    this.#roots.add(root);
    let connection = this.#connection;
    if (!connection || connection.hasEnded || connection.program !== program) {
      connection?.close();
      connection = this.#connection = new Connection(program, root, this.#roots);
    }
    await connection.ready;
    await connection.introduce(root);
    return connection;
  }

  // Ends the process. Calls under way fail, and no process is started again.
  dispose() {
    this.#isDisposed = true;
    this.#connection?.close();
    this.#connection = undefined;
  }
}

// One process. `ready` becomes true when it can be called; `hasEnded` says that it no longer can.
class Connection {
  hasEnded = false;
  #child;
  #isListed = false;
  // Folders that the server may read: that which it was started in, and those that it was told.
  #known;
  #lastId = 0;
  // Called when the server is told the folders.
  #listeners = [];
  #roots;
  #stderr = '';
  #waiting = new Map();
  // The error with which it ended.
  #why;

  constructor(program, directory, roots) {
    this.program = program;
    this.#known = new Set([directory]);
    this.#roots = roots;
    this.#child = childProcess.spawn(program, ['mcp'], { cwd: directory, stdio: 'pipe', windowsHide: true });

    const { stdin, stdout, stderr } = this.#child;
    this.#child.on('error', (error) => this.#end(failedStart(program, error)));
    this.#child.on('close', (code, signal) => {
      this.#end(new Ended(this.#stderr.trim() || `${signal ?? `exit code ${code}`}`));
    });
    // The event `close` tells the same.
    stdin.on('error', () => {});
    stderr.setEncoding('utf8').on('data', (text) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR);
    });

    let rest = '';
    stdout.setEncoding('utf8').on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) this.#receive(line);
    });

    const params = {
      protocolVersion: PROTOCOL,
      capabilities: { roots: { listChanged: true } },
      clientInfo: { name: 'git-codeweaver for Visual Studio Code', version: require('./package.json').version },
    };
    this.ready = this.request('initialize', params).result.then(() => this.notify('notifications/initialized'));
    // Each call awaits it and reports its failure.
    this.ready.catch(() => {});
  }

  // Waits until the server knows `root`, which is one of `roots`, as a folder of the user.
  async introduce(root) {
    if (this.#known.has(root) || this.hasEnded) return;
    if (this.#isListed) this.notify('notifications/roots/list_changed');
    await new Promise((resolve) => {
      this.#listeners.push(resolve);
      // An answer without the folder says how to allow it.
      setTimeout(resolve, FOLDERS_MS).unref();
    });
  }

  // Returns `result`, a promise, and `cancel`, after which it becomes undefined.
  request(method, params) {
    if (this.hasEnded) return { result: Promise.reject(this.#why), cancel() {} };
    const id = (this.#lastId += 1);
    const result = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, method, params });

    const cancel = () => {
      if (!this.#waiting.has(id)) return;
      this.#take(id).resolve(undefined);
      this.notify('notifications/cancelled', { requestId: id });
    };
    return { result, cancel };
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  // The process ends with its input.
  close() {
    this.#child.stdin.end();
    this.#end(new Ended('the editor has closed it'));
  }

  #send(message) {
    if (!this.hasEnded) this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #receive(line) {
    if (this.hasEnded || line.trim() === '') return;
    const message = messageOf(line);
    if (message === undefined) {
      this.#child.kill();
      this.#end(new Problem(`${this.program} printed what is no message: ${line.slice(0, MAX_LINE)}`));
      return;
    }

    if (message.method !== undefined) return this.#answer(message);
    const waiting = this.#take(message.id);
    if (message.error) waiting?.reject(new Problem(message.error.message));
    else waiting?.resolve(message.result);
  }

  // Answers a request of the server; notifications are ignored.
  #answer({ id, method }) {
    if (id === undefined) return;
    if (method === 'roots/list') {
      const roots = [...this.#roots].map((root) => ({ uri: pathToFileURL(root).href }));
      this.#send({ id, result: { roots } });
      this.#isListed = true;
      this.#roots.forEach((root) => this.#known.add(root));
      this.#notifyListeners();
    } else if (method === 'ping') {
      this.#send({ id, result: {} });
    } else {
      this.#send({ id, error: { code: -32601, message: `${method} is not supported` } });
    }
  }

  #notifyListeners() {
    for (const resolve of this.#listeners.splice(0)) resolve();
  }

  #take(id) {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #end(error) {
    this.hasEnded = true;
    this.#why ??= error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    this.#notifyListeners();
  }
}

// The message of a line; undefined if it is none.
function messageOf(line) {
  try {
    const message = JSON.parse(line);
    return typeof message === 'object' && message !== null ? message : undefined;
  } catch {
    return undefined;
  }
}

function failedStart(program, error) {
  if (error.code !== 'ENOENT') return new Problem(`${program} cannot be started: ${error.message}`);
  return new Problem(`${program} is not on the PATH. Install git-codeweaver, or set codeweaver.path.`);
}

// The structured content of a result, unless it says that there is no answer: the program then names the
// reason.
function contentOf(result) {
  const { isError, structuredContent: content } = result;
  if (!isError && content && !content.reason) return content;

  const fix = content?.status === 'not_indexed' ? 'Run `git codeweaver init` in it.' : undefined;
  const message = content?.message ?? result.content?.[0]?.text ?? 'there is no answer';
  throw new Problem([message, fix].filter(Boolean).join('. '));
}

module.exports = { Problem, Server };
