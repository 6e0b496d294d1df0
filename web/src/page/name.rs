//! The names that strangers give themselves and their games, made safe to show and to send.
//!
//! Markup needs no care here: the page only ever writes text nodes. Two dangers remain: length, and characters that
//! would hide, reorder or break the text around them. The wire refuses those in names, and sentences isolate names
//! ([`samovar_duel::player::PlayerName`]).

use samovar_wire::name;

/// Shortest and longest game code, in characters.
pub const CODE_LENGTH: std::ops::RangeInclusive<usize> = 3..=12;

/// Makes a name, as the page sends it, out of typed text: at most 20 characters as people count them. `None` when it
/// has no visible character.
pub fn clean_name(typed: &str) -> Option<String> {
    Some(samovar_peer_web::fit_name(typed)).filter(|name| name::has_ink(name))
}

/// The name of a player who has given none.
pub fn default_name(entropy: u32) -> String {
    format!("Teapot {}", 10 + entropy % 90)
}

/// A game code in upper case, or `None` if the text is not a code: 3 to 12 of A-Z, 0-9 and '-'.
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
    let tidy = name::tidy(raw);
    let mut characters = tidy.chars();
    let mut text: String = characters.by_ref().take(LONGEST).collect();
    if characters.next().is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(name::is_valid(&name) && name::has_ink(&name));
        }
    }
}
