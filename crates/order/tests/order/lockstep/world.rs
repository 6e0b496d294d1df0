//! Peers in lockstep over a simulated network, in virtual time.
//!
//! Datagrams are lost and overtake each other. Reliable messages come in order, later when a segment was lost. The
//! test decides when each peer hears which host.

use std::collections::{BTreeMap, BTreeSet};

use samovar_order::lockstep::{
    Event, FieldHash, Frame, Lockstep, LockstepConfig, LockstepView, Player, Request,
};
use samovar_wire::link_frame::{Ack, AckHistory, Frame as LinkFrame, PacketHeader};
use samovar_wire::{Generations, Lane, PeerId, SeatId, Term, Time, Writer};

use samovar_wire::Rng;

/// The network's parameters, in microseconds and thousandths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Net {
    pub(crate) way: u64,
    pub(crate) jitter: u64,
    pub(crate) loss: u64,
}

/// A game whose state depends on every input of every frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Game {
    pub(crate) frame: u64,
    pub(crate) places: BTreeMap<SeatId, u64>,
    /// A machine with a bug has another value here.
    pub(crate) steam: u64,
}

impl Game {
    pub(crate) fn step(&mut self, frame: &Frame) {
        self.frame = frame.number;
        for seat in &frame.joined {
            self.places.insert(*seat, 1);
        }
        for seat in &frame.left {
            self.places.remove(seat);
        }
        for (seat, input) in frame.inputs.iter() {
            let place = self.places.entry(*seat).or_insert(1);
            for byte in input {
                *place = place.wrapping_mul(31).wrapping_add(u64::from(*byte));
            }
            self.steam = self.steam.rotate_left(3) ^ *place;
        }
    }

    pub(crate) fn fields(&self) -> Vec<FieldHash> {
        let mut fields: Vec<_> = self
            .places
            .iter()
            .map(|(seat, place)| FieldHash { name: format!("place of {}", seat.0), hash: *place })
            .collect();
        fields.push(FieldHash { name: "steam".to_owned(), hash: self.steam });
        fields
    }

    pub(crate) fn checksum(&self) -> u64 {
        self.fields().iter().fold(self.frame, |sum, field| sum.wrapping_mul(1_000_003) ^ field.hash)
    }

    fn save(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Writer::new(&mut bytes);
        out.u64(self.frame);
        out.u64(self.steam);
        for (seat, place) in &self.places {
            out.u16(seat.0);
            out.u64(*place);
        }
        bytes
    }

    fn load(bytes: &[u8]) -> Self {
        let mut reader = samovar_wire::Reader::new(bytes);
        let mut game = Self { frame: reader.u64().unwrap(), steam: reader.u64().unwrap(), ..Self::default() };
        while !reader.is_empty() {
            game.places.insert(SeatId(reader.u16().unwrap()), reader.u64().unwrap());
        }
        game
    }
}

/// The traffic in one direction between two peers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) reliable: u64,
}

pub(crate) struct Node {
    pub(crate) lockstep: Lockstep,
    pub(crate) game: Game,
    history: BTreeMap<u64, Game>,
    /// Frames as they were stepped, and when.
    pub(crate) stepped: Vec<(Time, Frame)>,
    /// Each load of a state: the number of steps before it, and the frame.
    pub(crate) loads: Vec<(usize, u64)>,
    pub(crate) events: Vec<Event>,
    pub(crate) is_alive: bool,
    /// Whether this peer neither sends nor receives.
    pub(crate) is_cut: bool,
    /// The game computes a wrong state in this frame.
    pub(crate) wrong_at: Option<u64>,
    /// The last number given as this peer's input.
    pub(crate) pressed: u32,
}

/// A message in flight: arrival, order, from, to, lane, bytes.
type OnTheWay = (u64, u64, PeerId, PeerId, Lane, Vec<u8>);

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) nodes: BTreeMap<PeerId, Node>,
    pub(crate) net: Net,
    /// Further delay of all traffic of a peer, in microseconds.
    pub(crate) slow: BTreeMap<PeerId, u64>,
    pub(crate) config: LockstepConfig,
    pub(crate) traffic: BTreeMap<(PeerId, PeerId), Traffic>,
    pub(crate) dice: Rng,
    on_the_way: BTreeSet<OnTheWay>,
    reliable_at: BTreeMap<(PeerId, PeerId), u64>,
    sent: u64,
    /// The chance of a new input in a step, in sixtieths.
    pub(crate) fidgets: u64,
    /// Whether inputs are numbers, each one more than the former.
    pub(crate) counts: bool,
}

pub(crate) fn peer(number: u32) -> PeerId {
    PeerId(number)
}

pub(crate) fn player(peer: PeerId) -> Player {
    Player { peer, seat: SeatId(peer.0 as u16), plays: true }
}

impl World {
    pub(crate) fn new(seed: u64, net: Net, config: LockstepConfig) -> Self {
        Self {
            now: Time::from_micros(1_000_000),
            nodes: BTreeMap::new(),
            net,
            slow: BTreeMap::new(),
            config,
            traffic: BTreeMap::new(),
            dice: Rng::new(seed),
            on_the_way: BTreeSet::new(),
            reliable_at: BTreeMap::new(),
            sent: 0,
            fidgets: 5,
            counts: false,
        }
    }

