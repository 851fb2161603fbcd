//! Completion in real shells, and the manual pages.

use codeweaver_testkit::{FILES, Run, TestRepo, Tool, copy_program, program, wait_for};

use super::pty::Terminal;

const BASH_COMPLETION: &str = "/usr/share/bash-completion/bash_completion";

/// The prompt of all shells.
const PROMPT: &str = "$ ";

/// A repository with a branch and a tag, where the script of `shell` is installed.
fn with_completions(shell: &str) -> TestRepo {
    let repo = TestRepo::with_files(FILES);
    repo.git(["branch", "topic/one"]).git(["tag", "v1.2"]);
    repo.codeweaver(["completions", shell, "--install"]).success().says(&["Written:"]);
    let home = repo.at("../home");
    match shell {
        "bash" => home.write(".bashrc", format!("PS1='$ '\n. {BASH_COMPLETION}\n")),
        "zsh" => home.write(
            ".zshrc",
            "PS1='$ '\nfpath=(~/.local/share/zsh/site-functions $fpath)\nautoload -Uz compinit\ncompinit -u -D\n",
        ),
        _ => home.write(".config/fish/config.fish", "function fish_prompt\n    echo -n '$ '\nend\n"),
    };
    repo
}

/// Types `keys` at the prompt of an interactive `shell` on a terminal, and waits until it prints `wanted` and
/// its next prompt: a shell that is not ready may drop what is typed.
fn type_until(repo: &TestRepo, shell: &str, keys: &str, wanted: &str) {
    let mut terminal = Terminal::start(repo.command("script").env("TERM", "dumb"), shell);

    for (keys, wanted) in [("", ""), (keys, wanted)] {
        terminal.types(keys);
        wait_for(&format!("{shell} prints {wanted:?} and a prompt"), || {
            let text = terminal.printed();
            let is_there = text.split_once(wanted).is_some_and(|(_, rest)| rest.contains(PROMPT));
            is_there.then_some(()).ok_or(text)
        });
    }
    terminal.types("exit\r");
    terminal.wait();
}

/// A command line that is complete only after TAB, in a real terminal. The start of the zsh script shows that
/// it ran.
fn completes_on_a_terminal(repo: &TestRepo, shell: &str) {
    if Tool::SCRIPT.find().is_none() {
        return;
    }
    for name in ["git-codeweaver", "git codeweaver"] {
        type_until(repo, shell, &format!("{name} compl\tz\t | head -1\r"), "#compdef git-codeweaver");
    }
}

/// Command lines without their first word, and candidates that are offered for their last.
const TABLE: &[(&str, &[&str])] = &[
    ("sea", &["search"]),
    ("help dei", &["deinit"]),
    ("search --mod", &["--mode"]),
    ("search --mode sem", &["semantic"]),
    ("search --lang elix", &["elixir"]),
    ("search --kind interf", &["interface"]),
    ("search --rev to", &["topic/one"]),
    ("search --rev v1", &["v1.2"]),
    ("outline src/pa", &["src/parse.rs"]),
    ("completions z", &["zsh"]),
    ("config get search.li", &["search.limit"]),
    ("graph call", &["callees", "callers"]),
];

/// Compares the candidates of `run`, one a line.
fn offers(run: &Run, line: &str, expected: &[&str]) {
    let printed = run.success().stdout();
    let mut found: Vec<&str> =
        printed.lines().map(|line| line.split('\t').next().unwrap().trim_end()).collect();
    found.sort_unstable();
    assert_eq!(found, expected, "{line}: {}", run.explain());
}

#[test]
fn bash() {
    let Some(bash) = Tool::BASH_COMPLETION.find() else { return };
    let repo = with_completions("bash");
    // Git's own function, loaded as bash-completion does, completes `git`.
    let script = format!(
        ". {}\n_completion_loader git-codeweaver\n_completion_loader git\n{}",
        bash.display(),
        r#"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE} COMP_TYPE=9
        function=$(complete -p "$1" | sed 's/.* -F \([^ ]*\) .*/\1/')
        $function "$1" "${@: -1}" "${@: -2:1}"
        printf '%s\n' "${COMPREPLY[@]}"
        "#
    );
    for (line, expected) in TABLE {
        for name in [&["git-codeweaver"][..], &["git", "codeweaver"], &["git", "-C", ".", "codeweaver"]] {
            let words = name.iter().copied().chain(line.split(' '));
            let mut command = repo.command("bash");
            command.args(["--norc", "-c", &script, "bash"]).args(words);
            offers(&Run::new(&mut command), line, expected);
        }
    }
    // As readline breaks the word.
    let mut command = repo.command("bash");
    command.args(["--norc", "-c", &script, "bash", "git-codeweaver", "search", "--mode", "=", "key"]);
    offers(&Run::new(&mut command), "--mode=key", &["keyword"]);
    completes_on_a_terminal(&repo, "bash -i");
}

