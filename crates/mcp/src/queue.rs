//! Queue: requests that wait for one of a few places, in the order in which they are due.
//!
//! A request is due when it arrives, or later if its client has many connections: each further one defers
//! it. So a client that asks for much at once waits for itself, one with a single connection goes first,
//! and each gets its place in the end. If too many wait, the one that is due last is refused, which may
//! have come first.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use codeweaver_base::sync;
use tokio::sync::oneshot;

/// Time by which each further connection of a client defers its requests, and at most all of them.
const DEFERRAL: Duration = Duration::from_millis(500);
const MAX_DEFERRAL: Duration = Duration::from_secs(30);

/// A few places, and the requests that wait for one.
#[derive(Debug)]
pub struct Queue {
    max_waiting: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    n_free: usize,
    /// Without a free place only.
    waiting: BTreeMap<Due, oneshot::Sender<Place>>,
    n_arrived: u64,
}

/// When a request is due, and its number among those that are due at the same time.
type Due = (Instant, u64);

/// A place, which goes to the next request when this is dropped.
#[derive(Debug)]
pub struct Place {
    queue: Arc<Queue>,
    due: Due,
}

/// More requests are waiting than may, and those of other clients are due earlier.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("more requests are waiting than are answered in reasonable time")]
pub struct Full;

/// The client of a request, as far as the order of requests depends on it.
#[derive(Debug, Clone, Default)]
pub struct Client {
    n_connections: Arc<AtomicUsize>,
}

impl Client {
    /// A client with that number of open connections.
    pub fn new(n_connections: Arc<AtomicUsize>) -> Client {
        Client { n_connections }
    }

    fn deferral(&self) -> Duration {
        let n_further = self.n_connections.load(Relaxed).saturating_sub(1);
        DEFERRAL.saturating_mul(u32::try_from(n_further).unwrap_or(u32::MAX)).min(MAX_DEFERRAL)
    }
}

impl Queue {
    /// A queue for `n_places`, in which at most `max_waiting` requests wait.
    pub fn new(n_places: usize, max_waiting: usize) -> Arc<Queue> {
        let state = State { n_free: n_places, waiting: BTreeMap::new(), n_arrived: 0 };
        Arc::new(Queue { max_waiting, state: Mutex::new(state) })
    }

    /// Waits for a place. Dropping the future ends the wait.
    ///
    /// # Errors
    /// Too many are waiting.
    pub async fn place(self: &Arc<Self>, client: &Client) -> Result<Place, Full> {
        let due = {
            let mut state = sync::lock(&self.state);
            state.n_arrived += 1;
            (Instant::now() + client.deferral(), state.n_arrived)
        };
        self.place_at(due, self.max_waiting).await
    }

    /// Waits for another place for a request that was due at `due` and has begun. No other is refused for it.
    ///
    /// # Errors
    /// Too many came while it waited.
    pub async fn place_again(self: &Arc<Self>, due: Due) -> Result<Place, Full> {
        self.place_at(due, usize::MAX).await
    }

    async fn place_at(self: &Arc<Self>, due: Due, max_waiting: usize) -> Result<Place, Full> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = sync::lock(&self.state);
            if state.n_free > 0 {
                state.n_free -= 1;
                return Ok(Place { queue: self.clone(), due });
            }

            state.waiting.insert(due, sender);
            if state.waiting.len() > max_waiting {
                // Without a sender its receiver gets an error.
                state.waiting.pop_last();
            }
        }

        let _wait = Wait { queue: self, due };
        receiver.await.map_err(|_| Full)
    }

    /// Returns whether a request waits for a place.
    pub fn is_waited_for(&self) -> bool {
        !sync::lock(&self.state).waiting.is_empty()
    }
}

impl Place {
    /// When the request was due, for [`Queue::place_again`].
    pub fn due(&self) -> Due {
        self.due
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = {
            let mut state = sync::lock(&self.queue.state);
            let next = state.waiting.pop_first();
            state.n_free += usize::from(next.is_none());
            next
        };

        if let Some((due, sender)) = next {
            // A request that has gone gives the place back, and its drop passes it on.
            drop(sender.send(Place { queue: self.queue.clone(), due }));
        }
    }
}

/// A request that waits until this is dropped.
struct Wait<'a> {
    queue: &'a Queue,
    due: Due,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        sync::lock(&self.queue.state).waiting.remove(&self.due);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client with `n` connections.
    fn client(n: usize) -> Client {
        Client::new(Arc::new(AtomicUsize::new(n)))
    }

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(test);
    }

    /// Starts a request that notes `name` when it gets its place, or that it was refused.
    async fn wait(queue: &Arc<Queue>, client: Client, name: usize, order: &Arc<Mutex<Vec<String>>>) {
        let (queue, order) = (queue.clone(), order.clone());
        tokio::spawn(async move {
            match queue.place(&client).await {
                Ok(_place) => sync::lock(&order).push(format!("{name}")),
                Err(Full) => sync::lock(&order).push(format!("{name} refused")),
            }
        });
        tokio::task::yield_now().await;
    }

    /// What `n` requests have noted, in this order.
    async fn noted(n: usize, order: &Mutex<Vec<String>>) -> Vec<String> {
        while sync::lock(order).len() < n {
            tokio::task::yield_now().await;
        }
        sync::lock(order).clone()
    }

    #[test]
    fn clients_with_fewer_connections_go_first() {
        run(async {
            let queue = Queue::new(1, 100);
            let order = Arc::default();
            let held = queue.place(&client(1)).await.unwrap();
            for (name, n) in [90, 90, 2, 1, 1].into_iter().enumerate() {
                wait(&queue, client(n), name, &order).await;
            }
            drop(held);
            assert_eq!(noted(5, &order).await, ["3", "4", "2", "0", "1"]);
        });
    }

    #[test]
    fn the_last_that_is_due_is_refused() {
        run(async {
            let queue = Queue::new(1, 2);
            let order = Arc::default();
            let held = queue.place(&client(1)).await.unwrap();
            wait(&queue, client(90), 0, &order).await;
            wait(&queue, client(90), 1, &order).await;
            wait(&queue, client(1), 2, &order).await;
            assert_eq!(noted(1, &order).await, ["1 refused"]);
            wait(&queue, client(90), 3, &order).await;
            assert_eq!(noted(2, &order).await, ["1 refused", "3 refused"]);

            // One that goes on after a pause is not.
            let due = held.due();
            let again = queue.place_again(due);
            drop(held);
            assert!(again.await.is_ok());
            assert_eq!(noted(4, &order).await, ["1 refused", "3 refused", "2", "0"]);
        });
    }

    #[test]
    fn a_request_that_goes_takes_no_place() {
        run(async {
            let queue = Queue::new(1, 1);
            let held = queue.place(&client(1)).await.unwrap();

            for _ in 0..10 {
                let waiting = tokio::spawn({
                    let queue = queue.clone();
                    async move { queue.place(&Client::default()).await.map(drop) }
                });
                tokio::task::yield_now().await;
                assert!(queue.is_waited_for());
                waiting.abort();
                assert!(waiting.await.unwrap_err().is_cancelled());
                assert!(!queue.is_waited_for());
            }
            drop(held);
            assert!(queue.place(&Client::default()).await.is_ok());
        });
    }
}
