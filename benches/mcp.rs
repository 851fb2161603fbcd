//! A client session with `git codeweaver mcp`: handshake, warm queries over stdio, idle and peak memory.
//!
//! Run with `cargo bench --bench mcp`; corpora: synthetic ones of about 1 k, 10 k and 100 k chunks, or
//! CODEWEAVER_BENCH_REPO. Ten queries in turn, CODEWEAVER_BENCH_RUNS = 200 of each kind. The client is this
//! process, so times include its parsing of JSON.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use common::{Corpus, QUERIES, Result, Samples, mib, row, setting};

fn main() -> Result<()> {
    let corpora = match std::env::var_os("CODEWEAVER_BENCH_REPO") {
        Some(_) => common::corpora(),
        None => [("synthetic-200", 200), ("synthetic-2k", 2000), ("synthetic-20k", 20_000)]
            .map(|(name, n_files)| Corpus::Synthetic { name, n_files })
            .to_vec(),
    };
    corpora.iter().try_for_each(measure)
}

fn measure(corpus: &Corpus) -> Result<()> {
    let scratch = corpus.make()?;
    let runs = setting("CODEWEAVER_BENCH_RUNS", 200);
    let start = || Session::start(scratch.codeweaver.command(["mcp"]));
    let handshakes = |what: &str| -> Result<()> {
        let mut samples = Samples::default();
        for _ in 0..runs / 10 + 1 {
            let started = Instant::now();
            let session = start()?;
            samples.push(started.elapsed());
            session.end()?;
        }
        row(&scratch.name, what, samples);
        Ok(())
    };
    handshakes("start and handshake, not indexed")?;
    scratch.codeweaver.run(["init", "--no-hooks"])?;
    handshakes("start and handshake, indexed")?;

    let mut session = start()?;
    row(&scratch.name, "memory after the handshake", mib(session.memory("VmRSS:")));
    let first = Instant::now();
    let answer = session.find(QUERIES[0], false)?;
    row(&scratch.name, "first query of a session", format!("{} ms", common::ms(first.elapsed())));
    row(&scratch.name, "chunks", &answer["index"]["chunks"]);
    for (what, locations_only) in [("find_code, warm", false), ("find_code, warm, locations only", true)] {
        let mut next = QUERIES.iter().cycle();
        QUERIES.iter().try_for_each(|query| session.find(query, locations_only).map(drop))?;
        let samples = Samples::new(runs, || session.find(next.next().unwrap_or(&""), locations_only))?;
        row(&scratch.name, what, samples);
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    row(&scratch.name, "memory idle", mib(session.memory("VmRSS:")));
    row(&scratch.name, "of it not mapped files", mib(session.memory("RssAnon:")));
    row(&scratch.name, "peak memory", mib(session.memory("VmHWM:")));
    session.end()
}

/// A server process with a client that waits for every response.
struct Session {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    n_requests: u64,
}

impl Session {
    fn start(mut command: Command) -> Result<Session> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().ok_or("no input")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut session = Session { child, stdin, stdout, n_requests: 0 };
        let client = json!({ "name": "bench", "version": "1" });
        let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        session.request("initialize", &hello)?;
        Ok(session)
    }

    fn find(&mut self, query: &str, locations_only: bool) -> Result<Value> {
        let arguments =
            json!({ "query": query, "max_results": 10, "locations_only": locations_only, "format": "json" });
        let result = self.request("tools/call", &json!({ "name": "find_code", "arguments": arguments }))?;
        let answer = &result["structuredContent"];
        match answer["status"].as_str() {
            Some("ok") => Ok(answer.clone()),
            _ => Err(format!("no answer to {query:?}: {result}").into()),
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.n_requests += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.n_requests, "method": method, "params": params });
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                return Err("the server ended".into());
            }
            let mut answer: Value = serde_json::from_str(&line)?;
            if answer["id"] == self.n_requests {
                return Ok(answer["result"].take());
            }
        }
    }

    /// A field of `/proc/PID/status` in bytes; 0 on systems without it.
    fn memory(&self, name: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
    }

    fn end(self) -> Result<()> {
        let Session { mut child, stdin, stdout, .. } = self;
        drop((stdin, stdout));
        child.wait()?;
        Ok(())
    }
}
