//! The maze in the scene: walls of sugar, teapots, bowls and steam, the players, and the lines about them.

use std::f32::consts::{FRAC_PI_2, PI};

use samovar_duel::angle::sin;
use samovar_duel::arena::ObstacleKind;
use samovar_duel::game::{Standing, is_spectator};
use samovar_duel::maze::game::{MazeGame, MazeNews};
use samovar_duel::maze::{HEIGHT, Maze, MazeEvent, Mover, Place, RATE, Role, Side, Stage, TILE, WIDTH, Way};
use samovar_duel::plane::wrap_angle;
use samovar_duel::player::{Glaze, PlayerKey, PlayerName};
use samovar_session::Session;
use samovar_wire::Time;

use super::App;
use super::news::went;
use crate::page::Label;
use crate::play::Game;
use crate::sound::Effect;
use crate::view::{BlockView, Frame, ObstacleView, TeapotView};

/// Size of a teapot of the maze, where a teapot of the duel has size 1.
const SCALE: f32 = 0.48;
/// Height of the walls, in tiles.
const WALL: f32 = 0.5;
/// Height of a stand.
const STAND: f32 = 0.08;
/// Height of a name above the table.
const LABEL_HEIGHT: f32 = 1.0;
/// The glazes of the four teapots: warm for red, cold for blue.
const GLAZES: [usize; Role::COUNT] = [1, 6, 5, 4];
/// Colours of the sugar in the walls of each side.
const SUGARS: [[u8; 3]; Side::COUNT] = [[244, 176, 150], [150, 186, 246]];
/// Colour of the sugar in the walls between the sides.
const PLAIN_SUGAR: [u8; 3] = [250, 240, 214];
/// The tray below the corridors, from which walls and teapots stand out. Its rounded edge is under the cloth.
const TRAY: BlockView =
    BlockView { position: [0.0, 0.0, -0.246], size: [29.6, 18.1, 0.5], colour: [112, 70, 44] };

/// One teapot, ready to be drawn.
struct Runner {
    role: Role,
    name: PlayerName,
    position: [f32; 3],
    way: Way,
    is_me: bool,
    is_robot: bool,
    is_out: bool,
}

/// Everything about the game that a picture needs.
struct Picture {
    runners: Vec<Runner>,
    maze: Maze,
    clouds: Vec<[f32; 3]>,
    standings: Vec<Standing>,
    about: [String; 2],
}

impl App {
    pub(super) fn draw_maze(&mut self, time: f64) {
        let (Some(view), Some(play)) = (&mut self.view, &self.play) else { return };
        let picture = play.look(|now, peer, game| match game {
            Game::Maze(game) => Some(Picture::new(now, peer.session()?, game)),
            Game::Duel(_) => None,
        });
        let Some(picture) = picture else { return };
        for runner in &picture.runners {
            let heading = &mut self.meter.headings[runner.role.index()];
            *heading += wrap_angle(heading_of(runner.way) - *heading) * 0.3;
        }
        let headings = self.meter.headings;
        let teapots: Vec<_> = picture.runners.iter().map(|runner| teapot(runner, &headings, time)).collect();
        let (blocks, obstacles) = (blocks(&picture.maze), bowls(&picture));
        view.draw(&Frame {
            time_s: time / 1_000.0,
            teapots: &teapots,
            me: picture.runners.iter().position(|runner| runner.is_me),
            obstacles: &obstacles,
            blocks: &blocks,
            clouds: &picture.clouds,
            from_above: true,
            ..Frame::default()
        });
        let label = |runner: &Runner| {
            let [x, y, _] = runner.position;
            let [x, y] = view.project([x, y, LABEL_HEIGHT])?;
            let text = if runner.is_me { "You".to_owned() } else { runner.name.as_str().to_owned() };
            let key = runner.role.index() as u64;
            Some(Label { key, text, x, y, colour: glaze(runner.role).number() })
        };
        let labels: Vec<_> = picture.runners.iter().filter_map(label).collect();
        self.page.labels(&labels);
        self.show_hud(time, &picture.standings, picture.about.map(Some));
    }

    pub(super) fn on_maze_news(&mut self, news: &MazeNews) {
        match news {
            MazeNews::Maze(event) => self.on_maze_event(*event),
            MazeNews::PlayerCame { name, is_back } => {
                self.page.feed(&format!("{name} {}", if *is_back { "is back" } else { "sits down" }));
            }
            MazeNews::PlayerWent { name, departure } => {
                self.page.feed(&format!("{name} {}", went(*departure)));
            }
            MazeNews::Desync { frame, field } => {
                let field = field.as_deref().unwrap_or("something");
                let text = format!("out of step: {field} differs behind frame {frame}");
                if let Some(play) = &mut self.play {
                    play.note_error(text);
                }
            }
            _ => {}
        }
    }

