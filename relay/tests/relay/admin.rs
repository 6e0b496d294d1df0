//! An operator who asks a running relay, and orders it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use samovar_wire::relay::{FromRelay, Purpose, Refusal};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::peer::{Heard, Peer, code};
use crate::process::{RelayProcess, Scratch, program, run};
use crate::strangers::from;

const EVE: &str = "203.0.113.8";
const BOB: &str = "203.0.113.9";

fn join() -> Purpose {
    Purpose::Join(code("TEA"))
}

const fn refused(refusal: Refusal) -> Heard {
    Heard::Control(FromRelay::Refused(refusal))
}

/// Gives an order, and returns the answer; or the text of the error.
fn order(data: &Path, words: &[&str]) -> Result<Value, String> {
    let data = data.to_str().expect("text");
    let output = run(&[&["admin", "--json", "--data", data][..], words].concat());
    let text = String::from_utf8(output.stdout).expect("text");
    if output.status.success() {
        return Ok(text.parse().expect("JSON"));
    }
    Err(String::from_utf8(output.stderr).expect("text"))
}

fn done(data: &Path, words: &[&str]) -> String {
    let answer = order(data, words).unwrap_or_else(|error| panic!("{words:?}: {error}"));
    answer["done"].as_str().unwrap_or_else(|| panic!("{words:?}: {answer}")).to_owned()
}

/// Sends the socket these bytes, and returns its answer.
fn said_to(data: &Path, bytes: &[u8]) -> Value {
    let mut stream = UnixStream::connect(data.join("admin.sock")).expect("it listens");
    // The relay may answer, and close, before it has read all.
    stream.write_all(bytes).ok();
    stream.shutdown(std::net::Shutdown::Write).ok();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).expect("an answer");
    line.parse().expect("JSON")
}

#[tokio::test]
async fn the_operator_sees_games_and_members_and_puts_one_out() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let (mut eve, e) = from(&relay, EVE).await.go_in(join()).await;
    host.name(&[h.pass.peer, e.pass.peer]).await;
    let games = order(data.path(), &["games"]).expect("an answer");
    assert_eq!(games["games"].as_array().map(Vec::len), Some(1));
    assert_eq!((&games["games"][0]["code"], &games["games"][0]["connected"]), (&json!("TEA"), &json!(2)));
    let members = order(data.path(), &["members", "tea"]).expect("an answer");
    let find = |peer: u32| {
        let all = members["members"].as_array().expect("members");
        all.iter()
            .find(|member| member["member"] == peer)
            .unwrap_or_else(|| panic!("{peer} in {members}"))
            .clone()
    };
    let (of_host, of_eve) = (find(h.pass.peer.0), find(e.pass.peer.0));
    assert_eq!((&of_host["host"], &of_host["address"]), (&json!(true), &Value::Null), "a trusted proxy's");
    assert_eq!((&of_eve["host"], &of_eve["named"]), (&json!(false), &json!(true)));
    assert_eq!((&of_eve["address"], &of_eve["path"]), (&json!(EVE), &json!("websocket")));
    let number = e.pass.peer.0.to_string();
    assert!(done(data.path(), &["kick", "TEA", &number]).contains(&number));
    assert_eq!(eve.hear().await, refused(Refusal::Barred));
    assert_eq!(
        host.hear().await,
        Heard::Control(FromRelay::PutOut(e.pass.peer)),
        "the host puts it out, too"
    );
    assert_eq!(host.hear().await, Heard::Control(FromRelay::Gone(e.pass.peer)));
    let error = order(data.path(), &["kick", "TEA", "7"]).expect_err("nobody");
    assert!(error.contains("no such member"), "{error}");
    // It may come back as a newcomer.
    let (_eve, _) = from(&relay, EVE).await.go_in(join()).await;
}

