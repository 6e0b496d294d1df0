//! The host's part of the duel: the scoreboard, the robots, and the teapots of absent members.
//!
//! Each step derives all of this anew from the objects and the view, so a new host continues where the former one
//! stopped. The teapots of absent members are ghosts: parked, and drawn but untouchable. When a member comes back,
//! the host grants the member its teapot. When a seat expires, the host removes the seat's teapot.

use samovar_session::{Session, State};
use samovar_wire::view::SeatRecord;
use samovar_wire::{Duration, ObjectId, SortedMap, Term, Time};

use super::board::TakeOver;
use super::kinds::{glaze_of, is_spectator, motion_of};
use super::pilot::{Pilot, Stretch, refill};
use super::{Duel, Tick, positions};
use crate::arena::{SPAWN_POINTS, TEA_TABLE};
use crate::cube::Launch;
use crate::motion::Motion;
use crate::phase::Phase;
use crate::player::{Glaze, PlayerKey, PlayerName};
use crate::robot::{Rival, Robot, Sight, robot_name};
use crate::scores::Strike;
use crate::state::{Identity, PHASE};
use crate::teapot::{BODY_RADIUS, Controls};
use crate::word::Word;

/// The most robots of a duel.
pub const ROBOTS_MAX: u8 = 8;

/// How long a new host waits before it makes missing objects: other members may still report objects of its
/// predecessor that it has not seen.
const SETTLING: Duration = Duration::from_millis(1_500);

/// Robots look and steer at least once in this time, in microseconds, however rarely the host's page steps.
const ROBOT_STRETCH: u64 = 25_000;

/// The longest time that robots catch up on in one step, in microseconds: a hidden page steps once a second.
const ROBOT_ADVANCE_MAX: u64 = 1_200_000;

/// How long the host waits for the message about a shot before it announces the hit of that shot, in microseconds.
const SHOT_AWAITED: u64 = 5_000_000;

/// The state that a peer keeps for the duel while it hosts.
#[derive(Debug)]
pub(super) struct Reign {
    since: Time,
    robots: SortedMap<u8, Driver>,
    /// This host decides hits from this session time on. The former host decided the earlier ones.
    pub(super) hits_from: u64,
}

#[derive(Debug)]
struct Driver {
    pilot: Pilot,
    mind: Robot,
}

impl Reign {
    pub(super) fn new(now: Time, hits_from: u64) -> Self {
        Self { since: now, robots: SortedMap::new(), hits_from }
    }

