//! A page recovers from its own errors and from files that fail to load, and its player keeps the seat.

use std::time::Duration;

use samovar_tests::flaky::{Fault, Flaky};
use samovar_tests::hands::Key;
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::Status;
use samovar_tests::wait;

/// Longer than all pauses of a page between its attempts to load its files.
const RETRIED_WITHIN: Duration = Duration::from_secs(60);

/// Breaks the page on request. With `__panic` set, elements take no attributes, so the game panics. With `__throw`
/// set, drawing throws that value. With `__deep` set, an error occurs in the driver of the page's peer.
const BREAK: &str = r"
for (const [type, name, flag] of [
  [Element, 'setAttribute', '__panic'],
  [WebGL2RenderingContext, 'drawElementsInstanced', '__throw'],
]) {
  const real = type.prototype[name];
  type.prototype[name] = function (...all) {
    if (window[flag]) throw window[flag] === true ? new Error('broken on purpose') : window[flag];
    return real.apply(this, all);
  };
}
const amount = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'bufferedAmount').get;
Object.defineProperty(WebSocket.prototype, 'bufferedAmount', { get() {
  if (window.__deep) { window.__deep = false; throw new Error('broken on purpose'); }
  return amount.call(this);
} });";

/// Makes data channels impossible, as some browser extensions do: creating one throws, or returns nothing.
const NO_CHANNELS: [&str; 2] = [
    "RTCPeerConnection.prototype.createDataChannel = () => { throw new Error('no channel'); };",
    "RTCPeerConnection.prototype.createDataChannel = () => {};",
];

/// Hides the clipboard from scripts, as browsers do over plain HTTP.
const NO_CLIPBOARD: &str = "Object.defineProperty(navigator, 'clipboard', { value: undefined });";

/// Waits until Bob's page has reloaded itself and has its seat back. Returns the milliseconds that this took.
async fn comes_back(ann: &Player, bob: &Player, before: &Status) -> f64 {
    let since = sampler::now();
    let is_back = |status: &Status| {
        status.peer.is_some() && status.peer != before.peer && status.members.len() == before.members.len()
    };
    let after = bob.wait("the page is back on its seat", JOIN_WITHIN, is_back).await;
    let took = sampler::now() - since;
    bob.wait_text("toasts", "The page met an error and was loaded again").await;
    assert_eq!(after.scores(), before.scores(), "{after}");
    let seen = |status: &Status| status.member("Bob").is_ok_and(|bob| Some(&bob.peer) == after.peer.as_ref());
    ann.wait("the other sees it on its seat", SETTLE_WITHIN, seen).await;
    took
}

fn metric(relay: &Relay, name: &str) -> String {
    let (_, text) = relay.get("/metrics").expect("the relay answers");
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned()
}

/// Waits until the relay's metrics have a count. The relay answers with the same text for a quarter of a second.
async fn has_counted(relay: &Relay, name: &str, wanted: &str) {
    wait::until("the relay has counted it", SETTLE_WITHIN, async || {
        let count = metric(relay, name);
        if count == wanted { Ok(()) } else { Err(format!("{name}{count}")) }
    })
    .await;
}

