//! The star: a host that speaks for everybody, and members that listen to nobody else.

#![expect(clippy::unwrap_used, reason = "a test that unwraps in vain has failed")]

use samovar_objects::{Focus, Kinded, ObjectEvent, Objects, Place, Replicate, Schemas};
use samovar_wire::object::{MessageKind, Traits};
use samovar_wire::{CloseCode, Entropy, Kind, PeerId, Reader, Receipt, Stamp, Term, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const HOST: PeerId = PeerId(1);
const A: PeerId = PeerId(2);
const B: PeerId = PeerId(3);
const ALL: [PeerId; 3] = [HOST, A, B];

#[derive(Replicate, Clone, Debug, PartialEq)]
#[replicate(kind = 4)]
struct Boat {
    #[replicate(range = 1024.0, precision = 0.25, place)]
    at: [f32; 2],
    #[replicate(bound = 8)]
    name: String,
}

const BOAT: Traits = Traits::of(Boat::KIND);

fn boat(x: f32) -> Boat {
    Boat { at: [x, 0.0], name: "Swan".to_owned() }
}

/// Three peers of a star of which the first hosts, and the packets that each has sent.
struct Star {
    peers: Vec<Objects>,
    packets: u64,
}

impl Star {
    fn new() -> Self {
        let new = |me| {
            let schemas = Schemas::new().with(Boat::schema());
            let mut objects = Objects::new(me, HOST, Term(1), schemas).in_star();
            ALL.into_iter().filter(|&peer| peer != me).for_each(|peer| objects.add_peer(peer));
            objects
        };
        Self { peers: ALL.map(new).into(), packets: 0 }
    }

    fn at(&mut self, peer: PeerId) -> &mut Objects {
        &mut self.peers[peer.0 as usize - 1]
    }

    /// Carries all that is reliable from one to another; how much that was.
    fn tell(&mut self, from: PeerId, to: PeerId) -> usize {
        let (mut bytes, mut count) = (Vec::new(), 0);
        while let Some(pending) = self.at(from).poll_message(Time::ZERO, to, &mut bytes) {
            self.at(from).on_sent(to, pending, Receipt::Lane(0));
            let kind = MessageKind::decode(&mut Reader::new(&bytes)).unwrap();
            self.at(to).handle_message(from, kind, &bytes[1..]).unwrap();
            bytes.clear();
            count += 1;
        }
        count
    }

    /// A frame from one to another, which may be lost; how long it was.
    fn frame(&mut self, from: PeerId, to: PeerId, now: u64, arrives: bool) -> usize {
        let (mut bytes, packet) = (Vec::new(), self.packets);
        self.packets += 1;
        let place = Place { now: Time::from_micros(now), peer: to, packet, room: 1_000 };
        self.at(from).write_datagram(place, &|_| true, &mut bytes);
        if !bytes.is_empty() && arrives {
            self.at(to).handle_datagram(from, &bytes[1..]).unwrap();
        }
        self.at(from).on_fate(to, packet, arrives);
        bytes.len()
    }

    fn tell_all(&mut self) {
        [(A, HOST), (B, HOST), (HOST, A), (HOST, B)].into_iter().for_each(|(from, to)| {
            self.tell(from, to);
        });
    }
}

#[test]
fn the_host_passes_on_what_members_say_and_members_say_it_to_nobody_else() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    assert_eq!((star.tell(A, B), star.tell(A, HOST), star.tell(HOST, B)), (0, 1, 1));
    assert_eq!(star.tell(HOST, A), 0, "its owner is not told of it");
    assert_eq!(star.at(B).get(id).unwrap().owner(), A);
    let sampled = Time::from_micros(128 * 700);
    star.at(A).write(sampled, id, &boat(3.5)).unwrap();
    star.frame(A, HOST, 100_000, true);
    star.frame(HOST, B, 150_000, true);
    let seen = star.at(B).get(id).unwrap();
    assert_eq!(seen.sampled(), sampled, "it was sampled by its owner");
    assert_eq!(star.at(B).read::<Boat>(id).unwrap(), boat(3.5));
    star.at(A).destroy(id).unwrap();
    star.tell_all();
    assert!(star.at(B).get(id).is_none());
}

#[test]
fn a_grant_moves_an_object_from_member_to_member() {
    let mut star = Star::new();
    let traits = Traits { reliable: true, ..BOAT };
    let id = star.at(A).create_as(Time::ZERO, traits, &boat(0.0)).unwrap();
    star.tell_all();
    star.at(HOST).grant(id, B).unwrap();
    (0..2).for_each(|_| star.tell_all());
    for peer in ALL {
        assert_eq!(star.at(peer).get(id).unwrap().owner(), B, "at {peer}");
    }
    star.at(B).write(Time::ZERO, id, &boat(9.0)).unwrap();
    (0..2).for_each(|_| star.tell_all());
    assert_eq!(star.at(A).read::<Boat>(id).unwrap(), boat(9.0));
}

