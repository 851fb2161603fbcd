//! `ask --interactive` on a terminal: editing, history, and ways to end it.

use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::time::{Duration, Instant};

use codeweaver_testkit::{TestRepo, Tool, program};

const GUIDE: &str = "# Guide\n\n## Hooks\n\nTo turn hooks off, run `program hooks disable`.\n\n## Port\n\nThe server \
    listens on port 8765.\n";

/// What the program prints on a terminal on which these keys are pressed, each after the one before has been
/// answered with the words beside it; and its exit code.
fn pressed(keys: &[(&str, &str)]) -> Option<(String, Option<i32>)> {
    let script = Tool::SCRIPT.find()?;
    let repo = TestRepo::with_files(&[("docs/guide.md", GUIDE)]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    let command = format!("stty rows 40 cols 100; {} ask --interactive", program().display());
    let mut child = repo
        .command(script)
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("CI")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (sender, parts) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = stdout.read(&mut buffer) {
            if sender.send(String::from_utf8_lossy(&buffer[..n]).into_owned()).is_err() {
                return;
            }
        }
    });
    let mut said = String::new();
    let wait = |said: &mut String, from: usize, words: &str| {
        let started = Instant::now();
        while !said[from..].contains(words) {
            match parts.recv_timeout(Duration::from_secs(1)) {
                Ok(part) => said.push_str(&part),
                Err(_) => {
                    assert!(started.elapsed() < Duration::from_secs(40), "{words:?} is missing: {said:?}")
                }
            }
        }
    };
    wait(&mut said, 0, "? ");
    for (keys, words) in keys {
        let from = said.len();
        stdin.write_all(keys.as_bytes()).unwrap();
        stdin.flush().unwrap();
        if !words.is_empty() {
            wait(&mut said, from, words);
            // The next prompt.
            wait(&mut said, from, "word for word");
            let prompted = said.len();
            wait(&mut said, prompted.saturating_sub(40), "? ");
        }
    }
    let status = child.wait().unwrap();
    said.extend(parts.try_iter());
    Some((said, status.code()))
}

#[test]
fn earlier_questions_are_edited_and_asked_again() {
    // Up, back over "on", and another word.
    let again = "\x1b[A\x7f\x7foff?\r";
    let keys = [
        ("how do I turn hooks on\r", "program hooks disable"),
        (again, "program hooks disable"),
        ("quit\r", ""),
    ];
    let Some((said, code)) = pressed(&keys) else { return };
    // The question as it was asked, brought back, and what is typed behind the part that stays.
    assert_eq!(said.matches("how do I turn hooks on").count(), 2, "{said:?}");
    assert!(said.contains("off?"), "{said:?}");
    assert_eq!(code, Some(0), "{said:?}");
}

#[test]
fn control_c_and_control_d_end_the_session() {
    for key in ["\x03", "\x04"] {
        let Some((said, code)) = pressed(&[("which port does the server listen on\r", "8765"), (key, "")])
        else {
            return;
        };
        assert_eq!(code, Some(0), "{said:?}");
    }
}
