//! Checks that public types of the core share a name only for a reason, because a reader has to ask which is meant.

use std::collections::BTreeMap;
use std::path::Path;

use super::rooms::without_tests;
use crate::process::{Explain, Failure, Result};
use crate::repo::Repo;

/// The crates of the core, from wire to peer.
const CRATES: [&str; 8] = ["wire", "link", "objects", "order", "roster", "session", "directory", "peer"];

/// Names that several types share: the name, the number of types, and the reason.
const SHARED: [(&str, usize, &str); 16] = [
    ("Call", 2, "what a game says, and its record on the wire"),
    ("Delivery", 3, "what each kind of order delivers, and the session's choice among them"),
    ("Denial", 2, "the answer to a wish, and to a claim"),
    ("Entry", 2, "of a carried packet, and of a map as in std"),
    ("Event", 4, "what each state machine tells"),
    ("Frame", 3, "of a packet, of an order's message, and of lockstep: three terms of the field"),
    ("Frames", 2, "of a packet, and of lockstep"),
    ("Lockstep", 2, "the machine, and what a game sees of it"),
    ("Reply", 2, "what a game says, and its record on the wire"),
    ("Request", 4, "what each state machine wants done, and a wish on the wire"),
    ("Run", 2, "of an order's messages, and of lockstep's inputs"),
    ("SendError", 4, "of each layer that sends; the session's names the others' causes"),
    ("StateError", 2, "of an object, and of lockstep"),
    ("Told", 2, "of inputs, and of lockstep"),
    ("Transmit", 5, "what each state machine sends"),
    ("View", 2, "of the session object, and of a group in virtual synchrony: terms of the field"),
];

/// Checks the core.
///
/// # Errors
/// Lists names with more types than in the table, and entries of the table that are not needed any more.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut counts = BTreeMap::new();
    for name in CRATES {
        count(&repo.root.join("crates").join(name).join("src"), &mut counts)?;
    }
    let of = |name: &str| counts.get(name).copied().unwrap_or_default();
    let known = |name: &str| SHARED.iter().find(|(known, ..)| *known == name);
    let mut wrong = Vec::new();
    for (name, count) in &counts {
        if *count > known(name).map_or(1, |(_, count, _)| *count) {
            wrong.push(format!("{count} public types are called {name}: rename one, or give a reason"));
        }
    }
    let needless = SHARED.iter().filter(|(name, count, _)| of(name) < *count);
    wrong.extend(
        needless
            .map(|(name, count, _)| format!("{name} is allowed {count} times, and is {} types", of(name))),
    );
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("\n  {}", wrong.join("\n  ")))) }
}

fn count(place: &Path, counts: &mut BTreeMap<String, usize>) -> Result<()> {
    if place.is_dir() {
        for entry in std::fs::read_dir(place).explain(place.display())? {
            count(&entry.explain(place.display())?.path(), counts)?;
        }
        return Ok(());
    }
    let source = std::fs::read_to_string(place).explain(place.display())?;
    for name in names(without_tests(&source)) {
        *counts.entry(name.to_owned()).or_default() += 1;
    }
    Ok(())
}

/// The public types that a source declares.
fn names(source: &str) -> impl Iterator<Item = &str> {
    source.lines().filter_map(|line| {
        let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
        matches!(words.next()?, "struct" | "enum" | "trait" | "type").then_some(())?;
        words.next()?.split(['<', '(', ';', ':']).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_types_are_found() {
        let source =
            "pub struct A<'a> {\n    pub enum B {\npub(crate) struct C;\npub fn d() {}\npub trait E: F {\n";
        assert!(names(source).eq(["A", "B", "E"]));
    }
}
