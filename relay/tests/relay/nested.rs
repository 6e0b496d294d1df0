//! Tests of nested limits (of an address and of its networks) for connections and for HTTP answers. Tests of the
//! bounds of the list of games and of the relay's memory.

use std::time::{Duration, Instant};

use samovar_wire::relay::{Listing, Purpose, ToRelay};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::limits::connect_from;
use crate::peer::{Peer, code};
use crate::process::{RelayProcess, Scratch};
use crate::strangers::from;

#[tokio::test]
async fn addresses_of_one_network_share_its_limits() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--address-connections", "4"]);
    let of = async |addresses: &[&'static str], each: usize| {
        let (mut kept, mut refused) = (Vec::new(), 0);
        for address in addresses {
            for _ in 0..each {
                match Peer::connect_with(&relay, &[("x-forwarded-for", address)]).await {
                    Ok(peer) => kept.push(peer),
                    Err(status) => {
                        assert_eq!(status, 429);
                        refused += 1;
                    }
                }
            }
        }
        (kept.len(), refused)
    };
    let v4 = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"];
    assert_eq!(of(&v4, 4).await, (16, 4), "a /24");
    let v6 = ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1", "2001:db8:0:4::1", "2001:db8:0:5::1"];
    assert_eq!(of(&v6, 4).await, (16, 4), "a /56");
    assert_eq!(of(&["2001:db8:1:1::1", "2001:db8:1:1::2"], 3).await, (4, 2), "a /64");
    assert_eq!(of(&["198.51.100.1"], 4).await, (4, 0), "others are let in");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn http_answers_are_rate_limited_per_address() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--address-packets", "50"]);
    let mut stream = connect_from("127.0.0.8:0", &relay).await;
    let (start, mut answered) = (Instant::now(), 0);
    for _ in 0..120 {
        stream.write_all(b"GET /api/games HTTP/1.1\r\nHost: relay\r\n\r\n").await.expect("asks");
        let mut answer = [0; 2_048];
        let length = stream.read(&mut answer).await.expect("answers");
        let is_served = answer[..length].starts_with(b"HTTP/1.1 200");
        assert!(is_served || answer[..length].starts_with(b"HTTP/1.1 429"));
        answered += usize::from(is_served);
    }
    let most = 52.0 + 50.0 * start.elapsed().as_secs_f64();
    assert!((answered as f64) < most, "{answered} in {:?}", start.elapsed());
    assert_eq!(relay.get("/healthz").await.1, "ok\n", "others are answered");
}

#[tokio::test]
async fn the_metrics_are_for_this_machine_alone() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    assert!(relay.get("/metrics").await.0.starts_with("http/1.1 200"));
    let mut stream = tokio::net::TcpStream::connect(&relay.address).await.expect("connects");
    let request =
        "GET /metrics HTTP/1.1\r\nHost: relay\r\nX-Forwarded-For: 192.0.2.1\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).await.expect("asks");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("answers");
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("--metrics"), "{answer}");
}

#[tokio::test]
async fn the_metrics_are_made_at_most_four_times_a_second() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let start = Instant::now();
    let mut texts = Vec::new();
    while start.elapsed() < Duration::from_millis(600) {
        // Each text shows the number of connections, so that texts made at different times mostly differ.
        let _connection = tokio::net::TcpStream::connect(&relay.address).await.expect("connects");
        texts.push(relay.get("/metrics").await.1);
    }
    let asked = texts.len();
    texts.dedup();
    assert!(texts.len() <= 4 && asked > 8, "{} of {asked}", texts.len());
}

#[tokio::test]
async fn one_address_lists_four_games_and_the_referees_come_first() {
    let data = Scratch::new();
    let relay = RelayProcess::start_with(data.path(), &["--referee", "ZULU"]);
    let mut hosts = Vec::new();
    for n in 0..10 {
        let address = if n == 9 { "203.0.113.9" } else { "203.0.113.8" };
        let purpose = Purpose::Create(Some(code(&format!("GAME{n}"))));
        let (mut host, _) = from(&relay, address).await.go_in(purpose).await;
        let (title, host_name) = (String::new(), "Eve".to_owned());
        let listing = Listing { players: 1, capacity: 8, open: true, public: true, title, host_name };
        host.tell(&ToRelay::Listing(listing)).await;
        hosts.push(host);
    }
    let games = relay.games_become(|games| games.as_array().is_some_and(|all| all.len() == 6)).await;
    assert_eq!(games[0]["code"], "ZULU");
    let codes: Vec<_> = games.as_array().expect("a list").iter().map(|game| game["code"].clone()).collect();
    assert!(codes.contains(&"GAME9".into()), "{codes:?}");
}

#[tokio::test]
async fn games_that_are_founded_and_left_at_once_are_not_remembered() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    for n in 0..20 {
        let (mut host, _) = Peer::create(&relay, &format!("GAME{n}")).await;
        host.tell(&ToRelay::Leave).await;
    }
    relay.metric_becomes("samovar_games", |games| games == 0.0).await;
    assert_eq!(relay.metric("samovar_sessions_remembered").await, 0.0);
}
