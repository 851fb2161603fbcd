//! `mcp --install`, `--print`, `--uninstall`: configuration files of clients are edited and restored byte for
//! byte.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use codeweaver_testkit::{Run, TestRepo};

use crate::mcp::setup_samples::SAMPLES;

/// A repository with an empty home directory and without the environment variables of clients.
fn repo() -> TestRepo {
    ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT"]
        .iter()
        .fold(TestRepo::init(), |repo, name| repo.env(name, ""))
}

fn home(repo: &TestRepo) -> PathBuf {
    repo.root().with_file_name("home")
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn mcp(repo: &TestRepo, args: &[&str]) -> Run {
    repo.codeweaver(["mcp"].iter().chain(args))
}

/// Every file, folder and link below `dir`, with contents and permissions.
fn tree(dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for child in std::fs::read_dir(dir).unwrap() {
            let path = child.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let content = if metadata.is_dir() {
                open.push(path.clone());
                String::new()
            } else if metadata.is_symlink() {
                format!("-> {}", std::fs::read_link(&path).unwrap().display())
            } else {
                text(&path)
            };
            found.push(format!("{} {:o} {content}", path.display(), metadata.mode()));
        }
    }
    found.sort();
    found
}

/// The entry in a text that may hold comments: everything from its key on.
fn entry(text: &str) -> &str {
    let key = ["\"git-codeweaver\": {", "[mcp_servers.git-codeweaver]"].iter().find_map(|key| text.find(key));
    &text[key.unwrap_or_else(|| panic!("no entry in\n{text}"))..]
}

/// `parts` occur in `text` in this order.
fn in_order<'a>(text: &str, parts: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let mut rest = text;
    for part in parts {
        rest =
            &rest[rest.find(part).ok_or_else(|| format!("{part:?} is missing in\n{text}"))? + part.len()..];
    }
    Ok(())
}

#[test]
fn every_client_is_installed_and_uninstalled_in_an_empty_home() {
    let repo = repo();
    let before = tree(&home(&repo));
    for sample in &SAMPLES {
        let file = home(&repo).join(sample.file);
        mcp(&repo, &["--install", sample.id]).success().says(&["Installed:", "Next:"]);
        let made = text(&file);
        assert!(entry(&made).contains("mcp") && made.ends_with('\n'), "{made}");
        if sample.file.ends_with(".json") {
            serde_json::from_str::<serde_json::Value>(&made).unwrap();
        }
        let (inode, time) = (file.metadata().unwrap().ino(), file.metadata().unwrap().modified().unwrap());
        mcp(&repo, &["--install", sample.id]).success().says(&["Up to date:"]);
        let metadata = file.metadata().unwrap();
        assert_eq!((metadata.ino(), metadata.modified().unwrap()), (inode, time), "{}", sample.id);
        mcp(&repo, &["--uninstall", sample.id]).success().says(&["Removed:"]);
        assert_eq!(tree(&home(&repo)), before, "{}", sample.id);
        mcp(&repo, &["--uninstall", sample.id]).success().says(&["Not found:"]);
    }
}

#[test]
fn the_form_of_each_client() {
    let repo = repo();
    let printed = |id: &str| mcp(&repo, &["--print", id]).success().stdout();
    let value = |id: &str| serde_json::from_str::<serde_json::Value>(&printed(id)).unwrap();
    let plain = serde_json::json!({ "command": "git-codeweaver", "args": ["mcp"] });
    let stdio = serde_json::json!({ "type": "stdio", "command": "git-codeweaver", "args": ["mcp"] });
    for (id, table, wanted) in [
        ("claude-code", "mcpServers", &stdio),
        ("claude-desktop", "mcpServers", &plain),
        ("cursor", "mcpServers", &stdio),
        ("vscode", "servers", &stdio),
        ("gemini", "mcpServers", &plain),
        ("zed", "context_servers", &plain),
        ("windsurf", "mcpServers", &plain),
    ] {
        assert_eq!(value(id), serde_json::json!({ table: { "git-codeweaver": wanted } }), "{id}");
    }
    let local = serde_json::json!({ "type": "local", "command": ["git-codeweaver", "mcp"], "enabled": true });
    assert_eq!(value("opencode")["mcp"]["git-codeweaver"], local);
    assert_eq!(
        printed("codex"),
        "[mcp_servers.git-codeweaver]\ncommand = \"git-codeweaver\"\nargs = [\"mcp\"]\n"
    );
    let goose = printed("goose");
    in_order(
        &goose,
        [
            "extensions:\n  git-codeweaver:\n    enabled: true\n    type: stdio\n    name: git-codeweaver\n    description: \"",
            "\n    cmd: git-codeweaver\n    args: [\"mcp\"]\n    timeout: 300\n",
        ],
    )
    .unwrap();
    mcp(&repo, &["--print", "cursor"]).says(&[".cursor/mcp.json"]);
    mcp(&repo, &["--print", "vscode", "--scope", "project"]).success().says(&[".vscode/mcp.json"]);
    assert_eq!(tree(&home(&repo)), Vec::<String>::new());
}

