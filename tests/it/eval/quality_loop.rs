//! `eval loop`: explorers, judges and learners that are real programs; kills; planted faults.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use codeweaver_testkit::{Run, TestRepo, wait_until};

/// Number of issues: the baseline and three iterations.
const N: usize = 30 + 3 * 15;

/// A repository with one file for each issue.
fn repo() -> TestRepo {
    repo_with(|repo| repo)
}

fn repo_with(change: impl FnOnce(TestRepo) -> TestRepo) -> TestRepo {
    let repo = change(TestRepo::with_files(&[("README.md", "# Sample\n")]));
    for i in 0..N {
        let word = word(i);
        let text = (0..3).fold(String::new(), |mut text, n| {
            let _ = writeln!(text, "def {word}_{n}(value):\n    return value + {n}\n");
            text
        });
        repo.write(&path(i), text);
    }
    repo.commit("sample");
    // Explorers read all files for each issue, which takes several times as long from loose objects.
    repo.git(["repack", "-adq"]);
    repo.codeweaver(["init", "--no-hooks"]).success();
    repo
}

/// A word of its own for each number.
fn word(i: usize) -> String {
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    format!("qu{}{}x{}", letter(i), letter(i * 7 + 3), letter(i / 26 + 11))
}

fn path(i: usize) -> String {
    format!("src/{}/part.py", word(i))
}

/// A pool of all issues, half of them about the network and half about parsing.
fn pool(repo: &TestRepo) -> String {
    let lines = (0..N).map(|i| {
        let about =
            if i % 2 == 0 { "loses its socket connection" } else { "rejects a token that it should parse" };
        let text = format!("{} {about} <script>alert(1)</script>", word(i));
        json!({ "text": text, "relevant": [path(i)] }).to_string()
    });
    beside(repo, "pool.jsonl", &lines.collect::<Vec<_>>().join("\n"))
}

