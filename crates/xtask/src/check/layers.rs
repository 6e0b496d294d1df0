//! The layers: the allowed dependencies between crates, and the crates that the core must never reach.

use crate::process::{self, Failure, Result};
use crate::repo::{Package, Repo};

/// One crate's place in the layers.
struct Room {
    name: &'static str,
    /// A crate may depend on crates of lower floors only, so crates of one floor never see each other.
    floor: u8,
    /// Whether the crate must do no input or output of its own.
    sans_io: bool,
}

const fn core(name: &'static str, floor: u8) -> Room {
    Room { name, floor, sans_io: true }
}

const fn driver(name: &'static str, floor: u8) -> Room {
    Room { name, floor, sans_io: false }
}

/// A procedural macro: it runs in the compiler, so there is nothing of it to test in a browser.
const fn tool(name: &'static str, floor: u8) -> Room {
    Room { name, floor, sans_io: false }
}

/// All crates, from the lowest floor up.
const HOUSE: [Room; 22] = [
    core("samovar-wire", 0),
    tool("samovar-derive", 0),
    core("samovar-link", 1),
    core("samovar-objects", 1),
    core("samovar-order", 1),
    core("samovar-roster", 1),
    core("samovar-session", 2),
    core("samovar-directory", 2),
    core("samovar-peer", 3),
    core("samovar-duel", 3),
    core("samovar-sim", 4),
    driver("samovar-peer-web", 4),
    driver("samovar-peer-native", 4),
    driver("samovar", 5),
    driver("samovar-web", 6),
    driver("samovar-relay", 6),
    driver("samovar-tests", 7),
    driver("samovar-xtask", 7),
    driver("samovar-examples", 8),
    driver("samovar-whiteboard", 8),
    driver("samovar-orders", 8),
    driver("samovar-js", 6),
];

/// Crates with a stricter rule: each may depend on the listed crates of the workspace only. The directory needs the
/// roster's rules of warrants, and no other crate of that floor.
const ONLY: [(&str, &[&str]); 1] = [("samovar-directory", &["samovar-wire", "samovar-roster"])];

/// Crates that a sans-I/O crate must not reach by any chain of dependencies.
const BANNED: [&str; 7] = ["tokio", "web-sys", "js-sys", "wasm-bindgen", "getrandom", "mio", "socket2"];

/// The sans-I/O packages that the workspace has.
pub(super) fn sans_io(repo: &Repo) -> impl Iterator<Item = &'static str> {
    HOUSE.iter().filter(|room| room.sans_io && repo.package(room.name).is_some()).map(|room| room.name)
}

/// Checks the whole workspace.
///
/// # Errors
/// Lists every dependency that breaks a rule.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut wrong = misplaced(&repo.packages);
    for name in sans_io(repo) {
        // For one package `cargo tree` resolves only its own features: in the whole workspace the drivers would switch
        // on features that the core leaves off.
        let mut tree = repo.cargo("tree");
        tree.args([
            "--locked",
            "--edges=normal,no-proc-macro",
            "--target=all",
            "--prefix=depth",
            "--format={p}",
        ]);
        wrong.extend(banned_chains(&process::read(tree.args(["--package", name]))?));
    }
    if wrong.is_empty() {
        println!("{} packages stand where they belong.", repo.packages.len());
        return Ok(());
    }
    Err(Failure::new(format!("\n  {}", wrong.join("\n  "))))
}

/// Every direct dependency that does not point down.
fn misplaced(packages: &[Package]) -> Vec<String> {
    let mut wrong = Vec::new();
    for package in packages {
        let Some(room) = room(&package.name) else {
            wrong.push(format!("{} has no place in the house: give it one in check/layers.rs", package.name));
            continue;
        };
        let only = ONLY.iter().find(|(name, _)| *name == package.name).map(|(_, only)| *only);
        for dependency in &package.dependencies {
            let Some(below) = self::room(dependency) else { continue };
            let is_allowed = only.is_none_or(|only| only.contains(&dependency.as_str()));
            if below.floor >= room.floor || !is_allowed {
                wrong.push(format!("{} must not depend on {dependency}", package.name));
            }
        }
    }
    wrong
}

fn room(name: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.name == name)
}

/// Every chain of dependencies that ends at a banned crate, like `a -> b -> tokio`.
///
/// `tree` is the output of `cargo tree --prefix=depth`: in each line the depth, the name, and more.
fn banned_chains(tree: &str) -> Vec<String> {
    let mut chain: Vec<&str> = Vec::new();
    let mut wrong = Vec::new();
    for line in tree.lines() {
        let start = line.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(line.len());
        let (Ok(depth), Some(name)) = (line[..start].parse(), line[start..].split(' ').next()) else {
            continue;
        };
        chain.truncate(depth);
        chain.push(name);
        if BANNED.contains(&name) {
            wrong.push(format!("{} is no part of the core", chain.join(" -> ")));
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        let dependencies = dependencies.iter().map(|&name| name.to_owned()).collect();
        Package { name: name.to_owned(), dependencies, ..Package::default() }
    }

    #[test]
    fn the_designed_layers_are_accepted() {
        let packages = [
            package("samovar-wire", &["bincode"]),
            package("samovar-link", &["samovar-wire"]),
            package("samovar-session", &["samovar-wire", "samovar-link", "samovar-roster"]),
            package("samovar-directory", &["samovar-wire", "samovar-roster", "ed25519-dalek"]),
            package("samovar-peer", &["samovar-session", "samovar-directory"]),
            package("samovar-relay", &["samovar-directory", "samovar-peer-native", "samovar-duel", "tokio"]),
        ];
        assert_eq!(misplaced(&packages), [""; 0]);
    }

    #[test]
    fn a_dependency_on_the_same_or_a_higher_floor_is_reported() {
        let packages = [
            package("samovar-objects", &["samovar-roster"]),
            package("samovar-wire", &["samovar-link"]),
            package("samovar-session", &["samovar-directory"]),
            package("samovar-directory", &["samovar-link"]),
            package("samovar-attic", &[]),
        ];
        let wrong = misplaced(&packages);
        assert_eq!(wrong.len(), packages.len(), "{wrong:?}");
        assert!(wrong[0].contains("samovar-objects must not depend on samovar-roster"));
        assert!(wrong[4].contains("samovar-attic has no place"));
    }

    #[test]
    fn a_banned_crate_is_found_at_any_depth_with_its_chain() {
        let tree = "0samovar-roster v0.1.0 (/work)\n1samovar-wire v0.1.0 (/work)\n2bincode v2.0.1\n\
                    1ed25519-dalek v2.2.0\n2rand_core v0.6.4\n3getrandom v0.2.16\n1sha2 v0.10.9 (*)\n";
        assert_eq!(
            banned_chains(tree),
            ["samovar-roster -> ed25519-dalek -> rand_core -> getrandom is no part of the core"]
        );
        assert!(banned_chains("0samovar-wire v0.1.0\n1tokio-like v1.0.0\n").is_empty());
    }
}
