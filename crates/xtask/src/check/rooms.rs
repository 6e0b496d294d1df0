//! Checks the structure inside crates: modules form no circle, central structs stay small, and a service of the
//! session knows the core and no other service.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::process::{Explain, Failure, Result};
use crate::repo::Repo;

/// The crates whose modules are checked, by their folder.
const CRATES: [&str; 11] = [
    "crates/wire",
    "crates/link",
    "crates/objects",
    "crates/order",
    "crates/roster",
    "crates/session",
    "crates/directory",
    "crates/peer",
    "crates/duel",
    "crates/sim",
    "relay",
];

/// Central structs: their crate, their file, their name, and the most fields and methods allowed. The goal is 60 methods;
/// where there are more, their number only falls.
const CENTRAL: [(&str, &str, &str, usize, usize); 4] = [
    ("crates/session", "session.rs", "Session", 20, 117),
    ("crates/roster", "roster.rs", "Roster", 20, 60),
    ("crates/peer", "peer.rs", "Peer", 20, 93),
    ("crates/sim", "world.rs", "World", 20, 184),
];

/// The services of the session. None of them may name `Session` or import another.
const SERVICES: [&str; 8] =
    ["calls", "desk", "divergence", "inputs", "interest", "orders", "ownership", "steps"];

/// The foundations of the services. None of them may name `Session`.
const FOUNDATIONS: [&str; 5] = ["clock", "context", "core", "kept", "left_out"];

/// The most methods that a central struct is to have.
const METHODS: usize = 60;

/// The most lines of a file.
const LINES: usize = 600;

/// Checks all crates.
///
/// # Errors
/// Lists the broken rules.
pub(super) fn check(repo: &Repo) -> Result<()> {
    let mut wrong = Vec::new();
    for name in CRATES {
        let modules = modules(&repo.root.join(name).join("src"))?;
        let circles = circles(&modules).into_iter();
        wrong.extend(circles.map(|circle| format!("{name}: {} import each other", circle.join(", "))));
        for (file, lines) in modules.values().flat_map(|module| &module.files) {
            let file = file.strip_prefix(&repo.root).unwrap_or(file).display().to_string();
            if *lines > LINES {
                wrong.push(format!("{file} has {lines} lines, more than {LINES}"));
            }
        }
        if name == "crates/session" {
            wrong.extend(strays(&modules).map(|stray| format!("{name}: {stray}")));
        }
    }
    for (folder, file, name, most, most_methods) in CENTRAL {
        let source = repo.root.join(folder).join("src");
        let path = source.join(file);
        let text = std::fs::read_to_string(&path).explain(path.display())?;
        match fields(&text, name) {
            Some(count) if count <= most => {}
            Some(count) => wrong.push(format!("{name} of {folder} has {count} fields, more than {most}")),
            None => wrong.push(format!("{file} of {folder} has no struct {name}")),
        }
        let mut count = 0;
        for (path, _) in modules(&source)?.values().flat_map(|module| &module.files) {
            count += methods(&std::fs::read_to_string(path).explain(path.display())?, name);
        }
        match count.cmp(&most_methods) {
            Ordering::Less if most_methods > METHODS => {
                wrong.push(format!("{name} of {folder} has {count} methods: let the check hold it to that"));
            }
            Ordering::Greater => {
                wrong.push(format!("{name} of {folder} has {count} methods, more than {most_methods}"));
            }
            _ => {}
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(Failure::new(format!("\n  {}", wrong.join("\n  ")))) }
}

/// The services and foundations of the session that know more than they may.
fn strays(modules: &BTreeMap<String, Module>) -> impl Iterator<Item = String> {
    let names_session = modules.iter().filter(|(name, module)| {
        SERVICES.iter().chain(&FOUNDATIONS).any(|each| each == name) && module.words.contains("Session")
    });
    let named = names_session.map(|(name, _)| format!("the service `{name}` names Session"));
    let services = modules.iter().filter(|(name, _)| SERVICES.contains(&&***name));
    let imported = services.flat_map(|(name, module)| {
        let others = module.imports.iter().filter(|other| SERVICES.contains(&&***other));
        others.map(move |other| format!("the service `{name}` imports the service `{other}`"))
    });
    named.chain(imported)
}

/// The files, identifiers and imports of a module, together with those of all modules below it.
#[derive(Debug, Default)]
struct Module {
    files: Vec<(PathBuf, usize)>,
    /// Every identifier in the module's code.
    words: BTreeSet<String>,
    /// The names after `crate::` in the module's code.
    imports: BTreeSet<String>,
}

fn modules(source: &Path) -> Result<BTreeMap<String, Module>> {
    let (mut modules, mut tests) = (BTreeMap::<String, Module>::new(), BTreeSet::new());
    for entry in std::fs::read_dir(source).explain(source.display())? {
        let path = entry.explain(source.display())?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if matches!(&*name, "lib" | "main") {
            let root = std::fs::read_to_string(&path).explain(path.display())?;
            tests.extend(tests_of(&root).map(str::to_owned));
        } else {
            read(&path, modules.entry(name).or_default())?;
        }
    }
    modules.retain(|name, _| !tests.contains(name));
    let names: BTreeSet<String> = modules.keys().cloned().collect();
    for (name, module) in &mut modules {
        module.imports.retain(|import| import != name && names.contains(import));
    }
    Ok(modules)
}

fn read(path: &Path, module: &mut Module) -> Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).explain(path.display())? {
            read(&entry.explain(path.display())?.path(), module)?;
        }
        return Ok(());
    }
    let source = std::fs::read_to_string(path).explain(path.display())?;
    module.files.push((path.to_owned(), source.lines().count()));
    note(&source, module);
    Ok(())
}