#[test]
fn existing_configuration_is_kept_and_restored_byte_for_byte() {
    let repo = repo();
    for sample in &SAMPLES {
        put(&home(&repo).join(sample.file), sample.rich);
    }
    let before = tree(&home(&repo));
    for sample in &SAMPLES {
        let file = home(&repo).join(sample.file);
        mcp(&repo, &["--install", sample.id]).success();
        let after = text(&file);
        entry(&after);
        // Lines are kept whole, but for what opens or closes a table that gets an entry; in a file of one
        // line, breaks come between its words.
        let ends: &[char] = if sample.rich.lines().count() == 1 { &[',', '{'] } else { &['\n'] };
        let kept = sample.rich.split_inclusive(ends);
        let kept =
            kept.map(|line| line.trim_end_matches(['\n', '\r']).trim_end_matches("{}").trim_end_matches('}'));
        in_order(&after, kept).unwrap_or_else(|e| panic!("{}: {e}", sample.id));
        assert_eq!(after.contains("\r\n"), sample.rich.contains("\r\n"));
        mcp(&repo, &["--install", sample.id]).success().says(&["Up to date:"]);
        assert_eq!(text(&file), after);
    }
    let ids: Vec<&str> = SAMPLES.iter().map(|sample| sample.id).collect();
    mcp(&repo, &[&["--uninstall"], &ids[..]].concat()).success();
    assert_eq!(tree(&home(&repo)), before);
}

#[test]
fn receipts_hold_no_secrets_and_are_for_the_user_alone() {
    let repo = repo();
    let windsurf = &SAMPLES[8];
    put(&home(&repo).join(windsurf.file), windsurf.rich);
    mcp(&repo, &["--install", "windsurf"]).success();
    let receipts = home(&repo).join(".local/state/codeweaver/mcp-clients.json");
    assert!(!text(&receipts).contains("ghp_secret"));
    assert_eq!(receipts.metadata().unwrap().mode() & 0o777, 0o600);
}

#[test]
fn later_edits_survive_an_uninstallation() {
    let repo = repo();
    let file = home(&repo).join(".cursor/mcp.json");
    mcp(&repo, &["--install", "cursor"]).success();
    // An edit by hand elsewhere in the file.
    let more = text(&file).replace("{\n  \"mcpServers\"", "{\n  \"more\": true, // later\n  \"mcpServers\"");
    put(&file, &more);
    mcp(&repo, &["--uninstall", "cursor"]).success();
    in_order(&text(&file), ["\"more\": true", "// later"]).unwrap();
    assert!(!text(&file).contains("codeweaver"));

    // A client that rewrites the whole file.
    put(&file, "{\"mcpServers\": {\"other\": {\"command\": \"x\"}}}");
    mcp(&repo, &["--install", "cursor"]).success();
    let mut value: serde_json::Value = serde_json::from_str(&text(&file)).unwrap();
    value["mcpServers"]["third"] = serde_json::json!({ "command": "y" });
    put(&file, &serde_json::to_string(&value).unwrap());
    mcp(&repo, &["--uninstall", "cursor"]).success();
    value["mcpServers"].as_object_mut().unwrap().remove("git-codeweaver");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text(&file)).unwrap(), value);
}

