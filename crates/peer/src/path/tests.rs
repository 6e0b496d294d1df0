use super::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn at(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

fn pair() -> PathState {
    PathState::new(at(0), Patience::PAIR)
}

/// A path whose connection 1 opened and was heard on at `ms`.
fn proven(ms: u64) -> PathState {
    let mut path = pair();
    path.on_opening(at(0), 1, None);
    assert!(path.on_opened(at(ms), 1));
    assert_eq!(path.on_heard(at(ms), 1), Some(None));
    path
}

/// Lets the path hear something every 50 ms, from `from` ms to `to` ms.
fn hear(path: &mut PathState, from: u64, to: u64) {
    for ms in (from..=to).step_by(50) {
        assert_eq!(path.expire(at(ms), true), None);
        assert!(path.on_heard(at(ms), path.current().unwrap()).is_some());
    }
}

fn closed(attempt: u32, end: Option<AttemptEnd>, was_last: bool) -> Option<Closed> {
    Some(Closed { attempt, end, was_last })
}

#[test]
fn a_silent_connection_is_doubted_then_falls_then_closes() {
    let mut path = pair();
    path.on_opening(at(0), 1, None);
    assert!(path.on_opened(at(10), 1));
    assert!(!path.is_up(at(11)) && path.carriers().eq([1]));
    path.on_heard(at(20), 1).unwrap();
    assert!(path.is_up(at(20)) && path.is_enough(at(269), false));
    assert!(path.is_up(at(270)) && !path.is_enough(at(270), false));
    assert!(path.is_up(at(619)) && !path.is_up(at(620)));
    assert_eq!(path.timeout(None, None), at(620));
    assert_eq!(path.expire(at(620), true), None);
    assert_eq!(path.timeout(Some(true), None), at(3_020));
    path.on_opening(at(3_020), 2, None);
    assert_eq!(path.expire(at(9_020), true), closed(2, Some(AttemptEnd::Unanswered), false));
    assert_eq!(path.timeout(Some(false), None), at(10_020));
    assert_eq!(path.expire(at(10_020), true), closed(1, None, true));
}

#[test]
fn a_late_path_is_not_doubted_yet() {
    let mut path = proven(0);
    (1..200).for_each(|frame| assert_eq!(path.on_heard(at(frame * 16), 1), Some(None)));
    let last = 199 * 16;
    assert!(!path.is_late(at(last + 44)) && path.is_late(at(last + 45)));
    assert!(path.is_enough(at(last + 59), true) && !path.is_enough(at(last + 60), true));
    assert!(!path.complains(at(last + 59), true) && path.complains(at(last + 60), true));
}

#[test]
fn a_proven_connection_stays_while_no_offer_can_replace_it() {
    let mut path = proven(20);
    assert_eq!(path.expire(at(60_000), false), None);
    assert_eq!(path.timeout(None, None), Time::FAR);
    assert!(path.on_heard(at(60_000), 1).is_some());
    hear(&mut path, 60_000, 61_000);
    assert!(path.is_up(at(61_000)));
}

#[test]
fn of_two_crossing_offers_one_stands_unless_it_is_lost() {
    let offering = |ms: u64| {
        let mut path = pair();
        path.on_opening(at(0), 1, None);
        assert_eq!(path.on_described(at(ms), 1), Some(None));
        path
    };
    assert!(offering(0).accepts_offer(at(100), false), "that of the lower id stands");
    let mut path = offering(900);
    assert!(!path.accepts_offer(at(1_000), true));
    assert_eq!(path.timeout(None, None), at(2_500), "who has ours answers it");
    assert!(path.accepts_offer(at(1_400), true), "who offers once more has not");
    let mut path = offering(900);
    assert!(!path.accepts_offer(at(1_000), true));
    assert_eq!(path.expire(at(2_500), true), closed(1, Some(AttemptEnd::Unanswered), false));
    assert!(path.wants_offer(at(2_500), true), "there is no reason for a pause");
    assert!(offering(900).accepts_offer(at(2_400), true), "it is too old to cross another");
    let mut path = offering(0);
    assert!(path.takes_answer(1) && path.accepts_offer(at(100), true), "who has answered wants another");
    let mut path = pair();
    path.on_opening(at(0), 1, None);
    assert!(path.accepts_offer(at(100), true), "nobody has heard of ours");
}

#[test]
fn offers_that_follow_each_other_too_closely_are_ignored() {
    let mut path = pair();
    assert!(path.accepts_offer(at(0), false) && !path.accepts_offer(at(299), false));
    assert!(path.accepts_offer(at(300), false));
}

#[test]
fn an_unanswered_offer_is_repeated_when_the_relay_is_back() {
    let mut path = pair();
    assert_eq!(path.offer_again(at(0)), None);
    path.on_opening(at(0), 1, None);
    assert_eq!(path.offer_again(at(500)), closed(1, Some(AttemptEnd::Superseded), false));
    assert!(path.wants_offer(at(500), true));
    path.on_opening(at(500), 2, None);
    assert!(path.takes_answer(2));
    assert_eq!(path.offer_again(at(600)), None, "it needs the relay no more");
    path.on_opening(at(700), 3, Some(9));
    assert_eq!(path.offer_again(at(800)), None, "the other end offers again");
}

#[test]
fn a_new_network_resets_the_pause_after_failures() {
    let mut path = pair();
    for n in 0..4 {
        path.on_opening(at(n * 100_000), 1, None);
        assert!(path.on_closed(at(n * 100_000), 1).is_some());
    }
    assert_eq!(path.renew(at(500_000)), None);
    path.on_opening(at(500_000), 2, None);
    assert!(path.on_closed(at(500_000), 2).is_some());
    assert!(!path.wants_offer(at(501_999), true) && path.wants_offer(at(502_000), true));
}

#[test]
fn one_packet_follows_each_complaint_over_the_websocket() {
    let mut path = proven(0);
    (1..200).for_each(|frame| path.on_present(at(frame * 16)));
    let last = 199 * 16;
    assert!(!path.complains_aloud(at(last + 59)) && !path.takes_owed());
    for again in [60, 260] {
        assert!(path.complains_aloud(at(last + again)));
        assert!(path.takes_owed() && !path.takes_owed());
    }
}

#[test]
fn a_fallen_path_is_up_again_after_a_second_of_arrivals() {
    let mut path = proven(0);
    assert_eq!(path.expire(at(700), true), None);
    hear(&mut path, 1_000, 1_950);
    assert!(!path.is_up(at(1_950)) && path.is_alive(at(1_950)));
    hear(&mut path, 2_000, 2_000);
    assert!(path.is_enough(at(2_000), false));
}

#[test]
fn a_flapping_path_waits_longer_for_trust_each_time() {
    let mut path = proven(0);
    let (mut now, mut waits) = (0, Vec::new());
    for _ in 0..6 {
        now += 700;
        assert_eq!(path.expire(at(now), true), None);
        let begun = now;
        while !path.is_up(at(now)) {
            hear(&mut path, now, now);
            now += 50;
        }
        waits.push((now - 50 - begun) / 1_000);
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 16]);
    let changes = waits.iter().filter(|wait| **wait >= 4).count();
    assert!(changes >= 4, "a path that flaps all the time changes the way twice in 17 seconds at most");
    hear(&mut path, now, now + 60_000);
    now += 60_700;
    assert_eq!(path.expire(at(now), true), None);
    hear(&mut path, now, now + 1_000);
    assert!(path.is_up(at(now + 1_000)));
}

