//! A build refuses messages for features that it leaves out, with a reason, and the session goes on.

use crate::world::{World, world_of};
use samovar_session::lockstep::LockstepConfig;
use samovar_session::{Causality, ConfigError, CreateError, Event, Orders, Rules, Session, SessionConfig};
use samovar_wire::control::{Hello, PeerControl, encode};
use samovar_wire::input::Told;
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::link_frame::{Frame, PacketHeader};
use samovar_wire::object::{MessageKind, Orphan, Traits};
use samovar_wire::{CloseCode, Generations, Kind, Mode, PROTOCOL_VERSION, PeerId, Term, TicketHash, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn rules_that_need_a_left_out_feature_are_refused() {
    let mut world = World::new(1, 0);
    let config = world.config(Vec::new());
    let result = |orders: Orders| {
        let rules = Rules { orders, ..Rules::default() };
        Session::new(world.now, SessionConfig { rules, ..config.clone() }).err()
    };
    let expected = |is_there: bool, feature| (!is_there).then_some(ConfigError::LeftOut(feature));
    let orders = expected(cfg!(feature = "orders"), "orders");
    assert_eq!(result(Orders { total: true, ..Orders::default() }), orders);
    assert_eq!(result(Orders { causal: Some(Causality::Vector), ..Orders::default() }), orders);
    assert_eq!(result(Orders { timestamp: Some(Default::default()), ..Orders::default() }), orders);
    let lockstep = Orders { lockstep: Some(LockstepConfig::new(1)), ..Orders::default() };
    assert_eq!(result(lockstep), expected(cfg!(feature = "lockstep"), "lockstep"));
    assert_eq!(result(Orders::default()), None);
}

#[test]
fn object_that_needs_a_left_out_arbiter_is_not_created() {
    let (mut world, host, _) = world_of(2, 0, 2);
    for orphan in [Orphan::Freeze, Orphan::ToNearest] {
        let created = world.edit(host).create(Traits { orphan, ..Traits::of(Kind(9)) }, &[b"x"]);
        let refused = created.err().map(|error| error == CreateError::LeftOut);
        assert_eq!(refused, (!cfg!(feature = "ownership")).then_some(true), "{orphan:?}");
    }
}

/// Sends a packet that is written by hand.
fn tell(world: &mut World, (from, to): (PeerId, PeerId), number: u16, message: &[u8]) {
    let header = PacketHeader { generations: Generations::FIRST, number, ack: None };
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    header.encode(&mut out);
    Frame::Segment { lane: 0, number, last: true, bytes: message }.encode(&mut out);
    let now = world.now;
    world.peer(to).handle_packet(now, from, Mode::Unreliable, &bytes);
}

/// Sends the host a message of a member. Returns the code with which the host closed the link, if it did.
fn answer_to(message: &[u8]) -> Option<CloseCode> {
    let (mut world, host, others) = world_of(3, 0, 2);
    let stranger = PeerId(1_000);
    let hello = Hello {
        version: PROTOCOL_VERSION,
        params: 1,
        name: "M".into(),
        attributes: 0,
        ticket: TicketHash([9; 16]),
        resume: [None; RESUME_MAX],
        voucher: None,
    };
    let mut bytes = vec![MessageKind::Control as u8];
    encode(&PeerControl::Hello(hello), &mut bytes);
    tell(&mut world, (stranger, host), 0, &bytes);
    world.run(500);
    assert!(world.peers[&host].view().has(stranger));
    tell(&mut world, (stranger, host), 1, message);
    assert!(world.peers[&host].is_host() && world.peers[&others[0]].is_member(), "the others play on");
    world.events[&host]
        .iter()
        .chain(
            core::iter::from_fn(|| world.peers.get_mut(&host).unwrap().poll_event())
                .collect::<Vec<_>>()
                .iter(),
        )
        .find_map(|event| match event {
            Event::LinkClosed { peer, code } if *peer == stranger => Some(*code),
            _ => None,
        })
}

#[test]
fn message_for_a_left_out_feature_is_unexpected() {
    use MessageKind::{
        Answer, Call, Cancel, Causal, Focus, Held, Input, Lockstep, Reply, Request, Timed, Total,
    };
    let mut kinds = vec![Causal, Total, Timed, Lockstep];
    if !cfg!(feature = "extras") {
        kinds.extend([Call, Reply, Cancel]);
    }
    if !cfg!(feature = "inputs") {
        kinds.extend([Input, Held, Focus]);
    }
    if !cfg!(feature = "ownership") {
        kinds.extend([Request, Answer]);
    }
    for kind in kinds {
        assert_eq!(answer_to(&[kind as u8, 0]), Some(CloseCode::Unexpected), "{kind:?}");
    }
}

/// A member whose build has inputs sends TOLD to each host, whether its game uses inputs or not.
#[test]
fn told_message_is_accepted_in_every_build() {
    let mut bytes = vec![MessageKind::Told as u8];
    Told { term: Term::FIRST }.encode(&mut Writer::new(&mut bytes));
    assert_eq!(answer_to(&bytes), None);
}
