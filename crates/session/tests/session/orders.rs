//! The orders of a session, through losses, joins, leaves and hosts that die (docs/recovery.md, promise 6). The orders
//! have tests of their own; these show that a session gives them what they need.

use std::collections::{BTreeMap, BTreeSet};

use crate::world::World;
use samovar_session::{
    Causality, Delivery, Event, Orders, Rules, SendError, Session, Target, TimeOrderConfig,
};
use samovar_wire::{Duration, Entropy, PeerId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// The sender of a message, and the message's number.
type Said = (PeerId, u16);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Causal,
    Total,
    Timestamp,
}

const ORDERS: [Order; 3] = [Order::Causal, Order::Total, Order::Timestamp];

/// The messages that one member sent and got, in one order.
#[derive(Default)]
struct Diary {
    /// In order of time: sent and delivered messages for the causal order, delivered ones otherwise.
    entries: Vec<Said>,
    /// The times of messages that were delivered by time.
    times: Vec<(Time, PeerId)>,
}

/// Members that send messages to each other at random.
struct Talk {
    world: World,
    dice: Entropy,
    name: String,
    diaries: BTreeMap<(PeerId, Order), Diary>,
    /// For each causal message: the messages that its sender had sent or got before.
    before: BTreeMap<Said, BTreeSet<Said>>,
    sent: BTreeMap<(PeerId, Order), u16>,
    seen: BTreeMap<PeerId, usize>,
    late: usize,
    lates: BTreeSet<(PeerId, Said)>,
}

fn rules() -> Rules {
    let timestamp = Some(TimeOrderConfig::default());
    Rules {
        orders: Orders { causal: Some(Causality::Vector), total: true, timestamp, lockstep: None },
        ..Rules::default()
    }
}

impl Talk {
    fn new(seed: u64, members: usize) -> Self {
        let mut dice = Entropy::new(core::array::from_fn(|i| (seed >> (8 * (i % 8))) as u8));
        let loss = dice.number() % 15;
        let mut world = World::with_rules(seed as u8, loss, rules());
        (1..members).for_each(|_| {
            world.join(None);
        });
        let name = format!("seed {seed}, {members} members, {loss} % loss");
        let (diaries, before, sent, seen) = Default::default();
        let mut talk =
            Self { world, dice, name, diaries, before, sent, seen, late: 0, lates: BTreeSet::new() };
        talk.run(3_000, 0);
        talk
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.number() % sides
    }

    fn members(&self) -> Vec<PeerId> {
        let are_members = self.world.peers.iter().filter(|(_, session)| session.is_member());
        are_members.map(|(&peer, _)| peer).collect()
    }

    /// Each member sends a message once in `rarity` milliseconds on average; no member does when `rarity` is zero.
    fn run(&mut self, ms: u64, rarity: u64) {
        for _ in 0..ms {
            self.world.step();
            self.listen();
            for peer in self.members() {
                if rarity > 0 && self.roll(rarity) == 0 {
                    self.speak(peer);
                }
            }
            self.world.peers.retain(|_, session: &mut Session| session.poll_timeout().is_some());
        }
    }

    fn speak(&mut self, peer: PeerId) {
        let order = match self.roll(3) {
            2 => Order::Timestamp,
            0 => Order::Causal,
            _ => Order::Total,
        };
        let now = self.world.now;
        let delivery = match order {
            Order::Causal => Delivery::Causal,
            Order::Total if self.roll(4) == 0 => Delivery::Stable,
            Order::Total => Delivery::Total,
            Order::Timestamp => Delivery::Timestamp(self.world.peer(peer).session_time(now)),
        };
        let number = self.sent.get(&(peer, order)).copied().unwrap_or(0) + 1;
        let bytes =
            [&[ORDERS.iter().position(|&known| known == order).unwrap() as u8], &number.to_le_bytes()[..]];
        match self.world.peer(peer).send(Target::All, delivery, &bytes.concat()) {
            Ok(()) => {}
            Err(SendError::WouldBlock | SendError::TooOld(_)) => return,
            Err(error) => panic!("{}: {error}", self.name),
        }
        self.sent.insert((peer, order), number);
        if order == Order::Causal {
            let diary = self.diaries.entry((peer, order)).or_default();
            self.before.insert((peer, number), diary.entries.iter().copied().collect());
            diary.entries.push((peer, number));
        }
    }

