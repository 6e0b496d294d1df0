//! Messages in an order: all hear the same, though the host is gone meanwhile.

use samovar::prelude::*;
use samovar_tests::relay::Relay;

use crate::frames::until;

#[derive(Default)]
struct Feed {
    heard: Vec<(String, u32)>,
}

#[derive(Message)]
struct Say(u32);

samovar::game! {
    Feed: name = "feed", version = 1, messages = Say,
    orders = (Causal, Total, Time)
}

impl Game for Feed {
    fn message(&mut self, _: &mut Room<'_, Self>, from: &Member, said: Say) {
        self.heard.push((from.name.clone(), said.0));
    }
}

fn start(relay: &Relay, name: &str) -> Running<Feed> {
    let url = format!("ws://{}/ws", relay.address());
    let entry = samovar::join_or_create(&url, "TEA-6", name);
    entry.on_status(|_| ()).start(|_| Feed::default()).expect("good settings")
}

#[tokio::test(flavor = "multi_thread")]
async fn all_hear_the_same_though_the_host_leaves() {
    let relay = Relay::start();
    tokio::task::block_in_place(|| {
        let mut ann = start(&relay, "ann");
        until(&mut ann, "ann hosts", |_, room| room.is_host().then_some(()));
        let mut all = ["bob", "cat"].map(|name| start(&relay, name));
        for each in &mut all {
            until(each, "all are there", |_, room| {
                (room.members().len() == 3).then_some(())
            });
        }
        let refused =
            all[0].with(|_, room| room.tell_in(Order::Stable, Say(0)));
        assert_eq!(refused, Some(Err(RoomError::NotInTheRules)));
        let mut ann = Some(ann);
        for number in 1..=40 {
            for each in &mut all {
                until(each, "room for a message", |_, room| {
                    room.tell_in(Order::Total, Say(number)).ok()
                });
            }
            if number == 20 {
                ann = None;
            }
        }
        drop(ann);
        let heard = all.map(|mut each| {
            until(&mut each, "all messages", |feed, _| {
                (feed.heard.len() >= 80).then(|| feed.heard.clone())
            })
        });
        assert_eq!(heard[0], heard[1], "one order");
        for name in ["bob", "cat"] {
            let own = heard[0].iter().filter(|each| each.0 == name);
            assert!(own.map(|each| each.1).eq(1..=40), "each once, in turn");
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_first_is_heard_first_whoever_tells_first() {
    let relay = Relay::start();
    tokio::task::block_in_place(|| {
        let mut ann = start(&relay, "ann");
        until(&mut ann, "ann hosts", |_, room| room.is_host().then_some(()));
        let mut bob = start(&relay, "bob");
        for each in [&mut ann, &mut bob] {
            until(each, "both are there", |_, room| {
                (room.members().len() == 2).then_some(())
            });
        }
        // Bob tells first of what happens later.
        until(&mut bob, "bob's shot", |_, room| {
            let time = room.time() + 0.5;
            room.tell_at(time, Say(2)).ok()
        });
        until(&mut ann, "ann's shot", |_, room| {
            room.tell_in(Order::Time, Say(1)).ok()
        });
        for each in [&mut ann, &mut bob] {
            let heard = until(each, "both shots", |feed, _| {
                (feed.heard.len() == 2).then(|| feed.heard.clone())
            });
            assert_eq!(
                heard.iter().map(|each| each.1).collect::<Vec<_>>(),
                [1, 2]
            );
        }
        // A promise forbids to come back to the past.
        let refused = bob.with(|_, room| room.tell_at(0.0, Say(3)).err());
        assert_eq!(refused, Some(Some(RoomError::NotInTheRules)));
    });
}
