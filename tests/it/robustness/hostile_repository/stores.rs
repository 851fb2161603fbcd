//! Stores that someone else has made.

use super::*;

#[test]
fn foreign_stores_are_refused() {
    let refused = |world: &World, what: &str| {
        world.use_few(what);
        let (code, stdout, _) = world.run(&["search", "parse"], b"");
        assert!(code != 0 && !stdout.contains("forged"), "{what} answers: {stdout}");
    };
    let world = World::new();
    world.repo.write(".codeweaver/nonce", "forged\n").write(".codeweaver/v1/x/state", "forged\n");
    refused(&world, "a store from elsewhere");
    world.repo.git(["add", "-f", "-A"]).git(["commit", "-q", "-m", "store"]);
    refused(&world, "a store in the tree");
    world.repo.git(["rm", "-rqf", "--cached", ".codeweaver"]).git(["commit", "-q", "-m", "none"]);
    world.repo.git(["add", "-f", ".codeweaver/nonce"]);
    refused(&world, "a store in the index");

    let world = World::new();
    std::fs::create_dir_all(world.outside.join("store")).unwrap();
    world.link("../outside/store", ".codeweaver");
    refused(&world, "a store that is a link");

    let world = World::new();
    let blob = world.object(Kind::Blob, b"forged\n");
    for (mode, name) in [("100644", ".CodeWeaver"), ("120000", ".codeweaver"), ("160000", ".codeweaver")] {
        world.commit_tree(&[(mode, name.as_bytes(), &blob)]);
        refused(&world, &format!("{name} with mode {mode}"));
    }
}

/// An archive may contain a `.git` and a `.codeweaver` that match.
#[test]
fn forged_states_do_not_lead_out_of_the_store() {
    let world = World::new();
    world.run(&["init", "--no-hooks"], b"");
    let states: Vec<PathBuf> = contents(&world.repo.path(".codeweaver"))
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.ends_with("state"))
        .collect();
    let [state] = states.as_slice() else { panic!("{states:?}") };
    let good = std::fs::read_to_string(state).unwrap();
    let json = good.split_once('\n').unwrap().1.trim_end().to_owned();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let name = value["segments"][0]["name"].as_str().unwrap();
    let entries = value["entries"][0]["name"].as_str().unwrap();
    let outside = "../../../../../outside/secret.rs";
    let forgeries: Vec<(&str, String)> = vec![
        ("a segment outside", json.replace(name, outside)),
        ("entries outside", json.replace(entries, outside)),
        ("an absolute segment", json.replace(name, "/dev/zero")),
        ("more rows than there are", json.replace("\"n_rows\":", "\"n_rows\":9")),
        ("more docs than there are", json.replace("\"n_docs\":", "\"n_docs\":9")),
        ("an endless id", json.replace("\"doc_base\":0", "\"doc_base\":4294967295")),
        ("no segments", json.replace(&value["segments"].to_string(), "[]")),
        ("another phase", json.replace("\"indexed\"", "\"unheard_of\"")),
        ("text for the terminal", json.replace("refs/heads/main", "refs/heads/\\u001b[31m\\u202e")),
        (
            "a failure for the terminal",
            json.replace("\"failure\":null", "\"failure\":\"\\u001b]0;owned\\u0007\""),
        ),
        ("deep nesting", "[".repeat(100_000)),
    ];
    let commands: &[&[&str]] = &[
        &["status"],
        &["search", "parse header"],
        &["outline", "src/parse.rs"],
        &["similar", "src/parse.rs:2"],
        &["verify"],
        &["doctor"],
        &["gc"],
        &["index"],
    ];
    for (what, json) in forgeries {
        for args in commands {
            std::fs::write(
                state,
                format!("codeweaver-state 1 {}\n{json}\n", blake3::hash(json.as_bytes()).to_hex()),
            )
            .unwrap();
            world.check(what, args, &world.run(args, b""));
        }
        std::fs::write(
            state,
            format!("codeweaver-state 1 {}\n{json}\n", blake3::hash(json.as_bytes()).to_hex()),
        )
        .unwrap();
        world.check(what, &["mcp"], &world.run(&["mcp"], &requests()));
        std::fs::write(state, &good).unwrap();
        world.check(what, &["index"], &world.run(&["index"], b""));
    }
}

/// The same archive, with links where the program writes.
#[test]
fn links_in_a_store_overwrite_nothing() {
    let world = World::new();
    world.run(&["init", "--no-hooks"], b"");
    let store = world.repo.path(".codeweaver");
    let find = |name: &str| {
        let all = Command::new("find").arg(&store).args(["-name", name]).output().unwrap();
        PathBuf::from(String::from_utf8(all.stdout).unwrap().lines().next().unwrap())
    };
    let places = [
        store.join("cache/hook.log"),
        store.join("cache/parsing-main"),
        store.join("wanted/main"),
        store.join("locks/publish.lock"),
        store.join("locks/work-main.lock"),
        find("state"),
        store.join("nonce"),
        store.join("cache"),
        store.join("locks"),
        find("shards"),
        find("entries"),
    ];
    for place in places {
        let aside = world.repo.root().with_file_name("aside");
        let was_there = std::fs::rename(&place, &aside).is_ok();
        let target = if aside.is_dir() { world.outside.clone() } else { world.outside.join("secret.rs") };
        std::os::unix::fs::symlink(target, &place).unwrap();
        let before = contents(&world.outside);
        world
            .repo
            .write("src/more.rs", format!("pub fn more() {{ \"{}\" }}\n", place.display()))
            .commit("more");
        for args in [
            &["hook", "post-commit"][..],
            &["index"],
            &["status"],
            &["search", "more"],
            &["gc"],
            &["verify", "--repair"],
            &["init"],
        ] {
            world.check("a link in the store", args, &world.run(args, b""));
        }
        assert_eq!(contents(&world.outside), before, "{} overwrote something", place.display());
        std::fs::remove_file(&place).unwrap();
        if was_there {
            std::fs::rename(&aside, &place).unwrap();
        }
    }
}
