//! An HTTP server on this machine with the answers of a test, which records its requests.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::wait_longer_for;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Request line and headers.
    pub head: String,
    pub body: Vec<u8>,
}

impl Request {
    /// Reads a request; `None` if the client disconnects before its end.
    pub fn read(stream: &TcpStream) -> Option<Request> {
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            head.push_str(&line);
        }
        let mut words = head.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Request { method, path, head, body })
    }

    /// Returns the value of the header `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        let of =
            |line: &'_ str| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)).is_some();
        let line = self.head.lines().find(|line| of(line))?;
        line.split_once(':').map(|(_, value)| value.trim())
    }

    /// Returns the body as JSON; null if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A response.
#[derive(Debug, Clone, Default)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Number of bytes of the body after which the connection is closed.
    pub cut: Option<usize>,
    /// Time before the first byte.
    pub delay: Duration,
}

impl Response {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Response {
        Response { status, body: body.into(), ..Response::default() }
    }

    pub fn json(value: &serde_json::Value) -> Response {
        Response::new(200, value.to_string()).with("Content-Type", "application/json")
    }

    pub fn with(mut self, name: &str, value: &str) -> Response {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn cut(self, n: usize) -> Response {
        Response { cut: Some(n), ..self }
    }

    pub fn after(self, delay: Duration) -> Response {
        Response { delay, ..self }
    }
}

/// The server. Runs until the process ends.
pub struct Server {
    /// `http://127.0.0.1:PORT`
    pub url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    /// The number of requests that wait for their answer, now and at most so far.
    at_once: Arc<Mutex<(usize, usize)>>,
}

impl Server {
    /// Starts a server that answers each request by `answer`, which gets its number, counted from 0. Each
    /// request has a thread of its own.
    pub fn start(answer: impl Fn(usize, &Request) -> Response + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (requests, at_once) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new((0, 0))));
        let (seen, running, answer) = (requests.clone(), at_once.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let (seen, running, answer) = (seen.clone(), running.clone(), answer.clone());
                std::thread::spawn(move || {
                    let Some(request) = Request::read(&stream) else { return };
                    let number = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(request.clone());
                        let mut running = running.lock().unwrap();
                        running.0 += 1;
                        running.1 = running.1.max(running.0);
                        seen.len() - 1
                    };
                    let response = answer(number, &request);
                    // The time that the response takes is part of it.
                    std::thread::sleep(response.delay);
                    running.lock().unwrap().0 -= 1;
                    // The client may have disconnected.
                    let _ = write(stream, &request, &response);
                });
            }
        });
        Server { url, requests, at_once }
    }

    /// Returns all requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the largest number of requests that waited for their answer at the same time.
    pub fn most_at_once(&self) -> usize {
        self.at_once.lock().unwrap().1
    }
}

fn write(mut stream: TcpStream, request: &Request, response: &Response) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", response.status);
    for (name, value) in &response.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", response.body.len()));
    stream.write_all(head.as_bytes())?;
    if request.method != "HEAD" {
        let end = response.cut.unwrap_or(usize::MAX).min(response.body.len());
        stream.write_all(&response.body[..end])?;
    }
    stream.flush()
}

/// Time limit of the start of LiteLLM, which computes for half a minute on an idle machine.
const LITELLM_PATIENCE: Duration = Duration::from_secs(600);

/// A LiteLLM proxy on this machine, ended when dropped.
pub struct LiteLlm {
    process: Child,
}

impl LiteLlm {
    /// Starts the program `litellm` with `config` in a file of `folder`, and waits until it accepts
    /// connections at `port`.
    ///
    /// # Panics
    /// If it ends before; the message has its log.
    pub fn start(litellm: &Path, folder: &Path, port: u16, config: &str) -> LiteLlm {
        std::fs::write(folder.join("litellm.yaml"), config).unwrap();
        let log = folder.join("litellm.log");
        let out = File::create(&log).unwrap();

        let process = Command::new(litellm)
            .args(["--config", "litellm.yaml", "--host", "127.0.0.1", "--port", &port.to_string()])
            .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
            // Otherwise it fetches prices before it listens, which takes minutes where the network drops
            // packets.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .current_dir(folder)
            .stdout(out.try_clone().unwrap())
            .stderr(out)
            .spawn()
            .unwrap();
        let mut proxy = LiteLlm { process };

        wait_longer_for(LITELLM_PATIENCE, &format!("LiteLLM listens on port {port}"), || {
            if let Some(status) = proxy.process.try_wait().unwrap() {
                panic!("LiteLLM has ended with {status}: {}", std::fs::read_to_string(&log).unwrap());
            }
            TcpStream::connect(("127.0.0.1", port))
                .map_err(|error| format!("{error}\n{}", std::fs::read_to_string(&log).unwrap_or_default()))
        });
        proxy
    }
}

impl Drop for LiteLlm {
    fn drop(&mut self) {
        // Fails if the process has ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns a port of this machine at which no process listens.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
