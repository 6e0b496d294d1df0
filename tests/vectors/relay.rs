//! The messages between a peer and its relay (PROTOCOL §5).

use std::collections::BTreeSet;

use samovar_wire::limits::{DESCRIPTION_MAX, RELAY_MESSAGE_MAX};
use samovar_wire::relay::{
    Addressed, Denial, Enter, Entered, FromRelay, Listing, Purpose, Refusal, RelayFrame, Signal, ToRelay,
    TokenFault,
};
use samovar_wire::{
    DecodeError, GameCode, JoinToken, Mode, PeerId, PeerPass, Term, Vouched, Voucher, Warrant,
};

use crate::file::{Form, Vectors};
use crate::{OTHER, PEER, SESSION, THIRD, signature, warrant};

/// The variant's number on the wire. A new variant does not compile until it is listed here. Then a test below fails
/// until the variant has a vector. The same holds for the next functions.
const fn to_relay_variant(message: &ToRelay) -> u8 {
    match message {
        ToRelay::Enter(_) => 0,
        ToRelay::Claim(..) => 1,
        ToRelay::Signal(..) => 2,
        ToRelay::Alive(_) => 3,
        ToRelay::Listing(_) => 4,
        ToRelay::Leave => 5,
        ToRelay::Members(..) => 6,
        ToRelay::Doubt => 7,
        ToRelay::Away => 8,
        ToRelay::Bar(_) => 9,
        ToRelay::Token(_) => 10,
    }
}
const TO_RELAY_VARIANTS: u8 = 11;

const fn from_relay_variant(message: &FromRelay) -> u8 {
    match message {
        FromRelay::Entered(_) => 0,
        FromRelay::Refused(_) => 1,
        FromRelay::Signal(..) => 2,
        FromRelay::Issued(_) => 3,
        FromRelay::Denied(..) => 4,
        FromRelay::Probe(_) => 5,
        FromRelay::Gone(_) => 6,
        FromRelay::Pulse => 7,
        FromRelay::Draining(_) => 8,
        FromRelay::Successor(_) => 9,
        FromRelay::Reachable => 10,
        FromRelay::PutOut(_) => 11,
        FromRelay::Told(_) => 12,
        FromRelay::Pass(_) => 13,
    }
}
const FROM_RELAY_VARIANTS: u8 = 14;

const REFUSALS: [(&str, Refusal); 16] = [
    ("refused_unknown_game", Refusal::UnknownGame),
    ("refused_code_taken", Refusal::CodeTaken),
    ("refused_full", Refusal::Full),
    ("refused_closed", Refusal::Closed),
    ("refused_version", Refusal::Version(300)),
    ("refused_parameters", Refusal::Parameters),
    ("refused_bad_pass", Refusal::BadPass),
    ("refused_busy", Refusal::Busy),
    ("refused_misbehaved", Refusal::Misbehaved),
    ("refused_draining", Refusal::Draining),
    ("refused_barred", Refusal::Barred),
    ("refused_reserved", Refusal::Reserved),
    ("refused_banned", Refusal::Banned),
    ("refused_ended", Refusal::Ended),
    ("refused_token", Refusal::Token(TokenFault::Used)),
    ("refused_not_allowed", Refusal::NotAllowed),
];

const fn refusal_variant(refusal: Refusal) -> usize {
    match refusal {
        Refusal::UnknownGame => 0,
        Refusal::CodeTaken => 1,
        Refusal::Full => 2,
        Refusal::Closed => 3,
        Refusal::Version(_) => 4,
        Refusal::Parameters => 5,
        Refusal::BadPass => 6,
        Refusal::Busy => 7,
        Refusal::Misbehaved => 8,
        Refusal::Draining => 9,
        Refusal::Barred => 10,
        Refusal::Reserved => 11,
        Refusal::Banned => 12,
        Refusal::Ended => 13,
        Refusal::Token(_) => 14,
        Refusal::NotAllowed => 15,
    }
}

fn code(text: &str) -> GameCode {
    GameCode::parse(text).expect("the examples are codes")
}

fn pass() -> PeerPass {
    PeerPass { session: SESSION, peer: PeerId(300), is_named: true, signature: signature() }
}

fn voucher() -> Voucher {
    let vouched = Vouched { name: Some("Ann".to_owned()), watches: Some(true) };
    Voucher { session: SESSION, peer: PeerId(300), vouched, signature: signature() }
}

fn enter(purpose: Purpose) -> ToRelay {
    ToRelay::Enter(Enter { version: 1, params: SESSION.0, purpose })
}

fn description() -> String {
    "v=0\r\n".to_owned()
}

