//! The browser's memory between visits: name, colour, sound off, whether others may see the browser's network
//! address. Storage may be forbidden, full or throw (private windows, blocked cookies); then the browser remembers
//! nothing and nothing else changes.

use web_sys::Storage;

/// One value to remember.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The player's name.
    Name,
    /// The index of the colour.
    Colour,
    /// "1" when sounds are off.
    Muted,
    /// "shown" or "hidden": whether other players may see the browser's network address. Missing until the player has
    /// been told.
    Address,
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Self::Name => "samovar.name",
            Self::Colour => "samovar.colour",
            Self::Muted => "samovar.muted",
            Self::Address => "samovar.address",
        }
    }
}

/// The remembered value, if there is one.
pub fn read(key: Key) -> Option<String> {
    storage()?.get_item(key.name()).ok().flatten()
}

/// Remembers a value, where the browser allows it.
pub fn write(key: Key, value: &str) {
    if let Some(storage) = storage() {
        // If the storage is full or forbidden, the value is not remembered, and the game goes on.
        let _ = storage.set_item(key.name(), value);
    }
}

fn storage() -> Option<Storage> {
    web_sys::window()?.local_storage().ok().flatten()
}
