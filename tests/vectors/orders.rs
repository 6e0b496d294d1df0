//! Frames of orders (PROTOCOL §4.13).

use samovar_wire::limits::{ITEM_MAX, MEMBERS_MAX};
use samovar_wire::lockstep::LockstepMessage;
use samovar_wire::object::MessageKind;
use samovar_wire::order::{Frame, Install, Letter, Report, Run, ViewId, Want};
use samovar_wire::timed::{Promise, TimedMessage};
use samovar_wire::{DecodeError, Reader, Time, increments};

use crate::file::{Form, Vectors};
use crate::timed::encoded;
use crate::{OTHER, PEER, THIRD};

const VIEW: ViewId = ViewId { term: THIRD, number: 9 };

fn check(vectors: &mut Vectors, name: &'static str, form: Form, frame: &Frame<'_>) {
    vectors.check(name, form, &frame.to_bytes(), |bytes| Ok(Frame::decode(bytes)? == *frame));
}

#[test]
fn frames_of_orders_match_their_vectors() {
    let mut vectors = Vectors::parse("orders", include_str!("orders.hex"));
    check(&mut vectors, "item", Form::Open, &Frame::item(300, b"tea"));
    let run = Run { epoch: 128, first: 300, encoded: b"\x03tea\0" };
    check(&mut vectors, "items", Form::Open, &Frame::Items { safe: 300, stable: 5, run });
    assert_eq!(run.items().collect::<Vec<_>>(), [(300, &b"tea"[..]), (301, b"")]);
    let report = Report { view: VIEW, epoch: 128, again: true, stable: 5, counts: vec![0, 7, 300] };
    check(&mut vectors, "report", Form::Closed, &Frame::Report(report));
    let want = Want { owner: PEER, epoch: 128, first: 5, last: 300 };
    check(&mut vectors, "want", Form::Closed, &Frame::Want(want));
    let run = Run { epoch: 128, first: 7, encoded: b"\x03tea" };
    check(&mut vectors, "fill", Form::Open, &Frame::Fill(PEER, run));
    let install = Install {
        epoch: 129,
        view: VIEW,
        host: PEER,
        members: vec![PEER, OTHER],
        asked: 128,
        cut: Some(vec![7, 300]),
    };
    check(&mut vectors, "install", Form::Closed, &Frame::Install(install.clone()));
    let newcomer = Install { epoch: 1, members: vec![PEER], asked: 0, cut: None, ..install };
    check(&mut vectors, "newcomer", Form::Closed, &Frame::Install(newcomer));
    let run = Run { epoch: 128, first: 7, encoded: b"\x04\x01tea" };
    check(&mut vectors, "submit", Form::Open, &Frame::Submit(300, run));
    for (name, numbers) in [("unary", [0, 2, 1]), ("gamma", [100, 0, 0])] {
        let mut encoded = Vec::new();
        increments::encode(&numbers, &mut encoded);
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            let mut reader = Reader::new(bytes);
            let decoded = increments::decode(numbers.len(), &mut reader)?;
            reader.end()?;
            Ok(decoded == numbers)
        });
    }
    vectors.finish();
}

#[test]
fn ordered_messages_and_letters_match_their_vectors() {
    let mut vectors = Vectors::parse("ordered", include_str!("ordered.hex"));
    let mut check =
        |name, kind: MessageKind, body: &[u8], is_body: &dyn Fn(&[u8]) -> Result<bool, DecodeError>| {
            vectors.check(name, Form::Open, &[&[kind as u8], body].concat(), |bytes| {
                let mut reader = Reader::new(bytes);
                Ok(MessageKind::decode(&mut reader)? == kind && is_body(reader.rest())?)
            });
        };
    let item = Frame::item(300, b"tea");
    check("causal", MessageKind::Causal, &item.to_bytes(), &|body| Ok(Frame::decode(body)? == item));
    check("total", MessageKind::Total, &item.to_bytes(), &|body| Ok(Frame::decode(body)? == item));
    let begin = TimedMessage::Begin(300);
    check("timed", MessageKind::Timed, &encoded(|out| begin.encode(out)), &|body| {
        Ok(TimedMessage::decode(&mut Reader::new(body))? == begin)
    });
    let promise = Promise { until: Time::from_micros(1_280_000), sent: 300 };
    check("promise", MessageKind::Promise, &encoded(|out| promise.encode(out)), &|body| {
        Ok(Promise::decode(&mut Reader::new(body))? == promise)
    });
    let want = LockstepMessage::Want(THIRD);
    check("lockstep", MessageKind::Lockstep, &encoded(|out| want.encode(out)), &|body| {
        Ok(LockstepMessage::decode(&mut Reader::new(body), 1)? == want)
    });
    for (name, to) in [("letter", None), ("letter_for_one", Some(PEER))] {
        let letter = Letter { to, message: b"tea" };
        vectors.check(name, Form::Open, &letter.to_bytes(), |bytes| Ok(Letter::decode(bytes)? == letter));
    }
    vectors.finish();
    assert_eq!(Letter::decode(&[2, 0]), Err(DecodeError::Invalid));
    assert_eq!(Letter::decode(&[1, 0]), Err(DecodeError::Truncated));
}

#[test]
fn orders_that_no_member_sends_are_refused() {
    let refused = |bytes: &[u8], error| assert_eq!(Frame::decode(bytes), Err(error), "{bytes:02x?}");
    refused(&[], DecodeError::Truncated);
    refused(&[0x86], DecodeError::Invalid);
    refused(&[0x80, 0, 0, 1, 0], DecodeError::Invalid); // The first item has the number 1.
    refused(&[0x80, 0, 0, 1, 1, 3, 0], DecodeError::Truncated);
    refused(&[0x81, 0, 0, 1, 2, 0, 0], DecodeError::Invalid); // Again is 0 or 1.
    refused(&[0x81, 0, 0, 1, 0, 0, MEMBERS_MAX as u8 + 1], DecodeError::TooLarge);
    refused(&[0x82, 0, 0, 0, 0, 1, 5, 4], DecodeError::Invalid); // The last comes before the first.
    refused(&[0x84, 1, 0, 0, 7, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0], DecodeError::Invalid); // The host is no member.
    refused(&[0x85, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 1], DecodeError::Invalid); // 2^57 - 1
    let large = vec![0; ITEM_MAX + 2];
    refused(&large, DecodeError::TooLarge);
    assert!(Frame::decode(&large[1..]).is_ok());
}
