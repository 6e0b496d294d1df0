//! Bytes that no honest peer sends.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use samovar_order::lockstep::{Lockstep, LockstepConfig, LockstepView, Request};
use samovar_wire::lockstep::{Change, Datagram, Loading, LockstepMessage, Run, SeatChange, Told};
use samovar_wire::{CloseCode, Lane, PeerId, SeatId, Term, Time, Writer};

use crate::lockstep::world::{peer, player};
use samovar_wire::Rng;

fn at(ms: u64) -> Time {
    Time::from_micros(ms * 1_000)
}

fn pair() -> (Lockstep, Lockstep) {
    let config = LockstepConfig::new(1);
    let (mut host, mut member) = (Lockstep::found(peer(1), config), Lockstep::join(peer(2), config));
    let members = [player(peer(1)), player(peer(2))];
    for lockstep in [&mut host, &mut member] {
        lockstep.handle_view(at(0), LockstepView { term: Term::FIRST, host: peer(1), members: &members });
    }
    (host, member)
}

fn serve(lockstep: &mut Lockstep, now: Time) {
    while let Some(request) = lockstep.poll_request() {
        match request {
            Request::Step(frame) => lockstep.stepped(frame.number, frame.number),
            Request::Save => lockstep.answer_state(now, b"state").unwrap(),
            Request::Fields { frame } => lockstep.answer_fields(now, frame, Vec::new()),
            Request::Load { .. } => (),
        }
    }
}

/// Lets both exchange messages over a network that damages some of them.
fn talk(dice: &mut Rng, host: &mut Lockstep, member: &mut Lockstep) {
    for step in 0..400 {
        let now = at(5 * step);
        pass(dice, now, (host, member, peer(1)));
        pass(dice, now, (member, host, peer(2)));
    }
}

fn pass(dice: &mut Rng, now: Time, (sender, receiver, from): (&mut Lockstep, &mut Lockstep, PeerId)) {
    sender.handle_timeout(now);
    serve(sender, now);
    while let Some(mut transmit) = sender.poll_transmit() {
        while dice.chance(300, 1_000) && !transmit.bytes.is_empty() {
            let place = dice.roll(transmit.bytes.len() as u64) as usize;
            match dice.roll(3) {
                0 => transmit.bytes[place] = dice.number() as u8,
                1 => transmit.bytes.truncate(place),
                _ => transmit.bytes.insert(place, dice.number() as u8),
            }
        }
        let _ = match transmit.lane {
            Lane::Unreliable => receiver.handle_datagram(now, from, &transmit.bytes),
            _ => receiver.handle_message(now, from, &transmit.bytes),
        };
        serve(receiver, now);
    }
    while sender.poll_event().is_some() {}
}

#[test]
fn mutated_bytes_do_not_make_lockstep_panic() {
    for seed in 0..200 {
        let (mut host, mut member) = pair();
        talk(&mut Rng::new(seed), &mut host, &mut member);
        assert!(host.last() > 0, "the host goes on");
    }
}

fn datagram(datagram: Datagram, frames: &[Vec<SeatChange>]) -> Vec<u8> {
    let mut run = Run::new();
    frames.iter().for_each(|changes| assert!(run.push(changes, 1_000)));
    let mut bytes = Vec::new();
    datagram.encode(&run, &mut Writer::new(&mut bytes));
    bytes
}

fn message(message: &LockstepMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut Writer::new(&mut bytes));
    bytes
}

fn in_step() -> (Lockstep, Lockstep) {
    let (mut host, mut member) = pair();
    for step in 0..100 {
        for _ in 0..2 {
            pass_whole(at(10 * step), (&mut host, &mut member, peer(1)));
            pass_whole(at(10 * step), (&mut member, &mut host, peer(2)));
        }
    }
    assert!(member.last() > 50);
    (host, member)
}

fn pass_whole(now: Time, (sender, receiver, from): (&mut Lockstep, &mut Lockstep, PeerId)) {
    sender.handle_timeout(now);
    serve(sender, now);
    while let Some(transmit) = sender.poll_transmit() {
        let taken = match transmit.lane {
            Lane::Unreliable => receiver.handle_datagram(now, from, &transmit.bytes),
            _ => receiver.handle_message(now, from, &transmit.bytes),
        };
        assert_eq!(taken, Ok(()));
        serve(receiver, now);
    }
}

#[test]
fn impossible_frame_ends_the_link_and_changes_nothing() {
    let (_, mut member) = in_step();
    let before = member.last();
    let frames = Datagram::Frames { term: Term::FIRST, last: before as u16 + 1, lead: 0 };
    let bytes = datagram(frames, &[vec![SeatChange { seat: SeatId(7), change: Change::Leaves }]]);
    assert_eq!(member.handle_datagram(at(1_000), peer(1), &bytes), Err(CloseCode::Malformed));
    assert_eq!(member.last(), before);
}

