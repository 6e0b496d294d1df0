//! Computes a step of the maze: stages, moves, bowls and touches.

use samovar_wire::SeatId;

use super::mover::{Mover, touch};
use super::plan::Plan;
use super::robot::{self, Errand};
use super::way::{Hand, Place, Way};
use super::{Maze, PUFFS, RATE, Role, Runner, Side};
use crate::rng::Rng;

/// Rounds that a side must win to win the match.
pub const WINS: u8 = 3;

/// The most rounds of a match: some rounds have no winner.
pub const ROUNDS: u8 = 7;

/// The longest time limit of a match, in seconds.
pub(super) const LIMIT_MAX: u16 = 3_600;

/// How far a teapot without a bowl goes in a frame, in [`TILE`](super::TILE)ths of a tile.
const SPEED: u8 = 10;

/// How far a teapot with a bowl goes in a frame, in the same parts of a tile.
const LADEN_SPEED: u8 = 8;

/// How far a robot without a bowl goes in a frame: a little less than a player, since a robot never misses a turn.
const ROBOT_SPEED: u8 = 9;

/// How far steam drifts in a frame, in the same parts of a tile.
const DRIFT: u8 = 4;

/// Frames that a teapot stays at its start after it was sent there.
pub(super) const OUT: u8 = 2 * RATE as u8;

/// The stage of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// A round is about to begin; no teapot moves.
    Ready,
    /// The round is being played.
    Play,
    /// The round is over; its winner, if there is one.
    Told(Option<Side>),
    /// The match is over; its winner, if there is one.
    Over(Option<Side>),
}

impl Stage {
    /// The most frames that the stage lasts.
    pub(super) const fn lasts(self) -> u16 {
        match self {
            Self::Ready => 3 * RATE,
            Self::Play => 90 * RATE,
            Self::Told(_) => 3 * RATE,
            Self::Over(_) => 8 * RATE,
        }
    }
}

/// An event of a step, for sounds and for the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MazeEvent {
    /// A teapot took the other side's bowl.
    Taken {
        /// The teapot.
        by: Role,
    },
    /// A teapot was sent home by a defender.
    SentHome {
        /// The teapot sent home.
        who: Role,
        /// The defender.
        by: Role,
        /// Whether the teapot had the bowl, which is now on its stand again.
        had_bowl: bool,
        /// The place.
        at: Place,
    },
    /// A teapot brought the other side's bowl home.
    Captured {
        /// The teapot.
        by: Role,
    },
    /// A round begins.
    Begins,
    /// A round is over; its winner, if there is one.
    RoundOver(Option<Side>),
    /// The match is over; its winner, if there is one.
    MatchOver(Option<Side>),
}

pub(super) fn runner_at_start(plan: &Plan, role: Role) -> Runner {
    let way = if role.side() == Side::Red { Way::Right } else { Way::Left };
    Runner { mover: Mover::at(plan.start(role), way), out: 0, errand: Errand::NONE, captures: 0, catches: 0 }
}

pub(super) fn steam(rng: &mut Rng) -> [Mover; PUFFS] {
    [(); PUFFS].map(|()| Mover::at(Plan::somewhere(rng), Way::Up))
}

