//! The page's download size, against the budget.

use std::fmt::Write;
use std::path::Path;

use crate::compress::{self, Sizes};
use crate::page::{self, Optimised};
use crate::process::{Failure, Result};
use crate::repo::Repo;
use crate::tools::Toolbox;
use crate::{client, js};

/// Bytes that the whole page may take after Brotli: both games, and all orders of a session.
const BUDGET: u64 = 350_000;
/// Bytes that the package for JavaScript may take: for objects, messages, asks and rejoin, and with orders and a world.
const JS_BUDGETS: [(bool, u64, &str); 2] = [
    (false, 218_000, "the package for JavaScript"),
    (true, 261_000, "the package for JavaScript, with orders and worlds,"),
];
/// Bytes that a client alone may take: its module and its script.
const CLIENT_BUDGET: u64 = 150_000;

/// Builds the page if needed and prints its size.
///
/// # Errors
/// The build fails, or the page is above the budget.
pub(crate) fn size(repo: &Repo) -> Result<()> {
    let toolbox = Toolbox::new(repo)?;
    page::build(repo, &toolbox, Optimised::Always)?;
    measure(repo)?;
    measure_client(repo, &toolbox)?;
    measure_js(&js::build(repo, &toolbox)?)
}

/// Builds a client alone, and prints its size.
///
/// # Errors
/// The build fails, or the client is above its budget.
pub(crate) fn measure_client(repo: &Repo, toolbox: &Toolbox<'_>) -> Result<()> {
    let client = client::build(repo, toolbox)?;
    println!(
        "A client alone, without any feature of the session: {} bytes with Brotli.",
        grouped(client.sent)
    );
    within(client.sent, CLIENT_BUDGET, "a client alone")
}

/// Prints what a page loads of the package for JavaScript.
///
/// # Errors
/// The package is not built, or it is above a budget.
pub(crate) fn measure_js(dist: &Path) -> Result<()> {
    for (is_full, budget, what) in JS_BUDGETS {
        let files = js::loaded(dist, is_full);
        let sent = files.iter().map(|file| compress::would_send(file)).sum::<Result<u64>>()?;
        println!("Of {what} a page loads {} bytes with Brotli.", grouped(sent));
        within(sent, budget, what)?;
    }
    Ok(())
}

/// Prints the size of the page in `dist/`.
///
/// # Errors
/// There is no page, or the page is above the budget.
pub(crate) fn measure(repo: &Repo) -> Result<()> {
    let mut files = Vec::new();
    for file in page::files_of(repo)? {
        let name = file.strip_prefix(page::directory(repo)).unwrap_or(&file).display().to_string();
        files.push((name, compress::sizes(&file)?));
    }
    let total = Sizes {
        plain: files.iter().map(|(_, sizes)| sizes.plain).sum(),
        sent: files.iter().map(|(_, sizes)| sizes.sent).sum(),
    };
    print!("{}", table(&files, &total));
    within(total.sent, BUDGET, "the page")
}

fn within(sent: u64, budget: u64, what: &str) -> Result<()> {
    let over = sent.saturating_sub(budget);
    let (over, budget) = (Some(over).filter(|over| *over > 0), grouped(budget));
    over.map_or(Ok(()), |over| {
        Err(Failure::new(format!("{what} is {} bytes above its budget of {budget}", grouped(over))))
    })
}

fn table(files: &[(String, Sizes)], total: &Sizes) -> String {
    let width = files.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(5);
    let mut lines = format!("{:width$}  {:>12}  {:>12}\n", "file", "bytes", "with Brotli");
    let total_line = [("total".to_owned(), *total)];
    for (name, sizes) in files.iter().chain(&total_line) {
        let (plain, sent) = (grouped(sizes.plain), grouped(sizes.sent));
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{name:width$}  {plain:>12}  {sent:>12}");
    }
    let percent = total.sent * 100 / BUDGET;
    let _ = writeln!(lines, "{percent} % of the budget of {} bytes", grouped(BUDGET));
    lines
}

/// A number with a comma after every third digit.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1_000, 1_234_567].map(grouped)[..]);
    }

    #[test]
    fn the_table_ends_with_the_total_and_its_share() {
        let files = [("index.html".to_owned(), Sizes { plain: 4_000, sent: 1_000 })];
        let shown = table(&files, &Sizes { plain: 400_000, sent: 155_000 });
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[1], "index.html         4,000         1,000");
        assert_eq!(lines[2], "total            400,000       155,000");
        assert_eq!(lines[3], format!("44 % of the budget of {} bytes", grouped(BUDGET)));
    }
}