    fn listen(&mut self) {
        for (&peer, events) in &self.world.events {
            let seen = self.seen.entry(peer).or_default();
            for event in &events[*seen..] {
                match event {
                    Event::Message { from, delivery, bytes } => {
                        let order = ORDERS[usize::from(bytes[0])];
                        let said = (*from, u16::from_le_bytes([bytes[1], bytes[2]]));
                        let diary = self.diaries.entry((peer, order)).or_default();
                        assert!(!diary.entries.contains(&said), "{}: {said:?} twice at {peer}", self.name);
                        diary.entries.push(said);
                        if let Delivery::Timestamp(time) = delivery {
                            diary.times.push((*time, *from));
                        }
                    }
                    Event::Late { from, bytes, .. } => {
                        self.late += 1;
                        let said = (*from, u16::from_le_bytes([bytes[1], bytes[2]]));
                        assert!(
                            self.lates.insert((peer, said)),
                            "{}: {said:?} late twice at {peer}",
                            self.name
                        );
                    }
                    Event::LinkClosed { peer: of, code } => {
                        panic!("{}: {of} broke {code:?} at {peer}", self.name)
                    }
                    _ => {}
                }
            }
            *seen = events.len();
        }
    }

    fn diary(&self, peer: PeerId, order: Order) -> &[Said] {
        self.diaries.get(&(peer, order)).map_or(&[], |diary| &diary.entries)
    }

    /// Checks that deliveries keep each order: the total order at the present members, the others at all peers that ever
    /// were members.
    fn check(&self) {
        for ((peer, order), diary) in &self.diaries {
            assert!(diary.times.is_sorted(), "{}: {peer} has times out of order", self.name);
            if *order == Order::Causal {
                self.check_causal(*peer, &diary.entries);
            }
        }
        let (all, members): (Vec<_>, _) = (self.world.events.keys().copied().collect(), self.members());
        for order in [Order::Total, Order::Timestamp] {
            // A lost member may have got its last messages in another total order than the members that went on. So
            // only the present members are compared.
            let peers = if order == Order::Total { &members } else { &all };
            for (&a, &b) in peers.iter().flat_map(|a| peers.iter().map(move |b| (a, b))) {
                let (of_a, of_b) = (self.diary(a, order), self.diary(b, order));
                let common = |one: &[Said], other: &[Said]| -> Vec<Said> {
                    let other: BTreeSet<_> = other.iter().copied().collect();
                    one.iter().copied().filter(|said| other.contains(said)).collect()
                };
                assert_eq!(common(of_a, of_b), common(of_b, of_a), "{}: {order:?} at {a} and {b}", self.name);
            }
        }
    }

    fn check_causal(&self, peer: PeerId, entries: &[Said]) {
        let mut known = BTreeSet::new();
        for said in entries.iter().rev() {
            known.insert(*said);
            let Some(before) = self.before.get(said) else { continue };
            // `known` holds this message and all that followed it at this peer. Its sender had sent or got none of
            // these before it.
            let late: Vec<_> = before.intersection(&known).collect();
            assert!(late.is_empty(), "{}: at {peer} {said:?} comes before {late:?}", self.name);
        }
    }

