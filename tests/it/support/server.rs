//! A running `serve` and its responses.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use codeweaver_testkit::{ServerProcess, TestRepo, program};

/// A running server.
pub struct Server {
    pub process: ServerProcess,
    /// With a slash at its end.
    pub url: String,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

impl Server {
    pub fn start(repo: &TestRepo, args: &[&str]) -> Server {
        let mut command = repo.command(program());
        command.args(["serve", "--port", "0"]).args(args);
        Server::new(command)
    }

    pub fn new(command: std::process::Command) -> Server {
        let process = ServerProcess::start(command);
        let line = process.wait_for("Serving http://");
        let url = line.split_whitespace().nth(1).unwrap().to_owned();
        Server { process, url }
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches('/')
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request =
            format!("{method} /{path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            request.push_str(&format!("host: {}\r\n", self.address()));
        }
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        request.push_str(&format!("\r\n{body}"));
        raw(self.address(), request.as_bytes())
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    /// The JSON of a successful answer.
    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:#?}");
        answer.json()
    }
}

/// Sends bytes and reads the response to its end.
pub fn raw(address: &str, request: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(request).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers =
        lines.filter_map(|line| line.split_once(": ")).map(|(k, v)| (k.to_lowercase(), v.to_owned()));
    let headers: Vec<(String, String)> = headers.collect();
    let is_chunked = headers.iter().any(|(key, value)| key == "transfer-encoding" && value == "chunked");
    let body = if is_chunked { unchunked(body) } else { body.to_owned() };
    Answer { status, headers, body }
}

/// The parts of a chunked body in one.
fn unchunked(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    out
}
