//! The host's part of the duel: the scoreboard, and the teapots of absent members.
//!
//! Each step derives all of this anew from the objects and the view, so a new host continues where the former one
//! stopped. The teapots of absent members are ghosts: parked, and drawn but untouchable. When a member comes back,
//! the host grants the member its teapot. When a seat expires, the host removes the seat's teapot.

use samovar_session::{Session, State};
use samovar_wire::view::SeatRecord;
use samovar_wire::{Duration, ObjectId, SortedSet, Term, Time};

use super::board::TakeOver;
use super::kinds::{glaze_of, is_spectator, motion_of};
use super::pilot::refill;
use super::robots::{ROBOTS_MAX, robot_identity};
use super::teapots::Seen;
use super::{Duel, Tick};
use crate::claim::Claim;
use crate::motion::Motion;
use crate::phase::Phase;
use crate::player::{Glaze, PlayerKey, PlayerName};
use crate::robot::Rival;
use crate::scores::Strike;
use crate::state::{Identity, PHASE};
use crate::teapot::BODY_RADIUS;
use crate::word::Word;

/// How long a new host waits before it makes missing objects: other members may still report objects of its
/// predecessor that it has not seen.
const SETTLING: Duration = Duration::from_millis(1_500);

/// How long the host waits for the message about a shot before it announces the hit of that shot, in microseconds.
const SHOT_AWAITED: u64 = 5_000_000;

/// How long a claim waits for its cube, which has its own way to the host, and for the sight of the teapot, in
/// microseconds: on a large table a new host first asks for updates about all of it.
const SIGHT_AWAITED: u64 = 1_000_000;

/// A teapot that a new host did not see is taken to have driven on for at most this long, in microseconds.
const UNSEEN_MAX: u64 = 1_200_000;

/// The state that a peer keeps for the duel while it hosts.
#[derive(Debug)]
pub(super) struct Reign {
    since: Time,
    /// The inputs that this host has not dealt with yet.
    inputs: Vec<Waiting>,
}

/// An input that a host has not dealt with.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    seat: u16,
    number: u64,
    heard_at: u64,
    /// The claim in it; `None` for nonsense.
    claim: Option<Claim>,
}

impl Reign {
    pub(super) fn new(now: Time) -> Self {
        Self { since: now, inputs: Vec::new() }
    }

    /// Keeps an input that came at the session time `heard_at`, until this host can deal with it. The session bounds
    /// their number.
    pub(super) fn keep(&mut self, heard_at: u64, seat: u16, number: u64, bytes: &[u8]) {
        self.inputs.push(Waiting { seat, number, heard_at, claim: Claim::decode(bytes).ok() });
    }
}

/// The name and colour that a member brought.
pub(super) fn looks(record: &SeatRecord) -> (PlayerName, Glaze) {
    (PlayerName::new(&record.name), glaze_of(record.attributes))
}

/// Whether a seat belongs to a player, not to a spectator.
fn plays(record: &SeatRecord) -> bool {
    !is_spectator(record.attributes)
}

/// The number of a robot to which this teapot claims to belong.
fn inherited_robot((id, player): (ObjectId, PlayerKey)) -> Option<(u8, ObjectId)> {
    match player {
        PlayerKey::Robot(number) if number < ROBOTS_MAX => Some((number, id)),
        _ => None,
    }
}

impl Duel {
    /// Does the host's work in one step.
    pub(super) fn keep_house(&mut self, tick: Tick, session: &mut Session) {
        let Some(reign) = self.reign.as_ref().filter(|_| session.is_host()) else { return };
        let is_founder = session.term() == Term::FIRST;
        let is_settled = is_founder || tick.now.since(reign.since) >= SETTLING;
        match self.board.take_over(tick.now, session) {
            TakeOver::Done => {}
            TakeOver::NoneFound if is_settled => self.begin_board(tick, session, is_founder && !self.is_anew),
            TakeOver::NoneFound | TakeOver::Waiting => return,
        }
        if self.board.is_written_here() {
            self.keep_rows(session);
            self.lay_table(tick, session, is_settled);
            self.keep_robots(tick, session, is_settled);
            self.keep_absent(tick, session);
        }
    }