    /// A world of `count` players. Player 1 founds and hosts.
    pub(crate) fn with_players(seed: u64, net: Net, config: LockstepConfig, count: u32) -> Self {
        let mut world = Self::new(seed, net, config);
        world.add(peer(1), true);
        (2..=count).for_each(|number| world.add(peer(number), false));
        let all: Vec<_> = (1..=count).map(peer).collect();
        world.tell_all(Term::FIRST, peer(1), &all);
        world
    }

    pub(crate) fn add(&mut self, id: PeerId, is_founder: bool) {
        let make = if is_founder { Lockstep::found } else { Lockstep::join };
        let node = Node {
            lockstep: make(id, self.config),
            game: Game::default(),
            history: BTreeMap::new(),
            stepped: Vec::new(),
            loads: Vec::new(),
            events: Vec::new(),
            is_alive: true,
            is_cut: false,
            wrong_at: None,
            pressed: 0,
        };
        self.nodes.insert(id, node);
    }

    pub(crate) fn tell(&mut self, to: PeerId, term: Term, host: PeerId, members: &[PeerId]) {
        let players: Vec<_> = members.iter().map(|&id| player(id)).collect();
        let now = self.now;
        if let Some(node) = self.nodes.get_mut(&to).filter(|node| node.is_alive) {
            node.lockstep.handle_view(now, LockstepView { term, host, members: &players });
        }
        self.serve(to);
    }

    pub(crate) fn tell_all(&mut self, term: Term, host: PeerId, members: &[PeerId]) {
        members.iter().for_each(|&to| self.tell(to, term, host, members));
    }

    pub(crate) fn alive(&self) -> Vec<PeerId> {
        self.nodes.iter().filter(|(_, node)| node.is_alive).map(|(&id, _)| id).collect()
    }

    pub(crate) fn kill(&mut self, id: PeerId) {
        self.nodes.get_mut(&id).unwrap().is_alive = false;
    }

    /// Cuts a peer off: it neither sends nor receives, and reliable messages are lost.
    pub(crate) fn cut(&mut self, id: PeerId) {
        self.nodes.get_mut(&id).unwrap().is_cut = true;
    }

    /// Ends the cut of a peer. All its links begin anew.
    pub(crate) fn mend(&mut self, id: PeerId) {
        self.nodes.get_mut(&id).unwrap().is_cut = false;
        let now = self.now;
        for other in self.alive().into_iter().filter(|&other| other != id) {
            self.nodes.get_mut(&id).unwrap().lockstep.handle_linked(now, other);
            self.serve(id);
            self.nodes.get_mut(&other).unwrap().lockstep.handle_linked(now, id);
            self.serve(other);
        }
    }

