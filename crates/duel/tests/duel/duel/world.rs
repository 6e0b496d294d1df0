//! A small world in virtual time: duels over sessions, paths that delay and lose packets, and a relay that signs.

use std::collections::{BTreeMap, BTreeSet};

use samovar_duel::arena::TEA_TABLE;
use samovar_duel::course::Stakes;
use samovar_duel::cube::Shot;
use samovar_duel::game::{
    Duel, DuelConfig, DuelEvent, TEAPOT, TeapotView, attributes, params, rules, schemas,
};
use samovar_duel::plane::{distance, heading_of, sub, wrap_angle};
use samovar_duel::player::{Glaze, PlayerKey};
use samovar_duel::robot::Robot;
use samovar_duel::scores::Scoreboard;
use samovar_duel::state::{IDENTITY, Identity};
use samovar_duel::teapot::Controls;
use samovar_duel::word::Word;
use samovar_roster::authority::Signatory;
use samovar_session::{Cause, Delivery, Event, Rules, Schemas, Session, SessionConfig};
use samovar_wire::view::SPECTATOR;
use samovar_wire::{
    CloseCode, Duration, Entropy, Mode, ObjectId, PeerId, SessionId, Term, Ticket, Time, Warrant,
};

/// The source of a player's controls.
pub(crate) enum Hands {
    Idle,
    Held(Controls),
    Program(Box<Robot>),
    /// Drives to the sugar bowl, and fires at no player.
    ForBowls,
    /// Drives straight at the obstacle with this index.
    Against(usize),
    /// Drives up to another teapot, fires one cube, and stops.
    OneShotAt(PlayerKey),
}

/// One peer with its page.
pub(crate) struct Player {
    pub(crate) session: Session,
    pub(crate) duel: Duel,
    pub(crate) hands: Hands,
    pub(crate) frame: Duration,
    pub(crate) next_frame: Time,
    pub(crate) feed: Vec<DuelEvent>,
    pub(crate) ended: Option<Event>,
    /// The number of this peer's inputs that were accepted.
    pub(crate) accepted: u64,
    /// The causes of host changes.
    pub(crate) causes: Vec<Cause>,
    /// The duel's messages that were delivered to this peer, each with its order.
    pub(crate) words: Vec<(Delivery, Word)>,
    /// Peers whose links were closed, by either end, and the codes.
    pub(crate) closed: Vec<(PeerId, CloseCode)>,
    /// Every hit this player ever saw on its scoreboard: the struck player and the time, by cube.
    pub(crate) hits: BTreeMap<Shot, (PlayerKey, u64)>,
}

/// A packet on its way: sender, receiver, mode, bytes.
type Parcel = (PeerId, PeerId, Mode, Vec<u8>);

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) players: BTreeMap<PeerId, Player>,
    signatory: Signatory,
    pub(crate) warrant: Warrant,
    /// The packets on their way, by their arrival.
    wire: BTreeMap<(Time, u64), Parcel>,
    sent: u64,
    /// The bytes of all packets that the peers have sent, lost or not.
    pub(crate) bytes: u64,
    /// The number of these packets.
    pub(crate) packets: u64,
    dice: Entropy,
    loss_percent: u64,
    /// The agreed rules.
    pub(crate) rules: Rules,
    /// The founder's stakes.
    pub(crate) stakes: Stakes,
    /// The extra delay of packets from one peer to another.
    pub(crate) detours: BTreeMap<(PeerId, PeerId), Duration>,
    next_peer: u32,
    /// Every cube that any peer ever saw score, dead peers included.
    scored: BTreeSet<Shot>,
}

const STEP: Duration = Duration::from_millis(2);

/// The time of a frame at 60 frames a second.
pub(crate) const SMOOTH: Duration = Duration::from_micros(16_667);

impl World {
    /// A world with a founder.
    pub(crate) fn new(seed: u8, loss_percent: u64, robots: u8) -> Self {
        let mut world = Self::empty(seed, loss_percent);
        world.enter(None, robots);
        world
    }

