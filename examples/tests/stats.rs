//! The numbers that a game can show.

use samovar::prelude::*;
use samovar::{RoomStats, Route};
use samovar_tests::relay::Relay;

use crate::frames::until;

#[derive(Object)]
struct Cup {
    #[field(range = 100.0, precision = 0.01, smooth)]
    place: [f32; 2],
}

struct Table(Id<Cup>);

samovar::game! { Table: name = "stats", version = 1, objects = (Cup) }

impl Game for Table {}

fn start(relay: &Relay, name: &str) -> Running<Table> {
    let url = format!("ws://{}/ws", relay.address());
    samovar::join_or_create(&url, "TEA-7", name)
        .on_status(|_| ())
        .start(|room| Table(room.own_or(|_| Cup { place: [0.0; 2] })))
        .expect("the settings are good")
}

/// A frame in which the cup moves.
fn stir(running: &mut Running<Table>) {
    running.with(|table, room| {
        let (y, x) = (room.time() as f32).sin_cos();
        room.edit(table.0, |cup| cup.place = [50.0 * x, 50.0 * y]).or_log();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn stats_show_connections_hosts_and_the_age_at_each_stage() {
    let relay = Relay::start();
    tokio::task::block_in_place(|| {
        let mut ann = start(&relay, "ann");
        until(&mut ann, "ann hosts", |_, room| room.is_host().then_some(()));
        let mut bob = start(&relay, "bob");
        let is_measured = |stats: &RoomStats| {
            let [other] = &stats.members[..] else { return false };
            stats.ages.received.samples >= 100
                && other.route == Route::Direct
                && other.round_trip.is_some()
        };
        let stats = until(&mut bob, "100 samples of ann's cup", |_, room| {
            stir(&mut ann);
            let stats = room.stats();
            is_measured(&stats).then_some(stats)
        });
        let ages = stats.ages;
        println!("{ages:#?}");
        assert!(ages.sent.mean <= ages.received.mean, "{ages:?}");
        assert!(ages.received.mean <= ages.applied.mean, "{ages:?}");
        assert!(ages.drawn.samples >= ages.applied.samples, "{ages:?}");
        for age in [ages.sent, ages.received, ages.applied, ages.drawn] {
            assert!(age.p50 <= age.p99 && age.samples > 0, "{age:?}");
        }
        let other = &stats.members[0];
        assert!(other.bytes_in > 0 && other.bytes_out > 0, "{other:?}");
        assert!((0.0..=1.0).contains(&other.loss_in), "{other:?}");
        drop(ann);
        let hosts = until(&mut bob, "two hosts", |_, room| {
            let hosts = room.stats().hosts;
            (hosts.len() == 2).then_some(hosts)
        });
        let names = hosts.iter().map(|term| &*term.name).collect::<Vec<_>>();
        assert_eq!(names, ["ann", "bob"]);
        assert!(hosts[0].term < hosts[1].term);
        assert!(hosts[0].since <= hosts[1].since);
    });
}
