//! Sessions in virtual time, in steps of a millisecond. The distance between any two is the same.

use std::collections::BTreeMap;

use samovar_roster::authority::Signatory;
use samovar_session::{Event, Rules, Schemas, Session, SessionConfig};
use samovar_wire::{Duration, Entropy, Mode, PeerId, SessionId, Term, Time};

use crate::rng::Rng;

/// Bytes on their way: the time of arrival, the sender, the receiver, the mode, and the bytes.
type Flying = (Time, PeerId, PeerId, Mode, Vec<u8>);

/// The sessions and the network between them.
pub(super) struct Table {
    now: Time,
    peers: BTreeMap<PeerId, Session>,
    wire: Vec<Flying>,
    way: Duration,
    loss: f64,
    rng: Rng,
    /// Bytes and packets from one member to another.
    pub(super) traffic: BTreeMap<(PeerId, PeerId), (u64, u64)>,
}

impl Table {
    /// A session of this many members, which have yet to join. Bytes take the time `way` from one member to another.
    pub(super) fn new(members: u32, rules: Rules, way: Duration, loss: f64) -> Self {
        let signatory = Signatory::new(&[5; 32]);
        let host = PeerId(1);
        let warrant = signatory.warrant(SessionId(1), Term::FIRST, host);
        let now = Time::from_micros(1_000_000);
        let mut entropy = Entropy::new([9; 32]);
        let mut session = |me| {
            let config = SessionConfig {
                me,
                voucher: None,
                key: signatory.key(),
                warrant,
                params: 1,
                name: String::new(),
                attributes: 0,
                tickets: Vec::new(),
                capacity: 32,
                entropy: entropy.bytes(),
                schemas: Schemas::new(),
                rules,
            };
            (me, Session::new(now, config).expect("the warrant is the witness's"))
        };
        let peers = (1..=members).map(|n| session(PeerId(n))).collect();
        Self { now, peers, wire: Vec::new(), way, loss, rng: Rng::new(3, 1), traffic: BTreeMap::new() }
    }

    /// Runs for `ms` milliseconds. In each of them it calls `play` for each member, with the member's new events.
    pub(super) fn run(&mut self, ms: u64, mut play: impl FnMut(Time, &mut Session, &[Event])) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            let now = self.now;
            for (_, from, to, mode, bytes) in self.wire.extract_if(.., |flying| flying.0 <= now) {
                if let Some(session) = self.peers.get_mut(&to) {
                    session.handle_packet(now, from, mode, &bytes);
                }
            }
            for (&me, session) in &mut self.peers {
                session.handle_timeout(now);
                let events: Vec<_> = std::iter::from_fn(|| session.poll_event()).collect();
                play(now, session, &events);
                while let Some(out) = session.poll_transmit(now) {
                    let (bytes, packets) = self.traffic.entry((me, out.to)).or_default();
                    (*bytes, *packets) = (*bytes + out.bytes.len() as u64, *packets + 1);
                    if out.mode == Mode::Reliable || self.rng.unit() >= self.loss {
                        self.wire.push((now + self.way, me, out.to, out.mode, out.bytes));
                    }
                }
            }
        }
    }
}
