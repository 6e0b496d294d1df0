//! Measures the time that a forwarder adds to a packet, under any load. Two clients run in a thread of their own. One
//! sends the other a packet through the forwarder, then one without it, and so on. So the machine's own delays are in
//! both figures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samovar_wire::relay::{Purpose, RelayFrame};
use samovar_wire::{Mode, PeerId};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};

use crate::caller::Caller;
use crate::options::PathWord;
use crate::peer::{Heard, Peer, code};
use crate::process::RelayProcess;

/// The time between two packets.
const EVERY: Duration = Duration::from_millis(2);
/// A packet that takes longer counts as lost, and enters no figure.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// Two clients, and their path to each other.
pub(crate) enum Pair {
    WebSocket {
        from: Peer,
        to: Peer,
        receiver: PeerId,
    },
    Channels {
        from: Box<Caller>,
        to: Box<Caller>,
        receiver: PeerId,
        beside: [Peer; 2],
    },
    /// From a client of TURN, by its channel, to its peer.
    Turn {
        client: UdpSocket,
        peer: UdpSocket,
    },
}

/// The same pair's sockets without a forwarder.
enum Direct {
    Tcp(TcpStream, TcpStream),
    Udp(UdpSocket, UdpSocket),
}

/// The times of packets, in microseconds.
#[derive(Debug, Default)]
struct Times {
    by_it: Vec<u32>,
    without: Vec<u32>,
}

/// The 50th and the 99th percentile in microseconds, through the forwarder and without it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Latency {
    pub(crate) by_it: [u32; 2],
    pub(crate) without: [u32; 2],
}

pub(crate) struct Probe {
    times: Arc<Mutex<Times>>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Pair {
    /// Two members of a game of their own.
    pub(crate) async fn at(relay: &RelayProcess, path: PathWord, name: &str) -> Self {
        let (mut from, _) = Peer::create(relay, name).await;
        let (mut to, entered) = Peer::enter(relay, Purpose::Join(code(name))).await;
        let receiver = entered.pass.peer;
        match path {
            PathWord::WebSocket => Self::WebSocket { from, to, receiver },
            PathWord::WebRtc => {
                let callers = (Caller::call(&mut from).await, Caller::call(&mut to).await);
                let (first, second) = (Box::new(callers.0), Box::new(callers.1));
                Self::Channels { from: first, to: second, receiver, beside: [from, to] }
            }
        }
    }

    /// Sends one packet, and waits for it.
    async fn send(&mut self, payload: &[u8]) {
        match self {
            Self::WebSocket { from, to, receiver } => {
                from.send(RelayFrame::forward(*receiver, Mode::Unreliable, payload)).await;
                while !is(&to.hear().await, payload) {}
            }
            Self::Channels { from, to, receiver, beside } => {
                // The receiver speaks on its channels first. Otherwise the relay would send to it by the WebSocket.
                to.say(*receiver, Mode::Unreliable, &[]);
                from.say(*receiver, Mode::Unreliable, payload);
                loop {
                    let [first, second] = beside.each_mut();
                    tokio::select! {
                        (_, _, heard) = to.next() => if heard == payload { return },
                        () = from.step() => {}
                        // Hearing a WebSocket also answers its pings.
                        _ = first.hear() => {}
                        // The first packet can come by the WebSocket, if the relay has not heard the receiver on its
                        // channels yet.
                        heard = second.hear() => if is(&heard, payload) { return },
                    }
                }
            }
            Self::Turn { client, peer } => {
                let frame = [&[0x40, 0, 0, payload.len() as u8], payload].concat();
                client.send(&frame).await.expect("sends");
                hear(peer, payload).await;
            }
        }
    }
}

fn is(heard: &Heard, sent: &[u8]) -> bool {
    matches!(heard, Heard::Packet { payload, .. } if payload == sent)
}

impl Direct {
    async fn beside(pair: &Pair) -> Self {
        if let Pair::WebSocket { .. } = pair {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            let from = TcpStream::connect(listener.local_addr().expect("bound")).await.expect("connects");
            let (to, _) = listener.accept().await.expect("it does");
            from.set_nodelay(true).expect("a socket");
            return Self::Tcp(from, to);
        }
        let [from, to] = [UdpSocket::bind("127.0.0.1:0").await, UdpSocket::bind("127.0.0.1:0").await]
            .map(|socket| socket.expect("a port"));
        from.connect(to.local_addr().expect("bound")).await.expect("an address");
        Self::Udp(from, to)
    }

    async fn send(&mut self, payload: &[u8]) {
        match self {
            Self::Tcp(from, to) => {
                from.write_all(payload).await.expect("sends");
                to.read_exact(&mut vec![0; payload.len()]).await.expect("hears");
            }
            Self::Udp(from, to) => {
                from.send(payload).await.expect("sends");
                hear(to, payload).await;
            }
        }
    }
}

/// Waits for this datagram, and ignores earlier ones.
async fn hear(socket: &UdpSocket, payload: &[u8]) {
    let mut buffer = [0; 2_048];
    while !matches!(socket.recv(&mut buffer).await, Ok(length) if buffer[..length].ends_with(payload)) {}
}

impl Probe {
    /// Starts the probe; `pair` is made in its thread.
    pub(crate) fn start<F: Future<Output = Pair>>(pair: impl FnOnce() -> F + Send + 'static) -> Self {
        let (times, ends) = (Arc::<Mutex<Times>>::default(), Arc::<AtomicBool>::default());
        let (own_times, own_ends) = (Arc::clone(&times), Arc::clone(&ends));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let thread = std::thread::spawn(move || {
            runtime.block_on(async move { run(pair().await, &own_times, &own_ends).await });
        });
        Self { times, ends, thread: Some(thread) }
    }

    /// Forgets the measured times.
    pub(crate) fn reset(&self) {
        *self.times.lock().expect("no panic") = Times::default();
    }

    /// Takes the times measured since the last call or reset.
    pub(crate) fn latency(&self) -> Latency {
        let times = std::mem::take(&mut *self.times.lock().expect("no panic"));
        Latency { by_it: percentiles(times.by_it), without: percentiles(times.without) }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("once").expect("no probe panics");
        }
    }
}

async fn run(mut pair: Pair, times: &Mutex<Times>, ends: &AtomicBool) {
    let mut direct = Direct::beside(&pair).await;
    let mut payload = [7; 120];
    for number in 0_u64.. {
        if ends.load(Ordering::Relaxed) {
            return;
        }
        payload[..8].copy_from_slice(&number.to_le_bytes());
        sleep(EVERY).await;
        let by_it = timed(pair.send(&payload)).await;
        sleep(EVERY).await;
        let without = timed(direct.send(&payload)).await;
        let mut times = times.lock().expect("no panic");
        times.by_it.extend(by_it);
        times.without.extend(without);
    }
}

async fn timed(sent: impl Future<Output = ()>) -> Option<u32> {
    let start = Instant::now();
    timeout(LOST_AFTER, sent).await.ok()?;
    start.elapsed().as_micros().try_into().ok()
}

fn percentiles(mut micros: Vec<u32>) -> [u32; 2] {
    micros.sort_unstable();
    [0.50, 0.99].map(|part| micros.get((micros.len() as f64 * part) as usize).copied().unwrap_or_default())
}

impl Latency {
    /// The time that the forwarder adds, at each percentile.
    pub(crate) fn added(&self) -> [u32; 2] {
        [0, 1].map(|place| self.by_it[place].saturating_sub(self.without[place]))
    }
}
