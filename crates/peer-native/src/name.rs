//! Names as people type them, cut where Unicode says that a character ends.

use samovar_wire::name;
use unicode_segmentation::UnicodeSegmentation as _;

/// Makes a valid name out of typed text: tidy, at most 20 characters as people count them, and at most 80 bytes. The
/// name may be empty.
#[must_use]
pub fn fit_name(typed: &str) -> String {
    name::fit(name::tidy(typed).graphemes(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_between_characters_as_people_see_them() {
        for whole in [
            "👨\u{200d}👩\u{200d}👧\u{200d}👦",
            "🇩🇪",
            "7\u{fe0f}\u{20e3}",
            "👍🏽",
            "क्\u{200d}ष",
            "ශ්\u{200d}රී",
            "é",
        ] {
            let name = fit_name(&whole.repeat(30));
            let count = (80 / whole.len()).min(20);
            assert_eq!(name, whole.repeat(count));
        }
        assert_eq!(fit_name(" می\u{200c}خواهم \n"), "می\u{200c}خواهم");
        assert_eq!(fit_name("\u{202e}"), "");
    }
}
