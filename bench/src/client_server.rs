//! Traffic of a session at its host and at its members, in a mesh and in client-server.

use samovar_objects::{Kinded, Replicate, Schemas};
use samovar_peer::PathPolicy;
use samovar_wire::object::Traits;
use samovar_wire::{Duration, ObjectId};

use crate::motion::Motion;
use crate::network::Traffic;
use crate::options::Options;
use crate::report::{Report, Row};
use crate::room::Room;
use crate::state::State;

const MEMBERS: [usize; 4] = [4, 8, 16, 32];
const TICKS: u64 = 300;
/// Ticks before the measured ones, in which estimates settle.
const WARM_UP: u64 = 120;

/// A member's teapot, which moves on a table.
#[derive(Replicate)]
#[replicate(kind = 1)]
struct Teapot {
    #[replicate(range = 64.0, precision = 0.01, rate = velocity)]
    position: [f32; 2],
    #[replicate(range = 20.0, precision = 0.05)]
    velocity: [f32; 2],
}

impl From<&State> for Teapot {
    fn from(state: &State) -> Self {
        let flat = |[x, y, _]: [f32; 3]| [x, y];
        Self { position: flat(state.position), velocity: flat(state.velocity) }
    }
}

fn schemas() -> Schemas {
    Schemas::new().with(Teapot::schema())
}

/// Runs both kinds of paths with each number of members.
pub fn run(options: &Options, report: &mut Report) {
    const BENCH: &str = "client_server";
    if !options.wants(BENCH) {
        return;
    }
    for members in MEMBERS {
        for (paths, kind) in [(PathPolicy::ByHost, "by host"), (PathPolicy::Direct, "mesh")] {
            let cost = cost(members, paths);
            let mut add = |metric, value, unit| {
                let (bench, subject) = (BENCH.to_owned(), format!("samovar {kind} {members:>2}"));
                report.add(Row { bench, subject, metric, value, unit });
            };
            add("host_up_bytes", cost.host.0, "B/s");
            add("host_up_datagrams", cost.host.1, "1/s");
            add("member_up_bytes", cost.member.0, "B/s");
            add("member_up_datagrams", cost.member.1, "1/s");
            add("relayed", cost.relayed, "messages/s");
        }
    }
    report.print(BENCH);
}

/// Bytes and datagrams a second. `member` is the mean of the members that are neither host nor backup.
struct Cost {
    host: (f64, f64),
    member: (f64, f64),
    relayed: f64,
}

fn cost(members: usize, paths: PathPolicy) -> Cost {
    let mut room = Room::new(members, paths, schemas);
    let mut motion = Motion::new(1, members, false);
    let states = motion.states(0);
    let ids: Vec<ObjectId> =
        states.iter().enumerate().map(|(seat, state)| create(&mut room, seat, state)).collect();
    let mut tick = 0;
    let mut play = |room: &mut Room, ticks: u64| {
        for _ in 0..ticks {
            tick += 1;
            for (seat, state) in motion.states(tick).iter().enumerate() {
                let id = ids[seat];
                let teapot = Teapot::from(state);
                room.play(seat, |now, session| session.edit(now).write(id, &teapot))
                    .expect("its owner writes it");
            }
            room.flush();
            let at = |tick: u64| tick * 1_000_000 / 60;
            room.run(Duration::from_micros(at(tick + 1) - at(tick)));
        }
    };
    play(&mut room, WARM_UP);
    let (before, relayed_before) = room.sent();
    play(&mut room, TICKS);
    let (after, relayed) = room.sent();
    let seconds = TICKS as f64 / 60.0;
    let rate = |seat: usize| {
        let Traffic { bytes, datagrams } = after[seat];
        ((bytes - before[seat].bytes) as f64 / seconds, (datagrams - before[seat].datagrams) as f64 / seconds)
    };
    let backups = room.backups();
    let others: Vec<_> = (1..members).filter(|seat| !backups.contains(seat)).map(rate).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| others.iter().map(of).sum::<f64>() / others.len() as f64;
    Cost {
        host: rate(0),
        member: (mean(|rate| rate.0), mean(|rate| rate.1)),
        relayed: (relayed - relayed_before) as f64 / seconds,
    }
}

fn create(room: &mut Room, seat: usize, state: &State) -> ObjectId {
    let teapot = Teapot::from(state);
    let created =
        room.play(seat, |now, session| session.edit(now).create_as(Traits::of(Teapot::KIND), &teapot));
    created.expect("there is room for one object")
}
