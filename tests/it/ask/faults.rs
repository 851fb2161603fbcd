//! Faults of `serve --ask`: kills, a cache that is gone, a full disk, documents that cannot be read.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use codeweaver_testkit::{TestRepo, program, run_and_kill, wait_for, wait_until};

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

/// Killed at different moments of an update, `ask` leaves a collection that the next question completes.
#[test]
fn a_killed_question_spoils_no_later_one() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", HOUSE);
    let ask = |question: &str| {
        let run = place.codeweaver(["ask", "--dir", "notes", question]);
        run.success().stdout()
    };

    let mut n_killed = 0;
    for round in 0..14 {
        // A new collection every second time.
        if round % 2 == 0 {
            std::fs::remove_dir_all(place.beside("home/.cache")).ok();
        }
        place.write("notes/round.md", format!("# Round\n\nThe round{round} ends at {round} o'clock.\n"));
        let mut command = place.command(program());
        command.args(["ask", "--dir", "notes", "when is the rent due"]);
        n_killed += u32::from(run_and_kill(&mut command, Duration::from_millis(4 * round)));

        assert!(ask("when is the rent due").contains("The rent is due"), "round {round}");
        let answer = ask(&format!("when does round{round} end"));
        assert!(answer.contains(&format!("The round{round} ends")), "round {round}: {answer}");
    }
    assert!(n_killed > 2, "{n_killed} were killed");
}

/// Lock files of killed git commands are removed from a collection, and a part of a collection is made whole.
#[test]
fn the_rest_of_a_killed_update_or_removal_is_removed() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", HOUSE);
    let folder = "home/.cache/codeweaver/collections/notes";
    let repository = place.beside(folder).join("documents.git");
    let docs = |args: &[&str]| place.codeweaver([&["docs"], args].concat());
    docs(&["add", "notes", "notes"]).success();
    let rent = |what: &str| {
        let run = place.codeweaver(["ask", "--index", "notes", "when is the rent due"]);
        assert!(run.success().stdout().contains("The rent is due"), "{what}: {}", run.explain());
    };

    for name in ["HEAD.lock", "config.lock", "refs/heads/main.lock", "fast_import_crash_4711"] {
        std::fs::write(repository.join(name), "").unwrap();
        place.write("notes/more.md", format!("# {name}\n\nMore of it.\n"));
        rent(name);
        assert!(!repository.join(name).exists(), "{name}");
    }

    for gone in ["objects", "refs", "config", "HEAD"] {
        let path = repository.join(gone);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap()
        } else {
            std::fs::remove_file(path).unwrap()
        }
        rent(gone);
    }

    // A removal that was killed, and a creation.
    for rest in ["documents.old", "documents.new"] {
        std::fs::rename(&repository, place.beside(folder).join(rest)).unwrap();
        docs(&["add", "notes", "notes"]).success();
        rent(rest);
        assert!(!place.beside(folder).join(rest).exists());
    }
    for round in 0..8 {
        let mut command = place.command(program());
        run_and_kill(command.args(["docs", "remove", "notes"]), Duration::from_millis(round));
        docs(&["add", "notes", "notes"]).success();
        rent("a removal that was killed");
    }
    docs(&["remove", "notes"]).success();
    assert!(!place.beside(folder).exists());
}