    fn on_maze_event(&mut self, event: MazeEvent) {
        match event {
            MazeEvent::Taken { by } => {
                self.page.feed(&format!(
                    "{} takes the {} bowl",
                    self.runner_name(by),
                    by.side().other().name()
                ));
                self.sound.play(Effect::Fire, 0.5, 0.0);
            }
            MazeEvent::SentHome { who, by, at, .. } => {
                self.page.feed(&format!("{} sends {} home", self.runner_name(by), self.runner_name(who)));
                let [x, y] = place(at);
                self.play_at(Effect::Hit, 0.7, [x, y, 0.5]);
                if let Some(view) = &mut self.view {
                    view.burst([x, y, 0.5], glaze(who).rgb());
                }
            }
            MazeEvent::Captured { by } => {
                self.page.feed(&format!("{} brings the bowl home", self.runner_name(by)));
                self.sound.play(Effect::HostChanged, 0.6, 0.0);
            }
            MazeEvent::Begins => self.sound.play(Effect::Respawn, 0.5, 0.0),
            MazeEvent::RoundOver(winner) => self.page.toast(&won(winner, "round")),
            MazeEvent::MatchOver(winner) => self.page.toast(&won(winner, "match")),
            _ => {}
        }
    }

    fn runner_name(&self, role: Role) -> PlayerName {
        let name = self.play.as_ref().and_then(|play| {
            play.look(|_, peer, game| match game {
                Game::Maze(game) => Some(runner_name(peer.session()?, game, role)),
                Game::Duel(_) => None,
            })
        });
        name.unwrap_or_else(|| PlayerName::new(role.name()))
    }
}

impl Picture {
    fn new(now: Time, session: &Session, game: &MazeGame) -> Self {
        let (maze, me) = (game.maze(), game.role(session));
        let (before, share) = game.between(now);
        let runner = |role: Role| {
            let (then, there) = (before.teapot(role).mover(), maze.teapot(role).mover());
            let [x, y] = between(then, there, share);
            Runner {
                role,
                name: runner_name(session, game, role),
                position: [x, y, 0.0],
                way: there.way(),
                is_me: me == Some(role),
                is_robot: maze.seat_of(role).is_none(),
                is_out: maze.teapot(role).is_out(),
            }
        };
        let clouds = before.steam().iter().zip(maze.steam()).map(|(then, there)| {
            let [x, y] = between(then, there, share);
            [x, y, 0.3]
        });
        let runners: Vec<_> = Role::ALL.into_iter().map(runner).collect();
        let mut standings: Vec<_> = runners.iter().map(|runner| standing(maze, runner)).collect();
        standings.extend(watchers(session, maze));
        Self {
            clouds: clouds.collect(),
            standings,
            about: [how_it_stands(maze, me.map(Role::side)), lockstep(game)],
            maze: maze.clone(),
            runners,
        }
    }
}

/// The name of the member that plays this role; for a robot, the role's name.
fn runner_name(session: &Session, game: &MazeGame, role: Role) -> PlayerName {
    game.name_of(session, role).unwrap_or_else(|| PlayerName::new(role.name()))
}

fn standing(maze: &Maze, runner: &Runner) -> Standing {
    let player = match maze.seat_of(runner.role) {
        Some(seat) => PlayerKey::Seat(seat.0),
        None => PlayerKey::Robot(runner.role.index() as u8),
    };
    Standing {
        player,
        name: runner.name.clone(),
        glaze: glaze(runner.role),
        score: maze.teapot(runner.role).points(),
        lost: 0,
        streak: 0,
        is_me: runner.is_me,
        is_robot: runner.is_robot,
        is_away: false,
        has_left: false,
    }
}

/// Rows for the members that have no teapot at present.
fn watchers(session: &Session, maze: &Maze) -> Vec<Standing> {
    let members = session.view().members().filter(|member| !is_spectator(member.record.attributes));
    let watching = members.filter(|member| maze.role_of(member.record.seat).is_none());
    let row = watching.map(|member| Standing {
        player: PlayerKey::Seat(member.record.seat.0),
        name: PlayerName::new(&member.record.name),
        glaze: Glaze::default(),
        score: 0,
        lost: 0,
        streak: 0,
        is_me: member.peer == session.me(),
        is_robot: false,
        is_away: false,
        has_left: false,
    });
    row.collect()
}