#[test]
fn states_converge_over_two_ways_that_each_lose_half() {
    let mut star = Star::new();
    let mut dice = Entropy::new([5; 32]);
    let ids = [0.0, 1.0, 2.0].map(|x| star.at(A).create_as(Time::ZERO, BOAT, &boat(x)).unwrap());
    star.tell_all();
    for n in 0..400_u64 {
        for (index, &id) in ids.iter().enumerate() {
            if n < 300 && !dice.number().is_multiple_of(3) {
                let x = n as f32 / 4.0 + index as f32;
                star.at(A).write(Time::from_micros(n * 16_000), id, &boat(x)).unwrap();
            }
        }
        for (from, to) in [(A, HOST), (HOST, B)] {
            let arrives = dice.number().is_multiple_of(2);
            star.frame(from, to, n * 16_000, arrives);
        }
    }
    for id in ids {
        let told = star.at(A).read::<Boat>(id).unwrap();
        assert_eq!(star.at(B).read::<Boat>(id).unwrap(), told);
    }
    assert!(!star.at(A).wants_datagram(HOST) && !star.at(HOST).wants_datagram(B));
}

#[test]
fn what_comes_again_is_not_passed_on_again() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    star.tell_all();
    star.at(A).write(Time::from_micros(1_000), id, &boat(1.0)).unwrap();
    let mut bytes = Vec::new();
    for packet in 100..105 {
        // Nobody says that any of these arrived, so the state is in all of them.
        let place = Place { now: Time::from_micros(packet * 20_000), peer: HOST, packet, room: 1_000 };
        bytes.clear();
        star.at(A).write_datagram(place, &|_| true, &mut bytes);
        star.at(HOST).handle_datagram(A, &bytes[1..]).unwrap();
        let is_first = packet == 100;
        assert_eq!(star.frame(HOST, B, packet * 20_000, true) > 0, is_first);
    }
}

#[test]
fn nobody_speaks_for_another_through_the_host() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    let reliable = Traits { reliable: true, ..Traits::of(Kind(9)) };
    let firm = star.at(A).create(Time::ZERO, reliable, &[b"of A"]).unwrap();
    let mut create = Vec::new();
    star.at(A).poll_message(Time::ZERO, HOST, &mut create).unwrap();
    let (heard, kind) = (create[1..].to_vec(), MessageKind::Create);
    assert_eq!(star.at(HOST).handle_message(B, kind, &heard), Err(CloseCode::NotYours));
    star.tell_all();
    // B says byte for byte what A would say.
    star.at(A).write(Time::from_micros(500), id, &boat(7.0)).unwrap();
    star.at(A).set(Time::from_micros(500), firm, 0, b"of B").unwrap();
    let (mut update, mut frame) = (Vec::new(), Vec::new());
    star.at(A).poll_message(Time::ZERO, HOST, &mut update).unwrap();
    let place = Place { now: Time::from_micros(900), peer: HOST, packet: 70, room: 1_000 };
    star.at(A).write_datagram(place, &|_| true, &mut frame);
    star.at(HOST).handle_message(B, MessageKind::Update, &update[1..]).unwrap();
    star.at(HOST).handle_datagram(B, &frame[1..]).unwrap();
    assert_eq!(star.at(HOST).get(firm).unwrap().field(0), b"of A");
    assert_eq!(star.at(HOST).read::<Boat>(id).unwrap(), boat(0.0));
    let mut end = Vec::new();
    star.at(A).destroy(id).unwrap();
    while star.at(A).poll_message(Time::ZERO, HOST, &mut end).is_some() && end[0] != 7 {
        end.clear();
    }
    let heard = star.at(HOST).handle_message(B, MessageKind::Destroy, &end[1..]);
    assert_eq!(heard, Err(CloseCode::NotYours));
    assert!(star.at(HOST).get(id).is_some());
}

#[test]
fn a_member_listens_to_its_host_only_and_not_of_what_is_its_own() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    let mut create = Vec::new();
    star.at(A).poll_message(Time::ZERO, HOST, &mut create).unwrap();
    star.at(B).handle_message(A, MessageKind::Create, &create[1..]).unwrap();
    assert!(star.at(B).get(id).is_none(), "it will hear of it from the host");
    let heard = star.at(A).handle_message(HOST, MessageKind::Create, &create[1..]);
    assert_eq!(heard, Err(CloseCode::NotYours), "what A owns nobody tells A");
}

#[test]
fn the_host_sees_everything_and_tells_each_member_what_it_wants_to_see() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    star.tell_all();
    star.at(HOST).set_focus(B, Some(Focus { center: [0.0; 3], radius: 20.0 }));
    for n in 1..100 {
        let now = n * 20_000;
        star.at(A).write(Time::from_micros(now), id, &boat(n as f32)).unwrap();
        star.frame(A, HOST, now, true);
        star.frame(HOST, B, now, true);
    }
    assert_eq!(star.at(HOST).read::<Boat>(id).unwrap(), boat(99.0));
    assert_eq!(star.at(B).read::<Boat>(id).unwrap(), boat(22.0), "22 is the last within 1.15 radii");
    while star.at(B).poll_event().is_some() {}
    star.tell(HOST, B);
    assert_eq!(star.at(B).poll_event(), Some(ObjectEvent::Left(id)));
    assert!(!star.at(B).get(id).unwrap().is_current());
}