#[test]
fn zsh() {
    if Tool::ZSH.find().is_none() {
        return;
    }
    let repo = with_completions("zsh");
    completes_on_a_terminal(&repo, "zsh -i");
}

#[test]
fn fish() {
    if Tool::FISH.find().is_none() {
        return;
    }
    let repo = with_completions("fish");
    for (line, expected) in TABLE {
        for name in ["git-codeweaver", "git codeweaver", "git -C . codeweaver"] {
            let mut command = repo.command("fish");
            command.args(["-c", &format!("complete -C '{name} {line}'")]);
            offers(&Run::new(&mut command), line, expected);
        }
    }
    completes_on_a_terminal(&repo, "fish -i");
}

#[test]
fn the_shell_in_use_is_the_default() {
    let repo = TestRepo::empty_dir().env("SHELL", "/usr/bin/fish");
    repo.codeweaver(["completions", "--install"]).success();
    assert!(
        repo.read("../home/.config/fish/conf.d/git-codeweaver.fish").contains("complete -c git-codeweaver")
    );
    let repo = repo.env("SHELL", "/bin/unheard-of");
    repo.codeweaver(["completions", "--install"])
        .fails(2)
        .is_an_error("the shell is not known", "bash --install");
    repo.codeweaver(["completions", "elvish", "--install"]).fails(2).is_an_error("elvish", "start-up file");
    repo.codeweaver(["completions", "elvish"]).success().says(&["git-codeweaver"]);
}

#[test]
fn zsh_is_told_where_the_script_is_until_it_knows() {
    let repo = TestRepo::empty_dir();
    repo.codeweaver(["completions", "zsh", "--install"]).success().says(&["fpath=(", ".zshrc"]);
    repo.write("../home/.zshrc", "fpath=(~/.local/share/zsh/site-functions $fpath)\n");
    assert!(!repo.codeweaver(["completions", "zsh", "--install"]).success().stdout().contains("fpath"));
}

#[test]
fn help_needs_no_manual_page() {
    let repo = TestRepo::empty_dir();
    for args in [&["help"][..], &["-h"], &["help", "search"], &["search", "-h"]] {
        Run::new(repo.command("git").arg("codeweaver").args(args)).success().says(&["Usage:"]);
    }
}

#[test]
fn the_manual_is_installed_where_git_help_finds_it() {
    if Tool::MAN.find().is_none() {
        return;
    }
    let repo = TestRepo::with_files(FILES);
    let init = |repo: &TestRepo| repo.codeweaver(["init", "--no-hooks", "--no-index"]).success().stdout();
    assert!(init(&repo).contains("git codeweaver man --install"), "said until it is there");
    // The directory of the program is outside of the home directory, that of the user's programs on the path.
    let path = |dir: &str| {
        let dirs = [repo.beside("home").join(dir), program().parent().unwrap().to_owned()];
        let rest = std::env::var_os("PATH").unwrap();
        let all = dirs.into_iter().chain(std::env::split_paths(&rest));
        std::env::join_paths(all).unwrap().into_string().unwrap()
    };
    let repo = repo.at(".").env("PATH", &path(".local/bin")).env("MANPATH", "");
    let repo = repo.env("MAN_DISABLE_SECCOMP", "1");
    repo.codeweaver(["man", "--install"]).success().says(&["Written:", "git help codeweaver"]);
    for args in [&["codeweaver", "--help"][..], &["help", "codeweaver"], &["help", "git-codeweaver-search"]] {
        let run = Run::new(repo.command("git").args(args).env("GIT_PAGER", "cat").env("MANPAGER", "cat"));
        assert!(run.success().stdout().to_lowercase().contains("synopsis"), "{}", run.explain());
    }
    assert!(!init(&repo).contains("man --install"));
}

/// A program in a directory of the home directory, as `cargo install` puts it there.
#[test]
fn the_manual_is_installed_beside_the_directory_of_the_program() {
    if Tool::MAN.find().is_none() {
        return;
    }
    let repo = TestRepo::empty_dir();
    let bin = repo.beside("home").join(".cargo/bin");
    std::fs::create_dir_all(&bin).unwrap();
    copy_program(&bin.join("git-codeweaver"));
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let repo = repo.env("PATH", &path).env("MANPATH", "").env("MAN_DISABLE_SECCOMP", "1");
    let run = Run::new(repo.command(bin.join("git-codeweaver")).args(["man", "--install"]));
    run.success().says(&[".cargo/share/man/man1", "git help codeweaver"]);
    Run::new(repo.command("man").args(["-w", "git-codeweaver"])).success().says(&[".cargo/share/man/man1"]);
    // A list of directories that leaves it out.
    let repo = repo.env("MANPATH", "/usr/share/man");
    let run = Run::new(repo.command(bin.join("git-codeweaver")).args(["man", "--install"]));
    run.success().says(&["does not look there", "export MANPATH="]);
}
