//! A relay that speaks HTTPS by itself.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

use crate::process::{RelayProcess, Scratch, refusal, run};

const WITHIN: Duration = Duration::from_secs(20);

/// Makes a certificate for this machine, and writes it and its key to files.
fn certify(folder: &Path) -> CertificateDer<'static> {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    fs::write(folder.join("key.pem"), own.signing_key.serialize_pem()).expect("writes");
    fs::write(folder.join("cert.pem"), own.cert.pem()).expect("writes");
    own.cert.der().clone()
}

/// Asks the relay for a path, and trusts this certificate alone. Returns the answer; `None` when the relay shows
/// another certificate.
async fn get(relay: &RelayProcess, path: &str, trusted: &CertificateDer<'static>) -> Option<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the usual versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(&relay.address).await.expect("it listens");
    let name = ServerName::try_from("127.0.0.1").expect("an address");
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", relay.address);
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("it answers");
    Some(String::from_utf8_lossy(&answer).into_owned())
}

fn serve(data: &Path, files: &Path, more: &[&str]) -> RelayProcess {
    let (cert, key) = (files.join("cert.pem"), files.join("key.pem"));
    let (cert, key) = (cert.display().to_string(), key.display().to_string());
    let more = [&["--tls-cert", &cert, "--tls-key", &key], more].concat();
    RelayProcess::start_with(data, &more)
}

/// The authority takes the connection and says nothing.
#[tokio::test]
async fn silent_authority_is_told_to_the_operator() {
    let data = Scratch::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let directory = format!("https://{}/dir", silent.local_addr().expect("bound"));
    let more = ["--domain", "tea.example", "--acme-directory", &directory];
    let path = data.path().join("log");
    let _relay = RelayProcess::start_logging_to(fs::File::create(&path).expect("a file"), data.path(), &more);
    let told = async {
        while !fs::read_to_string(&path).expect("text").contains("there is still no certificate") {
            sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(timeout(2 * WITHIN, told).await.is_ok(), "the operator hears nothing");
    assert!(fs::read_to_string(&path).expect("text").contains(&directory));
}

#[tokio::test]
async fn relay_speaks_https_and_takes_new_certificates() {
    let (data, files) = (Scratch::new(), Scratch::new());
    let first = certify(files.path());
    let relay = serve(data.path(), files.path(), &["--referee", "TEA-TIME"]);
    // Callers that begin no handshake, or another one, keep nobody waiting.
    let idle = TcpStream::connect(&relay.address).await.expect("it listens");
    let mut plain = TcpStream::connect(&relay.address).await.expect("it listens");
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.expect("it reads");
    let answer = get(&relay, "/healthz", &first).await.expect("the first certificate");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok\n"), "{answer}");
    let mut rest = Vec::new();
    timeout(WITHIN, plain.read_to_end(&mut rest)).await.expect("it hangs up").ok();
    assert!(!rest.starts_with(b"HTTP"), "no answer without TLS");
    drop(idle);
    // The referee reaches its relay.
    let listed = async {
        while !get(&relay, "/api/games", &first).await.is_some_and(|games| games.contains("TEA-TIME")) {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(WITHIN, listed).await.expect("the referee's table");

    let second = certify(files.path());
    let renewed = async {
        while get(&relay, "/healthz", &second).await.is_none() {
            sleep(Duration::from_millis(200)).await;
        }
    };
    timeout(WITHIN, renewed).await.expect("the second certificate");
    assert!(get(&relay, "/healthz", &first).await.is_none(), "the first is gone");

    fs::write(files.path().join("cert.pem"), "no certificate").expect("writes");
    relay.signal("HUP");
    sleep(Duration::from_millis(500)).await;
    assert!(get(&relay, "/healthz", &second).await.is_some(), "a mistake changes nothing");
    // The look at the files needs two seconds at least, so this is the signal's work.
    let third = certify(files.path());
    relay.signal("HUP");
    let at_once = async {
        while get(&relay, "/healthz", &third).await.is_none() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(Duration::from_millis(1_500), at_once).await.expect("the third certificate");
}

#[tokio::test]
async fn caller_that_never_greets_is_cut() {
    let (data, files) = (Scratch::new(), Scratch::new());
    certify(files.path());
    let relay = serve(data.path(), files.path(), &["--handshake", "1"]);
    let mut idle = TcpStream::connect(&relay.address).await.expect("it listens");
    // The beginning of a greeting that never ends.
    idle.write_all(&[0x16, 3, 1, 2, 0, 1]).await.expect("it reads");
    let mut rest = Vec::new();
    timeout(WITHIN, idle.read_to_end(&mut rest)).await.expect("it is cut").ok();
}

#[test]
fn checked_settings_of_a_name_are_those_in_force() {
    let data = Scratch::new();
    let directory = data.path().display().to_string();
    let check = |more: &[&str]| {
        let all = [&["serve", "--check", "--data", &directory, "--domain", "Tea.example"], more].concat();
        String::from_utf8(run(&all).stdout).expect("text")
    };
    let said = check(&[]);
    for line in [r#"listen = "[::]:443""#, r#"redirect = "[::]:80""#, r#"domain = ["tea.example"]"#] {
        assert!(said.lines().any(|each| each == line), "{line}: {said}");
    }
    let file = data.path().join("relay.toml");
    fs::write(&file, &said).expect("writes");
    assert_eq!(check(&["--config", &file.display().to_string()]), said, "the file says the same");
    let elsewhere = check(&["--listen", "127.0.0.1:8443"]);
    assert!(elsewhere.contains(r#"listen = "127.0.0.1:8443""#), "{elsewhere}");
    assert!(!elsewhere.contains("redirect"), "no port 80 behind another's: {elsewhere}");
}

#[test]
fn wrong_settings_of_tls_are_refused_with_a_remedy() {
    let (data, files, others) = (Scratch::new(), Scratch::new(), Scratch::new());
    certify(files.path());
    certify(others.path());
    let path = |folder: &Scratch, name: &str| folder.path().join(name).display().to_string();
    let (cert, key) = (path(&files, "cert.pem"), path(&files, "key.pem"));
    let (other, missing) = (path(&others, "key.pem"), path(&files, "missing.pem"));
    for (flags, words) in [
        (vec!["--tls-cert", &cert], "--tls-key go together"),
        (vec!["--tls-key", &key], "--tls-key go together"),
        (vec!["--tls-cert", &cert, "--tls-key", &other], "key.pem cannot be used for TLS"),
        (
            vec!["--tls-cert", &cert, "--tls-key", &key, "--domain", "tea.example"],
            "--tls-cert goes without it",
        ),
        (vec!["--acme-ca", &cert], "--acme-ca go with --domain"),
        (vec!["--redirect", "127.0.0.1:0"], "--redirect leads to HTTPS"),
        (vec!["--domain", "https://tea.example"], "a name is like tea.example"),
        (vec!["--domain", "192.0.2.1"], "a name is like tea.example"),
        (vec!["--domain", "tea.example", "--acme-ca", &missing], "missing.pem"),
        (vec!["--domain", "tea.example", "--acme-ca", &key], "no certificate in PEM"),
        (vec!["--tls-cert", &missing, "--tls-key", &key], "missing.pem cannot be used for TLS"),
        (vec!["--tls-cert", &key, "--tls-key", &key], "it holds no certificate in PEM"),
        (vec!["--tls-cert", &cert, "--tls-key", &cert], "cert.pem cannot be used for TLS"),
    ] {
        let said = refusal("127.0.0.1:0", data.path(), &flags);
        assert!(said.contains(words), "{flags:?}: {said}");
    }
}