fn messages_to_relay() -> Vec<(&'static str, ToRelay)> {
    let resume = Purpose::Resume(code("ABCDEFGHJKLM"), pass(), warrant());
    let (title, host_name) = ("Tea for two".to_owned(), "Ann Bo".to_owned());
    let listing = Listing { players: 3, capacity: 8, open: true, public: true, title, host_name };
    let (title, host_name) = (String::new(), String::new());
    let full = Listing { players: 255, capacity: 32, open: false, public: false, title, host_name };
    vec![
        ("enter_create", enter(Purpose::Create(None))),
        ("enter_create_code", enter(Purpose::Create(Some(code("TEA-4"))))),
        ("token", ToRelay::Token(JoinToken("a.b.c".to_owned()))),
        ("enter_join", enter(Purpose::Join(code("TEA-4")))),
        ("enter_resume", enter(resume)),
        ("claim", ToRelay::Claim(THIRD, PEER)),
        ("signal_offer", ToRelay::Signal(PEER, Signal::Offer(1, description()))),
        ("signal_answer", ToRelay::Signal(PeerId(7), Signal::Answer(70_000, description()))),
        ("signal_to_the_relay", ToRelay::Signal(PeerId::RELAY, Signal::Offer(2, description()))),
        ("signal_long", ToRelay::Signal(PeerId(7), Signal::Offer(251, "x".repeat(251)))),
        ("alive", ToRelay::Alive(u64::MAX)),
        ("listing", ToRelay::Listing(listing)),
        ("listing_full", ToRelay::Listing(full)),
        ("leave", ToRelay::Leave),
        ("members", ToRelay::Members(vec![PeerId(7), PeerId(300), PEER], 1)),
        ("members_none", ToRelay::Members(vec![], 0)),
        ("doubt", ToRelay::Doubt),
        ("enter_match", enter(Purpose::Match)),
        ("enter_rejoin", enter(Purpose::Rejoin(code("TEA-4"), pass()))),
        ("away", ToRelay::Away),
        ("bar", ToRelay::Bar(PeerId(300))),
    ]
}

fn messages_from_relay() -> Vec<(&'static str, FromRelay)> {
    let key = std::array::from_fn(|index| 0x80 + index as u8);
    let (code_, session, voucher_) = (code("TEA-4"), SESSION, None);
    let entered = Entered { code: code_, pass: pass(), key, warrant: warrant(), session, voucher: voucher_ };
    let vouched = Entered { voucher: Some(Box::new(voucher())), ..entered.clone() };
    let issued = Warrant { term: Term(1 << 32), host: PeerId(7), ..warrant() };
    let mut messages = vec![
        ("entered", FromRelay::Entered(entered)),
        ("entered_vouched", FromRelay::Entered(vouched)),
        ("signal_offer", FromRelay::Signal(PEER, Signal::Offer(1, description()))),
        ("signal_answer", FromRelay::Signal(PEER, Signal::Answer(1, description()))),
        ("issued", FromRelay::Issued(issued)),
        ("denied_host_is_alive", FromRelay::Denied(THIRD, Denial::HostIsAlive)),
        ("denied_stale", FromRelay::Denied(THIRD, Denial::Stale)),
        ("denied_not_a_member", FromRelay::Denied(Term(u64::MAX), Denial::NotAMember)),
        ("probe", FromRelay::Probe(SESSION.0)),
        ("gone", FromRelay::Gone(PeerId(65_536))),
        ("pulse", FromRelay::Pulse),
        ("draining", FromRelay::Draining(300)),
        ("successor", FromRelay::Successor(issued)),
        ("reachable", FromRelay::Reachable),
        ("put_out", FromRelay::PutOut(PeerId(7))),
        ("told", FromRelay::Told("Not today.".to_owned())),
        ("pass", FromRelay::Pass(pass())),
    ];
    messages.extend(REFUSALS.map(|(name, refusal)| (name, FromRelay::Refused(refusal))));
    messages
}

/// The body of a control message.
fn body(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    match RelayFrame::decode(bytes)? {
        RelayFrame::Control(body) => Ok(body),
        RelayFrame::Forward { .. } => Err(DecodeError::Invalid),
    }
}

#[test]
fn messages_to_the_relay_match_their_vectors() {
    let mut vectors = Vectors::parse("to_relay", include_str!("to_relay.hex"));
    for (name, message) in messages_to_relay() {
        let encoded = RelayFrame::control(&message);
        assert_eq!(encoded[1], to_relay_variant(&message));
        let is_value = |bytes: &[u8]| Ok(ToRelay::decode(body(bytes)?)? == message);
        vectors.check(name, Form::Closed, &encoded, is_value);
    }
    assert_eq!(vectors.bytes_at(1), (0..TO_RELAY_VARIANTS).collect::<BTreeSet<_>>());
    vectors.finish();
    assert_eq!(ToRelay::decode(&[TO_RELAY_VARIANTS]), Err(DecodeError::Invalid));
}

