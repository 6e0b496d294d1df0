//! Checks the example at the end of each chapter of the protocol: these messages have these bytes.

use samovar_wire::claim::{Request, Wish};
use samovar_wire::control::{Hello, Opinion, PeerControl, Presence, Standing, Vote, encode};
use samovar_wire::input::{Held, Input};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::link_frame::{Ack, AckHistory, Frame, PacketHeader};
use samovar_wire::object::{Announcement, Destroy, Granted, MessageKind};
use samovar_wire::order::{Frame as OrderFrame, Run};
use samovar_wire::relay::{Denial, FromRelay, RelayFrame, ToRelay};
use samovar_wire::traits::{Access, Traits};
use samovar_wire::{
    CloseCode, DecodeError, Generation, Generations, Kind, ObjectId, PeerId, Reader, SeatId, Stamp, Term,
    Time,
};

use crate::file::{Form, Vectors};
use crate::objects::Announced;
use crate::packets::{is_packet, packet};
use crate::wishes::{message, read};
use crate::{THIRD, ticket};

const HOST: PeerId = PeerId(5);
const MEMBER: PeerId = PeerId(7);
const HELD: Held = Held { term: THIRD, view: 5, number: 300 };

/// The example of a chapter: its one block of hexadecimal bytes.
fn example(chapter: &'static str, text: &'static str) -> Vectors {
    let (_, block) = text.split_once("```hex\n").expect("the chapter has an example");
    let (block, rest) = block.split_once("```").expect("the example ends");
    assert!(!rest.contains("```hex"), "{chapter} has two examples");
    Vectors::parse(chapter, block)
}

macro_rules! chapter {
    ($name:literal) => {
        example($name, include_str!(concat!("../../crates/wire/protocol/", $name, ".md")))
    };
}

fn check_held(vectors: &mut Vectors, name: &'static str) {
    let encoded = message(MessageKind::Held, |out| HELD.encode(out));
    vectors.check(name, Form::Closed, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Held, Held::decode)? == HELD)
    });
}

fn check_control(vectors: &mut Vectors, name: &'static str, control: &PeerControl) {
    let mut encoded = vec![MessageKind::Control as u8];
    encode(control, &mut encoded);
    vectors.check(name, Form::Closed, &encoded, |bytes| {
        let mut reader = Reader::new(bytes);
        let kind = MessageKind::decode(&mut reader)?;
        Ok(kind == MessageKind::Control && PeerControl::decode(reader.rest())? == *control)
    });
}

fn body(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    match RelayFrame::decode(bytes)? {
        RelayFrame::Control(body) => Ok(body),
        RelayFrame::Forward { .. } => Err(DecodeError::Invalid),
    }
}

fn check_to_relay(vectors: &mut Vectors, name: &'static str, said: &ToRelay) {
    let encoded = RelayFrame::control(said);
    vectors.check(name, Form::Closed, &encoded, |bytes| Ok(ToRelay::decode(body(bytes)?)? == *said));
}

fn check_from_relay(vectors: &mut Vectors, name: &'static str, said: &FromRelay) {
    let encoded = RelayFrame::control(said);
    vectors.check(name, Form::Closed, &encoded, |bytes| Ok(FromRelay::decode(body(bytes)?)? == *said));
}

/// A packet of the first link of a pair.
fn linked(number: u16, newest: u16) -> PacketHeader {
    let generations = Generations { sender: Some(Generation::FIRST), receiver: Some(Generation::FIRST) };
    PacketHeader { generations, number, ack: Some(Ack { newest, history: AckHistory::from_words([0; 4]) }) }
}

fn check_packet(
    vectors: &mut Vectors,
    name: &'static str,
    header: PacketHeader,
    frame: Frame<'_>,
    form: Form,
) {
    let frames = [frame];
    vectors.check(name, form, &packet(header, &frames), |bytes| is_packet(bytes, header, &frames));
}

#[test]
fn example_of_encodings_matches_the_encoder() {
    let mut vectors = chapter!("encodings");
    check_held(&mut vectors, "backup to member, HELD");
    check_to_relay(&mut vectors, "member to relay, CLAIM", &ToRelay::Claim(THIRD, MEMBER));
    vectors.finish();
}

#[test]
fn example_of_links_matches_the_encoder() {
    let mut vectors = chapter!("links");
    let first = PacketHeader { generations: Generations::FIRST, number: 0, ack: None };
    check_packet(&mut vectors, "A to B, PING", first, Frame::Ping, Form::Open);
    let pong = Frame::Pong { ping: 0, held: 250, session: 0 };
    check_packet(&mut vectors, "B to A, PONG", linked(0, 0), pong, Form::Closed);
    let segment = Frame::Segment { lane: 0, number: 0, last: true, bytes: b"tea" };
    check_packet(&mut vectors, "A to B, SEGMENT", linked(1, 0), segment, Form::Closed);
    check_packet(&mut vectors, "B to A, CLOSE", linked(1, 1), Frame::Close(CloseCode::Left), Form::Closed);
    vectors.finish();
}

#[test]
fn example_of_members_matches_the_encoder() {
    let mut vectors = chapter!("members");
    let (name, hash) = ("Ann".to_owned(), ticket().hash());
    let hello = Hello {
        version: 10,
        params: 7,
        name,
        attributes: 0,
        ticket: hash,
        resume: [None; RESUME_MAX],
        voucher: None,
    };
    check_control(&mut vectors, "newcomer to host, HELLO", &PeerControl::Hello(hello));
    check_control(&mut vectors, "host to member, WELCOME", &PeerControl::Welcome(hash));
    let standing = Standing { presence: Presence::Visible, reach: 2 };
    check_control(&mut vectors, "member to host, STANDING", &PeerControl::Standing(standing));
    vectors.finish();
}

