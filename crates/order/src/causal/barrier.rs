//! Causal order by barriers, in a mesh (docs/sources.md, "Fujimoto": barriers).
//!
//! Time is divided into rounds. A round's messages are delivered when *all* members have ended the round. So a
//! message can only depend on messages of earlier rounds, and all members have delivered these. Within a round
//! messages are delivered in the order of their senders' ids, so all members deliver in one order, apart from their
//! own messages.
//!
//! A round costs a frame from each member to each other, and a message waits for the slowest member. Without messages
//! there are no rounds.

use samovar_wire::{CloseCode, DecodeError, PeerId};

use crate::group::{Group, Rule, Turn};
use crate::order::{Delivery, Event, Order, SendError, Transmit, View, check_size, order_by_inner};

const MESSAGE: u8 = 0;
const END: u8 = 1;

/// The state of the rounds.
#[derive(Clone, Debug, Default)]
struct Rounds {
    members: Vec<PeerId>,
    me: Option<usize>,
    /// The round whose messages are delivered next.
    round: u64,
    /// By member: how many rounds it is known to have ended.
    ended: Vec<u64>,
    /// By member: how many of its round ends have had their turn.
    passed: Vec<u64>,
    /// By member: whether it is a member in the next epoch, too.
    stays: Vec<bool>,
    /// Whether this peer has sent something since it ended a round.
    has_spoken: bool,
}

impl Rounds {
    /// Whether this peer must end its round: it has sent something in it, or others wait for its end.
    fn is_end_due(&self) -> bool {
        let Some(me) = self.me else { return false };
        let most = self.ended.iter().copied().max().unwrap_or(0);
        // A member ends a round only when the round before is over. That makes it a barrier.
        self.ended[me] == self.round && (self.has_spoken || most > self.ended[me])
    }
}

impl Rule for Rounds {
    fn begin(&mut self, owners: &[PeerId], me: Option<usize>) {
        let none = vec![0; owners.len()];
        let stays = vec![true; owners.len()];
        *self = Self {
            members: owners.to_vec(),
            me,
            ended: none.clone(),
            passed: none,
            stays,
            ..Self::default()
        };
    }

    fn compose(&mut self, payload: &[u8]) -> Vec<u8> {
        self.has_spoken = true;
        [&[MESSAGE], payload].concat()
    }

    fn check(&self, _owner: usize, item: &[u8]) -> Result<(), DecodeError> {
        match *item {
            [MESSAGE, ..] | [END] => Ok(()),
            [] => Err(DecodeError::Truncated),
            _ => Err(DecodeError::Invalid),
        }
    }

    fn note(&mut self, owner: usize, item: &[u8]) {
        if *item == [END] {
            self.ended[owner] += 1;
        }
    }

    fn is_due(&self, owner: usize, _item: &[u8], turn: Turn) -> bool {
        let over = self.ended.iter().copied().min().unwrap_or(0);
        // At the end of an epoch no further round ends arrive. In the round after the last complete one, a member's
        // messages depend on nothing that is lost. In later rounds a lost member may have seen messages that no
        // survivor has. A survivor has not seen such messages, so its messages are due in these rounds, too.
        let is_last = turn.is_ending && (self.round == over || self.stays[owner]);
        (over > self.round || is_last) && self.passed[owner] <= self.round
    }

    fn close(&mut self, owner: usize, stays: bool, rest: &mut dyn Iterator<Item = &[u8]>) {
        self.stays[owner] = stays;
        self.ended[owner] = self.passed[owner] + rest.filter(|item| **item == [END]).count() as u64;
    }

    fn take(&mut self, owner: usize, item: &[u8]) -> Option<Delivery> {
        match item {
            [MESSAGE, payload @ ..] if self.me != Some(owner) => {
                Some(Delivery { from: self.members[owner], payload: payload.to_vec() })
            }
            [END] => {
                self.passed[owner] += 1;
                None
            }
            _ => None,
        }
    }

    fn advance(&mut self, is_ending: bool) -> bool {
        let mut passed = self.passed.iter();
        let round = self.round;
        let is_over = if is_ending { passed.any(|&n| n > round) } else { passed.all(|&n| n > round) };
        self.round += u64::from(is_over && !self.members.is_empty());
        self.round > round
    }
}

/// One member's part in a causal order by barriers. A member is not delivered its own messages.
///
/// Each member calls [`Order::flush`] regularly, once per tick: that ends its round if it said something or others
/// wait for it.
#[derive(Clone, Debug)]
pub struct Barrier(Group<Rounds>);

impl Barrier {
    /// The part of `me`, which waits for its first view.
    #[must_use]
    pub fn new(me: PeerId) -> Self {
        Self(Group::new(me, Rounds::default()))
    }

    fn end_round(&mut self) {
        if !self.0.is_frozen() && self.0.rule.is_end_due() {
            self.0.rule.has_spoken = false;
            self.0.append(vec![END]);
        }
    }
}

order_by_inner!(Barrier, |group, payload| check_size(payload).and_then(|()| group.send(payload)), end_round);
