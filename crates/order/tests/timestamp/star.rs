//! Time-stamp order in a star: random groups with delays, losses, joins and hosts that die, against the definition of the
//! order, and who is late by the host's word.

#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use samovar_order::timestamp::{Event, StarEvent, StarTimeOrder, TimeOrderConfig};
use samovar_order::{View, ViewId};
use samovar_wire::timed::Promise;
use samovar_wire::{CloseCode, Duration, PeerId, Reader, Term, Time, Writer};

use crate::dice::Dice;
use crate::world::at;

type Key = (Time, PeerId, u64);

#[derive(Debug)]
enum Parcel {
    Frame(Vec<u8>),
    View(View),
}

/// What a member was told of a message, and whether it was late.
type Told = (Key, bool);

struct Node {
    order: StarTimeOrder,
    told: Vec<(Time, Told)>,
    late: Vec<(PeerId, bool)>,
    is_silent: bool,
}

struct Star {
    now: Time,
    nodes: BTreeMap<PeerId, Node>,
    view: View,
    config: TimeOrderConfig,
    lanes: BTreeMap<(PeerId, PeerId), VecDeque<(Time, Parcel)>>,
    promises: VecDeque<(Time, PeerId, PeerId, Promise)>,
    ways: BTreeMap<PeerId, u64>,
    dice: Dice,
    loss: u64,
    interval: u64,
}

impl Star {
    fn new(members: u32, config: TimeOrderConfig, seed: u64) -> Self {
        let ids: Vec<_> = (1..=members).map(PeerId).collect();
        let id = ViewId { term: Term::FIRST, number: 1 };
        let view = View { id, host: PeerId(1), backups: vec![PeerId(2)], members: ids };
        let (lanes, promises, nodes, ways) = Default::default();
        let (now, dice, loss, interval) = (Time::ZERO, Dice::new(seed), 0, 16);
        let mut star = Self { now, nodes, view, config, lanes, promises, ways, dice, loss, interval };
        star.publish();
        star
    }

    /// Milliseconds between the host and a member; 10 unless set.
    fn way(&self, a: PeerId, b: PeerId) -> Duration {
        let part = |peer| self.ways.get(&peer).copied().unwrap_or(5);
        Duration::from_millis(part(a) + part(b))
    }

    fn post(&mut self, from: PeerId, to: PeerId, parcel: Parcel) {
        if !self.nodes.contains_key(&to) {
            return;
        }
        let again = if self.dice.chance(self.loss) { 30 } else { 0 };
        let arrives = self.now + self.way(from, to) + Duration::from_millis(again);
        let lane = self.lanes.entry((from, to)).or_default();
        let last = lane.back().map_or(Time::ZERO, |last| last.0);
        lane.push_back((arrives.max(last), parcel));
    }

    /// The host tells all of the present view, in its lanes.
    fn publish(&mut self) {
        let view = self.view.clone();
        for &id in &view.members {
            let order = || StarTimeOrder::new(id, self.config);
            let node = || Node { order: order(), told: vec![], late: vec![], is_silent: false };
            self.nodes.entry(id).or_insert_with(node);
        }
        for &to in view.members.iter().filter(|&&to| to != view.host) {
            self.serve(view.host);
            self.post(view.host, to, Parcel::View(view.clone()));
        }
        self.nodes.get_mut(&view.host).unwrap().order.handle_view(&view);
        self.serve(view.host);
    }

    fn serve(&mut self, id: PeerId) {
        let now = self.now;
        let node = self.nodes.get_mut(&id).unwrap();
        node.order.handle_time(now);
        while let Some(event) = node.order.poll_event() {
            match event {
                StarEvent::Timed(Event::Message(m)) => {
                    node.told.push((now, ((m.time, m.from, m.number), false)));
                }
                StarEvent::Timed(Event::Late(m)) => {
                    node.told.push((now, ((m.time, m.from, m.number), true)));
                }
                StarEvent::Timed(Event::PeerLate(peer)) => node.late.push((peer, true)),
                StarEvent::Timed(Event::PeerOnTime(peer)) => node.late.push((peer, false)),
                other => panic!("{id}: {other:?}"),
            }
        }
        let sent: Vec<_> = core::iter::from_fn(|| node.order.poll_transmit()).collect();
        if !node.is_silent {
            sent.into_iter().for_each(|sent| self.post(id, sent.to, Parcel::Frame(sent.bytes)));
        }
    }

