//! One client: it sends as often as it is told, to the others of its game in turn, and counts what it hears.

use std::pin::pin;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use futures_util::{SinkExt as _, StreamExt as _};
use samovar_wire::relay::{Purpose, RelayFrame};
use samovar_wire::{Mode, PeerId};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use crate::caller::Caller;
use crate::options::PathWord;
use crate::peer::{Peer, code};
use crate::process::RelayProcess;

/// Latencies that are kept: every one of a run of some seconds, and then the newest.
const LATENCIES: usize = 1 << 20;
/// How often somebody says something who is not told to send: the relay takes the silent for gone from their channels.
const IDLE_EVERY: Duration = Duration::from_millis(400);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// What everybody does, and has done.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    rate: AtomicU32,
    pub(crate) tally: Tally,
}

#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) sent: Count,
    pub(crate) heard: Count,
    micros: Mutex<Vec<u32>>,
}

/// Somebody who has joined.
pub(crate) struct Member {
    peer: Peer,
    id: PeerId,
    others: Vec<PeerId>,
}

impl Count {
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Orders {
    /// How many packets a second each sends.
    pub(crate) fn set_rate(&self, rate: u32) {
        self.rate.store(rate, Ordering::Relaxed);
    }

    pub(crate) fn rate(&self) -> u32 {
        self.rate.load(Ordering::Relaxed)
    }
}

impl Tally {
    pub(crate) fn reset(&self) {
        [&self.sent, &self.heard].iter().for_each(|count| count.0.store(0, Ordering::Relaxed));
        self.micros.lock().expect("no panic").clear();
    }

    /// Somebody sends.
    pub(crate) fn send(&self) {
        self.sent.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn hear(&self, payload: &[u8]) {
        let Some((sent, _)) = payload.split_first_chunk() else { return };
        let took = now().saturating_sub(u64::from_le_bytes(*sent)) / 1_000;
        self.heard.0.fetch_add(1, Ordering::Relaxed);
        let mut micros = self.micros.lock().expect("no panic");
        if micros.len() < LATENCIES {
            micros.push(took.try_into().unwrap_or(u32::MAX));
        }
    }

    pub(crate) fn percentiles<const N: usize>(&self, parts: [f64; N]) -> [Duration; N] {
        let mut micros = self.micros.lock().expect("no panic");
        micros.sort_unstable();
        parts.map(|part| {
            let place = (micros.len() as f64 * part) as usize;
            Duration::from_micros(micros.get(place).copied().unwrap_or_default().into())
        })
    }
}

impl Member {
    /// Founds a game, and everybody else joins it.
    pub(crate) async fn found(relay: &RelayProcess, game: usize, members: usize) -> Vec<Self> {
        let name = format!("GAME-{game}");
        let (peer, entered) = Peer::create(relay, &name).await;
        let mut all = vec![(peer, entered.pass.peer)];
        for _ in 1..members {
            let (peer, entered) = Peer::enter(relay, Purpose::Join(code(&name))).await;
            all.push((peer, entered.pass.peer));
        }
        let ids: Vec<_> = all.iter().map(|(_, id)| *id).collect();
        let member = |(peer, id)| {
            let others = ids.iter().copied().filter(|other| *other != id).collect();
            Self { peer, id, others }
        };
        all.into_iter().map(member).collect()
    }

    /// Starts to do as it is told.
    pub(crate) async fn start(mut self, path: PathWord, orders: Arc<Orders>, bytes: usize) -> JoinHandle<()> {
        match path {
            PathWord::WebSocket => tokio::spawn(by_web_socket(self, orders, bytes)),
            PathWord::WebRtc => {
                let caller = Caller::call(&mut self.peer).await;
                tokio::spawn(by_channels(self, caller, orders, bytes))
            }
        }
    }
}

/// When who sends next, and to whom.
struct Turns {
    orders: Arc<Orders>,
    others: Vec<PeerId>,
    at: Instant,
    turn: usize,
    payload: Vec<u8>,
}

impl Turns {
    fn new(orders: Arc<Orders>, member: &Member, bytes: usize) -> Self {
        // Everybody begins somewhere else in the first period, or all would send at once.
        let first = Duration::from_micros(u64::from(member.id.0 % 16_000));
        let at = Instant::now() + first;
        Self {
            orders,
            others: member.others.clone(),
            at,
            turn: member.id.0 as usize,
            payload: vec![0; bytes],
        }
    }

    /// Waits until it is time to send: whom to, if to anybody but oneself.
    async fn next(&mut self) -> Option<PeerId> {
        tokio::time::sleep_until(self.at.into()).await;
        let rate = self.orders.rate();
        if rate == 0 {
            self.at += IDLE_EVERY;
            return None;
        }
        self.at += Duration::from_secs(1) / rate;
        self.turn += 1;
        self.payload[..8].copy_from_slice(&now().to_le_bytes());
        self.orders.tally.send();
        Some(self.others[self.turn % self.others.len()])
    }
}

pub(crate) fn now() -> u64 {
    u64::try_from(START.elapsed().as_nanos()).expect("some centuries")
}

async fn by_web_socket(member: Member, orders: Arc<Orders>, bytes: usize) {
    let mut turns = Turns::new(Arc::clone(&orders), &member, bytes);
    let (mut sink, mut stream) = member.peer.socket.split();
    let send = pin!(async {
        loop {
            let to = turns.next().await;
            let Some(to) = to else { continue };
            let frame = RelayFrame::forward(to, Mode::Unreliable, &turns.payload);
            sink.send(Message::binary(frame)).await.expect("sends");
        }
    });
    let hear = pin!(async {
        while let Some(Ok(message)) = stream.next().await {
            if let Message::Binary(bytes) = message
                && let Ok(RelayFrame::Forward { payload, .. }) = RelayFrame::decode(&bytes)
            {
                orders.tally.hear(payload);
            }
        }
        panic!("the relay closed");
    });
    tokio::select! {
        () = send => {}
        () = hear => {}
    }
}

async fn by_channels(member: Member, mut caller: Caller, orders: Arc<Orders>, bytes: usize) {
    let mut turns = Turns::new(Arc::clone(&orders), &member, bytes);
    let Member { mut peer, id, .. } = member;
    loop {
        tokio::select! {
            (_, _, payload) = caller.next() => orders.tally.hear(&payload),
            to = turns.next() => {
                match to {
                    Some(to) => caller.say(to, Mode::Unreliable, &turns.payload),
                    None => caller.say(id, Mode::Unreliable, &[]),
                };
            }
            // What it hears by its WebSocket counts, too, and its pings are answered.
            message = peer.socket.next() => {
                if let Some(Ok(Message::Binary(bytes))) = message
                    && let Ok(RelayFrame::Forward { payload, .. }) = RelayFrame::decode(&bytes)
                {
                    orders.tally.hear(payload);
                }
            }
        }
    }
}