    /// A world whose founder is a spectator.
    pub(crate) fn with_referee(seed: u8, loss_percent: u64, robots: u8) -> Self {
        let mut world = Self::empty(seed, loss_percent);
        world.enter_as(SPECTATOR, schemas(), None, robots);
        world
    }

    /// A world whose members have agreed on other rules than the game's.
    pub(crate) fn with_rules(seed: u8, loss_percent: u64, robots: u8, rules: Rules) -> Self {
        let mut world = Self::empty(seed, loss_percent);
        world.rules = rules;
        world.enter(None, robots);
        world
    }

    /// A world with stakes.
    pub(crate) fn with_stakes(seed: u8, loss_percent: u64, robots: u8, stakes: Stakes) -> Self {
        let mut world = Self::empty(seed, loss_percent);
        world.stakes = stakes;
        world.enter(None, robots);
        world
    }

    fn empty(seed: u8, loss_percent: u64) -> Self {
        let signatory = Signatory::new(&[seed; 32]);
        let warrant = signatory.warrant(SessionId(7), Term::FIRST, PeerId(100));
        Self {
            now: Time::from_micros(1_000_000),
            players: BTreeMap::new(),
            signatory,
            warrant,
            wire: BTreeMap::new(),
            sent: 0,
            bytes: 0,
            packets: 0,
            dice: Entropy::new([seed; 32]),
            loss_percent,
            rules: rules(),
            stakes: Stakes::NONE,
            detours: BTreeMap::new(),
            next_peer: 100,
            scored: BTreeSet::new(),
        }
    }

    pub(crate) fn join(&mut self) -> PeerId {
        self.enter(None, 0)
    }

    pub(crate) fn enter(&mut self, ticket: Option<Ticket>, robots: u8) -> PeerId {
        self.enter_with(schemas(), ticket, robots)
    }

    pub(crate) fn spectate(&mut self) -> PeerId {
        self.enter_as(SPECTATOR, schemas(), None, 0)
    }

    /// Enters with these schemas, which may differ from those that the parameters claim.
    pub(crate) fn enter_with(&mut self, schemas: Schemas, ticket: Option<Ticket>, robots: u8) -> PeerId {
        self.enter_as(0, schemas, ticket, robots)
    }

    /// Enters with these bits in the attributes, beside the colour.
    fn enter_as(&mut self, bits: u32, schemas: Schemas, ticket: Option<Ticket>, robots: u8) -> PeerId {
        let me = PeerId(self.next_peer);
        self.next_peer += 1;
        let config = SessionConfig {
            schemas,
            me,
            voucher: None,
            key: self.signatory.key(),
            warrant: self.warrant,
            params: params(),
            name: format!("Peer {}", me.0),
            attributes: attributes(Glaze::new(me.0 as usize), false) | bits,
            tickets: ticket.into_iter().collect(),
            capacity: 8,
            rules: self.rules,
            entropy: self.dice.bytes(),
        };
        let seed = self.dice.number();
        let player = Player {
            session: Session::new(self.now, config).unwrap(),
            duel: Duel::new(DuelConfig { seed, robots, is_resuming: ticket.is_some(), stakes: self.stakes }),
            hands: Hands::Idle,
            frame: SMOOTH,
            next_frame: self.now,
            feed: Vec::new(),
            ended: None,
            accepted: 0,
            causes: Vec::new(),
            words: Vec::new(),
            closed: Vec::new(),
            hits: BTreeMap::new(),
        };
        self.players.insert(me, player);
        me
    }

    /// Ends a peer's process. The other peers see that its path is closed.
    pub(crate) fn kill(&mut self, peer: PeerId) {
        self.players.remove(&peer);
        self.players.values_mut().for_each(|player| player.session.path(self.now, peer).handle_closed());
    }

