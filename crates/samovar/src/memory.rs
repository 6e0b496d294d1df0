//! The data that take a player's seat back after a reload, or found the game anew when all have gone. They are kept
//! in a file or in the browser's storage. They are secret, since anybody who has them can take the player's seat.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::{Decode, Encode};
use samovar_session::Kept;
use samovar_session::objects::{Replicate, State};
use samovar_wire::sorted::SortedMap;
use samovar_wire::{GameCode, Kind, PeerPass, Ticket};

use crate::hosted::Hosted;

/// The version of the layout of the kept bytes.
const VERSION: u8 = 5;
/// The most bytes that a player's own objects take in a memory; those beyond are left out.
const OWN_MAX: usize = 24 * 1024;
/// The most bytes of a memory. An honest memory is never larger.
pub(crate) const BYTES_MAX: usize = 64 * 1024;

const CONFIG: Configuration<LittleEndian, Fixint, Limit<BYTES_MAX>> =
    bincode::config::standard().with_fixed_int_encoding().with_limit::<BYTES_MAX>();

/// A player's memory of a game.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    /// The ticket that takes the seat back.
    pub(crate) ticket: Option<Ticket>,
    /// The pass that shows to the relay that this player was a member.
    pub(crate) pass: Option<PeerPass>,
    /// The seats, which are restored if this player founds the game anew.
    pub(crate) kept: Option<Kept>,
    /// The state that the host kept for all: its numbers and texts.
    pub(crate) state: Option<Written>,
    /// The objects of which this player has one each, by their kinds.
    pub(crate) own: Vec<(u8, Written)>,
}

/// The numbers and texts of an object.
type Written = (Vec<i32>, Vec<Vec<u8>>);

#[derive(Encode, Decode)]
struct Stored {
    version: u8,
    params: u64,
    code: String,
    ticket: Option<[u8; 24]>,
    pass: Option<PeerPass>,
    kept: Option<Vec<u8>>,
    state: Option<Written>,
    own: Vec<(u8, Written)>,
}

impl Memory {
    /// `params` are those of the game: see [`params`](crate::game::params).
    pub(crate) fn to_bytes(&self, code: &str, params: u64) -> Vec<u8> {
        let stored = Stored {
            version: VERSION,
            params,
            code: code.to_owned(),
            ticket: self.ticket.map(|ticket| ticket.to_bytes()),
            pass: self.pass,
            kept: self.kept.as_ref().map(Kept::to_bytes),
            state: self.state.clone(),
            own: self.own.clone(),
        };
        // A memory that is too large is written as no bytes at all.
        bincode::encode_to_vec(stored, CONFIG).unwrap_or_default()
    }

    /// The memory of the game with this code and these params, or `None` when the bytes are of another game, or of
    /// another version of it.
    ///
    /// # Errors
    /// The bytes are damaged, or of another version of Samovar.
    pub(crate) fn from_bytes(
        bytes: &[u8],
        code: &GameCode,
        params: u64,
    ) -> Result<Option<Self>, &'static str> {
        let (stored, length): (Stored, usize) =
            bincode::decode_from_slice(bytes, CONFIG).map_err(|_| "it is damaged")?;
        if stored.version != VERSION {
            return Err("it is of another version of Samovar");
        }
        if length != bytes.len() {
            return Err("it is damaged");
        }
        if (stored.code.as_str(), stored.params) != (code.as_str(), params) {
            return Ok(None);
        }
        let kept =
            stored.kept.map(|bytes| Kept::from_bytes(&bytes)).transpose().map_err(|_| "it is damaged")?;
        let ticket = stored.ticket.as_ref().map(Ticket::from_bytes);
        Ok(Some(Self { ticket, pass: stored.pass, kept, state: stored.state, own: stored.own }))
    }

    /// The state that the host kept for all; the default if none is known.
    pub(crate) fn hosted<T: Replicate + Default>(&self) -> Hosted<T> {
        let read = |written: &Written| Hosted::read(&mut state_of(written).reader()).ok();
        self.state.as_ref().and_then(read).unwrap_or_default()
    }

    /// The data of a raw game.
    pub(crate) fn raw(&self) -> Option<Vec<u8>> {
        self.state.as_ref()?.1.first().cloned()
    }

    pub(crate) fn keep_raw(&mut self, bytes: Vec<u8>) {
        self.state = Some((Vec::new(), vec![bytes]));
    }

    pub(crate) fn keep_state<T: Replicate>(&mut self, hosted: &Hosted<T>) {
        self.state = Some(written(&hosted.write()));
    }

    /// The objects of which this player has one each.
    pub(crate) fn own(&self) -> SortedMap<Kind, State> {
        self.own.iter().map(|(kind, written)| (Kind(*kind), state_of(written))).collect()
    }

    pub(crate) fn keep_own(&mut self, own: &SortedMap<Kind, State>) {
        let mut bytes = 0;
        let mut fits = |state: &State| {
            bytes += 16 + 4 * state.numbers().len() + state.texts().map(|text| 8 + text.len()).sum::<usize>();
            bytes <= OWN_MAX
        };
        self.own = own
            .iter()
            .filter(|(_, state)| fits(state))
            .map(|(kind, state)| (kind.0, written(state)))
            .collect();
    }
}

