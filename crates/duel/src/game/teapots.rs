//! The teapot objects as this peer sees them: which peers speak for them, and where they are shown.
//!
//! A teapot counts while its owner may speak for its player: a member for its own seat, the host for absent members.
//! A robot's teapot counts if the scoreboard names it, whichever member drives it. All other teapots are neither shown
//! nor touched. If one player has several teapots, one of them counts, the same at every peer.

use samovar_session::{Object, Session, ShownAges};
use samovar_wire::{ObjectId, PeerId, SortedMap, Stamp, Time};

use super::kinds::{TEAPOT, seat_number};
use crate::arena::Arena;
use crate::hits::Target;
use crate::motion::Motion;
use crate::named::Named;
use crate::phase::Phase;
use crate::player::PlayerKey;
use crate::scores::Scoreboard;
use crate::state::{Identity, TeapotState};
use crate::teapot::BODY_RADIUS;
use crate::warp::Warp;

/// A teapot whose state cannot be read for longer than this is spoilt, in microseconds.
const UNREADABLE_MAX: u64 = 1_000_000;

/// One teapot object whose fields could be read.
#[derive(Debug)]
pub(super) struct Track {
    pub(super) identity: Identity,
    pub(super) owner: PeerId,
    /// Whether the owner may speak for the player. Once true, this stays true until the owner or the player changes,
    /// even if the owner is gone.
    is_accepted: bool,
    revision: (Stamp, u64),
    warp: Warp,
    /// Where this peer shows the teapot.
    pub(super) shown: Motion,
    /// Whether the owner says that the teapot is off the table.
    pub(super) is_out: bool,
    /// Since when the teapot's state cannot be read, in session time; `None` if it can.
    unreadable_since: Option<u64>,
    /// Whether the teapot is outside the part of the table about which this peer is kept up to date.
    is_far: bool,
}

/// All teapot objects, bounded by the session's objects.
#[derive(Debug, Default)]
pub(super) struct Teapots {
    tracks: SortedMap<ObjectId, Track>,
    /// The teapot that counts for each player.
    chosen: SortedMap<PlayerKey, ObjectId>,
    pub(super) ages: ShownAges,
}

/// A teapot that counts, at the time of the last step.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) id: ObjectId,
    pub(super) player: PlayerKey,
    pub(super) motion: Motion,
    pub(super) phase: Phase,
    /// Whether the player is away.
    pub(super) is_ghost: bool,
    /// Whether this peer does not know where the teapot is now.
    pub(super) is_far: bool,
}

impl Seen {
    /// Whether other teapots bump into this one, aim at it and can hit it. Ghosts are spared: their players cannot
    /// dodge.
    pub(super) fn is_in_play(&self) -> bool {
        !self.is_ghost && !self.is_far && self.phase.is_on_table()
    }

    pub(super) fn target(&self) -> Target {
        Target { player: self.player, position: self.motion.position, velocity: self.motion.velocity }
    }
}

/// Whether a peer may speak for a player. The member on the player's seat may, and the member that drives the robot.
/// So may the host, which keeps the teapots of absent members.
pub(super) fn speaks_for(session: &Session, robots: &Named, peer: PeerId, player: PlayerKey) -> bool {
    peer == session.host()
        || match player {
            PlayerKey::Seat(seat) => seat_number(session, peer) == Some(seat),
            PlayerKey::Robot(number) => driver_of(session, robots, number) == Some(peer),
        }
}

/// The member that drives a robot.
pub(super) fn driver_of(session: &Session, robots: &Named, number: u8) -> Option<PeerId> {
    robots.get(number).and_then(|id| session.object(id)).map(Object::owner)
}

/// Whether a player's teapot belongs to a peer that does not sit on the player's seat; never for a robot.
fn is_ghost(session: &Session, owner: PeerId, player: PlayerKey) -> bool {
    matches!(player, PlayerKey::Seat(seat) if seat_number(session, owner) != Some(seat))
}

fn read(object: &Object) -> Option<TeapotState> {
    TeapotState::read(&mut object.reader()).ok()
}

impl Track {
    fn new(object: &Object, time: u64) -> Option<Self> {
        let state = read(object)?;
        let warp = Warp::new(time, state.motion, object.sampled().as_micros());
        Some(Self {
            identity: state.identity,
            owner: object.owner(),
            is_accepted: false,
            revision: (object.stamp(), object.revision()),
            warp,
            shown: state.motion,
            is_out: matches!(state.phase, Phase::Hit { .. }),
            unreadable_since: None,
            is_far: !object.is_current(),
        })
    }