#[test]
fn a_gap_restarts_the_time_to_regain_trust() {
    let mut path = proven(0);
    assert_eq!(path.expire(at(700), true), None);
    hear(&mut path, 1_000, 1_900);
    hear(&mut path, 2_200, 3_150);
    assert!(!path.is_up(at(3_150)));
    hear(&mut path, 3_200, 3_200);
    assert!(path.is_up(at(3_200)));
}

#[test]
fn a_silent_connection_is_replaced_by_another_that_is_heard() {
    let mut path = proven(0);
    assert!(!path.wants_offer(at(2_999), true) && path.wants_offer(at(3_000), true));
    assert!(!path.wants_offer(at(3_999), false) && path.wants_offer(at(4_000), false));
    assert_eq!(path.expire(at(3_000), true), None);
    path.on_opening(at(3_000), 2, None);
    assert!(!path.wants_offer(at(3_001), true) && path.current() == Some(1));
    assert!(path.on_opened(at(3_100), 2));
    assert!(path.carriers().eq([1, 2]));
    assert_eq!(path.on_heard(at(3_200), 2), Some(Some(Closed { attempt: 1, end: None, was_last: false })));
    assert!(path.carriers().eq([2]) && path.is_alive(at(3_200)) && !path.is_up(at(3_200)));
}