/// The modules of a crate that are compiled only for tests.
fn tests_of(root: &str) -> impl Iterator<Item = &str> {
    root.split("#[cfg(test)]\nmod ").skip(1).filter_map(|behind| behind.split([';', ' ']).next())
}

/// The source before the tests of a file.
pub(super) fn without_tests(source: &str) -> &str {
    let is_mod = |at: usize| {
        let mut lines = source[at..].lines().skip(1).skip_while(|line| line.starts_with("#["));
        lines.next().is_some_and(|line| line.starts_with("mod ") || line.starts_with("pub(crate) mod "))
    };
    let tests = source.match_indices("#[cfg(test)]\n").map(|(at, _)| at).find(|&at| is_mod(at));
    &source[..tests.unwrap_or(source.len())]
}

/// Notes the identifiers and imports of a source, without its tests and comments.
fn note(source: &str, module: &mut Module) {
    let code = without_tests(source);
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code = lines.collect::<Vec<_>>().join("\n");
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    module.words.extend(code.split(|letter| !is_word(letter)).map(str::to_owned));
    for (_, behind) in code.match_indices("crate::").map(|(at, found)| (at, &code[at + found.len()..])) {
        // A list of several imports begins with a brace.
        let end =
            if behind.starts_with('{') { behind.find(';') } else { behind.find(|letter| !is_word(letter)) };
        let list = &behind[..end.unwrap_or(behind.len())];
        let firsts = list.trim_matches(['{', '}']).split(',').map(|item| item.trim().split("::").next());
        module.imports.extend(firsts.flatten().map(str::to_owned));
    }
}

/// Groups of modules that can all be reached from each other.
fn circles(modules: &BTreeMap<String, Module>) -> Vec<Vec<String>> {
    let reach = |from: &str| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(module) = next.pop() {
            let imports = modules.get(&module).into_iter().flat_map(|module| &module.imports);
            next.extend(imports.filter(|&import| seen.insert(import.clone())).cloned());
        }
        seen
    };
    let reached: BTreeMap<&str, _> = modules.keys().map(|name| (&**name, reach(name))).collect();
    let mut circles = BTreeSet::new();
    for (name, seen) in &reached {
        if seen.contains(*name) {
            let back =
                seen.iter().filter(|other| reached.get(&***other).is_some_and(|seen| seen.contains(*name)));
            circles.insert(back.cloned().collect::<Vec<_>>());
        }
    }
    circles.into_iter().collect()
}