fn how_it_stands(maze: &Maze, own: Option<Side>) -> String {
    let [red, blue] = Side::BOTH.map(|side| maze.wins(side));
    let [at_red, at_blue] = Side::BOTH.map(|side| if own == Some(side) { " (you)" } else { "" });
    let (stage, left) = maze.stage();
    let seconds = left.div_ceil(RATE);
    let now = match stage {
        Stage::Ready => format!("round {} in {seconds} s", maze.round()),
        Stage::Play => format!("{}:{:02}", seconds / 60, seconds % 60),
        Stage::Told(_) => "round over".to_owned(),
        Stage::Over(winner) => won(winner, "match"),
    };
    format!("Red{at_red} {red} : {blue} Blue{at_blue} · {now}")
}

fn lockstep(game: &MazeGame) -> String {
    let checksum = game.checksums().last().map_or(0, |(_, checksum)| checksum & 0xffff);
    let (frame, delay) = (game.frame(), game.input_delay());
    let step = match game.desyncs() {
        0 => "in step".to_owned(),
        times => format!("{times} × out of step"),
    };
    format!("frame {frame}, {checksum:04x}, delay {delay}, {step}")
}

fn won(winner: Option<Side>, what: &str) -> String {
    match winner {
        Some(Side::Red) => format!("Red wins the {what}"),
        Some(Side::Blue) => format!("Blue wins the {what}"),
        None => format!("Nobody wins the {what}"),
    }
}

fn glaze(role: Role) -> Glaze {
    Glaze::new(GLAZES[role.index()])
}

/// The place on the table for a position in the maze. The middle of the maze is the middle of the table.
fn on_table((x, y): (i32, i32)) -> [f32; 2] {
    let tiles = |units: i32| units as f32 / f32::from(TILE);
    [tiles(x) - f32::from(WIDTH / 2), f32::from(HEIGHT / 2) - tiles(y)]
}

fn place(place: Place) -> [f32; 2] {
    on_table((i32::from(place.x) * i32::from(TILE), i32::from(place.y) * i32::from(TILE)))
}

/// A mover's place on the way from one state to the next. A mover that was put somewhere else is there at once.
fn between(then: &Mover, there: &Mover, share: f32) -> [f32; 2] {
    let [from, to] = [then, there].map(|mover| on_table(mover.position()));
    let leaps = (to[0] - from[0]).abs() + (to[1] - from[1]).abs() > 1.0;
    if leaps { to } else { [0, 1].map(|axis| from[axis] + (to[axis] - from[axis]) * share) }
}

const fn heading_of(way: Way) -> f32 {
    match way {
        Way::Up => FRAC_PI_2,
        Way::Left => PI,
        Way::Down => -FRAC_PI_2,
        Way::Right => 0.0,
    }
}

fn teapot<'a>(runner: &'a Runner, headings: &[f32; Role::COUNT], time: f64) -> TeapotView<'a> {
    // The player's own teapot glows a little, so that the player finds it among four.
    let pulse = sin(time / 300.0).max(0.0) * 0.35;
    TeapotView {
        key: runner.role.index() as u64 * 31,
        position: runner.position,
        heading: headings[runner.role.index()],
        scale: SCALE,
        tilt: [0.0; 2],
        colour: glaze(runner.role).rgb(),
        name: runner.name.as_str(),
        visible: true,
        flash: if runner.is_me { pulse } else { 0.0 },
        ghost: runner.is_out,
    }
}

/// The walls, the tray below them, and a stand for each bowl.
fn blocks(maze: &Maze) -> Vec<BlockView> {
    let tiles = (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| Place { x, y }));
    let walls = tiles.filter(|&tile| !maze.plan().is_open(tile)).map(|tile| {
        let [x, y] = place(tile);
        let colour = Side::of(tile).map_or(PLAIN_SUGAR, |side| SUGARS[side.index()]);
        BlockView { position: [x, y, WALL / 2.0], size: [1.0, 1.0, WALL], colour }
    });
    let stands = Side::BOTH.map(|side| {
        let [x, y] = place(maze.plan().base(side));
        let first = if side == Side::Red { Role::R1 } else { Role::B1 };
        BlockView { position: [x, y, STAND / 2.0], size: [0.94, 0.94, STAND], colour: glaze(first).rgb() }
    });
    walls.chain(stands).chain([TRAY]).collect()
}

/// The bowls, on their stands or on top of their carriers.
fn bowls(picture: &Picture) -> [ObstacleView; 2] {
    Side::BOTH.map(|side| {
        let carrier = picture.maze.carrier(side);
        let runner = picture.runners.iter().find(|runner| Some(runner.role) == carrier);
        let (position, lift, radius) = match runner {
            Some(Runner { position: [x, y, _], .. }) => ([*x, *y], 0.66, 0.32),
            None => (place(picture.maze.plan().base(side)), STAND, 0.4),
        };
        ObstacleView {
            position,
            heading: 0.0,
            lift,
            radius,
            height: radius * 1.2,
            kind: ObstacleKind::SugarBowl,
        }
    })
}
