//! The way of other threads to the endpoint's.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_directory::ConnId;
use tokio::sync::Notify;

use crate::line::Line;

/// A task for the endpoint.
#[derive(Debug)]
pub(crate) enum Task {
    /// Answer an offer of this attempt.
    Offer(Arc<Line>, u32, String),
    /// Send the messages that wait for a member.
    Send(Arc<Line>),
    /// Forget a member: its WebSocket is closed.
    Forget(ConnId),
    /// Stop.
    Stop,
}

/// The way to the endpoint's thread. Its queue is bounded: by the signals that members may send, and one task to send
/// and one to forget for each of them.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    tasks: Mutex<Vec<Task>>,
    changed: Notify,
}

impl Reach {
    /// A member offers a connection.
    pub(crate) fn offer(&self, line: Arc<Line>, attempt: u32, description: String) {
        self.put(Task::Offer(line, attempt, description));
    }

    /// Messages wait for a member's channels.
    pub(crate) fn call(&self, line: &Arc<Line>) {
        if line.channels.call() {
            self.put(Task::Send(Arc::clone(line)));
        }
    }

    /// A member's WebSocket is closed.
    pub(crate) fn forget(&self, conn: ConnId) {
        self.put(Task::Forget(conn));
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.put(Task::Stop);
    }

    /// All tasks, in order.
    pub(crate) fn take(&self) -> Vec<Task> {
        std::mem::take(&mut *self.lock())
    }

    /// Ends when there is a task.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    fn put(&self, task: Task) {
        let mut tasks = self.lock();
        let is_first = tasks.is_empty();
        tasks.push(task);
        drop(tasks);
        if is_first {
            self.changed.notify_one();
        }
    }

    /// A list is whole after every statement, so a poisoned lock loses nothing.
    fn lock(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