    fn promise(&mut self, id: PeerId) {
        for to in self.view.members.clone() {
            let node = self.nodes.get_mut(&id).unwrap();
            let Some(promise) = node.order.promise(self.now, to).filter(|_| !node.is_silent) else {
                continue;
            };
            if !self.dice.chance(self.loss) {
                let mut bytes = Vec::new();
                promise.encode(&mut Writer::new(&mut bytes));
                let promise = Promise::decode(&mut Reader::new(&bytes)).unwrap();
                self.promises.push_back((self.now + self.way(id, to), id, to, promise));
            }
        }
    }

    fn arrive(&mut self) {
        let now = self.now;
        for way in self.lanes.keys().copied().collect::<Vec<_>>() {
            while let Some((_, parcel)) =
                self.lanes.get_mut(&way).and_then(|lane| lane.pop_front_if(|first| first.0 <= now))
            {
                let Some(node) = self.nodes.get_mut(&way.1) else { continue };
                match parcel {
                    Parcel::Frame(bytes) => {
                        assert_eq!(node.order.handle_frame(way.0, &bytes), Ok(()), "{way:?}: {bytes:02x?}");
                    }
                    Parcel::View(view) => node.order.handle_view(&view),
                }
                self.serve(way.1);
            }
        }
        let (due, rest): (Vec<_>, Vec<_>) = self.promises.drain(..).partition(|promise| promise.0 <= now);
        self.promises = VecDeque::from(rest);
        for (_, from, to, promise) in due {
            if let Some(node) = self.nodes.get_mut(&to) {
                node.order.handle_promise(now, from, promise);
                self.serve(to);
            }
        }
    }

    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            self.now += Duration::from_millis(1);
            self.arrive();
            for id in self.nodes.keys().copied().collect::<Vec<_>>() {
                let tick = self.now.as_micros() / 1_000 + u64::from(id.0) * 5;
                if tick.is_multiple_of(self.interval) {
                    self.promise(id);
                }
                self.serve(id);
                let due = self.nodes[&id].order.poll_timeout(self.now);
                assert!(due.is_none_or(|due| due > self.now), "{id} wants {due:?} once more");
            }
        }
    }

    /// Whether it could.
    fn say(&mut self, from: PeerId, time: Time) -> bool {
        let sent = self.nodes.get_mut(&from).unwrap().order.send(self.now, time, b"x");
        self.serve(from);
        sent.is_ok()
    }

    fn crash(&mut self, id: PeerId) {
        self.nodes.remove(&id);
        let dice = &mut self.dice;
        for (way, lane) in &mut self.lanes {
            if way.0 == id {
                lane.truncate(dice.roll(lane.len() as u64 + 1) as usize);
            } else if way.1 == id {
                lane.clear();
            }
        }
        self.view.members.retain(|&member| member != id);
        self.view.id.number += 1;
        if self.view.host == id {
            // The backup; or if there is none any more, whoever is.
            let heir = self.view.backups.iter().find(|backup| self.nodes.contains_key(backup));
            self.view.host = *heir.unwrap_or(&self.view.members[0]);
            self.view.id.term = self.view.id.term.next_witnessed();
        }
        let others = self.view.members.iter().filter(|&&member| member != self.view.host);
        self.view.backups = others.take(1).copied().collect();
    }

    fn relink(&mut self, id: PeerId) {
        let host = self.view.host;
        for (from, to) in [(id, host), (host, id)] {
            if let Some(lane) = self.lanes.get_mut(&(from, to)) {
                lane.retain(|(_, parcel)| matches!(parcel, Parcel::View(_)));
            }
            self.nodes.get_mut(&from).unwrap().order.handle_link(to);
        }
    }
}

/// What each said, and who was a member then.
type Said = BTreeMap<Key, Vec<PeerId>>;

