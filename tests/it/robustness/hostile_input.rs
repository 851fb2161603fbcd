//! The fuzz targets with few inputs, and every case found so far.
//!
//! `CODEWEAVER_FUZZ_CASES` sets how many inputs each target gets; the seed is fixed. `cargo bench --bench
//! fuzz` runs millions.

#[path = "../../fuzz/mod.rs"]
mod fuzz;

use fuzz::{Case, Driver, LANGUAGES, TARGETS, adversarial};

const SEED: u64 = 0x6675_7a7a;

fn run(target: &str) {
    let dir = tempfile::tempdir().unwrap();
    let open = || fuzz::open(target, dir.path()).unwrap_or_else(|| panic!("no target {target}"));
    for (path, case) in fuzz::found_cases(target) {
        eprintln!("{}", path.display());
        open().run(&case);
    }
    let n = std::env::var("CODEWEAVER_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_500);
    let mut driver = Driver::new(open(), SEED);
    for number in 0..n {
        let case = driver.case(number);
        let shown = Shown(target, number, &case);
        driver.run(&case);
        std::mem::forget(shown);
    }
}

/// Saves and names the case if the run ends in a panic.
struct Shown<'a>(&'a str, u64, &'a Case);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        let Shown(target, number, case) = self;
        let file = std::env::temp_dir().join(format!("codeweaver-fuzz-{target}-{number}"));
        let _ = std::fs::write(&file, case.encode());
        eprintln!("case {number} of {target} is in {}", file.display());
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn every_target_has_a_test() {
            let tested = [$(stringify!($name)),*];
            assert!(TARGETS.iter().all(|(name, _)| tested.contains(name)));
        }
    };
}

targets! { chunker shard segment postings entries graph snapshot state lease config hook policy suite }

/// Size of the adversarial sources: exceeds the limit of 1,000 brackets also where one is opened by two
/// bytes, and that of 144 recoveries also where a line has 14 bytes. The time of parsers is proportional to
/// it.
const SOURCE_BYTES: usize = 2_100;

/// Sources of a few kilobytes; the bench uses megabytes and measures time and memory.
#[test]
fn adversarial_sources_of_every_language_keep_the_invariants() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for part in LANGUAGES.chunks(LANGUAGES.len().div_ceil(4)) {
            let dir = dir.path();
            scope.spawn(move || {
                let mut target = fuzz::open("chunker", dir).unwrap();
                for name in part {
                    for source in adversarial::sources(name, SOURCE_BYTES) {
                        let case = Case::new(format!("{name} 0"), source.bytes);
                        let what = format!("{name} {}", source.kind).replace('/', " ");
                        let shown = Shown(&what, 0, &case);
                        target.run(&case);
                        std::mem::forget(shown);
                    }
                }
            });
        }
    });
}
