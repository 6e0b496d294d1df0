//! The data that take a seat back: the ticket, and the data from which the game is founded anew when all players go at
//! once.
//!
//! The browser keeps the data per tab, so that a reload finds them and another tab does not steal them. A tab and its
//! duplicates share them, so that a player can go from one to the other. A new tab goes on as a tab of this browser
//! that is gone, so that a player who closed the page and opens the link again has the seat back.

use samovar_session::Kept;
use samovar_wire::{PeerId, PeerPass, SessionId, Signature, Ticket};
use web_sys::Storage;

/// The layout of the kept data: data in another layout are ignored.
const VERSION: u8 = 2;
/// Bytes in front of the session: the version, the pass, and the length of the session.
const HEAD: usize = 1 + 8 + 4 + 64 + 2;
/// A size that no session with the state of a game reaches.
const KEPT_MAX: usize = 24_000;

/// A tab that gives no sign of life for more seconds is gone.
const GONE_AFTER: u32 = 6;
const WHO: &str = "samovar.who";
/// The newest entries of this browser, the newest first.
const LIST: &str = "samovar.kept";

/// The data of a game that a tab keeps besides its ticket.
#[derive(Clone, Debug)]
pub struct Table {
    /// Shows to the relay that this tab sat there.
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
    let bytes = get(&key(code), 24)?;
    Some(Ticket::from_bytes(bytes.as_slice().try_into().ok()?))
}

/// Lets a tab without a seat in the game with this code go on as a tab of this browser that had one, and is gone.
pub fn inherit(code: &str) {
    let Some((own, all)) = storage().zip(local_storage()).filter(|_| read(code).is_none()) else { return };
    let list = all.get_item(LIST).ok().flatten().unwrap_or_default();
    let seat = key(code);
    let whos = list.lines().filter_map(|line| line.strip_prefix(seat.as_str())?.strip_prefix('.'));
    let is_gone = |who: &&str| {
        let lived = all.get_item(&sign_of(who)).ok().flatten().and_then(|time| time.parse().ok());
        lived.is_none_or(|lived: u32| seconds().abs_diff(lived) > GONE_AFTER)
    };
    if let Some(who) = whos.into_iter().find(is_gone) {
        let _ = own.set_item(WHO, who);
        live();
    }
}

/// Shows other tabs of this browser that this tab lives.
pub fn live() {
    if let Some((all, sign)) = local_storage().zip(who()).map(|(all, who)| (all, sign_of(&who))) {
        let _ = all.set_item(&sign, &seconds().to_string());
    }
}

/// This tab is about to go: another tab may go on as it at once.
pub fn end() {
    if let Some((all, who)) = local_storage().zip(who()) {
        let _ = all.remove_item(&sign_of(&who));
    }
}

/// The time, in seconds. Writing or reading fractions would cost the page 16 KB.
fn seconds() -> u32 {
    (js_sys::Date::now() / 1_000.0) as u32
}

/// A number below 8 that stays the same for this tab and for a tab that goes on as it.
pub fn number() -> Option<u8> {
    Some(who()?.bytes().last()? % 8)
}

/// Remembers the ticket, where the browser allows it.
pub fn write(code: &str, ticket: Ticket) {
    set(&key(code), &ticket.to_bytes());
}

/// The data from which the game is founded anew, if this tab has sat there.
pub fn read_table(code: &str) -> Option<Table> {
    Table::from_bytes(&get(&table_key(code), KEPT_MAX)?)
}

/// Remembers those data, where the browser allows it.
pub fn write_table(code: &str, table: &Table) {
    set(&table_key(code), &table.to_bytes());
}

/// Forgets those data: this tab has left the game, and the game is over when all have left.
pub fn forget_table(code: &str) {
    let key = table_key(code);
    if let Some(storage) = storage() {
        let _ = storage.remove_item(&key);
    }
    if let Some((storage, key)) = shared(&key) {
        let _ = storage.remove_item(&key);
    }
}

fn key(code: &str) -> String {
    format!("samovar.seat.{code}")
}

fn table_key(code: &str) -> String {
    format!("samovar.table.{code}")
}

/// Reads at most this many bytes, written in hexadecimal.
fn get(key: &str, most: usize) -> Option<Vec<u8>> {
    let in_common = shared(key).and_then(|(storage, key)| storage.get_item(&key).ok().flatten());
    let text = in_common.or_else(|| storage()?.get_item(key).ok().flatten())?;
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
    let text = hex(bytes);
    if let Some(storage) = storage() {
        // A full or forbidden storage costs the seat after a reload, but not the game.
        let _ = storage.set_item(key, &text);
    }
    if let Some((storage, key)) = shared(key) {
        // While this tab is there, a duplicate does not give the seat back.
        let _ = storage.set_item(&key, &text);
        keep_newest(&storage, &key);
    }
}

/// The storage that all tabs of this browser see, and the key there of the data that this tab and its duplicates share.
fn shared(key: &str) -> Option<(Storage, String)> {
    let who = who()?;
    Some((local_storage()?, format!("{key}.{who}")))
}

/// The name of this tab and its duplicates.
fn who() -> Option<String> {
    let own = storage()?;
    // The browser copies the name to a tab's duplicate.
    own.get_item(WHO).ok().flatten().or_else(|| {
        let who = format!("{:013x}", (js_sys::Math::random() * 2f64.powi(52)) as u64);
        own.set_item(WHO, &who).ok()?;
        Some(who)
    })
}

fn sign_of(who: &str) -> String {
    format!("samovar.lives.{who}")
}

/// Forgets the oldest entries: tabs end without a word.
fn keep_newest(storage: &Storage, newest: &str) {
    const KEPT: usize = 8;
    let list = storage.get_item(LIST).ok().flatten().unwrap_or_default();
    let others = list.lines().filter(|key| *key != newest);
    let (kept, old): (Vec<_>, Vec<_>) =
        [newest].into_iter().chain(others).enumerate().partition(|(at, _)| *at < KEPT);
    for (_, key) in old.iter().filter(|(_, key)| key.starts_with("samovar.")) {
        let _ = storage.remove_item(key);
        if let Some((_, who)) = key.rsplit_once('.') {
            let _ = storage.remove_item(&sign_of(who));
        }
    }
    let kept: Vec<_> = kept.into_iter().map(|(_, key)| key).collect();
    let _ = storage.set_item(LIST, &kept.join("\n"));
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn local_storage() -> Option<Storage> {
    web_sys::window()?.local_storage().ok().flatten()
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