fn live(seed: u64) -> (Star, Said) {
    let mut dice = Dice::new(seed);
    let lookahead = Duration::from_millis(dice.roll(3) * 20);
    let mut star = Star::new(4, TimeOrderConfig { lookahead, ..TimeOrderConfig::DEFAULT }, seed);
    (star.loss, star.interval) = (dice.roll(20), 8 + dice.roll(20));
    let (mut said, mut numbers, mut next) = (Said::new(), BTreeMap::<PeerId, u64>::new(), 5);
    star.run(300);
    for _ in 0..60 {
        star.run(1 + dice.roll(60));
        for _ in 0..dice.roll(4) {
            let members = star.view.members.clone();
            let from = members[dice.roll(members.len() as u64) as usize];
            let earliest = star.nodes[&from].order.earliest().max(star.now + lookahead);
            let time = earliest + Duration::from_micros(dice.roll(2) * dice.roll(30_000));
            if !star.say(from, time) {
                continue;
            }
            let number = numbers.entry(from).or_default();
            *number += 1;
            said.insert((time, from, *number), members);
        }
        match dice.roll(14) {
            0 if star.view.members.len() < 6 => {
                star.view.members.push(PeerId(next));
                star.view.id.number += 1;
                next += 1;
                star.publish();
            }
            roll @ 1..=2 if star.view.members.len() > 2 => {
                let members = &star.view.members;
                let any = members[dice.roll(members.len() as u64) as usize];
                let dead = if roll == 1 { star.view.host } else { any };
                star.crash(dead);
                star.run(dice.roll(400));
                star.publish();
            }
            3 => {
                star.ways.insert(PeerId(1 + dice.roll(6) as u32), 1 + dice.roll(20));
            }
            4 => {
                let members = &star.view.members;
                let any = members[dice.roll(members.len() as u64) as usize];
                if any != star.view.host {
                    star.relink(any);
                }
            }
            _ => (),
        }
    }
    star.run(3_000);
    (star, said)
}

#[test]
fn deliveries_keep_their_order_and_are_complete_whichever_host_dies() {
    let mut count = 0;
    for seed in 0..150 {
        let (star, said) = live(seed);
        let told = |id: &PeerId| star.nodes[id].told.iter().map(|&(_, told)| told).collect::<Vec<_>>();
        for id in &star.view.members {
            let mine = told(id);
            let keys: Vec<_> = mine.iter().map(|told| told.0).collect();
            let wrong = mine.windows(2).find(|two| two[0].0 >= two[1].0);
            assert_eq!(wrong, None, "seed {seed}: {id} was told out of order, or twice");
            assert!(keys.iter().all(|key| said.contains_key(key)), "seed {seed}: {id}: nobody said that");
            assert!(!mine.iter().any(|told| told.1), "seed {seed}: all ways are shorter than the patience");
            count += keys.len();
        }
        for (key, members) in &said {
            let here: Vec<_> = star.view.members.iter().filter(|id| members.contains(id)).collect();
            let holders = here.iter().filter(|id| told(id).iter().any(|told| told.0 == *key)).count();
            if star.view.members.contains(&key.1) || holders > 0 {
                assert_eq!(holders, here.len(), "seed {seed}: {key:?} is not with all survivors");
            }
        }
    }
    println!("{count} deliveries of 150 random lives were compared");
}

#[test]
fn who_is_late_and_what_comes_late_is_the_same_for_all_as_the_host_says() {
    let mut star = Star::new(4, TimeOrderConfig::DEFAULT, 1);
    star.run(300);
    let slow = PeerId(3);
    star.nodes.get_mut(&slow).unwrap().is_silent = true;
    star.run(100);
    let early = star.now;
    assert!(star.say(slow, early));
    star.run(10);
    let later = star.now;
    assert!(star.say(PeerId(4), later));
    star.run(400);
    let members = star.view.members.clone();
    for id in &members {
        let keys: Vec<_> = star.nodes[id].told.iter().map(|(at, told)| (*at, told.0.1)).collect();
        let [(delivered, PeerId(4))] = keys[..] else { panic!("{id}: {keys:?}") };
        let waited = delivered.since(later);
        assert!(waited <= Duration::from_millis(250 + 20), "{id} waited {waited:?}");
        assert_eq!(star.nodes[id].late, [(slow, true)], "{id}");
    }
    // What it had said comes when its link is a new one.
    star.nodes.get_mut(&slow).unwrap().is_silent = false;
    star.relink(slow);
    star.run(300);
    let told: BTreeSet<Vec<Told>> =
        members.iter().map(|id| star.nodes[id].told.iter().map(|told| told.1).collect()).collect();
    assert_eq!(told.len(), 1, "all are told the same: {told:?}");
    let expected = vec![((later, PeerId(4), 1), false), ((early, slow, 1), true)];
    assert_eq!(told.first(), Some(&expected));
    assert!(members.iter().all(|id| star.nodes[id].late == [(slow, true), (slow, false)]));
}

