//! `doctor` on MCP clients: which have registered the server, and whether the registered command exists and
//! runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use codeweaver_testkit::{TestRepo, program};

/// An indexed repository whose home directory is empty.
fn repo() -> TestRepo {
    let repo = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "GOOSE_PATH_ROOT"]
        .iter()
        .fold(TestRepo::with_files(&[("a.py", "def f():\n    pass\n")]), |repo, name| repo.env(name, ""));
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

fn home(repo: &TestRepo) -> PathBuf {
    repo.root().with_file_name("home")
}

fn put(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Whether all is good, and the checks of clients: verdict, what and fix.
fn doctor(repo: &TestRepo) -> (bool, Vec<[String; 3]>) {
    let report: Value = serde_json::from_str(&repo.codeweaver(["doctor", "--json"]).stdout()).unwrap();
    let checks = report["checks"].as_array().unwrap().iter();
    let of_clients = checks.filter(|check| check["name"].as_str().unwrap().starts_with("mcp client"));
    let text = |check: &Value, field: &str| check[field].as_str().unwrap().to_owned();
    let of_clients = of_clients.map(|check| ["verdict", "what", "fix"].map(|field| text(check, field)));
    (report["good"].as_bool().unwrap(), of_clients.collect())
}

#[test]
fn no_client_is_information_and_every_client_is_found() {
    let repo = repo();
    let (is_good, checks) = doctor(&repo);
    let [[verdict, what, _]] = checks.as_slice() else { panic!("{checks:?}") };
    assert!(is_good && verdict == "ok" && what.contains("mcp --install CLIENT"), "{checks:?}");
    let clients = [
        ("claude-code", "Claude Code"),
        ("claude-desktop", "Claude Desktop"),
        ("cursor", "Cursor"),
        ("vscode", "VS Code"),
        ("codex", "Codex CLI"),
        ("gemini", "Gemini CLI"),
        ("opencode", "opencode"),
        ("zed", "Zed"),
        ("windsurf", "Windsurf"),
    ];
    for (i, (id, name)) in clients.iter().enumerate() {
        let how = if i % 2 == 0 {
            &["mcp", "--install", id][..]
        } else {
            &["mcp", "--absolute-path", "--install", id]
        };
        repo.codeweaver(how).success();
        let (is_good, checks) = doctor(&repo);
        let [[verdict, what, fix]] = checks.as_slice() else { panic!("{checks:?}") };
        assert!(is_good && verdict == "ok" && fix.is_empty(), "{checks:?}");
        let (_, listed) = what.split_once("registered: ").unwrap();
        assert_eq!(listed.split(", ").count(), i + 1, "{what}");
        assert!(listed.split(", ").any(|listed| listed == *name), "{what}");
    }
    repo.codeweaver(["mcp", "--install", "zed", "--scope", "project"]).success();
    assert!(doctor(&repo).1[0][1].contains("Zed (project)"));
}

#[test]
fn a_command_that_is_gone_or_does_not_run_fails_with_its_fix() {
    let repo = repo();
    let home = home(&repo);
    let entry = |command: &str, args: &str| {
        format!(
            "{{ // mine\n  \"mcpServers\": {{ \"git-codeweaver\": {{ \"command\": \"{command}\", \"args\": [{args}] }} }} }}\n"
        )
    };
    let broken = home.join("bin/git-codeweaver");
    put(&broken, "#!/bin/sh\nexit 3\n");
    let no_program = home.join("bin/no-program");
    put(&no_program, "");
    let (cursor, codex) = (home.join(".cursor/mcp.json"), home.join(".codex/config.toml"));
    let at = |path: &Path| path.to_str().unwrap().to_owned();
    for (file, text, said) in [
        (&cursor, entry("/no/such/git-codeweaver", "\"mcp\""), "there is no such program"),
        (&cursor, entry(&at(&no_program), "\"mcp\""), "there is no such program"),
        (&cursor, entry(&at(&broken), "\"mcp\""), "there is no such program"),
        (&cursor, entry("no-such-program", "\"mcp\""), "not on the PATH"),
        (&cursor, entry("bin/git-codeweaver", "\"mcp\""), "where the client is started"),
        (&cursor, entry(&at(program()), ""), "does not start the server"),
        (
            &cursor,
            "{ \"mcpServers\": { \"git-codeweaver\": { \"url\": \"http://x\" } } }".to_owned(),
            "no command",
        ),
        (&cursor, "{ \"mcpServers\": { \"git-codeweaver\": ".to_owned(), "cannot be read"),
        (
            &codex,
            "[mcp_servers.git-codeweaver]\ncommand = \"/no/such\"\nargs = [\"mcp\"]\n".to_owned(),
            "no such program",
        ),
    ] {
        put(file, &text);
        let (is_good, checks) = doctor(&repo);
        let [[verdict, what, fix]] = checks.as_slice() else { panic!("{text}: {checks:?}") };
        assert!(!is_good && verdict == "fail" && what.contains(said), "{text}: {checks:?}");
        assert!(what.contains(file.file_name().unwrap().to_str().unwrap()), "{what}");
        assert!(fix.contains("git codeweaver mcp --install "), "{fix}");
        assert_eq!(repo.codeweaver(["doctor"]).code(), 1);
        // The fix is a command, unless the file itself must be repaired first.
        if fix.starts_with("git") {
            repo.codeweaver(fix.split(' ').skip(2)).success();
            let (is_good, checks) = doctor(&repo);
            assert!(is_good && checks[0][1].contains("registered: "), "{text}: {checks:?}");
        }
        std::fs::remove_file(file).unwrap();
    }
    // It exists now, but reports no version.
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    put(&cursor, &entry(&at(&broken), "\"mcp\""));
    let (is_good, checks) = doctor(&repo);
    assert!(!is_good && checks[0][1].contains("does not run"), "{checks:?}");
    // A command from the repository itself is never started, and is no failure.
    std::fs::remove_file(&cursor).unwrap();
    let witness = home.join("witness");
    put(&broken, &format!("#!/bin/sh\ntouch '{}'\n", at(&witness)));
    repo.write(".cursor/mcp.json", entry(&at(&broken), "\"mcp\""));
    repo.write(".mcp.json", entry("/elsewhere/git-codeweaver", "\"mcp\""));
    let (is_good, checks) = doctor(&repo);
    assert!(is_good && !witness.exists(), "{checks:?}");
    let verdicts: Vec<&str> = checks.iter().map(|[verdict, ..]| verdict.as_str()).collect();
    assert_eq!(verdicts, ["ok", "warn"], "{checks:?}");
    assert!(checks[1][2].ends_with("--install claude-code --scope project"), "{checks:?}");
}
