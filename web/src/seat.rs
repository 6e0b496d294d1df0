//! What takes a seat back: which seat a tab has, kept per tab so that a reload finds it and another tab does not steal it; that
//! seat's newest ticket, which all tabs know, so that a player goes from one to the other; and, in case all players go at once,
//! what the game is founded anew from.

use samovar_session::Kept;
use samovar_wire::{PeerId, PeerPass, SeatId, SessionId, Signature, Ticket};
use web_sys::Storage;

/// The layout of what is kept: another one is as good as nothing.
const VERSION: u8 = 2;
/// Bytes in front of the session: the version, the pass, and how long the session is.
const HEAD: usize = 1 + 8 + 4 + 64 + 2;
/// More than a session and the state of a game can have.
const KEPT_MAX: usize = 24_000;

/// What a tab keeps of a game besides its ticket.
#[derive(Clone, Debug)]
pub struct Table {
    /// Shows to the relay that this tab sat there.
    pub pass: PeerPass,
    /// The seats.
    pub kept: Kept,
    /// How the game stood, as the game itself writes it.
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

/// Where a tab sits in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// The session.
    pub session: SessionId,
    /// The seat in it.
    pub seat: SeatId,
}

/// The ticket for the game with this code, if this tab has sat there: the newest one of its seat, whichever tab of this browser
/// was given it.
pub fn read(code: &str) -> Option<Ticket> {
    let bytes = get(&key(code), 26)?;
    let (ticket, seat) = bytes.split_first_chunk()?;
    let newest = seat.split_first_chunk().and_then(|(session, seat)| {
        let session = SessionId(u64::from_le_bytes(*session));
        let seat = SeatId(u16::from_le_bytes(seat.try_into().ok()?));
        newest(Seat { session, seat })
    });
    Some(newest.unwrap_or(Ticket(*ticket)))
}

/// Remembers the ticket of this tab's seat, where the browser allows it.
pub fn write(code: &str, seat: Seat, ticket: Ticket) {
    let Seat { session, seat: SeatId(number) } = seat;
    set(&key(code), &[&ticket.0[..], &session.0.to_le_bytes(), &number.to_le_bytes()].concat());
    let newest = line(seat, ticket);
    let others = tickets();
    let others = others.lines().filter(|line| line.get(..NAME) != newest.get(..NAME));
    let lines: Vec<_> = [&*newest].into_iter().chain(others).take(TICKETS_MAX).collect();
    if let Some(storage) = shared() {
        // Where it is full or forbidden, a duplicated tab does not get its seat back.
        let _ = storage.set_item(TICKETS, &lines.join("\n"));
    }
}

/// What all tabs of a browser know: of the seats that they took last the newest tickets, one a line.
const TICKETS: &str = "samovar.tickets";
/// Seats of which the tickets are known to all tabs.
const TICKETS_MAX: usize = 8;
/// Letters of a line that name the seat.
const NAME: usize = 20;

fn line(Seat { session, seat }: Seat, ticket: Ticket) -> String {
    format!("{:016x}{:04x}{}", session.0, seat.0, hex(&ticket.0))
}

fn newest(seat: Seat) -> Option<Ticket> {
    let any = line(seat, Ticket([0; 16]));
    let lines = tickets();
    let found = lines.lines().find_map(|line| line.strip_prefix(any.get(..NAME)?))?;
    Some(Ticket(unhex(found)?.try_into().ok()?))
}

fn tickets() -> String {
    shared().and_then(|storage| storage.get_item(TICKETS).ok().flatten()).unwrap_or_default()
}

fn shared() -> Option<Storage> {
    web_sys::window()?.local_storage().ok().flatten()
}

/// What the game is founded anew from, if this tab has sat there.
pub fn read_table(code: &str) -> Option<Table> {
    Table::from_bytes(&get(&table_key(code), KEPT_MAX)?)
}

/// Remembers that, where the browser allows it.
pub fn write_table(code: &str, table: &Table) {
    set(&table_key(code), &table.to_bytes());
}

/// Forgets all of it: this tab has left the game.
pub fn forget(code: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(&key(code));
        let _ = storage.remove_item(&table_key(code));
    }
}

fn key(code: &str) -> String {
    format!("samovar.seat.{code}")
}

fn table_key(code: &str) -> String {
    format!("samovar.table.{code}")
}

/// So many bytes at most, written in hexadecimal.
fn get(key: &str, most: usize) -> Option<Vec<u8>> {
    let text = storage()?.get_item(key).ok().flatten()?;
    if text.len() > 2 * most { None } else { unhex(&text) }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    let pairs = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

fn set(key: &str, bytes: &[u8]) {
    if let Some(storage) = storage() {
        // A full or forbidden storage costs the seat after a reload, not the game.
        let _ = storage.set_item(key, &hex(bytes));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn storage() -> Option<Storage> {
    web_sys::window()?.session_storage().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_table_is_none() {
        assert!(Table::from_bytes(&[]).is_none());
        assert!(Table::from_bytes(&[VERSION; HEAD + 100]).is_none());
        for length in 0..2 * HEAD {
            assert!(Table::from_bytes(&vec![0; length]).is_none());
        }
    }
}