/// Writes a file that no search finds.
fn beside(repo: &TestRepo, name: &str, text: &str) -> String {
    let path = repo.beside(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A script, as the command that runs it.
fn script(repo: &TestRepo, name: &str, text: &str) -> String {
    format!("sh '{}'", beside(repo, name, text))
}

/// Finds the files below a directory of the first word of the issue, without other processes: it is asked
/// hundreds of times.
const EXPLORER: &str = r#"
IFS= read -r question
word=${question#*'"text":"'}
word=${word%%[!a-z]*}
for file in src/"$word"/*; do
    [ -f "$file" ] && files="$files,{\"path\":\"$file\",\"why\":\"its name\"}"
done
printf '{"files":[%s],"log":["find"]}' "${files#,}"
"#;

/// Calls every file relevant, or those of one area irrelevant.
fn judge(verdict_of_network: &str) -> String {
    r#"
question=$(cat)
case $question in *'"product_area":"network"'*) relevant=VERDICT ;; *) relevant=yes ;; esac
verdicts=$(printf %s "$question" | sed 's/.*"files_to_judge":\[//' | grep -o '"path":"[^"]*"' |
    sed "s|.*|{&,\"relevant\":\"$relevant\",\"actionable\":\"maybe\",\"reasoning\":\"planted\"}|" | paste -sd, -)
printf '{"verdicts":[%s],"gestalt":4.5,"area":{"accurate":true},"dimensions":{"coverage":5}}' "$verdicts"
"#
    .replace("VERDICT", verdict_of_network)
}

/// The arguments of a loop with its artefacts beside the repository.
fn arguments(repo: &TestRepo, folder: &str, more: &[&str]) -> Vec<String> {
    let folder = repo.beside(folder);
    let fixed = ["eval", "loop", "--issues", &pool(repo), "--output", folder.to_str().unwrap(), "--json"];
    fixed.iter().chain(more).map(|argument| (*argument).to_owned()).collect()
}

fn resume(repo: &TestRepo, folder: &Path) -> Run {
    repo.codeweaver(["eval", "loop", "--resume", "--json", "--output", folder.to_str().unwrap()])
}

fn artefact(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

/// All files of a folder with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(root, &path, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(folder, folder, &mut found);
    found
}

fn assert_equal(one: &Path, other: &Path, what: &str) {
    let (one, other) = (files(one), files(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in &one {
        assert!(bytes == &other[name], "{what}: {name} differs");
    }
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in files(from) {
        let path = to.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_good_search_converges_after_the_least_number_of_iterations() {
    let repo = repo();
    let (explorer, judge) =
        (script(&repo, "explorer.sh", EXPLORER), script(&repo, "judge.sh", &judge("yes")));
    let run = repo.codeweaver(arguments(
        &repo,
        "loop",
        &["--explorer-a", &explorer, "--judge", &judge, "--learner", "none", "--results", "1"],
    ));
    let summary = run.success().json();
    assert_eq!(
        (&summary["outcome"], &summary["iterations"]),
        (&json!("converged"), &json!(3)),
        "{summary:#}"
    );
    let folder = repo.beside("loop");

    let baseline = artefact(&folder, "iteration_0/conversations.json");
    assert_eq!(baseline["conversations"].as_array().unwrap().len(), 30);
    let first = artefact(&folder, "iteration_1/conversations.json");
    assert_eq!(first["conversations"].as_array().unwrap().len(), 15);
    let id = |value: &Value| value["id"].as_str().unwrap().to_owned();
    let used: Vec<String> = baseline["conversations"].as_array().unwrap().iter().map(id).collect();
    assert!(
        first["conversations"].as_array().unwrap().iter().all(|it| !used.contains(&id(it))),
        "fresh issues"
    );

    let searched = &artefact(&folder, "iteration_1/search_results.json")["results"][0];
    let found = &searched["search_results"];
    assert!(found["snippets"][0]["content"].as_str().unwrap().contains("def qu"), "{searched:#}");
    assert!(searched["classification_confidence"].as_f64().unwrap() >= 0.5);
    let evaluation = artefact(&folder, "iteration_1/evaluation.json");
    let issue = &evaluation["issues"][0];
    assert_eq!(issue["run_a"]["files"][0]["why"], "its name");
    assert!(issue["ground_truth"][0]["one_run"].is_boolean());
    let figures = &evaluation["figures"];
    assert_eq!(figures["aggregate"]["gestalt"], 4.5);
    assert_eq!(figures["aggregate"]["dimensions"]["coverage"], 5.0);
    assert_eq!(figures["aggregate"]["dimensions"]["noise_ratio"], Value::Null, "the judge did not say");
    assert_eq!(figures["classification_accuracy"], 1.0);
    assert!(figures["by_product_area"]["network"]["precision"].as_f64().unwrap() >= 0.8, "{figures:#}");

    // Both explorers find the same, so the cheaper one explores twice from iteration 3 on.
    let calibration = &artefact(&folder, "iteration_2/learnings.json")["calibration"];
    assert_eq!((&calibration["rate"], &calibration["explorers"]), (&json!(1.0), &json!(["grep", "grep"])));
    assert_eq!(artefact(&folder, "iteration_3/evaluation.json")["explorers"], json!(["grep", "grep"]));
    assert_eq!(artefact(&folder, "iteration_2/evaluation.json")["explorers"], json!([explorer, "grep"]));

    for name in ["report.md", "report.html"] {
        let report = std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(report.contains("converged in iteration 3") && !report.contains("<script"), "{name}");
    }
}

#[test]
fn what_was_not_judged_has_no_figure() {
    let repo = repo();
    let wrong = beside(&repo, "wrong.jsonl", "{\"text\":\"x\",\"relevent\":[]}");
    repo.codeweaver(["eval", "loop", "--issues", &wrong]).fails(2).says(&["wrong.jsonl:1", "relevent"]);
    let texts: Vec<String> =
        (0..N).map(|i| json!({ "text": format!("{} is lost", word(i)) }).to_string()).collect();
    let issues = beside(&repo, "unlabelled.jsonl", &texts.join("\n"));
    let folder = repo.beside("loop");
    let run = repo.codeweaver([
        "eval",
        "loop",
        "--issues",
        &issues,
        "--output",
        folder.to_str().unwrap(),
        "--json",
    ]);
    let summary = run.fails(1).json();
    assert_eq!(summary["figures"]["aggregate"]["gestalt"], Value::Null, "{summary:#}");
    let reasons = summary["open_criteria"].to_string();
    assert!(reasons.contains("gestalt was not judged"), "{reasons}");
    let issues = artefact(&folder, "iteration_0/evaluation.json")["issues"].clone();
    let open: Vec<&Value> = issues
        .as_array()
        .unwrap()
        .iter()
        .filter(|issue| !issue["our_unique"].as_array().unwrap().is_empty())
        .collect();
    for issue in open {
        assert_eq!(issue["our_unique"][0]["relevant"], "not_judged", "{issue:#}");
        assert_eq!(issue["scores"]["precision"], Value::Null, "{issue:#}");
    }
}

#[test]
fn a_planted_bad_judge_is_an_anomaly() {
    let repo = repo();
    // The explorers miss the files of the network, so that the judge decides about them.
    let explorer = script(&repo, "explorer.sh", "cat >/dev/null; echo '{\"files\":[]}'");
    let judge = script(&repo, "judge.sh", &judge("no"));
    let both = ["--explorer-a", &explorer, "--explorer-b", &explorer, "--judge", &judge, "--learner", "none"];
    repo.codeweaver(arguments(&repo, "loop", &both)).fails(1);
    let folder = repo.beside("loop");
    let evaluation = artefact(&folder, "iteration_0/evaluation.json");
    let anomalies = evaluation["anomalies"].as_array().unwrap();
    assert!(
        anomalies.iter().any(|it| it["area"] == "network" && it["figure"] == "precision"),
        "{anomalies:#?}"
    );
    assert!(anomalies.iter().all(|it| it["area"] == "network"), "{anomalies:#?}");
    let learnings = artefact(&folder, "iteration_0/learnings.json");
    assert!(learnings["patterns"]["verdicts_against_labels"].as_u64().unwrap() > 5, "{learnings:#}");
    let report = std::fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(
        report.contains("Anomaly: precision of network") && report.contains("check the judge"),
        "{report}"
    );
}

#[test]
fn a_planted_regression_is_taken_back() {
    let repo = repo();
    let explorer = script(&repo, "explorer.sh", EXPLORER);
    let learner = script(
        &repo,
        "learner.sh",
        r#"
weights=$(sed -E 's/^\{"version":1,"role":"learner","weights":\{([^}]*)\}.*/\1/; s/:[0-9.e-]+/:0/g')
printf '{"description":"planted","weights":{%s}}' "$weights"
"#,
    );
    let more = ["--explorer-a", &explorer, "--learner", &learner, "--results", "1"];
    let summary = repo.codeweaver(arguments(&repo, "loop", &more)).fails(1).json();
    assert_eq!((&summary["rolled_back"], &summary["kept_changes"]), (&json!(1), &json!(0)), "{summary:#}");
    let folder = repo.beside("loop");
    let baseline = artefact(&folder, "iteration_0/learnings.json");
    assert_eq!(baseline["change"]["description"], "planted");
    assert_eq!(baseline["weights"]["lexical"], 0.0);
    let first = artefact(&folder, "iteration_1/learnings.json");
    let lost = first["rolled_back"]["regressions"].as_array().unwrap();
    assert!(lost.iter().any(|it| it["area"] == "all" && it["figure"] == "recall"), "{first:#}");
    assert_eq!(first["weights"], baseline["former_weights"], "the weights before the change");
    assert!(first["no_change"].as_str().unwrap().contains("taken back before"), "{first:#}");
    let backup = artefact(&folder, "backups/iteration_0.json");
    assert!(backup["lexical"].as_f64().unwrap() > 0.0);
    let now = artefact(&folder, "weights.json");
    assert_eq!(now, backup, "the loop ends with the weights that it began with");
    let (before, after) = (&summary["baseline"]["aggregate"], &summary["figures"]["aggregate"]);
    assert_eq!(before["recall"], after["recall"], "and they work as before: {summary:#}");
}

/// Wants the same weight each time, which is a change only once.
const CHANGES_DEPTH: &str = r#"
weights=$(sed -E 's/^\{"version":1,"role":"learner","weights":(\{[^}]*\}).*/\1/; s/"depth":[0-9.e-]+/"depth":0.7/')
printf '{"description":"planted","weights":%s}' "$weights"
"#;

#[test]
fn a_loop_stopped_after_any_step_ends_with_the_same_bytes() {
    let repo = repo();
    let explorer = script(&repo, "explorer.sh", EXPLORER);
    let learner = script(&repo, "learner.sh", CHANGES_DEPTH);
    let steps = ["conversations.json", "search_results.json", "evaluation.json", "learnings.json"];
    let all: Vec<String> =
        (0..=3).flat_map(|n| steps.iter().map(move |step| format!("iteration_{n}/{step}"))).collect();

    // Every step of the baseline and of an iteration between others. The learner that is built in computes
    // for most of the time, so its loop is stopped only before it learns between others.
    let every = (0..steps.len()).chain(2 * steps.len()..3 * steps.len()).collect();
    let loops: [(&str, &str, Vec<usize>); 2] =
        [(&learner, "whole", every), ("tune", "whole-tune", vec![3 * steps.len() - 1])];
    for (learner, folder, stops) in loops {
        let more = ["--explorer-a", &explorer, "--learner", learner, "--results", "3"];
        repo.codeweaver(arguments(&repo, folder, &more)).fails(1);
        let whole = repo.beside(folder);
        let learnt = artefact(&whole, "iteration_0/learnings.json");
        assert!(learner == "tune" || learnt["change"]["description"] == "planted", "{learnt:#}");

        for n_done in stops {
            let part = repo.beside(&format!("{folder}{n_done}"));
            copy(&whole, &part);
            for name in &all[n_done..] {
                std::fs::remove_file(part.join(name)).unwrap();
            }
            for name in ["progress.json", "report.md", "report.html", "weights.json"] {
                std::fs::remove_file(part.join(name)).unwrap();
            }
            resume(&repo, &part).fails(1);
            assert_equal(&whole, &part, &format!("{learner}, stopped before {}", all[n_done]));
        }
    }
}

#[test]
fn a_killed_loop_ends_with_the_same_bytes() {
    let repo = repo();
    let explorer = script(&repo, "explorer.sh", EXPLORER);
    let more = ["--explorer-a", &explorer, "--learner", "none"];
    repo.codeweaver(arguments(&repo, "whole", &more)).fails(1);
    let (whole, part) = (repo.beside("whole"), repo.beside("part"));
    let mut chance = fastrand::Rng::with_seed(7);
    let mut arguments = arguments(&repo, "part", &more);
    let mut n_kills = 0;
    loop {
        let mut command = repo.command(codeweaver_testkit::program());
        let mut child = command.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // Killed at any moment, not at one that is waited for; later each time, so that a slow machine gets
        // on as well.
        std::thread::sleep(Duration::from_millis(chance.u64(50..500) + 50 * n_kills));
        let ended = child.try_wait().unwrap();
        if ended.is_some() {
            assert_eq!(ended.and_then(|status| status.code()), Some(1));
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        n_kills += 1;
        if part.join("config.json").exists() {
            arguments =
                ["eval", "loop", "--resume", "--output", part.to_str().unwrap()].map(str::to_owned).to_vec();
        }
    }
    assert!(n_kills > 0, "the loop was never killed");
    // A killed process leaves the temporary file of what it was writing.
    let is_artefact = |name: &String| !name.contains("/.tmp") && !name.starts_with(".tmp");
    let (mut one, mut other) = (files(&whole), files(&part));
    one.retain(|name, _| is_artefact(name));
    other.retain(|name, _| is_artefact(name));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    assert!(one == other, "{n_kills} kills");
}

#[test]
fn external_commands_see_neither_keys_nor_results_nor_labels() {
    let repo =
        repo_with(|repo| repo.env("SAMPLE_API_KEY", "k1").env("OTHER_TOKEN", "k2").env("HARMLESS", "h"));
    let explorer = script(
        &repo,
        "explorer.sh",
        "cat > \"$(dirname \"$0\")/question\"; env > \"$(dirname \"$0\")/env\"; pwd > \"$(dirname \"$0\")/pwd\"; \
         ls -A > \"$(dirname \"$0\")/ls\"; echo seen > left-behind; rm README.md; \
         echo '{\"files\":[{\"path\":\"no/such.py\"}]}'",
    );
    // Begins later than the first explorer, and looks for files of the first one.
    let second = script(
        &repo,
        "second.sh",
        "cat >/dev/null; sleep 0.05; ls -A >> \"$(dirname \"$0\")/second\"; echo '{\"files\":[]}'",
    );
    let judge = script(
        &repo,
        "judge.sh",
        "cat >/dev/null; ls -A >> \"$(dirname \"$0\")/second\"; echo '{\"verdicts\":[]}'",
    );
    let more = [
        "--explorer-a",
        &explorer,
        "--explorer-b",
        &second,
        "--judge",
        &judge,
        "--learner",
        "none",
        "--pass-env",
        "OTHER_TOKEN",
    ];
    repo.codeweaver(arguments(&repo, "loop", &more)).fails(1);
    let read = |name: &str| std::fs::read_to_string(repo.beside(name)).unwrap();
    let env = read("env");
    assert!(
        env.contains("OTHER_TOKEN=k2") && env.contains("HARMLESS=h") && !env.contains("SAMPLE_API_KEY"),
        "{env}"
    );
    let question: Value = serde_json::from_str(&read("question")).unwrap();
    assert_eq!((&question["role"], &question["run"]), (&json!("explorer"), &json!("a")));
    let mut keys: Vec<&String> = question.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(keys, ["issue", "role", "run", "tree", "version"]);
    assert!(!question["issue"].to_string().contains("part.py"), "no labels: {question}");
    assert_eq!(read("ls").trim().lines().collect::<Vec<_>>(), ["README.md", "src"], "no .git, no index");
    let second = read("second");
    assert!(second.lines().count() > 2 * N, "the second explorer and the judge have run");
    assert!(second.lines().all(|name| name != "left-behind"), "each command has a tree of its own");
    assert_eq!(second.lines().filter(|name| *name == "README.md").count(), 2 * N, "and a complete one");
    assert!(!Path::new(read("pwd").trim()).exists(), "the tree is removed");
    let run_a = &artefact(&repo.beside("loop"), "iteration_0/evaluation.json")["issues"][0]["run_a"];
    assert_eq!(run_a["files"], json!([]), "a file that does not exist is not found");
    assert!(run_a["log"].to_string().contains("no/such.py is not a file of the tree"));
}

/// Changes one weight when it is first asked, and nothing afterwards.
const CHANGES_ONCE: &str = r#"
weights=$(sed -E 's/^\{"version":1,"role":"learner","weights":(\{[^}]*\}).*/\1/; s/"depth":[0-9.e-]+/"depth":0.7/')
flag="$(dirname "$0")/asked"
if [ -e "$flag" ]; then weights=null; fi
touch "$flag"
printf '{"description":"planted","weights":%s}' "$weights"
"#;

#[test]
fn a_change_stays_on_trial_and_is_written_if_it_lost_nothing() {
    let repo = repo();
    let (explorer, learner) =
        (script(&repo, "explorer.sh", EXPLORER), script(&repo, "learner.sh", CHANGES_ONCE));
    let more = ["--explorer-a", &explorer, "--learner", &learner, "--results", "1"];
    let run = repo.codeweaver(arguments(&repo, "loop", &more));
    run.fails(1).says(&["--resume --write"]);
    assert_eq!((&run.json()["kept_changes"], &run.json()["rolled_back"]), (&json!(1), &json!(0)));
    let folder = repo.beside("loop");
    for (iteration, n) in [(1, 15), (2, 30), (3, 45)] {
        let trial = &artefact(&folder, &format!("iteration_{iteration}/learnings.json"))["trial"];
        assert_eq!((&trial["since"], &trial["after"]["aggregate"]["count"]), (&json!(0), &json!(n)));
        assert_eq!(trial["before"]["aggregate"]["judged"], n, "the same issues with the former weights");
    }
    let report = std::fs::read_to_string(folder.join("report.md")).unwrap();
    assert!(report.contains("On trial since iteration 0, over 45 issues: planted"), "{report}");

    let weights = repo.root().join(".codeweaver/weights.json");
    assert!(!weights.exists(), "nothing is written unasked");
    let write = ["eval", "loop", "--resume", "--write", "--output", folder.to_str().unwrap()];
    repo.codeweaver(write).fails(1).says(&["eval tune --undo"]);
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&weights).unwrap()).unwrap();
    assert_eq!(written["depth"], 0.7);
    repo.codeweaver(["eval", "tune", "--undo"]).success();
    assert!(!weights.exists());
    // Weights of other repositories are not those of this one.
    let other = TestRepo::with_files(&[("README.md", "# Other\n")]);
    other.codeweaver(["init", "--no-hooks"]).success();
    other.codeweaver(write).is_an_error("whose weights", "search.weights");
    assert!(!other.root().join(".codeweaver/weights.json").exists());
}