#[test]
fn the_old_connection_goes_on_when_the_one_beside_it_fails() {
    let mut path = proven(0);
    path.on_opening(at(3_000), 2, None);
    assert_eq!(path.on_closed(at(3_500), 2), closed(2, Some(AttemptEnd::Closed), false));
    assert_eq!(path.on_heard(at(3_600), 1), Some(None));
    assert!(path.is_alive(at(3_600)));
}

#[test]
fn the_new_connection_carries_when_the_old_one_closes_first() {
    let mut path = proven(0);
    path.on_opening(at(3_000), 2, Some(7));
    assert_eq!(path.on_described(at(0), 2), Some(Some(7)));
    assert!(path.on_opened(at(3_100), 2));
    assert_eq!(path.on_closed(at(3_150), 1), closed(1, None, false));
    assert_eq!(path.current(), Some(2));
}

#[test]
fn attempts_end_with_a_reason() {
    let mut path = pair();
    path.on_opening(at(0), 1, None);
    assert_eq!(path.expire(at(6_000), true), closed(1, Some(AttemptEnd::Unanswered), false));
    path.on_opening(at(10_000), 2, None);
    assert!(path.takes_answer(2) && !path.takes_answer(2));
    assert_eq!(path.expire(at(20_000), true), closed(2, Some(AttemptEnd::Late), false));
    path.on_opening(at(30_000), 3, Some(1));
    assert_eq!(path.supersede(), closed(3, Some(AttemptEnd::Superseded), false));
    path.on_opening(at(40_000), 4, Some(2));
    assert!(path.on_opened(at(40_100), 4) && !path.on_opened(at(40_100), 4));
    assert_eq!(path.expire(at(43_100), true), closed(4, Some(AttemptEnd::Silent), true));
    path.on_opening(at(50_000), 5, None);
    assert!(path.end(AttemptEnd::Gone).map(Some).eq([closed(5, Some(AttemptEnd::Gone), false)]));
}

#[test]
fn events_of_a_replaced_attempt_change_nothing() {
    let mut path = pair();
    path.on_opening(at(0), 1, None);
    path.supersede();
    path.on_opening(at(0), 2, Some(1));
    assert!(!path.on_opened(at(1), 1));
    assert_eq!((path.on_described(at(0), 1), path.on_described(at(0), 2)), (None, Some(Some(1))));
    assert_eq!(path.on_closed(at(1), 1), None);
    assert!(path.on_opened(at(2), 2));
    assert_eq!(path.on_heard(at(3), 1), None);
    assert_eq!(path.on_heard(at(3), 2), Some(None));
}

#[test]
fn pauses_after_failures_grow_until_hurry_ends_them() {
    let mut path = pair();
    let mut waits = Vec::new();
    for attempt in 1..8 {
        path.on_opening(at(0), attempt, None);
        assert!(path.on_closed(at(0), attempt).is_some());
        waits.push(path.timeout(Some(true), Some(false)).as_micros() / 1_000_000);
    }
    assert_eq!(waits, [2, 4, 8, 16, 20, 20, 20]);
    assert!(!path.wants_offer(at(1), true));
    path.hurry(at(1));
    assert!(path.wants_offer(at(1), true) && !path.wants_offer(at(1), false));
}

#[test]
fn a_network_change_makes_either_end_offer_at_once() {
    let mut path = proven(0);
    hear(&mut path, 50, 500);
    path.on_opening(at(500), 2, Some(1));
    assert_eq!(path.renew(at(510)), closed(2, Some(AttemptEnd::Superseded), false));
    assert!(path.wants_offer(at(510), false) && path.is_enough(at(510), false));
    path.on_opening(at(510), 3, None);
    assert!(path.is_enough(at(510), false) && !path.wants_offer(at(520), true));
    path.on_opened(at(600), 3);
    path.on_heard(at(650), 3).unwrap();
    assert!(
        path.is_enough(at(650), false) && path.carriers().eq([3]),
        "nothing fell, so nothing is on probation"
    );
}

#[test]
fn a_complaint_puts_the_path_in_doubt() {
    let mut path = proven(0);
    hear(&mut path, 50, 500);
    path.on_complaint(at(500), false);
    hear(&mut path, 550, 850);
    assert!(path.is_up(at(850)) && !path.is_enough(at(850), false));
    hear(&mut path, 900, 900);
    assert!(path.is_enough(at(900), false));
}

#[test]
fn silence_draws_a_complaint_every_200_ms() {
    let mut path = proven(0);
    assert_eq!(path.timeout(None, Some(false)), at(250));
    let complaints: Vec<_> = (0..1_000).step_by(10).filter(|&ms| path.complains(at(ms), false)).collect();
    assert_eq!(complaints, [250, 450, 650, 850]);
}

