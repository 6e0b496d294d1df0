//! What strangers call themselves and their games, made safe to show and to send.
//!
//! Markup needs no care here: the page only ever writes text nodes. What remains is length, and characters that
//! would hide, reorder or break the text around them.

/// Longest name, in characters.
pub const NAME_MAX: usize = 20;

/// Shortest and longest game code, in characters.
pub const CODE_LENGTH: std::ops::RangeInclusive<usize> = 3..=12;

/// A name as it is shown and sent: at most [`NAME_MAX`] characters, single spaces, nothing invisible.
/// `None` when nothing visible is left. Work is bounded whatever the input's length.
pub fn clean_name(raw: &str) -> Option<String> {
    let mut name = String::new();
    let mut length = 0;
    let mut space = false;
    for c in raw.chars().take(20_000) {
        if c.is_whitespace() {
            space = length > 0;
            continue;
        }
        if is_hidden(c) {
            continue;
        }
        if length + usize::from(space) >= NAME_MAX {
            break;
        }
        if space {
            name.push(' ');
            length += 1;
            space = false;
        }
        name.push(c);
        length += 1;
    }
    name.chars().any(|c| !is_joiner(c)).then_some(name)
}

/// The name of a player who gave none.
pub fn default_name(entropy: u32) -> String {
    format!("Teapot {}", 10 + entropy % 90)
}

/// A game code in upper case, or `None` when it is none: 3 to 12 of A-Z, 0-9 and '-'.
pub fn clean_code(raw: &str) -> Option<String> {
    let code = raw.trim();
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let says_something = code.chars().any(|c| c != '-');
    (CODE_LENGTH.contains(&code.len()) && code.chars().all(allowed) && says_something)
        .then(|| code.to_ascii_uppercase())
}

/// A short printable form of hostile text, for messages about it.
pub fn excerpt(raw: &str) -> String {
    const LONGEST: usize = 24;
    let mut visible = raw.chars().filter(|c| !is_hidden(*c) && !is_joiner(*c));
    let mut text: String = visible.by_ref().take(LONGEST).collect();
    if visible.next().is_some() {
        text.push('…');
    }
    text
}

/// Controls, direction overrides and glyphs without ink. Joiners stay: emoji and several scripts need them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}' | '\u{e0000}'..='\u{10ffff}')
}

/// Characters that only mean something between others: joiners, variation selectors, combining marks.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{300}'..='\u{36f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_names_stay() {
        for name in ["Ann", "José", "Борис", "茶壺", "مريم", "Mad Hatter 🫖", "<b>x</b>&amp;"] {
            assert_eq!(clean_name(name).as_deref(), Some(name));
        }
    }

    #[test]
    fn long_names_are_cut_to_twenty_characters() {
        let long = "é".repeat(10_000);
        let name = clean_name(&long).expect("it has visible characters");
        assert_eq!(name.chars().count(), NAME_MAX);
        assert_eq!(clean_name("aaaaaaaaaaaaaaaaaaaa bbb").expect("visible"), "a".repeat(20));
        assert_eq!(clean_name("aaaaaaaaaaaaaaaaaaa bbb").expect("visible"), "a".repeat(19));
    }

    #[test]
    fn hidden_characters_are_dropped_and_spaces_collapsed() {
        assert_eq!(clean_name(" a\u{202e}b\u{0}\t \n c\u{200b} ").as_deref(), Some("ab c"));
        assert_eq!(clean_name("\u{2066}x\u{2069}\u{feff}").as_deref(), Some("x"));
    }

    #[test]
    fn names_without_ink_are_no_names() {
        for raw in ["", "   ", "\u{200d}\u{200d}", "\u{202e}", "\u{3164}", "\u{301}\u{301}", "\u{e000}"] {
            assert_eq!(clean_name(raw), None, "{raw:?}");
        }
    }

    #[test]
    fn invisible_flood_ends_soon() {
        assert_eq!(clean_name(&format!("{}x", "\u{200b}".repeat(1 << 20))), None);
    }

    #[test]
    fn codes_are_upper_cased_and_checked() {
        assert_eq!(clean_code(" tea-42 ").as_deref(), Some("TEA-42"));
        for bad in ["", "ab", "ABCDEFGHIJKLM", "A B", "<script>", "ÄÖÜ", "A/B", "TEA\u{202e}"] {
            assert_eq!(clean_code(bad), None, "{bad:?}");
        }
        assert_eq!(clean_code(&"A".repeat(10_000)), None);
    }

    #[test]
    fn excerpts_are_short_and_visible() {
        assert_eq!(excerpt("a\u{202e}b"), "ab");
        assert_eq!(excerpt(&"x".repeat(100)).chars().count(), 25);
    }

    #[test]
    fn default_names_are_clean() {
        for entropy in [0, 89, u32::MAX] {
            let name = default_name(entropy);
            assert_eq!(clean_name(&name), Some(name));
        }
    }
}
