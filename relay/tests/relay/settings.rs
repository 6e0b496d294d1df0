//! A relay's settings by flags, environment and file, and its messages about mistakes.

use std::fs;
use std::path::PathBuf;

use crate::peer::Peer;
use crate::process::{RelayProcess, Scratch, get_at, run_in};

const CHECK: [&str; 4] = ["serve", "--check", "--data", "d"];

/// Writes a file of settings.
fn file(scratch: &Scratch, text: &str) -> PathBuf {
    let path = scratch.path().join("relay.toml");
    fs::write(&path, text).expect("writes");
    path
}

/// Runs `--check` on a file with this text. Returns the settings that it prints, or the text of its error.
fn check(text: &str, variables: &[(&str, &str)], flags: &[&str]) -> Result<toml::Table, String> {
    let scratch = Scratch::new();
    let path = file(&scratch, text);
    let path = path.to_str().expect("text");
    let output = run_in(variables, &[&["serve", "--check", "--config", path], flags].concat());
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(out.parse().expect("what it prints is TOML"))
    } else {
        assert_eq!(out, "", "what is wrong is not printed as if it were right");
        Err(err.into_owned())
    }
}

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let text = "data = \"from-file\"\ngames = 1\ndrain = 1\nhandshake = 1\n";
    let settings = check(text, &[("SAMOVAR_DRAIN", "2"), ("SAMOVAR_HANDSHAKE", "2")], &["--handshake", "3"]);
    let settings = settings.expect("settings");
    for (key, value) in [("games", 1), ("drain", 2), ("handshake", 3), ("game-connections", 64)] {
        assert_eq!(settings[key].as_integer(), Some(value), "{key}");
    }
    assert_eq!(settings["data"].as_str(), Some("from-file"));
    let lists = [("SAMOVAR_ORIGIN", "https://a.example,https://b.example"), ("SAMOVAR_STAR", "false")];
    let settings = check("data = \"d\"", &lists, &["--referee"]).expect("settings");
    assert_eq!(settings["origin"].as_array().map(Vec::len), Some(2));
    assert_eq!(settings["referee"].as_str(), Some("REFEREE"));
}

#[test]
fn a_udp_port_needs_a_public_address() {
    let check = |text: &str| check(&format!("data = \"d\"\n{text}"), &[], &[]);
    for bad in [
        "udp = \"0.0.0.0:8080\"",
        "udp = \"[::]:8080\"",
        "public-address = [\"203.0.113.5\"]",
        "udp = \"0.0.0.0:8080\"\npublic-address = [\"203.0.113.5\", \"203.0.113.6\"]",
        "udp = \"0.0.0.0:8080\"\npublic-address = [\"0.0.0.0\"]",
    ] {
        let said = check(bad).expect_err(bad);
        assert!(said.contains("--public-address") && said.contains("--udp"), "{said}");
    }
    for good in [
        "udp = \"203.0.113.5:8080\"",
        "udp = \"0.0.0.0:8080\"\npublic-address = [\"203.0.113.5:3478\"]",
        "udp = \"[::]:8080\"\npublic-address = [\"203.0.113.5\", \"2001:db8::5\"]",
    ] {
        check(good).expect(good);
    }
}

#[test]
fn the_output_of_check_is_read_as_the_same_settings() {
    let flags =
        ["--data", "d", "--origin", "https://tea.example", "--game-packets", "0", "--log-format", "json"];
    let first = check("", &[], &flags).expect("settings");
    let again = check(&first.to_string(), &[], &[]).expect("settings");
    assert_eq!(first, again);
}

#[test]
fn a_mistake_in_the_file_names_file_line_and_key() {
    for (text, words) in [
        ("data = \"d\"\n\nlsten = \"0.0.0.0:1\"", ["relay.toml", "line 3", "`lsten`", "`listen`"]),
        ("data = \"d\"\ngames = 1000000", ["relay.toml", "line 2", "games", "from 0 to 10000"]),
        ("data = \"d\"\norigin = [\"tea\"]", ["relay.toml", "line 2", "tea", "https://"]),
        ("data = ", ["relay.toml", "line 1", "data", "string"]),
    ] {
        let error = check(text, &[], &[]).expect_err(text);
        assert!(words.iter().all(|word| error.contains(word)), "{words:?} are not in {error}");
    }
    let missing = run_in(&[], &["serve", "--config", "/nowhere/at/all.toml"]);
    let text = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(text.contains("/nowhere/at/all.toml") && text.contains("--config"), "{text}");
}

#[test]
fn a_mistake_in_a_flag_or_a_variable_says_what_is_allowed() {
    let flag = run_in(&[], &[&CHECK[..], &["--handshake", "0"]].concat());
    let variable = run_in(&[("SAMOVAR_HANDSHAKE", "soon")], &CHECK);
    for output in [flag, variable] {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(text.contains("--handshake") && text.contains("from 1 to 600"), "{text}");
    }
    let filter = run_in(&[], &[&CHECK[..], &["--log", "samovar=loud"]].concat());
    assert!(String::from_utf8_lossy(&filter.stderr).contains("samovar=loud"));
    let star = run_in(&[], &[&CHECK[..], &["--star"]].concat());
    assert!(String::from_utf8_lossy(&star.stderr).contains("--referee"));
    let nowhere = run_in(&[], &["serve"]);
    let text = String::from_utf8_lossy(&nowhere.stderr).into_owned();
    assert!(!nowhere.status.success() && text.contains("--data") && text.contains("SAMOVAR_DATA"), "{text}");
}

#[tokio::test]
async fn a_relay_with_a_metrics_address_shows_them_only_there() {
    let data = Scratch::new();
    let path = file(&data, "metrics = \"127.0.0.1:0\"\n");
    let mut relay = RelayProcess::start_with(data.path(), &["--config", path.to_str().expect("text")]);
    let line = relay.line();
    let address =
        line.trim().strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("not the promised line: {line}"));
    let (head, text) = get_at(address, "/metrics").await;
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(text.contains("samovar_games 0"), "{text}");
    assert_eq!(get_at(address, "/readyz").await.1, "ready\n");
    assert!(relay.get("/metrics").await.0.starts_with("http/1.1 404"));
    assert_eq!(relay.get("/healthz").await.1, "ok\n");
}

#[tokio::test]
async fn json_logs_name_no_addresses_unless_asked() {
    for addresses in [false, true] {
        let data = Scratch::new();
        let mut flags = vec!["--log-format", "json", "--log", "debug"];
        flags.extend(addresses.then_some("--log-addresses"));
        let relay = RelayProcess::start_logged(data.path(), &flags);
        let from = ("x-forwarded-for", "203.0.113.7");
        drop(Peer::connect_with(&relay, &[from]).await.expect("let in"));
        relay.metric_becomes("samovar_connections", |connections| connections == 0.0).await;
        let log = tokio::task::spawn_blocking(|| relay.log()).await.expect("no panic");
        for line in log.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            assert!(line["fields"]["message"].is_string() && line["level"].is_string(), "{line}");
        }
        assert!(log.contains("a peer connects"), "{log}");
        assert_eq!(log.contains("203.0.113.7"), addresses, "{log}");
        assert!(!log.contains("127.0.0.1"), "{log}");
    }
}
