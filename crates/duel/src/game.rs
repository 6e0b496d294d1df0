//! The duel played over a session: one [`Duel`] per peer, beside its [`Session`].
//!
//! The duel turns the rules into replicated objects and back. Each member drives its own teapot and fires its own
//! cubes, and its share of the robots. The host decides about the hits that shooters claim, and keeps the scoreboard.
//! All peers draw the same. The duel does no I/O: its driver calls [`Duel::step`] once a frame at any rate,
//! [`Duel::on_event`] for every event of the session, [`Duel::poll_event`] for sounds and the feed, and
//! [`Duel::scene`] to draw.
//!
//! The duel keeps almost no state of its own that another peer would need: the players and hits are on the
//! scoreboard, and all places are in the teapots' objects. So a new host continues with the objects it finds, creates
//! missing ones and destroys duplicates.
//!
//! Invariants:
//! - No peer speaks for others: an object whose owner may not speak for the player it names is neither drawn nor
//!   counted ([`TEAPOT`], [`CUBE`]), and only the host writes the scoreboard. It names the robots' teapots and the
//!   things ([`THING`]); what it does not name is ignored.
//! - Every feed shows a shot before its hit, all members agree who had the bowl first, and all see the same matches
//!   in the same order ([`Word`]).
//! - No cube scores twice, not even across a change of host: the row of the struck player names the cube (see
//!   [`Scoreboard::hit_by`]), and each peer remembers the cubes that scored for longer than they can be claimed.
//! - Bytes that cannot be read change nothing. Memory is bounded by the session's objects and seats.
//!
//! ```
//! use samovar_duel::game::{Duel, DuelConfig, params};
//! use samovar_duel::teapot::Controls;
//! use samovar_session::Session;
//! use samovar_wire::Time;
//!
//! fn frame(now: Time, session: &mut Session, duel: &mut Duel, controls: Controls) {
//!     while let Some(event) = session.poll_event() {
//!         duel.on_event(now, session, &event);
//!     }
//!     duel.step(now, session, controls);
//!     while let Some(_event) = duel.poll_event() { /* sounds, the feed */ }
//!     let _scene = duel.scene(now, session); /* draw it */
//! }
//! let duel = Duel::new(DuelConfig { seed: 7, robots: 1, is_resuming: false, ..DuelConfig::default() });
//! assert_eq!(duel.score(samovar_duel::player::PlayerKey::Seat(1)), None);
//! assert_ne!(params(), 0);
//! ```

mod board;
mod bowls;
mod cubes;
mod event;
mod history;
mod host;
mod kinds;
mod matches;
mod pilot;
mod props;
mod robots;
mod scene;
mod talk;
mod teapots;

use samovar_session::objects::Focus;
use samovar_session::{Delivery, Departure, Event, Outcome, Session, ShownAges};
use samovar_wire::{Duration, PeerId, SortedSet, Term, Time};

use self::board::Board;
use self::bowls::Bowls;
use self::cubes::{Cubes, Scenery};
use self::event::Feed;
use self::history::History;
use self::host::Reign;
use self::kinds::{CUBE_TRAITS, seat_number};
use self::matches::Told;
use self::pilot::{Pilot, Stretch};
use self::props::Props;
use self::robots::Robots;
use self::talk::Talk;
use self::teapots::{Seen, Teapots};
use crate::arena::Table;
use crate::bowl::Grab;
use crate::course::Stakes;
use crate::cube::Launch;
use crate::phase::Phase;
use crate::plane::Vec2;
use crate::player::{PlayerKey, PlayerName};
use crate::push::Pusher;
use crate::robot::{Robot, Sight};
use crate::scores::Scoreboard;
use crate::state::Identity;
use crate::teapot::Controls;
use crate::word::Word;

pub use self::event::DuelEvent;
pub use self::kinds::{
    CUBE, SCOREBOARD, TEAPOT, attributes, glaze_of, is_program, is_spectator, kind_name, kinematics, params,
    rules, schemas,
};
pub use self::props::THING;
pub use self::robots::ROBOTS_MAX;
pub use self::scene::{CubeView, Scene, Standing, TeapotView};

/// How long a newcomer waits to hear of the others' teapots before it picks its place.
const LISTENING: Duration = Duration::from_millis(300);

/// How long a member that showed a ticket waits for its old teapot to appear.
const MISSING: Duration = Duration::from_millis(1_500);

