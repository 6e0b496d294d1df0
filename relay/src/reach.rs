//! The queues of tasks for the endpoint's threads.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_directory::ConnId;
use tokio::sync::Notify;

use crate::line::Line;
use crate::processors::ThreadId;

/// The most datagrams that wait for another thread than the one whose socket they came to. Further ones are lost, as in a
/// full socket.
const DATAGRAMS_MAX: usize = 256;

/// A task for one thread of the endpoint.
#[derive(Debug)]
pub(crate) enum Task {
    /// Answer a member's offer, which has this number of an attempt.
    Offer(Arc<Line>, u32, String),
    /// Send the messages that wait for a member.
    Send(Arc<Line>),
    /// Forget a member: its WebSocket is closed.
    Forget(ConnId),
    /// Close a connection of this thread: a newer one of its member takes over, or its member is gone.
    Close(u64),
    /// Handle a datagram for a connection of this thread.
    Datagram(Passed),
    /// Pass on the datagrams that come from an address to another thread.
    Pass(Route),
    /// No longer pass on datagrams from this address to this thread.
    PassNoMore(SocketAddr, ThreadId),
    /// Stop.
    Stop,
}

/// An address whose datagrams another thread wants.
#[derive(Debug)]
pub(crate) struct Route {
    pub(crate) from: SocketAddr,
    pub(crate) thread: ThreadId,
    /// The member that the datagrams count for.
    pub(crate) line: Arc<Line>,
    /// Whether the member has proved that it is at the address.
    pub(crate) is_proven: bool,
}

/// A datagram that came to another thread's socket.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) from: SocketAddr,
    pub(crate) to: Option<IpAddr>,
    pub(crate) bytes: Box<[u8]>,
    /// The thread to whose socket it came.
    pub(crate) by: ThreadId,
}

/// The queues of all threads. The length of a queue is bounded by the signals that members may send, by a task to send
/// and some to close for each member, by the addresses of connections, and by the limit on datagrams.
#[derive(Debug)]
pub(crate) struct Reach {
    queues: Vec<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    tasks: Mutex<Vec<Task>>,
    /// The datagrams that the thread has not handled yet.
    datagrams: AtomicUsize,
    changed: Notify,
}

impl Reach {
    /// Empty queues for this number of threads, at least one.
    pub(crate) fn new(threads: usize) -> Self {
        Self { queues: (0..threads.max(1)).map(|_| Queue::default()).collect() }
    }

    /// Passes on a member's offer of a connection.
    pub(crate) fn offer(&self, line: Arc<Line>, attempt: u32, description: String) {
        self.put(self.home(line.conn), Task::Offer(line, attempt, description));
    }

    /// Tells the endpoint that messages wait for a member's channels.
    pub(crate) fn call(&self, line: &Arc<Line>) {
        if line.channels.call() {
            self.put(line.channels.thread(), Task::Send(Arc::clone(line)));
        }
    }

    /// Tells the endpoint that a member's WebSocket is closed.
    pub(crate) fn forget(&self, conn: ConnId) {
        self.put(self.home(conn), Task::Forget(conn));
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        (0..self.queues.len()).for_each(|thread| self.put(thread, Task::Stop));
    }

    /// Gives a thread a task.
    pub(crate) fn put(&self, thread: ThreadId, task: Task) {
        let queue = &self.queues[thread];
        let mut tasks = queue.lock();
        let is_first = tasks.is_empty();
        tasks.push(task);
        drop(tasks);
        if is_first {
            queue.changed.notify_one();
        }
    }

    /// Gives a thread a datagram. Returns `false` if too many wait.
    pub(crate) fn pass(&self, thread: ThreadId, datagram: impl FnOnce() -> Passed) -> bool {
        let waiting = &self.queues[thread].datagrams;
        let more = |count| (count < DATAGRAMS_MAX).then_some(count + 1);
        let takes = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok();
        if takes {
            self.put(thread, Task::Datagram(datagram()));
        }
        takes
    }

    /// Notes that a thread has handled a datagram that it was given.
    pub(crate) fn handled(&self, thread: ThreadId) {
        self.queues[thread].datagrams.fetch_sub(1, Ordering::Relaxed);
    }

    /// Takes all tasks of a thread, in order.
    pub(crate) fn take(&self, thread: ThreadId) -> Vec<Task> {
        std::mem::take(&mut *self.queues[thread].lock())
    }

    /// Waits until there is a task for a thread.
    pub(crate) async fn changed(&self, thread: ThreadId) {
        self.queues[thread].changed.notified().await;
    }

    /// The thread that answers a member's offers, so that they are answered in their order.
    fn home(&self, conn: ConnId) -> ThreadId {
        conn.0 as usize % self.queues.len()
    }
}

impl Queue {
    /// Takes the lock, even if it is poisoned: the list is consistent after every statement.
    fn lock(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_for_a_busy_thread_are_bounded() {
        let reach = Reach::new(2);
        let from = "192.0.2.1:5000".parse().expect("an address");
        let pass = || reach.pass(1, || Passed { from, to: None, bytes: Box::default(), by: 0 });
        assert_eq!((0..1_000).filter(|_| pass()).count(), DATAGRAMS_MAX);
        assert_eq!((reach.take(0).len(), reach.take(1).len()), (0, DATAGRAMS_MAX));
        assert!(!pass(), "they are taken and not handled yet");
        reach.handled(1);
        assert!(pass() && !pass());
    }
}
