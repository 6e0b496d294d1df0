//! The picture of one frame: scene, labels, HUD, and the sounds that go with it.

use samovar_duel::angle::{sin, sin_cos};
use samovar_duel::arena::ObstacleKind;
use samovar_duel::bowl::{BOWL_HEIGHT, BOWL_RADIUS};
use samovar_duel::course::{Course, Stage};
use samovar_duel::game::{CubeView as Cube, DuelEvent, Scene, Standing, TeapotView as Pot, is_spectator};
use samovar_duel::phase::Phase;
use samovar_duel::player::{Glaze, PlayerKey, PlayerName};
use samovar_peer::Path;
use samovar_session::Role as SessionRole;
use samovar_wire::control::Presence;
use samovar_wire::view::SeatRecord;
use samovar_wire::{ObjectId, PeerId, SortedMap};

use super::App;
use crate::page::problem::answered;
use crate::page::{
    Ages, CUT_OFF, CUT_OFF_AND_PAUSED, Hud, Label, LinkKind, PlayerRow, RECONNECTING, RELAY_GONE, RelayState,
    Role, Traffic,
};
use crate::play::{Game, UNHEARD_AFTER, is_cut_off, pause_of};
use crate::sound::Effect;
use crate::view::{CubeView, Frame, ObstacleView, TeapotView, View};

/// Height of a name above the table.
const LABEL_HEIGHT: f32 = 2.3;
/// Milliseconds over which the page averages the traffic.
const METER_EVERY: f64 = 1_000.0;
/// Lean of a teapot per unit of acceleration, in radians.
const LEAN: f32 = 0.012;
/// The greatest lean of a teapot, in radians.
const LEAN_MAX: f32 = 0.22;

/// Values that only the drawing keeps from frame to frame.
#[derive(Default)]
pub struct Meter {
    since: f64,
    bytes: [u64; 2],
    rates: [u32; 2],
    last: f64,
    leans: SortedMap<ObjectId, Lean>,
    /// The shown headings of the teapots in the maze.
    pub(super) headings: [f32; samovar_duel::maze::Role::COUNT],
}

#[derive(Clone, Copy, Default)]
struct Lean {
    velocity: [f32; 2],
    tilt: [f32; 2],
}

impl Meter {
    fn read(&mut self, time: f64, bytes: [u64; 2]) -> Traffic {
        let elapsed = time - self.since;
        if elapsed >= METER_EVERY {
            let rate = |now: u64, before: u64| (now.saturating_sub(before) as f64 / elapsed * 1_000.0) as u32;
            self.rates = [rate(bytes[0], self.bytes[0]), rate(bytes[1], self.bytes[1])];
            (self.since, self.bytes) = (time, bytes);
        }
        let [bytes_in, bytes_out] = self.rates.map(Into::into);
        Traffic { bytes_in, bytes_out }
    }

    /// Leans teapots against their acceleration, smoothly, like pots full of tea.
    fn lean(&mut self, time: f64, pots: &[Pot]) -> Vec<[f32; 2]> {
        let dt = ((time - self.last) / 1_000.0).clamp(0.001, 0.1) as f32;
        self.last = time;
        self.leans.retain(|id, _| pots.iter().any(|pot| pot.id == *id));
        let keep = (-dt / 0.12).exp();
        let lean = |pot: &Pot| {
            let lean = self.leans.entry(pot.id).or_default();
            let (sin, cos) = sin_cos(pot.motion.heading);
            let [ax, ay] = [0, 1].map(|i| (pot.motion.velocity[i] - lean.velocity[i]) / dt);
            let forward = (ax * cos + ay * sin) * -LEAN;
            let left = (ay * cos - ax * sin) * -LEAN;
            let goal = [forward, left].map(|angle| angle.clamp(-LEAN_MAX, LEAN_MAX));
            lean.velocity = pot.motion.velocity;
            lean.tilt = [0, 1].map(|i| lean.tilt[i] * keep + goal[i] * (1.0 - keep));
            lean.tilt
        };
        pots.iter().map(lean).collect()
    }
}

impl App {
    pub(super) fn draw(&mut self, time: f64) {
        let Some(view) = &mut self.view else { return };
        let Some(play) = self.play.as_mut().filter(|play| play.is_member()) else {
            view.draw_still_life(time / 1_000.0);
            return;
        };
        play.count_frame();
        let scene = play.look(|now, peer, game| match game {
            Game::Duel(duel) => Some(duel.scene(now, peer.session()?)),
            Game::Maze(_) => None,
        });
        let Some(scene) = scene else { return self.draw_maze(time) };
        let tilts = self.meter.lean(time, &scene.teapots);
        draw_scene(view, time, &scene, &tilts);
        self.page.labels(&labels(view, &scene));
        let about = self.course_line(&scene);
        self.show_hud(time, &scene.standings, [about, None]);
    }

