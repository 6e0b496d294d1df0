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

    /// One tick of the owner: it sets the states of the first objects, then sends its datagrams.
    fn tick_owner(&mut self, tick: u64, states: &[State], out: &mut Outbox);

    /// One tick of an observer: it takes the datagrams that have arrived, then sends its acks.
    fn tick_observer(&mut self, tick: u64, observer: usize, arrived: &[Vec<u8>], out: &mut Outbox);

    /// The state of an object that an observer shows; `None` before it knows the object.
    fn shown(&self, observer: usize, object: usize) -> Option<Key>;

    /// A state at the precision that this subject sends it in.
    fn key(&self, state: &State) -> Key {
        Key::of(state)
    }

    /// The number of messages that the owner could not send because its transport was full. It is 0 for a transport
    /// that takes every message.
    fn refused(&self) -> u64 {
        0
    }
}

/// The inputs for the start of a subject's run.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The number of observers.
    pub observers: usize,
    /// The first state of each object.
    pub states: &'a [State],
    /// The seed for the subject's own randomness.
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
    /// Whether the subject is Samovar and not another library.
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

/// The subjects with change detection. Their work should grow with the number of moving objects, not with the number
/// of all objects.
pub const SCALED: &[Subject] = &[samovar::SUBJECT, replicon::SUBJECT];