#[test]
fn messages_from_the_relay_match_their_vectors() {
    let mut vectors = Vectors::parse("from_relay", include_str!("from_relay.hex"));
    for (name, message) in messages_from_relay() {
        let encoded = RelayFrame::control(&message);
        assert_eq!(encoded[1], from_relay_variant(&message));
        let is_value = |bytes: &[u8]| Ok(FromRelay::decode(body(bytes)?)? == message);
        vectors.check(name, Form::Closed, &encoded, is_value);
    }
    assert_eq!(vectors.bytes_at(1), (0..FROM_RELAY_VARIANTS).collect::<BTreeSet<_>>());
    vectors.finish();
    assert!(REFUSALS.iter().map(|&(_, refusal)| refusal_variant(refusal)).eq(0..REFUSALS.len()));
    assert_eq!(FromRelay::decode(&[FROM_RELAY_VARIANTS]), Err(DecodeError::Invalid));
    assert_eq!(FromRelay::decode(&[1, REFUSALS.len() as u8]), Err(DecodeError::Invalid));
    assert_eq!(FromRelay::decode(&[4, 4, 3]), Err(DecodeError::Invalid), "a fourth denial");
}

#[test]
fn forwarded_messages_match_their_vectors() {
    let mut vectors = Vectors::parse("forward", include_str!("forward.hex"));
    let packet = &[0x51, 0, 0][..];
    for (name, peer, mode, payload) in [
        ("packet", PEER, Mode::Unreliable, packet),
        ("chunk", PEER, Mode::Reliable, b"\x00tea"),
        ("packet_from_the_relay", PeerId(300), Mode::Unreliable, packet),
        ("empty", PeerId(u32::MAX), Mode::Unreliable, b""),
    ] {
        let encoded = RelayFrame::forward(peer, mode, payload);
        let value = RelayFrame::Forward { peer, mode, payload };
        vectors.check(name, Form::Open, &encoded, |bytes| Ok(RelayFrame::decode(bytes)? == value));
    }
    let mut passed_on = RelayFrame::forward(PEER, Mode::Unreliable, packet);
    RelayFrame::readdress(&mut passed_on, PeerId(300));
    vectors.check_encoding("packet_from_the_relay", &passed_on);
    for (name, mode, payload) in
        [("channel_packet", Mode::Unreliable, packet), ("channel_chunk", Mode::Reliable, b"\x00tea")]
    {
        let value = Addressed { peer: PEER, payload };
        vectors.check(
            name,
            Form::Open,
            &value.encode(),
            |bytes| Ok(Addressed::decode(mode, bytes)? == value),
        );
    }
    vectors.finish();
}

#[test]
fn messages_that_break_the_relays_protocol_are_refused() {
    for (bytes, error) in [
        (&[][..], DecodeError::Truncated),
        (&[2], DecodeError::Invalid),
        (&[1, 4, 3, 2, 1], DecodeError::Truncated),
        (&[1, 4, 3, 2, 1, 2], DecodeError::Invalid),
    ] {
        assert_eq!(RelayFrame::decode(bytes), Err(error), "{bytes:02x?}");
    }
    assert_eq!(RelayFrame::decode(&[0; RELAY_MESSAGE_MAX + 2]), Err(DecodeError::TooLarge));
    let refusal = |message: &ToRelay| ToRelay::decode(body(&RelayFrame::control(message))?);
    let long = "x".repeat(DESCRIPTION_MAX + 1);
    assert_eq!(refusal(&ToRelay::Signal(PEER, Signal::Answer(1, long))), Err(DecodeError::TooLarge));
    let (title, host_name) = (String::new(), String::new());
    let listing = Listing { players: 1, capacity: 33, open: true, public: true, title, host_name };
    assert_eq!(refusal(&ToRelay::Listing(listing.clone())), Err(DecodeError::TooLarge));
    let unclean = Listing { capacity: 8, host_name: "a\nb".to_owned(), ..listing.clone() };
    let untitled = Listing { capacity: 8, title: "a\nb".to_owned(), ..listing };
    assert_eq!(refusal(&ToRelay::Listing(untitled)), Err(DecodeError::Invalid));
    assert_eq!(refusal(&ToRelay::Listing(unclean)), Err(DecodeError::Invalid));
    for (members, error) in [
        (vec![PEER, OTHER, PEER], DecodeError::Invalid),
        ((0..33).map(PeerId).collect(), DecodeError::TooLarge),
    ] {
        assert_eq!(refusal(&ToRelay::Members(members, 0)), Err(error));
    }
    // Codes that are in lower case, too short, too long, or of hyphens alone.
    for text in ["tea", "AB", "ABCDEFGHIJKLM", "---"] {
        let mut bytes = vec![0, 1, 0, 1, text.len() as u8];
        bytes.extend(text.as_bytes());
        assert_eq!(ToRelay::decode(&bytes), Err(DecodeError::Invalid), "{text}");
    }
}
