//! The page of the relay's state, and the numbers of requests.

use samovar_wire::relay::{Listing, ToRelay};

use crate::peer::Peer;
use crate::process::{RelayProcess, Scratch, get_at};

fn listing(title: &str, public: bool) -> ToRelay {
    let (title, host_name) = (title.to_owned(), "Ann & <b>Bob</b>".to_owned());
    ToRelay::Listing(Listing { players: 1, capacity: 8, open: true, public, title, host_name })
}

#[tokio::test]
async fn a_person_reads_how_the_relay_is() {
    let data = Scratch::new();
    let mut relay = RelayProcess::start_with(data.path(), &["--metrics", "127.0.0.1:0"]);
    let line = relay.line();
    let private =
        line.trim().strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let private = private.expect("the promised line").to_owned();
    let (mut ann, _) = Peer::create(&relay, "TEA").await;
    ann.tell(&listing("<script>alert(1)</script>", true)).await;
    let (mut eve, _) = Peer::create(&relay, "SECRET").await;
    eve.tell(&listing("Hidden", false)).await;
    relay.games_become(|games| games.as_array().is_some_and(|all| all.len() == 1)).await;
    let (head, page) = get_at(&private, "/").await;
    assert!(head.starts_with("http/1.1 200") && head.contains("text/html"), "{head}");
    assert!(head.contains("content-security-policy: default-src 'none'"), "{head}");
    for word in ["It takes games", "<th>Members<td>2", "TEA", "&lt;script&gt;", "Ann &amp; &lt;b&gt;"] {
        assert!(page.contains(word), "{word} is not in {page}");
    }
    // A person who knows the code of a hidden game can join it.
    assert!(!page.contains("SECRET") && !page.contains("Hidden") && !page.contains("<script>"), "{page}");
    let (head, _) = relay.get("/status").await;
    assert!(head.starts_with("http/1.1 404"), "{head}");
}

#[tokio::test]
async fn without_an_address_of_its_own_the_page_is_for_this_machine() {
    let data = Scratch::new();
    let relay = RelayProcess::start(data.path());
    let (head, page) = relay.get("/status").await;
    assert!(head.starts_with("http/1.1 200") && page.contains("It takes games"), "{head}");
    let mut stream = std::net::TcpStream::connect(&relay.address).expect("connects");
    let request =
        "GET /status HTTP/1.1\r\nHost: r\r\nX-Forwarded-For: 203.0.113.8\r\nConnection: close\r\n\r\n";
    std::io::Write::write_all(&mut stream, request.as_bytes()).expect("sends");
    let mut answer = String::new();
    std::io::Read::read_to_string(&mut stream, &mut answer).expect("answers");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[tokio::test]
async fn each_request_has_a_number_in_the_answer_and_in_the_log() {
    let data = Scratch::new();
    let relay =
        RelayProcess::start_logged(data.path(), &["--log", "samovar_relay=debug", "--log-format", "json"]);
    let (head, _) = relay.get("/healthz").await;
    let number =
        head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).expect("a number").to_owned();
    assert_eq!(number.len(), 16, "{number}");
    // The test comes from a trusted proxy's address.
    let peer = Peer::connect_with(&relay, &[("x-request-id", "tea-7")]).await.expect("let in");
    drop(peer);
    let log = relay.log();
    let lines: Vec<serde_json::Value> = log.lines().filter_map(|line| line.parse().ok()).collect();
    let about =
        |number: &str| lines.iter().filter(|line| line["fields"]["request"] == number).collect::<Vec<_>>();
    let answered = about(&number);
    assert_eq!(answered.len(), 1, "{log}");
    assert_eq!(
        (&answered[0]["fields"]["path"], &answered[0]["fields"]["status"]),
        (&"/healthz".into(), &200.into())
    );
    let of_peer = about("tea-7");
    assert!(
        of_peer.iter().any(|line| line["fields"]["conn"].is_u64()),
        "its connection has the number: {log}"
    );
}
