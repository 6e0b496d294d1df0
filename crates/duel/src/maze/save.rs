//! The state as bytes, for late joiners; its checksum, and its named parts.

use samovar_wire::SeatId;
use samovar_wire::lockstep::FieldHash;

use super::bout::{LIMIT_MAX, OUT, Stage};
use super::mover::Mover;
use super::plan::Plan;
use super::robot::Errand;
use super::seats::{Seats, WAITING_MAX};
use super::way::{HEIGHT, Place, TILE, WIDTH, Way};
use super::{Maze, PUFFS, ROUNDS, Role, Runner, Side, WINS};
use crate::codec::{DecodeError, Reader};
use crate::rng::Rng;

/// The first byte of a saved state; it changes with the format.
const VERSION: u8 = 3;

/// The byte that stands for no side, no role or no place.
const NONE: u8 = u8::MAX;

/// FNV-1a, by G. Fowler, L. C. Noll and K.-P. Vo: enough to detect accidental differences.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

impl Maze {
    /// The whole state: about 160 bytes, and two more for each member that waits for a place.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        bytes.extend(self.parts().into_iter().flat_map(|(_, part)| part));
        bytes
    }

    /// Reads a state that [`Maze::save`] wrote.
    ///
    /// # Errors
    /// The bytes are no state: cut off, too long, of another version, or against the rules. Reading any bytes takes
    /// no more than a few kilobytes and the time of a few steps.
    pub fn load(bytes: &[u8]) -> Result<Self, DecodeError> {
        let reader = &mut Reader::new(bytes);
        let version = reader.u8()?;
        if version != VERSION {
            return Err(DecodeError::UnknownTag(version));
        }
        let (steps, rng, plan) = (reader.u64()?, Rng::new(reader.u64()?), Plan::new(reader.u64()?));
        let (stage, left, round) = (read_stage(reader)?, reader.u16()?, reader.u8()?);
        ensure(left <= stage.lasts() && (1..=ROUNDS).contains(&round))?;
        let (limit, begun) = (reader.u16()?, reader.u64()?);
        ensure(limit <= LIMIT_MAX && begun <= steps)?;
        let wins = [reader.u8()?, reader.u8()?];
        ensure(wins.into_iter().all(|wins| wins <= WINS))?;
        let runners = [(); 4].map(|()| read_runner(reader, &plan));
        let carriers = [(); 2].map(|()| read_role(reader));
        let steam = [(); PUFFS].map(|()| read_mover(reader, &plan));
        let seats = read_seats(reader)?;
        let [a, b, c, d] = runners;
        let [red, blue] = carriers;
        let [e, f, g] = steam;
        let maze = Self {
            steps,
            rng,
            plan,
            stage,
            left,
            round,
            limit,
            begun,
            wins,
            runners: [a?, b?, c?, d?],
            carriers: [red?, blue?],
            steam: [e?, f?, g?],
            seats,
        };
        let is_foreign = |side: Side| maze.carrier(side).is_none_or(|role| role.side() != side);
        ensure(Side::BOTH.into_iter().all(is_foreign))?;
        // Only the exact bytes that `save` writes are accepted.
        ensure(maze.save() == bytes)?;
        Ok(maze)
    }

    /// A number that is equal for equal states. Two different states have the same number about once in 2^64 cases.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        hash(&self.save())
    }

    /// The state's parts, each with a hash, for a report of two states that differ.
    #[must_use]
    pub fn fields(&self) -> Vec<FieldHash> {
        let name = |(name, part): (&str, Vec<u8>)| FieldHash { name: name.to_owned(), hash: hash(&part) };
        self.parts().into_iter().map(name).collect()
    }

    fn parts(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut stage = Vec::new();
        write_stage(self.stage, &mut stage);
        stage.extend(self.left.to_le_bytes());
        stage.push(self.round);
        stage.extend(self.limit.to_le_bytes());
        stage.extend(self.begun.to_le_bytes());
        let mut parts = vec![
            ("steps", self.steps.to_le_bytes().to_vec()),
            ("random", self.rng.state().to_le_bytes().to_vec()),
            ("walls", self.plan.seed().to_le_bytes().to_vec()),
            ("stage", stage),
            ("score", self.wins.to_vec()),
        ];
        for role in Role::ALL {
            let mut part = Vec::new();
            write_runner(self.teapot(role), &mut part);
            parts.push((role.name(), part));
        }
        parts.push(("bowls", self.carriers.map(role_number).to_vec()));
        let mut steam = Vec::new();
        self.steam.iter().for_each(|puff| write_mover(puff, &mut steam));
        parts.push(("steam", steam));
        let mut seats = Vec::new();
        write_seats(&self.seats, &mut seats);
        parts.push(("seats", seats));
        parts
    }
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(FNV_OFFSET, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

fn ensure(is_so: bool) -> Result<(), DecodeError> {
    is_so.then_some(()).ok_or(DecodeError::OutOfRange)
}

fn write_stage(stage: Stage, out: &mut Vec<u8>) {
    let side = |side: Option<Side>| side.map_or(NONE, |side| side as u8);
    out.extend(match stage {
        Stage::Ready => [0, NONE],
        Stage::Play => [1, NONE],
        Stage::Told(winner) => [2, side(winner)],
        Stage::Over(winner) => [3, side(winner)],
    });
}

fn read_stage(reader: &mut Reader<'_>) -> Result<Stage, DecodeError> {
    let (tag, side) = (reader.u8()?, reader.u8()?);
    let side = match side {
        NONE => None,
        number => Some(*Side::BOTH.get(usize::from(number)).ok_or(DecodeError::OutOfRange)?),
    };
    match tag {
        0 => Ok(Stage::Ready),
        1 => Ok(Stage::Play),
        2 => Ok(Stage::Told(side)),
        3 => Ok(Stage::Over(side)),
        tag => Err(DecodeError::UnknownTag(tag)),
    }
}

fn role_number(role: Option<Role>) -> u8 {
    role.map_or(NONE, |role| role as u8)
}

fn read_role(reader: &mut Reader<'_>) -> Result<Option<Role>, DecodeError> {
    match reader.u8()? {
        NONE => Ok(None),
        number => Role::ALL.get(usize::from(number)).copied().map(Some).ok_or(DecodeError::OutOfRange),
    }
}

fn write_mover(mover: &Mover, out: &mut Vec<u8>) {
    let Mover { place, way, gone } = mover;
    out.extend([place.x, place.y, way.number(), *gone]);
}

fn read_mover(reader: &mut Reader<'_>, plan: &Plan) -> Result<Mover, DecodeError> {
    let place = Place { x: reader.u8()?, y: reader.u8()? };
    let way = *Way::ALL.get(usize::from(reader.u8()?)).ok_or(DecodeError::OutOfRange)?;
    let mover = Mover { place, way, gone: reader.u8()? };
    ensure(plan.is_open(place) && mover.gone < TILE)?;
    ensure(mover.gone == 0 || plan.next(place, way).is_some())?;
    Ok(mover)
}

fn write_runner(runner: &Runner, out: &mut Vec<u8>) {
    write_mover(&runner.mover, out);
    let post = runner.errand.post.map_or([NONE; 2], |place| [place.x, place.y]);
    out.extend([runner.out, post[0], post[1]]);
    out.extend(runner.errand.left.to_le_bytes());
    out.extend([runner.captures, runner.catches]);
}

fn read_runner(reader: &mut Reader<'_>, plan: &Plan) -> Result<Runner, DecodeError> {
    let mover = read_mover(reader, plan)?;
    let out = reader.u8()?;
    let post = match [reader.u8()?, reader.u8()?] {
        [NONE, NONE] => None,
        [x, y] => Some(Place { x, y }),
    };
    let errand = Errand { post, left: reader.u16()? };
    ensure(out <= OUT && errand.left <= Errand::LEFT_MAX)?;
    ensure(post.is_none_or(|place| place.x < WIDTH && place.y < HEIGHT))?;
    Ok(Runner { mover, out, errand, captures: reader.u8()?, catches: reader.u8()? })
}

/// The marks of a role that a player has, and of one that a player had last. Zero stands for no player so far.
const TAKEN: u8 = 1;
const HAD: u8 = 2;

fn write_seats(seats: &Seats, out: &mut Vec<u8>) {
    for (role, last) in seats.roles.iter().zip(seats.last) {
        out.push(match (role, last) {
            (Some(_), _) => TAKEN,
            (None, Some(_)) => HAD,
            (None, None) => 0,
        });
        out.extend(last.unwrap_or(SeatId(0)).0.to_le_bytes());
    }
    // At most WAITING_MAX members wait, so their number fits.
    out.push(seats.waiting.len() as u8);
    out.extend(seats.waiting.iter().flat_map(|seat| seat.0.to_le_bytes()));
}

fn read_seats(reader: &mut Reader<'_>) -> Result<Seats, DecodeError> {
    let mut seats = Seats::default();
    for (role, last) in seats.roles.iter_mut().zip(&mut seats.last) {
        let (mark, seat) = (reader.u8()?, reader.u16()?);
        *role = (mark == TAKEN).then_some(SeatId(seat));
        *last = [TAKEN, HAD].contains(&mark).then_some(SeatId(seat));
    }
    let waiting = usize::from(reader.u8()?);
    debug_assert!(waiting <= WAITING_MAX, "a byte counts no further");
    for _ in 0..waiting {
        seats.waiting.push(SeatId(reader.u16()?));
    }
    let all: Vec<_> = seats.roles.iter().flatten().chain(&seats.waiting).collect();
    let last: Vec<_> = seats.last.iter().flatten().collect();
    for seats in [all, last] {
        ensure(seats.iter().enumerate().all(|(at, seat)| !seats[..at].contains(seat)))?;
    }
    Ok(seats)
}
