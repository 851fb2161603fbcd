//! Listener: connections, their limits, and the shutdown of the server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Router};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::ServeError;
use super::connections::{Connection, Connections, Counted};
use super::deadline::{TimedBody, TimedStream};
use super::guard::Peer;

/// Maximum size of the head of a request. A query may be long.
const MAX_HEAD_BYTES: usize = 256 * 1024;
/// Time that answers in progress get when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// Pause after a failed `accept`: if file descriptors have run out, connections have to end first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Number of connections that the operating system holds until they are accepted.
const BACKLOG: u32 = 4096;

/// The limits of connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of open connections; one more ends one that waits for its client.
    pub n_connections: usize,
    /// Time in which a client must send the head of a request, including the next one on a kept-alive
    /// connection.
    pub head: Duration,
    /// Time in which a client must send the body of a request.
    pub body: Duration,
    /// Time in which a client must read a part of an answer.
    pub write: Duration,
}

impl Limits {
    /// Maximum number of connections if there are descriptors enough.
    const MAX_CONNECTIONS: usize = 1024;

    /// The limits for a process that may open `n_descriptors`, half of which are kept for its work.
    pub fn new(n_descriptors: usize) -> Limits {
        Limits {
            n_connections: (n_descriptors / 2).clamp(1, Limits::MAX_CONNECTIONS),
            head: Duration::from_secs(10),
            body: Duration::from_secs(10),
            write: Duration::from_secs(30),
        }
    }
}

/// Listens on an address.
pub async fn bind(host: IpAddr, port: u16) -> Result<TcpListener, ServeError> {
    let address = SocketAddr::from((host, port));
    listen(address).map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::Running { port },
        _ => ServeError::Listen { address, source },
    })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // Elsewhere the option would let another program take the port over.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Starts watching for SIGINT and SIGTERM; the returned future completes with the first of them. Must be
/// called in a runtime.
pub fn stop_signal() -> io::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);

        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// Serves connections until `stopped` completes, then calls `stopping` and waits up to `GRACE` for answers in
/// progress.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    stopped: impl Future<Output = ()>,
    stopping: impl FnOnce(),
) {
    let graceful = GracefulShutdown::new();
    let connections = Connections::new(limits.n_connections);
    let mut stopped = std::pin::pin!(stopped);

    loop {
        let accepted = tokio::select! {
            () = &mut stopped => break,
            accepted = listener.accept() => accepted,
        };

        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(component = "server", operation = "accept", %error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };

        match connections.add(peer.ip()) {
            Some(counted) => {
                let client = counted.connection().client();
                let router = router.clone().layer(Extension(Peer(peer.ip()))).layer(Extension(client));
                open(stream, counted, router, limits, &graceful)
            }
            None => refuse(stream),
        }
        // Those that have ended for others close their descriptors.
        tokio::task::yield_now().await;
    }

    // New clients are refused at once, while answers in progress still get their time.
    drop(listener);
    stopping();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Starts the task of a connection.
fn open(stream: TcpStream, counted: Counted, router: Router, limits: Limits, graceful: &GracefulShutdown) {
    // Without it answers are only slower.
    let _ = stream.set_nodelay(true);

    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(MAX_HEAD_BYTES);

    let connection = counted.connection().clone();
    let stream = TimedStream::new(stream, limits.write, connection.clone());
    let answered = connection.clone();
    let service =
        hyper::service::service_fn(move |request| answer(request, router.clone(), limits, answered.clone()));

    let served = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
    tokio::spawn(async move {
        tokio::select! {
            ended = served => {
                if let Err(error) = ended {
                    tracing::debug!(component = "server", operation = "connection", %error, "it has ended");
                }
            }
            () = connection.ended() => {
                tracing::debug!(component = "server", operation = "connection", "it has ended for another one");
            }
        }
        drop(counted);
    });
}

/// Answers a request, whose body must arrive in time.
async fn answer(
    request: Request<Incoming>,
    router: Router,
    limits: Limits,
    connection: Arc<Connection>,
) -> Result<Response, std::convert::Infallible> {
    let request = request.map(|body| Body::new(TimedBody::new(body, limits.body, connection.clone())));
    let response = TowerToHyperService::new(router).call(request).await?;

    connection.wait();
    if connection.is_late() {
        let close = [(header::CONNECTION, "close")];
        return Ok((StatusCode::REQUEST_TIMEOUT, close, "the body did not arrive in time\n").into_response());
    }
    Ok(response)
}

/// Tells a client that all connections are being worked on, as far as that needs no wait.
fn refuse(stream: TcpStream) {
    let answer = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let _ = stream.try_write(answer);
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use axum::body::Bytes;
    use axum::routing::{get, post};

    use super::*;

    /// Serves a few paths with limits that tests can wait for; `run` gets the address.
    fn served(limits: Limits, run: impl FnOnce(SocketAddr) + Send + 'static) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = bind([127, 0, 0, 1].into(), 0).await.unwrap();
            let address = listener.local_addr().unwrap();
            let router = Router::new()
                .route("/", get(|| async { "here" }))
                .route("/long", get(|| async { "x".repeat(16 << 20) }))
                .route("/", post(|body: Bytes| async move { format!("{} bytes", body.len()) }));
            let asked = tokio::task::spawn_blocking(move || run(address));
            serve(listener, router, limits, async { asked.await.unwrap() }, || ()).await;
        });
    }

    fn small() -> Limits {
        let limit = Duration::from_millis(100);
        Limits { n_connections: 8, head: limit, body: limit, write: limit }
    }

    /// A connection with a time limit for reading, to which `bytes` were sent.
    fn connection(address: SocketAddr, bytes: &[u8]) -> std::net::TcpStream {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(bytes).unwrap();
        stream
    }

    fn answer_on(mut stream: std::net::TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_body_that_does_not_arrive_ends_the_request() {
        served(small(), |address| {
            let unfinished = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nnot";
            assert!(answer_on(connection(address, unfinished)).starts_with("HTTP/1.1 408 "));
            let whole = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\nconnection: close\r\n\r\nnot";
            assert!(answer_on(connection(address, whole)).ends_with("3 bytes"));
        });
    }

    #[test]
    fn a_head_that_does_not_arrive_ends_the_connection() {
        served(small(), |address| {
            for begun in [&b""[..], b"GET / HTTP/1.1\r\nhost:"] {
                let answer = answer_on(connection(address, begun));
                assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
            }
        });
    }

    #[test]
    fn an_answer_that_nobody_reads_ends_the_connection() {
        served(small(), |address| {
            let mut stream = connection(address, b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n");
            std::thread::sleep(Duration::from_millis(500));
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            assert!(bytes.len() < 16 << 20, "{}", bytes.len());
        });
    }

    #[test]
    fn silent_clients_do_not_keep_others_out() {
        let patient = Duration::from_secs(600);
        let limits = Limits { n_connections: 8, head: patient, body: patient, write: patient };
        served(limits, |address| {
            let mut silent = Vec::new();
            for _ in 0..3 {
                for begun in [
                    &b""[..],
                    b"GET / HTTP/1.1\r\nhost:",
                    b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nnot",
                    b"GET /long HTTP/1.1\r\nhost: x\r\n\r\n",
                ] {
                    silent.extend((0..4).map(|_| connection(address, begun)));
                    let request = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
                    assert!(answer_on(connection(address, request)).ends_with("here"));
                }
            }
        });
    }
}
