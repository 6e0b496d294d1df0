//! Messages in each order that the rules name (docs/recovery.md, promise 6). When a member sends a message, the
//! checker records which messages precede it. When a message is delivered, the checker tests it against that record.
//! It uses only the definitions of the orders, and none of the data that the implementations keep.

use std::collections::{BTreeMap, BTreeSet};

use samovar_session::{Delivery, Event, Target};
use samovar_wire::{Duration, PeerId, Time};

use crate::game::Turn;
use crate::promise::{Broken, Promise};

/// How often a member sends a message, in an order that the dice choose.
const SAY_EVERY: Duration = Duration::from_millis(150);

/// An order of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Causal,
    Total,
    Timestamp,
}

const ORDERS: [Order; 3] = [Order::Causal, Order::Total, Order::Timestamp];

impl Order {
    const fn of(delivery: Delivery) -> Option<Self> {
        match delivery {
            Delivery::Causal => Some(Self::Causal),
            Delivery::Total | Delivery::Stable => Some(Self::Total),
            Delivery::Timestamp(_) => Some(Self::Timestamp),
            Delivery::Lane(_) => None,
        }
    }
}

/// A number of messages for each sender.
type Clock = BTreeMap<PeerId, u32>;

/// The messages that one member sent, and those that were delivered to it, in one order.
#[derive(Debug, Default)]
struct Diary {
    said: u32,
    /// The last message of each sender that was delivered here. In causal order this includes the member's own.
    clock: Clock,
    /// For each sender, the last message that precedes a message delivered here. Neither that message nor an earlier
    /// one may still be delivered.
    before: Clock,
    /// The position of each message among all that were delivered here.
    places: BTreeMap<(PeerId, u32), u32>,
    /// For each other member, the position at that member of the last message that was delivered at both.
    shared: BTreeMap<PeerId, u32>,
    /// The time stamp and the sender of the last delivered message.
    last: Option<(Time, PeerId)>,
    /// All messages of each sender that were delivered here, and those that were reported as late.
    heard: BTreeMap<PeerId, BTreeSet<u32>>,
    /// For each other member, the first message of this member that must reach the other.
    owes: Clock,
}

/// All orders of a world.
#[derive(Debug, Default)]
pub(super) struct Orders {
    diaries: BTreeMap<(Order, PeerId), Diary>,
    /// For each causal message, the messages that its sender had sent or been delivered before.
    stamps: BTreeMap<(PeerId, u32), Clock>,
    say_at: BTreeMap<PeerId, Time>,
    /// The members that have read the session's state.
    joined: BTreeSet<PeerId>,
    complaint: Option<Broken>,
    /// Pairs of members at which the same messages were delivered in different orders. That is wrong if both are
    /// members in the end.
    quarrels: Vec<(PeerId, PeerId, String)>,
}

impl Orders {
    fn diary(&mut self, order: Order, me: PeerId) -> &mut Diary {
        self.diaries.entry((order, me)).or_default()
    }

    /// Sends a message every 150 ms.
    pub(super) fn tick(&mut self, turn: &mut Turn<'_>) {
        let (me, now) = (turn.session.me(), turn.now);
        let due = self.say_at.entry(me).or_insert(now);
        if *due > now || turn.resting {
            return;
        }
        *due = now + SAY_EVERY;
        let (order, delivery) = match turn.dice.below(8) {
            0..=2 => (Order::Causal, Delivery::Causal),
            3 | 4 => (Order::Total, Delivery::Total),
            5 => (Order::Total, Delivery::Stable),
            _ => (Order::Timestamp, Delivery::Timestamp(turn.session.session_time(now))),
        };
        let number = self.diary(order, me).said + 1;
        if turn.session.send(Target::All, delivery, &number.to_le_bytes()).is_err() {
            return;
        }
        let diary = self.diary(order, me);
        diary.said = number;
        if order == Order::Causal {
            let stamp = diary.clock.clone();
            diary.clock.insert(me, number);
            self.stamps.insert((me, number), stamp);
        }
    }

