//! Two pacmen in a maze, with and without lockstep. Without it, each screen
//! steps its own maze: it applies its own player's turns at once, and the
//! other player's when it hears of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar::prelude::*;
use samovar::sim::{Duration, Fault, Plan, Who, play_plan};

use crate::play::Conditions;
use crate::scenes::Verdict;

/// A headline.
pub const TITLE: &str = "Two pacmen";
/// A description.
pub const STORY: &str = "Two players run through one maze. Each always turns \
    to a pellet that it sees. The path between them is slow. Do both see the \
    same game?";

/// How the players are kept alike.
#[must_use]
pub const fn name(in_step: bool) -> &'static str {
    if in_step { "in lockstep" } else { "as received" }
}

/// The walls of the maze. The corners without a wall have the pacmen.
pub const WALLS: [&str; 7] = [
    "r........",
    ".#.###.#.",
    ".#...#.#.",
    "...#.#...",
    ".#.#...#.",
    ".#.###.#.",
    "........b",
];
/// The sides of the maze, in cells.
pub const SIDES: [usize; 2] = [9, 7];
/// Steps of the mazes in a second.
pub const STEPS_PER_SECOND: u32 = 12;
/// How long they play, in seconds.
pub const SECONDS: u32 = 5;
/// They stay where they are for this long, in seconds: by then they reach each
/// other directly.
const WAIT: u32 = 9;
/// The players' names, in the order of their pacmen.
pub const PLAYERS: [&str; 2] = ["red", "blue"];

/// A direction in which a pacman turns.
#[derive(Message, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Heading {
    /// It stays where it is.
    #[default]
    Nowhere,
    /// Up.
    Up,
    /// Right.
    Right,
    /// Down.
    Down,
    /// Left.
    Left,
}

/// The maze with both pacmen.
#[derive(Value, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maze {
    /// The cells in which the pacmen are, counted along the rows.
    pub cells: [u8; 2],
    /// The pellets that each has eaten.
    pub points: [u8; 2],
    /// The cells that still have a pellet.
    pub pellets: u64,
    /// The steps that it has made.
    pub steps: u32,
    ways: [u8; 2],
}

impl Maze {
    fn new() -> Self {
        let open = |cell: &usize| !is_wall(*cell);
        let pellets = (0..SIDES[0] * SIDES[1]).filter(open);
        let pellets = pellets.fold(0, |all, cell| all | 1 << cell);
        let last = (SIDES[0] * SIDES[1] - 1) as u8;
        Self {
            cells: [0, last],
            points: [0; 2],
            pellets,
            steps: 0,
            ways: [0; 2],
        }
    }

    /// One step of both pacmen: red before blue.
    fn step(&mut self) {
        self.steps += 1;
        for pacman in 0..2 {
            let cell = usize::from(self.cells[pacman]);
            let cell = next(cell, self.ways[pacman]).unwrap_or(cell);
            self.cells[pacman] = cell as u8;
            if self.pellets & 1 << cell != 0 {
                self.pellets &= !(1 << cell);
                self.points[pacman] += 1;
            }
        }
    }
}

fn is_wall(cell: usize) -> bool {
    WALLS[cell / SIDES[0]].as_bytes()[cell % SIDES[0]] == b'#'
}

/// The open cell next to this one in a direction.
fn next(cell: usize, way: u8) -> Option<usize> {
    let (column, row) = (cell % SIDES[0], cell / SIDES[0]);
    let (column, row) = match way {
        1 => (column, row.checked_sub(1)?),
        2 => (column + 1, row),
        3 => (column, row + 1),
        4 => (column.checked_sub(1)?, row),
        _ => return None,
    };
    let is_inside = column < SIDES[0] && row < SIDES[1];
    let cell = row * SIDES[0] + column;
    (is_inside && !is_wall(cell)).then_some(cell)
}

/// The turns of a player: at each moment, a heading that depends on the
/// player's own screen.
fn turn(maze: &Maze, pacman: usize, dice: u64) -> Heading {
    let cell = usize::from(maze.cells[pacman]);
    let open: Vec<u8> =
        (1..=4).filter(|&way| next(cell, way).is_some()).collect();
    let has_pellet = |way: &u8| {
        next(cell, *way).is_some_and(|cell| maze.pellets & 1 << cell != 0)
    };
    let full: Vec<u8> = open.iter().copied().filter(has_pellet).collect();
    let ways = if full.is_empty() { open } else { full };
    match ways.get((dice % ways.len().max(1) as u64) as usize) {
        Some(1) => Heading::Up,
        Some(2) => Heading::Right,
        Some(3) => Heading::Down,
        Some(4) => Heading::Left,
        _ => Heading::Nowhere,
    }
}

/// The mazes that a player's screen shows, step by step.
pub type Screen = Vec<Maze>;

/// Both screens, and how they differ.
#[derive(Clone, Debug)]
pub struct Race {
    /// The screens of red and of blue.
    pub screens: [Screen; 2],
    /// The steps at which the screens differ.
    pub differing: usize,
}

impl Race {
    /// Whether both players saw the same.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let (is_right, steps) = (self.differing == 0, self.screens[0].len());
        let text = if is_right {
            format!("Both players see the same in all {steps} steps.")
        } else {
            format!(
                "The screens differ in {} of {steps} steps.",
                self.differing
            )
        };
        Verdict { is_right, text }
    }
}