    /// Checks that these members got all messages that each of them ever sent.
    fn check_complete(&self, members: &[PeerId]) {
        for (&order, &peer) in ORDERS.iter().flat_map(|order| members.iter().map(move |peer| (order, peer))) {
            for &by in members.iter().filter(|&&by| by != peer || order != Order::Causal) {
                let sent = self.sent.get(&(by, order)).copied().unwrap_or(0);
                let heard = self.diary(peer, order).iter().filter(|said| said.0 == by).count();
                let late = if order == Order::Timestamp { self.late } else { 0 };
                assert!(
                    heard + late >= usize::from(sent),
                    "{}: {order:?} {by} to {peer}: {heard} of {sent}",
                    self.name
                );
            }
        }
    }
}

#[test]
fn orders_hold_through_crashes_of_hosts_joins_and_leaves() {
    for seed in 0..6 {
        let mut talk = Talk::new(seed, 4);
        let stayers: Vec<_> = talk.members()[2..].to_vec();
        talk.run(1_000, 40);
        let host = talk.world.witness.warrant.host;
        talk.world.kill(host);
        talk.run(1_500, 40);
        talk.world.join(None);
        talk.run(1_500, 40);
        let host = talk.world.witness.warrant.host;
        if talk.roll(2) == 0 && !stayers.contains(&host) {
            talk.world.kill(host);
        } else if let Some(&leaver) = talk.members().iter().find(|peer| !stayers.contains(peer)) {
            talk.world.peer(leaver).leave();
        }
        talk.run(2_000, 40);
        talk.run(8_000, 0);
        talk.check();
        let stayed: Vec<_> = stayers.into_iter().filter(|peer| talk.members().contains(peer)).collect();
        assert!(!stayed.is_empty(), "{}", talk.name);
        talk.check_complete(&stayed);
        let heard: usize = ORDERS.iter().map(|&order| talk.diary(stayed[0], order).len()).sum();
        assert!(heard > 150, "{}: {heard}", talk.name);
    }
}

#[test]
fn suspended_host_removes_no_member_that_could_not_answer() {
    let mut world = World::with_rules(21, 0, rules());
    let (host, other) = (PeerId(100), world.join(None));
    let way = Duration::from_millis(75);
    world.delays.extend([((host, other), way), ((other, host), way)]);
    world.run(2_000);
    world.witness_alive = false;
    let now = world.now;
    world.peers.values_mut().for_each(|session| session.witness(now).set_reached(false));
    world.cuts.extend([(host, other), (other, host)]);
    world.run(7_000);
    assert!(!world.peers[&host].is_host() && !world.peers[&other].is_host(), "neither has a majority");
    world.cuts.clear();
    world.run(1_000);
    for peer in [host, other] {
        assert!(world.peers[&peer].is_member(), "{peer}: {:?}", world.events[&peer].last());
        assert_eq!(world.peers[&peer].view().members().count(), 2);
    }
    assert!(world.peers[&host].is_host());
}

#[test]
fn far_member_has_twenty_round_trips_to_answer_views() {
    // For each case: the delay in each direction, besides the world's own 33 ms at most; and how long the member
    // stays, in milliseconds.
    for (way, most) in [(20, 5_000), (300, 13_300), (700, 20_000)] {
        let mut world = World::with_rules(22, 0, rules());
        let (host, far) = (PeerId(100), world.join(None));
        let delay = Duration::from_millis(way);
        world.delays.extend([((host, far), delay), ((far, host), delay)]);
        world.run(3_000);
        let is_member = |world: &World| world.peers[&host].view().has(far);
        assert!(is_member(&world), "{way}");
        let begun = world.now;
        let mut guest = None;
        while is_member(&world) && world.now < begun + Duration::from_millis(30_000) {
            match guest.take() {
                Some(guest) => world.peer(guest).leave(),
                None => guest = Some(world.join(None)),
            }
            world.run(280);
            world.peers.retain(|_, session| session.poll_timeout().is_some());
        }
        let stayed = world.now.since(begun).as_micros() / 1_000;
        if way == 20 {
            assert_eq!(stayed, 30_240, "its answers come sooner than the next view");
        } else {
            // The member stays until the next view, which waits a second for the member's ack, since the member is
            // the backup.
            assert!((most - 700..most + 2_500).contains(&stayed), "{way}: {stayed} ms");
        }
    }
}

