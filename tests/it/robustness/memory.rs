//! Memory: whatever a repository holds, a request takes a bounded amount of it. Sizes in a repository are
//! numbers that anyone may have written, and a few bytes can stand for gigabytes.

use std::process::Command;

use codeweaver_testkit::{FILES, Run, TestRepo, program};

use crate::support::mcp_client::McpClient;

/// Memory that a request may take beyond what the program takes anyway, in KiB.
const MAX_KIB: u64 = 256 << 10;
/// Size that headers claim without having it.
const CLAIMED: u64 = 64 << 30;

/// A repository whose first commit is harmless, with objects of any content.
struct World {
    repo: TestRepo,
    /// The address space that the program takes for a small request, in KiB, up to a step.
    idle: u64,
}

impl World {
    fn new() -> World {
        let repo = TestRepo::with_files(FILES);
        repo.codeweaver(["init", "--no-hooks"]).success();
        World { idle: idle(&repo), repo }
    }

    /// Writes a loose object with the header `header`, whose content is a few bytes. Its name is `digit`
    /// repeated.
    fn liar(&self, digit: &str, header: &str) -> String {
        let oid = digit.repeat(40);
        let path = self.repo.path(&format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, zlib(format!("{header}\0some bytes").as_bytes())).unwrap();
        oid
    }

    /// Writes a pack with `entries` (type and size are in the header of each) and returns the names of its
    /// objects.
    fn pack(&self, entries: &[Vec<u8>]) -> Vec<String> {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend((entries.len() as u32).to_be_bytes());
        pack.extend(entries.concat());

        let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
        hasher.update(&pack);
        pack.extend_from_slice(hasher.try_finalize().unwrap().as_slice());

        let file = ".git/objects/pack/pack-bomb.pack";
        self.repo.write(file, &pack);
        self.repo.git(["-c", "core.bigFileThreshold=1g", "index-pack", file]);
        let listed = self.repo.git_text(["verify-pack", "-v", file]);
        let names = listed.lines().map(|line| line.split(' ').next().unwrap().to_owned());
        names.filter(|name| name.len() == 40).collect()
    }

    /// Commits the harmless files together with blobs, of which some need not exist.
    fn commit(&self, blobs: &[(&str, &str)]) {
        let mut tree = self.repo.git_text(["ls-tree", "HEAD"]);
        blobs.iter().for_each(|(name, oid)| tree.push_str(&format!("100644 blob {oid}\t{name}\n")));
        self.repo.write(".git/tree", tree);
        let script = "git commit-tree -p HEAD -m odd $(git mktree --missing < .git/tree)";
        let commit = Run::new(self.repo.command("sh").args(["-c", script]));
        self.repo.git(["update-ref", "HEAD", commit.success().stdout().trim()]);
    }

    /// Checks that each command ends by itself in the memory that a request may take.
    fn check(&self, commands: &[&[&str]]) {
        let kib = self.idle + MAX_KIB;
        for args in commands {
            let run = Run::new(limited(&self.repo, kib).args(*args));
            let is_ended = [0, 1, 2].contains(&run.code()) && !run.stderr().contains("memory allocation");
            assert!(is_ended, "{args:?} in {kib} KiB: {} {}", run.code(), run.stderr());
        }
    }
}

/// The address space that the program takes for a small request in `repo`, in KiB, up to a step.
fn idle(repo: &TestRepo) -> u64 {
    const STEP: u64 = 32 << 10;
    let steps: Vec<u64> = (1..256).map(|n| n * STEP).collect();
    let search = |kib: u64| Run::new(limited(repo, kib).args(["search", "parse header"])).code();
    steps[steps.partition_point(|&kib| search(kib) != 0)]
}

/// The program in `kib` KiB of address space.
fn limited(repo: &TestRepo, kib: u64) -> Command {
    let mut command = repo.command("sh");
    command.args(["-c", &format!("ulimit -c 0; ulimit -v {kib}; exec \"$@\""), "sh"]).arg(program());
    command
}

