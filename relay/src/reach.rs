//! The queue by which other threads give tasks to the endpoint's thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_directory::ConnId;
use tokio::sync::Notify;

use crate::line::Line;

/// A task for the endpoint.
#[derive(Debug)]
pub(crate) enum Task {
    /// Answer a member's offer, which has this number of an attempt.
    Offer(Arc<Line>, u32, String),
    /// Send the messages that wait for a member.
    Send(Arc<Line>),
    /// Forget a member: its WebSocket is closed.
    Forget(ConnId),
    /// Stop.
    Stop,
}

/// The queue of tasks for the endpoint's thread. Its length is bounded by the signals that members may send, and by
/// one task to send and one to forget for each member.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    tasks: Mutex<Vec<Task>>,
    changed: Notify,
}

impl Reach {
    /// Passes on a member's offer of a connection.
    pub(crate) fn offer(&self, line: Arc<Line>, attempt: u32, description: String) {
        self.put(Task::Offer(line, attempt, description));
    }

    /// Tells the endpoint that messages wait for a member's channels.
    pub(crate) fn call(&self, line: &Arc<Line>) {
        if line.channels.call() {
            self.put(Task::Send(Arc::clone(line)));
        }
    }

    /// Tells the endpoint that a member's WebSocket is closed.
    pub(crate) fn forget(&self, conn: ConnId) {
        self.put(Task::Forget(conn));
    }

    /// Ends the thread.
    pub(crate) fn stop(&self) {
        self.put(Task::Stop);
    }

    /// Takes all tasks, in order.
    pub(crate) fn take(&self) -> Vec<Task> {
        std::mem::take(&mut *self.lock())
    }

    /// Waits until there is a task.
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

    /// Takes the lock, even if it is poisoned: the list is consistent after every statement.
    fn lock(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
