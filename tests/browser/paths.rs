//! The path between two players changes in the middle of a duel: browsers in network name spaces that the test makes.

use std::time::Duration;

use samovar_tests::network::{Access, Network};
use samovar_tests::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use samovar_tests::relay::Relay;
use samovar_tests::sampler;
use samovar_tests::status::Status;
use samovar_tests::wait;
use samovar_tests::watch::{self, Watch};

/// The relay's place, and those of the players.
const RELAY: usize = 0;
const ANN: usize = 1;
const BOB: usize = 2;

/// How long a path that does not work is left alone at most, and an attempt takes: a failed one doubles the pause.
const BETTER_WITHIN: Duration = Duration::from_secs(45);

/// How long nothing may be heard of the other when the direct path is cut: the bound of a fall to the relay.
const FALLEN_WITHIN: f64 = 700.0;

/// How long nothing may be heard of a player whose router forgets it.
const REBOUND_WITHIN: f64 = 4_000.0;

/// A relay with a UDP port, and two players at their places.
struct Table {
    network: Network,
    relay: Relay,
}

impl Table {
    /// `None`, with a line that says why, where no network may be made.
    fn set(ann: Access, bob: Access) -> Option<Self> {
        let network = match Network::of(&[Access::Near, ann, bob]) {
            Ok(network) => network,
            Err(why) => {
                println!("SKIPPED, no network for the test: {why}");
                return None;
            }
        };
        let udp = ["--udp", "10.77.0.1:0", "--public-address", "10.77.0.1"];
        let relay = Relay::start_with(network.place(RELAY), &udp);
        Some(Self { network, relay })
    }

    /// Ann's page and Bob's, in one game and both watching the other.
    async fn seat(&self) -> (Player, Player) {
        let ann = self.join(ANN, "new=TEA&name=Ann").await;
        let bob = self.join(BOB, "game=TEA&name=Bob").await;
        for (player, other) in [(&ann, "Bob"), (&bob, "Ann")] {
            let both =
                |status: &Status| status.others().count() == 1 && status.objects_of("teapot").count() == 2;
            player.wait("both have teapots", JOIN_WITHIN, both).await;
            watch::start(player, other).await;
        }
        (ann, bob)
    }

    async fn join(&self, place: usize, query: &str) -> Player {
        let player = Visit::new(&self.relay, query).at(self.network.place(place)).open().await;
        player.joined().await;
        player
    }
}

/// Both drive in circles and throw sugar, which makes reliable messages.
async fn play(pair: (&Player, &Player)) {
    pair.0.drive(0.6, 0.5, true).await;
    pair.1.drive(0.7, -0.4, true).await;
}

/// Both rest until nothing is under way, and have all that the other sent, once.
async fn settle((ann, bob): (&Player, &Player)) {
    for player in [ann, bob] {
        player.drive(0.0, 0.0, false).await;
    }
    // The sugar that flies falls meanwhile, which makes the last of the messages.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (one, other) = watch::everything_came_once((ann, bob), SETTLE_WITHIN).await;
    println!("reliable messages, each received once: {one} and {other}");
    assert!(one.min(other) > 20, "both have sent some");
}

/// Plays on for a while, in which each is never silent for so long.
async fn plays_on(pair: (&Player, &Player), bound: f64) {
    let since = sampler::now();
    wait::throughout("nothing came twice", Duration::from_secs(4), async || {
        watch::nothing_came_twice(pair).await;
        Ok(())
    })
    .await;
    for player in [pair.0, pair.1] {
        let watch = watch::seen(player).await;
        let silence = watch.silence(since);
        assert!(silence < bound, "nothing was heard for {silence} ms: {:?}", watch.paths);
    }
}

