//! Citations: code that cites `PROTOCOL §3.2` must find that section in a chapter of `crates/wire/protocol`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::files;
use crate::process::{Explain, Failure, Result};
use crate::repo::Repo;

/// The chapters of the document, below the root.
const CHAPTERS: &str = "crates/wire/protocol";

/// Checks every citation in the source of every crate, and in the chapters themselves.
///
/// # Errors
/// Lists the citations without a target, repeated sections, and named tests that do not exist.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let chapters = files::below(&repo.root.join(CHAPTERS))?;
    let (mut headings, mut tests) = (Vec::new(), BTreeSet::new());
    for chapter in &chapters {
        let document = fs::read_to_string(chapter).explain(chapter.display())?;
        headings.extend(self::headings(&document));
        tests.extend(named_tests(&document));
    }
    let mut wrong: Vec<String> =
        repeated(&headings).into_iter().map(|section| format!("{CHAPTERS} has §{section} twice")).collect();
    let headings: BTreeSet<String> = headings.into_iter().collect();
    let mut count = 0;
    for file in sources(&repo.root)?.into_iter().chain(chapters) {
        let source = fs::read_to_string(&file).explain(file.display())?;
        let name = file.strip_prefix(&repo.root).unwrap_or(&file).display().to_string();
        tests.retain(|test| !source.contains(&format!("fn {test}(")));
        for (line, section) in citations(&source) {
            count += 1;
            if !headings.contains(&section) {
                wrong.push(format!("{name}:{line} cites §{section}, which {CHAPTERS} does not have"));
            }
        }
    }
    wrong.extend(
        tests.into_iter().map(|test| format!("{CHAPTERS} names the test {test}, which is not there")),
    );
    if wrong.is_empty() {
        println!("{count} citations of {} sections are right.", headings.len());
        return Ok(());
    }
    Err(Failure::new(format!("\n  {}", wrong.join("\n  "))))
}

/// The numbers of the numbered headings, as in `### 3.2 Acks` or `## §4. Lanes`; code blocks are skipped.
fn headings(document: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    let mut in_code = false;
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let title = line.trim_start_matches('#');
        if in_code || title.len() == line.len() {
            continue;
        }
        numbers.extend(leading_number(title.trim_start().trim_start_matches('§')));
    }
    numbers
}

/// The tests that a chapter's tables name for a rule: the words with `_` in rows that begin with a section.
fn named_tests(document: &str) -> Vec<String> {
    let rows = document.lines().filter(|line| line.starts_with("| §"));
    let named = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    named.filter(|name| name.contains('_')).map(str::to_owned).collect()
}

fn repeated(headings: &[String]) -> Vec<&String> {
    let mut seen = BTreeSet::new();
    headings.iter().filter(|section| !seen.insert(*section)).collect()
}

/// The line number and section of every citation of our document; those of other documents are skipped.
fn citations(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (index, line) in source.lines().enumerate() {
        let mut cites_another = false;
        for (place, _) in line.match_indices('§') {
            // In `RFC 9002 §6.2, §6.3` the second citation belongs to the document of the first.
            cites_another = names_another(&line[..place]).unwrap_or(cites_another);
            if let Some(section) = leading_number(&line[place + '§'.len_utf8()..])
                && !cites_another
            {
                found.push((index + 1, section));
            }
        }
    }
    found
}

/// Whether the text right before a `§` names a document other than ours; `None` when it names none.
fn names_another(before: &str) -> Option<bool> {
    let word = before
        .trim_end_matches([' ', '`', ',', ')', ']'])
        .rsplit(|letter: char| letter.is_whitespace() || "([`".contains(letter))
        .next()?;
    if matches!(word, "PROTOCOL" | "PROTOCOL.md") {
        return Some(false);
    }
    let is_number = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit());
    let is_name = word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '-');
    (is_number || is_name || word.ends_with(".md")).then_some(true)
}

/// The number at the beginning of a text: `3.2` of `3.2 Acks`, `3.2.` or `3.2)`.
fn leading_number(text: &str) -> Option<String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let number = text[..end].trim_matches('.');
    (!number.is_empty()).then(|| number.to_owned())
}

/// The Rust sources of all packages but this one, whose tests cite made-up sections.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for place in ["crates", "relay", "tests", "web"].map(|place| root.join(place)) {
        if place.is_dir() {
            sources.extend(files::below(&place)?);
        }
    }
    let ours = root.join("crates/xtask");
    sources.retain(|file| {
        file.extension().is_some_and(|extension| extension == "rs") && !file.starts_with(&ours)
    });
    Ok(sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_headings_are_found_at_any_level() {
        let document = "# Protocol 1\n## 1. Packets\n### 1.2 Acks\n## §4 Lanes\ntext 5.1\n```\n## 9 no\n```\n#### 4.1.2: x\n";
        assert_eq!(headings(document), ["1", "1.2", "4", "4.1.2"]);
        assert_eq!(repeated(&["1".to_owned(), "2".to_owned(), "1".to_owned()]), ["1"]);
    }

    #[test]
    fn tests_are_read_from_rows_that_begin_with_a_section() {
        let document = "| `no_test` |\n| §1 rule 2 | `one_test`, `an_other`; `tests` |\n`no_row`\n";
        assert_eq!(named_tests(document), ["one_test", "an_other"]);
    }

    #[test]
    fn citations_are_found_with_their_line() {
        let source = "//! Packets (PROTOCOL §1.2).\n\n/// See `PROTOCOL.md` §4, §4.1.2; and §9\nfn f() {}";
        let cited: Vec<_> = citations(source);
        let expected = [(1, "1.2"), (3, "4"), (3, "4.1.2"), (3, "9")];
        assert_eq!(cited, expected.map(|(line, section)| (line, section.to_owned())));
    }

    #[test]
    fn citations_of_other_documents_are_skipped() {
        for source in
            ["RFC 9002 §6.2, §6.3", "DESIGN §4", "(ARCHITECTURE.md §2)", "`README.md` §1", "the sign § alone"]
        {
            assert!(citations(source).is_empty(), "{source}");
        }
        assert_eq!(citations("DESIGN §4 and PROTOCOL §2"), [(1, "2".to_owned())]);
    }
}