/// How long a member waits to be granted its own teapot, if that exists already.
const FORSAKEN: Duration = Duration::from_millis(5_000);

/// A peer's configuration of the duel. Its name and colour are the session's (see [`attributes`]).
#[derive(Clone, Copy, Debug, Default)]
pub struct DuelConfig {
    /// Seed of the random choices of the robots that this peer drives; any number.
    pub seed: u64,
    /// The number of robots in a duel that this peer founds, at most [`ROBOTS_MAX`]; otherwise of no effect.
    pub robots: u8,
    /// Whether this peer shows a ticket. If so, it waits a little for its old teapot before it makes a new one.
    pub is_resuming: bool,
    /// The stakes of a duel that this peer founds; otherwise of no effect.
    pub stakes: Stakes,
}

/// One peer's part in the duel.
#[derive(Debug)]
pub struct Duel {
    config: DuelConfig,
    /// Local time of the first step as a member.
    joined: Option<Time>,
    /// Local time of the latest step.
    stepped: Time,
    /// Session time of the latest step, in microseconds.
    time: u64,
    teapots: Teapots,
    cubes: Cubes,
    board: Board,
    /// Whether the scoreboard was kept from an earlier session.
    is_anew: bool,
    /// Drives this player's own teapot; `None` until that teapot exists.
    pilot: Option<Pilot>,
    props: Props,
    robots: Robots,
    /// The host's state, while this peer hosts.
    reign: Option<Reign>,
    /// The teapots that count, one for each player, as of the latest step.
    picture: Vec<Seen>,
    history: History,
    /// Players who were off the table at the latest step.
    out: SortedSet<PlayerKey>,
    talk: Talk,
    bowls: Bowls,
    told: Told,
    feed: Feed,
}

/// The time of one step.
#[derive(Clone, Copy, Debug)]
struct Tick {
    /// Local time.
    now: Time,
    /// Session time, in microseconds.
    time: u64,
    /// Local time since the last step, in microseconds. Unlike session time, it advances evenly.
    elapsed: u64,
}

impl Duel {
    /// A duel that has not begun.
    pub fn new(config: DuelConfig) -> Self {
        Self {
            config,
            joined: None,
            stepped: Time::ZERO,
            time: 0,
            teapots: Teapots::default(),
            cubes: Cubes::default(),
            board: Board::default(),
            is_anew: false,
            pilot: None,
            props: Props::default(),
            robots: Robots::default(),
            reign: None,
            picture: Vec::new(),
            history: History::default(),
            out: SortedSet::new(),
            talk: Talk::default(),
            bowls: Bowls::default(),
            told: Told::default(),
            feed: Feed::default(),
        }
    }

    /// A duel that continues with the scoreboard of an earlier session, if this peer founds the duel anew.
    #[must_use]
    pub fn with_scoreboard(mut self, scoreboard: Scoreboard) -> Self {
        self.board.rows = scoreboard;
        self.is_anew = true;
        self
    }

    /// Advances the duel to `now`, in local time: reads changes, drives, fires, publishes, and decides if this peer
    /// is the host. Call it once a frame, at any rate. It does nothing while this peer is no member.
    pub fn step(&mut self, now: Time, session: &mut Session, controls: Controls) {
        session.stepped(now);
        let Some(me) = self.player(session) else { return };
        let tick = self.tick(now, session);
        session.ownership(now).set_balancing(true);
        self.board.read(session);
        self.talk.refresh(session, &self.board.rows.robots, tick.time);
        self.props.refresh(session, &self.board.rows, tick.time);
        self.follow_match(tick);
        self.follow_bowl();
        let (pilot, robots, ground) = (&self.pilot, &self.robots, self.props.ground());
        let is_driven = |id| pilot.as_ref().is_some_and(|pilot| pilot.object == id) || robots.drives(id);
        let around = (tick.time, &ground.arena(), &self.board.rows.robots);
        self.teapots.refresh(session, around, &is_driven);
        self.picture = self.teapots.picture(session, &self.board.rows, tick.time);
        self.history.note(tick.time, &self.picture);
        self.keep_reign(tick, session);
        self.keep_house(tick, session);
        self.drive_own(tick, session, me, controls);
        self.look_around(session);
        self.drive_robots(tick, session);
        self.push_things(tick, session);
        let ground = self.props.ground();
        let (seen, board) = (&*self.picture, &self.board.rows);
        let scenery = Scenery { time: tick.time, seen, board, arena: ground.arena() };
        self.cubes.refresh(session, &self.talk, scenery);
        self.cubes.sweep(scenery, &mut self.feed);
        // If too many inputs are on their way, the next step claims the hit.
        self.cubes.claim_hits(|hit| session.submit(now, &hit.encode()).ok());
        self.decide(tick, session);
        self.announce_hits(tick, session);
        self.cubes.tidy(tick.now, session, tick.time);
        self.talk.flush(session);
        self.announce_returns();
    }

