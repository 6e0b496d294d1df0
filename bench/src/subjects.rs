//! The libraries that run the workload, each behind the same trait.

pub mod naia;
pub mod over_sctp;
pub mod plain;
pub mod renet;
pub mod replicon;
pub mod samovar;

use crate::network::Outbox;
use crate::state::{Key, State};

/// One owner and its observers, replicated by one library.
pub trait Replicator {
    /// The owner takes a datagram of an observer.
    fn receive_at_owner(&mut self, observer: usize, datagram: &[u8]);

    /// One tick of the owner: it sets the states of the first objects, then sends what there is to send.
    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox);

    /// One tick of an observer: it takes what has arrived, then sends its acks.
    fn tick_observer(&mut self, tick: u64, observer: usize, arrived: &[Vec<u8>], out: &mut Outbox);

    /// What an observer shows of an object.
    fn shown(&self, observer: usize, object: usize) -> Option<Key>;

    /// A state at the precision that this subject sends it in.
    fn key(&self, state: &State) -> Key {
        Key::of(state)
    }

    /// Messages that the owner could not hand to its transport because that was full; 0 where there is no such
    /// thing.
    fn refused(&self) -> u64 {
        0
    }
}

/// What a run of a subject begins with.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// How many observers there are.
    pub observers: usize,
    /// The first state of each object.
    pub states: &'a [State],
    /// For what the subject itself draws at random.
    pub seed: u64,
}

/// A subject of workload W.
#[derive(Clone, Copy)]
pub struct Subject {
    /// The name and version in every table and every line of JSON.
    pub name: &'static str,
    /// Starts a run.
    pub start: fn(Setup<'_>) -> Box<dyn Replicator>,
}

impl Subject {
    /// Whether it is Samovar and no peer.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.name.starts_with("samovar")
    }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The subjects of workload W, in the order of the table.
pub const SUBJECTS: &[Subject] =
    &[samovar::SUBJECT, naia::QUANTISED, naia::EXACT, replicon::SUBJECT, renet::UNRELIABLE, renet::RELIABLE];

/// The subjects whose datagrams travel over an unreliable data channel.
pub const OVER_SCTP: &[Subject] = &[over_sctp::SAMOVAR, over_sctp::RENET, over_sctp::PLAIN];

/// The subjects with change detection, whose work is to grow with what moves and not with what there is.
pub const SCALED: &[Subject] = &[samovar::SUBJECT, replicon::SUBJECT];
