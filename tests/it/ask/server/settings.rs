//! The settings of `serve --ask`: files that are named, found and watched.

use super::*;

/// The file that is named is used instead of the user's, and watched.
#[test]
fn a_configuration_file_can_be_named() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    let config = |name: &str| {
        place.write(name, format!("ask:\n  directories: [\"{}\"]\n", place.path("notes").display()));
    };
    config("ask.yaml");
    let file = place.path("ask.yaml").display().to_string();
    let server = Server::ready(&place, &["-c", &file]);
    let mut client = server.connect();
    client.receive();
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent"));
    place.write("ask.yaml", "ask:\n  port: many\n");
    server.wait_for("the old settings stay");
    place.remove("ask.yaml");
    server.wait_for("the old settings stay");
    config("ask.yaml");
    server.wait_for("configuration was read again");
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent"));
    let missing = place.codeweaver(["serve", "--ask", "--config", "no.toml"]);
    missing.fails(2).says(&["no.toml"]);
}

/// What stands beside a file that was named has no meaning.
#[test]
fn a_named_configuration_file_may_have_siblings() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    place.write("qa.toml", format!("[ask]\ndirectories = [\"{}\"]\n", place.path("notes").display()));
    place.write("qa.yaml", "services: {}\n");
    let server = Server::ready(&place, &["-c", "qa.toml"]);
    let mut client = server.connect();
    client.receive();
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent"));
}

/// The file of the program that the protocol comes from: directories, name and interval are those of this
/// server, unknown sections are left alone, and the file is watched.
#[test]
fn the_configuration_of_the_compatible_program_is_read() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    let file = place.beside("home/.md-qa/config.yaml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let directories = format!("server:\n  directories: [\"{}\"]\n", place.path("notes").display());
    std::fs::write(&file, format!("{directories}  index_name: team\ngui:\n  theme: dark\n")).unwrap();
    let server = Server::ready(&place, &[]);
    let mut client = server.connect();
    client.receive();
    client.send(r#"{"type":"query","question":"when is the rent due","index":"team"}"#);
    assert_eq!(client.receive(), json!({ "type": "stream_start" }));
    assert!(client.receive()["chunk"].as_str().unwrap().starts_with("The rent is due"));

    std::fs::write(&file, "server:\n  reload_interval: often\n").unwrap();
    server.wait_for("the old settings stay");
}

/// `--reindex` embeds what is known once more; the answers are the same.
#[test]
fn indexes_are_built_again_on_request() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    let folder = place.beside("home/.cache/codeweaver/collections/served-default");
    let names = ["documents.git", "lock"].map(|name| folder.join(name));
    let inodes = || {
        names.each_ref().map(|path| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap()))
    };
    drop(Server::ready(&place, &["--dir", "notes"]));
    let first = inodes();
    drop(Server::ready(&place, &["--dir", "notes"]));
    assert_eq!(inodes(), first);
    // Open files keep their inodes, so that no new file gets one of them.
    let open = names.each_ref().map(|path| std::fs::File::open(path).unwrap());
    let server = Server::ready(&place, &["--dir", "notes", "--reindex"]);
    assert_ne!(inodes()[0], first[0], "the repository is a new one");
    assert_eq!(inodes()[1], first[1], "the lock is held from the removal to the end");
    drop(open);
    let mut client = server.connect();
    client.receive();
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent"));
    let repo = repo();
    let server = Server::ready(&repo, &["--reindex"]);
    let mut client = server.connect();
    client.receive();
    assert!(text(&client.ask("how do I turn hooks off")).starts_with("To turn hooks off"));
}

#[test]
fn scenario_configuration_file_watching() {
    let place = TestRepo::empty_dir();
    place.write("notes/house.md", "# House\n\nThe rent is due on the third working day.\n");
    place.write("wiki/car.md", "# Car\n\nThe car is parked behind the library.\n");
    let config = place.beside("home/.config/codeweaver");
    std::fs::create_dir_all(&config).unwrap();
    let write = |text: String| std::fs::write(config.join("config.toml"), text).unwrap();
    let directories = |name: &str| format!("[ask]\ndirectories = [\"{}\"]\n", place.path(name).display());
    write(directories("notes") + "port = 1\n");
    let server = Server::ready(&place, &[]);
    let mut client = server.connect();
    client.receive();
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent"));
    write("[ask]\nreload_interval = \"often\"\n".to_owned());
    server.wait_for("the old settings stay");
    assert!(text(&client.ask("when is the rent due")).starts_with("The rent"));
    // `--port 0` keeps its precedence: the server stays where it is.
    write(directories("wiki") + "port = 2\n");
    server.wait_for("configuration was read again");
    wait_until("the new directory answers", || {
        text(&client.ask("where is the car parked")).starts_with("The car is parked")
    });
}