impl World for Maze {
    type Input = Heading;
    const STEPS_PER_SECOND: u32 = STEPS_PER_SECOND;

    fn begin(_: u64) -> Self {
        Self::new()
    }

    fn step(&mut self, turn: &Turn<Heading>) {
        for (seat, heading) in &turn.inputs {
            if let Some(way) =
                pacman(*seat).map(|pacman| &mut self.ways[pacman])
            {
                *way = *heading as u8;
            }
        }
        self.step();
    }
}

/// The pacman of a seat: the first seat has the host, which has none.
fn pacman(seat: SeatId) -> Option<usize> {
    let pacman = usize::from(seat.0.checked_sub(2)?);
    (pacman < 2).then_some(pacman)
}

/// A player who steps an own maze by what it hears.
struct Alone {
    maze: Maze,
    player: Player,
}

samovar::game! { Alone: name = "alone", version = 1, messages = Heading }

/// A player in lockstep.
struct InStep {
    player: Player,
}

samovar::game! { InStep: name = "in-step", version = 1, world = Maze }

/// The mazes that both players have seen.
#[derive(Clone, Default)]
struct Screens(Arc<Mutex<[Screen; 2]>>);

impl Screens {
    fn lock(&self) -> MutexGuard<'_, [Screen; 2]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The steps that both screens show.
    fn race(&self) -> Race {
        let [red, blue] = &*self.lock();
        let pairs = red.iter().filter_map(|maze| {
            let other = blue.iter().find(|other| other.steps == maze.steps)?;
            Some((*maze, *other))
        });
        let (red, blue): (Screen, Screen) =
            pairs.take((SECONDS * STEPS_PER_SECOND) as usize).unzip();
        let differing =
            red.iter().zip(&blue).filter(|(one, other)| one != other).count();
        Race { screens: [red, blue], differing }
    }
}

/// A player at its screen.
#[derive(Clone, Default)]
struct Player {
    screens: Screens,
    /// When it saw all others, in seconds of the session.
    since: Option<f64>,
    turns: u64,
}

impl Player {
    /// Looks at the maze, once each step. Returns where to turn.
    fn look(
        &mut self,
        time: f64,
        pacman: usize,
        maze: &Maze,
    ) -> Option<Heading> {
        let since = *self.since.get_or_insert(time);
        let screen = &mut self.screens.lock()[pacman];
        let is_new = screen.last().is_none_or(|last| last.steps < maze.steps);
        if time - since < f64::from(WAIT) || !is_new {
            return None;
        }
        screen.push(*maze);
        self.turns += 1;
        Some(turn(maze, pacman, dice(pacman, self.turns)))
    }
}

/// A number that depends on these two alone.
fn dice(pacman: usize, number: u64) -> u64 {
    let mut x = (number << 8 | pacman as u64) ^ 0x9E37_79B9_7F4A_7C15;
    for _ in 0..2 {
        x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 27;
    }
    x
}

impl Game for Alone {
    const FRAMES_PER_SECOND: f64 = 60.0;

    fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
        let me = room.me();
        let Some(pacman) = me.and_then(|me| pacman(me.seat)) else { return };
        let step = (time * f64::from(STEPS_PER_SECOND)) as u32;
        if step <= self.maze.steps {
            return;
        }
        self.maze.step();
        self.maze.steps = step;
        let heading = self.player.look(time, pacman, &self.maze);
        let new = heading.filter(|to| *to as u8 != self.maze.ways[pacman]);
        if let Some(heading) = new {
            self.maze.ways[pacman] = heading as u8;
            room.tell(To::All, heading).or_log();
        }
    }

    fn message(&mut self, _: &mut Room<'_, Self>, from: &Member, to: Heading) {
        if let Some(pacman) = pacman(from.seat) {
            self.maze.ways[pacman] = to as u8;
        }
    }
}

impl Game for InStep {
    const FRAMES_PER_SECOND: f64 = 60.0;

    fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
        let me = room.me();
        let Some(pacman) = me.and_then(|me| pacman(me.seat)) else { return };
        let maze = *room.world();
        if let Some(heading) = self.player.look(time, pacman, &maze) {
            room.set_input(heading);
        }
    }
}

/// Lets the pacmen run, in lockstep or each on its own screen.
///
/// # Errors
/// A promise of the session was broken: a fault of the library.
pub fn race(in_step: bool, conditions: Conditions) -> Result<Race, String> {
    let mut plan = Plan::calm(conditions.seed, 3);
    plan.frame_rate = 60;
    plan.lasts = seconds(WAIT + SECONDS + 2);
    let lag = Duration::from_millis(conditions.lag.into());
    plan.lags.extend([(1, 2, lag), (2, 1, lag)]);
    if conditions.kills_host {
        let fault = Fault::Crash { who: Who::Player(0), back: None };
        plan.strike(u64::from(WAIT) * 1_000 + 2_500, fault);
    }
    let screens = Screens::default();
    let player = Player { screens: screens.clone(), ..Player::default() };
    if in_step {
        let begin =
            move |_: &mut Room<'_, InStep>| InStep { player: player.clone() };
        play_plan(plan, begin, |_| Ok(()))?;
    } else {
        let begin = move |_: &mut Room<'_, Alone>| Alone {
            maze: Maze::new(),
            player: player.clone(),
        };
        play_plan(plan, begin, |_| Ok(()))?;
    }
    Ok(screens.race())
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_millis(u64::from(seconds) * 1_000)
}