fn written(state: &State) -> Written {
    (state.numbers().to_vec(), state.texts().map(<[u8]>::to_vec).collect())
}

fn state_of((numbers, texts): &Written) -> State {
    let mut state = State::default();
    numbers.iter().for_each(|&number| state.number(number));
    texts.iter().for_each(|text| state.text(text));
    state
}

#[cfg(test)]
mod tests {
    use samovar_wire::{PeerId, SessionId, Signature};

    use super::*;

    fn own(size: usize) -> SortedMap<Kind, State> {
        let state = |kind: u8| {
            let mut state = State::default();
            state.number(i32::from(kind));
            (0..size).for_each(|_| state.text(&[kind; 255]));
            state
        };
        [3, 4].map(|kind| (Kind(kind), state(kind))).into_iter().collect()
    }

    #[test]
    fn own_objects_that_do_not_fit_are_left_out() {
        let mut memory = Memory::default();
        memory.keep_own(&own(9));
        assert_eq!(memory.own(), own(9));
        memory.keep_own(&own(60));
        assert_eq!(memory.own().keys().collect::<Vec<_>>(), [&Kind(3)]);
    }

    fn memory() -> Memory {
        let mut memory = Memory {
            ticket: Some(Ticket { session: SessionId(7), secret: [3; 16] }),
            pass: Some(PeerPass {
                session: SessionId(7),
                peer: PeerId(9),
                is_named: true,
                signature: Signature([5; 64]),
            }),
            ..Memory::default()
        };
        let mut hosted = Hosted { value: 41_u32, ..Hosted::default() };
        hosted.ledger.note(samovar_wire::SeatId(2), 99, |_| true);
        memory.keep_state(&hosted);
        memory.keep_own(&own(9));
        memory
    }

    #[test]
    fn memory_survives_its_encoding_and_fits_one_game_only() {
        let bytes = memory().to_bytes("TEA-4", 7);
        let (same, other) = (GameCode::parse("TEA-4").unwrap(), GameCode::parse("TEA-5").unwrap());
        let back = Memory::from_bytes(&bytes, &same, 7).unwrap().unwrap();
        assert_eq!(back, memory());
        assert_eq!(back.hosted::<u32>().ledger.last(samovar_wire::SeatId(2)), 99);
        assert_eq!(Memory::from_bytes(&bytes, &other, 7), Ok(None));
        assert_eq!(Memory::from_bytes(&bytes, &same, 8), Ok(None));
    }

    #[test]
    fn damaged_bytes_are_an_error_and_no_panic() {
        let (bytes, code) = (memory().to_bytes("TEA-4", 7), GameCode::parse("TEA-4").unwrap());
        for length in 0..bytes.len() {
            assert!(Memory::from_bytes(&bytes[..length], &code, 7).is_err(), "{length} bytes");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x55;
            let _ = Memory::from_bytes(&damaged, &code, 7);
        }
        assert!(Memory::from_bytes(&[0xff; 400], &code, 7).is_err());
    }
}
