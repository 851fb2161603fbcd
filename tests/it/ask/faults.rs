//! Faults of `serve --ask`: kills, a cache that is gone, a full disk, documents that cannot be read.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use codeweaver_testkit::{TestRepo, wait_for, wait_until};

use crate::ask::server::{Client, Server, text};
use crate::git::unreadable::Unprivileged;
use crate::robustness::mounts::{in_namespace, part};

const HOUSE: &str = "# House\n\nThe rent is due on the third working day.\n";
const CAR: &str = "# Car\n\nThe car is parked behind the library.\n";

fn connected(server: &Server) -> Client {
    let mut client = server.connect();
    client.receive();
    client
}

/// Asks until the answer starts with `expected`.
fn until(client: &mut Client, question: &str, expected: &str) {
    wait_for(&format!("the answer to {question:?} is {expected:?}"), || {
        let answer = text(&client.ask(question));
        if answer.starts_with(expected) { Ok(()) } else { Err(answer) }
    });
}

/// Killed at different moments of a reload, the server leaves a collection that the next one completes.
#[test]
fn a_server_killed_during_a_reload_leaves_a_usable_collection() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", HOUSE);
    let lock = place.beside("home/.cache/codeweaver/collections/served-default/lock");
    let taken = || std::fs::metadata(&lock).and_then(|metadata| metadata.modified()).ok();
    let args = ["--dir", "notes", "--reload-interval", "1"];
    for round in 0..6 {
        let server = Server::ready(&place, &args);
        for i in 0..120 {
            let text = format!("# Cellar {round} {i}\n\n{}\n", "Bottles lie in the cellar. ".repeat(20 + i));
            place.write(&format!("notes/{round}/{i}.md"), text);
        }
        place.write(
            &format!("notes/{round}/key.md"),
            format!("# Key\n\nThe key of room{round} hangs on hook {round}.\n"),
        );
        let before = taken();
        wait_until("a reload begins", || taken() != before);
        // The moments of the reload that the test is about.
        std::thread::sleep(Duration::from_millis(40 * round));
        // Dropping it kills it.
        drop(server);
    }
    let server = Server::ready(&place, &args);
    let mut client = connected(&server);
    until(&mut client, "when is the rent due", "The rent is due");
    for round in 0..6 {
        let question = format!("where does the key of room{round} hang");
        until(&mut client, &question, &format!("The key of room{round} hangs"));
    }
}

/// The running server answers from memory, and builds the cache again at the next reload.
#[test]
fn a_deleted_cache_is_built_again_while_serving() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", HOUSE);
    let server = Server::ready(&place, &["--dir", "notes", "--reload-interval", "1"]);
    let mut client = connected(&server);
    for round in 0..3 {
        std::fs::remove_dir_all(place.beside("home/.cache")).unwrap();
        assert!(text(&client.ask("when is the rent due")).starts_with("The rent is due"));
        place.write(&format!("notes/{round}.md"), format!("# Shed\n\nThe shed{round} is painted green.\n"));
        until(
            &mut client,
            &format!("how is the shed{round} painted"),
            &format!("The shed{round} is painted"),
        );
        assert!(text(&client.ask("when is the rent due")).starts_with("The rent is due"));
    }
}

/// On a full disk the old index answers, commands say what is wrong, and with room the reload succeeds.
#[test]
fn a_full_disk_leaves_the_old_index() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", HOUSE).write("more/car.md", CAR);
    for i in 0..60 {
        let words = format!("Bottle {i} lies in the cellar beside number {}. ", i * 7);
        place.write(&format!("more/{i}.md"), format!("# Bottle {i}\n\n{}\n", words.repeat(60)));
    }
    let script = "
mkdir cache && mount -t tmpfs -o size=8m tmpfs cache && export XDG_CACHE_HOME=$PWD/cache
: >log
git-codeweaver serve --ask --port 0 --dir notes --reload-interval 1 2>log & server=$!
await() { n=0; until eval \"$1\"; do n=$((n + 1)); [ $n -lt 300 ] || break; sleep 0.2; done; }
await 'grep -q Ready: log'
url=$(sed -n 's/.*\\(ws:[^,]*\\),.*/\\1/p' log)
cat /dev/zero >cache/filler 2>/dev/null
cp more/*.md notes/
await 'grep -q \"the reload failed\" log'
echo '== old'; git-codeweaver ask --server $url 'when is the rent due' 2>&1; echo \"code $?\"
echo '== add'; git-codeweaver docs add more more 2>&1; echo \"code $?\"
rm cache/filler
await 'git-codeweaver ask --server $url \"where is the car parked\" 2>&1 | grep -q \"behind the library\"'
echo '== new'; git-codeweaver ask --server $url 'where is the car parked' 2>&1; echo \"code $?\"
echo '== again'; git-codeweaver docs add more more 2>&1; echo \"code $?\"
kill $server
echo '== log'; cat log
echo '== end'
";
    let Some(output) = in_namespace(&place, script) else { return };
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let has = |name: &str, words: &[&str]| {
        let said = part(&out, name);
        words.iter().for_each(|word| assert!(said.contains(word), "{name}: {word}\n{out}{err}"));
    };
    has("old", &["The rent is due on the third working day.", "code 0"]);
    has("add", &["No space left on device", "code 2"]);
    has("new", &["The car is parked behind the library.", "code 0"]);
    has("again", &["61 documents", "code 0"]);
    has("log", &["the reload failed, the old index answers"]);
    assert!(!out.contains("panicked"), "{out}");
}

/// A directory that loses its permissions is left out with a warning, and comes back with them.
#[test]
fn a_directory_that_becomes_unreadable_is_left_out() {
    let Some(user) = Unprivileged::indexed() else { return };
    let place = &user.repo;
    place.write("notes/house.md", HOUSE).write("wiki/car.md", CAR);
    let mode = |path: &str, mode: u32| {
        std::fs::set_permissions(place.path(path), Permissions::from_mode(mode)).unwrap();
    };
    ["notes", "wiki"].iter().for_each(|path| mode(path, 0o755));
    let args = ["--dir", "notes", "--dir", "wiki", "--reload-interval", "1"];
    let server = Server::new(user.command(&user.program), &args);
    server.wait_for("Ready: 2 documents");
    let mut client = connected(&server);
    until(&mut client, "where is the car parked", "The car is parked");
    mode("wiki", 0o000);
    server.wait_for("wiki cannot be read; it is left out");
    until(&mut client, "where is the car parked", "No relevant information found");
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent is due"));
    mode("wiki", 0o755);
    until(&mut client, "where is the car parked", "The car is parked");
    // A file alone, whose contents have changed.
    place.write("wiki/car.md", CAR.replace("library", "town hall"));
    mode("wiki/car.md", 0o000);
    server.wait_for("car.md cannot be read; it is left out");
    until(&mut client, "where is the car parked", "No relevant information found");
    mode("wiki/car.md", 0o644);
    until(&mut client, "where is the car parked", "The car is parked behind the town hall");
}
