//! Messages in time-stamp order, and lockstep (PROTOCOL §4.14, §4.15).

use samovar_wire::lockstep::{
    Change, Compare, Datagram, FieldHash, Fields, Frames, Loading, LockstepMessage, Run, SeatChange, Told,
};
use samovar_wire::timed::{Promise, Timed, TimedMessage};
use samovar_wire::{Reader, SeatId, Time, Writer};

use crate::file::{Form, Vectors};
use crate::{PEER, THIRD};

/// The length of an input in the examples, in bytes.
const INPUT: usize = 2;

pub(crate) fn encoded(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&mut Writer::new(&mut bytes));
    bytes
}

#[test]
fn time_stamp_messages_match_their_vectors() {
    let mut vectors = Vectors::parse("timed", include_str!("timed.hex"));
    let message = |number| Timed { time: Time::from_micros(1_000_000), number, bytes: b"tea".to_vec() };
    let gone = TimedMessage::Gone { peer: PEER, more: false, messages: vec![message(1), message(300)] };
    for (name, message) in
        [("own", TimedMessage::Own(message(300))), ("gone", gone), ("begin", TimedMessage::Begin(300))]
    {
        let bytes = encoded(|out| message.encode(out));
        let form = if name == "begin" { Form::Closed } else { Form::Open };
        vectors
            .check(name, form, &bytes, |bytes| Ok(TimedMessage::decode(&mut Reader::new(bytes))? == message));
    }
    let promise = Promise { until: Time::from_micros(1_280_000), sent: 300 };
    vectors.check("promise", Form::Closed, &encoded(|out| promise.encode(out)), |bytes| {
        let mut reader = Reader::new(bytes);
        let read = Promise::decode(&mut reader)?;
        reader.end()?;
        Ok(read == promise)
    });
    vectors.finish();
}

fn frames() -> Vec<Vec<SeatChange>> {
    let change = |seat, change| SeatChange { seat: SeatId(seat), change };
    let mut frames = vec![Vec::new(); 12];
    frames[0] = vec![change(2, Change::Input(vec![7, 1])), change(300, Change::Leaves)];
    frames[2] = vec![change(4, Change::Joins)];
    frames[11] = vec![change(15, Change::Input(vec![0, 255]))];
    frames
}

#[test]
fn lockstep_messages_match_their_vectors() {
    let mut vectors = Vectors::parse("lockstep", include_str!("lockstep.hex"));
    let mut run = Run::new();
    assert!(frames().iter().all(|changes| run.push(changes, 1_000)));
    let inputs = Datagram::Inputs { term: THIRD, newest: 300, ahead: 8, check: Some(0x1234) };
    let told = Datagram::Frames { term: THIRD, last: 300, lead: -2 };
    for (name, datagram) in [("inputs", inputs), ("frames", told)] {
        vectors.check(name, Form::Open, &encoded(|out| datagram.encode(&run, out)), |bytes| {
            Ok(Datagram::decode(&mut Reader::new(bytes), INPUT)? == (datagram, Frames::Changes(frames())))
        });
    }
    let full = Run::full(2, vec![7, 1, 0, 255, 7, 1, 0, 0]);
    vectors.check("full", Form::Open, &encoded(|out| told.encode(&full, out)), |bytes| {
        let frames = Frames::Inputs(2, full.bytes().to_vec());
        Ok(Datagram::decode(&mut Reader::new(bytes), INPUT)? == (told, frames))
    });
    let fresh = Told { term: THIRD, has_state: false, last: 0, digest: 0, frames: Vec::new() };
    let digest = 0x0123_4567_89ab_cdef;
    let known = Told { has_state: true, last: 300, digest, frames: frames(), ..fresh.clone() };
    let loading = Loading {
        term: THIRD,
        frame: 300,
        digest,
        chain: 5,
        players: vec![(SeatId(2), vec![7, 1]), (SeatId(300), vec![0, 0])],
        state: b"tea".to_vec(),
    };
    let field = |name: &str| FieldHash { name: name.to_owned(), hash: digest };
    for (name, message) in [
        ("fresh", LockstepMessage::Told(fresh)),
        ("told", LockstepMessage::Told(known)),
        ("want", LockstepMessage::Want(THIRD)),
        ("loading", LockstepMessage::Loading(loading)),
        (
            "compare",
            LockstepMessage::Compare(Compare { term: THIRD, first: 300, checksums: vec![digest, 1] }),
        ),
        ("fields", LockstepMessage::Fields(Fields { term: THIRD, frame: 300, fields: vec![field("steam")] })),
        ("differs", LockstepMessage::Differs(THIRD, 300, Some("steam".to_owned()))),
    ] {
        // These messages end with lists. A message that is cut is one with a shorter list.
        vectors.check(name, Form::Open, &encoded(|out| message.encode(out)), |bytes| {
            Ok(LockstepMessage::decode(&mut Reader::new(bytes), INPUT)? == message)
        });
    }
    vectors.finish();
}