#[test]
fn a_new_host_goes_on_for_everybody_and_the_former_one_listens_to_it() {
    let mut star = Star::new();
    let id = star.at(B).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    star.tell_all();
    let host_has = |star: &mut Star, x| {
        star.at(B).write(Time::from_micros((x * 10_000.0) as u64), id, &boat(x)).unwrap();
        star.frame(B, HOST, (x * 10_000.0) as u64, true);
    };
    (1..50).for_each(|x| host_has(&mut star, x as f32));
    // A takes over, and has heard nothing of all that yet.
    ALL.into_iter().for_each(|peer| star.at(peer).set_host(A, Term(2)));
    for (from, to) in [(A, HOST), (A, B), (B, A), (A, HOST)] {
        star.tell(from, to);
    }
    star.frame(A, HOST, 600_000, true);
    assert_eq!(star.at(HOST).read::<Boat>(id).unwrap(), boat(49.0));
    assert_eq!(star.at(HOST).get(id).unwrap().stamp(), Stamp { term: Term(1), counter: 0 });
    star.at(B).write(Time::from_micros(700_000), id, &boat(80.0)).unwrap();
    assert_eq!(star.frame(B, HOST, 700_000, true), 0, "B speaks to the new host only");
    star.frame(B, A, 700_000, true);
    star.frame(A, HOST, 710_000, true);
    assert_eq!(star.at(HOST).read::<Boat>(id).unwrap(), boat(80.0));
}

#[test]
fn a_new_host_that_heard_less_than_others_sets_nobody_back() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    star.tell_all();
    // What the former host passes on reaches B only; then it dies, and A's last words with it.
    let newcomer = PeerId(4);
    let mut other = Objects::new(newcomer, HOST, Term(1), Schemas::new().with(Boat::schema())).in_star();
    ALL.into_iter().for_each(|peer| other.add_peer(peer));
    ALL.into_iter().for_each(|peer| star.at(peer).add_peer(newcomer));
    star.peers.push(other);
    star.tell(HOST, newcomer);
    star.at(A).write(Time::from_micros(10_000), id, &boat(5.0)).unwrap();
    star.frame(A, HOST, 10_000, true);
    star.frame(HOST, B, 20_000, true);
    for peer in [A, B, newcomer] {
        star.at(peer).set_host(newcomer, Term(2));
    }
    assert_eq!(star.at(newcomer).read::<Boat>(id).unwrap(), boat(0.0));
    star.tell(newcomer, B);
    assert_eq!(star.at(B).read::<Boat>(id).unwrap(), boat(5.0), "its owner has not spoken yet");
    star.at(A).write(Time::from_micros(30_000), id, &boat(6.0)).unwrap();
    star.tell(A, newcomer);
    star.tell(newcomer, B);
    assert_eq!(star.at(B).read::<Boat>(id).unwrap(), boat(6.0));
}

#[test]
fn under_each_term_everything_is_said_anew_even_to_the_same_host() {
    let mut star = Star::new();
    let id = star.at(A).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    star.tell_all();
    // Another peer may have hosted in between, which some have not heard of.
    ALL.into_iter().for_each(|peer| star.at(peer).set_host(HOST, Term(3)));
    assert_eq!(star.tell(HOST, B), 0, "its owner has not spoken yet");
    assert_eq!((star.tell(A, HOST), star.tell(HOST, B)), (1, 1));
    star.at(A).write(Time::from_micros(10_000), id, &boat(4.0)).unwrap();
    star.frame(A, HOST, 10_000, true);
    star.frame(HOST, B, 20_000, true);
    assert_eq!(star.at(B).read::<Boat>(id).unwrap(), boat(4.0));
}

/// The former host told B of X's end and A of its beginning.
#[test]
fn an_end_that_the_new_host_cannot_know_reaches_whoever_heard_of_the_beginning() {
    let mut star = Star::new();
    let id = star.at(B).create_as(Time::ZERO, BOAT, &boat(0.0)).unwrap();
    star.tell(B, HOST);
    star.tell(HOST, A);
    star.at(B).destroy(id).unwrap();
    star.tell(B, HOST);
    // A newcomer that knows of nothing shall host.
    let newcomer = PeerId(4);
    let mut other = Objects::new(newcomer, newcomer, Term(2), Schemas::new().with(Boat::schema())).in_star();
    for peer in [A, B] {
        star.at(peer).add_peer(newcomer);
        star.at(peer).set_host(newcomer, Term(2));
        star.at(peer).remove_peer(HOST);
        other.add_peer(peer);
    }
    other.set_host(newcomer, Term(2));
    // As with a host that became one: each member may report once.
    other.set_host(A, Term(2));
    other.set_host(newcomer, Term(3));
    for peer in [A, B] {
        star.at(peer).set_host(newcomer, Term(3));
        star.at(peer).report_orphans(|owner| owner == HOST);
    }
    star.peers.push(other);
    star.tell(B, newcomer);
    star.tell(newcomer, A);
    assert!(star.at(A).get(id).is_none());
}