#[test]
fn without_its_receipt_an_uninstallation_loses_at_most_blanks() {
    let repo = repo();
    for sample in &SAMPLES {
        put(&home(&repo).join(sample.file), sample.rich);
        mcp(&repo, &["--install", sample.id]).success();
    }
    std::fs::write(home(&repo).join(".local/state/codeweaver/mcp-clients.json"), "not JSON").unwrap();
    for sample in &SAMPLES {
        mcp(&repo, &["--uninstall", sample.id]).success().says(&["Removed:"]);
        let words = |text: &str| text.replace(|c: char| c.is_whitespace() || c == ',', "");
        let now = words(&text(&home(&repo).join(sample.file)));
        let added = ["\"mcpServers\":{}", "\"context_servers\":{}", "\"mcp\":{}"];
        let now = added.iter().fold(now, |now, table| {
            if words(sample.rich).contains(table) { now } else { now.replace(table, "") }
        });
        assert_eq!(now, words(sample.rich), "{}", sample.id);
    }
}

#[test]
fn a_dry_run_writes_nothing_and_its_diff_applies() {
    let repo = repo();
    put(&home(&repo).join(SAMPLES[3].file), SAMPLES[3].rich);
    repo.write(".vscode/mcp.json", SAMPLES[3].rich);
    let before = (tree(&home(&repo)), tree(&repo.path(".vscode")));
    let ids: Vec<&str> = SAMPLES.iter().map(|sample| sample.id).collect();
    let shown = mcp(&repo, &[&["--dry-run", "--install"], &ids[..]].concat()).success().stdout();
    assert_eq!(shown.matches("+++ ").count(), SAMPLES.len());
    assert_eq!(shown.matches("--- /dev/null").count(), SAMPLES.len() - 1);
    let diff = mcp(&repo, &["--install", "vscode", "--scope", "project", "--dry-run"]).success().stdout();
    assert_eq!((tree(&home(&repo)), tree(&repo.path(".vscode"))), before);
    assert!(diff.lines().all(|line| !line.starts_with('-') || line.starts_with("--- ")), "{diff}");

    repo.write("change.diff", &diff);
    repo.git(["apply", "-p0", "change.diff"]);
    let applied = repo.read(".vscode/mcp.json");
    mcp(&repo, &["--install", "vscode", "--scope", "project"]).success().says(&["Up to date:"]);
    assert_eq!(repo.read(".vscode/mcp.json"), applied);

    let diff = mcp(&repo, &["--uninstall", "vscode", "--scope", "project", "--dry-run"]).success().stdout();
    assert!(diff.contains("\n-\t\t\"git-codeweaver\": {\n"), "{diff}");
    assert_eq!(repo.read(".vscode/mcp.json"), applied);
}

#[test]
fn a_broken_configuration_is_refused_and_nothing_is_written() {
    let repo = repo();
    for sample in SAMPLES.iter().filter(|sample| !sample.broken.is_empty()) {
        put(&home(&repo).join(sample.file), sample.broken);
        let before = tree(&home(&repo));
        // Windsurf alone would succeed, but an installation is all or nothing.
        let run = mcp(&repo, &["--install", "windsurf", sample.id]);
        run.fails(2).is_an_error("is not edited", "add by hand");
        run.says(&["git-codeweaver"]);
        assert_eq!(tree(&home(&repo)), before, "{}", sample.id);
    }
    put(&home(&repo).join(".cursor/mcp.json"), "\u{0}\u{1}");
    mcp(&repo, &["--uninstall", "cursor"]).fails(2).is_an_error("is not edited", "by hand");
    std::fs::write(home(&repo).join(".cursor/mcp.json"), b"{\"a\": \"\xff\"}").unwrap();
    mcp(&repo, &["--install", "cursor"]).fails(2).is_an_error("cannot be read", "UTF-8");
}

#[test]
fn yaml_configurations_are_printed_but_not_edited() {
    let repo = repo();
    let file = home(&repo).join(".config/goose/config.yaml");
    mcp(&repo, &["--install", "goose"])
        .fails(2)
        .is_an_error("config.yaml is not edited", "mcp --print goose");
    mcp(&repo, &["--uninstall", "goose"]).success().says(&["Not found:"]);
    assert_eq!(tree(&home(&repo)), Vec::<String>::new());
    put(&file, &format!("# mine\n{}", mcp(&repo, &["--print", "goose"]).success().stdout()));
    let before = tree(&home(&repo));
    // Cursor could be changed, but nothing is written unless every file can be edited.
    mcp(&repo, &["--install", "cursor", "goose"]).fails(2).is_an_error("is not edited", "by hand");
    let run = mcp(&repo, &["--uninstall", "goose"]);
    run.fails(2).is_an_error("config.yaml is not edited", "remove `git-codeweaver` from `extensions`");
    assert_eq!(tree(&home(&repo)), before);
}

