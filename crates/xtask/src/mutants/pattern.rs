//! Finds the place of a planted bug: a sequence of Rust's tokens, anywhere in its crate.
//!
//! Line breaks and comments do not count, and `$` stands for any receiver of a field or a method (`self`,
//! `self.core.roster`, `votes`). So code may move without a change of its planted bugs.

use std::ops::Range;

use rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};

/// Stands for a receiver.
const RECEIVER: &str = "$";

/// A place in a source that a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// The bytes of the place.
    pub(super) range: Range<usize>,
    /// The receivers that the pattern's `$` stand for, in their order.
    pub(super) receivers: Vec<String>,
}

/// All places in this source that the pattern fits.
pub(super) fn find(source: &str, pattern: &str) -> Vec<Match> {
    let (source, pattern) = (tokens(source), tokens(pattern));
    (0..source.len()).filter_map(|start| fit(&source, start, &pattern)).collect()
}

/// Fills in the receivers: replaces every `$2` by the receiver that the pattern's second `$` fits, and so on. A `$`
/// without a number is the first.
pub(super) fn fill(text: &str, receivers: &[String]) -> String {
    let numbered = (1..).zip(receivers).skip(1).fold(text.to_owned(), |text, (number, receiver)| {
        text.replace(&format!("{RECEIVER}{number}"), receiver)
    });
    receivers.first().map_or(numbered.clone(), |first| numbered.replace(RECEIVER, first))
}

/// Each token that is neither a space nor a comment, with its place.
fn tokens(source: &str) -> Vec<(Range<usize>, &str)> {
    let mut end = 0;
    let all = tokenize(source, FrontmatterAllowed::No).map(|token| {
        let range = end..end + token.len as usize;
        end = range.end;
        (token.kind, range)
    });
    let is_code = |kind: TokenKind| {
        !matches!(
            kind,
            TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        )
    };
    all.filter(|(kind, _)| is_code(*kind)).map(|(_, range)| (range.clone(), &source[range])).collect()
}

/// The match that begins with this token, if there is one.
fn fit(source: &[(Range<usize>, &str)], start: usize, pattern: &[(Range<usize>, &str)]) -> Option<Match> {
    let (mut at, mut receivers) = (start, Vec::new());
    for (index, (_, expected)) in pattern.iter().enumerate() {
        if *expected != RECEIVER {
            (source.get(at)?.1 == *expected).then_some(())?;
            at += 1;
            continue;
        }
        // A receiver is the whole chain of names, so that a place matches only once.
        let is_inside = at > 0 && source[at - 1].1 == ".";
        let length = chain(&source[at..], &pattern[index + 1..])?;
        (!is_inside && length > 0).then_some(())?;
        let words = source[at..at + length].iter().map(|(_, word)| *word);
        receivers.push(words.collect());
        at += length;
    }
    let last = source.get(at.checked_sub(1)?)?;
    Some(Match { range: source[start].0.start..last.0.end, receivers })
}

/// The number of tokens of the receiver at the start of `source`; `None` unless the tokens behind the pattern's `$`
/// follow it.
fn chain(source: &[(Range<usize>, &str)], rest: &[(Range<usize>, &str)]) -> Option<usize> {
    let rest: Vec<_> = rest.iter().map(|(_, word)| *word).take_while(|word| *word != RECEIVER).collect();
    let is_word = |word: &str| word.starts_with(|first: char| first.is_alphanumeric() || first == '_');
    let mut length = 0;
    loop {
        is_word(source.get(length)?.1).then_some(())?;
        length += 1;
        let follows = source[length..].iter().map(|(_, word)| *word).take(rest.len());
        if follows.eq(rest.iter().copied()) {
            return Some(length);
        }
        (source.get(length)?.1 == ".").then_some(())?;
        length += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str, pattern: &str) -> Vec<(String, Vec<String>)> {
        let found = find(source, pattern);
        found.into_iter().map(|at| (source[at.range].to_owned(), at.receivers)).collect()
    }

    #[test]
    fn line_breaks_and_comments_do_not_count() {
        let source = "fn f() {\n    self.votes // why\n        .clear();\n}";
        let expected = ("self.votes // why\n        .clear();".to_owned(), Vec::new());
        assert_eq!(found(source, "self.votes.clear();"), [expected]);
        assert_eq!(found("\"self.votes.clear();\"", "self.votes.clear();"), []);
    }

    #[test]
    fn a_receiver_is_a_whole_chain_of_fields() {
        let receivers = |source: &str| {
            found(source, "$.votes.clear()")
                .into_iter()
                .flat_map(|(_, receivers)| receivers)
                .collect::<Vec<_>>()
        };
        assert_eq!(receivers("self.core.roster.votes.clear();"), ["self.core.roster"]);
        assert_eq!(receivers("roster.votes.clear();"), ["roster"]);
        assert_eq!(receivers("roster().votes.clear(); votes.clear();"), Vec::<String>::new());
    }

    #[test]
    fn several_receivers_are_told_apart() {
        let source = "a.b.first(c.second())";
        let receivers = vec!["a.b".to_owned(), "c".to_owned()];
        assert_eq!(fill("$.third($2.first($.last()))", &receivers), "a.b.third(c.first(a.b.last()))");
        assert_eq!(fill("true", &[]), "true");
        assert_eq!(found(source, "$.first($.second())"), [(source.to_owned(), receivers)]);
    }

    #[test]
    fn half_a_block_is_a_pattern_too() {
        let source = "if a {\n    1\n} else if !b {\n    2\n}";
        assert_eq!(found(source, "} else if !b {").len(), 1);
        assert_eq!(found(source, "} else if !b { 3"), []);
    }
}