#[tokio::test]
async fn an_ended_game_is_over_for_everybody() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, _) = Peer::create(&relay, "TEA").await;
    let (mut eve, _) = from(&relay, EVE).await.go_in(join()).await;
    assert!(done(data.path(), &["close", "TEA"]).contains("TEA"));
    for peer in [&mut host, &mut eve] {
        loop {
            match peer.hear().await {
                Heard::Control(FromRelay::Gone(_)) => {}
                heard => break assert_eq!(heard, refused(Refusal::Ended)),
            }
        }
    }
    sleep(Duration::from_millis(500)).await;
    let address = relay.address.clone();
    relay.kill();
    let relay = RelayProcess::start_at(&address, data.path());
    let mut late = Peer::connect(&relay).await;
    late.tell(&samovar_wire::relay::ToRelay::Enter(samovar_wire::relay::Enter {
        version: samovar_wire::PROTOCOL_VERSION,
        params: 1,
        purpose: join(),
    }))
    .await;
    assert_eq!(late.hear().await, refused(Refusal::Ended), "also after a restart");
    assert!(order(data.path(), &["close", "TEA"]).expect_err("over").contains("no game"));
}

#[tokio::test]
async fn a_banned_address_is_closed_and_stays_out() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (mut host, h) = Peer::create(&relay, "TEA").await;
    let (mut eve, e) = from(&relay, EVE).await.go_in(join()).await;
    let (_bob, _) = from(&relay, BOB).await.go_in(join()).await;
    host.name(&[h.pass.peer, e.pass.peer]).await;
    let number = e.pass.peer.0.to_string();
    let said =
        done(data.path(), &["ban", "--game", "TEA", "--member", &number, "--for", "2h", "--because", "rude"]);
    assert!(said.contains(EVE) && said.contains("1 connections"), "{said}");
    assert_eq!(eve.hear().await, refused(Refusal::Banned));
    let is_let_in = async |relay: &RelayProcess, address| {
        Peer::connect_with(relay, &[("x-forwarded-for", address)]).await.is_ok()
    };
    assert!(!is_let_in(&relay, EVE).await && is_let_in(&relay, BOB).await);
    let bans = order(data.path(), &["bans"]).expect("bans");
    assert_eq!((&bans["bans"][0]["network"], &bans["bans"][0]["reason"]), (&json!(EVE), &json!("rude")));
    assert_eq!(relay.metric("samovar_refused_total{reason=\"address_banned\"}").await, 1.0);
    let address = relay.address.clone();
    relay.kill();
    let relay = RelayProcess::start_at(&address, data.path());
    assert!(!is_let_in(&relay, EVE).await && is_let_in(&relay, BOB).await, "also after a restart");
    done(data.path(), &["unban", EVE]);
    assert!(is_let_in(&relay, EVE).await);
    done(data.path(), &["ban", "203.0.113.0/24", "--for", "1s"]);
    assert!(!is_let_in(&relay, EVE).await && !is_let_in(&relay, BOB).await);
    let deadline = Instant::now() + Duration::from_secs(10);
    while !is_let_in(&relay, EVE).await {
        assert!(Instant::now() < deadline, "a ban with an end ends");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_banned_browser_reads_the_reason() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    done(data.path(), &["ban", EVE, "--for", "3d"]);
    let mut stream = std::net::TcpStream::connect(&relay.address).expect("connects");
    write!(stream, "GET /ws HTTP/1.1\r\nHost: r\r\nX-Forwarded-For: {EVE}\r\nConnection: close\r\n\r\n")
        .expect("sends");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answers");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    assert!(answer.contains("lets nobody in from your address for another 3 days"), "{answer}");
    assert!(answer.to_lowercase().contains("access-control-allow-origin: *"), "{answer}");
}

#[test]
fn nobody_bans_everybody_behind_a_proxy() {
    let data = Scratch::new();
    let _relay = RelayProcess::start_with(data.path(), &["--trusted-proxy", "10.0.0.5"]);
    for network in ["10.0.0.5", "10.0.0.0/8", "0.0.0.0/0"] {
        let error = order(data.path(), &["ban", network]).expect_err("a proxy's");
        assert!(error.contains("trusted proxy 10.0.0.5"), "{error}");
    }
    done(data.path(), &["ban", "10.0.0.6"]);
}