#[test]
fn a_change_that_could_not_be_judged_is_taken_back() {
    let repo = repo();
    let texts: Vec<String> =
        (0..N).map(|i| json!({ "text": format!("{} is lost", word(i)) }).to_string()).collect();
    let issues = beside(&repo, "unlabelled.jsonl", &texts.join("\n"));
    let explorer = script(&repo, "explorer.sh", "cat >/dev/null; echo '{\"files\":[]}'");
    let learner = script(&repo, "learner.sh", CHANGES_ONCE);
    let folder = repo.beside("loop");
    let run = repo.codeweaver([
        "eval",
        "loop",
        "--issues",
        &issues,
        "--explorer-a",
        &explorer,
        "--explorer-b",
        &explorer,
        "--learner",
        &learner,
        "--write",
        "--json",
        "--output",
        folder.to_str().unwrap(),
    ]);
    run.fails(1).says(&["no change was kept"]);
    assert_eq!((&run.json()["kept_changes"], &run.json()["rolled_back"]), (&json!(0), &json!(1)));
    let back = artefact(&folder, "iteration_1/learnings.json")["rolled_back"].clone();
    assert!(back["why"].as_str().unwrap().starts_with("0 issues were judged"), "{back:#}");
    assert!(!repo.root().join(".codeweaver/weights.json").exists());
}

