//! Listener: connections, their limits, and the shutdown of the server.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::ServeError;

/// Maximum number of open connections; further ones wait in the queue of the operating system.
const MAX_CONNECTIONS: usize = 1024;
/// Time in which a client must send the head of a request, including the next one on a kept-alive connection.
const HEAD_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum size of the head of a request. A query may be long.
const MAX_HEAD_BYTES: usize = 256 * 1024;
/// Time that answers in progress get when the server stops.
const GRACE: Duration = Duration::from_secs(5);
/// Pause after a failed `accept`: if file descriptors have run out, connections have to end first.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listens on an address.
pub async fn bind(host: IpAddr, port: u16) -> Result<TcpListener, ServeError> {
    let address = SocketAddr::from((host, port));
    TcpListener::bind(address).await.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::Running { port },
        _ => ServeError::Listen { address, source },
    })
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
    stopped: impl Future<Output = ()>,
    stopping: impl FnOnce(),
) {
    let graceful = GracefulShutdown::new();
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD_BYTES);
    let mut stopped = std::pin::pin!(stopped);

    loop {
        let accepted = tokio::select! {
            () = &mut stopped => break,
            accepted = accept(&listener, &slots) => accepted,
        };

        let (stream, slot) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(component = "serve", operation = "accept", %error, "a connection was not accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };

        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(component = "serve", operation = "connection", %error, "it has ended");
            }
            drop(slot);
        });
    }

    // New clients are refused at once, while answers in progress still get their time.
    drop(listener);
    stopping();
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
}

/// Accepts a connection once fewer than [`MAX_CONNECTIONS`] are open.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(tokio::net::TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let slot = slots.clone().acquire_owned().await.map_err(io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, slot))
}
