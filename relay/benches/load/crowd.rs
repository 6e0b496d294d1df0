//! The clients, all in one thread, each with its own tick, as in a game. In a tick a client takes its arrivals, and
//! sends a packet to others of its game. Clients cost little, because an arrival does not wake them up.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use samovar_wire::PeerId;

use crate::client::Client;

/// The time between two ticks of a client while the rate is 0. The ticks keep its channels alive, because the relay
/// would take a silent client's channels for closed.
const IDLE_EVERY: Duration = Duration::from_millis(100);

/// The orders to all clients, and their counts.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    rate: AtomicU32,
    /// The number of other clients to which a client sends in one tick. Over several ticks it sends to all others in
    /// turn.
    burst: usize,
    ends: AtomicBool,
    pub(crate) sent: Count,
    pub(crate) heard: Count,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn add(&self, number: usize) {
        self.0.fetch_add(number as u64, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Orders {
    pub(crate) fn new(burst: usize) -> Self {
        Self { burst, ..Self::default() }
    }

    /// Sets the number of ticks per second of each client. With 0, clients send nothing to others and only keep their
    /// paths alive.
    pub(crate) fn set_rate(&self, rate: u32) {
        self.rate.store(rate, Ordering::Relaxed);
    }

    /// The time between two ticks; `None` at a rate of 0.
    pub(crate) fn period(&self) -> Option<Duration> {
        let rate = self.rate.load(Ordering::Relaxed);
        (rate > 0).then(|| Duration::from_secs(1) / rate)
    }
}

/// One client of the crowd.
pub(crate) struct Player {
    pub(crate) client: Client,
    pub(crate) others: Vec<PeerId>,
    turn: usize,
}

impl Player {
    pub(crate) fn new(client: Client, others: Vec<PeerId>) -> Self {
        Self { client, others, turn: 0 }
    }

    fn tick(&mut self, orders: &Orders, payload: &[u8], buffer: &mut [u8]) {
        orders.heard.add(self.client.take(buffer));
        if orders.period().is_none() {
            return self.client.stay();
        }
        let first = self.turn;
        self.turn += orders.burst;
        let receivers = (first..self.turn).map(|n| self.others[n % self.others.len()]);
        orders.sent.add(self.client.send(receivers, payload));
    }
}

/// The crowd's thread.
pub(crate) struct Crowd {
    orders: Arc<Orders>,
    door: Sender<Player>,
    thread: Option<JoinHandle<()>>,
}

impl Crowd {
    pub(crate) fn new(orders: Arc<Orders>, bytes: usize) -> Self {
        let (door, coming) = channel();
        let own = Arc::clone(&orders);
        let thread = Some(std::thread::spawn(move || run(&own, &coming, bytes)));
        Self { orders, door, thread }
    }

    /// Adds a player.
    pub(crate) fn enter(&self, player: Player) {
        self.door.send(player).expect("the thread runs");
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.orders.ends.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("once").expect("no client panics");
        }
    }
}

fn run(orders: &Orders, coming: &Receiver<Player>, bytes: usize) {
    let start = Instant::now();
    let mut players = Vec::new();
    let mut ticks = BinaryHeap::new();
    let payload = vec![0; bytes];
    let mut buffer = vec![0; 64 * 1_024];
    while !orders.ends.load(Ordering::Relaxed) {
        while let Ok(player) = coming.try_recv() {
            ticks.push(Reverse((Instant::now(), players.len())));
            players.push(player);
        }
        let now = Instant::now();
        match ticks.peek() {
            Some(&Reverse((at, index))) if at <= now => {
                ticks.pop();
                players[index].tick(orders, &payload, &mut buffer);
                let period = orders.period().unwrap_or(IDLE_EVERY);
                ticks.push(Reverse((start + next_tick(now - start, period, index), index)));
            }
            next => {
                let until = next.map_or(IDLE_EVERY, |Reverse((at, _))| *at - now);
                std::thread::sleep(until.min(IDLE_EVERY));
            }
        }
    }
}

/// The time of a client's next tick. Each client has an offset of its own in the period, and a late client skips
/// ticks. Otherwise all clients would in the end tick at the same moment, and load the relay for only a part of the
/// time.
fn next_tick(now: Duration, period: Duration, index: usize) -> Duration {
    // The golden section spreads any number of clients evenly.
    let first = period.mul_f64((index as f64 * 0.618_034).fract());
    let Some(since) = now.checked_sub(first) else { return first };
    first + period * (since.div_duration_f64(period) as u32 + 1)
}