#[test]
fn a_session_sends_only_in_the_orders_that_its_rules_name() {
    let mut world = World::new(3, 0);
    let (a, b) = (PeerId(100), world.join(None));
    world.run(1_500);
    let at = world.now;
    let now = world.peer(a).session_time(at);
    for delivery in [Delivery::Causal, Delivery::Total, Delivery::Stable, Delivery::Timestamp(now)] {
        assert_eq!(world.peer(a).send(Target::All, delivery, b"x"), Err(SendError::NotInTheRules));
    }
    assert!(world.peer(a).lockstep(Time::ZERO).is_none());
    assert!(world.peer(b).is_member());
}

#[test]
fn ordered_message_reaches_only_the_games_that_it_names() {
    let mut talk = Talk::new(9, 3);
    let [a, b, c] = talk.members()[..] else { panic!("three members") };
    talk.run(1_000, 0);
    let world = &mut talk.world;
    let mut heard = BTreeMap::<PeerId, Vec<u8>>::new();
    for (target, word) in [(Target::Peer(b), 1), (Target::Host, 2), (Target::All, 3)] {
        world.peer(c).send(target, Delivery::Total, &[word]).unwrap();
    }
    world.events.values_mut().for_each(Vec::clear);
    world.run(1_000);
    for (&peer, events) in &world.events {
        for event in events {
            if let Event::Message { bytes, from, delivery: Delivery::Total } = event {
                assert_eq!(*from, c);
                heard.entry(peer).or_default().extend(bytes);
            }
        }
    }
    assert_eq!(heard, BTreeMap::from([(a, vec![2, 3]), (b, vec![1, 3]), (c, vec![3])]));
}

#[test]
fn far_member_sends_and_gets_messages_by_time_stamp() {
    let mut talk = Talk::new(14, 2);
    let [host, near] = talk.members()[..] else { panic!("two members") };
    let world = &mut talk.world;
    let far = PeerId(world.next_peer);
    for way in [(host, far), (far, host)] {
        world.delays.insert(way, Duration::from_millis(570));
    }
    world.join(None);
    // Meanwhile the messages of others wait until the far member knows session time.
    let mut said = 0;
    for _ in 0..100 {
        talk.world.run(100);
        if talk.world.peer(far).is_member() {
            let now = talk.world.now;
            let time = talk.world.peer(near).session_time(now);
            talk.world.peer(near).send(Target::All, Delivery::Timestamp(time), b"near").unwrap();
            said += 1;
        }
    }
    let now = talk.world.now;
    let time = talk.world.peer(far).session_time(now);
    talk.world.peer(far).send(Target::All, Delivery::Timestamp(time), b"far").unwrap();
    talk.world.run(3_000);
    let heard = |peer: PeerId, word: &[u8]| {
        let is_word = |event: &&Event| match event {
            Event::Message { bytes, .. } | Event::Late { bytes, .. } => bytes == word,
            _ => false,
        };
        talk.world.events[&peer].iter().filter(is_word).count()
    };
    assert!(said > 50 && heard(far, b"near") == said, "{} of {said}", heard(far, b"near"));
    assert_eq!([host, near, far].map(|peer| heard(peer, b"far")), [1; 3]);
}

#[test]
fn link_to_a_member_that_takes_no_messages_is_closed() {
    let mut talk = Talk::new(12, 3);
    let [_, speaker, deaf] = talk.members()[..] else { panic!("three members") };
    let world = &mut talk.world;
    world.cuts.push((speaker, deaf));
    let is_closed = |event: &Event| matches!(event, Event::LinkClosed { peer, .. } if *peer == deaf);
    for _ in 0..400_000 {
        let now = world.now;
        let time = world.peer(speaker).session_time(now);
        let _ = world.peer(speaker).send(Target::All, Delivery::Timestamp(time), &[7; 4_000]);
        world.step();
        if world.events[&speaker].iter().any(is_closed) {
            return;
        }
        world.events.values_mut().for_each(Vec::clear);
    }
    panic!("everything is kept");
}

