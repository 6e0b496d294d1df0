//! The cube objects as this peer sees them: which of them fly, and what each struck.
//!
//! Every peer *sweeps* every cube: in each step it tests the cube's path since the last step for collisions. So a
//! cube ends on each screen where it meets something on that screen. What its shooter's sweep finds, the shooter claims
//! from the host ([`claim`](crate::claim)).

use samovar_session::Session;
use samovar_wire::sorted::sort_by_key;
use samovar_wire::{ObjectId, SortedMap, Time};

use super::event::{DuelEvent, Feed};
use super::kinds::CUBE;
use super::talk::{REMEMBERED_FOR, Talk};
use super::teapots::{Seen, speaks_for};
use crate::arena::Arena;
use crate::claim::Claim;
use crate::cube::{COOLDOWN, COOLDOWN_TOLERANCE, LIFETIME, Launch, SPOUT_REACH, Shot};
use crate::hits::{Impact, Struck, Sweep, Target};
use crate::phase::OUT_FOR;
use crate::plane::{distance, seconds};
use crate::player::PlayerKey;
use crate::scores::Scoreboard;
use crate::state::LAUNCH;
use crate::teapot::TOP_SPEED;

/// How long a shooter keeps a cube after the end of its flight, in microseconds, so that the others see it even if it
/// flew for a moment only.
const KEPT_FOR: u64 = 500_000;

/// A cube may begin this far from the shooter's teapot, as this peer shows it, plus the distance that the teapot can
/// have driven.
const LAUNCH_TOLERANCE: f32 = 3.0;

/// How long the news of a hit may take to reach the struck player, in microseconds. Until then that player may fire.
const NEWS_TAKES: u64 = 400_000;

/// Impacts longer ago than this, in microseconds, are not announced. This peer finds such old impacts when it has
/// just joined, or slept.
const NEWS_FOR: u64 = 1_000_000;

/// An accepted shot.
#[derive(Clone, Copy, Debug)]
struct Fired {
    cube: ObjectId,
    launch: Launch,
    /// Whether the shot has scored.
    is_spent: bool,
}

/// How far the claim of a hit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The cube has hit nothing, or its hit is not claimed yet.
    Open,
    /// The claim is the input of this number.
    Submitted(u64),
    /// The claim was accepted at this session time.
    Accepted(u64),
}

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
    /// For a cube that this peer fired: how far the claim of its hit has come.
    claim: Option<Progress>,
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
        Self { launch, heard_at, is_accepted: false, swept_to, impact: None, claim: None, ends_at }
    }
}