    /// Shows how old the others' data are, if the address asks for it.
    pub(super) fn chart(&mut self, time: f64) {
        if !self.params.stats || time - self.charted_at < METER_EVERY {
            return;
        }
        self.charted_at = time;
        let ages = self.play.as_ref().and_then(|play| {
            play.look(|now, peer, game| {
                let (Game::Duel(duel), session) = (game, peer.session()?) else { return None };
                let (ages, shown, now) = (session.ages(), duel.ages(), session.session_time(now));
                let stages = [&ages.sent, &ages.received, &shown.applied, &shown.drawn];
                Ages::of(stages.map(|stage| stage.over(now)))
            })
        });
        self.page.ages(ages);
    }

    /// Shows the standings and the state of the session, with a line about the match and a line about lockstep.
    pub(super) fn show_hud(
        &mut self,
        time: f64,
        standings: &[Standing],
        [standing, lockstep]: [Option<String>; 2],
    ) {
        let (Some(play), is_offline) = (&self.play, self.is_offline) else { return };
        let shown = play.look(|now, peer, _| {
            let traffic = peer.traffic();
            let traffic = self.meter.read(time, [traffic.bytes_in, traffic.bytes_out]);
            let session = peer.session()?;
            let is_cut_off = is_cut_off(now, peer, session, is_offline);
            let is_reached = peer.is_relay_connected() && !is_cut_off;
            let relay = if is_reached { RelayState::Connected } else { RelayState::Lost };
            let role = session.role(now);
            let is_maze = lockstep.is_some();
            let row = |standing: &Standing| player_row(now, (peer, session), standing, is_maze);
            let spectators = session.view().members().filter(|m| is_spectator(m.record.attributes));
            let spectators: Vec<_> = spectators.map(|m| without_score(m.record)).collect();
            let seated = standings.iter().filter(|each| !each.has_left);
            let players = seated.chain(&spectators).map(row).collect();
            let (role, term) = (role_of(role, is_cut_off), session.term().to_string());
            let hud = Hud { players, role, term, relay, is_cut_off, traffic, standing, lockstep };
            let alone = session
                .view()
                .members()
                .all(|m| m.peer == session.me() || peer.path(now, m.peer) == Path::None);
            let is_lost = alone && session.view().members().count() > 1;
            let trouble = match hud.role {
                Role::Suspended(_) if is_cut_off => Some(CUT_OFF_AND_PAUSED),
                _ if is_cut_off => Some(CUT_OFF),
                Role::Suspended(pause) => Some(pause.banner()),
                _ => is_lost.then_some(RECONNECTING),
            };
            Some((hud, trouble))
        });
        let Some((hud, trouble)) = shown else { return };
        self.page.hud(&hud);
        let refused = play.obstacle().filter(|_| hud.relay == RelayState::Lost).map(|obstacle| {
            let said = answered(obstacle.status, &obstacle.text);
            format!("The relay does not let this page in again. {said} The game goes on without it.")
        });
        let banner = match hud.relay {
            _ if trouble.is_some() => trouble,
            RelayState::Lost => refused.as_deref().or(Some(RELAY_GONE)),
            RelayState::Connected | RelayState::Connecting => None,
        };
        self.page.banner(banner);
    }