    /// Creates the scoreboard. A founder begins with the robots of its configuration, any other host with the robots
    /// that it has inherited.
    fn begin_board(&mut self, tick: Tick, session: &mut Session, is_founder: bool) {
        let inherited: Vec<_> = self.teapots.owned_by(session.me()).filter_map(inherited_robot).collect();
        for &(number, id) in inherited.iter().filter(|_| !is_founder) {
            if self.board.rows.robots.get(number).is_none() {
                self.board.rows.robots.set(number, id);
            }
        }
        let inherited = inherited.into_iter().map(|(number, _)| number);
        let robots: Vec<u8> =
            if is_founder { (0..self.config.robots.min(ROBOTS_MAX)).collect() } else { inherited.collect() };
        for number in robots {
            let Identity { driver, glaze, name } = robot_identity(number);
            let glaze = self.board.rows.glaze_for(driver, glaze);
            // If no row is free, the robot does not play.
            let _ = self.board.rows.join(driver, name, glaze);
        }
        if is_founder {
            self.board.rows.course.stakes = self.config.stakes;
        }
        self.board.create(tick.now, session);
    }

    /// Gives a row to every member that plays, and removes the rows of seats that are given up.
    fn keep_rows(&mut self, session: &Session) {
        let rows = &mut self.board.rows;
        let is_seat =
            |number: u16| session.view().seats().any(|record| record.seat.0 == number && plays(record));
        let given_up = |player| matches!(player, PlayerKey::Seat(number) if !is_seat(number));
        let gone: Vec<_> = rows.rows().map(|row| row.player).filter(|&player| given_up(player)).collect();
        for player in gone {
            rows.leave(player);
        }
        for member in session.view().members().filter(|member| plays(member.record)) {
            let player = PlayerKey::Seat(member.record.seat.0);
            let (name, glaze) = looks(member.record);
            let glaze = rows.glaze_for(player, glaze);
            if rows.row(player).is_some_and(|row| row.name == name && row.glaze == glaze) {
                continue;
            }
            if rows.join(player, name.clone(), glaze).is_err() {
                // If all rows are taken, the player who has been away longest gives up its row, or else the last
                // robot does.
                let away = session.view().seats().filter(|record| record.peer.is_none());
                let away = away.filter(|record| rows.row(PlayerKey::Seat(record.seat.0)).is_some());
                let longest =
                    away.min_by_key(|record| record.since).map(|record| PlayerKey::Seat(record.seat.0));
                let robots = rows.rows().map(|row| row.player);
                let last = robots.filter(|player| matches!(player, PlayerKey::Robot(_))).max();
                if let Some(player) = longest.or(last) {
                    rows.leave(player);
                }
                // With more members than rows, some only watch.
                let _ = rows.join(player, name, glaze);
            }
        }
    }

    /// Grants back, parks or removes the teapots that the host keeps for others.
    fn keep_absent(&self, tick: Tick, session: &mut Session) {
        let me = session.me();
        for id in self.picture.iter().filter(|seen| seen.is_ghost).map(|seen| seen.id) {
            // If a former host that is still a member owns this ghost, this peer grants the ghost to itself. A dead
            // host's objects come to the new host without a grant.
            let owner = session.object(id).map(samovar_session::Object::owner);
            let is_kept = owner.is_some_and(|owner| owner != me && session.view().has(owner));
            if is_kept && session.granted_to(id).is_none() {
                let _ = session.edit(tick.now).grant(id, me);
            }
        }
        let own_seat = session.seat().map(|seat| seat.0);
        for (id, player) in self.teapots.owned_by(me) {
            let PlayerKey::Seat(number) = player else { continue };
            if Some(number) == own_seat || session.granted_to(id).is_some() {
                continue;
            }
            let counts = self.teapots.of(player).is_some_and(|(chosen, _)| chosen == id);
            let record = session.view().seats().find(|record| record.seat.0 == number && plays(record));
            match record.map(|record| record.peer) {
                Some(Some(peer)) if counts => {
                    // Without a link to the peer this fails; the next step tries again.
                    let _ = session.edit(tick.now).grant(id, peer);
                }
                Some(None) if counts => self.park(tick, session, id),
                // The teapot goes if its seat is given up or a spectator's, or if another teapot of the same player
                // counts.
                _ => {
                    let _ = session.edit(tick.now).destroy(id);
                }
            }
        }
    }

    /// Stops the teapot of an absent player, at the place where it is shown.
    fn park(&self, tick: Tick, session: &mut Session, id: ObjectId) {
        let Some(track) = self.teapots.track(id) else { return };
        let Some(object) = session.object(id) else { return };
        if motion_of(object).is_some_and(|motion| motion.velocity == [0.0, 0.0] && motion.spin == 0.0) {
            return;
        }
        let position = self.props.ground().arena().push_out(track.shown.position, BODY_RADIUS);
        let parked = Motion { position, velocity: [0.0, 0.0], spin: 0.0, ..track.shown };
        let mut state = State::default();
        refill(&mut state, object, &parked, object.field(PHASE));
        let _ = session.edit(tick.now).set_state(id, &state);
    }

