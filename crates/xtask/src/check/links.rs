//! The links of the documents: each leads to a file, and the guide's table of contents names every chapter.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::commands::documents;
use crate::process::{Explain, Failure, Result};
use crate::repo::Repo;

const GUIDE: &str = "crates/samovar/guide";
const CONTENTS: &str = "SUMMARY.md";

/// Checks every document.
///
/// # Errors
/// Lists the links that lead nowhere, and the chapters that the contents do not name.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents(repo)?.into_iter().chain([repo.root.join("llms.txt")]) {
        let text = fs::read_to_string(&document).explain(document.display())?;
        let name = document.strip_prefix(&repo.root).unwrap_or(&document).display().to_string();
        for link in links(&text) {
            count += 1;
            if !leads_somewhere(&document, &text, link)? {
                wrong.push(format!("{name}: {link} leads nowhere"));
            }
        }
    }
    let folder = repo.root.join(GUIDE);
    let contents = fs::read_to_string(folder.join(CONTENTS)).explain(GUIDE)?;
    let named: BTreeSet<_> = links(&contents).into_iter().collect();
    for chapter in fs::read_dir(&folder).explain(GUIDE)? {
        let chapter = chapter.explain(GUIDE)?.file_name();
        let chapter = chapter.to_string_lossy();
        if chapter != CONTENTS && !named.contains(&*chapter) {
            wrong.push(format!("{GUIDE}/{CONTENTS} does not name {chapter}"));
        }
    }
    if wrong.is_empty() {
        println!("{count} links of the documents lead to files.");
        return Ok(());
    }
    Err(Failure::new(format!("\n  {}", wrong.join("\n  "))))
}

/// Whether a link is one to another site, or its file and heading exist.
fn leads_somewhere(document: &Path, text: &str, link: &str) -> Result<bool> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(true);
    }
    let (file, heading) = link.split_once('#').map_or((link, None), |(file, heading)| (file, Some(heading)));
    let target: PathBuf = match file {
        "" => document.to_owned(),
        file => document.parent().unwrap_or(document).join(file),
    };
    if !target.exists() {
        return Ok(false);
    }
    let Some(heading) = heading.filter(|_| target.extension().is_some_and(|extension| extension == "md"))
    else {
        return Ok(true);
    };
    let other;
    let text = if file.is_empty() {
        text
    } else {
        other = fs::read_to_string(&target).explain(target.display())?;
        &other
    };
    let headings = text.lines().filter(|line| line.starts_with('#'));
    Ok(headings.map(|line| anchor(line.trim_start_matches('#').trim())).any(|anchor| anchor == heading))
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

/// The targets of all links outside code.
fn links(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        // Code spans have no links.
        for part in line.split('`').step_by(2) {
            let mut rest = part;
            while let Some((_, behind)) = rest.split_once("](") {
                let Some((link, behind)) = behind.split_once(')') else { break };
                found.push(link);
                rest = behind;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_in_text_are_found_and_those_in_code_are_not() {
        let text = "[a](a.md) and [b](b.md#c), `[no](no.md)`, [`code`](code.rs)\n```\n[no](no.md)\n```\n";
        assert_eq!(links(text), ["a.md", "b.md#c", "code.rs"]);
    }

    #[test]
    fn anchor_is_the_heading_in_small_letters() {
        assert_eq!(anchor("What does not hold"), "what-does-not-hold");
        assert_eq!(anchor("§5.2 From a peer, to the relay"), "52-from-a-peer-to-the-relay");
    }
}
