//! The state that the host keeps for all: one object that goes with the host. Beside the game's own fields it holds,
//! for each seat, the number of the last ask that changed them. Both change in one update, so a new host knows which
//! asks have had their effect.

use samovar_session::objects::{
    Coding, Field, Replicate, Schema, SchemaBuilder, Schemas, State, StateError, StateReader,
};
use samovar_session::{Access, Orphan};
use samovar_wire::limits::{SEATS_MAX, STATE_MAX};
use samovar_wire::object::Traits;
use samovar_wire::sorted::sort_by_key;
use samovar_wire::{Kind, SeatId};

use crate::game::Agreed;

/// The kind of the object; a game's own kinds begin at 1.
pub(crate) const KIND: Kind = Kind(255);

/// Fields that hold the numbers of the seats' last asks. One ask changes one field, so its update is short.
const GROUPS: usize = 8;
/// How many seats have their numbers in one such field.
const OF_GROUP: usize = SEATS_MAX / GROUPS;
/// Bytes of a seat's entry: 2 for the seat and 7 for the number.
const ENTRY: usize = 9;
/// The greatest number of an ask. The numbers stay below the session's time in microseconds, which takes 53 bits after
/// 285 years.
pub(crate) const NUMBER_MAX: u64 = (1 << 56) - 1;

pub(crate) const TRAITS: Traits = Traits {
    kind: KIND,
    reliable: true,
    orphan: Orphan::ToHost,
    access: Access::Exclusive,
    balanced: false,
    with_host: true,
};

/// The schemas of the game's objects and of the state.
pub(crate) fn schemas<G: Agreed>() -> Schemas {
    G::schemas().with(Hosted::<G::State>::schema()).with_traits(TRAITS)
}

/// The part of the game that may take the most bytes, if these are too many for an object: its name, and the bytes.
pub(crate) fn too_large(schemas: &Schemas) -> Option<(String, usize)> {
    let bytes = |schema: &Schema| {
        let max = |field: &Field| if let Coding::Text { max } = field.coding { max.into() } else { 0 };
        schema.fields().iter().map(max).sum::<usize>()
    };
    let name = |kind: Kind| match kind {
        KIND => "the state".to_owned(),
        Kind(number) => format!("the {number}. type of objects"),
    };
    let sizes = (1..=u8::MAX).filter_map(|kind| Some((Kind(kind), bytes(schemas.of(Kind(kind))?))));
    sizes
        .max_by_key(|&(_, bytes)| bytes)
        .filter(|&(_, bytes)| bytes > STATE_MAX)
        .map(|(kind, bytes)| (name(kind), bytes))
}

/// The number of each seat's last ask that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger([Vec<(SeatId, u64)>; GROUPS]);

impl Ledger {
    /// The number of the last ask of this seat that was carried out; zero if none was.
    pub(crate) fn last(&self, seat: SeatId) -> u64 {
        self.0.iter().flatten().find(|entry| entry.0 == seat).map_or(0, |entry| entry.1)
    }

    /// Notes that an ask was carried out. If all entries are in use, this removes those of seats that are not kept
    /// (`is_kept`).
    pub(crate) fn note(&mut self, seat: SeatId, number: u64, is_kept: impl Fn(SeatId) -> bool) {
        let number = number.min(NUMBER_MAX);
        if let Some(entry) = self.0.iter_mut().flatten().find(|entry| entry.0 == seat) {
            entry.1 = number;
            return;
        }
        if self.0.iter().all(|group| group.len() == OF_GROUP) {
            self.0.iter_mut().for_each(|group| group.retain(|entry| is_kept(entry.0)));
        }
        // There are no more seats than entries, so a group has room.
        if let Some(group) = self.0.iter_mut().find(|group| group.len() < OF_GROUP) {
            group.push((seat, number));
        }
    }