#[test]
fn example_of_hosts_matches_the_encoder() {
    let mut vectors = chapter!("hosts");
    let misses = Opinion { missed: true, ..Opinion::content(THIRD, HOST) };
    let vote = Vote { term: Term(THIRD.0 + 1), candidate: MEMBER, electorate: 2 };
    let votes = Opinion { vote: Some(vote), ..misses };
    let hosts = Opinion::content(vote.term, MEMBER);
    for (name, opinion) in [
        ("6 to 7, OPINION", misses),
        ("7 to 6, OPINION", votes),
        ("6 to 7, its vote", votes),
        ("7 to 6, as host", hosts),
    ] {
        check_control(&mut vectors, name, &PeerControl::Opinion(opinion));
    }
    vectors.finish();
}

#[test]
fn example_of_objects_matches_the_encoder() {
    let mut vectors = chapter!("objects");
    let id = ObjectId { creator: HOST, number: 1 };
    let stamp = |counter| Stamp { term: THIRD, counter };
    let time = Time::from_micros(300);
    let request = Request { id, known: stamp(1), time, wish: Wish::Request };
    let encoded = message(MessageKind::Request, |out| request.encode(out));
    vectors.check("7 to 5, REQUEST", Form::Closed, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Request, Request::decode)? == request)
    });
    let traits = Traits { access: Access::Free, ..Traits::of(Kind(1)) };
    for (name, kind, frame) in
        [("5 to 7, GRANT", MessageKind::Grant, 0), ("7 to all, MIGRATE", MessageKind::Migrate, 9)]
    {
        let head = Announcement::head(id, MEMBER, stamp(2), traits, time).in_frame(frame);
        let announced = Announced { message: kind, head, fields: vec![b"x"] };
        let mut encoded = Vec::new();
        announced.encode(&mut encoded);
        vectors.check(name, Form::Closed, &encoded, |bytes| {
            let mut reader = Reader::new(bytes);
            let is_it = announced.is_next(&mut reader)?;
            reader.end()?;
            Ok(is_it)
        });
    }
    let granted = Granted { id, stamp: stamp(2), owner: MEMBER };
    let encoded = message(MessageKind::Granted, |out| granted.encode(out));
    vectors.check("5 to others, GRANTED", Form::Closed, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Granted, Granted::decode)? == granted)
    });
    let destroy = Destroy { id, stamp: stamp(2) };
    let encoded = message(MessageKind::Destroy, |out| {
        out.object_id(destroy.id);
        out.stamp(destroy.stamp);
    });
    vectors.check("7 to all, DESTROY", Form::Closed, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Destroy, Destroy::decode)? == destroy)
    });
    vectors.finish();
}

#[test]
fn example_of_orders_matches_the_encoder() {
    let mut vectors = chapter!("orders");
    let input = Input { seat: SeatId(2), left: 2_000, number: 300, bytes: b"tea" };
    let encoded = message(MessageKind::Input, |out| input.encode(out));
    vectors.check("member to host, INPUT", Form::Closed, &encoded, |bytes| {
        Ok(read(bytes, MessageKind::Input, Input::decode)? == input)
    });
    check_held(&mut vectors, "host to member, HELD");
    let submitted = Run { epoch: 1, first: 1, encoded: b"\x05\0\0tea" };
    let ordered = Run { epoch: 1, first: 1, encoded: b"\x0a\0\x07\0\0\0\x01\0tea" };
    for (name, frame) in [
        ("member to host, SUBMIT", OrderFrame::Submit(0, submitted)),
        ("host to member, ITEMS", OrderFrame::Items { safe: 0, stable: 0, run: ordered }),
    ] {
        let encoded = [&[MessageKind::Total as u8], frame.to_bytes().as_slice()].concat();
        vectors.check(name, Form::Open, &encoded, |bytes| {
            let mut reader = Reader::new(bytes);
            let kind = MessageKind::decode(&mut reader)?;
            Ok(kind == MessageKind::Total && OrderFrame::decode(reader.rest())? == frame)
        });
    }
    vectors.finish();
}

#[test]
fn example_of_the_relay_matches_the_encoder() {
    let mut vectors = chapter!("relay");
    let term = THIRD.next_witnessed();
    check_to_relay(&mut vectors, "7 to relay, DOUBT", &ToRelay::Doubt);
    check_from_relay(&mut vectors, "relay to host, PROBE", &FromRelay::Probe(300));
    check_to_relay(&mut vectors, "7 to relay, CLAIM", &ToRelay::Claim(term, MEMBER));
    check_to_relay(&mut vectors, "host to relay, ALIVE", &ToRelay::Alive(300));
    check_from_relay(&mut vectors, "relay to 7, DENIED", &FromRelay::Denied(term, Denial::HostIsAlive));
    vectors.finish();
}

#[test]
fn example_of_the_reference_matches_the_encoder() {
    let mut vectors = chapter!("reference");
    let close = Frame::Close(CloseCode::PutOut);
    check_packet(&mut vectors, "host to member, CLOSE", linked(9, 4), close, Form::Closed);
    vectors.finish();
}
