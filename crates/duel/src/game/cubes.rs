//! The cube objects as this peer sees them: which of them fly, and what each struck.
//!
//! Every peer *sweeps* every cube: in each step it tests the cube's path since the last step for collisions. So a
//! cube ends on each screen where it meets something on that screen. Only the host's sweep counts. Only the owner of
//! a cube, its shooter, destroys it, and not too early: a host that is lost may have told its decision to the shooter
//! alone. So a cube stays until its flight has been over for some time under one host, whatever the scoreboard shows.
//! The next host can then decide about it again.

use samovar_session::Session;
use samovar_wire::sorted::sort_by_key;
use samovar_wire::{ObjectId, SortedMap, Time};

use super::event::{DuelEvent, Feed};
use super::kinds::CUBE;
use super::talk::Talk;
use super::teapots::{Seen, speaks_for};
use crate::arena::Arena;
use crate::cube::{CLOCK_TOLERANCE, COOLDOWN, COOLDOWN_TOLERANCE, LIFETIME, Launch, SPOUT_REACH};
use crate::hits::{Impact, Struck, Sweep, Target};
use crate::phase::OUT_FOR;
use crate::plane::{distance, seconds};
use crate::player::PlayerKey;
use crate::scores::Scoreboard;
use crate::state::LAUNCH;
use crate::teapot::TOP_SPEED;

/// How long a shooter keeps a cube after the end of its flight, and after each change of host, in microseconds.
/// Within this time, even a host that steps once a second and heard of the cube late has swept it. If the host dies,
/// its members miss it within this time, and the session is suspended until it has a new host.
const KEPT_FOR: u64 = 2_000_000;

/// A cube may begin this far from the shooter's teapot, as this peer shows it, plus the distance that the teapot can
/// have driven.
const LAUNCH_TOLERANCE: f32 = 3.0;

/// How long the news of a hit may take to reach the struck player, in microseconds. Until then that player may fire.
const NEWS_TAKES: u64 = 400_000;

/// Impacts longer ago than this, in microseconds, are not announced. This peer finds such old impacts when it has
/// just joined, or slept.
const NEWS_FOR: u64 = 1_000_000;

/// One cube whose field could be read.
#[derive(Debug)]
struct Track {
    launch: Launch,
    /// The session time at which this peer heard of the cube.
    heard_at: u64,
    /// Whether the shot follows the rules and the owner speaks for the shooter.
    is_accepted: bool,
    swept_to: u64,
    impact: Option<Impact>,
    /// Whether the host has decided about the cube.
    is_counted: bool,
    /// The session time at which the flight ends if the cube strikes nothing on the table.
    ends_at: u64,
}

impl Track {
    fn new(launch: Launch, heard_at: u64, arena: &Arena<'_>) -> Self {
        let to = launch.launched_at.saturating_add(LIFETIME);
        let flight = Sweep { launch: &launch, from: launch.launched_at, to };
        // Obstacles can be pushed out of the way meanwhile.
        let ends_at =
            flight.first_impact(&Arena { obstacles: &[], ..*arena }, &[]).map_or(to, |impact| impact.at);
        let swept_to = launch.launched_at;
        Self { launch, heard_at, is_accepted: false, swept_to, impact: None, is_counted: false, ends_at }
    }
}

/// A cube in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flying<'a> {
    pub(super) id: ObjectId,
    pub(super) launch: &'a Launch,
}

/// All cube objects, bounded by the session's objects.
#[derive(Debug, Default)]
pub(super) struct Cubes {
    tracks: SortedMap<ObjectId, Track>,
    /// Accepted shots: the shooter and the time. Each is kept while another shot can still arrive that is too close
    /// to it in time. The cooldown bounds them to about a dozen for each shooter.
    shots: Vec<(PlayerKey, u64)>,
    /// The session time since which the present host decides hits.
    pub(super) judged_since: u64,
}

/// The state of the duel for judging cubes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scenery<'a> {
    pub(super) time: u64,
    pub(super) seen: &'a [Seen],
    pub(super) board: &'a Scoreboard,
    pub(super) arena: Arena<'a>,
}

impl Cubes {
    /// Follows the session's objects. A cube that is not plausible yet is checked again in the next step: news of its
    /// shooter may arrive after the cube.
    pub(super) fn refresh(&mut self, session: &Session, talk: &Talk, scenery: Scenery<'_>) {
        let time = scenery.time;
        self.shots.retain(|&(_, at)| at.saturating_add(LIFETIME + CLOCK_TOLERANCE) >= time);
        self.tracks.retain(|&id, _| session.object(id).is_some());
        for object in session.objects().filter(|object| object.traits().kind == CUBE) {
            let id = object.id();
            if !self.tracks.contains_key(&id) {
                let launch = Launch::decode(object.field(LAUNCH)).ok();
                let Some(launch) = launch.filter(|launch| launch.is_current(time)) else { continue };
                self.tracks.insert(id, Track::new(launch, time, &scenery.arena));
            }
            let Some(track) = self.tracks.get_mut(&id) else { continue };
            if track.is_accepted {
                continue;
            }
            let launch = &track.launch;
            // A robot's cube may arrive after another member took over the robot.
            let has_driven =
                matches!(launch.shooter, PlayerKey::Robot(number) if talk.has_driven(object.owner(), number));
            let may_fire =
                has_driven || speaks_for(session, &scenery.board.robots, object.owner(), launch.shooter);
            let is_accepted = may_fire
                && launch.is_current(time)
                && is_after_cooldown(&self.shots, launch)
                && is_plausible(track, scenery);
            track.is_accepted = is_accepted;
            if is_accepted {
                let launch = &track.launch;
                self.shots.push((launch.shooter, launch.launched_at));
            }
        }
    }