#[tokio::test]
async fn limits_and_the_log_change_while_the_relay_runs() {
    let data = Scratch::new();
    let relay = RelayProcess::start_logged(data.path(), &["--log", "warn"]);
    let limits = order(data.path(), &["limits"]).expect("limits");
    let limits: toml::Table = limits["limits"].as_str().expect("text").parse().expect("TOML");
    assert_eq!(limits["games"].as_integer(), Some(10_000));
    done(data.path(), &["limits", "games", "0"]);
    let mut peer = Peer::connect(&relay).await;
    peer.tell(&samovar_wire::relay::ToRelay::Enter(samovar_wire::relay::Enter {
        version: samovar_wire::PROTOCOL_VERSION,
        params: 1,
        purpose: Purpose::Create(None),
    }))
    .await;
    assert_eq!(peer.hear().await, refused(Refusal::Busy));
    for (key, value, word) in [
        ("games", "many", "a whole number from 0 to 10000"),
        ("member-bytes", "5", "member-bytes"),
        ("listen", "\"127.0.0.1:1\"", "restart"),
        ("data", "\"x\"", "restart"),
        ("teapots", "3", "teapots"),
        ("games = 3\ndata", "\"x\"", "no setting"),
        ("games", "3\ndata = \"x\"", "restart"),
    ] {
        let error = order(data.path(), &["limits", key, value]).expect_err(key);
        assert!(error.contains(word), "{word} is not in {error}");
    }
    done(data.path(), &["log", "info"]);
    done(data.path(), &["limits", "games", "7"]);
    let error = order(data.path(), &["log", "samovar=loud"]).expect_err("no level");
    assert!(error.contains("loud"), "{error}");
    let log = relay.log();
    assert_eq!(log.matches("an order of the operator").count(), 3, "from `log info` on: {log}");
}

#[test]
fn each_order_leaves_a_line_and_no_question_does() {
    let data = Scratch::new();
    let _relay = RelayProcess::start(data.path());
    order(data.path(), &["status"]).expect("an answer");
    done(data.path(), &["ban", EVE]);
    order(data.path(), &["kick", "TEA", "7"]).expect_err("no game");
    let file = data.path().join("audit.log");
    let lines: Vec<Value> = std::fs::read_to_string(&file)
        .expect("lines")
        .lines()
        .map(|line| line.parse().expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert_eq!(
        (&lines[0]["ask"], &lines[0]["network"], &lines[0]["done"]),
        (&json!("ban"), &json!(EVE), &Value::Null)
    );
    assert!(lines[1]["done"].as_str().is_some_and(|what| what.contains(EVE)), "{lines:?}");
    assert_eq!((&lines[2]["ask"], &lines[2]["member"]), (&json!("kick"), &json!(7)));
    assert!(lines[3]["failed"].as_str().is_some_and(|why| why.contains("no game")), "{lines:?}");
    assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    // An order that cannot be noted is not carried out.
    std::fs::remove_file(&file).expect("it is there");
    std::fs::create_dir(&file).expect("room");
    let error = order(data.path(), &["unban", EVE]).expect_err("no line");
    assert!(error.contains("audit.log"), "{error}");
    assert_eq!(order(data.path(), &["bans"]).expect("bans")["bans"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_socket_is_for_the_relays_user_alone() {
    let data = Scratch::new();
    let _relay = RelayProcess::start(data.path());
    let socket = data.path().join("admin.sock");
    assert_eq!(std::fs::metadata(&socket).expect("a socket").permissions().mode() & 0o777, 0o600);
    assert!(!data.path().join("admin.new").exists());
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|this| std::os::unix::fs::MetadataExt::uid(&this) == 0);
    if !is_root {
        return;
    }
    // Somebody opens the socket to all: the relay still asks the system who calls.
    std::fs::set_permissions(data.path(), std::fs::Permissions::from_mode(0o755)).expect("our own");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666)).expect("our own");
    let mut other = std::process::Command::new("setpriv");
    other.args(["--reuid=65534", "--clear-groups"]).arg(program().get_program());
    other.args(["admin", "drain", "--data"]).arg(data.path());
    let Ok(output) = other.output() else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("another user's"), "{said}");
}

