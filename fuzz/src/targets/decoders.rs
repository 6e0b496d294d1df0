//! All decoders: no bytes make a decoder panic or allocate without bound, and each value that it accepts survives
//! encoding and decoding.

use samovar_directory::description::{Local, Offer};
use samovar_duel::cube::Launch;
use samovar_duel::phase::Phase;
use samovar_duel::scores::{Row, Scoreboard};
use samovar_duel::state::{Identity, TeapotState};
use samovar_objects::State;
use samovar_roster::{RelayKey, View};
use samovar_wire::call::{Call, Reply};
use samovar_wire::carried::{self, Leg};
use samovar_wire::claim::{Answer, Request};
use samovar_wire::control::{Message, PeerControl, decode, encode};
use samovar_wire::input::{Held, Input, Told};
use samovar_wire::limits::RELAY_MESSAGE_MAX;
use samovar_wire::link_frame::{BulkChunk, PacketHeader};
use samovar_wire::object::{
    Announcement, Deaths, Destroy, FrameHead, Granted, MessageKind, Update, encode_announcement,
};
use samovar_wire::relay::{Addressed, FromRelay, RelayFrame, ToRelay};
use samovar_wire::sight::{Focus, Sight};
use samovar_wire::view::{SeatRecord, ViewHeader};
use samovar_wire::{Mode, PeerId, PeerPass, Reader, SessionId, Signature, Term, Time, Warrant, Writer};

pub(super) fn packets(bytes: &[u8]) {
    let Ok((header, mut frames)) = PacketHeader::decode(bytes) else { return };
    let mut again = Vec::new();
    let mut out = Writer::new(&mut again);
    header.encode(&mut out);
    while let Ok(Some(frame)) = frames.next_frame() {
        frame.encode(&mut out);
    }
    let Ok((same, mut frames)) = PacketHeader::decode(&again) else {
        panic!("{header:?} does not come back")
    };
    assert_eq!(same, header);
    // Reads the packet again instead of keeping its frames, so that only the decoder holds memory.
    let Ok((_, mut read)) = PacketHeader::decode(bytes) else { panic!("{header:?} was read before") };
    while let Ok(Some(frame)) = read.next_frame() {
        assert_eq!(frames.next_frame(), Ok(Some(frame)));
    }
}

pub(super) fn chunks(bytes: &[u8]) {
    let Ok(chunk) = BulkChunk::decode(bytes) else { return };
    let mut again = Vec::new();
    chunk.encode(&mut again);
    assert_eq!(BulkChunk::decode(&again), Ok(chunk));
}

/// Packets that a member carries for others: each entry survives encoding and decoding.
pub(super) fn carried(bytes: &[u8]) {
    for mode in [Mode::Unreliable, Mode::Reliable] {
        let (Some(leg), Ok(entries)) = (Leg::of(bytes), carried::entries(mode, bytes)) else { continue };
        let mut again = Vec::new();
        entries.clone().for_each(|entry| entry.encode(leg, &mut again));
        assert_eq!(Leg::of(&again), Some(leg));
        let Ok(same) = carried::entries(mode, &again) else { panic!("a bundle does not come back") };
        assert!(same.eq(entries));
    }
}

pub(super) fn messages(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let Ok(kind) = MessageKind::decode(&mut reader) else { return };
    match kind {
        MessageKind::Destroy => drop(Destroy::decode(&mut reader)),
        MessageKind::Update => {
            let base = Time::from_micros(reader.varint().unwrap_or_default());
            while let Ok(update) = Update::decode(base, &mut reader) {
                assert!(update.fields().all(|(_, value)| value.len() <= 255));
            }
        }
        MessageKind::Deaths => {
            while let Ok(run) = Deaths::decode(&mut reader) {
                let mut again = Vec::new();
                run.encode(&mut Writer::new(&mut again));
                assert_eq!(Deaths::decode(&mut Reader::new(&again)), Ok(run));
            }
        }
        MessageKind::Granted => {
            while let Ok(grant) = Granted::decode(&mut reader) {
                let mut again = Vec::new();
                grant.encode(&mut Writer::new(&mut again));
                assert_eq!(Granted::decode(&mut Reader::new(&again)), Ok(grant));
            }
        }
        MessageKind::Frame => {
            if let Ok(head) = FrameHead::decode(&mut reader) {
                let mut again = Vec::new();
                head.encode(&mut Writer::new(&mut again));
                assert!(again.len() <= FrameHead::LEN_MAX);
                assert_eq!(FrameHead::decode(&mut Reader::new(&again)), Ok(head));
            }
        }
        MessageKind::Request | MessageKind::Answer | MessageKind::Call | MessageKind::Reply => {
            between_members(kind, reader.rest());
        }
        MessageKind::Focus | MessageKind::Sight => sight(reader.rest()),
        MessageKind::Input | MessageKind::Held | MessageKind::Told => input(reader.rest()),
        _ => announcement(&mut reader),
    }
}

