//! Starting and stopping: the successes, and the messages about failures.

use std::fs;
use std::net::TcpListener;

use samovar_wire::relay::Listing;
use samovar_wire::relay::ToRelay;

use crate::channels::udp_address;
use crate::peer::{Heard, Peer};
use crate::process::{RelayProcess, Scratch, refusal, run};

#[tokio::test]
async fn a_relay_is_healthy_and_lists_its_games() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (head, body) = relay.get("/healthz").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(body, "ok\n");
    assert_eq!(relay.get("/api/games").await.1, "[]");
    let (mut host, _) = Peer::create(&relay, "TEA").await;
    let (title, host_name) = ("Tea & <i>cake".to_owned(), "<b>Ann".to_owned());
    let listing = Listing { players: 1, capacity: 8, open: true, public: true, title, host_name };
    host.tell(&ToRelay::Listing(listing)).await;
    let nobody = serde_json::json!([]);
    let games = relay.games_become(|games| *games != nobody).await;
    let expected = serde_json::json!([{
        "code": "TEA",
        "players": 1,
        "capacity": 8,
        "host": "<b>Ann",
        "title": "Tea & <i>cake",
        "open": true,
        "params": "0000000000000001",
    }]);
    assert_eq!(games, expected);
    drop(host);
    relay.games_become(|games| *games == nobody).await;
}

#[tokio::test]
async fn a_referee_keeps_a_table_whose_seats_are_for_players() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--referee", "tea-time"]);
    let expected = serde_json::json!([
        { "code": "TEA-TIME", "players": 0, "capacity": 8, "host": "The relay", "title": "", "open": true }
    ]);
    relay
        .games_become(|games| {
            let mut games = games.clone();
            // The duel's own tests check `params`.
            games.get_mut(0).and_then(serde_json::Value::as_object_mut).map(|game| game.remove("params"));
            games == expected
        })
        .await;
    let ended = tokio::task::spawn_blocking(|| relay.terminate());
    assert!(ended.await.expect("no panic"), "it leaves its table, and the relay ends well");
}

#[test]
fn a_taken_port_is_reported_with_a_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    let data = Scratch::new();
    let text = refusal(&address, data.path(), &[]);
    assert!(text.contains(&address) && text.contains("taken") && text.contains("--listen"), "{text}");
}

/// The threads of a relay share its UDP port with each other, and with no other relay.
#[test]
fn a_taken_udp_port_is_reported_with_a_remedy() {
    let [data, other] = [Scratch::new(), Scratch::new()];
    let threads = ["--udp-threads", "2"];
    let mut relay =
        RelayProcess::start_with(data.path(), &[&["--udp", "127.0.0.1:0"], &threads[..]].concat());
    let address = udp_address(&mut relay).to_string();
    let text = refusal("127.0.0.1:0", other.path(), &[&["--udp", &address], &threads[..]].concat());
    assert!(text.contains(&address) && text.contains("taken") && text.contains("--udp"), "{text}");
}

#[test]
fn unusable_data_is_reported_with_a_remedy() {
    let scratch = Scratch::new();
    let file = scratch.path().join("file");
    fs::write(&file, "x").expect("writes");
    for place in [file.clone(), file.join("below")] {
        let text = refusal("127.0.0.1:0", &place, &[]);
        assert!(text.contains("file") && text.contains("--data"), "{text}");
    }
    let damaged = Scratch::new();
    fs::write(damaged.path().join("relay.key"), "short").expect("writes");
    let text = refusal("127.0.0.1:0", damaged.path(), &[]);
    assert!(text.contains("relay.key") && text.contains("does not hold a key"), "{text}");
    let torn = Scratch::new();
    fs::write(torn.path().join("terms.redb"), [7; 5_000]).expect("writes");
    let text = refusal("127.0.0.1:0", torn.path(), &[]);
    assert!(text.contains("terms.redb") && text.contains("stops"), "{text}");
}

#[test]
fn two_relays_do_not_share_data() {
    let data = Scratch::new();
    let _first = RelayProcess::start(data.path());
    let key = data.path().join("relay.key");
    for is_there in [true, false] {
        // Without the key, the directory looks as if both relays started on a new one and the first had not written
        // the key yet.
        if !is_there {
            fs::remove_file(&key).expect("it is there");
        }
        let text = refusal("127.0.0.1:0", data.path(), &[]);
        assert!(text.contains("another relay"), "{text}");
        assert_eq!(key.exists(), is_there, "no key but the living relay's is ever there");
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_the_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = Scratch::new();
    drop(RelayProcess::start(data.path()));
    let mode = fs::metadata(data.path().join("relay.key")).expect("the key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!data.path().join("relay.key.new").exists());
}

#[cfg(unix)]
#[test]
fn a_data_directory_is_private_and_no_link_diverts_its_key() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = Scratch::new();
    let (inner, other) = (data.path().join("new"), data.path().join("other"));
    drop(RelayProcess::start(&inner));
    assert_eq!(fs::metadata(&inner).expect("the directory").permissions().mode() & 0o777, 0o700);
    fs::remove_file(inner.join("relay.key")).expect("there is a key");
    fs::write(&other, "").expect("a file");
    std::os::unix::fs::symlink(&other, inner.join("relay.key.new")).expect("a link");
    drop(RelayProcess::start(&inner));
    assert_eq!(fs::read(&other).expect("the file"), b"", "the key is not where the link led");
    assert_eq!(fs::read(inner.join("relay.key")).expect("the key").len(), 32);
}

#[cfg(unix)]
#[test]
fn a_key_that_everybody_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let data = Scratch::new();
    drop(RelayProcess::start(data.path()));
    let key = data.path().join("relay.key");
    for (mode, starts) in [(0o644, false), (0o640, true)] {
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("it is ours");
        if starts {
            drop(RelayProcess::start(data.path()));
        } else {
            let said = refusal("127.0.0.1:0", data.path(), &[]);
            assert!(said.contains("chmod 600"), "{said}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_stopping_relay_closes_its_sockets_and_ends_well() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--drain", "0"]);
    let (mut host, _) = Peer::create(&relay, "TEA").await;
    let ended = tokio::task::spawn_blocking(|| relay.terminate());
    assert_eq!(host.hear().await, Heard::Closed(Some(1001)));
    drop(host);
    assert!(ended.await.expect("no panic"));
    drop(RelayProcess::start(data.path()));
}

#[test]
fn help_and_errors_name_the_flags() {
    let help = run(&["serve", "--help"]);
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(
        ["--listen", "--data", "--web", "--referee [<CODE>]", "--by-host", "127.0.0.1:8080"]
            .iter()
            .all(|word| text.contains(word)),
        "{text}"
    );
    assert!(!run(&["serve"]).status.success(), "the data's place is never guessed");
    let refused = run(&["serve", "--data", "/nowhere/at/all", "--referee", "a table"]);
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(text.contains("--referee") && text.contains("3 to 12 letters"), "{text}");
}