    pub(super) fn event(&mut self, turn: &Turn<'_>, event: &Event) {
        let me = turn.session.me();
        match event {
            Event::Message { from, delivery, bytes } => {
                let Some(order) = Order::of(*delivery) else { return };
                let time = if let Delivery::Timestamp(time) = delivery { Some(*time) } else { None };
                let number = <[u8; 4]>::try_from(&bytes[..]).map(u32::from_le_bytes).unwrap_or_default();
                if let Err(what) = self.hear(order, me, (*from, number), time) {
                    let what = format!("{order:?} at {me}: {what}");
                    self.complaint.get_or_insert(Broken::new(Promise::Ordered, what));
                }
            }
            Event::Late { from, bytes, .. } => {
                let number = <[u8; 4]>::try_from(&bytes[..]).map(u32::from_le_bytes).unwrap_or_default();
                self.diary(Order::Timestamp, me).heard.entry(*from).or_default().insert(number);
            }
            // Messages from now on must reach the new member, too. Messages under way may be lost with the new
            // member's old link.
            Event::MemberJoined { member, .. } => {
                for order in ORDERS {
                    let diary = self.diary(order, me);
                    diary.owes.insert(member.peer, diary.said + 1);
                }
            }
            Event::Joined => {
                self.joined.insert(me);
            }
            // A newcomer that had a seat and had not read the state yet keeps its id, and may get a seat again later.
            Event::MemberLeft { member, .. } if !self.joined.contains(&member.peer) => {
                for order in ORDERS {
                    self.diary(order, me).owes.remove(&member.peer);
                }
            }
            Event::Behind(delivery) => {
                if let Some(order) = Order::of(*delivery) {
                    self.forgive(order, me);
                }
            }
            _ => {}
        }
    }

    /// Notes that the others went on without a member. Messages to and from that member may be lost.
    fn forgive(&mut self, order: Order, member: PeerId) {
        for ((_, from), diary) in self.diaries.iter_mut().filter(|((of, _), _)| *of == order) {
            let next = diary.said + 1;
            if *from == member {
                diary.owes.values_mut().for_each(|first| *first = next);
                (diary.clock, diary.before) = Default::default();
            } else {
                diary.owes.entry(member).and_modify(|first| *first = next);
            }
        }
    }

    fn hear(
        &mut self,
        order: Order,
        me: PeerId,
        (from, number): (PeerId, u32),
        time: Option<Time>,
    ) -> Result<(), String> {
        let stamp = self.stamps.get(&(from, number)).cloned().unwrap_or_default();
        let others: Vec<_> = self
            .diaries
            .iter()
            .filter(|((of, peer), _)| *of == order && *peer != me)
            .filter_map(|((_, peer), diary)| Some((*peer, *diary.places.get(&(from, number))?)))
            .collect();
        let diary = self.diary(order, me);
        let last = diary.clock.insert(from, number).unwrap_or(0);
        if number <= last {
            return Err(format!("{number} of {from} behind {last}"));
        }
        if diary.before.get(&from).is_some_and(|&before| number <= before) {
            return Err(format!("{number} of {from} behind a message that follows it"));
        }
        if order == Order::Causal {
            for (peer, count) in stamp {
                let before = diary.before.entry(peer).or_default();
                *before = count.max(*before);
            }
        }
        let place = diary.places.len() as u32;
        diary.places.insert((from, number), place);
        diary.heard.entry(from).or_default().insert(number);
        if let Some(time) = time {
            let last = diary.last.replace((time, from));
            if last.is_some_and(|last| (time, from) < last) {
                return Err(format!("{number} of {from} at {time:?} behind {last:?}"));
            }
        }
        if order == Order::Causal {
            return Ok(());
        }
        // Each of `others` was delivered the message, too. At both members it must come after all messages that both
        // were delivered before.
        for (other, there) in others {
            let shared = diary.shared.insert(other, there);
            if let Some(shared) = shared.filter(|shared| *shared > there) {
                let what = format!(
                    "{order:?} at {me}: {number} of {from}, at place {there} of {other}, behind a message at place {shared}"
                );
                self.quarrels.push((me, other, what));
                break;
            }
        }
        Ok(())
    }

