//! A relay that gets its certificate by itself, from Debian's Pebble: from a bare machine to a duel by HTTPS with one
//! command. Pebble's certificates last seconds here, so the relay renews them while two play.
//!
//! If Pebble is not installed, the test says so and ends.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use samovar_tests::chromium::{Chromium, Patience, Tab};
use samovar_tests::network::Network;
use samovar_tests::process::{Process, path_from};
use samovar_tests::scratch::Scratch;
use samovar_tests::wait;
use serde_json::json;

const RELAY: usize = 0;
const BOB: usize = 1;
const WITHIN: Duration = Duration::from_secs(60);
/// The seconds for which a certificate is valid. The relay renews it after two thirds of them.
const VALID: u32 = 12;

fn installed() -> bool {
    let programs = ["pebble", "pebble-challtestsrv"].map(|program| PathBuf::from("/usr/bin").join(program));
    let is_there = programs.iter().all(|program| program.exists());
    if !is_there {
        println!("SKIPPED, pebble is missing (Debian: apt-get install pebble)");
    }
    is_there
}

/// Starts a program whose output goes to a file of this name.
fn start(name: &str, files: &Scratch, mut command: Command) -> Process {
    let log = fs::File::create(files.path().join(name)).expect("a log");
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
    Process::start(name, &mut command)
}

fn log(name: &str, files: &Scratch) -> String {
    fs::read_to_string(files.path().join(name)).unwrap_or_default()
}

/// Writes the certificate of Pebble's own server, which the relay is told to trust, and Pebble's settings.
fn settings(files: &Scratch) -> PathBuf {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let file = |name: &str, text: String| {
        let path = files.path().join(name);
        fs::write(&path, text).expect("writes");
        path
    };
    let settings = json!({ "pebble": {
        "listenAddress": "127.0.0.1:14000",
        "managementListenAddress": "127.0.0.1:15000",
        "certificate": file("pebble.pem", own.cert.pem()),
        "privateKey": file("pebble.key", own.signing_key.serialize_pem()),
        "httpPort": 80,
        "tlsPort": 443,
        "ocspResponderURL": "",
        "externalAccountBindingRequired": false,
        "certificateValidityPeriod": VALID,
    }});
    file("pebble.json", settings.to_string())
}

/// A tab whose player has agreed to show its address to the others.
async fn tab(browser: &Chromium) -> Tab {
    let tab = browser.tab().await;
    let source = "try { localStorage.setItem('samovar.address', 'shown') } catch {}";
    tab.ask("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await;
    tab
}

async fn until(tab: &Tab, what: &str, log: impl Fn() -> String) {
    wait::until(what, WITHIN, async || match tab.try_evaluate(what).await? {
        serde_json::Value::Bool(true) => Ok(()),
        other => Err(format!("{other}\n{}\n{}", tab.console().join("\n"), log())),
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_command_leads_to_a_duel_by_https() {
    if !installed() {
        return;
    }
    let network = match Network::open(2) {
        Ok(network) => network,
        Err(why) => return println!("SKIPPED, no network for the test: {why}"),
    };
    let (here, files, data) = (network.place(RELAY), Scratch::new(), Scratch::new());
    let address = here.address().to_string();
    let mut names = here.command("/usr/bin/pebble-challtestsrv");
    names.args(["-defaultIPv4", &address, "-defaultIPv6", "", "-dns01", "127.0.0.1:8053"]);
    names.args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-management", "127.0.0.1:8055"]);
    let _names = start("names", &files, names);
    let mut pebble = here.command("/usr/bin/pebble");
    pebble.arg("-config").arg(settings(&files)).args(["-dnsserver", "127.0.0.1:8053"]);
    pebble.env("PEBBLE_VA_NOSLEEP", "1").env("PEBBLE_WFE_NONCEREJECT", "0");
    let _pebble = start("pebble", &files, pebble);
    wait::until("Pebble listens", WITHIN, async || {
        here.connect("127.0.0.1:14000").map(drop).map_err(|_| log("pebble", &files))
    })
    .await;

    let serve = || {
        let mut relay = here.command(path_from("SAMOVAR_RELAY_BIN", "target/release/samovar-relay"));
        relay.args(["serve", "--domain", "tea.example", "--data"]).arg(data.path());
        relay.args(["--acme-directory", "https://127.0.0.1:14000/dir", "--acme-ca"]);
        relay.arg(files.path().join("pebble.pem"));
        relay.env("SAMOVAR_WEB", path_from("SAMOVAR_WEB_DIR", "dist"));
        relay
    };
    let mut relay = start("relay", &files, serve());
    let said = || log("relay", &files);
    let deployed = |count: usize| {
        let said = said();
        let is_so = said.matches("DeployedNewCert").count() >= count;
        if is_so { Ok(()) } else { Err(said) }
    };
    wait::until("a certificate", WITHIN, async || deployed(1)).await;

    // The browser finds the name at the relay's place. It does not know Pebble's authority, which is new in each run.
    let rules = format!("--host-resolver-rules=MAP tea.example {address}");
    let flags = [&*rules, "--ignore-certificate-errors"];
    let ann = Chromium::launch(network.place(RELAY), Patience::Endless, &flags).await;
    let bob = Chromium::launch(network.place(BOB), Patience::Endless, &flags).await;
    let browsers = (ann, bob);
    let (ann, bob) = (tab(&browsers.0).await, tab(&browsers.1).await);
    // By HTTP, as a person types it.
    ann.open("http://tea.example/?new=TEA-4&name=Ann").await;
    until(&ann, "location.protocol === 'https:'", said).await;
    until(&ann, "samovar.status().members?.length === 1", said).await;
    bob.open("https://tea.example/?game=TEA-4&name=Bob").await;
    for tab in [&ann, &bob] {
        until(tab, "samovar.status().members?.length === 2", said).await;
    }
    // The relay renews the certificate, and a newcomer gets it while the others play on.
    wait::until("another certificate", WITHIN, async || deployed(2)).await;
    let third = Chromium::launch(network.place(BOB), Patience::Endless, &flags).await;
    let cy = tab(&third).await;
    cy.open("https://tea.example/?game=TEA-4&name=Cy").await;
    for tab in [&ann, &bob, &cy] {
        until(tab, "samovar.status().members?.length === 3", said).await;
    }
    relay.assert_running();
    assert!(!said().contains("panicked"), "{}", said());

    // The next start shows the certificate that was kept.
    relay.kill();
    drop(relay);
    let _relay = start("second", &files, serve());
    wait::until("the kept certificate", WITHIN, async || {
        let said = log("second", &files);
        if said.contains("DeployedCachedCert") { Ok(()) } else { Err(said) }
    })
    .await;
}
