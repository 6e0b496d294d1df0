//! A game's entry in the relay's list.

use samovar_wire::limits::NAME_MAX;
use samovar_wire::name;

/// A public game's entry in the relay's list, for people who look for a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The subject of the game, such as its map. At most 80 bytes are shown, without control characters.
    pub title: String,
    /// Whether newcomers are admitted. Players who come back always are.
    pub is_open: bool,
}

impl Default for Listing {
    fn default() -> Self {
        Self { title: String::new(), is_open: true }
    }
}

impl Listing {
    /// The title, as the wire takes it.
    pub(crate) fn fit_title(&self) -> String {
        let mut title = name::tidy(&self.title);
        title.truncate(title.floor_char_boundary(NAME_MAX));
        title
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_of_any_length_is_one_that_the_wire_takes() {
        for typed in ["", "Tea\nfor\ttwo", &"é".repeat(500), &"\u{202e}".repeat(9)] {
            let title = Listing { title: typed.to_owned(), is_open: true }.fit_title();
            assert!(name::is_valid(&title), "{title}");
        }
    }
}