    /// Handles an event of the session. Pass every event, before the next step.
    pub fn on_event(&mut self, now: Time, session: &Session, event: &Event) {
        match event {
            Event::MemberJoined { member, .. } | Event::MemberLeft { member, .. }
                if is_spectator(member.attributes) => {}
            // Until this peer has joined, this event is about a member that was here before. The feed leaves it out.
            Event::MemberJoined { member, resumed } if self.joined.is_some() => {
                let (player, name) = (PlayerKey::Seat(member.seat.0), PlayerName::new(&member.name));
                self.feed.push(DuelEvent::PlayerCame { player, name, is_back: *resumed });
            }
            Event::MemberLeft { departure: Departure::Replaced, .. } => {}
            Event::MemberLeft { member, departure } => {
                let (player, name) = (PlayerKey::Seat(member.seat.0), PlayerName::new(&member.name));
                self.feed.push(DuelEvent::PlayerWent { player, name, departure: *departure });
            }
            Event::HostChanged(migration) if migration.to == session.me() => {
                self.reign = Some(Reign::new(self.stepped));
            }
            Event::Input { seat, number, bytes } => {
                let reign = self.reign.get_or_insert_with(|| Reign::new(now));
                reign.keep(session.session_time(now).as_micros(), seat.0, *number, bytes);
            }
            Event::Ownership { id, outcome: Outcome::Denied(_), .. } => {
                self.props.on_denied(*id, session.session_time(now).as_micros());
            }
            Event::Accepted { number } => {
                self.cubes.on_accepted(*number, session.session_time(now).as_micros());
            }
            Event::Message { from, delivery, bytes } => {
                if let Ok(word) = Word::decode(bytes) {
                    self.on_word(now, session, (*from, *delivery), word);
                }
            }
            Event::Late { from, time, bytes } => {
                if let Ok(word) = Word::decode(bytes) {
                    self.on_word(now, session, (*from, Delivery::Timestamp(*time)), word);
                }
            }
            _ => {}
        }
    }

    /// The next event for the feed and for sounds.
    pub fn poll_event(&mut self) -> Option<DuelEvent> {
        self.feed.pop()
    }

    /// This peer's player; `None` while it is no member.
    pub fn player(&self, session: &Session) -> Option<PlayerKey> {
        let seat = session.seat().filter(|_| session.is_member())?;
        Some(PlayerKey::Seat(seat.0))
    }

    /// A player's points; `None` when it has no row.
    pub fn score(&self, player: PlayerKey) -> Option<u16> {
        self.board.rows.row(player).map(|row| row.score)
    }

    /// The ages of the states of others' teapots at this peer.
    pub const fn ages(&self) -> &ShownAges {
        &self.teapots.ages
    }

