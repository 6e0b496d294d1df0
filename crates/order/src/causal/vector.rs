//! Causal order by vector time stamps, in a mesh (docs/sources.md, "Fujimoto": vector clocks).
//!
//! Process i's clock counts the messages that it has sent and those that it has delivered of each other process. A
//! message carries its sender's clock, as the growth since the sender's last message (all members get a stream in
//! order, so one encoding serves all). Message M of S with the stamp T is delivered at R when
//!
//! 1. `T[S] = C[S] + 1`: M is S's next message, as its place in S's stream shows;
//! 2. `T[j] <= C[j]` for each other j: the messages that S had delivered before it sent M have been delivered here.
//!
//! When nothing is missing both hold on arrival, so this order adds no delay to the network's.

use samovar_wire::{CloseCode, DecodeError, PeerId, Reader, increments};

use crate::group::{Group, Rule, Turn};
use crate::order::{Delivery, Event, Order, SendError, Transmit, View, check_size, order_by_inner};

/// The clocks that the two rules compare.
#[derive(Clone, Debug, Default)]
struct Clocks {
    members: Vec<PeerId>,
    me: Option<usize>,
    /// By member: how many of its messages were delivered here; for this peer, how many it sent.
    clock: Vec<u64>,
    /// By member: the stamp of its last message that was delivered here; for this peer, of the last that it sent.
    stamps: Vec<Vec<u64>>,
}

impl Clocks {
    /// The stamp of an owner's next message, and the payload behind it.
    fn stamp<'a>(&self, owner: usize, item: &'a [u8]) -> Result<(Vec<u64>, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(item);
        let mut stamp = self.stamps[owner].clone();
        let increments = increments::decode(stamp.len() - 1, &mut reader)?;
        let others = stamp.iter_mut().enumerate().filter(|&(member, _)| member != owner);
        for ((_, count), increment) in others.zip(increments) {
            *count = count.saturating_add(increment.into());
        }
        stamp[owner] += 1;
        Ok((stamp, reader.rest()))
    }
}

impl Rule for Clocks {
    fn begin(&mut self, owners: &[PeerId], me: Option<usize>) {
        self.members = owners.to_vec();
        self.me = me;
        self.clock = vec![0; owners.len()];
        self.stamps = vec![vec![0; owners.len()]; owners.len()];
    }

    fn compose(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut item = Vec::with_capacity(payload.len() + 8);
        if let Some(me) = self.me {
            let grown = self.clock.iter().zip(&self.stamps[me]).enumerate();
            let grown = grown.filter(|&(member, _)| member != me).map(|(_, (now, then))| (now - then) as u32);
            increments::encode(&grown.collect::<Vec<_>>(), &mut item);
        }
        item.extend_from_slice(payload);
        item
    }

    fn check(&self, owner: usize, item: &[u8]) -> Result<(), DecodeError> {
        self.stamp(owner, item).map(|_| ())
    }

    fn is_due(&self, owner: usize, item: &[u8], _turn: Turn) -> bool {
        let Ok((stamp, _)) = self.stamp(owner, item) else { return false };
        let pairs = stamp.iter().zip(&self.clock).enumerate();
        pairs.into_iter().all(|(member, (there, here))| member == owner || there <= here)
    }

    fn take(&mut self, owner: usize, item: &[u8]) -> Option<Delivery> {
        let (stamp, payload) = self.stamp(owner, item).ok()?;
        self.stamps[owner] = stamp;
        self.clock[owner] += 1;
        // A member has its own message since it sent it.
        let is_own = self.me == Some(owner);
        (!is_own).then(|| Delivery { from: self.members[owner], payload: payload.to_vec() })
    }

    fn heard_of_mine(&self, owner: usize) -> Option<u64> {
        self.me.map(|me| self.stamps[owner][me])
    }
}

/// One member's part in a causal order by vector time stamps. A member is not delivered its own messages.
///
/// Taking a message costs time in proportion to the number of members. A stamp takes about two bits for each.
#[derive(Clone, Debug)]
pub struct Vector(Group<Clocks>);

impl Vector {
    /// The part of `me`, which waits for its first view.
    #[must_use]
    pub fn new(me: PeerId) -> Self {
        Self(Group::new(me, Clocks::default()))
    }
}

order_by_inner!(Vector, |group, payload| check_size(payload).and_then(|()| group.send(payload)));
