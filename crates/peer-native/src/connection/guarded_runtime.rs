//! Tokio as the `webrtc` crate sees it, with one difference: this runtime notices a panic of the stack's task.
//!
//! The stack drives a connection in a task of its own. When that task panics, the stack's channels stay silent for ever
//! instead of ending. So this runtime catches the panic and tells the connection.

use std::future::Future;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use webrtc::runtime::{AsyncInterval, AsyncTcpListener, AsyncTcpStream, AsyncUdpSocket, JoinHandle, Runtime};

use super::stack::{Signals, report_panic};

type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

#[derive(Debug)]
pub(super) struct GuardedRuntime {
    inner: Arc<dyn Runtime>,
    signals: Arc<Signals>,
}

impl GuardedRuntime {
    pub(super) fn new(inner: Arc<dyn Runtime>, signals: Arc<Signals>) -> Self {
        Self { inner, signals }
    }
}

impl Runtime for GuardedRuntime {
    fn spawn(&self, future: Boxed<'static, ()>) -> Box<dyn JoinHandle> {
        let signals = Arc::clone(&self.signals);
        self.inner.spawn(Box::pin(async move {
            if let Err(panic) = AssertUnwindSafe(future).catch_unwind().await {
                report_panic(panic.as_ref());
                signals.dead.notify_one();
            }
        }))
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> std::io::Result<Arc<dyn AsyncUdpSocket>> {
        self.inner.wrap_udp_socket(socket)
    }

    fn wrap_tcp_listener(&self, listener: TcpListener) -> std::io::Result<Arc<dyn AsyncTcpListener>> {
        self.inner.wrap_tcp_listener(listener)
    }

    fn connect_tcp<'a>(&'a self, remote: SocketAddr) -> Boxed<'a, std::io::Result<Arc<dyn AsyncTcpStream>>> {
        self.inner.connect_tcp(remote)
    }

    fn resolve_host<'a>(&'a self, host: &'a str) -> Boxed<'a, std::io::Result<Vec<SocketAddr>>> {
        self.inner.resolve_host(host)
    }

    fn sleep(&self, duration: Duration) -> Boxed<'static, ()> {
        self.inner.sleep(duration)
    }

    fn interval(&self, period: Duration) -> Box<dyn AsyncInterval> {
        self.inner.interval(period)
    }

    fn block_on(&self, future: Pin<Box<dyn Future<Output = ()> + '_>>) {
        self.inner.block_on(future);
    }

    fn yield_now(&self) -> Boxed<'static, ()> {
        self.inner.yield_now()
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::timeout;
    use webrtc::runtime::default_runtime;

    #[tokio::test]
    async fn a_panic_of_the_stacks_task_signals_the_connection() {
        let signals = Arc::new(Signals::default());
        let runtime = GuardedRuntime::new(default_runtime().unwrap(), Arc::clone(&signals));
        runtime.spawn(Box::pin(async { panic!("as hostile SCTP chunks make it") })).detach();
        timeout(Duration::from_secs(5), signals.dead.notified()).await.unwrap();
    }

    #[tokio::test]
    async fn a_task_that_ends_well_gives_no_signal() {
        let signals = Arc::new(Signals::default());
        let runtime = GuardedRuntime::new(default_runtime().unwrap(), Arc::clone(&signals));
        let task = runtime.spawn(Box::pin(async {}));
        while !task.is_finished() {
            runtime.yield_now().await;
        }
        assert!(timeout(Duration::from_millis(20), signals.dead.notified()).await.is_err());
    }
}