/// A newcomer that has waited for longer than the session is old gets messages before it is a member. It sends one as
/// soon as it is a member.
#[test]
fn newcomer_that_waited_for_long_is_not_late_when_it_joins() {
    for waits in [1, 3_000, 8_000] {
        let mut world = World::with_rules(3, 20, rules());
        world.peers.clear();
        let joiner = world.join(None);
        world.run(waits);
        let config = world.config(Vec::new());
        let host = world.join_as(samovar_session::SessionConfig { me: PeerId(100), ..config });
        while !world.peers[&joiner].is_member() {
            world.step();
            let _ = world.peer(host).send(Target::All, Delivery::Causal, b"early");
        }
        world.run(200);
        let now = world.now;
        let time = world.peers[&joiner].session_time(now);
        assert!(time < Time::ZERO + Duration::from_millis(2_000), "{time:?}");
        assert_eq!(
            world.peer(joiner).send(Target::All, Delivery::Timestamp(time), b"late"),
            Ok(()),
            "{waits}"
        );
    }
}

/// Disturbs the members by hand-overs, silences in one direction, and partitions that are too short to remove a
/// member.
#[test]
fn orders_hold_through_hand_overs_and_short_partitions() {
    for seed in 0..if cfg!(target_arch = "wasm32") { 2 } else { 12 } {
        let mut talk = Talk::new(1_000 + seed, 5);
        let all = talk.members();
        for _ in 0..6 {
            talk.run(300, 30);
            match talk.roll(4) {
                0 => {
                    let hosts: Vec<_> =
                        talk.members().into_iter().filter(|peer| talk.world.peers[peer].is_host()).collect();
                    let now = talk.world.now;
                    if let Some(&host) = hosts.first() {
                        talk.world.peer(host).hand_over(now);
                    }
                }
                1 => {
                    let (a, b) = (talk.roll(5) as usize, talk.roll(5) as usize);
                    if a != b {
                        talk.world.cuts.extend([(all[a], all[b]), (all[b], all[a])]);
                    }
                }
                2 => {
                    let a = talk.roll(5) as usize;
                    let one = [all[a]];
                    let rest: Vec<_> = all.iter().copied().filter(|peer| *peer != all[a]).collect();
                    crate::world::part(&mut talk.world, &one, &rest);
                }
                _ => {
                    let (a, b) = (talk.roll(5) as usize, talk.roll(5) as usize);
                    if a != b {
                        talk.world.cuts.push((all[a], all[b]));
                    }
                }
            }
            let ms = 200 + talk.roll(2_000);
            talk.run(ms, 30);
            talk.world.cuts.clear();
            talk.run(1_000, 30);
        }
        talk.run(9_000, 0);
        talk.check();
        let stayed: Vec<_> = all.into_iter().filter(|peer| talk.members().contains(peer)).collect();
        talk.check_complete(&stayed);
        for (&peer, &by) in stayed.iter().flat_map(|peer| stayed.iter().map(move |by| (peer, by))) {
            for number in 1..=talk.sent.get(&(by, Order::Timestamp)).copied().unwrap_or(0) {
                let (said, diary) = ((by, number), talk.diary(peer, Order::Timestamp));
                let (is_there, is_late) = (diary.contains(&said), talk.lates.contains(&(peer, said)));
                assert!(is_there != is_late, "{}: {said:?} at {peer}: {is_there} {is_late}", talk.name);
            }
        }
        for (&peer, events) in &talk.world.events {
            let behind = events.iter().filter(|event| matches!(event, Event::Behind(_))).count();
            assert_eq!(behind, 0, "{}: {peer}", talk.name);
        }
    }
}