impl Maze {
    /// Computes one step. `inputs` holds the inputs of all players for this frame, in rising order of seats.
    pub fn step(&mut self, inputs: &[(SeatId, Hand)]) -> Vec<MazeEvent> {
        let mut events = Vec::new();
        self.steps += 1;
        let playing: Vec<_> = inputs.iter().map(|&(seat, _)| seat).collect();
        let wish = |seat| inputs.iter().find(|(other, _)| *other == seat).and_then(|(_, hand)| hand.wish());
        self.seats.settle(&playing, wish);
        for (seat, role) in inputs.iter().filter_map(|(seat, hand)| Some((*seat, hand.wish()?))) {
            // A bowl stays with the player who took it.
            let own = self.seats.role_of(seat);
            if !self.carries(role) && own.is_some_and(|own| !self.carries(own)) {
                self.seats.change(seat, role);
            }
        }
        self.left = self.left.saturating_sub(1);
        if self.is_time_over() {
            self.enter(Stage::Over(self.ahead()), &mut events);
            return events;
        }
        match self.stage {
            Stage::Play => self.play(inputs, &mut events),
            _ if self.left > 0 => {}
            Stage::Ready => self.enter(Stage::Play, &mut events),
            Stage::Told(_) => {
                self.round += 1;
                self.set_up(&mut events);
            }
            Stage::Over(_) => {
                (self.round, self.begun, self.wins) = (1, self.steps, [0; 2]);
                for runner in &mut self.runners {
                    (runner.captures, runner.catches) = (0, 0);
                }
                self.set_up(&mut events);
            }
        }
        events
    }

    /// Whether this match has reached its time limit.
    fn is_time_over(&self) -> bool {
        let limit = u64::from(self.limit) * u64::from(RATE);
        limit > 0 && !matches!(self.stage, Stage::Over(_)) && self.steps.saturating_sub(self.begun) >= limit
    }

    /// The side that has won more rounds; `None` if both have won equally many.
    fn ahead(&self) -> Option<Side> {
        let [red, blue] = self.wins;
        match red.cmp(&blue) {
            std::cmp::Ordering::Greater => Some(Side::Red),
            std::cmp::Ordering::Equal => None,
            std::cmp::Ordering::Less => Some(Side::Blue),
        }
    }

    fn enter(&mut self, stage: Stage, events: &mut Vec<MazeEvent>) {
        (self.stage, self.left) = (stage, stage.lasts());
        match stage {
            Stage::Ready => {}
            Stage::Play => events.push(MazeEvent::Begins),
            Stage::Told(winner) => events.push(MazeEvent::RoundOver(winner)),
            Stage::Over(winner) => events.push(MazeEvent::MatchOver(winner)),
        }
    }

    /// Sets up a new round: new walls, and all teapots at their starts.
    fn set_up(&mut self, events: &mut Vec<MazeEvent>) {
        self.plan = Plan::new(self.rng.next_u64());
        self.steam = steam(&mut self.rng);
        self.carriers = [None; 2];
        for role in Role::ALL {
            let Runner { captures, catches, .. } = self.runners[role.index()];
            self.runners[role.index()] = Runner { captures, catches, ..runner_at_start(&self.plan, role) };
        }
        self.enter(Stage::Ready, events);
    }

    fn play(&mut self, inputs: &[(SeatId, Hand)], events: &mut Vec<MazeEvent>) {
        for role in Role::ALL {
            self.move_runner(role, inputs);
        }
        for puff in 0..PUFFS {
            self.drift(puff);
        }
        for role in Role::ALL {
            self.meet(role, events);
        }
        for role in Role::ALL {
            self.take(role, events);
        }
        self.score(events);
    }

    fn move_runner(&mut self, role: Role, inputs: &[(SeatId, Hand)]) {
        let is_laden = self.carries(role);
        let seat = self.seats.of(role);
        let runner = &mut self.runners[role.index()];
        if runner.out > 0 {
            runner.out -= 1;
            return;
        }
        let speed = match (is_laden, seat) {
            (true, _) => LADEN_SPEED,
            (false, None) => ROBOT_SPEED,
            (false, Some(_)) => SPEED,
        };
        let hand = match seat {
            Some(seat) => {
                inputs.iter().find(|(other, _)| *other == seat).map_or(Hand::default(), |&(_, hand)| hand)
            }
            None => {
                runner.errand.pass(role.side(), &self.plan, &mut self.rng);
                // Between two tiles a robot goes straight on. It chooses a direction only in the middle of a tile.
                let middle = runner.mover.next_middle(speed);
                middle.map_or(Hand::default(), |middle| robot::hand(self, role, middle))
            }
        };
        let Self { plan, steam, runners, .. } = self;
        let mover = &mut runners[role.index()].mover;
        mover.turn_back(hand);
        let is_free = |place: Place| !steam.iter().any(|puff| puff.holds(place));
        mover.go_on(speed, |mover| {
            mover.wishes(hand).find(|&way| plan.next(mover.place, way).is_some_and(is_free))
        });
    }

