//! The command line that a hook passes to the program: `git-codeweaver hook <event> [arguments of the hook]`.

use std::ffi::OsString;
use std::path::Path;

use super::Event;

/// One call of a hook by git, as the `hook` command receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCall {
    pub event: Event,
    /// The arguments that git passed to the hook, e.g. `rebase` for post-rewrite.
    pub args: Vec<String>,
}

impl HookCall {
    /// Parses the arguments that follow `hook` on the command line.
    ///
    /// Returns `None` for an unknown event, which a script of a newer version may pass: hooks never fail.
    /// Arguments beyond those that git documents are dropped; bytes that are not UTF-8 are replaced.
    pub fn parse(args: &[OsString]) -> Option<HookCall> {
        let (event, rest) = args.split_first()?;
        let event = Event::by_name(event.to_str()?)?;
        let args = rest.iter().take(event.n_args()).map(|arg| arg.to_string_lossy().into_owned()).collect();
        Some(HookCall { event, args })
    }

    /// Returns whether HEAD may have moved for good, so that the index should be updated.
    ///
    /// `git_dir` is the git directory of the worktree in which git ran. False for checkouts of single files,
    /// for a squash merge, which commits nothing, and inside a rebase, `am`, bisect or sequence of picks or
    /// reverts. The scripts check the same before they start the program; hook managers call the program
    /// without those scripts. Cost: a few `stat` calls.
    pub fn moves_head(&self, git_dir: &Path) -> bool {
        let arg = |n: usize| self.args.get(n).map(String::as_str);
        match self.event {
            Event::PostCheckout if arg(2) == Some("0") => false,
            Event::PostMerge if arg(0) == Some("1") => false,
            // Git removes the state of a rebase only after this hook.
            Event::PostRewrite if arg(0) == Some("rebase") => true,
            event => !is_inside_sequence(event, git_dir),
        }
    }
}

/// Returns whether a rebase, `am`, bisect or sequence of picks will move HEAD again.
fn is_inside_sequence(event: Event, git_dir: &Path) -> bool {
    let exists = |name: &str| git_dir.join(name).exists();
    let read = |name: &str| std::fs::read_to_string(git_dir.join(name)).unwrap_or_default();

    if exists("rebase-apply") {
        return true;
    }
    if exists("rebase-merge") {
        // A rebase with nothing to replay ends with its first checkout, and git does not run post-rewrite.
        let todo = std::fs::metadata(git_dir.join("rebase-merge/git-rebase-todo"));
        return !(event == Event::PostCheckout && todo.is_ok_and(|todo| todo.len() == 0));
    }
    // A sequence with a second line has another commit to pick.
    if exists("sequencer/todo") && read("sequencer/todo").lines().nth(1).is_some_and(|line| !line.is_empty())
    {
        return true;
    }
    if exists("BISECT_LOG") {
        // `bisect reset` checks out its start before it removes its state.
        let (start, head) = (read("BISECT_START"), read("HEAD"));
        let head = head.trim_end();
        return head.strip_prefix("ref: refs/heads/").unwrap_or(head) != start.trim_end();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(args: &[&str]) -> Option<HookCall> {
        HookCall::parse(&args.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_bounded_and_unknown_events_ignored() {
        assert_eq!(call(&[]), None);
        assert_eq!(call(&["pre-push"]), None);
        assert_eq!(call(&["post-commit", "--flag"]).unwrap().args, Vec::<String>::new());
        assert_eq!(call(&["post-checkout", "a", "b", "1", "x"]).unwrap().args, ["a", "b", "1"]);
    }

    #[test]
    fn only_final_moves_of_head_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let moves = |args: &[&str]| call(args).unwrap().moves_head(dir.path());
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert!(moves(&["post-commit"]));
        assert!(moves(&["post-checkout", "a", "b", "1"]));
        assert!(!moves(&["post-checkout", "a", "b", "0"]));
        assert!(!moves(&["post-merge", "1"]));

        write("sequencer/todo", "pick a # x\npick b # y\n");
        assert!(!moves(&["post-commit"]));
        write("sequencer/todo", "pick b # y\n");
        assert!(moves(&["post-commit"]));

        write("BISECT_LOG", "");
        write("BISECT_START", "main\n");
        write("HEAD", "0123456789\n");
        assert!(!moves(&["post-checkout", "a", "b", "1"]));
        write("HEAD", "ref: refs/heads/main\n");
        assert!(moves(&["post-checkout", "a", "b", "1"]));

        write("rebase-merge/git-rebase-todo", "pick a\n");
        assert!(!moves(&["post-checkout", "a", "b", "1"]));
        write("rebase-merge/git-rebase-todo", "");
        assert!(moves(&["post-checkout", "a", "b", "1"]));
        assert!(!moves(&["post-commit"]));
        assert!(!moves(&["post-rewrite", "amend"]));
        assert!(moves(&["post-rewrite", "rebase"]));
        write("rebase-apply/next", "1");
        assert!(!moves(&["post-merge", "0"]));
    }
}
