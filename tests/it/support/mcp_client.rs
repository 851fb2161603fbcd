//! A minimal MCP client: lines of JSON-RPC over the standard streams of the program.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use codeweaver_testkit::{TestRepo, program, wait_for};

/// Time limit of every wait, generous for a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running server and the client ends of its streams.
pub struct McpClient {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
    /// Received messages that no call has consumed yet.
    waiting: VecDeque<Value>,
}

impl McpClient {
    /// Starts a server in `repo` and performs the handshake.
    pub fn start(repo: &TestRepo) -> McpClient {
        McpClient::start_with(repo, &[])
    }

    /// As [`McpClient::start`], with further options of `mcp`.
    pub fn start_with(repo: &TestRepo, args: &[&str]) -> McpClient {
        let mut client = McpClient::spawn(repo, args);
        client.handshake();
        client
    }

    /// Starts a server without a handshake.
    pub fn spawn(repo: &TestRepo, args: &[&str]) -> McpClient {
        let mut command = repo.command(program());
        command.arg("mcp").args(args);
        McpClient::new(command)
    }

    /// Starts any command that becomes a server.
    pub fn new(mut command: Command) -> McpClient {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if sender.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        McpClient { child, stdin, lines, next_id: 1, waiting: VecDeque::new() }
    }

    pub fn handshake(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let result = self.request("initialize", params)["result"].clone();
        assert_eq!(result["serverInfo"]["name"], "git-codeweaver", "{result:#}");
        self.notify("notifications/initialized", json!({}));
        result
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Writes `line` as it is.
    pub fn send_raw(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).and_then(|()| stdin.flush()).unwrap();
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.send_raw(message.to_string().as_bytes());
    }

    /// Sends a request and returns its id.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.send_raw(message.to_string().as_bytes());
        id
    }

    /// Waits for the response to request `id`. Other messages are kept.
    #[track_caller]
    pub fn response(&mut self, id: u64) -> Value {
        self.wait_for(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for the first message that `is_wanted`.
    #[track_caller]
    pub fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&is_wanted) {
            return self.waiting.remove(at).unwrap();
        }
        let started = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(started.elapsed());
            let line = self.lines.recv_timeout(left).unwrap_or_else(|e| {
                panic!("no such message ({e}); others: {:#?}", self.waiting);
            });
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("not a message: {line:?}: {e}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            if is_wanted(&message) {
                return message;
            }
            self.waiting.push_back(message);
        }
    }

    /// All received messages that no call has consumed.
    pub fn others(&mut self) -> Vec<Value> {
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(50)) {
            self.waiting.push_back(serde_json::from_str(&line).unwrap());
        }
        self.waiting.drain(..).collect()
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        self.response(id)
    }

    /// The result of a tool call with the structured content, unless the arguments choose a form.
    #[track_caller]
    pub fn call(&mut self, tool: &str, mut arguments: Value) -> Value {
        if arguments.get("format").is_none() {
            arguments["format"] = json!("json");
        }
        self.call_plainly(tool, arguments)
    }

    /// The text of a tool call that is no error, as agents get it.
    #[track_caller]
    pub fn text(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call_plainly(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result:#}");
        assert!(result.get("structuredContent").is_none(), "{tool}: {result:#}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The result of a tool call with exactly these arguments.
    #[track_caller]
    pub fn call_plainly(&mut self, tool: &str, arguments: Value) -> Value {
        let response = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert!(response.get("error").is_none(), "{tool}: {response:#}");
        response["result"].clone()
    }

    /// The structured content of a tool call that is no error.
    #[track_caller]
    pub fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result:#}");
        result["structuredContent"].clone()
    }

    /// The message of a call whose arguments cannot be used.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call_plainly(tool, arguments);
        assert_eq!(result["isError"], true, "{tool} was not refused: {result:#}");
        let text = result["content"][0]["text"].as_str().unwrap();
        let message = text.strip_prefix("invalid_arguments: ");
        message.unwrap_or_else(|| panic!("{tool}: {text}")).to_owned()
    }

    /// Paths of the matches of a query.
    #[track_caller]
    pub fn found(&mut self, arguments: Value) -> Vec<String> {
        let answer = self.ask("find_code", arguments);
        let matches = answer["matches"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
        matches.iter().map(|found| found["file"]["path"].as_str().unwrap().to_owned()).collect()
    }

    /// Closes the input, waits for the end of the program and returns its exit code.
    pub fn close(mut self) -> i32 {
        self.stdin = None;
        self.wait()
    }

    /// Waits until the program has ended by itself and returns its exit code.
    #[track_caller]
    pub fn wait(&mut self) -> i32 {
        let ended = wait_for("the server ends", || self.child.try_wait().unwrap().ok_or("it runs"));
        ended.code().unwrap_or(-1)
    }

    /// Resident memory in KiB; 0 where `/proc` is missing.
    pub fn memory_kib(&self) -> u64 {
        let status = std::fs::read_to_string(Path::new("/proc").join(self.id().to_string()).join("status"));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
