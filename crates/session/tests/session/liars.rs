//! A member that lies in messages of the orders: about its epoch, about other members' messages, and about which
//! member has which of them.

use crate::world::World;
use samovar_session::{Causality, Delivery, EndReason, Event, Orders, Rules, Target};
use samovar_wire::control::{Hello, PeerControl, encode};
use samovar_wire::limits::RESUME_MAX;
use samovar_wire::link_frame::{Frame as Part, PacketHeader};
use samovar_wire::object::MessageKind;
use samovar_wire::order::{Frame, Install, Report, Run, ViewId};
use samovar_wire::{Generations, Mode, PROTOCOL_VERSION, PeerId, Term, TicketHash, Writer};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Writes packets by hand.
pub(crate) struct Liar {
    pub(crate) me: PeerId,
    /// How many packets and segments each peer was sent.
    said: std::collections::BTreeMap<PeerId, (u16, u64)>,
}

impl Liar {
    fn message(&mut self, to: PeerId, message: &[u8]) -> Vec<u8> {
        let said = self.said.entry(to).or_default();
        let header = PacketHeader { generations: Generations::FIRST, number: said.0, ack: None };
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        header.encode(&mut out);
        let number = said.1 as u16;
        *said = (said.0 + 1, said.1 + 1);
        Part::Segment { lane: 0, number, last: true, bytes: message }.encode(&mut out);
        bytes
    }

    /// Sends a member a message in the session's lane.
    pub(crate) fn tell(&mut self, world: &mut World, to: PeerId, message: &[u8]) {
        let (now, bytes) = (world.now, self.message(to, message));
        world.peer(to).handle_packet(now, self.me, Mode::Unreliable, &bytes);
    }

    fn total(&mut self, world: &mut World, to: PeerId, frame: &Frame<'_>) {
        let bytes = [&[MessageKind::Total as u8], frame.to_bytes().as_slice()].concat();
        self.tell(world, to, &bytes);
    }
}

/// A host, two honest members, and a member that sends what a test wants it to.
pub(crate) fn world_with_a_liar() -> (World, PeerId, [PeerId; 3], Liar) {
    let orders = Orders { total: true, causal: Some(Causality::Vector), ..Orders::default() };
    let mut world = World::with_rules(5, 0, Rules { orders, ..Rules::default() });
    let host = world.witness.warrant.host;
    let honest = [host, world.join(None), world.join(None)];
    world.run(2_000);
    let mut liar = Liar { me: PeerId(1_000), said: Default::default() };
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
    liar.tell(&mut world, host, &bytes);
    world.run(500);
    assert!(world.peers[&host].view().has(liar.me));
    (world, host, honest, liar)
}

fn claim(epoch: u64) -> (World, [PeerId; 3]) {
    let (mut world, host, honest, mut liar) = world_with_a_liar();
    // A newcomer joins, so there is another view. All members report how far they are, and so does the liar.
    let roll = world.peers[&host].view().roll();
    world.join(None);
    while world.peers[&host].view().roll() == roll {
        world.step();
    }
    for _ in 0..200 {
        let view = ViewId { term: Term::FIRST, number: world.peers[&host].view().roll() };
        let report = Report { view, epoch, again: false, stable: 0, counts: vec![] };
        liar.total(&mut world, host, &Frame::Report(report));
        for asked in 1..12 {
            let install = Install { epoch, view, host: liar.me, members: vec![liar.me], asked, cut: None };
            liar.total(&mut world, host, &Frame::Install(install));
        }
        world.step();
    }
    world.run(1_500);
    (world, honest)
}

#[test]
fn member_that_claims_the_last_epoch_ends_no_session() {
    let (world, honest) = claim((1 << 56) - 1);
    for peer in honest {
        let events = &world.events[&peer];
        assert!(
            !matches!(events.last(), Some(Event::Ended(EndReason::Misbehaviour(_)))),
            "{peer}: {:?}",
            events.last()
        );
        assert!(world.peers[&peer].is_member(), "{peer}: {:?}", events.last());
    }
}

#[test]
fn member_that_claims_a_later_epoch_leaves_no_peer_behind() {
    let (world, honest) = claim(1_000);
    for peer in honest {
        let is_behind = |event: &Event| matches!(event, Event::Behind(_));
        assert!(!world.events[&peer].iter().any(is_behind), "{peer}");
    }
}

/// The host hands over, and the liar claims to have one more entry of the host's log. Returns the members that got a
/// message which its sender never sent.
fn forge(epoch: u64) -> Vec<PeerId> {
    let (mut world, host, honest, mut liar) = world_with_a_liar();
    world.peer(host).send(Target::All, Delivery::Total, b"true").unwrap();
    world.run(300);
    // The former host stays a member all the time.
    let now = world.now;
    assert!(world.peer(host).hand_over(now));
    for _ in 0..1_000 {
        world.step();
        let heir = world.witness.warrant.host;
        if heir == host {
            continue;
        }
        let view = ViewId { term: world.peers[&heir].term(), number: world.peers[&heir].view().roll() };
        let report = Report { view, epoch, again: false, stable: 0, counts: vec![2] };
        liar.total(&mut world, heir, &Frame::Report(report));
        let mut entry = vec![0];
        let mut out = Writer::new(&mut entry);
        out.u32(honest[2].0);
        out.varint(1);
        out.bytes(&[0, b'l', b'i', b'e']);
        let mut encoded = Vec::new();
        Writer::new(&mut encoded).prefixed(&entry);
        let run = Run { epoch, first: 2, encoded: &encoded };
        liar.total(&mut world, heir, &Frame::Fill(host, run));
    }
    assert_ne!(world.witness.warrant.host, host);
    let from = honest[2];
    let lie = |event: &Event| matches!(event, Event::Message { bytes, from: by, .. } if bytes == b"lie" && *by == from);
    honest.into_iter().filter(|peer| world.events[peer].iter().any(lie)).collect()
}

#[test]
fn member_cannot_forge_an_entry_in_the_log_of_a_host() {
    for epoch in 1..10 {
        assert_eq!(forge(epoch), [], "in epoch {epoch}");
    }
}

/// The liar sends one honest member an item, claims that all members have it, and goes. Returns the honest members
/// that the host removes.
fn removed_with_a_liar(epoch: u64) -> Vec<(PeerId, Event)> {
    let (mut world, host, honest, mut liar) = world_with_a_liar();
    let item = [3_u8, 0, 0, 9];
    for (stable, first, encoded) in [(0, 1, &item[..]), (1, 2, &[][..])] {
        let frame = Frame::Items { safe: 0, stable, run: Run { epoch, first, encoded } };
        let bytes = [&[MessageKind::Causal as u8], frame.to_bytes().as_slice()].concat();
        liar.tell(&mut world, honest[1], &bytes);
    }
    world.run(100);
    for peer in honest {
        let now = world.now;
        world.peer(peer).path(now, liar.me).handle_closed();
    }
    world.run(20_000);
    assert!(!world.peers[&host].view().has(liar.me));
    let last = |peer: &PeerId| (*peer, world.events[peer].last().cloned().unwrap());
    honest.iter().filter(|peer| !world.peers[peer].is_member()).map(last).collect()
}

#[test]
fn member_that_was_lied_to_is_not_removed() {
    for epoch in 1..8 {
        assert_eq!(removed_with_a_liar(epoch), [], "in epoch {epoch}");
    }
}
