// Runs git-codeweaver and reads the JSON that it prints (docs/output.md of the project has its fields).
'use strict';

const { execFile } = require('node:child_process');

// Answers of a large repository; more is no list that a person reads.
const MAX_BYTES = 64 * 1024 * 1024;

// An error whose text is for people.
class Problem extends Error {}

// Starts the program in a directory. Returns `response`, a promise of the object that it prints, which a
// `Problem` rejects, and `stop`, after which the promise becomes undefined.
function start(program, args, directory) {
  let child;
  let stopped = false;
  const response = new Promise((resolve, reject) => {
    const options = { cwd: directory, maxBuffer: MAX_BYTES, windowsHide: true };
    child = execFile(program, args, options, (error, stdout, stderr) => {
      if (stopped) return resolve(undefined);
      if (error && error.code === 'ENOENT') {
        return reject(new Problem(`${program} is not on the PATH. Install git-codeweaver, or set codeweaver.path.`));
      }
      try {
        resolve(checked(JSON.parse(stdout)));
      } catch (problem) {
        reject(problem instanceof Problem ? problem : new Problem(stderr.trim() || String(error || problem)));
      }
    });
    child.stdin?.end();
  });

  const stop = () => {
    stopped = true;
    child.kill();
  };
  return { response, stop };
}

// A response, unless it says that there is none: the program then names the reason and what mends it.
function checked(response) {
  if (response.event === 'error') {
    throw new Problem([response.what, response.why, response.fix].filter(Boolean).join('. '));
  }
  if (response.message && !response.matches && !response.edges) {
    throw new Problem([response.message, ...(response.hints ?? [])].join(' '));
  }
  return response;
}

module.exports = { Problem, start };