/// Ownership requests and calls survive encoding and decoding.
fn between_members(kind: MessageKind, bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut again = Vec::new();
    let mut out = Writer::new(&mut again);
    match kind {
        MessageKind::Request => {
            let Ok(request) = Request::decode(&mut reader) else { return };
            request.encode(&mut out);
            assert_eq!(Request::decode(&mut Reader::new(&again)), Ok(request));
        }
        MessageKind::Answer => {
            let Ok(answer) = Answer::decode(&mut reader) else { return };
            answer.encode(&mut out);
            assert_eq!(Answer::decode(&mut Reader::new(&again)), Ok(answer));
        }
        MessageKind::Call => {
            let Ok(call) = Call::decode(&mut reader) else { return };
            call.encode(&mut out);
            assert_eq!(Call::decode(&mut Reader::new(&again)), Ok(call));
        }
        _ => {
            let Ok((number, reply)) = Reply::decode(&mut reader) else { return };
            reply.encode(number, &mut out);
            assert_eq!(Reply::decode(&mut Reader::new(&again)), Ok((number, reply)));
        }
    }
}

/// A member's focus, and the messages that tell it which objects it sees, survive encoding and decoding, too.
fn sight(bytes: &[u8]) {
    let mut again = Vec::new();
    if let Ok(focus) = Focus::decode(&mut Reader::new(bytes)) {
        assert!(focus.is_none_or(|focus| focus.is_valid()));
        Focus::encode(focus.as_ref(), &mut Writer::new(&mut again));
        assert_eq!(Focus::decode(&mut Reader::new(&again)), Ok(focus));
    }
    again.clear();
    if let Ok(sight) = Sight::decode(&mut Reader::new(bytes)) {
        sight.encode(&mut Writer::new(&mut again));
        assert_eq!(Sight::decode(&mut Reader::new(&again)), Ok(sight));
    }
}

/// Inputs survive encoding and decoding, too.
fn input(bytes: &[u8]) {
    let mut again = Vec::new();
    if let Ok(input) = Input::decode(&mut Reader::new(bytes)) {
        input.encode(&mut Writer::new(&mut again));
        assert_eq!(Input::decode(&mut Reader::new(&again)), Ok(input));
        again.clear();
    }
    if let Ok(held) = Held::decode(&mut Reader::new(bytes)) {
        held.encode(&mut Writer::new(&mut again));
        assert_eq!(Held::decode(&mut Reader::new(&again)), Ok(held));
    }
    let _ = Told::decode(&mut Reader::new(bytes));
}

fn announcement(reader: &mut Reader<'_>) {
    let Ok(read) = Announcement::decode(reader) else { return };
    let fields: Vec<_> = read.fields.iter().collect();
    assert!(fields.len() <= 64 && fields.iter().map(|field| field.len()).sum::<usize>() <= 8_192);
    let mut again = Vec::new();
    encode_announcement(&read, fields.iter().copied(), &mut Writer::new(&mut again));
    let same = Announcement::decode(&mut Reader::new(&again)).expect("what was read can be written");
    assert_eq!((same.id, same.owner, same.stamp), (read.id, read.owner, read.stamp));
    assert_eq!((same.traits, same.sampled), (read.traits, read.sampled));
    assert!(same.fields.iter().eq(fields));
}

fn comes_back<T: Message + PartialEq + core::fmt::Debug>(read: &T) {
    let mut again = Vec::new();
    encode(read, &mut again);
    assert_eq!(decode::<T, RELAY_MESSAGE_MAX>(&again).as_ref(), Ok(read));
}

pub(super) fn control(bytes: &[u8]) {
    if let Ok(read) = PeerControl::decode(bytes) {
        comes_back(&read);
    }
}

pub(super) fn view(bytes: &[u8]) {
    if let Ok(read) = ViewHeader::decode(bytes) {
        comes_back(&read);
    }
    if let Ok(read) = SeatRecord::decode(bytes) {
        comes_back(&read);
    }
    // The whole session object: each field follows a length of one byte.
    let mut reader = Reader::new(bytes);
    let fields = core::iter::from_fn(|| reader.prefixed(255).ok()).take(64);
    if let Ok(view) = View::from_fields(fields) {
        let fields = view.to_fields();
        let same = View::from_fields(fields.iter().map(|field| &field[..]));
        assert_eq!(same.as_ref(), Ok(&view));
        assert!(view.members().count() <= 48);
    }
}