    /// The scoreboard as this peer knows it.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.board.rows
    }

    /// The number, name and points of each robot, sorted by number.
    pub fn robots(&self) -> Vec<(u8, PlayerName, u16)> {
        let rows = self.board.rows.rows().filter_map(|row| match row.player {
            PlayerKey::Robot(number) => Some((number, row.name.clone(), row.score)),
            PlayerKey::Seat(_) => None,
        });
        let mut robots: Vec<_> = rows.collect();
        samovar_wire::sorted::sort_by_key(&mut robots, |&(number, ..)| number);
        robots
    }

    /// The member that drives a robot.
    pub fn driver_of(&self, session: &Session, robot: u8) -> Option<PeerId> {
        teapots::driver_of(session, &self.board.rows.robots, robot)
    }

    /// The controls that `mind` chooses in this player's place. Pass them to [`Duel::step`].
    pub fn steer(&self, now: Time, session: &Session, mind: &mut Robot) -> Controls {
        let own = self.player(session).and_then(|me| self.picture.iter().find(|seen| seen.player == me));
        let Some(own) = own.filter(|own| own.is_in_play()) else { return Controls::default() };
        let (now, rivals) = (session.session_time(now).as_micros(), self.rivals(own.player));
        let (treat, ground) = (self.bowl(now), self.props.ground());
        mind.drive(&Sight { now, own: own.motion, rivals: &rivals, treat, arena: &ground.arena() })
    }

    /// The table on which the duel is played, as far as this peer knows.
    fn table(&self) -> Table {
        self.board.rows.course.stakes.table
    }

    fn tick(&mut self, now: Time, session: &Session) -> Tick {
        if self.joined.is_none() {
            self.joined = Some(now);
            self.stepped = now;
        }
        let elapsed = now.since(self.stepped).as_micros();
        self.stepped = self.stepped.max(now);
        self.time = session.session_time(now).as_micros();
        Tick { now, time: self.time, elapsed }
    }

    /// Begins this peer's reign when it becomes the host, and ends the reign when it no longer is the host.
    fn keep_reign(&mut self, tick: Tick, session: &Session) {
        // A host that is suspended keeps what waits for it.
        if session.host() != session.me() {
            self.reign = None;
        } else if self.reign.is_none() {
            self.reign = Some(Reign::new(tick.now));
        }
    }

    /// Finds this player's own teapot, waits for it, or puts it on the table; then drives it.
    fn drive_own(&mut self, tick: Tick, session: &mut Session, me: PlayerKey, controls: Controls) {
        self.find_own(tick, session, me);
        let Some(mut pilot) = self.pilot.take() else { return };
        let (others, ground) = (positions(&self.picture, me), self.props.ground());
        let (phase, arena) = (self.phase(me, tick.time), &ground.arena());
        let stretch = Stretch { elapsed: tick.elapsed, time: tick.time, phase, others: &others, arena };
        let launch = pilot.drive(stretch, controls);
        pilot.publish(tick.now, session, phase);
        self.show(&pilot, tick.time);
        let place = pilot.motion().position;
        self.pilot = Some(pilot);
        if phase.is_on_table() {
            self.touch_bowl(tick, session, me, place);
        }
        if let Some(launch) = launch {
            self.fire(tick, session, launch);
        }
    }

    fn find_own(&mut self, tick: Tick, session: &mut Session, me: PlayerKey) {
        let owned = self.teapots.owned_by(session.me()).filter(|&(_, player)| player == me);
        let mut owned: Vec<_> = owned.map(|(id, _)| id).collect();
        // The teapot with the lowest id stays. The host chooses by the same rule, so both keep the same teapot.
        let kept = owned.drain(..1.min(owned.len())).next();
        for double in owned {
            // This cannot fail: the lines above found only teapots of this peer.
            let _ = session.edit(tick.now).destroy(double);
        }
        if let Some(id) = kept {
            if self.pilot.as_ref().is_none_or(|pilot| pilot.object != id)
                && let Some(track) = self.teapots.track(id)
            {
                self.pilot = Some(Pilot::take_up(id, me, &track.shown, track.is_out));
            }
            return;
        }
        self.pilot = None;
        let waited = tick.now.since(self.joined.unwrap_or(tick.now));
        let patience = if self.teapots.of(me).is_some() {
            FORSAKEN
        } else if self.config.is_resuming {
            MISSING
        } else if session.is_host() && session.term() == Term::FIRST {
            Duration::ZERO
        } else {
            LISTENING
        };
        if waited >= patience && seat_number(session, session.me()).is_some() {
            let (name, glaze) = self.looks_of(session, me);
            let identity = Identity { driver: me, glaze, name };
            let (ground, others) = (self.props.ground(), positions(&self.picture, me));
            self.pilot = Pilot::create(tick.now, session, identity, (&ground.arena(), &others));
        }
    }

    /// A player's phase. A player without a row is alive: it may drive before the host gives it a row, but nothing
    /// counts until then.
    fn phase(&self, player: PlayerKey, time: u64) -> Phase {
        self.board.rows.row(player).map_or(Phase::Alive, |row| row.phase(time))
    }

    /// Shows a teapot of this peer at the place to which its pilot has driven it.
    fn show(&mut self, pilot: &Pilot, time: u64) {
        let motion = pilot.motion();
        self.teapots.show(pilot.object, motion, pilot.is_out);
        let phase = self.phase(pilot.player, time);
        if let Some(seen) = self.picture.iter_mut().find(|seen| seen.id == pilot.object) {
            seen.motion = motion;
            seen.phase = phase;
        }
    }

    /// On a large table, asks for updates about the part around this peer's own teapot. The host decides about the
    /// whole table, its backups may have to, and robots look for rivals everywhere. So these peers are kept up to date
    /// about all of it.
    fn look_around(&self, session: &mut Session) {
        let sight = self.table().sight();
        let me = session.me();
        let sees_all = session.host() == me || session.view().backups().contains(&me);
        let own = self.pilot.as_ref().filter(|_| !sees_all && self.robots.is_empty());
        let focus = own.zip(sight).map(|(pilot, radius)| {
            let [x, y] = pilot.motion().position;
            Focus { center: [x, y, 0.0], radius }
        });
        session.interest().set_focus(focus);
    }

    fn push_things(&mut self, tick: Tick, session: &mut Session) {
        let own = self.pilot.iter().filter_map(Pilot::pusher).chain(self.robots.pushers());
        let own: Vec<_> = own.collect();
        let is_driven =
            |id| self.robots.drives(id) || self.pilot.as_ref().is_some_and(|pilot| pilot.object == id);
        let others = self.picture.iter().filter(|seen| seen.is_in_play() && !is_driven(seen.id));
        let others =
            others.map(|Seen { motion, .. }| Pusher { position: motion.position, velocity: motion.velocity });
        let others: Vec<_> = others.collect();
        self.props.push(tick, session, &self.board.rows, (&own, &others));
    }

    fn fire(&mut self, tick: Tick, session: &mut Session, launch: Launch) {
        // If this peer has too many objects, the teapot does not fire.
        if let Ok(id) = session.edit(tick.now).create(CUBE_TRAITS, &[&launch.encode()]) {
            self.cubes.add_own(id, launch, tick.time, &self.props.ground().arena());
            self.talk.add_fired(&launch);
            self.tell_fired(&launch, tick.time);
        }
    }

    /// Handles a member's message. A message changes nothing if the member may not send it in this order, or if this
    /// peer knows it already.
    fn on_word(&mut self, now: Time, session: &Session, (from, delivery): (PeerId, Delivery), word: Word) {
        let time = session.session_time(now).as_micros();
        match (word, delivery) {
            (Word::Fired(launch), _)
                if self.talk.speaks_for(session, from, launch.shooter)
                    && self.talk.hear_fired(&launch, time) =>
            {
                self.tell_fired(&launch, time);
            }
            (Word::Struck { shot, struck, at }, _)
                if self.talk.is_host(session, from) && self.talk.hear_struck(shot, time) =>
            {
                self.announce_hit(shot.shooter, struck, at);
            }
            (Word::Touched { player, bowl, .. }, Delivery::Timestamp(at))
                if self.talk.speaks_for(session, from, player) =>
            {
                self.on_touch(time, Grab { bowl, player, at: at.as_micros() });
            }
            (word @ (Word::Began { .. } | Word::Ended { .. }), Delivery::Total)
                if self.talk.is_host(session, from) =>
            {
                self.on_match_word(word);
            }
            _ => {}
        }
    }

    fn tell_fired(&mut self, launch: &Launch, time: u64) {
        self.feed.push(DuelEvent::Fired { by: launch.shooter, position: launch.position_at(time) });
    }

    fn announce_hit(&mut self, by: PlayerKey, struck: PlayerKey, at: u64) {
        let seen = self.picture.iter().find(|seen| seen.player == struck);
        let position = seen.map_or([0.0, 0.0], |seen| seen.motion.position);
        self.feed.push(DuelEvent::HitScored { by, struck, at, position });
    }

    /// Announces the players who are back on the table since the last step.
    fn announce_returns(&mut self) {
        for seen in &self.picture {
            if !seen.phase.is_on_table() {
                self.out.insert(seen.player);
            } else if self.out.remove(&seen.player) {
                let position = seen.motion.position;
                self.feed.push(DuelEvent::Respawned { player: seen.player, position });
            }
        }
        let picture = &self.picture;
        self.out.retain(|player| picture.iter().any(|seen| seen.player == *player));
    }
}

/// The positions of the teapots in play, without the teapot of the player `but`.
fn positions(picture: &[Seen], but: PlayerKey) -> Vec<Vec2> {
    let others = picture.iter().filter(|seen| seen.player != but && seen.is_in_play());
    others.map(|seen| seen.motion.position).collect()
}
