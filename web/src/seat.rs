//! The ticket that takes a seat back, kept per tab so that a reload finds it and another tab does not steal it.

use samovar_wire::Ticket;
use web_sys::Storage;

/// The ticket for the game with this code, if this tab has sat there.
pub fn read(code: &str) -> Option<Ticket> {
    let text = storage()?.get_item(&key(code)).ok().flatten()?;
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(Ticket(bytes))
}

/// Remembers the ticket, where the browser allows it.
pub fn write(code: &str, ticket: Ticket) {
    let text: String = ticket.0.iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(storage) = storage() {
        // A full or forbidden storage costs the seat after a reload, not the game.
        let _ = storage.set_item(&key(code), &text);
    }
}

/// Forgets the ticket: this tab has left the game.
pub fn forget(code: &str) {
    if let Some(storage) = storage() {
        let _ = storage.remove_item(&key(code));
    }
}

fn key(code: &str) -> String {
    format!("samovar.seat.{code}")
}

fn storage() -> Option<Storage> {
    web_sys::window()?.session_storage().ok().flatten()
}
