//! Two players and a relay with a UDP port, each at a place of the test's own network.

use std::time::Duration;

use crate::network::{Access, Network};
use crate::player::{JOIN_WITHIN, Player, SETTLE_WITHIN, Visit};
use crate::relay::Relay;
use crate::status::Status;
use crate::watch::{self, Watch};

/// The relay's place.
pub const RELAY: usize = 0;
/// Ann's place.
pub const ANN: usize = 1;
/// Bob's place.
pub const BOB: usize = 2;

/// A relay with a UDP port, and two players at their places.
#[derive(Debug)]
pub struct Table {
    /// The network, which a test cuts and heals.
    pub network: Network,
    relay: Relay,
}

impl Table {
    /// Makes the network, and starts the relay. Returns `None`, and prints the reason, if no network may be made.
    #[must_use]
    pub fn set(ann: Access, bob: Access) -> Option<Self> {
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

    /// Opens Ann's page and Bob's, in one game. Each page records what it sees of the other.
    ///
    /// # Panics
    /// The pages do not get into the game.
    pub async fn seat(&self) -> (Player, Player) {
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

/// Lets both players drive in circles and throw sugar, which causes reliable messages.
///
/// # Panics
/// A page cannot be asked.
pub async fn play(pair: (&Player, &Player)) {
    pair.0.drive(0.6, 0.5, true).await;
    pair.1.drive(0.7, -0.4, true).await;
}

/// Lets both players rest until no message is under way, and checks that each has received each message of the other
/// once.
///
/// # Panics
/// A message was lost or came twice, or a page cannot be asked.
pub async fn settle((ann, bob): (&Player, &Player)) {
    for player in [ann, bob] {
        player.drive(0.0, 0.0, false).await;
    }
    // Flying sugar falls meanwhile, which causes the last messages.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (one, other) = watch::everything_came_once((ann, bob), SETTLE_WITHIN).await;
    println!("reliable messages, each received once: {one} and {other}");
    assert!(one.min(other) > 20, "both have sent some");
}

/// Returns each player's observations of the other.
///
/// # Panics
/// A page cannot be asked, or does not record observations.
pub async fn both(pair: (&Player, &Player)) -> [Watch; 2] {
    let (ann, bob) = tokio::join!(watch::seen(pair.0), watch::seen(pair.1));
    [ann, bob]
}
