//! The amount of code that a game's author writes for the smallest game.

const CURSORS: &str = include_str!("../src/bin/cursors.rs");
/// The source that lists the names of `samovar::prelude`.
const PRELUDE: &str = include_str!("../../crates/samovar/src/lib.rs");

#[test]
fn cursors_take_at_most_45_lines_of_80_columns() {
    let own =
        |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
    let lines = CURSORS.lines().filter(own).count();
    assert!(lines <= 45, "{lines} lines");
    assert!(CURSORS.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn cursors_take_at_most_ten_names() {
    let (_, prelude) =
        PRELUDE.split_once("pub mod prelude {").expect("a prelude");
    let (prelude, _) = prelude.split_once("};").expect("its end");
    let words = |text: &'static str| {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
    };
    let (_, names) = prelude.split_once('{').expect("its names");
    let code = || {
        CURSORS.lines().filter(|line| !line.starts_with("//")).flat_map(words)
    };
    let used: Vec<_> = words(names)
        .filter(|name| !name.is_empty() && code().any(|word| word == *name))
        .collect();
    assert!(used.len() >= 5 && used.len() <= 10, "{used:?}");
}