#[test]
fn frames_and_states_count_only_from_the_host_of_the_term() {
    let (mut host, mut member) = in_step();
    let before = member.last();
    let leaves = [vec![SeatChange { seat: SeatId(2), change: Change::Leaves }]];
    let frames = |term| Datagram::Frames { term, last: before as u16 + 1, lead: 0 };
    for (from, term) in [(peer(3), Term::FIRST), (peer(1), Term(512)), (peer(1), Term(0))] {
        let bytes = datagram(frames(term), &leaves);
        assert_eq!(member.handle_datagram(at(1_000), from, &bytes), Ok(()));
    }
    let loading = Loading {
        term: Term::FIRST,
        frame: 9_999,
        digest: 0,
        chain: 0,
        players: Vec::new(),
        state: Vec::new(),
    };
    let bytes = message(&LockstepMessage::Loading(loading));
    assert_eq!(member.handle_message(at(1_000), peer(3), &bytes), Ok(()));
    assert_eq!(host.handle_message(at(1_000), peer(2), &bytes), Ok(()));
    assert_eq!(member.last(), before);
    assert!(host.last() < 9_999);
}

#[test]
fn inputs_of_another_seat_or_far_ahead_are_ignored() {
    let (mut host, _) = in_step();
    let now = at(1_000);
    let last = host.last();
    let input = |seat| vec![SeatChange { seat: SeatId(seat), change: Change::Input(vec![77]) }];
    for (ahead, seat) in [(1, 1), (30_000, 2)] {
        let newest = (last + ahead) as u16;
        let inputs = Datagram::Inputs { term: Term::FIRST, newest, ahead: ahead as i32, check: None };
        assert_eq!(host.handle_datagram(now, peer(2), &datagram(inputs, &[input(seat)])), Ok(()));
    }
    for step in 1..100 {
        host.handle_timeout(now + samovar_wire::Duration::from_millis(20 * step));
        while let Some(request) = host.poll_request() {
            if let Request::Step(frame) = request {
                assert!(frame.inputs.values().all(|input| input != &[77]));
                host.stepped(frame.number, frame.number);
            }
        }
    }
}

#[test]
fn a_host_does_not_adopt_frames_that_it_has_not_decided() {
    let (mut host, _) = in_step();
    let before = host.last();
    let told = Told {
        term: Term::FIRST,
        has_state: true,
        last: before + 100,
        digest: 7,
        frames: vec![Vec::new(); 100],
    };
    let bytes = message(&LockstepMessage::Told(told));
    assert_eq!(host.handle_message(at(1_000), peer(2), &bytes), Ok(()));
    assert_eq!(host.last(), before);
}

#[test]
fn numbers_at_the_end_of_their_range_cause_no_panic() {
    use samovar_wire::lockstep::Compare;
    let (_, mut member) = in_step();
    let compare = Compare { term: Term::FIRST, first: u64::MAX, checksums: vec![1, 2] };
    let _ = member.handle_message(at(1_000), peer(1), &message(&LockstepMessage::Compare(compare)));
    serve(&mut member, at(1_000));
}

#[test]
fn a_state_after_the_last_possible_frame_causes_no_panic() {
    let (_, mut member) = in_step();
    let loading = Loading {
        term: Term::FIRST,
        frame: u64::MAX,
        digest: 0,
        chain: 0,
        players: Vec::new(),
        state: Vec::new(),
    };
    let _ = member.handle_message(at(1_000), peer(1), &message(&LockstepMessage::Loading(loading)));
    for step in 0..10 {
        let now = at(1_000 + 20 * step);
        serve(&mut member, now);
        member.handle_timeout(now);
        while member.poll_transmit().is_some() {}
    }
}

/// A game may ignore events.
#[test]
fn events_that_a_game_ignores_are_bounded() {
    let (mut host, mut member) = in_step();
    let mut count = |from: u64, steps: u64| {
        for step in from..from + steps {
            let now = at(1_000 + 10 * step);
            serve(&mut host, now);
            host.handle_timeout(now);
            serve(&mut host, now);
            // The member stutters: for two seconds its inputs do not arrive.
            let is_away = step % 400 < 200;
            while let Some(out) = host.poll_transmit() {
                let _ = match out.lane {
                    Lane::Unreliable => member.handle_datagram(now, peer(1), &out.bytes),
                    _ => member.handle_message(now, peer(1), &out.bytes),
                };
            }
            serve(&mut member, now);
            member.handle_timeout(now);
            while let Some(out) = member.poll_transmit() {
                let _ = match out.lane {
                    Lane::Unreliable if is_away => Ok(()),
                    Lane::Unreliable => host.handle_datagram(now, peer(2), &out.bytes),
                    _ => host.handle_message(now, peer(2), &out.bytes),
                };
            }
        }
        let mut copy = host.clone();
        core::iter::from_fn(|| copy.poll_event()).count()
    };
    let (early, late) = (count(0, 50_000), count(50_000, 50_000));
    assert!(early > 200 && late <= 256, "{early} events are kept after 500 s, {late} after 1,000 s");
}
