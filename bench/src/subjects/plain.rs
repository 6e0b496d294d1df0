//! No library at all: snapshots of plain floats, with each object in every tick. This shows what a link does to raw
//! traffic.

use super::{Replicator, Setup, Subject};
use crate::network::Outbox;
use crate::state::{Key, PLAIN_LEN, State, read_plain, write_plain};

/// The most bytes of a datagram.
const DATAGRAM_MAX: usize = 1_100;
/// Bytes of a datagram's head: the tick, and the number of the first object.
const HEAD_LEN: usize = 6;

/// Plain floats: forty bytes per object.
pub const SUBJECT: Subject = Subject { name: "plain floats", start: |setup| Box::new(Plain::new(setup)) };

struct Plain {
    states: Vec<State>,
    /// For each observer the newest tick of each object, and what it showed.
    shown: Vec<Vec<(u32, Option<Key>)>>,
}

impl Plain {
    fn new(setup: Setup<'_>) -> Self {
        let shown = vec![vec![(0, None); setup.states.len()]; setup.observers];
        Self { states: setup.states.to_vec(), shown }
    }
}

impl Replicator for Plain {
    fn receive_at_owner(&mut self, _observer: usize, _datagram: &[u8]) {}

    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox) {
        self.states[..states.len()].copy_from_slice(states);
        let per_datagram = (DATAGRAM_MAX - HEAD_LEN) / PLAIN_LEN;
        for (index, chunk) in self.states.chunks(per_datagram).enumerate() {
            let mut datagram = Vec::with_capacity(DATAGRAM_MAX);
            datagram.extend_from_slice(&(tick as u32).to_le_bytes());
            datagram.extend_from_slice(&((index * per_datagram) as u16).to_le_bytes());
            chunk.iter().for_each(|state| write_plain(state, &mut datagram));
            for observer in 0..self.shown.len() {
                out.push(observer, &datagram);
            }
        }
    }

    fn tick_observer(&mut self, _tick: u64, observer: usize, arrived: &[Vec<u8>], _out: &mut Outbox) {
        for datagram in arrived {
            let (head, states) = datagram.split_at(HEAD_LEN);
            let tick = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let first = usize::from(u16::from_le_bytes([head[4], head[5]]));
            for (newest, state) in
                self.shown[observer][first..].iter_mut().zip(states.chunks_exact(PLAIN_LEN))
            {
                if tick >= newest.0 {
                    *newest = (tick, read_plain(state));
                }
            }
        }
    }

    fn shown(&self, observer: usize, object: usize) -> Option<Key> {
        self.shown[observer][object].1
    }
}