    /// Reads the object if it changed, and returns whether it did. An unreadable state changes nothing: the teapot rolls to a stop from its last
    /// readable state.
    fn update(&mut self, object: &Object, time: u64) -> bool {
        let revision = (object.stamp(), object.revision());
        let was_far = std::mem::replace(&mut self.is_far, !object.is_current());
        if self.revision == revision {
            return false;
        }
        self.revision = revision;
        let owner = object.owner();
        let Some(state) = read(object) else {
            self.unreadable_since.get_or_insert(time);
            return false;
        };
        self.unreadable_since = None;
        if (owner, state.identity.driver) != (self.owner, self.identity.driver) {
            self.is_accepted = false;
        }
        let is_out = matches!(state.phase, Phase::Hit { .. });
        let sampled = object.sampled().as_micros();
        if self.is_out && !is_out || was_far {
            self.warp.snap(time, state.motion, sampled);
        } else {
            self.warp.accept(time, state.motion, sampled);
        }
        self.owner = owner;
        self.identity = state.identity;
        self.is_out = is_out;
        true
    }

    /// Whether the owner keeps the teapot of this player readable.
    pub(super) fn is_sound(&self, player: PlayerKey, time: u64) -> bool {
        self.identity.driver == player
            && self.unreadable_since.is_none_or(|since| time < since.saturating_add(UNREADABLE_MAX))
    }

    /// The phase to show: the scoreboard's, except that the teapot stays off the table until its owner has published
    /// where it appears again.
    ///
    /// If the owner never publishes this, the teapot is back when its shield ends, so no teapot stays invulnerable.
    fn phase(&self, board: &Scoreboard, time: u64) -> Phase {
        let phase = board.row(self.identity.driver).map_or(Phase::Alive, |row| row.phase(time));
        match phase {
            Phase::Shielded { .. } if self.is_out => Phase::Hit { until: time },
            phase => phase,
        }
    }
}

impl Teapots {
    /// Follows the session's objects. Teapots that this peer drives are shown where their pilots have driven them.
    pub(super) fn refresh(
        &mut self,
        session: &Session,
        (time, arena, robots): (u64, &Arena<'_>, &Named),
        is_driven: &dyn Fn(ObjectId) -> bool,
    ) {
        let is_here = |id| session.object(id).is_some_and(|object| object.traits().kind == TEAPOT);
        self.tracks.retain(|&id, _| is_here(id));
        self.chosen.clear();
        for object in session.objects().filter(|object| object.traits().kind == TEAPOT) {
            let id = object.id();
            let mut is_new = false;
            if let Some(track) = self.tracks.get_mut(&id) {
                is_new = track.update(object, time);
            } else if let Some(track) = Track::new(object, time) {
                self.tracks.insert(id, track);
            }
            let Some(track) = self.tracks.get_mut(&id) else { continue };
            if !is_driven(id) {
                let goal = track.warp.at(time);
                track.shown = Motion { position: arena.push_inside(goal.position, BODY_RADIUS), ..goal };
                if !track.is_far {
                    self.ages.note(Time::from_micros(time), object.sampled(), is_new);
                }
            }
            let player = track.identity.driver;
            match player {
                PlayerKey::Robot(number) => track.is_accepted = robots.get(number) == Some(id),
                PlayerKey::Seat(_) => track.is_accepted |= speaks_for(session, robots, track.owner, player),
            }
            if track.is_accepted {
                let is_ghost = is_ghost(session, track.owner, player);
                let rival = self.chosen.get(&player).and_then(|id| self.tracks.get(id));
                let is_better = rival.is_none_or(|rival| {
                    // Objects come sorted by id, so among equals the lowest id stays.
                    !is_ghost && self::is_ghost(session, rival.owner, player)
                });
                if is_better {
                    self.chosen.insert(player, id);
                }
            }
        }
    }

    /// The teapot that counts for a player.
    pub(super) fn of(&self, player: PlayerKey) -> Option<(ObjectId, &Track)> {
        let id = *self.chosen.get(&player)?;
        Some((id, self.tracks.get(&id)?))
    }

    /// All readable teapots of this owner, whether they count or not.
    pub(super) fn owned_by(&self, owner: PeerId) -> impl Iterator<Item = (ObjectId, PlayerKey)> {
        let owned = self.tracks.iter().filter(move |(_, track)| track.owner == owner);
        owned.map(|(&id, track)| (id, track.identity.driver))
    }

    pub(super) fn track(&self, id: ObjectId) -> Option<&Track> {
        self.tracks.get(&id)
    }

    /// Moves a teapot that this peer drives.
    pub(super) fn show(&mut self, id: ObjectId, motion: Motion, is_out: bool) {
        if let Some(track) = self.tracks.get_mut(&id) {
            track.shown = motion;
            track.is_out = is_out;
        }
    }

    /// The teapots that count, sorted by player.
    pub(super) fn picture(&self, session: &Session, board: &Scoreboard, time: u64) -> Vec<Seen> {
        let seen = self.chosen.iter().filter_map(|(&player, &id)| {
            let track = self.tracks.get(&id)?;
            Some(Seen {
                id,
                player,
                motion: track.shown,
                phase: track.phase(board, time),
                is_ghost: is_ghost(session, track.owner, player),
                is_far: track.is_far,
            })
        });
        seen.collect()
    }
}
