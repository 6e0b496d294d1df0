//! Programs with a loop of their own: what continues while the loop stands
//! still, and how a game ends.

use samovar::prelude::*;
use samovar_tests::relay::Relay;

use crate::frames::{PATIENCE, until};

#[derive(Default)]
struct Table {
    /// Members and their changes, in order.
    seen: Vec<(String, Change)>,
}

#[derive(Object)]
struct Cup {
    #[field(range = 100.0, precision = 0.01)]
    place: f32,
}

samovar::game! {
    Table: name = "table", version = 1, objects = (Cup), state = u32, asks = ()
}

impl Game for Table {
    fn decide(host: &mut Hosting<'_, '_, Self>, _: &Member, _: ()) {
        *host.state += 1;
    }

    fn member(&mut self, _: &mut Room<'_, Self>, who: &Member, what: Change) {
        self.seen.push((who.name.clone(), what));
    }
}

fn start(relay: &Relay, name: &str) -> Running<Table> {
    let url = format!("ws://{}/ws", relay.address());
    samovar::join_or_create(&url, "TEA-5", name)
        .on_status(|_| ())
        .start(|_| Table::default())
        .expect("the settings are good")
}

#[tokio::test(flavor = "multi_thread")]
async fn host_whose_loop_stands_still_hands_over_and_stays() {
    let relay = Relay::start();
    tokio::task::block_in_place(|| {
        let mut ann = start(&relay, "ann");
        let here = |room: &Room<'_, Table>| room.members().len();
        until(&mut ann, "ann hosts", |_, room| room.is_host().then_some(()));
        let mut bob = start(&relay, "bob");
        until(&mut bob, "bob joins", |_, room| (here(room) == 2).then_some(()));
        until(&mut ann, "she sees bob", |_, room| {
            (here(room) == 2).then_some(())
        });
        // Ann's loop stands still from here on.
        let mut asked = 0_u32;
        until(&mut bob, "bob hosts", |_, room| {
            if room.every(0.1) && room.ask(()).is_ok() {
                asked += 1;
            }
            room.is_host().then_some(())
        });
        until(&mut bob, "each ask once", |_, room| {
            (*room.state() == asked).then_some(())
        });
        assert_eq!(bob.with(|_, room| here(room)), Some(2), "ann is a member");
        until(&mut ann, "she plays on", |table, room| {
            let change = ("bob".to_owned(), Change::Hosts);
            (table.seen.contains(&change) && *room.state() == asked)
                .then_some(())
        });
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_or_leaving_a_game_removes_its_player() {
    let relay = Relay::start();
    let mut ann = start(&relay, "ann");
    let cat = tokio::task::block_in_place(|| {
        let cup = until(&mut ann, "ann joins", |_, room| {
            room.create(&Cup { place: 1.0 }).ok()
        });
        // The closure may use variables that it has borrowed.
        let mut places = Vec::new();
        ann.with(|_, room| {
            room.edit(cup, |cup| cup.place = 2.0).or_log();
            places.extend(room.get(cup).map(|cup| cup.place));
        });
        assert_eq!(places, [2.0]);
        let (bob, mut cat) = (start(&relay, "bob"), start(&relay, "cat"));
        let here = |table: &mut Table, room: &mut Room<'_, Table>| {
            let left = ("bob".to_owned(), Change::Left);
            (room.members().len(), table.seen.contains(&left))
        };
        until(&mut cat, "all are there", |table, room| {
            (here(table, room) == (3, false)).then_some(())
        });
        drop(bob);
        until(&mut cat, "bob has left", |table, room| {
            (here(table, room) == (2, true)).then_some(())
        });
        cat
    });
    ann.with(|_, room| room.leave());
    assert_eq!(ann.finished().await, Ok(()));
    assert_eq!(ann.end(), Some(Ok(())));
    assert_eq!(ann.with(|_, _| ()), None);
    drop(cat);
}

#[tokio::test]
async fn bad_addresses_fail_at_start_and_unknown_games_at_the_end() {
    let relay = Relay::start();
    let url = format!("ws://{}/ws", relay.address());
    let start = |url: &str| {
        samovar::join(url, "TEA-6", "ann").start(|_| Table::default())
    };
    assert!(matches!(start("ws://"), Err(Error::BadAddress(..))));
    let running = start(&url).expect("the settings are good");
    let end = running.finished().await;
    assert_eq!(end, Err(Error::NoSuchGame("TEA-6".to_owned())));
}

#[tokio::test(flavor = "multi_thread")]
async fn game_that_ends_with_its_host_ends_for_all() {
    let relay = Relay::start();
    let url = format!("ws://{}/ws", relay.address());
    let (ann, bob) = tokio::task::block_in_place(|| {
        let entry = samovar::join_or_create(&url, "TEA-5", "ann");
        let entry = entry.ends_with_host().on_status(|_| ());
        let mut ann = entry.start(|_| Table::default()).expect("settings");
        until(&mut ann, "ann hosts", |_, room| room.is_host().then_some(()));
        // Bob's program does not ask for it.
        let mut bob = start(&relay, "bob");
        until(&mut bob, "both are there", |_, room| {
            (room.members().len() == 2).then_some(())
        });
        (ann, bob)
    });
    drop(ann);
    let end = tokio::time::timeout(PATIENCE, bob.finished()).await;
    assert_eq!(end, Ok(Err(Error::HostLost)));
}