    /// Carries out requests, takes events and sends messages.
    fn serve(&mut self, id: PeerId) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(&id) else { return };
        while let Some(request) = node.lockstep.poll_request() {
            match request {
                Request::Step(frame) => {
                    node.game.step(&frame);
                    if node.wrong_at == Some(frame.number) {
                        node.game.steam ^= 1;
                    }
                    node.lockstep.stepped(frame.number, node.game.checksum());
                    node.history.insert(frame.number, node.game.clone());
                    node.history.remove(&(frame.number.saturating_sub(300)));
                    node.stepped.push((now, frame));
                }
                Request::Load { frame, state, .. } => {
                    node.game = Game::load(&state);
                    assert_eq!(node.game.frame, frame);
                    node.loads.push((node.stepped.len(), frame));
                }
                Request::Save => node.lockstep.answer_state(now, &node.game.save()).unwrap(),
                Request::Fields { frame } => {
                    let fields = node.history.get(&frame).map(Game::fields).unwrap_or_default();
                    node.lockstep.answer_fields(now, frame, fields);
                }
            }
        }
        while let Some(event) = node.lockstep.poll_event() {
            if event == Event::NoState {
                node.lockstep.begin_anew(now);
            }
            node.events.push(event);
        }
        let mut posted = Vec::new();
        while let Some(transmit) = node.lockstep.poll_transmit() {
            posted.push(transmit);
        }
        for transmit in posted {
            self.post(id, transmit.to, transmit.lane, transmit.bytes);
        }
    }

    fn post(&mut self, from: PeerId, to: PeerId, lane: Lane, bytes: Vec<u8>) {
        let traffic = self.traffic.entry((from, to)).or_default();
        let slow = self.slow.get(&from).copied().unwrap_or(0) + self.slow.get(&to).copied().unwrap_or(0);
        let way = self.net.way + slow + self.dice.roll(self.net.jitter.max(1));
        let is_lost = self.dice.chance(self.net.loss, 1_000);
        let mut at = self.now.as_micros() + way;
        self.sent += 1;
        if lane == Lane::Unreliable {
            traffic.packets += 1;
            traffic.bytes += packet_size(&bytes);
            if is_lost {
                return;
            }
        } else {
            traffic.reliable += bytes.len() as u64;
            if is_lost {
                at += 2 * self.net.way + 20_000;
            }
            let behind = self.reliable_at.entry((from, to)).or_default();
            at = at.max(*behind);
            *behind = at;
        }
        self.on_the_way.insert((at, self.sent, from, to, lane, bytes));
    }

    fn deliver(&mut self, (_, _, from, to, lane, bytes): OnTheWay) {
        let is_open = |node: Option<&Node>| node.is_some_and(|node| !node.is_cut);
        if !is_open(self.nodes.get(&from)) || !is_open(self.nodes.get(&to)) {
            return;
        }
        let now = self.now;
        let node = self.nodes.get_mut(&to).unwrap();
        if node.is_alive {
            let taken = if lane == Lane::Unreliable {
                node.lockstep.handle_datagram(now, from, &bytes)
            } else {
                node.lockstep.handle_message(now, from, &bytes)
            };
            assert_eq!(taken, Ok(()), "{from} to {to}: {bytes:02x?}");
            self.serve(to);
        }
    }

    /// Runs the peers for `millis` milliseconds.
    pub(crate) fn run(&mut self, millis: u64) {
        let end = self.now.as_micros() + millis * 1_000;
        loop {
            let arrival = self.on_the_way.first().map_or(u64::MAX, |first| first.0);
            let timers = self.nodes.values().filter(|node| node.is_alive);
            let timer = timers.filter_map(|node| node.lockstep.poll_timeout()).min();
            let timer = timer.map_or(u64::MAX, Time::as_micros);
            let next = arrival.min(timer).max(self.now.as_micros());
            if next > end {
                break;
            }
            self.now = Time::from_micros(next);
            if arrival <= next {
                let first = self.on_the_way.pop_first().unwrap();
                self.deliver(first);
                continue;
            }
            for id in self.alive() {
                self.tick(id);
            }
        }
        self.now = Time::from_micros(end);
    }

    fn tick(&mut self, id: PeerId) {
        let now = self.now;
        let node = self.nodes.get_mut(&id).unwrap();
        if node.lockstep.poll_timeout().is_none_or(|at| at > now) {
            return;
        }
        let is_new = !self.counts && self.dice.roll(60) < self.fidgets;
        let mut input = vec![0; self.config.input_size()];
        input.fill_with(|| self.dice.roll(16) as u8);
        if is_new {
            node.lockstep.set_input(&input).unwrap();
        }
        if self.counts {
            node.pressed += 1;
            node.lockstep.set_input(&node.pressed.to_le_bytes()).unwrap();
        }
        node.lockstep.handle_timeout(now);
        self.serve(id);
        let node = &self.nodes[&id];
        let again = node.lockstep.poll_timeout();
        assert!(again.is_none_or(|at| at > now), "{id} wants {again:?} at {now:?} once more");
    }

    /// Checks that all live peers stepped the same frames, and have the same game after the last common one.
    pub(crate) fn assert_alike(&self) {
        let alive = self.alive();
        let mut frames: BTreeMap<u64, (PeerId, &Frame)> = BTreeMap::new();
        for &id in &alive {
            let node = &self.nodes[&id];
            let from = node.loads.last().map_or(0, |&(steps, _)| steps);
            for (_, frame) in &node.stepped[from..] {
                let (first, other) = frames.entry(frame.number).or_insert((id, frame));
                assert_eq!(*other, frame, "{first} and {id} stepped different frames {}", frame.number);
            }
        }
        let common = alive.iter().map(|id| self.nodes[id].game.frame).min().unwrap_or(0);
        let at = |id: &PeerId| self.nodes[id].history.get(&common).map(Game::checksum);
        for id in &alive {
            assert_eq!(at(id), at(&alive[0]), "{id} and {} behind frame {common}", alive[0]);
        }
        assert!(at(&alive[0]).is_some(), "frame {common} is too long ago for a peer");
    }

    /// The longest time between two steps of a peer since `from`, and how many steps it took.
    pub(crate) fn steadiness(&self, id: PeerId, from: Time) -> (u64, usize) {
        let mut last = from;
        let (mut longest, mut count) = (0, 0);
        for &(at, _) in self.nodes[&id].stepped.iter().filter(|(at, _)| *at >= from) {
            longest = longest.max(at.since(last).as_micros());
            last = at;
            count += 1;
        }
        (longest.max(self.now.since(last).as_micros()), count)
    }
}

/// A datagram's size on its link: the packet's header with an ack of eight packets, the frame's head, the kind.
pub(crate) fn packet_size(body: &[u8]) -> u64 {
    let history = AckHistory::from_words([0xff, 0, 0, 0]);
    let ack = Some(Ack { newest: 7, history });
    let mut bytes = Vec::new();
    PacketHeader { generations: Generations::FIRST, number: 9, ack }.encode(&mut Writer::new(&mut bytes));
    let message = [&[0x18], body].concat();
    LinkFrame::LastDatagram(&message).encode(&mut Writer::new(&mut bytes));
    bytes.len() as u64
}
