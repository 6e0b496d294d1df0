//! The guide as a book: a page for each chapter, one page with all of them, and the reference of the package for
//! JavaScript in the folder `js`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::js;
use crate::process::{self, Explain, Failure, Result};
use crate::repo::Repo;
use crate::tools::{Tool, Toolbox};

/// Builds the book, and returns its folder.
///
/// # Errors
/// mdbook is missing or complains, or a link in the book leads nowhere.
pub(crate) fn build(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<PathBuf> {
    let path = toolbox.path_with(&[Tool::Mdbook])?;
    let program = process::find_in(&path, "mdbook").ok_or_else(|| Failure::new("mdbook is missing"))?;
    let book = repo.target.join("book");
    let mut build = Command::new(program);
    build.arg("build").arg(repo.root.join("docs/guide")).arg("--dest-dir").arg(&book);
    let output = build.output().explain("mdbook")?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(Failure::new(format!("mdbook complains:\n{said}")));
    }
    let dead = dead_links(&book)?;
    if !dead.is_empty() {
        return Err(Failure::new(dead.join("\n")));
    }
    js::reference(repo, toolbox, &book.join("js"))?;
    Ok(book)
}

/// The links in a folder of pages to pages that are not there.
fn dead_links(folder: &Path) -> Result<Vec<String>> {
    let mut dead = Vec::new();
    for entry in fs::read_dir(folder).explain(folder.display())? {
        let page = entry.explain(folder.display())?.path();
        if page.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let text = fs::read_to_string(&page).explain(page.display())?;
        let is_dead = |link: &&str| !folder.join(link).exists();
        let name = page.file_name().unwrap_or_default().display().to_string();
        dead.extend(links(&text).filter(is_dead).map(|link| format!("{name}: nothing is at {link}")));
    }
    Ok(dead)
}

/// The links of a page to other files of its folder.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("href=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0));
    let files = targets.filter(|target| !target.contains(':')).map(|target| match target.split_once('#') {
        Some((file, _)) => file,
        None => target,
    });
    files.filter(|file| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_other_files_are_found() {
        let page = r##"<a href="a.html#b">a</a> <a href="#c">c</a> <a href="https://d/">d</a> <a href="../e.rs">e</a>"##;
        assert_eq!(links(page).collect::<Vec<_>>(), ["a.html", "../e.rs"]);
    }
}