/// Messages on data channels to the relay, which passes them on with another peer's id in front.
pub(super) fn addressed(bytes: &[u8]) {
    let mut passed_on = bytes.to_vec();
    Addressed::readdress(&mut passed_on, PeerId(7));
    for mode in [Mode::Unreliable, Mode::Reliable] {
        let Ok(read) = Addressed::decode(mode, bytes) else { continue };
        assert_eq!(read.encode(), bytes);
        let expected = Addressed { peer: PeerId(7), ..read };
        assert_eq!(Addressed::decode(mode, &passed_on), Ok(expected));
    }
}

/// Offers of data channels to the relay: the values taken from an offer are well-formed, and the answer contains
/// nothing else of the offer.
pub(super) fn description(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(offer) = Offer::parse(&text) else { return };
    let is_credential =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte));
    assert!(is_credential(&offer.ufrag) && is_credential(&offer.password));
    let address = ([192, 0, 2, 1], 8080).into();
    let local =
        Local { session: 1, ufrag: "relay", password: "pass", fingerprint: &[0; 32], addresses: &[address] };
    let answer = offer.answer(local);
    assert_eq!(answer.lines().count(), 17, "{answer}");
    assert!(answer.len() < 1_024);
}

pub(super) fn relay(bytes: &[u8]) {
    let mut forwarded = bytes.to_vec();
    RelayFrame::readdress(&mut forwarded, PeerId(7));
    match RelayFrame::decode(bytes) {
        Ok(RelayFrame::Control(body)) => {
            if let Ok(read) = ToRelay::decode(body) {
                comes_back(&read);
            }
            if let Ok(read) = FromRelay::decode(body) {
                comes_back(&read);
            }
        }
        Ok(RelayFrame::Forward { peer, mode, payload }) => {
            assert_eq!(RelayFrame::forward(peer, mode, payload), bytes);
            let expected = RelayFrame::Forward { peer: PeerId(7), mode, payload };
            assert_eq!(RelayFrame::decode(&forwarded), Ok(expected));
        }
        Err(_) => {}
    }
}

/// A key, then a signature. Whatever they are, the owner of that key has not signed this warrant or this pass.
pub(super) fn warrants(bytes: &[u8]) {
    let Some((key, rest)) = bytes.split_first_chunk::<32>() else { return };
    let Some((signature, rest)) = rest.split_first_chunk::<64>() else { return };
    let number = rest.iter().take(8).fold(0, |number, &byte| number << 8 | u64::from(byte));
    let Some(key) = RelayKey::from_bytes(key) else { return };
    assert_eq!(RelayKey::from_bytes(&key.to_bytes()), Some(key));
    let (session, signature) = (SessionId(number), Signature(*signature));
    let warrant = Warrant { session, term: Term(number), host: PeerId(number as u32), signature };
    assert!(!key.verifies_warrant(&warrant), "a forged warrant");
    let pass = PeerPass { session, peer: PeerId(number as u32), is_named: number & 1 == 1, signature };
    assert!(!key.verifies_pass(&pass), "a forged pass");
}

/// The game's decoders accept only bytes that its encoders write. So decoding and encoding again gives the same
/// bytes.
pub(super) fn duel(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    let again = match kind % 6 {
        0 => Launch::decode(bytes).map(|read| read.encode()),
        1 => Identity::decode(bytes).map(|read| read.encode()),
        2 => Phase::decode(bytes).map(Phase::encode),
        3 => Row::decode(bytes).map(|read| read.encode()),
        kind => {
            let mut reader = Reader::new(bytes);
            if kind == 4 {
                return teapot(&mut reader);
            }
            let fields: Vec<_> = core::iter::from_fn(|| reader.prefixed(255).ok()).take(64).collect();
            if let Ok(read) = Scoreboard::from_fields(&fields) {
                let again = read.to_fields();
                assert!(again.iter().zip(&fields).all(|(ours, theirs)| ours == theirs));
            }
            return;
        }
    };
    assert!(again.is_err() || again.as_deref() == Ok(bytes), "{again:?} of {bytes:?}");
}

/// A teapot's numbers and texts as an object may hold them: a teapot that can be read is written as it was.
fn teapot(reader: &mut Reader<'_>) {
    let mut state = State::default();
    for _ in 0..6 {
        let Ok(number) = reader.u32() else { break };
        state.number((number as i32) >> (number & 31));
    }
    core::iter::from_fn(|| reader.prefixed(255).ok()).take(2).for_each(|text| state.text(text));
    if let Ok(read) = TeapotState::read(&mut state.reader()) {
        let mut again = State::default();
        read.write(&mut again);
        assert_eq!(again, state);
    }
}