async fn both(pair: (&Player, &Player)) -> [Watch; 2] {
    let (ann, bob) = tokio::join!(watch::seen(pair.0), watch::seen(pair.1));
    [ann, bob]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duel_runs_over_the_websocket_without_udp_and_moves_up_when_udp_is_let_through() {
    let Some(table) = Table::set(Access::Near, Access::Near) else { return };
    table.network.block_udp(&[RELAY, ANN, BOB]);
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["relayed"], SETTLE_WITHIN).await;
    plays_on(pair, 1_000.0).await;
    for watch in both(pair).await {
        assert_eq!(watch.path(), "relayed", "{:?}", watch.paths);
    }
    let healed = sampler::now();
    table.network.heal();
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    println!("off the WebSocket after {:.0} ms", sampler::now() - healed);
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    println!("direct after {:.0} ms", sampler::now() - healed);
    for watch in both(pair).await {
        println!("silent at most on the way up: {:.0} ms, by {:?}", watch.silence(healed), watch.paths);
        assert!(watch.silence(healed) < FALLEN_WITHIN, "no hole on the way up");
    }
    plays_on(pair, 1_000.0).await;
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_duel_whose_direct_path_is_cut_falls_to_the_relay_at_once_and_comes_back_up() {
    let Some(table) = Table::set(Access::Near, Access::Near) else { return };
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    plays_on(pair, 1_000.0).await;
    let cut = sampler::now();
    table.network.sever(&[ANN], &[BOB]);
    watch::paths_become(pair, &["relayedUdp", "relayed"], SETTLE_WITHIN).await;
    plays_on(pair, FALLEN_WITHIN).await;
    for watch in both(pair).await {
        let left = watch.left("direct", cut).expect("it is not direct any more") - cut;
        println!("fell after {left:.0} ms; silent at most: {:.0} ms", watch.silence(cut));
        assert!(watch.silence(cut) < FALLEN_WITHIN, "no hole on the way down");
        assert!(left < FALLEN_WITHIN + 100.0, "what is shown follows: {:?}", watch.paths);
    }
    let healed = sampler::now();
    table.network.heal();
    watch::paths_become(pair, &["direct"], BETTER_WITHIN).await;
    for watch in both(pair).await {
        println!(
            "up after {:.0} ms; silent at most: {:.0} ms",
            sampler::now() - healed,
            watch.silence(healed)
        );
        assert!(watch.silence(healed) < FALLEN_WITHIN, "no hole on the way up");
    }
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_player_whose_router_takes_other_ports_keeps_its_seat() {
    let Some(table) = Table::set(Access::Near, Access::Home) else { return };
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let [before, _] = both(pair).await;
    println!("before: {:?}", before.paths);
    let (peer, score) = (bob.peer().await, ann.status().await.score("Bob"));
    let rebound = sampler::now();
    table.network.rebind(BOB);
    plays_on(pair, REBOUND_WITHIN).await;
    watch::paths_become(pair, &["relayedUdp", "direct"], BETTER_WITHIN).await;
    println!("off the WebSocket again after {:.0} ms", sampler::now() - rebound);
    for watch in both(pair).await {
        println!("silent at most: {:.0} ms, by {:?}", watch.silence(rebound), watch.paths);
        assert!(watch.silence(rebound) < REBOUND_WITHIN);
    }
    let after = ann.status().await;
    let seated = after.member("Bob").expect("Bob sits");
    assert_eq!((&seated.peer, after.members.len()), (&peer, 2), "the same seat: {after}");
    assert!(Some(seated.score) >= score);
    for (player, name) in [(&ann, "ann"), (&bob, "bob")] {
        let connected = |status: &Status| status.relay == "connected";
        player.wait(&format!("{name} is at the relay"), SETTLE_WITHIN, connected).await;
    }
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_players_behind_routers_of_their_own_reach_each_other() {
    let Some(table) = Table::set(Access::Home, Access::Home) else { return };
    behind_routers(&table, "direct").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_players_behind_routers_that_let_nobody_through_are_relayed() {
    let Some(table) = Table::set(Access::StrictHome, Access::StrictHome) else { return };
    behind_routers(&table, "relayedUdp").await;
}

async fn behind_routers(table: &Table, path: &str) {
    let (ann, bob) = table.seat().await;
    let pair = (&ann, &bob);
    play(pair).await;
    watch::paths_become(pair, &[path], BETTER_WITHIN).await;
    plays_on(pair, 1_000.0).await;
    for watch in both(pair).await {
        println!("{:?}; silent at most: {:.0} ms", watch.paths, watch.silence(0.0));
        assert_eq!(watch.path(), path);
    }
    settle(pair).await;
    ann.finish().await;
    bob.finish().await;
}