    /// The state of the match in a line; `None` for a running match without a limit of points or time.
    fn course_line(&self, scene: &Scene) -> Option<String> {
        let Course { stakes, number, stage, winner, .. } = scene.course;
        let left = scene.course.ends_at().map(|at| at.saturating_sub(scene.time) / 1_000_000);
        let clock = |seconds: u64| format!("{}:{:02}", seconds / 60, seconds % 60);
        match stage {
            Stage::Waiting => Some("The match begins with a second player".to_owned()),
            Stage::Running => {
                let to = (stakes.points > 0).then(|| format!("to {}", stakes.points));
                let parts = [Some(format!("Match {number}")), to, left.map(clock)];
                (stakes.points > 0 || stakes.seconds > 0)
                    .then(|| parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
            }
            Stage::Over => {
                let standing = scene.standings.iter().find(|standing| Some(standing.player) == winner);
                let winner =
                    standing.map_or_else(|| "Nobody".to_owned(), |standing| standing.name.to_string());
                let next = left.unwrap_or(0);
                Some(format!("{winner} wins match {number} · next in {next} s"))
            }
        }
    }

    /// Reacts to an event of the duel: plays sounds, shows crumbs, and writes lines for the player.
    pub(super) fn on_noise(&mut self, event: &DuelEvent) {
        let colour = |app: &Self, player| {
            app.play.as_ref().and_then(|play| {
                play.look(|_, peer, game| match game {
                    Game::Duel(duel) => peer.session().map(|session| duel.looks_of(session, player)),
                    Game::Maze(_) => None,
                })
            })
        };
        match event {
            DuelEvent::Fired { position, .. } => self.play_at(Effect::Fire, 0.35, *position),
            DuelEvent::Shattered { position } => {
                if let Some(view) = &mut self.view {
                    view.burst(*position, [245, 240, 230]);
                }
            }
            DuelEvent::HitScored { by, struck, position: [x, y], .. } => {
                let (Some((by, _)), Some((struck, glaze))) = (colour(self, *by), colour(self, *struck))
                else {
                    return;
                };
                self.page.feed(&format!("{by} sugared {struck}"));
                let place = [*x, *y, 0.9];
                self.play_at(Effect::Hit, 0.9, place);
                if let Some(view) = &mut self.view {
                    view.burst(place, glaze.rgb());
                }
            }
            DuelEvent::BowlTaken { by, position: [x, y], .. } => {
                let Some((by, _)) = colour(self, *by) else { return };
                self.page.feed(&format!("{by} has the sugar bowl"));
                self.play_at(Effect::Bowl, 0.7, [*x, *y, 0.5]);
            }
            DuelEvent::MatchBegan { number, .. } => self.page.toast(&format!("Match {number} begins")),
            DuelEvent::MatchEnded { number, winner, .. } => {
                let winner = winner.and_then(|winner| colour(self, winner));
                self.page.toast(&match winner {
                    Some((winner, _)) => format!("{winner} wins match {number}"),
                    None => format!("Nobody wins match {number}"),
                });
                self.sound.play(Effect::HostChanged, 0.5, 0.0);
            }
            DuelEvent::Respawned { position: [x, y], .. } => {
                self.play_at(Effect::Respawn, 0.4, [*x, *y, 0.5])
            }
            _ => {}
        }
    }

    /// Plays a sound for a place on the table: left or right as the place is in the picture, and softer when the
    /// place is outside the picture.
    pub(super) fn play_at(&self, effect: Effect, loudness: f32, place: [f32; 3]) {
        let width = self.page.canvas().client_width().max(1) as f32;
        let seen = self.view.as_ref().and_then(|view| view.project(place));
        let (loudness, pan) = seen.map_or((loudness * 0.4, 0.0), |[x, _]| (loudness, x / width * 2.0 - 1.0));
        self.sound.play(effect, loudness, pan.clamp(-1.0, 1.0));
    }
}

fn draw_scene(view: &mut View, time: f64, scene: &Scene, tilts: &[[f32; 2]]) {
    let teapots: Vec<_> = scene
        .teapots
        .iter()
        .zip(tilts)
        .map(|(pot, &tilt)| TeapotView {
            key: key(pot.id),
            position: [pot.motion.position[0], pot.motion.position[1], 0.0],
            heading: pot.motion.heading,
            scale: 1.0,
            tilt,
            colour: pot.glaze,
            name: pot.name.as_str(),
            visible: pot.phase.is_on_table(),
            flash: flash(pot.phase, scene.time),
            ghost: pot.is_ghost,
        })
        .collect();
    let cubes: Vec<_> = scene.cubes.iter().map(|cube| cube_view(cube, time)).collect();
    let prize = scene.bowl.map(|position| ObstacleView {
        position,
        heading: 0.0,
        // The bowl hops a little, so that the player sees it.
        lift: 0.25 * sin(time / 1_000.0 * 3.0).abs(),
        radius: BOWL_RADIUS,
        height: BOWL_HEIGHT,
        kind: ObstacleKind::SugarBowl,
    });
    let obstacles: Vec<_> = scene.obstacles.iter().map(ObstacleView::from).chain(prize).collect();
    let me = scene.teapots.iter().position(|pot| pot.is_me);
    let (teapots, cubes, obstacles) = (&*teapots, &*cubes, &*obstacles);
    view.draw(&Frame {
        time_s: time / 1_000.0,
        teapots,
        cubes,
        me,
        table: scene.table,
        obstacles,
        ..Frame::default()
    });
}

fn cube_view(cube: &Cube, time: f64) -> CubeView {
    let key = key(cube.id);
    // Each cube tumbles in its own way.
    let turn = (time / 1_000.0) as f32 * 6.0 + (key % 97) as f32;
    CubeView { key, position: cube.position, spin: [turn, turn * 0.7, turn * 0.3] }
}

/// How strongly a teapot glows, from 0 to 1. A shielded one blinks three times a second; any other does not glow.
fn flash(phase: Phase, time: u64) -> f32 {
    match phase {
        Phase::Shielded { .. } => {
            sin((time / 1_000 % 333) as f32 / 333.0 * core::f32::consts::TAU).max(0.0) * 0.6
        }
        Phase::Alive | Phase::Hit { .. } => 0.0,
    }
}

fn labels(view: &View, scene: &Scene) -> Vec<Label> {
    let others = scene.teapots.iter().filter(|pot| !pot.is_me && pot.phase.is_on_table());
    others
        .filter_map(|pot| {
            let [x, y] = pot.motion.position;
            let [x, y] = view.project([x, y, LABEL_HEIGHT])?;
            Some(Label {
                key: key(pot.id),
                text: pot.name.as_str().to_owned(),
                x,
                y,
                colour: glaze_of(scene, pot.player),
            })
        })
        .collect()
}

/// A row without a score for a spectator, so that the page can show which member hosts.
fn without_score(record: &SeatRecord) -> Standing {
    Standing {
        player: PlayerKey::Seat(record.seat.0),
        name: PlayerName::new(&record.name),
        glaze: Glaze::default(),
        score: 0,
        lost: 0,
        streak: 0,
        is_me: false,
        is_robot: false,
        is_away: false,
        has_left: false,
    }
}

/// The number of a player's glaze, which gives the colour of teapot, label and row.
fn glaze_of(scene: &Scene, player: PlayerKey) -> u8 {
    scene.standings.iter().find(|row| row.player == player).map_or(0, |row| row.glaze.number())
}

fn player_row(
    now: samovar_wire::Time,
    (peer, session): (&samovar_peer::Peer, &samovar_session::Session),
    standing: &Standing,
    is_maze: bool,
) -> PlayerRow {
    let (me, host) = (session.me(), session.host());
    let member = session.view().members().find(|m| PlayerKey::Seat(m.record.seat.0) == standing.player);
    let other: Option<PeerId> = member.map(|m| m.peer).filter(|&other| other != me);
    let is_unheard = |other| session.link(other).is_some_and(|link| link.silence(now) >= UNHEARD_AFTER);
    let link = other.map(|other| match peer.path(now, other) {
        _ if is_unheard(other) => LinkKind::Unheard,
        Path::Direct => LinkKind::Direct,
        Path::ByHost => LinkKind::ByHost,
        Path::RelayedUdp => LinkKind::RelayedUdp,
        Path::Relayed | Path::None => LinkKind::Relayed,
    });
    let ping = other
        .filter(|_| link != Some(LinkKind::Unheard))
        .and_then(|other| session.link(other).and_then(|link| link.round_trip()));
    PlayerRow {
        key: match standing.player {
            PlayerKey::Seat(seat) => u64::from(seat),
            PlayerKey::Robot(number) => 1 << 32 | u64::from(number),
        },
        name: standing.name.clone(),
        colour: standing.glaze.number(),
        score: i32::from(standing.score),
        is_self: standing.is_me,
        is_robot: standing.is_robot,
        takes: match standing.player {
            PlayerKey::Robot(number) if is_maze => Some(number),
            _ => None,
        },
        is_spectator: member.is_some_and(|m| is_spectator(m.record.attributes)),
        can_be_put_out: other.filter(|_| session.is_host()),
        is_host: member.is_some_and(|m| m.peer == host),
        is_backup: member.is_some_and(|m| Some(m.peer) == session.view().backup()),
        ping_ms: ping.map(|ping| ping.as_millis_f64().round() as u32),
        link,
        away: standing.is_away || member.is_some_and(|m| m.record.standing.presence != Presence::Visible),
    }
}

const fn role_of(role: SessionRole, is_cut_off: bool) -> Role {
    match role {
        SessionRole::Idle => Role::Idle,
        SessionRole::Backup => Role::Backup,
        SessionRole::ActiveAlone => Role::ActiveAlone,
        SessionRole::ActiveBackedUp => Role::ActiveBackedUp,
        SessionRole::Suspended(why) => Role::Suspended(pause_of(why, is_cut_off)),
    }
}

/// Makes one number of an object's id.
fn key(id: ObjectId) -> u64 {
    u64::from(id.creator.0) << 32 | u64::from(id.number)
}