    /// Closes a peer's page. The page tells the others that the peer goes.
    pub(crate) fn leave(&mut self, peer: PeerId) {
        self.peer(peer).session.go_away();
        self.step();
        self.players.remove(&peer);
    }

    /// Lets a player leave for good.
    pub(crate) fn leave_for_good(&mut self, peer: PeerId) {
        self.peer(peer).session.leave();
        self.step();
        self.players.remove(&peer);
    }

    pub(crate) fn step(&mut self) {
        self.now += STEP;
        let now = self.now;
        while let Some(entry) = self.wire.first_entry().filter(|entry| entry.key().0 <= now) {
            let (from, to, mode, bytes) = entry.remove();
            if let Some(player) = self.players.get_mut(&to) {
                player.session.handle_packet(now, from, mode, &bytes);
            }
        }
        let mut claims = Vec::new();
        for (&id, player) in &mut self.players {
            player.session.handle_timeout(now);
            player.drain_events(now);
            player.draw(now);
            self.scored.extend(player.hits.keys());
            while let Some(out) = player.session.poll_transmit(now) {
                self.packets += 1;
                self.bytes += out.bytes.len() as u64;
                let lost = out.mode == Mode::Unreliable && self.dice.number() % 100 < self.loss_percent;
                let jitter = if out.mode == Mode::Unreliable { self.dice.number() % 8_000 } else { 8_000 };
                if !lost {
                    self.sent += 1;
                    let detour = self.detours.get(&(id, out.to)).copied().unwrap_or(Duration::ZERO);
                    let arrival = now + Duration::from_micros(25_000 + jitter) + detour;
                    self.wire.insert((arrival, self.sent), (id, out.to, out.mode, out.bytes));
                }
            }
            claims.extend(player.session.witness(now).poll_claim().map(|claim| (id, claim)));
        }
        for (by, (term, candidate)) in claims {
            self.claim(by, term, candidate);
        }
    }

    fn claim(&mut self, by: PeerId, term: Term, candidate: PeerId) {
        let is_gone = !self.players.contains_key(&self.warrant.host) || by == self.warrant.host;
        let is_up = self.players.contains_key(&candidate);
        if term != self.warrant.term.next_witnessed() || !is_gone || !is_up {
            return;
        }
        self.warrant = self.signatory.warrant(self.warrant.session, term, candidate);
        for player in self.players.values_mut() {
            player.session.witness(self.now).handle_warrant(&self.warrant);
        }
    }

    pub(crate) fn run(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        while self.now < end {
            self.step();
        }
    }

    /// Runs until `holds` is true; panics after `ms`. Returns how long it took, in milliseconds.
    pub(crate) fn run_until(&mut self, what: &str, ms: u64, holds: impl Fn(&Self) -> bool) -> u64 {
        let start = self.now;
        while !holds(self) {
            self.step();
            assert!(self.now.since(start) < Duration::from_millis(ms), "in {ms} ms not: {what}");
        }
        self.now.since(start).as_micros() / 1_000
    }

    pub(crate) fn peer(&mut self, id: PeerId) -> &mut Player {
        self.players.get_mut(&id).unwrap()
    }

    pub(crate) fn host(&self) -> &Player {
        &self.players[&self.warrant.host]
    }

    pub(crate) fn key(&self, id: PeerId) -> PlayerKey {
        self.players[&id].duel.player(&self.players[&id].session).unwrap()
    }

    /// Makes all members play like robots.
    pub(crate) fn all_play(&mut self) {
        let seed = self.dice.number();
        for (index, player) in (0..).zip(self.players.values_mut()) {
            player.hands = Hands::Program(Box::new(Robot::new(seed ^ index)));
        }
    }

    pub(crate) fn play_for_bowls(&mut self, peer: PeerId) {
        self.peer(peer).hands = Hands::ForBowls;
    }

    pub(crate) fn all_rest(&mut self) {
        self.players.values_mut().for_each(|player| player.hands = Hands::Idle);
    }

