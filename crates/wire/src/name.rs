//! Names of members: the rule for the wire, and how a driver makes typed text fit (PROTOCOL §1).
//!
//! The wire refuses a name that breaks the rule, and never changes a name, because joiners, selectors and marks have
//! a meaning in their script. Only Unicode's tables tell where a visible character ends. Browsers and native
//! libraries have these tables, and [`fit`] takes the clusters that they find.

use crate::limits::{NAME_CLUSTERS_MAX, NAME_MAX};

/// The name of the relay's own peers. No other peer is shown under it.
pub const RELAY: &str = "The relay";
/// The name under which other peers are shown if they call themselves [`RELAY`].
pub const NOT_RELAY: &str = "Player";

/// Characters of typed text that [`tidy`] reads, at most.
const TYPED_MAX: usize = 4_096;

/// Whether a name is allowed on the wire: at most [`NAME_MAX`] bytes, and no character that breaks or reorders the text
/// around it. An empty name is allowed.
#[must_use]
pub fn is_valid(name: &str) -> bool {
    name.len() <= NAME_MAX && !name.chars().any(is_forbidden)
}

/// Whether a name shows anything. A name that consists of blanks, joiners and marks only does not.
#[must_use]
pub fn has_ink(name: &str) -> bool {
    name.chars().any(|c| !c.is_whitespace() && !is_inkless(c))
}

/// Whether a name reads as [`RELAY`], in any case and with any blanks and invisible characters. Similar letters of
/// other alphabets are not detected.
#[must_use]
pub fn is_relays(name: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = char> {
        // Only A to Z have these letters as their lower case.
        name.chars().filter(|&c| !c.is_whitespace() && !is_inkless(c)).map(|c| c.to_ascii_lowercase())
    }
    letters(name).eq(letters(RELAY))
}

/// The typed text without forbidden characters and invisible padding, with each run of white space as one space. Reads
/// at most 4,096 characters.
#[must_use]
pub fn tidy(typed: &str) -> String {
    let mut tidy = String::new();
    let mut gap = false;
    for c in typed.chars().take(TYPED_MAX) {
        if c.is_whitespace() {
            gap = !tidy.is_empty();
        } else if !is_forbidden(c) && !is_padding(c) {
            if core::mem::take(&mut gap) {
                tidy.push(' ');
            }
            tidy.push(c);
        }
    }
    tidy
}

/// The first grapheme clusters (UAX #29) of a tidy name: at most [`NAME_CLUSTERS_MAX`], in [`NAME_MAX`] bytes.
#[must_use]
pub fn fit(clusters: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut name = String::new();
    for cluster in clusters.into_iter().take(NAME_CLUSTERS_MAX) {
        let cluster = cluster.as_ref();
        if name.len() + cluster.len() > NAME_MAX {
            break;
        }
        name.push_str(cluster);
    }
    name.truncate(name.trim_end().len());
    name
}

/// Whether a character is forbidden in a name: controls, line separators, overrides, embeddings and isolates of
/// direction, annotations, noncharacters.
#[must_use]
pub fn is_forbidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// Characters without width or effect on their neighbours: they only make two names look the same.
fn is_padding(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{feff}')
}

/// Characters that show nothing by themselves.
fn is_inkless(c: char) -> bool {
    is_forbidden(c)
        || is_padding(c)
        || matches!(c,
            '\u{300}'..='\u{36f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200c}'..='\u{200f}' | '\u{2800}' | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}'
            | '\u{e0000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// Characters of several code points: Persian with a non-joiner, Hindi and Sinhala with joiners, a family, a skin
    /// tone, a keycap, flags, and a variant of a kanji.
    const NAMES: [&str; 9] = [
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "ශ්\u{200d}රී",
        "👨\u{200d}👩\u{200d}👧\u{200d}👦",
        "🧑🏽\u{200d}🚀",
        "7\u{fe0f}\u{20e3}",
        "🇩🇪🇺🇦",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
        "葛\u{e0100}",
    ];

    #[test]
    fn names_of_any_script_are_valid_and_stay_unchanged() {
        for name in NAMES.into_iter().chain(["Ann", "مريم", "<b>hi</b>", ""]) {
            assert!(is_valid(name), "{name}");
            assert_eq!(tidy(name), name);
            assert_eq!(has_ink(name), !name.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_name_that_breaks_the_text_around_it_is_refused() {
        for c in ['\0', '\n', '\u{7f}', '\u{85}', '\u{2028}', '\u{202e}', '\u{2066}', '\u{2069}', '\u{fffb}']
        {
            assert!(!is_valid(&format!("a{c}b")), "{c:?}");
        }
        for c in ['\u{fdd0}', '\u{fdef}', '\u{fffe}', '\u{ffff}', '\u{1fffe}', '\u{10ffff}'] {
            assert!(!is_valid(&format!("a{c}b")), "{c:?}");
        }
        assert!(is_valid(&"x".repeat(80)));
        assert!(!is_valid(&"x".repeat(81)));
    }

    #[test]
    fn typed_text_loses_forbidden_characters_and_padding() {
        assert_eq!(tidy("  Ann \u{202e}\n Bo\u{200b}\u{feff}  "), "Ann Bo");
        assert_eq!(tidy("\u{0}\u{7f}\u{2028}"), "");
        assert_eq!(tidy(&"x".repeat(10_000)).len(), TYPED_MAX);
    }

    #[test]
    fn names_are_cut_between_clusters() {
        let family = NAMES[3];
        assert_eq!(fit([family; 40]), family.repeat(3));
        assert_eq!(fit(["x"; 40]), "x".repeat(20));
        assert_eq!(fit([["a"; 19].as_slice(), &[" ", "b"]].concat()), "a".repeat(19));
        assert_eq!(fit([format!("a{}", "\u{301}".repeat(40))]), "");
    }

    #[test]
    fn disguised_forms_of_the_relays_name_are_recognised() {
        for name in [
            "The relay",
            "the RELAY",
            " The  relay ",
            "The\u{a0}relay",
            "T\u{200b}he rel\u{ad}ay",
            "Therelay\u{3164}",
        ] {
            assert!(is_relays(name), "{name:?}");
        }
        for name in ["", "The relays", "Relay", "Ann", NOT_RELAY] {
            assert!(!is_relays(name), "{name:?}");
        }
    }

    #[test]
    fn names_that_show_nothing_are_recognised() {
        for name in ["", "   ", "\u{200d}\u{200d}", "\u{3164}", "\u{301}\u{301}", "\u{e000}", "\u{200f}"] {
            assert!(!has_ink(name), "{name:?}");
        }
    }
}