    /// Moves a puff of steam in a random direction. The puff turns back only when no other direction is free. It
    /// enters neither a teapot's tile nor a tile that is kept clear.
    fn drift(&mut self, puff: usize) {
        let Self { plan, steam, runners, rng, .. } = self;
        let Some(puff) = steam.get_mut(puff) else { return };
        let is_free = |place: Place| {
            !plan.is_kept_clear(place) && !runners.iter().any(|runner| runner.mover.holds(place))
        };
        puff.go_on(DRIFT, |mover| {
            let is_open = |way: &Way| plan.next(mover.place, *way).is_some_and(is_free);
            let back = mover.way.back();
            let onward: Vec<_> = Way::ALL.into_iter().filter(|&way| way != back && is_open(&way)).collect();
            onward.get(rng.below(onward.len() as u32) as usize).copied().or(Some(back).filter(is_open))
        });
    }

    /// Sends the teapot `who` home if a defender touches it on the defender's ground.
    fn meet(&mut self, who: Role, events: &mut Vec<MazeEvent>) {
        let (runner, foreign) = (self.teapot(who), who.side().other());
        let at = runner.mover.here();
        if runner.out > 0 || Side::of(at) != Some(foreign) {
            return;
        }
        let defender = Role::ALL.into_iter().filter(|role| role.side() == foreign).find(|&role| {
            let other = self.teapot(role);
            other.out == 0
                && Side::of(other.mover.here()) == Some(foreign)
                && touch(&other.mover, &runner.mover)
        });
        let Some(by) = defender else { return };
        let had_bowl = self.carries(who);
        if had_bowl {
            self.carriers[foreign.index()] = None;
        }
        let start = runner_at_start(&self.plan, who);
        let runner = &mut self.runners[who.index()];
        *runner = Runner { mover: start.mover, out: OUT, errand: Errand::NONE, ..runner.clone() };
        let catches = &mut self.runners[by.index()].catches;
        *catches = catches.saturating_add(1);
        events.push(MazeEvent::SentHome { who, by, had_bowl, at });
    }

    /// Gives the other side's bowl to the teapot `by` if it is at the bowl's stand.
    fn take(&mut self, by: Role, events: &mut Vec<MazeEvent>) {
        let foreign = by.side().other();
        let runner = self.teapot(by);
        let is_there = runner.out == 0 && runner.mover.here() == self.plan.base(foreign);
        if is_there && self.carriers[foreign.index()].is_none() {
            self.carriers[foreign.index()] = Some(by);
            events.push(MazeEvent::Taken { by });
        }
    }

    /// Ends the round when a bowl has been brought home or the time is up. If both sides bring one home in the same
    /// frame, each wins a round.
    fn score(&mut self, events: &mut Vec<MazeEvent>) {
        let home = Side::BOTH.map(|side| {
            let by = self.carrier(side.other())?;
            (self.teapot(by).mover.here() == self.plan.base(side)).then_some(by)
        });
        for by in home.into_iter().flatten() {
            let side = by.side();
            self.wins[side.index()] += 1;
            let captures = &mut self.runners[by.index()].captures;
            *captures = captures.saturating_add(1);
            self.carriers[side.other().index()] = None;
            events.push(MazeEvent::Captured { by });
        }
        let winner = match home {
            [Some(by), None] | [None, Some(by)] => Some(by.side()),
            [Some(_), Some(_)] => None,
            [None, None] if self.left == 0 => None,
            [None, None] => return,
        };
        let [red, blue] = self.wins;
        if red.max(blue) >= WINS || self.round >= ROUNDS {
            self.enter(Stage::Over(self.ahead()), events);
        } else {
            self.enter(Stage::Told(winner), events);
        }
    }
}