    /// Returns the first violation that was found at a delivery.
    pub(super) fn take_complaint(&mut self) -> Result<(), Broken> {
        self.complaint.take().map_or(Ok(()), Err)
    }

    /// Checks that all messages that must reach a member were delivered there.
    pub(super) fn look_settled(&self, members: &[PeerId]) -> Result<(), Broken> {
        // The order is judged only among present members. A member that is gone may have delivered its last messages
        // in another order.
        let are_there =
            |(one, other, _): &&(PeerId, PeerId, String)| members.contains(one) && members.contains(other);
        if let Some((.., what)) = self.quarrels.iter().find(are_there) {
            return Err(Broken::new(Promise::Ordered, what.clone()));
        }
        for ((order, from), diary) in &self.diaries {
            if !members.contains(from) {
                // Time-stamp order is exempt: it waits for no member, and does not deliver a message that is too old.
                if *order != Order::Timestamp {
                    self.look_alike(*order, *from, diary, members)?;
                }
                continue;
            }
            for (to, &first) in diary.owes.iter().filter(|(to, _)| members.contains(to)) {
                let heard = self.diaries.get(&(*order, *to)).and_then(|diary| diary.heard.get(from));
                let is_heard = |number| heard.is_some_and(|heard| heard.contains(&number));
                if let Some(number) = (first..=diary.said).find(|&number| !is_heard(number)) {
                    let what = format!(
                        "{order:?}: {number} of {from} did not reach {to}, as all from {first} on must"
                    );
                    return Err(Broken::new(Promise::Ordered, what));
                }
            }
        }
        Ok(())
    }

    /// PROTOCOL §4.13. If a member is gone, all members that were there must have the same messages from it. A member
    /// that came later must have those that were sent since it came.
    fn look_alike(
        &self,
        order: Order,
        from: PeerId,
        diary: &Diary,
        members: &[PeerId],
    ) -> Result<(), Broken> {
        let told: Vec<_> = diary.owes.iter().filter(|(to, _)| members.contains(to)).collect();
        let heard = |to: PeerId| self.diaries.get(&(order, to)).and_then(|diary| diary.heard.get(&from));
        let is_heard = |to: PeerId, number| heard(to).is_some_and(|heard| heard.contains(&number));
        for &(&one, &first) in &told {
            for number in heard(one).into_iter().flatten().copied().filter(|&number| number >= first) {
                let lacks = |&(&other, &from): &(&PeerId, &u32)| number >= from && !is_heard(other, number);
                if let Some((other, _)) = told.iter().copied().find(lacks) {
                    let what =
                        format!("{order:?}: {number} of {from}, who is gone, reached {one} and not {other}");
                    return Err(Broken::new(Promise::Ordered, what));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Peer 1 sent two messages and is gone. Both were delivered at peer 2, and the first one at peer 3.
    fn told(order: Order) -> Orders {
        let [gone, one, other] = [1, 2, 3].map(PeerId);
        let mut orders = Orders::default();
        let diary = orders.diary(order, gone);
        diary.said = 2;
        diary.owes.extend([(one, 1), (other, 1)]);
        for (me, number) in [(one, 1), (one, 2), (other, 1)] {
            orders.hear(order, me, (gone, number), None).unwrap();
        }
        orders
    }

    #[test]
    fn members_must_have_the_same_messages_of_a_lost_member() {
        let members = [PeerId(2), PeerId(3)];
        for order in [Order::Causal, Order::Total] {
            let broken = told(order).look_settled(&members).unwrap_err();
            assert!(broken.promise == Promise::Ordered && broken.what.contains("who is gone"), "{broken:?}");
            let mut later = told(order);
            later.diary(order, PeerId(1)).owes.insert(PeerId(3), 3);
            assert_eq!(later.look_settled(&members), Ok(()), "it came when both had been said");
        }
        assert_eq!(told(Order::Timestamp).look_settled(&members), Ok(()));
        assert_eq!(told(Order::Total).look_settled(&members[..1]), Ok(()));
    }
}