#[test]
fn a_message_waits_for_the_slowest_two_ways_and_a_tick() {
    let mut star = Star::new(4, TimeOrderConfig::DEFAULT, 1);
    star.ways.insert(PeerId(3), 30);
    star.run(300);
    for _ in 0..50 {
        star.run(37);
        let now = star.now;
        assert!(star.say(PeerId(2), now));
    }
    star.run(200);
    for (id, node) in &star.nodes {
        // From the slowest member to the host, and from there.
        let ways = star.way(PeerId(3), PeerId(1))
            + if *id == PeerId(1) { Duration::ZERO } else { star.way(PeerId(1), *id) };
        for (delivered, ((time, ..), _)) in &node.told {
            let waited = delivered.since(*time);
            assert!(waited <= ways + Duration::from_millis(17), "{id} waited {waited:?} of {ways:?}");
        }
        assert_eq!(node.told.len(), 50);
    }
}

#[test]
fn a_message_older_than_its_sender_has_promised_ends_the_link() {
    let mut star = Star::new(2, TimeOrderConfig::DEFAULT, 1);
    star.run(300);
    let (host, liar) = (PeerId(1), PeerId(2));
    assert!(star.say(liar, at(300)));
    let host = star.nodes.get_mut(&host).unwrap();
    host.order.handle_promise(at(300), liar, Promise { until: at(301), sent: 0 });
    let (_, parcel) = star.lanes.get_mut(&(liar, PeerId(1))).unwrap().pop_back().unwrap();
    let Parcel::Frame(bytes) = parcel else { panic!("{parcel:?}") };
    assert_eq!(host.order.handle_frame(liar, &bytes), Err(CloseCode::Unexpected));
}

/// A host that names everybody late whom it can think of.
#[test]
fn a_host_that_calls_millions_late_is_not_remembered_with_all_of_them() {
    use samovar_order::timestamp::StarTimeOrder;
    use samovar_order::{View, ViewId};
    use samovar_wire::order::{Frame, Run};
    use samovar_wire::{Term, Writer};
    let (host, me) = (PeerId(1), PeerId(2));
    let id = ViewId { term: Term::FIRST, number: 1 };
    let view = View { id, host, backups: vec![], members: vec![host, me] };
    let config = TimeOrderConfig::default();
    let (mut at_host, mut order) = (StarTimeOrder::new(host, config), StarTimeOrder::new(me, config));
    at_host.handle_view(&view);
    order.handle_view(&view);
    for _ in 0..5 {
        while let Some(out) = order.poll_transmit() {
            at_host.handle_frame(me, &out.bytes).unwrap();
        }
        while let Some(out) = at_host.poll_transmit() {
            order.handle_frame(host, &out.bytes).unwrap();
        }
    }
    let mut size = Vec::new();
    for number in 1..=40_000_u64 {
        let mut entry = vec![4]; // the sender is late
        Writer::new(&mut entry).u32(1_000_000 + number as u32);
        entry.push(0);
        let mut encoded = Vec::new();
        Writer::new(&mut encoded).prefixed(&entry);
        let run = Run { epoch: 1, first: number, encoded: &encoded };
        order.handle_frame(host, &Frame::Items { safe: 0, stable: number, run }.to_bytes()).unwrap();
        while order.poll_event().is_some() {}
        while order.poll_transmit().is_some() {}
        if number % 10_000 == 0 {
            size.push(format!("{order:?}").len());
        }
    }
    assert!(size[3] < 2 * size[0], "{size:?}");
}