    /// The teapots in play, without that of the player `but`, as a robot sees them.
    pub(super) fn rivals(&self, but: PlayerKey) -> Vec<Rival> {
        let others = self.picture.iter().filter(|seen| seen.player != but && seen.is_in_play());
        let points = |player| self.board.rows.row(player).map_or(0, |row| row.score);
        let behind = |player| match player {
            PlayerKey::Seat(_) => points(but).saturating_sub(points(player)),
            PlayerKey::Robot(_) => 0,
        };
        others
            .map(|seen| Rival {
                player: seen.player,
                motion: seen.motion,
                is_vulnerable: seen.phase == Phase::Alive,
                behind: behind(seen.player),
            })
            .collect()
    }

    /// Decides the hits that were claimed, decides about bowls and matches, and publishes the scores.
    pub(super) fn decide(&mut self, tick: Tick, session: &mut Session) {
        if !session.is_host() || !self.board.is_written_here() {
            return;
        }
        let Some(reign) = self.reign.as_mut() else { return };
        let inputs = std::mem::take(&mut reign.inputs);
        let mut waiting = Vec::new();
        // The inputs of a seat are dealt with in order. So those behind one that waits for its cube wait, too.
        let mut held = SortedSet::new();
        for input in inputs {
            let lacks = |claim: Claim| !self.cubes.knows(claim.shot) || is_far(&self.picture, claim.struck);
            let waits =
                input.claim.is_some_and(lacks) && tick.time < input.heard_at.saturating_add(SIGHT_AWAITED);
            if waits || held.contains(&input.seat) {
                held.insert(input.seat);
                waiting.push(input);
            } else if self.board.rows.counted.note(input.seat, input.number)
                && let Some(claim) = input.claim
                && self.talk.fires_from(input.seat, claim.shot.shooter)
                && self.is_credible(&claim, tick.time)
                && self.board.rows.record_hit(claim.shot, claim.struck, claim.at)
            {
                self.cubes.spend(claim.shot);
            }
        }
        if let Some(reign) = &mut self.reign {
            reign.inputs = waiting;
        }
        self.keep_bowl(tick);
        self.keep_match(tick, session);
        self.board.write(tick.now, session);
    }

    /// Whether a claim agrees with what this host has seen: the cube, and the teapot at about that time.
    fn is_credible(&self, claim: &Claim, time: u64) -> bool {
        // A new host may not have seen the teapot then. It goes by where the teapot is now.
        let now = || self.picture.iter().find(|seen| seen.player == claim.struck && seen.is_in_play());
        let seen = self.history.near(claim.struck, claim.at).or_else(|| {
            let is_new = self.reign.as_ref().is_some_and(|reign| self.stepped.since(reign.since) < SETTLING);
            let place = now().filter(|_| is_new)?.motion.position;
            Some((place, time.abs_diff(claim.at).min(UNSEEN_MAX)))
        });
        let launch = self.cubes.unspent(claim.shot);
        claim.is_timely(time)
            && launch.zip(seen).is_some_and(|(launch, (place, gap))| claim.is_possible(launch, place, gap))
    }

    /// Announces the hits on the scoreboard that were not announced yet. A predecessor's hits are among them: all
    /// remaining members have received the same messages, so all know the same announcements. A hit is announced
    /// after its shot, so that no peer hears of the hit first.
    pub(super) fn announce_hits(&mut self, tick: Tick, session: &Session) {
        if !session.is_host() || !self.board.is_written_here() {
            return;
        }
        let since = self.talk.since.unwrap_or(tick.time);
        let strikes = self.board.rows.rows().filter_map(|row| Some((row.player, row.struck?)));
        let strikes: Vec<_> = strikes.filter(|(_, strike)| strike.at >= since).collect();
        for (struck, Strike { shot, at }) in strikes {
            let shooter_is_here = match shot.shooter {
                // This host has announced what it fires itself.
                PlayerKey::Robot(robot) => self
                    .driver_of(session, robot)
                    .is_some_and(|driver| driver != session.me() && session.view().has(driver)),
                PlayerKey::Seat(seat) => session.view().members().any(|member| member.record.seat.0 == seat),
            };
            // Once a player is gone, all members have received its last messages, so the host does not wait for its
            // shot.
            let may_follow = shooter_is_here && tick.time < at.saturating_add(SHOT_AWAITED);
            let waits = may_follow && !self.talk.knows_shot(shot);
            if !waits && !self.talk.knows_hit(shot) && self.talk.hear_struck(shot, tick.time) {
                self.talk.say(&Word::Struck { shot, struck, at });
                self.announce_hit(shot.shooter, struck, at);
            }
        }
    }
}

/// Whether a player's teapot is out of this peer's sight.
fn is_far(seen: &[Seen], player: PlayerKey) -> bool {
    seen.iter().any(|seen| seen.player == player && seen.is_far)
}