#[test]
fn silence_counts_from_the_first_unanswered_request() {
    let mut path = PathState::new(at(0), Patience::RELAY);
    path.on_opening(at(0), 1, None);
    path.on_opened(at(0), 1);
    path.on_asked(at(0));
    path.on_heard(at(30), 1).unwrap();
    path.on_answered(1);
    assert!(path.is_enough(at(60_000), false), "nobody asked");
    path.on_asked(at(60_000));
    path.on_asked(at(60_200));
    assert!(path.is_enough(at(60_449), false) && !path.is_enough(at(60_450), false));
    assert!(path.is_up(at(60_999)) && path.has_fallen(at(61_000)));
    assert_eq!(path.expire(at(63_000), true), closed(1, None, true));
    assert!(path.wants_offer(at(63_000), true));
}

#[test]
fn a_second_connection_is_up_only_after_an_arrival() {
    let mut path = proven(0);
    assert!(path.was_up() && path.on_closed(at(100), 1).is_some());
    path.on_opening(at(200), 2, None);
    assert!(path.on_opened(at(300), 2));
    assert!(!path.was_up() && !path.is_up(at(300)));
    path.on_heard(at(310), 2).unwrap();
    assert!(path.was_up() && path.is_up(at(310)));
}

/// When two ends are both connected, in ms. Their drivers gather candidates for `gathers` ms, and their signals take
/// `way` ms. `begun` is when each end begins.
fn both_are_connected_at(gathers: u64, way: u64, may_both_offer: bool, begun: [u64; 2]) -> Option<u64> {
    #[derive(Clone, Copy)]
    enum Signal {
        Described(u32),
        Offer(u32),
        /// The attempt that is answered, and the one that answers.
        Answer(u32, u32),
        Opened(u32),
    }
    let mut ends = [pair(), pair()];
    let (mut last, mut opened) = ([0_u32; 2], [false; 2]);
    let mut queue: Vec<(u64, usize, Signal)> = Vec::new();
    for ms in 0..120_000 {
        for (end, _) in ends.iter_mut().zip(begun).filter(|(_, begun)| *begun == ms) {
            end.renew(at(ms));
        }
        let due: Vec<_> = queue.extract_if(.., |(due, ..)| *due == ms).collect();
        for (_, to, signal) in due {
            let path = &mut ends[to];
            match signal {
                Signal::Described(number) => match path.on_described(at(ms), number) {
                    Some(None) => queue.push((ms + way, 1 - to, Signal::Offer(number))),
                    Some(Some(theirs)) => queue.push((ms + way, 1 - to, Signal::Answer(theirs, number))),
                    None => {}
                },
                Signal::Offer(theirs) => {
                    if path.accepts_offer(at(ms), to == 0) {
                        path.supersede();
                        last[to] += 1;
                        path.on_opening(at(ms), last[to], Some(theirs));
                        queue.push((ms + gathers, to, Signal::Described(last[to])));
                    }
                }
                Signal::Answer(asked, by) if path.takes_answer(asked) => {
                    queue.push((ms + 50, to, Signal::Opened(asked)));
                    queue.push((ms + 50, 1 - to, Signal::Opened(by)));
                }
                Signal::Answer(..) => {}
                Signal::Opened(number) => opened[to] |= path.on_opened(at(ms), number),
            }
        }
        if opened == [true, true] {
            return Some(ms);
        }
        for (to, path) in ends.iter_mut().enumerate() {
            while path.expire(at(ms), true).is_some() {}
            if begun[to] <= ms && path.wants_offer(at(ms), to == 0 || may_both_offer) {
                last[to] += 1;
                path.on_opening(at(ms), last[to], None);
                queue.push((ms + gathers, to, Signal::Described(last[to])));
            }
        }
    }
    None
}

#[test]
fn ends_that_offer_at_the_same_time_connect_within_6_s() {
    let mut late = Vec::new();
    for both in [false, true] {
        for gathers in [50, 500, 900, 950, 1_000] {
            for way in [10, 40, 100, 300] {
                for later in [0, 20, 100, 400] {
                    let done = both_are_connected_at(gathers, way, both, [0, later]);
                    if done.is_none_or(|ms| ms > 6_000) {
                        late.push((both, gathers, way, later, done));
                    }
                }
            }
        }
    }
    assert!(late.is_empty(), "(direct only, gathers, way, later, connected): {late:#?}");
}