/// The number of a struct's fields; `None` when the source does not declare it.
fn fields(source: &str, name: &str) -> Option<usize> {
    let declarations = [format!("struct {name} {{\n"), format!("struct {name}<")];
    let (_, behind) = declarations.iter().find_map(|declaration| source.split_once(declaration.as_str()))?;
    let (body, _) = behind.split_once("\n}")?;
    Some(body.lines().filter(|line| !line.trim_start().starts_with("//") && line.contains(": ")).count())
}

/// The number of methods in a source's own `impl` blocks of a struct.
fn methods(source: &str, name: &str) -> usize {
    let is_start = |line: &str| {
        let rest = line.strip_prefix("impl").unwrap_or_default();
        let rest =
            rest.strip_prefix('<').and_then(|rest| rest.split_once("> ")).map_or(rest, |(_, rest)| rest);
        let rest = rest.trim_start().strip_prefix(name).unwrap_or_default();
        rest.starts_with(" {") || rest.starts_with('<') && !rest.contains(" for ")
    };
    let is_method = |line: &str| {
        let own = line.strip_prefix("    ").filter(|rest| !rest.starts_with([' ', '/']));
        let plain = own.map(|rest| rest.replace("pub(crate) ", "").replace("pub(super) ", ""));
        plain.is_some_and(|rest| rest.split('(').next().is_some_and(|head| head.contains("fn ")))
    };
    let mut is_inside = false;
    let mut count = 0;
    for line in without_tests(source).lines() {
        is_inside = (is_inside || is_start(line)) && line != "}";
        count += usize::from(is_inside && is_method(line));
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(imports: &[&str]) -> Module {
        Module { imports: imports.iter().map(|&import| import.to_owned()).collect(), ..Module::default() }
    }

    #[test]
    fn modules_that_import_each_other_are_a_circle() {
        let house = [("a", &["b"][..]), ("b", &["c"]), ("c", &["a", "d"]), ("d", &[])];
        let house = house.map(|(name, imports)| (name.to_owned(), module(imports))).into();
        assert_eq!(circles(&house), [["a", "b", "c"]]);
    }

    #[test]
    fn services_know_neither_each_other_nor_the_session() {
        let mut house: BTreeMap<_, _> = [
            ("desk", module(&["core"])),
            ("divergence", module(&["core", "desk"])),
            ("term", module(&["desk"])),
        ]
        .map(|(name, module)| (name.to_owned(), module))
        .into();
        assert!(strays(&house).eq(["the service `divergence` imports the service `desk`"]));
        house.insert("divergence".to_owned(), Module::default());
        assert_eq!(strays(&house).count(), 0);
        house.entry("clock".to_owned()).or_default().words.insert("Session".to_owned());
        assert!(strays(&house).eq(["the service `clock` names Session"]));
    }

    #[test]
    fn imports_are_read_from_code_alone() {
        let mut module = Module::default();
        note(
            "// crate::no\nuse crate::{one::Two, Three};\nfn f(x: crate::four::X) {}\n#[cfg(test)]\n#[expect(x)]\nmod tests { use crate::five; }",
            &mut module,
        );
        let imports: Vec<_> = module.imports.iter().map(String::as_str).collect();
        assert_eq!(imports, ["Three", "four", "one"]);
    }

    #[test]
    fn methods_are_counted_in_own_blocks() {
        let source = "impl A {\n    fn one() {\n        fn no() {}\n    }\n    /// fn no()\n    pub(crate) const fn two(&self) {}\n}\n\nimpl B for A {\n    fn \
                      no() {}\n}\nimpl<G> A<G> {\n    pub async fn three<F>(f: F) {}\n}\n#[cfg(test)]\nmod tests {\nimpl A {\n    fn no() {}\n}\n}\n";
        assert_eq!((methods(source, "A"), methods(source, "B")), (3, 0));
    }

    #[test]
    fn fields_are_counted() {
        let source = "pub struct A {\n    /// One: it.\n    one: u8,\n    pub(crate) two: u8,\n}\n";
        assert_eq!(fields(source, "A"), Some(2));
        assert_eq!(fields("struct A<G> {\n    one: G,\n}\n", "A"), Some(1));
        assert_eq!(fields(source, "B"), None);
        assert!(tests_of("mod a;\n#[cfg(test)]\nmod b;\nmod c;\n").eq(["b"]));
    }
}
