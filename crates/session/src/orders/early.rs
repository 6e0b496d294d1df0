//! Keeps the messages and promises that members send in time-stamp order before this peer knows session time. When
//! the order begins, it gets all of them in the sequence in which they came. So each item counts on the link by which
//! it came, and on no other.

use samovar_order::timestamp::TimeOrder;
use samovar_wire::limits::TIMED_HELD_BYTES_MAX;
use samovar_wire::timed::Promise;
use samovar_wire::{CloseCode, PeerId, Time};

/// An item that came from a member.
#[derive(Debug)]
enum Told {
    /// A message by the reliable lane.
    Message(Vec<u8>),
    /// A new link. Promises that come after it do not count the messages from before.
    Link,
    /// The highest number of messages that a promise counted on the present link. The time of that promise has passed
    /// when the order begins.
    Counted(u64),
}

/// All kept items, bounded for each member.
#[derive(Debug, Default)]
pub(crate) struct Early(Vec<(PeerId, Told)>);

impl Early {
    /// Keeps a message.
    ///
    /// # Errors
    /// `LimitExceeded` when its sender sends more than may wait.
    pub(super) fn on_message(&mut self, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let size = |(by, told): &(PeerId, Told)| match told {
            Told::Message(body) if *by == from => body.len() + 32,
            _ => 0,
        };
        if self.0.iter().map(size).sum::<usize>() + body.len() > TIMED_HELD_BYTES_MAX {
            return Err(CloseCode::LimitExceeded);
        }
        self.0.push((from, Told::Message(body.to_vec())));
        Ok(())
    }

    /// Notes that the link to a member begins anew.
    pub(super) fn on_link(&mut self, peer: PeerId) {
        self.0.retain(|(by, told)| *by != peer || !matches!(told, Told::Counted(_)));
        // Two new links with nothing in between count as one.
        if self.last(peer).is_some_and(|told| !matches!(told, Told::Link)) {
            self.0.push((peer, Told::Link));
        }
    }

    /// Notes a promise of a member.
    pub(super) fn on_promise(&mut self, from: PeerId, promise: Promise) {
        let counted = self.0.iter_mut().find_map(|(by, told)| match told {
            Told::Counted(sent) if *by == from => Some(sent),
            _ => None,
        });
        match counted {
            Some(sent) => *sent = promise.sent.max(*sent),
            None => self.0.push((from, Told::Counted(promise.sent))),
        }
    }

    fn last(&self, peer: PeerId) -> Option<&Told> {
        self.0.iter().rev().find(|(by, _)| *by == peer).map(|(_, told)| told)
    }

    /// Passes all kept items to the order, which has begun. Returns the members that broke its rules, and how.
    pub(super) fn tell(self, now: Time, order: &mut TimeOrder) -> Vec<(PeerId, CloseCode)> {
        let mut broke = Vec::new();
        for (peer, told) in self.0 {
            match told {
                Told::Message(body) => {
                    let result = order.handle_message(now, peer, &body);
                    broke.extend(result.err().map(|code| (peer, code)));
                }
                Told::Link => order.handle_linked(now, peer),
                Told::Counted(sent) => order.handle_promise(now, peer, Promise { until: Time::ZERO, sent }),
            }
        }
        broke
    }
}

#[cfg(test)]
mod tests {
    use samovar_order::timestamp::{Event, TimeOrderConfig};
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    const ME: PeerId = PeerId(1);
    const OTHER: PeerId = PeerId(2);

    fn at(ms: u64) -> Time {
        Time::from_micros(ms * 1_000)
    }

    fn order_of(me: PeerId) -> TimeOrder {
        let mut order = TimeOrder::new(me, TimeOrderConfig::default());
        order.handle_view(at(0), &[ME, OTHER]);
        order
    }

    /// Takes all messages that a member's order has to send.
    fn say(order: &mut TimeOrder) -> Vec<Vec<u8>> {
        core::iter::from_fn(|| order.poll_transmit()).map(|transmit| transmit.bytes).collect()
    }

    #[test]
    fn messages_of_a_former_link_are_delivered_but_not_counted() {
        let (mut early, mut speaker) = (Early::default(), order_of(OTHER));
        for ms in [100, 110] {
            speaker.send(at(ms), at(ms), b"by the first link").unwrap();
        }
        let first = say(&mut speaker);
        first.iter().for_each(|body| early.on_message(OTHER, body).unwrap());
        early.on_promise(OTHER, speaker.promise(at(120), ME).unwrap());
        // The messages of the first link are so old that no member may wait for them any more. So they are not sent
        // again.
        early.on_link(OTHER);
        speaker.handle_linked(at(2_000), ME);
        speaker.send(at(2_000), at(2_000), b"by the next link").unwrap();
        let next = say(&mut speaker);
        assert_eq!((first.len(), next.len()), (3, 2));
        early.on_message(OTHER, &next[0]).unwrap();
        // The promise overtakes a message that was sent before it.
        let promise = speaker.promise(at(2_010), ME).unwrap();
        let mut order = order_of(ME);
        assert_eq!(early.tell(at(2_020), &mut order), []);
        order.handle_promise(at(2_030), OTHER, promise);
        assert_eq!(order.handle_message(at(2_040), OTHER, &next[1]), Ok(()), "it is honest");
        let told = |event| match event {
            Event::Message(delivery) | Event::Late(delivery) => Some(delivery.number),
            Event::PeerLate(_) | Event::PeerOnTime(_) => None,
        };
        let heard: Vec<_> = core::iter::from_fn(|| order.poll_event(at(3_000))).filter_map(told).collect();
        assert_eq!(heard, [1, 2, 3]);
    }

    #[test]
    fn update_uses_the_message_count_of_an_early_promise() {
        let (mut early, mut speaker) = (Early::default(), order_of(OTHER));
        let before = speaker.promise(at(50), ME).unwrap();
        speaker.send(at(100), at(100), b"it is slow").unwrap();
        let messages = say(&mut speaker);
        early.on_message(OTHER, &messages[0]).unwrap();
        early.on_promise(OTHER, speaker.promise(at(110), ME).unwrap());
        let mut order = order_of(ME);
        assert_eq!(early.tell(at(120), &mut order), []);
        // The newer promise overtook the older one. The sender knows that the newer one was heard.
        order.handle_promise(at(130), OTHER, before);
        order.handle_update(at(140), OTHER, at(120));
        assert_eq!(order.handle_message(at(150), OTHER, &messages[1]), Ok(()), "it is honest");
    }

    #[test]
    fn early_messages_of_a_member_are_bounded() {
        let mut early = Early::default();
        let until =
            |early: &mut Early, body: &[u8]| (0..10_000).find(|_| early.on_message(OTHER, body).is_err());
        assert!(until(&mut early, &[7; 4_000]).is_some_and(|count| count <= 16));
        assert_eq!(early.on_message(ME, &[7; 4_000]), Ok(()), "the others' room is their own");
        let kept = early.0.len();
        for sent in 0..100 {
            early.on_promise(OTHER, Promise { until: at(sent), sent });
            early.on_link(OTHER);
            early.on_promise(OTHER, Promise { until: at(sent), sent });
        }
        assert_eq!(early.0.len(), kept + 2);
    }
}
