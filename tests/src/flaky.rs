//! A proxy in front of a relay. The proxy fails on purpose, like networks, proxies and servers in the middle of an
//! update.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::relay::Relay;

/// The most bytes of a request's head.
const HEAD_MAX: usize = 16 * 1_024;

/// A request's failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset.
    Reset,
    /// The connection is reset in the middle of the answer.
    Cut,
    /// The answer is this status.
    Status(u16),
}

/// A proxy on a port of the loopback, for as long as the test's runtime lives.
#[derive(Debug)]
pub struct Flaky {
    address: String,
    plan: Arc<Mutex<Plan>>,
}

#[derive(Debug, Default)]
struct Plan {
    /// The failing requests: the end of the path, the fault, and the remaining count.
    faults: Vec<(&'static str, Fault, usize)>,
    until_reload: Vec<(&'static str, Fault)>,
    /// The path of each request.
    asked: Vec<String>,
}

impl Flaky {
    /// Starts a proxy that passes everything on to this relay.
    ///
    /// # Panics
    /// There is no free port.
    pub async fn before(relay: &Relay) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("a port").to_string();
        let plan = Arc::<Mutex<Plan>>::default();
        let (behind, shared) = (relay.address().to_owned(), Arc::clone(&plan));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (behind, plan) = (behind.clone(), Arc::clone(&shared));
                // A browser that goes away is no failure of the test.
                tokio::spawn(async move { drop(pass_on(stream, &behind, &plan).await) });
            }
        });
        Self { address, plan }
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Makes the next `times` requests fail that have a path ending with `end`.
    pub fn fail(&self, end: &'static str, fault: Fault, times: usize) {
        lock(&self.plan).faults.push((end, fault, times));
    }

    /// Makes requests fail that have a path ending with `end`, until the page itself was requested twice.
    pub fn fail_until_reload(&self, end: &'static str, fault: Fault) {
        lock(&self.plan).until_reload.push((end, fault));
    }

    /// Ends all faults.
    pub fn heal(&self) {
        lock(&self.plan).faults.clear();
    }

    /// The number of requests so far for a path that ends with `end`.
    #[must_use]
    pub fn asked(&self, end: &str) -> usize {
        lock(&self.plan).asked.iter().filter(|path| path.ends_with(end)).count()
    }
}

fn lock(plan: &Mutex<Plan>) -> std::sync::MutexGuard<'_, Plan> {
    plan.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Plan {
    fn fault(&mut self, path: &str) -> Option<Fault> {
        self.asked.push(path.to_owned());
        let pages = self.asked.iter().filter(|path| *path == "/").count();
        if let Some((_, fault)) = self.until_reload.iter().find(|(end, _)| pages < 2 && path.ends_with(end)) {
            return Some(*fault);
        }
        let due = |(end, _, times): &&mut (&'static str, Fault, usize)| path.ends_with(*end) && *times > 0;
        let (_, fault, times) = self.faults.iter_mut().find(due)?;
        *times -= 1;
        Some(*fault)
    }
}

/// Passes on one request, and all bytes that follow if it opens a WebSocket.
async fn pass_on(mut browser: TcpStream, behind: &str, plan: &Mutex<Plan>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_MAX {
        head.push(browser.read_u8().await?);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let target = text.split(' ').nth(1).unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default();
    let fault = lock(plan).fault(path);
    if fault == Some(Fault::Reset) {
        return reset(browser);
    }
    if let Some(Fault::Status(status)) = fault {
        let answer =
            format!("HTTP/1.1 {status} On purpose\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        return browser.write_all(answer.as_bytes()).await;
    }
    let mut relay = TcpStream::connect(behind).await?;
    // The relay is to close the connection after its answer, so that each request comes on its own connection.
    relay.write_all(text.replace("Connection: keep-alive", "Connection: close").as_bytes()).await?;
    if fault == Some(Fault::Cut) {
        let mut half = vec![0; 20_000];
        relay.read_exact(&mut half).await?;
        browser.write_all(&half).await?;
        // The browser reads a part of the answer before the reset discards the rest.
        tokio::time::sleep(Duration::from_millis(200)).await;
        return reset(browser);
    }
    copy_bidirectional(&mut browser, &mut relay).await.map(drop)
}

fn reset(stream: TcpStream) -> std::io::Result<()> {
    #[expect(deprecated, reason = "with no time to linger it blocks nobody")]
    stream.set_linger(Some(Duration::ZERO))
}
