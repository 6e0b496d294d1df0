//! A member whose page sends garbage over working links: its link ends, and no other member notices.

use samovar_tests::bots::Bots;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Keeps every socket and channel that the page opens, so that a test can send over them.
const CAPTURE: &str = r"
window.__sockets = [];
window.__channels = {unreliable: [], reliable: []};
window.WebSocket = class extends WebSocket {
  constructor(...args) { super(...args); window.__sockets.push(this); }
};
const create = RTCPeerConnection.prototype.createDataChannel;
RTCPeerConnection.prototype.createDataChannel = function (label, options) {
  const channel = create.call(this, label, options);
  window.__channels[label].push(channel);
  return channel;
};
window.__open = list => list.filter(each => each.readyState === 'open' || each.readyState === 1);
window.__noise = length => {
  const bytes = new Uint8Array(length);
  crypto.getRandomValues(bytes);
  return bytes;
};
window.__many = (count, send) => Array.from({length: count}, send).reduce((sum, sent) => sum + sent, 0);
window.__over = (label, bytes) => window.__open(window.__channels[label]).map(each => each.send(bytes)).length;
window.__forward = (mode, bytes) => {
  const host = parseInt(samovar.status().host, 16);
  const frame = new Uint8Array(6 + bytes.length);
  frame[0] = 1;
  new DataView(frame.buffer).setUint32(1, host, true);
  frame[5] = mode;
  frame.set(bytes, 6);
  return window.__open(window.__sockets).map(each => each.send(frame)).length;
};";

/// For each attack its name, the path that the page plays over, and a script. The script returns the number of
/// messages that it sent. One piece of noise may pass for a later piece of the bulk stream, but many cannot.
const ATTACKS: [(&str, &str, &str); 8] = [
    ("noise on the unreliable channel", "auto", "__many(10, () => __over('unreliable', __noise(200)))"),
    ("noise on the reliable channel", "auto", "__many(100, () => __over('reliable', __noise(200)))"),
    ("a truncated packet", "auto", "__over('unreliable', new Uint8Array([0x61, 1, 2]))"),
    ("an oversized packet", "auto", "__over('unreliable', __noise(60000))"),
    ("an oversized chunk", "auto", "__over('reliable', __noise(60000))"),
    ("relayed noise for the unreliable mode", "relayed", "__many(10, () => __forward(0, __noise(200)))"),
    ("relayed noise for the reliable mode", "relayed", "__many(100, () => __forward(1, __noise(200)))"),
    ("a relayed truncated packet", "relayed", "__forward(0, new Uint8Array([0x61, 1, 2]))"),
];

#[tokio::test(flavor = "multi_thread")]
async fn garbage_from_a_member_ends_only_its_own_links() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let mut robot = Bots::join(&relay, "TEA", "auto");
    let eve = Visit::new(&relay, "").with_script(CAPTURE).open().await;
    let before = ann.wait("the robot plays", JOIN_WITHIN, |status| status.members.len() == 2).await;
    for (name, path, attack) in ATTACKS {
        eve.tab().open(&relay.page(&format!("game=TEA&name=Eve&path={path}&low"))).await;
        let word = if path == "auto" { "direct" } else { path };
        let linked =
            |status: &Status| status.others().count() == 2 && status.others().all(|each| each.path == word);
        let guilty = eve.wait("Eve is linked", JOIN_WITHIN, linked).await.peer.expect("a member");
        let sent = eve.tab().evaluate(attack).await;
        assert!(sent.as_u64() > Some(0), "{name} was not sent: {sent}");
        let ended = format!("link to {guilty} closed: ");
        let known = |status: &Status| {
            status.members.len() == 2 && status.errors.iter().any(|error| error.starts_with(&ended))
        };
        let after = ann.wait(&format!("the host ends the link after {name}"), SETTLE_WITHIN, known).await;
        let error = after.errors.iter().find(|error| error.starts_with(&ended)).expect("just seen");
        println!("{name}: {error}");
        assert!(error.contains("(40"), "whose fault it was is not said: {error}");
        // With this storage Eve would take back her earlier seat.
        eve.tab().evaluate("sessionStorage.clear(), null").await;
    }
    let after = ann.status().await;
    assert_eq!((after.term, &after.host), (before.term, &before.host), "{after}");
    let unmoved = |all: &[Status]| {
        all.iter().any(|status| {
            status.members.len() == 2 && status.term == before.term && status.role != "Suspended"
        })
    };
    robot.wait("the robot plays on with the host", SETTLE_WITHIN, unmoved).await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_to_the_relay_ends_only_the_senders_connection() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let eve = Visit::new(&relay, "").with_script(CAPTURE).open().await;
    let both = |status: &Status| status.members.len() == 2;
    let before = ann.status().await;
    for attack in ["__noise(300)", "new Uint8Array([0, 255])", "new Uint8Array(200000)", "'hello'"] {
        eve.tab().open(&relay.page("game=TEA&name=Eve&low")).await;
        eve.joined().await;
        ann.wait("both are there", SETTLE_WITHIN, both).await;
        let send = format!("__open(__sockets).map(each => each.send({attack})).length");
        assert_eq!(eve.tab().evaluate(&send).await, 1, "{attack} was not sent");
        wait::until("the relay has closed Eve's socket", SETTLE_WITHIN, async || {
            let state = eve.tab().evaluate("__sockets[0].readyState").await;
            if state == 3 { Ok(()) } else { Err(format!("{state}; {}", eve.status().await)) }
        })
        .await;
        // The relay does not read a far too large message to its end, so the reason may be lost on the way. The page
        // reads the reason with its next frame.
        let is_told = |status: &Status| {
            let reason = status.errors.iter().any(|error| error.contains("Misbehaved"));
            status.relay == "lost" && (reason || attack.contains("200000"))
        };
        let told = eve.wait(&format!("the page knows of {attack}"), SETTLE_WITHIN, is_told).await;
        println!("{attack}: {:?}", told.errors);
        eve.tab().evaluate("sessionStorage.clear(), null").await;
    }
    let after = ann.status().await;
    // The term is not compared, because a host that is alone for a moment renews it.
    assert_eq!((&after.host, &after.relay), (&before.host, &before.relay), "{after}");
    assert!(after.migrations.is_empty(), "{after}");
    assert_eq!(after.errors, Vec::<String>::new());
    ann.finish().await;
}
