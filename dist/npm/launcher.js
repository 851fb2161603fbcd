#!/usr/bin/env node
// Starts the program of this platform, which npm has installed as an optional dependency.
'use strict';

const { spawn } = require('node:child_process');
const path = require('node:path');

// Whether the C library is musl: a process report names the version of glibc, if there is one.
function isMusl() {
  if (process.platform !== 'linux') return false;
  const report = process.report.getReport();
  return !report.header.glibcVersionRuntime;
}

// The packages that may hold the program, the best first. A static program also runs beside glibc.
function candidates() {
  const name = `@git-codeweaver/${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return [name];
  return isMusl() ? [`${name}-musl`] : [name, `${name}-musl`];
}

function findProgram() {
  const file = process.platform === 'win32' ? 'git-codeweaver.exe' : 'git-codeweaver';
  for (const name of candidates()) {
    try {
      return path.join(path.dirname(require.resolve(`${name}/package.json`)), file);
    } catch {
      // Not installed; the next may be.
    }
  }
  return undefined;
}

// Runs the program with this process's streams, and ends as it does.
function run(program, args) {
  // Replaces this process where Node can: one process less for each MCP server, and signals need no help.
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    // Node warns that the function is experimental, on the stream that clients show to their users.
    process.removeAllListeners('warning');
    process.execve(program, [program, ...args], process.env);
  }

  // A terminal sends its signals to both; one sent to this process alone is passed on. It waits for the end
  // of this function, so none is lost while the program starts.
  let child;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => child.kill(signal));
  }
  child = spawn(program, args, { stdio: 'inherit', windowsHide: true });
  child.on('error', (error) => {
    console.error(`error: ${program} cannot be started\n  why: ${error.message}`);
    process.exit(2);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const program = findProgram();
if (program === undefined) {
  console.error(
    `error: there is no program for ${process.platform} ${process.arch}\n` +
      `  why: none of these packages is installed: ${candidates().join(', ')}\n` +
      '  fix: install git-codeweaver again without --omit=optional, or build it with cargo',
  );
  process.exit(2);
}
run(program, process.argv.slice(2));