async fn told_of_crashes(relay: &Relay, wanted: &str) {
    has_counted(relay, "samovar_page_crashes_total ", wanted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_recovers_from_a_panic_and_stops_at_the_second() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let visit = Visit::new(&relay, "game=TEA&name=Bob").with_script(BREAK).with_script(NO_CLIPBOARD);
    let bob = visit.open().await;
    bob.joined().await;
    let before = bob.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    bob.tab().evaluate("window.__panic = true").await;
    bob.hands().tap_key(Key::M).await;
    let took = comes_back(&ann, &bob, &before).await;
    println!("from a panic to the seat: {took:.0} ms");
    assert!(took < 20_000.0, "{took} ms");
    told_of_crashes(&relay, "1").await;
    bob.lives().await;
    bob.tab().evaluate("window.__panic = true").await;
    bob.hands().tap_key(Key::M).await;
    bob.wait_text("fault-title", "The game has stopped").await;
    bob.wait_text("fault-details", "attribute names are literals").await;
    bob.screenshot("fault-crash").await;
    let is_alone = |status: &Status| status.others().count() == 0;
    ann.wait("the page that stopped holds no seat", SETTLE_WITHIN, is_alone).await;
    told_of_crashes(&relay, "2").await;
    bob.hands().click("#fault-copy").await;
    bob.wait_text("fault-copy", "Copied").await;
    let marked = bob.tab().evaluate("getSelection().toString()").await;
    assert!(marked.as_str().is_some_and(|text| text.contains("attribute names are literals")), "{marked}");
    bob.hands().click("#fault-again").await;
    bob.joined().await;
    bob.lives().await;
    ann.finish().await;
}

/// Starts a host with a robot, and waits until the tab has saved what it needs to get its seat back.
async fn lone_host(relay: &Relay) -> (Player, Status) {
    let ann = Visit::new(relay, "new=TEA&name=Ann&robots=1").with_script(BREAK).open().await;
    let before = ann.joined().await;
    wait::until("the tab keeps what takes its seat back", SETTLE_WITHIN, async || {
        let ticket = ann.tab().try_evaluate("sessionStorage['samovar.seat.TEA'] ?? ''").await?;
        if ticket == "" { Err(ticket.to_string()) } else { Ok(()) }
    })
    .await;
    (ann, before)
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_host_gets_its_table_back_after_a_panic() {
    let relay = Relay::start();
    let (ann, before) = lone_host(&relay).await;
    ann.tab().evaluate("window.__panic = true").await;
    ann.hands().tap_key(Key::M).await;
    hosts_again(&ann, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lone_host_gets_its_table_back_after_an_error_in_its_peer() {
    let relay = Relay::start();
    let (ann, before) = lone_host(&relay).await;
    let left = "samovar_ended_total{reason=\"left\"} ";
    assert_eq!(metric(&relay, left), "0");
    ann.tab().evaluate("window.__deep = true").await;
    hosts_again(&ann, &before).await;
    // The page told the relay that it went, though its peer could not.
    has_counted(&relay, left, "1").await;
}

async fn hosts_again(ann: &Player, before: &Status) {
    let is_back =
        |status: &Status| status.peer != before.peer && status.is_host() && status.members.len() == 2;
    let after = ann.wait("the page hosts again", JOIN_WITHIN, is_back).await;
    assert!(after.member("Ann").is_ok_and(|ann| ann.is_self), "{after}");
    ann.wait_text("toasts", "The page met an error and was loaded again").await;
    ann.lives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_recovers_from_an_uncaught_error() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Visit::new(&relay, "game=TEA&name=Bob").with_script(BREAK).open().await;
    bob.joined().await;
    let before = bob.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    // The page ignores errors that other scripts throw into it.
    bob.tab().evaluate("setTimeout(() => { throw new Error('an extension') }), null").await;
    bob.tab().evaluate("Promise.reject(new Error('an extension')), null").await;
    bob.lives().await;
    assert_eq!(bob.peer().await, before.peer.clone().expect("in a game"));
    bob.tab().evaluate("window.__throw = true").await;
    comes_back(&ann, &bob, &before).await;
    told_of_crashes(&relay, "1").await;
    bob.lives().await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_recovers_from_an_error_without_a_stack_trace() {
    let relay = Relay::start();
    let ann = Player::join(&relay, "new=TEA&name=Ann").await;
    let bob = Visit::new(&relay, "game=TEA&name=Bob").with_script(BREAK).open().await;
    bob.joined().await;
    let before = bob.wait("both are there", SETTLE_WITHIN, |status| status.members.len() == 2).await;
    bob.tab().evaluate("window.__throw = 'no stack'").await;
    comes_back(&ann, &bob, &before).await;
    bob.lives().await;
    ann.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn browser_without_data_channels_plays_by_the_relay() {
    let relay = Relay::start();
    let bob = Player::join(&relay, "new=TEA&name=Bob").await;
    for script in NO_CHANNELS {
        let ann = Visit::new(&relay, "game=TEA&name=Ann").with_script(script).open().await;
        ann.joined().await;
        for player in [&ann, &bob] {
            let together = |status: &Status| status.others().any(|other| other.path == "relayed");
            player.wait("they see each other by the relay", SETTLE_WITHIN, together).await;
            player.drive(1.0, 0.0, false).await;
            player.lives().await;
        }
        ann.finish().await;
    }
    bob.finish().await;
}

async fn lobby(player: &Player) {
    player.wait_text("lobby", "Set a table").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_fetches_incomplete_files_again() {
    let relay = Relay::start();
    for (end, fault) in [(".wasm", Fault::Reset), (".wasm", Fault::Cut), (".js", Fault::Status(503))] {
        let flaky = Flaky::before(&relay).await;
        flaky.fail(end, fault, 3);
        let visitor = Visit::new(&relay, "").through(&flaky).open().await;
        lobby(&visitor).await;
        assert!(flaky.asked(end) > 1, "{end} {fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_file_is_named_and_a_button_loads_it_again() {
    let relay = Relay::start();
    let flaky = Flaky::before(&relay).await;
    flaky.fail(".wasm", Fault::Status(503), usize::MAX);
    let visitor = Visit::new(&relay, "").through(&flaky).open().await;
    wait::until("the page says what is wrong", RETRIED_WITHIN, async || {
        let text = visitor.text("fault").await;
        let says =
            ["The game did not arrive", "503", ".wasm", "Load again"].iter().all(|word| text.contains(word));
        if says { Ok(()) } else { Err(text) }
    })
    .await;
    visitor.screenshot("fault-files").await;
    flaky.heal();
    visitor.hands().click("#fault-again").await;
    lobby(&visitor).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lobby_shows_why_the_list_of_games_was_refused() {
    let relay = Relay::start();
    let flaky = Flaky::before(&relay).await;
    flaky.fail("/api/games", Fault::Status(503), usize::MAX);
    let visitor = Visit::new(&relay, "").through(&flaky).open().await;
    visitor.wait_text("lobby", "The relay lists no tables").await;
    visitor.wait_text("lobby", "503").await;
    flaky.heal();
    visitor.wait_text("lobby", "No table is set yet").await;
    visitor.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_from_before_an_update_reloads_once() {
    let relay = Relay::start();
    let flaky = Flaky::before(&relay).await;
    flaky.fail_until_reload(".js", Fault::Status(404));
    let visitor = Visit::new(&relay, "").through(&flaky).open().await;
    lobby(&visitor).await;
    assert_eq!(flaky.asked("/"), 2, "the page is asked for again");
    let flaky = Flaky::before(&relay).await;
    flaky.fail(".js", Fault::Status(404), usize::MAX);
    let visitor = Visit::new(&relay, "").through(&flaky).open().await;
    visitor.wait_text("fault-title", "The game did not arrive").await;
    visitor.wait_text("fault-details", "404").await;
    assert_eq!(flaky.asked("/"), 2, "once, and not again");
}
