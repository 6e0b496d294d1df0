//! A small world in virtual time: mazes over sessions, paths that delay and lose packets, and a relay that signs.

use std::collections::BTreeMap;

use samovar_duel::game::attributes;
use samovar_duel::maze::game::{MazeGame, MazeNews, params, rules, schemas};
use samovar_duel::maze::{Hand, Role};
use samovar_duel::player::Glaze;
use samovar_roster::authority::Signatory;
use samovar_session::{Session, SessionConfig};
use samovar_wire::{Duration, Entropy, Mode, PeerId, SessionId, Term, Time, Warrant};

const STEP: Duration = Duration::from_millis(2);

/// One peer with its page.
pub(crate) struct Player {
    pub(crate) session: Session,
    pub(crate) game: MazeGame,
    pub(crate) hand: Hand,
    pub(crate) news: Vec<MazeNews>,
    /// The checksum of every state that the peer had, by frame.
    pub(crate) checksums: BTreeMap<u64, u64>,
}

/// A packet on its way: sender, receiver, mode, bytes.
type Parcel = (PeerId, PeerId, Mode, Vec<u8>);

pub(crate) struct World {
    now: Time,
    pub(crate) players: BTreeMap<PeerId, Player>,
    signatory: Signatory,
    pub(crate) warrant: Warrant,
    wire: BTreeMap<(Time, u64), Parcel>,
    sent: u64,
    dice: Entropy,
    loss_percent: u64,
    next_peer: u32,
}

impl World {
    /// A world with `members` members that have come one after the other.
    pub(crate) fn new(seed: u8, loss_percent: u64, members: usize) -> Self {
        let signatory = Signatory::new(&[seed; 32]);
        let mut world = Self {
            now: Time::from_micros(1_000_000),
            players: BTreeMap::new(),
            warrant: signatory.warrant(SessionId(7), Term::FIRST, PeerId(100)),
            signatory,
            wire: BTreeMap::new(),
            sent: 0,
            dice: Entropy::new([seed; 32]),
            loss_percent,
            next_peer: 100,
        };
        for _ in 0..members {
            world.join();
            world.run(400);
        }
        world
    }

    pub(crate) fn join(&mut self) -> PeerId {
        let me = PeerId(self.next_peer);
        self.next_peer += 1;
        let config = SessionConfig {
            schemas: schemas(),
            me,
            voucher: None,
            key: self.signatory.key(),
            warrant: self.warrant,
            params: params(),
            name: format!("Peer {}", me.0),
            attributes: attributes(Glaze::default(), false),
            tickets: Vec::new(),
            capacity: 8,
            rules: rules(),
            entropy: self.dice.bytes(),
        };
        let player = Player {
            session: Session::new(self.now, config).expect("the configuration is sound"),
            game: MazeGame::new(self.dice.number()),
            hand: Hand::default(),
            news: Vec::new(),
            checksums: BTreeMap::new(),
        };
        self.players.insert(me, player);
        me
    }

    /// Ends a peer's process. The other peers see that its path is closed.
    pub(crate) fn kill(&mut self, peer: PeerId) {
        self.players.remove(&peer);
        self.players.values_mut().for_each(|player| player.session.path(self.now, peer).handle_closed());
    }

    pub(crate) fn run(&mut self, ms: u64) {
        let end = self.now + Duration::from_millis(ms);
        while self.now < end {
            self.step();
        }
    }

    fn step(&mut self) {
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
            player.play(now, &mut self.dice);
            while let Some(out) = player.session.poll_transmit(now) {
                let lost = out.mode == Mode::Unreliable && self.dice.number() % 100 < self.loss_percent;
                let jitter = if out.mode == Mode::Unreliable { self.dice.number() % 8_000 } else { 8_000 };
                if !lost {
                    self.sent += 1;
                    let arrival = now + Duration::from_micros(25_000 + jitter);
                    self.wire.insert((arrival, self.sent), (id, out.to, out.mode, out.bytes));
                }
            }
            claims.extend(player.session.witness(now).poll_claim().map(|claim| (id, claim)));
        }
        for (by, (term, candidate)) in claims {
            let is_gone = !self.players.contains_key(&self.warrant.host) || by == self.warrant.host;
            let is_up = self.players.contains_key(&candidate);
            if term == self.warrant.term.next_witnessed() && is_gone && is_up {
                self.warrant = self.signatory.warrant(self.warrant.session, term, candidate);
                let (now, warrant) = (self.now, self.warrant);
                for player in self.players.values_mut() {
                    player.session.witness(now).handle_warrant(&warrant);
                }
            }
        }
    }

    /// The teapot of a peer's player.
    pub(crate) fn role(&self, peer: PeerId) -> Option<Role> {
        let player = &self.players[&peer];
        player.game.role(&player.session)
    }

    /// Checks that members had the same state after every frame that they have in common. Returns the number of
    /// frames that all have stepped.
    pub(crate) fn assert_agreed(&self) -> u64 {
        let mut all = BTreeMap::new();
        for (peer, player) in &self.players {
            for (frame, checksum) in &player.checksums {
                assert_eq!(all.entry(*frame).or_insert(*checksum), checksum, "{peer} behind frame {frame}");
            }
        }
        self.players.values().map(|player| player.game.frame()).min().unwrap_or(0)
    }
}

impl Player {
    fn play(&mut self, now: Time, dice: &mut Entropy) {
        while let Some(event) = self.session.poll_event() {
            self.game.on_event(&event);
        }
        if dice.number().is_multiple_of(100) {
            self.hand = Hand::from_byte(dice.number() as u8 & 0x0f);
        }
        self.game.step(now, &mut self.session, self.hand);
        // The newest 20 states are enough. One step adds fewer, except when a log is replayed, and then the other
        // members have noted the older states.
        let newest: Vec<_> = self.game.checksums().collect();
        self.checksums.extend(newest.iter().rev().take(20).copied());
        self.news.extend(std::iter::from_fn(|| self.game.poll_event()));
    }
}