/// A zlib stream with `bytes`, uncompressed.
fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(65_535).peekable();
    while let Some(block) = blocks.next() {
        let len = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(len.to_le_bytes());
        out.extend((!len).to_le_bytes());
        out.extend(block);
    }

    let (mut a, mut b) = (1_u32, 0_u32);
    for &byte in bytes {
        a = (a + u32::from(byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

/// The header of an entry of a pack, and of the sizes in a delta.
fn varint(first_bits: u32, kind: u8, mut size: u64) -> Vec<u8> {
    let mut out = vec![kind << 4 | (size & ((1 << first_bits) - 1)) as u8];
    size >>= first_bits;
    while size > 0 {
        *out.last_mut().unwrap() |= 0x80;
        out.push((size & 0x7F) as u8);
        size >>= 7;
    }
    out
}

/// A delta that copies the whole base of `base` bytes `n` times.
fn repeated(base: u64, n: u64) -> Vec<u8> {
    let mut delta = [varint(7, 0, base), varint(7, 0, base * n)].concat();
    // Copy from the beginning; two bytes of the size follow, of which 0 stands for 65,536 bytes.
    let size = base as u16;
    let copy = [0x80 | 0x10 | 0x20, size.to_le_bytes()[0], size.to_le_bytes()[1]];
    (0..n).for_each(|_| delta.extend(copy));
    delta
}

#[test]
fn a_header_that_lies_about_its_size_costs_nothing() {
    let world = World::new();
    let blob = world.liar("a", &format!("blob {CLAIMED}"));
    let tree = world.liar("b", &format!("tree {CLAIMED}"));
    let commit = world.liar("c", &format!("commit {CLAIMED}"));
    world.commit(&[("liar.rs", &blob)]);

    world.check(&[
        &["read", "--rev", "HEAD", "liar.rs"],
        &["search", "--mode", "exact", "--rev", "HEAD", "parse_header"],
        &["search", "--rev", &tree, "parse header"],
        &["search", "--rev", &commit, "parse header"],
        &["index"],
        &["search", "parse header"],
    ]);
    world
        .repo
        .codeweaver(["read", "--rev", "HEAD", "liar.rs"])
        .is_an_error("at most 33554432 are read", "git show");

    let mut server = limited(&world.repo, world.idle + MAX_KIB);
    server.arg("mcp");
    let mut mcp = McpClient::new(server);
    mcp.handshake();
    for (tool, arguments) in [
        ("read_code", serde_json::json!({ "file": "liar.rs", "rev": "HEAD" })),
        ("find_text", serde_json::json!({ "pattern": "parse_header" })),
        ("changes", serde_json::json!({ "from": "HEAD~1", "to": "HEAD" })),
        ("find_code", serde_json::json!({ "query": "parse header" })),
    ] {
        let answer = mcp.call(tool, arguments);
        assert!(answer.is_object(), "{tool}: {answer:#}");
    }
}

#[test]
fn deltas_that_multiply_their_base_cost_nothing() {
    let world = World::new();
    let base = vec![b'y'; 60_000];
    // 180 MB, and a few bytes of them.
    let large = repeated(60_000, 3000);
    let small = [varint(7, 0, 60_000 * 3000), varint(7, 0, 5), vec![0x80 | 0x10, 5]].concat();

    let mut entries = vec![[varint(4, 3, base.len() as u64), zlib(&base)].concat()];
    for delta in [large, small] {
        // The base of each is the entry before it, at a distance that is written like this.
        let distance = entries.last().unwrap().len() as u64;
        let mut offset = vec![(distance & 0x7F) as u8];
        let mut rest = distance >> 7;
        while rest > 0 {
            rest -= 1;
            offset.insert(0, 0x80 | (rest & 0x7F) as u8);
            rest >>= 7;
        }
        entries.push([varint(4, 6, delta.len() as u64), offset, zlib(&delta)].concat());
    }

    let names = world.pack(&entries);
    let files: Vec<String> = (0..names.len()).map(|n| format!("bomb{n}.txt")).collect();
    let blobs: Vec<(&str, &str)> =
        files.iter().map(String::as_str).zip(names.iter().map(String::as_str)).collect();
    world.commit(&blobs);
    let reads: Vec<[&str; 4]> = files.iter().map(|file| ["read", "--rev", "HEAD", file]).collect();
    let mut commands: Vec<&[&str]> = reads.iter().map(<[&str; 4]>::as_slice).collect();
    commands.push(&["search", "--mode", "exact", "--rev", "HEAD", "yyyyy"]);
    world.check(&commands);
}

/// The answer is written while it is read, so it is never in memory as a whole.
#[test]
fn an_answer_of_200_000_files_is_bounded() {
    const N: usize = 200_000;
    let world = World::new();
    let blob = world.repo.git_text(["rev-parse", "HEAD:src/parse.rs"]);
    let names: Vec<String> = (0..N).map(|n| format!("wide{n:06}.rs")).collect();
    world.commit(&names.iter().map(|name| (name.as_str(), blob.trim())).collect::<Vec<_>>());

    let args = ["search", "--mode", "exact", "--rev", "HEAD", "-o", "json", "parse_header"];
    let run = Run::new(limited(&world.repo, world.idle + MAX_KIB).args(args));
    let found = run.success().stdout();
    let n_files = found.matches("\"path\": \"wide").count();
    assert_eq!(n_files, N);
    assert!(found.contains("\"omitted_lines\": 0") && found.ends_with("}\n"));
}

#[test]
fn long_lines_and_many_lines_are_bounded() {
    const N: usize = 12 << 20;
    let world = World::new();
    world.repo.write("long.txt", "x".repeat(N)).write("many.txt", "x\n".repeat(N / 2));
    world.repo.write("huge.txt", "x".repeat(3 * N));
    world.check(&[
        &["search", "--mode", "exact", "x", "--limit", "3"],
        &["read", "many.txt"],
        &["read", "long.txt"],
    ]);

    world.repo.git(["add", "."]).git(["commit", "-qm", "long"]).git(["rm", "-q", "--cached", "huge.txt"]);
    let commands: [&[&str]; 6] = [
        &["search", "--mode", "exact", "--rev", "HEAD", "x"],
        &["read", "--rev", "HEAD", "long.txt"],
        &["read", "--rev", "HEAD", "many.txt"],
        &["read", "--rev", "HEAD", "huge.txt"],
        &["index"],
        &["search", "--mode", "exact", "x"],
    ];
    world.check(&commands);
    let found =
        world.repo.codeweaver(["search", "--mode", "exact", "--rev", "HEAD", "-o", "json", "x"]).json();
    let many = found["files"].as_array().unwrap().iter().find(|file| file["path"] == "many.txt").unwrap();
    assert_eq!(many["count"], N / 2);
    assert!(found["warnings"].to_string().contains("many.txt can be shown"), "{}", found["warnings"]);
}
