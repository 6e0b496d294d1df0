//! Checks an assumption of the other tests about the browser.

use samovar_tests::player::Visit;
use samovar_tests::relay::Relay;

/// Gathers connection candidates as the game does.
const CANDIDATES: &str = r"new Promise(done => {
  const connection = new RTCPeerConnection(), found = [];
  connection.createDataChannel('x', {negotiated: true, id: 0});
  connection.onicecandidate = ({candidate}) => candidate ? found.push(candidate.candidate) : done(found);
  connection.createOffer().then(offer => connection.setLocalDescription(offer));
})";

#[tokio::test(flavor = "multi_thread")]
async fn page_without_a_microphone_offers_loopback_addresses() {
    let relay = Relay::start();
    let visitor = Visit::new(&relay, "").open().await;
    let candidates = visitor.tab().evaluate(CANDIDATES).await;
    let text = candidates.to_string();
    println!("{text}");
    assert!(text.contains(" 127.0.0.1 "), "{text}");
}