    /// Checks that all members come to have the same scores, every row has one teapot everywhere, and no hit counted
    /// twice.
    pub(crate) fn assert_agreed(&mut self) {
        // Robots never rest, so the news of their latest hit may be on its way.
        self.run_until("the same scores everywhere", 1_000, |world| {
            let mut boards = world.players.values().map(|player| player.duel.scoreboard());
            let first = boards.next();
            boards.all(|board| Some(board) == first)
        });
        let host = self.host();
        let away: Vec<_> =
            host.duel.standings(&host.session).into_iter().filter(|line| line.is_away).collect();
        for (id, player) in &self.players {
            assert!(player.session.is_member(), "{id} is no member: {:?}", player.ended);
            assert_eq!(player.session.host(), self.warrant.host);
            let drivers = player.drivers();
            let mut single = drivers.clone();
            single.dedup();
            assert_eq!(drivers, single, "one teapot each at {id}");
            // A player that left before it had a teapot has a row and no teapot.
            let is_unseen =
                |key: &PlayerKey| away.iter().any(|line| line.player == *key) && !drivers.contains(key);
            let rows = player.duel.scoreboard().rows().map(|row| row.player);
            let mut rows: Vec<_> = rows.filter(|key| !is_unseen(key)).collect();
            rows.sort();
            assert_eq!(drivers, rows, "a teapot and a row each at {id}");
        }
        self.assert_no_cube_scored_twice();
    }

    /// Checks that no two peers saw different hits of one cube, and that no peer counts more points than cubes
    /// scored.
    pub(crate) fn assert_no_cube_scored_twice(&self) {
        let mut all = BTreeMap::new();
        for (shot, hit) in self.players.values().flat_map(|player| &player.hits) {
            assert_eq!(all.entry(*shot).or_insert(*hit), hit, "{shot:?} hit twice");
        }
        for player in self.players.values() {
            let points = total(player.duel.scoreboard());
            let scored = self.scored.len();
            assert!(points <= scored as u32, "{points} points for {scored} cubes");
        }
    }
}

/// All points on a scoreboard.
pub(crate) fn total(board: &Scoreboard) -> u32 {
    board.rows().map(|row| u32::from(row.score)).sum()
}

impl Player {
    fn drain_events(&mut self, now: Time) {
        while let Some(event) = self.session.poll_event() {
            self.duel.on_event(now, &self.session, &event);
            match event {
                Event::LinkClosed { peer, code } => self.closed.push((peer, code)),
                Event::Accepted { .. } => self.accepted += 1,
                Event::Ended(_) => self.ended = Some(event),
                Event::HostChanged(migration) => self.causes.push(migration.cause),
                Event::Message { delivery, bytes, .. } => {
                    self.words.push((delivery, Word::decode(&bytes).unwrap()));
                }
                _ => {}
            }
        }
    }

    fn draw(&mut self, now: Time) {
        if now < self.next_frame {
            return;
        }
        self.next_frame += self.frame;
        let controls = self.controls(now);
        self.duel.step(now, &mut self.session, controls);
        while let Some(event) = self.duel.poll_event() {
            self.feed.push(event);
        }
        let scene = self.duel.scene(now, &self.session);
        assert!(scene.teapots.iter().all(|teapot| teapot.motion.position.iter().all(|x| x.is_finite())));
        for row in self.duel.scoreboard().rows() {
            if let Some(strike) = row.struck {
                self.hits.insert(strike.shot, (row.player, strike.at));
            }
        }
    }