    pub(super) fn drives(&self, id: ObjectId) -> bool {
        self.robots.values().any(|driver| driver.pilot.object == id)
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

fn robot_identity(number: u8) -> Identity {
    // Robots get colours from the end of the table; people get theirs from its beginning.
    let glaze = Glaze::new(SPAWN_POINTS - 1 - usize::from(number) % SPAWN_POINTS);
    Identity { driver: PlayerKey::Robot(number), glaze, name: robot_name(number) }
}

impl Duel {
    /// Does the host's work in one step.
    pub(super) fn keep_house(&mut self, tick: Tick, session: &mut Session) {
        let Some(reign) = &self.reign else { return };
        let is_founder = session.term() == Term::FIRST;
        let is_settled = is_founder || tick.now.since(reign.since) >= SETTLING;
        match self.board.take_over(tick.now, session) {
            TakeOver::Done => {}
            TakeOver::NoneFound if is_settled => self.begin_board(tick, session, is_founder && !self.is_anew),
            TakeOver::NoneFound | TakeOver::Waiting => return,
        }
        if self.board.is_written_here() {
            self.keep_rows(session);
            self.keep_robots(tick, session, is_settled);
            self.keep_absent(tick, session);
        }
    }

    /// Creates the scoreboard. A founder begins with the robots of its configuration, any other host with the robots
    /// that it has inherited.
    fn begin_board(&mut self, tick: Tick, session: &mut Session, is_founder: bool) {
        let inherited = self.teapots.owned_by(session.me()).filter_map(|(_, player)| match player {
            PlayerKey::Robot(number) if number < ROBOTS_MAX => Some(number),
            _ => None,
        });
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

    /// Gives every robot on the scoreboard a teapot and a mind, and removes the teapots of all other robots.
    fn keep_robots(&mut self, tick: Tick, session: &mut Session, is_settled: bool) {
        let Some(reign) = &mut self.reign else { return };
        let me = session.me();
        let rows: Vec<u8> = self.board.rows.rows().filter_map(|row| robot_number(row.player)).collect();
        for (id, player) in self.teapots.owned_by(me) {
            let Some(number) = robot_number(player) else { continue };
            let counts = self.teapots.of(player).is_some_and(|(chosen, _)| chosen == id);
            if !rows.contains(&number) || !counts {
                // This cannot fail: `owned_by` found only teapots of this peer.
                let _ = session.edit(tick.now).destroy(id);
            }
        }
        reign.robots.retain(|number, _| rows.contains(number));
        for number in rows {
            let player = PlayerKey::Robot(number);
            match self.teapots.of(player) {
                Some((id, track)) if track.owner == me => {
                    if reign.robots.get(&number).is_none_or(|driver| driver.pilot.object != id) {
                        let pilot = Pilot::take_up(id, player, &track.shown, track.is_out);
                        reign
                            .robots
                            .insert(number, Driver { pilot, mind: mind(self.config.seed, session, number) });
                    }
                }
                // A former host, still a member, drives the robot. As the host, this peer grants the teapot to
                // itself.
                Some((id, track)) if session.view().has(track.owner) => {
                    let _ = session.edit(tick.now).grant(id, me);
                }
                // The owner is no longer a member, so the session is about to give the teapot to this host.
                Some(_) => {}
                None if !is_settled => {}
                None => {
                    let others = positions(&self.picture, player);
                    let pilot = Pilot::create(tick.now, session, robot_identity(number), &others);
                    let Some(pilot) = pilot else { continue };
                    reign
                        .robots
                        .insert(number, Driver { pilot, mind: mind(self.config.seed, session, number) });
                }
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
        let position = TEA_TABLE.push_out(track.shown.position, BODY_RADIUS);
        let parked = Motion { position, velocity: [0.0, 0.0], spin: 0.0, ..track.shown };
        let mut state = State::default();
        refill(&mut state, object, &parked, object.field(PHASE));
        let _ = session.edit(tick.now).set_state(id, &state);
    }

    /// Drives all robots, and fires their cubes.
    pub(super) fn drive_robots(&mut self, tick: Tick, session: &mut Session) {
        let Some(mut reign) = self.reign.take() else { return };
        for driver in reign.robots.values_mut() {
            let launches = self.drive_robot(tick, driver);
            driver.pilot.publish(tick.now, session, self.phase(driver.pilot.player, tick.time));
            self.show(&driver.pilot, tick.time);
            if !driver.pilot.is_out {
                self.touch_bowl(tick, session, driver.pilot.player, driver.pilot.motion().position);
            }
            for launch in launches {
                self.fire(tick, session, launch);
            }
        }
        self.reign = Some(reign);
    }

    fn drive_robot(&self, tick: Tick, driver: &mut Driver) -> Vec<Launch> {
        let Driver { pilot, mind } = driver;
        let player = pilot.player;
        let (others, rivals) = (positions(&self.picture, player), self.rivals(player));
        let mut launches = Vec::new();
        let mut left = tick.elapsed.min(ROBOT_ADVANCE_MAX);
        loop {
            let elapsed = left.min(ROBOT_STRETCH);
            left -= elapsed;
            let time = tick.time.saturating_sub(left);
            let phase = self.phase(player, time);
            let controls = if phase.is_on_table() && !pilot.is_out {
                let (own, treat) = (pilot.motion(), self.bowl(time));
                mind.drive(&Sight { now: time, own, rivals: &rivals, treat, arena: &TEA_TABLE })
            } else {
                Controls::default()
            };
            launches.extend(pilot.drive(Stretch { elapsed, time, phase, others: &others }, controls));
            if left == 0 {
                return launches;
            }
        }
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

    /// Decides the hits that the sweeps have found, decides about bowls and matches, and publishes the scores.
    pub(super) fn decide(&mut self, tick: Tick, session: &mut Session) {
        let Some(reign) = self.reign.as_ref().filter(|_| self.board.is_written_here()) else { return };
        for (launch, struck, at) in self.cubes.take_strikes(reign.hits_from) {
            self.board.rows.record_hit(launch.shot(), struck, at);
        }
        self.keep_bowl(tick);
        self.keep_match(tick, session);
        self.board.write(tick.now, session);
    }

    /// Announces the hits on the scoreboard that were not announced yet. A predecessor's hits are among them: all
    /// remaining members have received the same messages, so all know the same announcements. A hit is announced
    /// after its shot, so that no peer hears of the hit first.
    pub(super) fn announce_hits(&mut self, tick: Tick, session: &Session) {
        if self.reign.is_none() || !self.board.is_written_here() {
            return;
        }
        let since = self.talk.since.unwrap_or(tick.time);
        let strikes = self.board.rows.rows().filter_map(|row| Some((row.player, row.struck?)));
        let strikes: Vec<_> = strikes.filter(|(_, strike)| strike.at >= since).collect();
        for (struck, Strike { shot, at }) in strikes {
            let shooter_is_here = match shot.shooter {
                PlayerKey::Robot(_) => false,
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

fn robot_number(player: PlayerKey) -> Option<u8> {
    match player {
        PlayerKey::Robot(number) => Some(number),
        PlayerKey::Seat(_) => None,
    }
}

/// Makes the mind of a robot, with a different seed for each robot and each term.
fn mind(seed: u64, session: &Session, number: u8) -> Robot {
    let whims = session.term().0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ u64::from(number);
    Robot::new(seed.wrapping_add(whims))
}
