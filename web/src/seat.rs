//! The data that take a seat back: the ticket, and the data from which the game is founded anew when all players go at
//! once. The browser keeps them for this tab: see [`tab`].

use samovar_peer_web::tab;
use samovar_session::Kept;
use samovar_wire::{PeerId, PeerPass, SessionId, Signature, Ticket};

/// The version of the layout of the kept data. Data in another layout are ignored.
const VERSION: u8 = 2;
/// Bytes in front of the session: the version, the pass, and the length of the session.
const HEAD: usize = 1 + 8 + 4 + 64 + 2;
/// The most bytes that are read. No session with the state of a game reaches this size.
const KEPT_MAX: usize = 24_000;

/// The data of a game that a tab keeps besides its ticket.
#[derive(Clone, Debug)]
pub struct Table {
    /// The pass, which shows the relay that this tab had a seat in the game.
    pub pass: PeerPass,
    /// The seats.
    pub kept: Kept,
    /// The state of the game, as the game itself writes it.
    pub game: Vec<u8>,
}

impl Table {
    fn to_bytes(&self) -> Vec<u8> {
        let PeerPass { session, peer, signature } = self.pass;
        let kept = self.kept.to_bytes();
        let mut bytes = vec![VERSION];
        bytes.extend(session.0.to_le_bytes());
        bytes.extend(peer.0.to_le_bytes());
        bytes.extend(signature.0);
        bytes.extend((kept.len() as u16).to_le_bytes());
        bytes.extend(kept);
        bytes.extend(&self.game);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let (version, head) = head.split_first()?;
        let (session, head) = head.split_first_chunk()?;
        let (peer, head) = head.split_first_chunk()?;
        let (signature, length) = head.split_first_chunk()?;
        let length = u16::from_le_bytes(length.try_into().ok()?);
        let (kept, game) = rest.split_at_checked(length.into())?;
        if *version != VERSION {
            return None;
        }
        let session = SessionId(u64::from_le_bytes(*session));
        let pass =
            PeerPass { session, peer: PeerId(u32::from_le_bytes(*peer)), signature: Signature(*signature) };
        Some(Self { pass, kept: Kept::from_bytes(kept).ok()?, game: game.to_vec() })
    }
}

/// The ticket for the game with this code, if this tab has sat there.
pub fn read(code: &str) -> Option<Ticket> {
    let bytes = tab::get(&key(code), 24)?;
    Some(Ticket::from_bytes(bytes.as_slice().try_into().ok()?))
}

/// If this tab has no seat in the game with this code, lets it take over the seat of a tab of this browser that is
/// gone.
pub fn inherit(code: &str) {
    tab::inherit(&key(code));
}

/// Remembers the ticket, where the browser allows it.
pub fn write(code: &str, ticket: Ticket) {
    tab::set(&key(code), &ticket.to_bytes());
}

/// The data from which the game is founded anew, if this tab has sat there.
pub fn read_table(code: &str) -> Option<Table> {
    Table::from_bytes(&tab::get(&table_key(code), KEPT_MAX)?)
}

/// Remembers the data from which the game is founded anew, where the browser allows it.
pub fn write_table(code: &str, table: &Table) {
    tab::set(&table_key(code), &table.to_bytes());
}

/// Forgets the data from which the game is founded anew: this tab has left, and the game is over when all have left.
pub fn forget_table(code: &str) {
    tab::remove(&table_key(code));
}

fn key(code: &str) -> String {
    format!("samovar.seat.{code}")
}

fn table_key(code: &str) -> String {
    format!("samovar.table.{code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_table_is_not_read() {
        assert!(Table::from_bytes(&[]).is_none());
        assert!(Table::from_bytes(&[VERSION; HEAD + 100]).is_none());
        for length in 0..2 * HEAD {
            assert!(Table::from_bytes(&vec![0; length]).is_none());
        }
    }
}
