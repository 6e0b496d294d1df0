//! Messages of senders whose names are not here yet, or who have gone (PROTOCOL §4.11 rule 6).

use std::collections::VecDeque;

use samovar_wire::{Lane, PeerId};

use super::passing::is_too_much;

/// Messages that are kept; beyond that the oldest are dropped.
const KEPT_MAX: usize = 1_024;

/// A message for this peer: its sender, its lane, its number in that, and its bytes.
type Message = (PeerId, Lane, u64, Vec<u8>);

/// Reliable messages of those who are in no view that this peer has.
#[derive(Debug, Default)]
pub(super) struct Nameless(VecDeque<Message>);

impl Nameless {
    /// Keeps a message. Whether its sender has no more here than may be under way: if it has, it did not leave that behind, and
    /// this peer does not hear of somebody new.
    pub(super) fn keep(&mut self, message: Message) -> bool {
        if self.0.len() == KEPT_MAX {
            self.0.pop_front();
        }
        let from = message.0;
        self.0.push_back(message);
        let own = self.0.iter().filter(|kept| kept.0 == from);
        let (count, bytes) = own.fold((0, 0), |(n, sum), own| (n + 1, sum + own.3.len()));
        !is_too_much(count, bytes)
    }

    /// All that was kept, the oldest first.
    pub(super) fn take(&mut self) -> VecDeque<Message> {
        core::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn keep(nameless: &mut Nameless, from: u32, number: u64, len: usize) -> bool {
        nameless.keep((PeerId(from), Lane::GAME, number, vec![0; len]))
    }

    #[test]
    fn what_those_left_who_have_gone_is_not_held_against_who_comes() {
        let mut nameless = Nameless::default();
        for (from, number) in (1..=8).flat_map(|from| (1..=400).map(move |number| (from, number))) {
            assert!(keep(&mut nameless, from, number, 100), "{from} {number}");
        }
        let kept: Vec<_> = nameless.take().into_iter().map(|message| (message.0.0, message.2)).collect();
        let expected: Vec<_> = (1..=8).flat_map(|from| (1..=400).map(move |n| (from, n))).collect();
        assert_eq!(kept, expected[expected.len() - KEPT_MAX..], "the oldest went");
        assert!(nameless.take().is_empty());
    }

    #[test]
    fn one_sender_has_too_much_when_it_is_more_than_may_be_under_way() {
        let mut many = Nameless::default();
        assert!((1..=512).all(|number| keep(&mut many, 1, number, 1)));
        assert!(!keep(&mut many, 1, 513, 1));
        let mut large = Nameless::default();
        assert!((1..=4).all(|number| keep(&mut large, 1, number, 65_536)));
        assert!(keep(&mut large, 2, 1, 65_536) && !keep(&mut large, 1, 5, 1));
    }
}
