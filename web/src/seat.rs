//! What takes a seat back: the ticket; and, in case all players go at once, what the game is founded anew from.
//!
//! It is kept per tab, so that a reload finds it and another tab does not steal it. A tab and its duplicates have it in common,
//! so that a player goes from one to the other. A new tab goes on as one of this browser that is gone, so that a player who
//! closed the page and opens the link again has the seat back.

use samovar_session::Kept;
use samovar_wire::{PeerId, PeerPass, SessionId, Signature, Ticket};
use web_sys::Storage;

/// The layout of what is kept: another one is as good as nothing.
const VERSION: u8 = 2;
/// Bytes in front of the session: the version, the pass, and how long the session is.
const HEAD: usize = 1 + 8 + 4 + 64 + 2;
/// More than a session and the state of a game can have.
const KEPT_MAX: usize = 24_000;

/// A tab without a sign of life for more seconds is gone.
const GONE_AFTER: u32 = 6;
const WHO: &str = "samovar.who";
/// What was kept of late in this browser, the newest first.
const LIST: &str = "samovar.kept";

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

/// The ticket for the game with this code, if this tab has sat there.
pub fn read(code: &str) -> Option<Ticket> {
    let bytes = get(&key(code), 24)?;
    Some(Ticket::from_bytes(bytes.as_slice().try_into().ok()?))
}

/// Lets a tab that has no seat in the game with this code go on as one of this browser that had, and is gone.
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

/// Shows other tabs of this browser that this one lives.
pub fn live() {
    if let Some((all, sign)) = local_storage().zip(who()).map(|(all, who)| (all, sign_of(&who))) {
        let _ = all.set_item(&sign, &seconds().to_string());
    }
}

/// This tab is about to go: another may go on as it at once.
pub fn end() {
    if let Some((all, who)) = local_storage().zip(who()) {
        let _ = all.remove_item(&sign_of(&who));
    }
}

/// The time, in seconds. Writing or reading fractions would cost the page 16 KB.
fn seconds() -> u32 {
    (js_sys::Date::now() / 1_000.0) as u32
}

/// A number below 8 that stays the same for this tab and whatever goes on as it.
pub fn number() -> Option<u8> {
    Some(who()?.bytes().last()? % 8)
}

/// Remembers the ticket, where the browser allows it.
pub fn write(code: &str, ticket: Ticket) {
    set(&key(code), &ticket.to_bytes());
}

/// What the game is founded anew from, if this tab has sat there.
pub fn read_table(code: &str) -> Option<Table> {
    Table::from_bytes(&get(&table_key(code), KEPT_MAX)?)
}

/// Remembers that, where the browser allows it.
pub fn write_table(code: &str, table: &Table) {
    set(&table_key(code), &table.to_bytes());
}

/// Forgets that: this tab has left the game, and it is over when all have.
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

/// So many bytes at most, written in hexadecimal.
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
        // A full or forbidden storage costs the seat after a reload, not the game.
        let _ = storage.set_item(key, &text);
    }
    if let Some((storage, key)) = shared(key) {
        // Where this one is, a duplicate does not give the seat back.
        let _ = storage.set_item(&key, &text);
        keep_newest(&storage, &key);
    }
}

/// What all tabs of this browser see, and the key there of what this tab and its duplicates have in common.
fn shared(key: &str) -> Option<(Storage, String)> {
    let who = who()?;
    Some((local_storage()?, format!("{key}.{who}")))
}

/// What this tab and its duplicates are known as.
fn who() -> Option<String> {
    let own = storage()?;
    // The browser copies it to a tab's duplicate.
    own.get_item(WHO).ok().flatten().or_else(|| {
        let who = format!("{:013x}", (js_sys::Math::random() * 2f64.powi(52)) as u64);
        own.set_item(WHO, &who).ok()?;
        Some(who)
    })
}

fn sign_of(who: &str) -> String {
    format!("samovar.lives.{who}")
}

/// Forgets what was kept longest ago: tabs end without a word.
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