impl Track {
    /// The hit that this peer has to claim.
    fn unclaimed_hit(&self) -> Option<Claim> {
        let Impact { at, struck, .. } = self.impact.filter(|_| self.claim == Some(Progress::Open))?;
        let Struck::Teapot(struck) = struck else { return None };
        Some(Claim { shot: self.launch.shot(), struck, at })
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
    /// Accepted shots. Each is kept for as long as it can be claimed. The cooldown bounds them to about sixty for each
    /// shooter.
    shots: SortedMap<Shot, Fired>,
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
        self.shots.retain(|shot, _| shot.launched_at.saturating_add(REMEMBERED_FOR) >= time);
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
            let heard_at = track.heard_at;
            track.is_accepted =
                may_fire && launch.is_current(time) && admit(&mut self.shots, launch, id, heard_at, scenery);
        }
    }

    /// Whether this peer has accepted a shot.
    pub(super) fn knows(&self, shot: Shot) -> bool {
        self.shots.contains_key(&shot)
    }

    /// The launch of an accepted shot that has not scored.
    pub(super) fn unspent(&self, shot: Shot) -> Option<&Launch> {
        self.shots.get(&shot).filter(|fired| !fired.is_spent).map(|fired| &fired.launch)
    }

    /// Notes that a shot has scored, so that it scores once.
    pub(super) fn spend(&mut self, shot: Shot) {
        if let Some(fired) = self.shots.get_mut(&shot) {
            fired.is_spent = true;
        }
    }

    /// Adds a cube that this peer fired.
    pub(super) fn add_own(&mut self, id: ObjectId, launch: Launch, time: u64, arena: &Arena<'_>) {
        self.shots.insert(launch.shot(), Fired { cube: id, launch, is_spent: false });
        let track =
            Track { is_accepted: true, claim: Some(Progress::Open), ..Track::new(launch, time, arena) };
        self.tracks.insert(id, track);
    }

    /// Sweeps the cubes in flight up to `scenery.time`.
    pub(super) fn sweep(&mut self, scenery: Scenery<'_>, feed: &mut Feed) {
        let Scenery { time, seen, board, arena } = scenery;
        let targets: Vec<Target> = seen.iter().filter(|each| each.is_in_play()).map(Seen::target).collect();
        for track in self.tracks.values_mut().filter(|track| track.is_accepted) {
            if let Some((struck, at)) = board.hit_by(track.launch.shot()) {
                if let Some(fired) = self.shots.get_mut(&track.launch.shot()) {
                    fired.is_spent = true;
                }
                // The host's verdict ends the flight here, too, whatever this peer's own sweep found.
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

    /// Claims what this peer's cubes have struck since the last call, in the order of the hits. `submit` returns the
    /// number of the claim; without one, the next call claims the hit again.
    pub(super) fn claim_hits(&mut self, mut submit: impl FnMut(&Claim) -> Option<u64>) {
        let hits = self.tracks.values_mut().filter_map(|track| Some((track.unclaimed_hit()?, track)));
        let mut hits: Vec<_> = hits.collect();
        sort_by_key(&mut hits, |(hit, _)| hit.at);
        for (hit, track) in hits {
            track.claim = Some(submit(&hit).map_or(Progress::Open, Progress::Submitted));
        }
    }

    /// Notes that the input of this number, which may be a claim, was accepted.
    pub(super) fn on_accepted(&mut self, number: u64, time: u64) {
        let claims = self.tracks.values_mut().filter_map(|track| track.claim.as_mut());
        for claim in claims.filter(|claim| **claim == Progress::Submitted(number)) {
            *claim = Progress::Accepted(time);
        }
    }

    /// Destroys this peer's cubes whose flight is over. A cube stays until its claim was accepted, so that the host has
    /// seen it by then.
    pub(super) fn tidy(&self, now: Time, session: &mut Session, time: u64) {
        let is_over = |track: &Track| {
            let end = match (track.claim, track.impact) {
                (Some(Progress::Submitted(_)), _) => return false,
                (Some(Progress::Accepted(at)), _) => at,
                (_, Some(impact)) => impact.at,
                (_, None) => track.ends_at,
            };
            time > end.saturating_add(KEPT_FOR) && track.unclaimed_hit().is_none()
        };
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

/// Accepts a shot that follows the rules: it keeps the cooldown, and its shooter can have been there. One cube is
/// accepted for each shot. Cubes arrive in any order, so the shots before and after this one count.
fn admit(
    shots: &mut SortedMap<Shot, Fired>,
    launch: &Launch,
    cube: ObjectId,
    heard_at: u64,
    scenery: Scenery<'_>,
) -> bool {
    let shot = launch.shot();
    if let Some(known) = shots.get(&shot) {
        return known.cube == cube;
    }
    let keeps_cooldown = shots.iter().all(|(other, _)| {
        other.shooter != shot.shooter
            || other.launched_at.abs_diff(shot.launched_at) >= COOLDOWN - COOLDOWN_TOLERANCE
    });
    let is_admitted = keeps_cooldown && is_plausible(launch, heard_at, scenery);
    if is_admitted {
        shots.insert(shot, Fired { cube, launch: *launch, is_spent: false });
    }
    is_admitted
}

/// Whether the shooter's teapot can have been at the launch, and was on the table.
fn is_plausible(launch: &Launch, heard_at: u64, scenery: Scenery<'_>) -> bool {
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
    let driven = TOP_SPEED * seconds(heard_at.abs_diff(launch.launched_at));
    let reach = SPOUT_REACH + LAUNCH_TOLERANCE + driven;
    !was_out && distance([x, y], shooter.motion.position) <= reach
}