#[test]
fn links_stay_and_permissions_too() {
    let repo = repo();
    let (link, dangling) = (home(&repo).join(".codex/config.toml"), home(&repo).join(".cursor/mcp.json"));
    let dotfiles = home(&repo).join("dotfiles");
    put(&dotfiles.join("codex.toml"), SAMPLES[4].rich);
    std::fs::set_permissions(dotfiles.join("codex.toml"), PermissionsExt::from_mode(0o600)).unwrap();
    for (link, target) in [(&link, "../dotfiles/codex.toml"), (&dangling, "../dotfiles/new/cursor.json")] {
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, link).unwrap();
    }
    let before = tree(&home(&repo));
    mcp(&repo, &["--install", "codex,cursor"]).success();
    assert!(link.is_symlink() && dangling.is_symlink());
    entry(&text(&dotfiles.join("codex.toml")));
    entry(&text(&dotfiles.join("new/cursor.json")));
    assert_eq!(dotfiles.join("codex.toml").metadata().unwrap().mode() & 0o777, 0o600);
    mcp(&repo, &["--uninstall", "codex", "cursor"]).success();
    assert_eq!(tree(&home(&repo)), before);

    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("config.toml", &link).unwrap();
    mcp(&repo, &["--install", "codex"]).fails(2).is_an_error("cannot be read", "link");
}

#[test]
fn files_that_may_not_be_changed() {
    let repo = repo();
    let file = home(&repo).join(".cursor/mcp.json");
    put(&file, "{}\n");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o444)).unwrap();
    let before = tree(&home(&repo));
    mcp(&repo, &["--install", "cursor"]).fails(2).is_an_error("may not be changed", "--print");
    assert_eq!(tree(&home(&repo)), before);
    put(&home(&repo).join(".codex"), "a file in place of a folder");
    mcp(&repo, &["--install", "codex"]).fails(2).is_an_error("config.toml cannot be read", "check");
    std::fs::create_dir_all(home(&repo).join(".gemini/settings.json")).unwrap();
    mcp(&repo, &["--install", "gemini"]).fails(2).is_an_error("cannot be read", "move");
}

#[test]
fn projects_have_files_of_their_own() {
    let repo = repo();
    repo.write("src/deep/file.rs", "fn a() {}\n");
    for sample in &SAMPLES {
        let run = repo.at("src/deep").codeweaver(["mcp", "--scope", "project", "--install", sample.id]);
        match sample.project {
            None => drop(run.fails(2).is_an_error("no configuration per project", "--scope")),
            Some(file) => {
                run.success();
                entry(&repo.read(file));
                mcp(&repo, &["--scope", "project", "--uninstall", sample.id]).success().says(&["Removed:"]);
                assert!(!repo.path(file).exists());
            }
        }
    }
    assert_eq!(repo.git_text(["status", "--porcelain"]), "?? src/\n");
    assert_eq!(tree(&home(&repo)), Vec::<String>::new());
    let nowhere = TestRepo::empty_dir();
    mcp(&nowhere, &["--install", "cursor", "--scope", "project"])
        .fails(2)
        .is_an_error("not in a git repository", "git init");
}

#[test]
fn a_project_cannot_lead_an_edit_out_of_itself() {
    let repo = repo();
    put(&home(&repo).join("victim/mcp.json"), "{}\n");
    std::os::unix::fs::symlink("../home/victim", repo.path(".cursor")).unwrap();
    std::os::unix::fs::symlink("../home/new.json", repo.path(".mcp.json")).unwrap();
    let before = tree(&home(&repo));
    for client in ["cursor", "claude-code"] {
        mcp(&repo, &["--install", client, "--scope", "project"])
            .fails(2)
            .is_an_error("is not edited", "remove the link");
    }
    assert_eq!(tree(&home(&repo)), before);
}

