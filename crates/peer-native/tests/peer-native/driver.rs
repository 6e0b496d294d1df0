//! Whole peers: the driver, the real `Peer`, real sockets on loopback, and the real directory.

mod relay;

use std::time::Duration;

use relay::Relay;
use samovar_peer::{Path, PathPolicy, Peer, PeerConfig, PeerEvent};
use samovar_peer_native::{Game, NativeConfig, NativePeer, entropy};
#[cfg(feature = "direct")]
use samovar_session::Event;
use samovar_wire::relay::Purpose;
use samovar_wire::{GameCode, Time};
use tokio::time::{Instant, sleep};

const PATIENCE: Duration = Duration::from_secs(15);

/// A game that records the events of its peer.
#[derive(Default)]
struct Diary {
    events: Vec<PeerEvent>,
    ticks: u32,
}

impl Game for Diary {
    fn tick(&self) -> Duration {
        Duration::from_millis(10)
    }

    fn on_event(&mut self, _now: Time, _peer: &mut Peer, event: PeerEvent) {
        self.events.push(event);
    }

    fn on_tick(&mut self, _now: Time, _peer: &mut Peer) {
        self.ticks += 1;
    }
}

fn start(url: &str, purpose: Purpose, paths: PathPolicy) -> NativePeer<Diary> {
    let config = PeerConfig {
        entropy: entropy(),
        purpose,
        token: None,
        ticket: None,
        kept: None,
        name: "Robot".to_owned(),
        attributes: 0,
        params: 3,
        schemas: samovar_peer::Schemas::new(),
        paths,
        capacity: 8,
        public: true,
        rules: samovar_peer::Rules::default(),
    };
    NativePeer::start(url.to_owned(), config, NativeConfig::default(), Diary::default())
}

fn code() -> GameCode {
    GameCode::parse("TEA-1").expect("a valid code")
}

/// Asks the peer again and again until `holds` returns `true`. Panics if that takes too long.
async fn until(
    peer: &NativePeer<Diary>,
    what: &str,
    holds: impl Fn(Time, &Peer, &Diary) -> bool + Copy + Send + 'static,
) {
    let deadline = Instant::now() + PATIENCE;
    while !peer.with(move |now, peer, diary| holds(now, peer, diary)).await.expect("the peer runs") {
        assert!(Instant::now() < deadline, "not in time: {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

fn has_two_members(_: Time, peer: &Peer, _: &Diary) -> bool {
    peer.session().is_some_and(|session| session.is_member() && session.view().members().count() == 2)
}

fn all_paths(now: Time, peer: &Peer, wanted: Path) -> bool {
    let Some(session) = peer.session() else { return false };
    let mut others = session.view().members().map(|m| m.peer).filter(|&other| other != session.me());
    others.all(|other| peer.path(now, other) == wanted)
}

async fn two(relay: &Relay, paths: PathPolicy) -> (NativePeer<Diary>, NativePeer<Diary>) {
    let founder = start(&relay.url, Purpose::Create(Some(code())), paths);
    until(&founder, "the founder is a member", |_, peer, _| peer.session().is_some_and(|s| s.is_member()))
        .await;
    let guest = start(&relay.url, Purpose::Join(code()), paths);
    until(&founder, "the founder sees the guest", has_two_members).await;
    until(&guest, "the guest is a member", has_two_members).await;
    (founder, guest)
}

#[cfg(not(feature = "direct"))]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peer_without_direct_paths_takes_the_websocket() {
    let relay = Relay::start().await;
    let (founder, guest) = two(&relay, PathPolicy::Auto).await;
    // Waits longer than a first attempt at a direct path takes to begin.
    sleep(Duration::from_millis(1_500)).await;
    for peer in [&founder, &guest] {
        until(peer, "relayed", |now, peer, _| all_paths(now, peer, Path::Relayed)).await;
        until(peer, "no attempt", |_, _, diary| {
            !diary.events.iter().any(|event| matches!(event, PeerEvent::AttemptEnded(..)))
        })
        .await;
    }
}

#[cfg(feature = "direct")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_peers_meet_over_the_relay_and_go_on_without_it() {
    let relay = Relay::start().await;
    let (founder, guest) = two(&relay, PathPolicy::Auto).await;
    for peer in [&founder, &guest] {
        until(peer, "a direct path", |now, peer, _| all_paths(now, peer, Path::Direct)).await;
    }
    drop(relay);
    for peer in [&founder, &guest] {
        until(peer, "the relay is missed", |_, _, diary| diary.events.contains(&PeerEvent::RelayLost)).await;
    }
    sleep(Duration::from_millis(1_500)).await;
    for peer in [&founder, &guest] {
        until(peer, "still both members", has_two_members).await;
        until(peer, "still a direct path", |now, peer, _| all_paths(now, peer, Path::Direct)).await;
    }
    // The farewell goes out over the direct path before that path closes.
    let diary = guest.stop().await.expect("the game did not panic");
    assert!(diary.ticks > 100, "{} ticks", diary.ticks);
    until(&founder, "the guest left", |_, _, diary| {
        diary.events.iter().any(|event| matches!(event, PeerEvent::Session(Event::MemberLeft { .. })))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relayed_game_survives_a_dropped_host_handle() {
    let relay = Relay::start().await;
    let (founder, guest) = two(&relay, PathPolicy::Relayed).await;
    sleep(Duration::from_millis(500)).await;
    until(&founder, "relayed", |now, peer, _| all_paths(now, peer, Path::Relayed)).await;
    drop(founder);
    until(&guest, "the guest is host now", |_, peer, _| peer.session().is_some_and(|s| s.is_host())).await;
    assert!(guest.stop().await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_without_a_relay_keeps_ticking_and_stops_at_once() {
    let peer = start("ws://127.0.0.1:1/ws", Purpose::Create(None), PathPolicy::Auto);
    until(&peer, "a few ticks", |_, _, diary| diary.ticks > 20).await;
    let before = Instant::now();
    let diary = peer.stop().await.expect("the game did not panic");
    assert!(before.elapsed() < Duration::from_secs(5), "stopping took {:?}", before.elapsed());
    assert!(!diary.events.iter().any(|event| matches!(event, PeerEvent::Entered(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_is_free_when_all_have_left_at_once() {
    let relay = Relay::start().await;
    let (founder, guest) = two(&relay, PathPolicy::Relayed).await;
    let third = start(&relay.url, Purpose::Join(code()), PathPolicy::Relayed);
    until(&third, "the third is a member", |_, peer, _| peer.session().is_some_and(|s| s.is_member())).await;
    let _ = tokio::join!(founder.stop(), guest.stop(), third.stop());
    let next = start(&relay.url, Purpose::Create(Some(code())), PathPolicy::Relayed);
    until(&next, "the relay's answer", |_, _, diary| {
        diary.events.iter().any(|event| matches!(event, PeerEvent::Entered(_) | PeerEvent::Refused(_)))
    })
    .await;
    let diary = next.stop().await.expect("the game did not panic");
    assert!(matches!(diary.events[0], PeerEvent::Entered(_)), "{:?}", diary.events);
}