    fn write(&self, state: &mut State) {
        for group in &self.0 {
            let entry = |&(seat, number): &(SeatId, u64)| {
                let [a, b] = seat.0.to_le_bytes();
                let [c, d, e, f, g, h, i, _] = number.to_le_bytes();
                [a, b, c, d, e, f, g, h, i]
            };
            state.text(&group.iter().flat_map(entry).collect::<Vec<_>>());
        }
    }

    fn read(state: &mut StateReader<'_>) -> Result<Self, StateError> {
        let mut ledger = Self::default();
        for group in &mut ledger.0 {
            let text = state.text()?;
            if text.len() > OF_GROUP * ENTRY || !text.len().is_multiple_of(ENTRY) {
                return Err(StateError::Invalid);
            }
            for entry in text.chunks_exact(ENTRY) {
                let (seat, number) = entry.split_at(2);
                let mut bytes = [0; 8];
                bytes[..7].copy_from_slice(number);
                group.push((SeatId(u16::from_le_bytes([seat[0], seat[1]])), u64::from_le_bytes(bytes)));
            }
        }
        let mut seats: Vec<_> = ledger.0.iter().flatten().map(|entry| entry.0).collect();
        sort_by_key(&mut seats, |seat| *seat);
        if seats.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(StateError::Invalid);
        }
        Ok(ledger)
    }
}

/// The game's state and the ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Hosted<T> {
    pub(crate) value: T,
    pub(crate) ledger: Ledger,
}

impl<T: Replicate> Hosted<T> {
    pub(crate) fn schema() -> Schema {
        let mut fields = SchemaBuilder::default();
        T::describe(&mut fields, "state");
        (0..GROUPS).for_each(|_| fields.field("asks", Coding::Text { max: (OF_GROUP * ENTRY) as u8 }));
        fields.build(KIND)
    }

    pub(crate) fn write(&self) -> State {
        let mut state = State::default();
        self.value.write(&mut state);
        self.ledger.write(&mut state);
        state
    }

    pub(crate) fn read(reader: &mut StateReader<'_>) -> Result<Self, StateError> {
        Ok(Self { value: T::read(reader)?, ledger: Ledger::read(reader)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_of_all_seats_survives_its_encoding() {
        let mut hosted = Hosted { value: 7_u32, ledger: Ledger::default() };
        for seat in 0..SEATS_MAX as u16 {
            hosted.ledger.note(SeatId(seat), 1_000_000 + u64::from(seat), |_| true);
        }
        hosted.ledger.note(SeatId(3), NUMBER_MAX, |_| true);
        let state = hosted.write();
        assert_eq!(Hosted::read(&mut state.reader()), Ok(hosted.clone()));
        assert_eq!((hosted.ledger.last(SeatId(3)), hosted.ledger.last(SeatId(47))), (NUMBER_MAX, 1_000_047));
        assert_eq!(state.texts().len(), Hosted::<u32>::schema().texts());
    }

    #[test]
    fn new_seat_takes_the_place_of_one_that_was_given_up() {
        let mut ledger = Ledger::default();
        (0..SEATS_MAX as u16).for_each(|seat| ledger.note(SeatId(seat), 5, |_| true));
        ledger.note(SeatId(900), 6, |seat| seat.0 != 17);
        assert_eq!([900, 17, 16].map(|seat| ledger.last(SeatId(seat))), [6, 0, 5]);
    }

    #[test]
    fn ledger_with_a_seat_twice_is_an_error() {
        let ledger = Ledger([(); GROUPS].map(|()| vec![(SeatId(4), 9)]));
        let mut state = State::default();
        ledger.write(&mut state);
        assert_eq!(Ledger::read(&mut state.reader()), Err(StateError::Invalid));
    }

    #[test]
    fn damaged_ledger_is_an_error() {
        let mut state = State::default();
        for _ in 0..GROUPS {
            state.text(&[0; ENTRY + 1]);
        }
        assert_eq!(Ledger::read(&mut state.reader()), Err(StateError::Invalid));
        assert_eq!(Ledger::read(&mut State::default().reader()), Err(StateError::Missing));
    }
}
