//! A peer that owns objects, and was honest until now, sends whatever the script says to a member and to the host.

use samovar_objects::{CreateError, Objects, Place};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{Kind, ObjectId, PeerId, Reader, Receipt, Stamp, Term, Time, Writer};

use super::typed;
use crate::script::Script;

const HOST: PeerId = PeerId(1);
const LIAR: PeerId = PeerId(2);
const MEMBER: PeerId = PeerId(3);
const ALL: [PeerId; 3] = [HOST, LIAR, MEMBER];
const POT: Traits = Traits::of(Kind(1));

fn machine(me: PeerId) -> Objects {
    let mut objects = Objects::new(me, HOST, Term::FIRST, typed::schemas());
    ALL.into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
    objects
}

fn tell(from: (PeerId, &mut Objects), to: (PeerId, &mut Objects)) {
    let mut bytes = Vec::new();
    while let Some(pending) = from.1.poll_message(Time::ZERO, to.0, &mut bytes) {
        from.1.on_sent(to.0, pending, Receipt::Lane(0));
        let kind = MessageKind::decode(&mut Reader::new(&bytes)).expect("an honest message has a kind");
        to.1.handle_message(from.0, kind, &bytes[1..]).expect("an honest message is accepted");
        bytes.clear();
    }
}

pub(super) fn run(bytes: &[u8]) {
    let mut script = Script::new(bytes);
    let (mut host, mut liar, mut member) = (machine(HOST), machine(LIAR), machine(MEMBER));
    let fields: [&[u8]; 4] = [b"", b"1", b"four", &[7; 40]];
    let mover = Traits { kind: typed::MOVER, ..POT };
    let state = typed::state(&[], (LIAR, Stamp::created(Term::FIRST), 0), &mut samovar_wire::Rng::new(1));
    let own = [liar.create(Time::ZERO, POT, &fields), liar.create_state(Time::ZERO, mover, &state)];
    for (me, victim) in [(HOST, &mut host), (MEMBER, &mut member)] {
        tell((LIAR, &mut liar), (me, victim));
    }
    let honest = host.create(Time::ZERO, POT, &[b"the host's"]).expect("one object is allowed");
    tell((HOST, &mut host), (MEMBER, &mut member));
    tell((HOST, &mut host), (LIAR, &mut liar));
    for step in 1.. {
        if script.is_over() {
            break;
        }
        let now = Time::from_micros(step * 16_000);
        let (me, victim) = if script.roll(2) == 0 { (HOST, &mut host) } else { (MEMBER, &mut member) };
        let outcome = match script.roll(8) {
            // A true update, so that later forgeries can refer to earlier states. If `how` is 2 or 3, its bytes are
            // changed.
            how @ 0..4 => {
                change(&mut liar, own[script.roll(2)], now, &mut script);
                let mut bytes = Vec::new();
                liar.write_datagram(
                    Place { now, peer: me, packet: step, room: 1_000 },
                    &|_| true,
                    &mut bytes,
                );
                liar.on_fate(me, step, script.roll(4) != 0);
                if how >= 2 {
                    let at = script.roll(bytes.len().max(1));
                    if let Some(byte) = bytes.get_mut(at) {
                        *byte = script.byte();
                    }
                    bytes.truncate(bytes.len() - script.roll(3).min(bytes.len()));
                }
                if bytes.is_empty() { Ok(()) } else { victim.handle_datagram(LIAR, &bytes[1..]) }
            }
            4 => victim.handle_datagram(LIAR, script.bytes(1_100)),
            5 => victim.handle_message(LIAR, kind(&mut script), script.bytes(1_100)),
            6 => victim.handle_message(LIAR, kind(&mut script), &message(&mut script)),
            _ => victim.handle_message(LIAR, MessageKind::Destroy, &message(&mut script)[..10]),
        };
        if outcome.is_err() {
            break;
        }
        while victim.poll_event().is_some() {}
    }
    for objects in [&host, &member] {
        // The host granted this object to no peer, so no peer may take it.
        assert_eq!(objects.get(honest).map(|object| object.field(0)), Some(&b"the host's"[..]));
        let size =
            |o: &samovar_objects::Object| (0..o.field_count()).map(|i| o.field(i).len()).sum::<usize>();
        assert!(objects.iter().all(|object| size(object) <= 8_192));
    }
}

/// The liar, whose own machine is honest, sets an object that it owns.
fn change(liar: &mut Objects, id: Result<ObjectId, CreateError>, now: Time, script: &mut Script<'_>) {
    let Ok(id) = id else { return };
    let Some(object) = liar.get(id) else { return };
    if object.traits().kind == typed::MOVER {
        let (before, dice) = (object.numbers().to_vec(), &mut samovar_wire::Rng::new(script.byte().into()));
        let state = typed::state(&before, (LIAR, object.stamp(), 1), dice);
        let _ = liar.set_state(now, id, &state);
    } else {
        let _ = liar.set(now, id, script.roll(4), script.bytes(40));
    }
}

fn kind(script: &mut Script<'_>) -> MessageKind {
    let kinds = [
        MessageKind::Create,
        MessageKind::Migrate,
        MessageKind::Grant,
        MessageKind::Orphan,
        MessageKind::Update,
        MessageKind::Snapshot,
        MessageKind::Destroy,
        MessageKind::Deaths,
        MessageKind::Granted,
    ];
    kinds[script.roll(kinds.len())]
}

/// An announcement, well-formed as far as the script wants it.
fn message(script: &mut Script<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut out = Writer::new(&mut bytes);
    out.u32(script.small(LIAR.0));
    out.varint(script.number(1) & 0xFFFF_FFFF);
    out.u32(script.small(LIAR.0));
    out.varint(script.number(1));
    out.varint(script.number(1) & 0xFFFF_FFFF);
    out.u8(script.byte());
    out.u8(script.byte() & 3);
    out.varint(script.number(0));
    let fields = script.roll(66);
    out.u8(fields as u8);
    let state = script.bytes(255);
    (0..fields).for_each(|_| out.prefixed(state));
    bytes
}
