//! The inputs that a peer holds for the session, by seat and number, and which of them the host's game has not seen
//! yet.

use std::collections::VecDeque;

use samovar_wire::limits::{INPUTS_BYTES_PER_SEAT_MAX, INPUTS_PER_SEAT_MAX};
use samovar_wire::{SeatId, SortedMap, Time};

/// The error for a seat that would have more inputs here than any honest member can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

#[derive(Clone, Debug)]
struct Kept {
    bytes: Vec<u8>,
    until: Time,
    /// Whether the game still has to see this input.
    is_due: bool,
}

/// The inputs of one seat.
#[derive(Clone, Debug, Default)]
struct Shelf {
    inputs: SortedMap<u64, Kept>,
    bytes: usize,
    /// The number of the last input that the host's game was given in this reign, or gets when it polls.
    given: u64,
}

/// The inputs of all seats.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    shelves: SortedMap<SeatId, Shelf>,
    due: VecDeque<(SeatId, u64)>,
}

impl Store {
    /// Keeps an input. If it is there already, the later `until` counts.
    ///
    /// # Errors
    /// [`Full`] when its seat has no room.
    pub(super) fn keep(
        &mut self,
        (seat, number): (SeatId, u64),
        bytes: &[u8],
        until: Time,
    ) -> Result<(), Full> {
        let shelf = self.shelves.entry(seat).or_default();
        if let Some(kept) = shelf.inputs.get_mut(&number) {
            kept.until = kept.until.max(until);
            return Ok(());
        }
        if shelf.inputs.len() >= INPUTS_PER_SEAT_MAX || shelf.bytes + bytes.len() > INPUTS_BYTES_PER_SEAT_MAX
        {
            return Err(Full);
        }
        shelf.bytes += bytes.len();
        shelf.inputs.insert(number, Kept { bytes: bytes.to_vec(), until, is_due: false });
        Ok(())
    }

    /// An input, and until when it is kept.
    pub(super) fn get(&self, (seat, number): (SeatId, u64)) -> Option<(&[u8], Time)> {
        let kept = self.shelves.get(&seat)?.inputs.get(&number)?;
        Some((&kept.bytes, kept.until))
    }

    /// The seats and numbers of all inputs.
    pub(super) fn keys(&self) -> impl Iterator<Item = (SeatId, u64)> {
        self.shelves.iter().flat_map(|(&seat, shelf)| shelf.inputs.keys().map(move |&number| (seat, number)))
    }

    /// Begins a reign, of this peer or another. The game of the new host has seen none of these inputs.
    pub(super) fn begin_reign(&mut self) {
        self.due.clear();
        for shelf in self.shelves.values_mut() {
            shelf.given = 0;
            shelf.inputs.values_mut().for_each(|kept| kept.is_due = false);
        }
    }

    /// Makes inputs due for the game: in each seat, those after the last one that the game was given. An input that
    /// comes late, with a lower number, never becomes due, since the game has gone on.
    pub(super) fn give(&mut self) {
        for (&seat, shelf) in self.shelves.iter_mut() {
            let Some(&last) = shelf.inputs.keys().next_back().filter(|&&last| last > shelf.given) else {
                continue;
            };
            let given = shelf.given;
            for (&number, kept) in shelf.inputs.iter_mut().filter(|(number, _)| **number > given) {
                kept.is_due = true;
                self.due.push_back((seat, number));
            }
            shelf.given = last;
        }
    }

    /// The next input for the game.
    pub(super) fn poll_due(&mut self) -> Option<(SeatId, u64, Vec<u8>)> {
        let (seat, number) = self.due.pop_front()?;
        let kept = self.shelves.get_mut(&seat)?.inputs.get_mut(&number)?;
        kept.is_due = false;
        Some((seat, number, kept.bytes.clone()))
    }

    /// Drops inputs that were kept for long enough, and empty shelves of seats that are gone. A host keeps the inputs
    /// that its game has not seen yet, since a suspended host gives its game none.
    pub(super) fn expire(&mut self, now: Time, is_host: bool, is_seat: impl Fn(SeatId) -> bool) {
        self.shelves.retain(|&seat, shelf| {
            let bytes = &mut shelf.bytes;
            let given = if is_host { shelf.given } else { u64::MAX };
            shelf.inputs.retain(|&number, kept| {
                let stays = kept.is_due || number > given || kept.until > now;
                if !stays {
                    *bytes -= kept.bytes.len();
                }
                stays
            });
            is_seat(seat) || !shelf.inputs.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::Duration;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const SEAT: SeatId = SeatId(3);
    const SOON: Time = Time::from_micros(1_000);

    fn drain(store: &mut Store) -> Vec<u64> {
        core::iter::from_fn(|| store.poll_due()).map(|(_, number, _)| number).collect()
    }

    #[test]
    fn game_sees_each_input_of_a_seat_once_per_reign_in_order() {
        let mut store = Store::default();
        for number in [7, 4, 5, 7] {
            store.keep((SEAT, number), b"x", SOON).unwrap();
        }
        store.give();
        store.keep((SEAT, 6), b"late", SOON).unwrap();
        store.keep((SEAT, 9), b"x", SOON).unwrap();
        store.give();
        store.give();
        assert_eq!(drain(&mut store), [4, 5, 7, 9]);
        store.begin_reign();
        store.give();
        assert_eq!(drain(&mut store), [4, 5, 6, 7, 9]);
    }

    #[test]
    fn inputs_that_the_game_has_not_seen_are_not_dropped() {
        let mut store = Store::default();
        store.keep((SEAT, 1), b"x", SOON).unwrap();
        store.expire(SOON + Duration::from_millis(1), true, |_| false);
        store.give();
        store.expire(SOON + Duration::from_millis(1), false, |_| false);
        assert_eq!(drain(&mut store), [1]);
        store.expire(SOON, false, |_| true);
        assert!(store.get((SEAT, 1)).is_none());
        store.keep((SEAT, 1), b"x", SOON).unwrap();
        store.give();
        assert_eq!(drain(&mut store), [0; 0], "the game has seen it");
    }

    #[test]
    fn inputs_and_bytes_of_a_seat_are_limited() {
        let mut store = Store::default();
        for number in 1..=INPUTS_PER_SEAT_MAX as u64 {
            store.keep((SEAT, number), b"x", SOON).unwrap();
        }
        assert_eq!(store.keep((SEAT, 5_000), b"x", SOON), Err(Full));
        store.keep((SEAT, 5), b"x", SOON).unwrap();
        let other = SeatId(4);
        for number in 1..=64 {
            store.keep((other, number), &[0; 1_024], SOON).unwrap();
        }
        assert_eq!(store.keep((other, 65), b"x", SOON), Err(Full));
        store.expire(SOON, false, |_| true);
        store.keep((other, 65), b"x", SOON).unwrap();
    }
}