    fn controls(&mut self, now: Time) -> Controls {
        match &mut self.hands {
            Hands::Idle => Controls::default(),
            Hands::Held(controls) => *controls,
            Hands::ForBowls => {
                let scene = self.duel.scene(now, &self.session);
                let own = scene.teapots.iter().find(|teapot| teapot.is_me);
                let (Some(own), Some(bowl)) = (own, self.duel.bowl(scene.time)) else {
                    return Controls::default();
                };
                let from = own.motion.position;
                let is_clear = TEA_TABLE.is_line_clear(from, bowl, 1.0, 0.1);
                let round = if is_clear { 0.0 } else { 1.2 };
                let off = wrap_angle(heading_of(sub(bowl, from)) + round - own.motion.heading);
                let throttle = if off.abs() < 0.5 { 1.0 } else { 0.1 };
                Controls { throttle, turn: (4.0 * off - 0.4 * own.motion.spin).clamp(-1.0, 1.0), fire: false }
            }
            Hands::Against(index) => {
                let scene = self.duel.scene(now, &self.session);
                let own = scene.teapots.iter().find(|teapot| teapot.is_me);
                let (Some(own), Some(thing)) = (own, scene.obstacles.get(*index)) else {
                    return Controls::default();
                };
                let off = wrap_angle(heading_of(sub(thing.centre, own.motion.position)) - own.motion.heading);
                let throttle = if off.abs() < 0.4 { 1.0 } else { 0.0 };
                Controls { throttle, turn: (4.0 * off - 0.4 * own.motion.spin).clamp(-1.0, 1.0), fire: false }
            }
            Hands::Program(mind) => self.duel.steer(now, &self.session, mind),
            Hands::OneShotAt(quarry) => {
                let scene = self.duel.scene(now, &self.session);
                let own = scene.teapots.iter().find(|teapot| teapot.is_me);
                let other = scene.teapots.iter().find(|teapot| teapot.player == *quarry);
                let (Some(own), Some(other)) = (own, other) else { return Controls::default() };
                let (from, to) = (own.motion.position, other.motion.position);
                let is_clear = TEA_TABLE.is_line_clear(from, to, 0.5, 0.5);
                let is_far = distance(from, to) > 9.0 || !is_clear;
                // If an obstacle is in the way, steer round it.
                let round = if is_clear { 0.0 } else { 0.9 };
                let off = wrap_angle(heading_of(sub(to, from)) + round - own.motion.heading);
                let is_still = own.motion.velocity[0].hypot(own.motion.velocity[1]) < 0.1;
                let fire = !is_far && is_still && off.abs() < 0.02;
                if fire {
                    self.hands = Hands::Idle;
                }
                let throttle = if is_far && off.abs() < 0.3 { 1.0 } else { 0.0 };
                Controls { throttle, turn: (4.0 * off - 0.4 * own.motion.spin).clamp(-1.0, 1.0), fire }
            }
        }
    }

    /// The players of all teapot objects, sorted; a player with two teapots appears twice.
    pub(crate) fn drivers(&self) -> Vec<PlayerKey> {
        let teapots = self.session.objects().filter(|object| object.traits().kind == TEAPOT);
        let drivers = teapots.filter_map(|object| Identity::decode(object.field(IDENTITY)).ok());
        let mut drivers: Vec<_> = drivers.map(|identity| identity.driver).collect();
        drivers.sort();
        drivers
    }

    /// The view of a player's teapot on this peer's screen.
    pub(crate) fn teapot(&self, now: Time, player: PlayerKey) -> Option<TeapotView> {
        let scene = self.duel.scene(now, &self.session);
        scene.teapots.into_iter().find(|teapot| teapot.player == player)
    }

    pub(crate) fn teapot_object(&self, player: PlayerKey) -> Option<ObjectId> {
        let teapots = self.session.objects().filter(|object| object.traits().kind == TEAPOT);
        let mut own = teapots.filter(|object| {
            Identity::decode(object.field(IDENTITY)).is_ok_and(|identity| identity.driver == player)
        });
        own.next().map(samovar_session::Object::id)
    }

    pub(crate) fn count(&self, is_it: impl Fn(&DuelEvent) -> bool) -> usize {
        self.feed.iter().filter(|event| is_it(event)).count()
    }
}