#[test]
fn hostile_requests_are_refused_in_words() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let long = [vec![b' '; 1_000_000], b"{\"ask\":\"drain\"}\n".to_vec()].concat();
    for (bytes, word) in [
        (&b"\n"[..], "no request"),
        (b"drain\n", "no request"),
        (b"{\"ask\":\"drain\"}", "a line"),
        (b"{\"ask\":\"dance\"}\n", "dance"),
        (b"{\"ask\":\"kick\",\"game\":\"TEA\",\"member\":1,\"for\":2}\n", "no request"),
        (b"{\"ask\":\"kick\",\"game\":\"../../x\",\"member\":1}\n", "3 to 12 letters"),
        (b"{\"ask\":\"kick\",\"game\":\"TEA\",\"member\":-1}\n", "no request"),
        (b"{\"ask\":\"ban\",\"network\":\"here\"}\n", "here"),
        (b"{\"ask\":\"ban\",\"network\":\"203.0.113.8\",\"seconds\":0}\n", "1 to"),
        (b"{\"ask\":\"ban\",\"network\":\"203.0.113.8\",\"reason\":\"a\\u001b[2J\"}\n", "one line"),
        (b"\xff\xfe\n", "no request"),
        (&long, "at most"),
    ] {
        let answer = said_to(data.path(), bytes);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains(word), "{word} is not in {answer}");
    }
    assert!(said_to(data.path(), b"{\"ask\":\"status\"}\n")["status"]["unready"].is_null());
    drop(relay);
}

#[test]
fn a_relay_that_was_killed_leaves_no_socket_in_the_way() {
    let data = Scratch::new();
    RelayProcess::start(data.path()).kill();
    let error = order(data.path(), &["status"]).expect_err("nobody");
    assert!(error.contains("no relay answers") && error.contains("--data"), "{error}");
    let relay = RelayProcess::start(data.path());
    order(data.path(), &["status"]).expect("an answer");
    relay.signal("INT");
    let deadline = Instant::now() + Duration::from_secs(10);
    while data.path().join("admin.sock").exists() {
        assert!(Instant::now() < deadline, "it goes with the relay");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[tokio::test]
async fn the_operator_drains_a_relay_and_asks_for_its_health() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--drain", "60"]);
    let (mut host, _) = Peer::create(&relay, "TEA").await;
    let place = data.path().to_str().expect("text");
    assert!(run(&["health", "--data", place]).status.success());
    done(data.path(), &["drain"]);
    while !matches!(host.hear().await, Heard::Control(FromRelay::Draining(_))) {}
    let health = run(&["health", "--data", place]);
    assert!(!health.status.success());
    assert!(String::from_utf8_lossy(&health.stderr).contains("stopping"));
    assert_eq!(order(data.path(), &["status"]).expect("an answer")["status"]["draining"], true);
    // Neither a second order nor the first signal cuts the games short; a second signal does.
    let again = run(&["admin", "--data", place, "drain"]);
    assert!(!again.status.success());
    assert!(String::from_utf8_lossy(&again.stderr).contains("already"));
    relay.signal("TERM");
    for _ in 0..5 {
        assert_eq!(order(data.path(), &["status"]).expect("an answer")["status"]["members"], 1);
    }
    assert!(relay.terminate());
}

#[test]
fn the_relay_is_found_by_its_file_of_settings() {
    let data = Scratch::new();
    let _relay = RelayProcess::start(data.path());
    let file = data.path().join("relay.toml");
    std::fs::write(&file, format!("data = {:?}\n", data.path())).expect("writes");
    let output = run(&["admin", "--config", file.to_str().expect("text"), "status"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("ready") && text.contains("0 games"), "{text}");
}
