//! A program on a pseudo-terminal, which `script` opens.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A terminal with a program. It is killed when dropped.
pub struct Terminal {
    child: Child,
    keys: ChildStdin,
    printed: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Runs a command line; `script` is the command of that name, in a repository.
    pub fn start(script: &mut Command, line: &str) -> Terminal {
        script.args(["-qfec", line, "/dev/null"]).env("SHELL", "/bin/sh");
        script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = script.spawn().unwrap();
        let (keys, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());

        let printed = Arc::new(Mutex::new(Vec::new()));
        let sink = printed.clone();
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(n @ 1..) = stdout.read(&mut part) {
                sink.lock().unwrap().extend_from_slice(&part[..n]);
            }
        });

        Terminal { child, keys, printed }
    }

    pub fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Everything that was printed so far.
    pub fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().unwrap()).into_owned()
    }

    /// Waits until the program ends.
    pub fn wait(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // A test that has failed leaves the program running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