    /// Adds a cube that this peer fired.
    pub(super) fn add_own(&mut self, id: ObjectId, launch: Launch, time: u64, arena: &Arena<'_>) {
        self.shots.push((launch.shooter, launch.launched_at));
        self.tracks.insert(id, Track { is_accepted: true, ..Track::new(launch, time, arena) });
    }

    /// Sweeps the cubes in flight up to `scenery.time`.
    pub(super) fn sweep(&mut self, scenery: Scenery<'_>, feed: &mut Feed) {
        let Scenery { time, seen, board, arena } = scenery;
        let targets: Vec<Target> = seen.iter().filter(|each| each.is_in_play()).map(Seen::target).collect();
        for track in self.tracks.values_mut().filter(|track| track.is_accepted) {
            if let Some((struck, at)) = board.hit_by(track.launch.shot()) {
                // The host's verdict ends the flight here, too, whatever this peer's own sweep found.
                track.is_counted = true;
                track.impact.get_or_insert_with(|| {
                    let point = track.launch.position_at(at);
                    feed.push(DuelEvent::Shattered { position: point });
                    Impact { at, point, struck: Struck::Teapot(struck) }
                });
            }
            if track.impact.is_some() || time <= track.swept_to {
                continue;
            }
            let sweep = Sweep { launch: &track.launch, from: track.swept_to, to: time };
            track.impact = sweep.first_impact(&arena, &targets);
            track.swept_to = time;
            if let Some(impact) = track.impact.filter(|impact| impact.at.saturating_add(NEWS_FOR) >= time) {
                feed.push(DuelEvent::Shattered { position: impact.point });
            }
        }
    }

    /// At the host: takes the cubes that struck a teapot at `since` or later and are not decided yet, sorted by the
    /// time of the impact.
    pub(super) fn take_strikes(&mut self, since: u64) -> Vec<(Launch, PlayerKey, u64)> {
        let mut strikes = Vec::new();
        for track in self.tracks.values_mut().filter(|track| track.is_accepted && !track.is_counted) {
            let Some(Impact { at, struck: Struck::Teapot(struck), .. }) = track.impact else { continue };
            if at >= since {
                track.is_counted = true;
                strikes.push((track.launch, struck, at));
            }
        }
        sort_by_key(&mut strikes, |&(_, _, at)| at);
        strikes
    }

    /// Destroys this peer's cubes whose time is up. It destroys none while the session is suspended, since then no
    /// host decides hits.
    pub(super) fn tidy(&self, now: Time, session: &mut Session, time: u64) {
        if session.suspension(now).is_some() {
            return;
        }
        let is_over = |track: &Track| time > track.ends_at.max(self.judged_since).saturating_add(KEPT_FOR);
        let me = session.me();
        let own = session.objects().filter(|object| object.owner() == me && object.traits().kind == CUBE);
        let over = own.map(samovar_session::Object::id);
        let over: Vec<_> = over.filter(|id| self.tracks.get(id).is_none_or(is_over)).collect();
        for id in over {
            // If the cube has another owner by now, this fails, and that owner destroys the cube.
            let _ = session.edit(now).destroy(id);
        }
    }

    /// The cubes to draw.
    pub(super) fn flying(&self) -> impl Iterator<Item = Flying<'_>> {
        let flying = self.tracks.iter().filter(|(_, track)| track.is_accepted && track.impact.is_none());
        flying.map(|(&id, track)| Flying { id, launch: &track.launch })
    }
}

/// Whether the shot keeps the cooldown. Cubes arrive in any order, so the shots before and after this one count.
fn is_after_cooldown(shots: &[(PlayerKey, u64)], launch: &Launch) -> bool {
    shots.iter().all(|&(shooter, at)| {
        shooter != launch.shooter || at.abs_diff(launch.launched_at) >= COOLDOWN - COOLDOWN_TOLERANCE
    })
}

/// Whether the shooter's teapot can have been at the launch, and was on the table.
fn is_plausible(track: &Track, scenery: Scenery<'_>) -> bool {
    let launch = &track.launch;
    let Some(shooter) = scenery.seen.iter().find(|each| each.player == launch.shooter) else { return false };
    let struck = scenery.board.row(launch.shooter).and_then(|row| row.struck);
    let was_out = struck.is_some_and(|strike| {
        let news = strike.at.saturating_add(NEWS_TAKES);
        (news..strike.at.saturating_add(OUT_FOR)).contains(&launch.launched_at)
    });
    let [x, y, _] = launch.position;
    // A peer that does not see the shooter shows the cube. The host sees all, and decides.
    if shooter.is_far {
        return !was_out;
    }
    // Only the driving until this peer heard of the cube counts. Otherwise any false cube would become plausible with
    // time.
    let driven = TOP_SPEED * seconds(track.heard_at.abs_diff(launch.launched_at));
    let reach = SPOUT_REACH + LAUNCH_TOLERANCE + driven;
    !was_out && distance([x, y], shooter.motion.position) <= reach
}
