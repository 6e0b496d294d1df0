//! The files of `deploy/` fit the program: its settings, its metrics, its service.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{RelayProcess, Scratch, run};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy")
}

fn file(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The words of a text that begin with `start`.
fn words<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let all = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-_".contains(letter)));
    all.filter(|word| word.len() > start.len() && word.starts_with(start)).collect()
}

fn help() -> String {
    String::from_utf8(run(&["serve", "--help"]).stdout).expect("text")
}

#[tokio::test]
async fn dashboards_and_alerts_name_metrics_that_the_relay_exports() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (_, text) = relay.get("/metrics").await;
    let exported: BTreeSet<_> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    for name in ["grafana/dashboards/samovar.json", "prometheus/alerts.yml"] {
        let text = file(name);
        let named = words(&text, "samovar_");
        assert!(named.len() > 5, "{name}: {named:?}");
        for metric in named {
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| metric.strip_suffix(end));
            let is_exported =
                exported.contains(metric) || family.is_some_and(|family| exported.contains(family));
            assert!(is_exported, "{name} names {metric}, which the relay does not export");
        }
    }
    // Each value of a label that an alert waits for can come.
    let alerts = file("prometheus/alerts.yml");
    let labels =
        alerts.split('{').filter_map(|rest| rest.split_once('}')).filter(|(inner, _)| inner.contains('='));
    for (inner, _) in labels.filter(|(inner, _)| !inner.contains("job=")) {
        let (label, values) = inner.split_once('=').expect("a value");
        for value in values.trim_matches(|letter| "~\"".contains(letter)).split('|') {
            assert!(text.contains(&format!("{label}=\"{value}\"")), "no metric has {label}={value}");
        }
    }
    // Everything that can be watched is on the dashboard.
    let dashboard = file("grafana/dashboards/samovar.json");
    for metric in exported {
        assert!(dashboard.contains(metric), "{metric} is not on the dashboard");
    }
    serde_json::from_str::<serde_json::Value>(&dashboard).expect("JSON");
}

#[test]
fn promtool_accepts_the_alerts() {
    let check = |arguments: &[&str]| {
        let output = Command::new("promtool").args(["check"]).args(arguments).current_dir(folder()).output();
        let Ok(output) = output else { return };
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    };
    check(&["rules", "prometheus/alerts.yml"]);
    check(&["config", "prometheus/prometheus.yml"]);
}

#[test]
fn settings_of_containers_exist() {
    let help = help();
    let (variables, flags) = (words(&help, "SAMOVAR_"), words(&help, "--"));
    for name in ["Dockerfile", "compose.yml", "compose.watch.yml"] {
        let text = file(name);
        for variable in words(&text, "SAMOVAR_") {
            assert!(variables.contains(variable), "{name} sets {variable}, which is no setting");
        }
        let program = text.lines().filter(|line| ["CMD", "command:"].iter().any(|word| line.contains(word)));
        for flag in program.flat_map(|line| words(line, "--")) {
            assert!(
                flags.contains(flag) || ["--interval", "--timeout", "--start-period"].contains(&flag),
                "{name}: {flag}"
            );
        }
    }
}

#[test]
fn the_settings_of_kubernetes_are_valid() {
    let text = file("kubernetes/relay.yaml");
    let block =
        text.split("relay.toml: |\n").nth(1).expect("settings").split("\n---").next().expect("an end");
    let settings: String = block.lines().map(|line| format!("{}\n", line.trim_start())).collect();
    let scratch = Scratch::new();
    let file = scratch.path().join("relay.toml");
    std::fs::write(&file, settings).expect("writes");
    let output = run(&["serve", "--check", "--config", file.to_str().expect("text")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn init_writes_settings_and_a_service_that_fit() {
    let root = Scratch::new();
    let place = root.path().to_str().expect("text");
    let arguments = [
        "init",
        "tea.example",
        "--root",
        place,
        "--address",
        "203.0.113.5",
        "--address",
        "2001:db8::5",
        "--contact",
        "ann@tea.example",
    ];
    let output = run(&arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let config = root.path().join("etc/samovar/relay.toml");
    let unit = root.path().join("etc/systemd/system/samovar-relay.service");
    let program = root.path().join("usr/local/bin/samovar-relay");
    for path in [&config, &unit, &program] {
        assert!(path.is_file(), "{} is missing", path.display());
        assert!(said.contains(&path.display().to_string()), "{} is not in {said}", path.display());
    }
    let check = run(&["serve", "--check", "--config", config.to_str().expect("text")]);
    let settings: toml::Table = String::from_utf8_lossy(&check.stdout).parse().expect("TOML");
    assert_eq!(settings["domain"].as_array().map(Vec::len), Some(1));
    assert_eq!((settings["listen"].as_str(), settings["udp"].as_str()), (Some("[::]:443"), Some("[::]:443")));
    assert_eq!(settings["acme-contact"].as_str(), Some("ann@tea.example"));
    let text = std::fs::read_to_string(&unit).expect("a unit");
    assert!(text.contains("ExecStart=/usr/local/bin/samovar-relay serve --config /etc/samovar/relay.toml\n"));
    // It overwrites nothing by itself.
    std::fs::write(&config, "mine").expect("writes");
    let again = run(&arguments);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"), "it says how");
    assert_eq!(std::fs::read_to_string(&config).expect("mine"), "mine");
    assert!(run(&[&arguments[..], &["--force"]].concat()).status.success());
    assert_ne!(std::fs::read_to_string(&config).expect("its own"), "mine");
    assert_eq!(std::fs::read_to_string(config.with_extension("toml.old")).expect("kept"), "mine");
}

#[test]
fn init_refuses_what_is_no_name() {
    for domain in ["https://tea.example", "203.0.113.5", "tea example", "tea.example:443"] {
        let output = run(&["init", domain, "--root", "/nonexistent"]);
        assert!(!output.status.success(), "{domain}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("a name is like tea.example"), "{domain}");
    }
}

#[test]
fn completions_and_the_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let script = String::from_utf8(run(&["completions", shell]).stdout).expect("text");
        assert!(script.contains("samovar-relay") && script.contains("token-key"), "{shell}");
    }
    let manual = String::from_utf8(run(&["man"]).stdout).expect("text");
    for word in
        [".TH", "SAMOVAR-RELAY SERVE", "SAMOVAR-RELAY ADMIN", "token\\-key", "SAMOVAR-RELAY ADMIN KICK"]
    {
        assert!(manual.contains(word), "{word} is not in the manual");
    }
}
