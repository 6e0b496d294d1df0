//! Matches: the same beginnings, endings and winners everywhere, whichever peer hosts.

use samovar_duel::course::{Course, PAUSE, Stage, Stakes};
use samovar_duel::game::DuelEvent;
use samovar_duel::player::PlayerKey;
use samovar_duel::word::Word;
use samovar_session::{Delivery, Target};
use samovar_wire::{Duration, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{World, total};

const TO_THREE: Stakes = Stakes { points: 3, ..Stakes::NONE };

/// The beginnings and endings of matches in a peer's feed: number, time, and for an ending the winner.
fn matches_of(world: &World, peer: PeerId) -> Vec<(u32, u64, Option<Option<PlayerKey>>)> {
    let told = world.players[&peer].feed.iter().filter_map(|event| match *event {
        DuelEvent::MatchBegan { number, at } => Some((number, at, None)),
        DuelEvent::MatchEnded { number, at, winner } => Some((number, at, Some(winner))),
        _ => None,
    });
    told.collect()
}

/// Two members end the same match at once, each with itself as the winner. Returns which winner each of two other
/// members believes in.
fn winners(delivery: Delivery) -> Vec<Option<PlayerKey>> {
    let mut world = World::new(90, 0, 0);
    let (a, b, c, d) = (world.join(), world.join(), world.join(), world.join());
    world.run(2_500);
    world.detours.insert((a, d), Duration::from_millis(150));
    world.detours.insert((b, c), Duration::from_millis(150));
    for peer in [a, b] {
        let word = Word::Ended { number: 99, at: 1, table: vec![(world.key(peer), 3)] };
        world.peer(peer).session.send(Target::All, delivery, &word.encode()).unwrap();
    }
    world.run(2_000);
    let believed = |peer| {
        let words = world.players[peer].words.iter().map(|(_, word)| word);
        words.fold(Course::default(), |course, word| course.after(word).unwrap_or(course)).winner
    };
    [c, d].iter().map(believed).collect()
}

#[test]
fn in_causal_order_two_members_see_different_winners() {
    let [c, d] = winners(Delivery::Causal)[..] else { panic!("two were asked") };
    assert!(c.is_some() && d.is_some() && c != d, "{c:?} and {d:?}: both pilots attack enemy 2");
}

#[test]
fn in_total_order_all_see_the_same_winner() {
    for delivery in [Delivery::Total, Delivery::Stable] {
        let [c, d] = winners(delivery)[..] else { panic!("two were asked") };
        assert!(c.is_some() && c == d, "{c:?} and {d:?}");
    }
}

#[test]
fn a_match_begins_with_two_players_and_ends_by_points() {
    let mut world = World::with_stakes(91, 3, 0, TO_THREE);
    world.run(1_500);
    let host = world.warrant.host;
    assert_eq!(world.host().duel.course().stage, Stage::Waiting, "there is no other player");
    let a = world.join();
    world.run_until("a match", 3_000, |world| world.players[&a].duel.course().stage == Stage::Running);
    world.all_play();
    world.run_until("its end", 90_000, |world| world.players[&a].duel.course().stage == Stage::Over);
    world.run(300);
    let course = world.players[&a].duel.course();
    let winner = course.winner.unwrap();
    assert_eq!((course.number, world.players[&a].duel.score(winner)), (1, Some(3)));
    let board = world.host().duel.scoreboard().table();
    world.run(PAUSE / 1_000 - 1_500);
    assert_eq!(world.host().duel.scoreboard().table(), board, "hits in the pause do not count");
    let late = world.join();
    world.run(1_000);
    assert_eq!(world.players[&late].duel.course().winner, Some(winner), "a late joiner learns the winner");
    assert_eq!(matches_of(&world, late), [], "but that is no news");
    world.run_until("the next match", 4_000, |world| world.players[&late].duel.course().number == 2);
    world.all_rest();
    world.run(500);
    assert!(total(world.players[&a].duel.scoreboard()) < 3, "scores begin anew");
    let feed = matches_of(&world, host);
    assert_eq!(feed.len(), 3);
    assert_eq!(matches_of(&world, a), feed[..], "the same moments and the same winner");
    assert_eq!(matches_of(&world, late), feed[2..]);
}

#[test]
fn a_match_ends_when_its_time_is_up() {
    let mut world = World::with_stakes(92, 0, 2, Stakes { seconds: 5, ..Stakes::NONE });
    let a = world.join();
    world.run(6_500);
    let feed = matches_of(&world, a);
    let course = world.host().duel.course();
    assert_eq!((course.number, course.stage), (1, Stage::Over));
    world.run(9_000);
    assert_eq!(world.host().duel.course().number, 2);
    assert!(matches_of(&world, a).len() > feed.len());
}

#[test]
fn whenever_the_host_dies_all_see_the_same_matches_and_winners() {
    for (seed, loss) in [(93, 0), (94, 5)] {
        for before in [-400, -60, -10, 10, 60, 200, 7_900, 8_050] {
            let mut world = World::with_stakes(seed, loss, 2, Stakes { seconds: 6, ..Stakes::NONE });
            let peers = [world.join(), world.join(), world.join()];
            world.run(1_000);
            let course = world.host().duel.course();
            assert_eq!(course.stage, Stage::Running);
            let host = world.warrant.host;
            world.all_play();
            let ends = course.ends_at().unwrap() as i64 + before * 1_000;
            world.run_until("the end is near", 20_000, |world| {
                world.host().session.session_time(world.now).as_micros() as i64 >= ends
            });
            world.kill(host);
            world.run(21_000);
            let feed = matches_of(&world, peers[0]);
            let numbers: Vec<_> =
                feed.iter().map(|(number, _, winner)| (*number, winner.is_some())).collect();
            let first = numbers[0];
            assert!(
                numbers.len() >= 3 && first <= (1, true),
                "{numbers:?} when it died {before} ms after the end"
            );
            assert!(numbers.is_sorted() && numbers.windows(2).all(|pair| pair[0] != pair[1]), "{numbers:?}");
            for &peer in &peers[1..] {
                let other = matches_of(&world, peer);
                let both = feed.len().min(other.len());
                assert_eq!(
                    other[other.len() - both..],
                    feed[feed.len() - both..],
                    "{before} ms, loss {loss}"
                );
            }
        }
    }
}