#[cfg(unix)]
#[test]
fn an_interrupted_loop_stops_its_commands_and_can_be_resumed() {
    let repo = repo();
    let beats = "cd \"$(dirname \"$0\")\"; i=0; while :; do i=$((i+1)); echo $i > beat; sleep 0.05; done";
    let explorer = script(&repo, "explorer.sh", beats);
    let arguments = arguments(&repo, "loop", &["--explorer-a", &explorer, "--learner", "none"]);
    let mut command = repo.command(codeweaver_testkit::program());
    let mut child = command.args(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let beat = || std::fs::read_to_string(repo.beside("beat")).unwrap_or_default();
    wait_until("an explorer is started", || !beat().is_empty());
    let folder = repo.beside("loop");
    resume(&repo, &folder).is_an_error("is running", "--resume");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let last = beat();
    // Ten beats of an explorer that still ran: what does not happen cannot be waited for.
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(beat(), last, "the explorer is stopped");
    beside(&repo, "explorer.sh", EXPLORER);
    resume(&repo, &folder).fails(1);
}

#[test]
fn faults_are_named_and_a_failed_command_can_be_corrected() {
    let repo = repo();
    repo.codeweaver(["eval", "loop", "--issues", &pool(&repo), "--batch", "14"]).fails(2).says(&["15..=20"]);
    repo.codeweaver(["eval", "loop", "--issues", &pool(&repo), "--max-iterations", "2"])
        .is_an_error("cannot end within 2 iterations", "raise --max-iterations");
    let few = beside(&repo, "few.jsonl", "{\"text\":\"one\"}");
    repo.codeweaver(["eval", "loop", "--issues", &few])
        .is_an_error("too few issues", "--issues mine --limit");
    let none = repo.beside("none");
    resume(&repo, &none).is_an_error("there is no loop in", "--issues");

    let explorer = script(&repo, "explorer.sh", "echo 'not logged in' >&2; exit 7");
    let more = ["--explorer-a", &explorer, "--learner", "none"];
    let run = repo.codeweaver(arguments(&repo, "loop", &more));
    run.fails(2).says(&["exit status: 7: not logged in", "--resume"]);
    repo.codeweaver(arguments(&repo, "loop", &more)).is_an_error("there is a loop in", "--resume");
    beside(&repo, "explorer.sh", EXPLORER);
    let folder = repo.beside("loop");
    resume(&repo, &folder).fails(1);
    let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
    std::fs::write(folder.join("config.json"), config.replace("\"batch\": 15", "\"batch\": 5")).unwrap();
    resume(&repo, &folder)
        .is_an_error("settings of the loop cannot be used", "config.json")
        .says(&["batch is 5"]);
    std::fs::write(folder.join("config.json"), config).unwrap();
    std::fs::write(folder.join("iteration_2/evaluation.json"), "{}").unwrap();
    resume(&repo, &folder).is_an_error("evaluation.json cannot be used", "remove the file");
}

#[test]
fn mined_issues_are_explored_by_history_and_judged_by_labels() {
    let repo = TestRepo::with_files(&[("README.md", "# Sample\n")]);
    for i in 0..N {
        repo.write(&path(i), format!("def {}_0(value):\n    return value\n", word(i)));
    }
    repo.commit("sample");
    for i in 0..N {
        repo.write(&path(i), format!("def {}_0(value):\n    return value + 1\n", word(i)));
        repo.commit(&format!("Correct {} for {} and {}", word(i), word(i + 200), word(i + 400)));
    }
    repo.codeweaver(["init", "--no-hooks"]).success();
    let run = repo.codeweaver(["eval", "loop", "--issues", "mine", "--limit", "100", "--learner", "none"]);
    run.fails(1).says(&["baseline", "after 3 iterations", "gestalt was not judged", "report.html"]);
    assert!(run.stderr().starts_with("the judge `labels` gives no gestalt"), "{}", run.explain());
    let folder = repo.root().join(".codeweaver/quality");
    let evaluation = artefact(&folder, "iteration_2/evaluation.json");
    assert_eq!(evaluation["judge"], "labels");
    let issue = &evaluation["issues"][0];
    assert_eq!(issue["run_a"]["files"][0]["why"], "changed by the fixing commit");
    let dimensions = &evaluation["figures"]["aggregate"]["dimensions"];
    assert_eq!(
        (&dimensions["coverage"], &dimensions["snippet_quality"]),
        (&json!(5.0), &json!(5.0)),
        "{dimensions:#}"
    );
    // The folder of the loop survives a check of the index and its repair.
    repo.codeweaver(["verify", "--repair"]).success();
    repo.codeweaver(["gc"]).success();
    assert!(folder.join("report.html").exists());
}
