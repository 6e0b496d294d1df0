//! Tables for people.

/// A table with a head, in columns as wide as their widest entry. The last column is not padded.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width_of = |column: usize| {
        let entries = rows.iter().map(|row| row[column].chars().count());
        entries.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..head.len()).map(width_of).collect();
    let mut text = String::new();
    let head: Vec<String> = head.iter().map(|word| (*word).to_owned()).collect();
    for row in [&head].into_iter().chain(rows) {
        let mut line = String::new();
        for (entry, width) in row.iter().zip(&widths) {
            line.push_str(entry);
            line.extend(std::iter::repeat_n(' ', width - entry.chars().count() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A text of a player's, without the characters that a terminal obeys.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_entry() {
        let rows = [vec!["TEA".to_owned(), "2".to_owned()], vec!["TEA-ÄÖ".to_owned(), String::new()]];
        assert_eq!(table(&["game", "players"], &rows), "game    players\nTEA     2\nTEA-ÄÖ\n");
    }

    #[test]
    fn a_title_cannot_command_the_terminal() {
        assert_eq!(harmless("\u{1b}[2Jtea\u{7}"), "\u{fffd}[2Jtea\u{fffd}");
    }
}