#[test]
fn the_program_is_named_in_full_where_the_path_does_not_lead_to_it() {
    let off_path = repo().env("PATH", "/usr/bin:/bin");
    let command = |run: &Run| {
        let value: serde_json::Value = serde_json::from_str(&run.stdout()).unwrap();
        value["mcpServers"]["git-codeweaver"]["command"].as_str().unwrap().to_owned()
    };
    let absolute = command(mcp(&off_path, &["--print", "cursor"]).success());
    assert!(Path::new(&absolute).is_absolute() && absolute.ends_with("git-codeweaver"), "{absolute}");
    assert_eq!(command(mcp(&repo(), &["--print", "cursor", "--absolute-path"]).success()), absolute);
    let run = mcp(&off_path, &["--install", "cursor", "--scope", "project"]);
    run.success().says(&["warning:", "path of this machine"]);

    // Installed again from elsewhere, the entry follows, and what was there first still comes back.
    let repo = repo();
    let file = home(&repo).join(".gemini/settings.json");
    put(&file, SAMPLES[5].rich);
    mcp(&repo, &["--install", "gemini", "--absolute-path"]).success();
    assert!(text(&file).contains(&absolute));
    mcp(&repo, &["--install", "gemini"]).success().says(&["Installed:"]);
    assert!(!text(&file).contains(&absolute));
    mcp(&repo, &["--uninstall", "gemini"]).success();
    assert_eq!(text(&file), SAMPLES[5].rich);
}

#[test]
fn an_entry_written_by_hand_is_completed_and_restored() {
    let repo = repo();
    let file = home(&repo).join(".codeium/windsurf/mcp_config.json");
    let by_hand = "{\"mcpServers\": {\"git-codeweaver\": {\"command\": \"/opt/old\", \"disabled\": true}}}\n";
    put(&file, by_hand);
    mcp(&repo, &["--install", "windsurf"]).success();
    let value: serde_json::Value = serde_json::from_str(&text(&file)).unwrap();
    assert_eq!(
        value["mcpServers"]["git-codeweaver"],
        serde_json::json!({ "command": "git-codeweaver", "disabled": true, "args": ["mcp"] })
    );
    mcp(&repo, &["--uninstall", "windsurf"]).success();
    assert_eq!(text(&file), by_hand);
    mcp(&repo, &["--uninstall", "windsurf"]).success();
    assert!(!text(&file).contains("codeweaver"));
}

#[test]
fn the_file_that_a_client_uses_is_found() {
    let repo = repo().env("CODEX_HOME", "/proc/codex");
    mcp(&repo, &["--install", "codex"]).fails(2).is_an_error("/proc/codex/config.toml", "permissions");
    let repo = self::repo();
    let opencode = home(&repo).join(".config/opencode");
    put(&opencode.join("opencode.jsonc"), "{\n  // mine\n  \"mcp\": { \"servers\": {} }\n}\n");
    put(&home(&repo).join(".config/devin/mcp_config.json"), "{}");
    mcp(&repo, &["--install", "opencode", "windsurf"]).success();
    in_order(&text(&opencode.join("opencode.jsonc")), ["// mine", "\"servers\": {", "\"git-codeweaver\""])
        .unwrap();
    assert!(!opencode.join("opencode.json").exists());
    assert!(text(&home(&repo).join(".config/devin/mcp_config.json")).contains("git-codeweaver"));
    let homeless = self::repo().env("HOME", "").env("XDG_CONFIG_HOME", "");
    mcp(&homeless, &["--install", "cursor"]).fails(2).is_an_error("is not found", "HOME");
    mcp(&homeless, &["--install", "cursor", "--scope", "project"]).success();
    mcp(&homeless, &["--uninstall", "cursor", "--scope", "project"]).success();
}

#[test]
fn wrong_usage_is_an_error() {
    let repo = repo();
    mcp(&repo, &["--install", "emacs"]).fails(2).says(&["claude-code", "windsurf"]);
    for wrong in [
        &["--install", "zed", "--uninstall", "zed"][..],
        &["--print", "zed", "--dry-run"],
        &["--print", "zed", "cursor"],
        &["--dry-run"],
        &["--install"],
    ] {
        mcp(&repo, wrong).fails(2);
    }
    let run = mcp(&repo, &["--install", "claude", "vs-code", "gemini-cli", "claude-code"]);
    assert_eq!(run.success().stdout().matches("Installed:").count(), 3);
}
