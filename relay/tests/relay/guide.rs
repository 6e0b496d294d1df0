//! `docs/relay.md` is complete and right: it has every flag and every metric, and its examples work.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::process::{RelayProcess, Scratch, run};

const GUIDE: &str = include_str!("../../../docs/relay.md");
/// The service that the guide speaks of.
const UNIT: &str = include_str!("../../../deploy/systemd/samovar-relay.service");

/// The code blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let parts = GUIDE.split("\n```").collect::<Vec<_>>();
    let opened = parts.iter().filter_map(|part| part.strip_prefix(language)?.strip_prefix('\n'));
    opened.collect()
}

fn block(language: &str) -> &'static str {
    let [block] = blocks(language)[..] else { panic!("one block of {language}") };
    block
}

fn help() -> String {
    String::from_utf8(run(&["serve", "--help"]).stdout).expect("text")
}

/// The words of a text that begin with `start`, without the characters around them.
fn words<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let all = text.split(|letter: char| !is_part(letter));
    all.filter(|word| word.strip_prefix(start).is_some_and(|rest| !rest.trim_matches('-').is_empty()))
        .collect()
}

#[test]
fn the_guide_explains_exactly_the_existing_flags() {
    let help = help();
    let mut known = words(&help, "--");
    known.remove("--help");
    let explained = words(
        GUIDE.split("## Settings").nth(1).expect("settings").split("## Signals").next().expect("text"),
        "--",
    );
    for flag in &known {
        assert!(explained.contains(flag), "{flag} is not in docs/relay.md");
    }
    for flag in explained {
        assert!(help.contains(flag), "{flag} is explained, but there is none");
    }
    let variables = words(&help, "SAMOVAR_");
    for variable in &variables {
        assert!(GUIDE.contains(variable), "{variable} is not in docs/relay.md");
    }
    for variable in words(GUIDE, "SAMOVAR_") {
        assert!(variables.contains(variable), "{variable} is explained, but there is none");
    }
}

#[test]
fn the_guides_defaults_are_those_of_the_program() {
    let printed = String::from_utf8(run(&["serve", "--check", "--data", "d"]).stdout).expect("text");
    let printed: toml::Table = printed.parse().expect("TOML");
    for (key, value) in printed {
        let shown = match value {
            toml::Value::String(text) => text,
            toml::Value::Array(list) => {
                list.iter().filter_map(toml::Value::as_str).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        let row = GUIDE.lines().find(|line| line.starts_with(&format!("| `--{key}` |")));
        let row = row.unwrap_or_else(|| panic!("--{key} has no row"));
        let is_default = row.contains(&format!("| `{shown}` |"));
        assert!(is_default || key == "data" || shown.is_empty(), "{shown} is not the default in {row}");
    }
}

#[tokio::test]
async fn the_guide_explains_exactly_the_existing_metrics() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (_, text) = relay.get("/metrics").await;
    let names: BTreeSet<_> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(names.len() > 15, "{text}");
    for name in &names {
        assert!(GUIDE.contains(&format!("| `{name}` |")), "{name} is not in docs/relay.md");
    }
    for name in words(GUIDE, "samovar_").into_iter().filter(|name| *name != "samovar_relay") {
        assert!(names.contains(name), "{name} is explained, but there is none");
    }
    let labels = text.lines().filter_map(|line| line.split_once('{')?.1.split_once('}'));
    for (name, value) in
        labels.flat_map(|(labels, _)| labels.split(',')).filter_map(|pair| pair.split_once('='))
    {
        let value = value.trim_matches('"');
        let is_explained = GUIDE.contains(&format!("`{value}`")) || ["le", "version"].contains(&name);
        assert!(
            is_explained && GUIDE.contains(&format!("`{name}`")),
            "{name}={value} is not in docs/relay.md"
        );
    }
}

#[test]
fn the_guides_settings_and_unit_start_the_program() {
    let scratch = Scratch::new();
    let file = scratch.path().join("relay.toml");
    fs::write(&file, block("toml")).expect("writes");
    let unit = UNIT;
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let file = file.to_str().expect("text");
    let command = start.replace("/etc/samovar/relay.toml", file);
    let arguments: Vec<_> = command.split(' ').skip(1).chain(["--check"]).collect();
    let output = run(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let settings: toml::Table = String::from_utf8_lossy(&output.stdout).parse().expect("TOML");
    let limit = |line: &str| {
        line.strip_prefix("TimeoutStopSec=").map(|seconds| seconds.parse::<i64>().expect("seconds"))
    };
    let patience = unit.lines().find_map(limit).expect("a limit");
    let drain = settings["drain"].as_integer().expect("a number");
    assert!(patience > drain + 6, "systemd would kill it while it drains");
    let state = unit.lines().find_map(|line| line.strip_prefix("StateDirectory=")).expect("a directory");
    assert_eq!(settings["data"].as_str(), Some(format!("/var/lib/{state}").as_str()));
}

/// Runs a program that may not be installed. Returns its output if it fails.
fn complaint(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    (!output.status.success()).then(|| String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn systemd_and_nft_accept_the_guides_unit_and_rules() {
    let scratch = Scratch::new();
    let unit = scratch.path().join("samovar-relay.service");
    // The program has another path here.
    let program = env!("CARGO_BIN_EXE_samovar-relay");
    fs::write(&unit, UNIT.replace("/usr/local/bin/samovar-relay", program)).expect("writes");
    let said = complaint("systemd-analyze", &["verify", unit.to_str().expect("text")]);
    // Without a running systemd, systemd-analyze cannot check everything, and may fail. It names the unit only if it
    // does not understand the unit.
    assert!(said.as_ref().is_none_or(|said| !said.contains("samovar-relay.service")), "{said:?}");
    let rules = scratch.path().join("rules.nft");
    fs::write(&rules, block("nft")).expect("writes");
    let said = complaint("nft", &["--check", "--file", rules.to_str().expect("text")]);
    assert!(said.as_ref().is_none_or(|said| said.contains("Operation not permitted")), "{said:?}");
}
