//! Whole matches, stepped without sessions: the invariants of every state under any inputs.

use std::collections::BTreeSet;

use samovar_duel::maze::{Hand, Maze, MazeEvent, Mover, Place, RATE, Role, Side, Stage, TILE, WINS};
use samovar_duel::rng::Rng;
use samovar_wire::SeatId;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

/// Inputs of members that come and go and act at random.
struct Crowd {
    rng: Rng,
    hands: Vec<(SeatId, Hand)>,
}

impl Crowd {
    fn new(seed: u64) -> Self {
        Self { rng: Rng::new(seed), hands: Vec::new() }
    }

    fn inputs(&mut self) -> &[(SeatId, Hand)] {
        if self.rng.below(200) == 0 {
            let seat = SeatId(self.rng.below(7) as u16);
            match self.hands.iter().position(|&(other, _)| other == seat) {
                Some(at) => drop(self.hands.remove(at)),
                None => self.hands.push((seat, Hand::default())),
            }
            self.hands.sort_by_key(|&(seat, _)| seat);
        }
        for (_, hand) in &mut self.hands {
            if self.rng.below(12) == 0 {
                *hand = Hand::from_byte(self.rng.next_u64() as u8);
            }
        }
        &self.hands
    }
}

/// The tiles that a mover is on: one, or the two that it is between.
fn tiles(mover: &Mover) -> BTreeSet<Place> {
    let ((x, y), tile) = (mover.position(), i32::from(TILE));
    assert!(x % tile == 0 || y % tile == 0, "movers do not cut corners");
    let up = |value: i32| (value + tile - 1) / tile;
    [(x / tile, y / tile), (up(x), up(y))].map(|(x, y)| Place { x: x as u8, y: y as u8 }).into()
}

fn assert_sound(maze: &Maze) {
    let runners = Role::ALL.map(|role| maze.teapot(role).mover());
    for mover in runners.into_iter().chain(maze.steam()) {
        assert!(tiles(mover).into_iter().all(|place| maze.plan().is_open(place)), "{mover:?} is in a wall");
    }
    for (puff, runner) in maze.steam().iter().flat_map(|puff| runners.map(|runner| (puff, runner))) {
        assert!(tiles(puff).is_disjoint(&tiles(runner)), "{puff:?} is where {runner:?} is");
    }
    for side in Side::BOTH {
        assert!(maze.carrier(side).is_none_or(|role| role.side() != side), "a bowl is with its own side");
        assert!(maze.wins(side) <= WINS);
    }
    let seats: Vec<_> = Role::ALL.into_iter().filter_map(|role| maze.seat_of(role)).collect();
    assert_eq!(seats.iter().collect::<BTreeSet<_>>().len(), seats.len(), "one seat has two teapots");
}

#[test]
fn the_same_inputs_lead_to_the_same_state_on_every_machine() {
    let (mut maze, mut crowd) = (Maze::new(2_026), Crowd::new(11));
    for _ in 0..6_000 {
        maze.step(crowd.inputs());
    }
    // A change of the rules changes this checksum, and a change of machine does not. The test runs natively and in
    // wasm.
    assert_eq!(format!("{:016x}", maze.checksum()), "6b447c25f1cbc6c2");
}

#[test]
fn walls_steam_and_bowls_keep_their_rules_whatever_players_do() {
    for seed in 0..12 {
        let (mut maze, mut crowd) = (Maze::new(seed), Crowd::new(seed));
        for _ in 0..4_000 {
            maze.step(crowd.inputs());
            assert_sound(&maze);
        }
    }
}

#[test]
fn a_score_grows_only_by_captures_that_end_the_round() {
    for seed in 0..10 {
        let (mut maze, mut crowd) = (Maze::new(seed), Crowd::new(seed + 100));
        for _ in 0..6_000 {
            let before = Side::BOTH.map(|side| maze.wins(side));
            let was_playing = maze.stage().0 == Stage::Play;
            let events = maze.step(crowd.inputs());
            let begins_anew = before != [0; 2] && Side::BOTH.map(|side| maze.wins(side)) == [0; 2];
            for side in Side::BOTH.into_iter().filter(|_| !begins_anew) {
                let captured =
                    |event: &&MazeEvent| matches!(event, MazeEvent::Captured { by } if by.side() == side);
                let captures = events.iter().filter(captured).count();
                assert_eq!(usize::from(maze.wins(side) - before[side as usize]), captures);
                assert!(captures == 0 || was_playing && maze.stage().0 != Stage::Play);
            }
        }
    }
}

#[test]
fn a_bowl_is_taken_before_it_is_brought_home_and_by_one_teapot() {
    for seed in 0..10 {
        let mut maze = Maze::new(seed);
        let mut carriers: [Option<Role>; 2] = [None; 2];
        for _ in 0..6_000 {
            for event in maze.step(&[]) {
                match event {
                    MazeEvent::Taken { by } => {
                        assert_eq!(carriers[by.side() as usize].replace(by), None);
                    }
                    MazeEvent::SentHome { who, had_bowl, .. } => {
                        assert_eq!(
                            carriers[who.side() as usize].take_if(|by| *by == who).is_some(),
                            had_bowl
                        );
                    }
                    MazeEvent::Captured { by } => {
                        assert_eq!(carriers[by.side() as usize].take(), Some(by));
                    }
                    MazeEvent::RoundOver(_) | MazeEvent::MatchOver(_) => carriers = [None; 2],
                    _ => {}
                }
            }
        }
    }
}

#[test]
fn robots_bring_two_bowls_home_within_five_minutes() {
    let mut lasts = Vec::new();
    for seed in 0..8 {
        let mut maze = Maze::new(seed);
        let mut captures = 0;
        for _ in 0..9_000 {
            let events = maze.step(&[]);
            captures += events.iter().filter(|event| matches!(event, MazeEvent::Captured { .. })).count();
        }
        lasts.push(captures);
    }
    // 9,000 frames are five minutes. Most rounds of robots end with a capture.
    assert!(lasts.iter().all(|&captures| captures >= 2), "{lasts:?}");
}

#[test]
fn a_leaver_is_replaced_in_the_same_frame() {
    let mut maze = Maze::new(1);
    let hands = |seats: &[u16]| seats.iter().map(|&seat| (SeatId(seat), Hand::default())).collect::<Vec<_>>();
    maze.step(&hands(&[1, 2, 3, 4, 5]));
    assert_eq!(maze.role_of(SeatId(5)), None, "a fifth member watches");
    let role = maze.role_of(SeatId(2)).expect("it is one of four");
    maze.step(&hands(&[1, 3, 4, 5]));
    assert_eq!(maze.role_of(SeatId(5)), Some(role));
    maze.step(&hands(&[1, 3, 4]));
    assert_eq!(maze.seat_of(role), None, "a robot goes on");
}

#[test]
fn a_loaded_state_continues_like_the_saved_one() {
    let (mut maze, mut crowd) = (Maze::new(5), Crowd::new(6));
    for _ in 0..40 {
        for _ in 0..113 {
            maze.step(crowd.inputs());
        }
        let mut loaded = Maze::load(&maze.save()).expect("it was saved");
        assert_eq!(loaded, maze);
        let inputs = crowd.inputs().to_vec();
        for _ in 0..50 {
            assert_eq!(loaded.step(&inputs), maze.step(&inputs));
        }
        assert_eq!((loaded.checksum(), loaded.fields()), (maze.checksum(), maze.fields()));
        assert!(maze.save().len() < 1_000);
    }
}

#[test]
fn fields_name_the_part_in_which_two_states_differ() {
    let (mut here, mut there) = (Maze::new(3), Maze::new(3));
    for _ in 0..120 {
        here.step(&[(SeatId(1), Hand::default())]);
        there.step(&[(SeatId(2), Hand::default())]);
    }
    let differing: Vec<_> =
        here.fields().into_iter().zip(there.fields()).filter(|(a, b)| a != b).map(|(a, _)| a.name).collect();
    assert_eq!(differing, ["seats"]);
    assert_ne!(here.checksum(), there.checksum());
}

#[test]
fn hostile_states_are_refused_or_valid() {
    let (mut maze, mut crowd) = (Maze::new(8), Crowd::new(9));
    for _ in 0..2_000 {
        maze.step(crowd.inputs());
    }
    let (bytes, mut rng) = (maze.save(), Rng::new(1));
    for length in 0..bytes.len() {
        assert!(Maze::load(&bytes[..length]).is_err());
    }
    assert!(Maze::load(&[&bytes[..], &[0]].concat()).is_err());
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut mutated = bytes.clone();
        for _ in 0..=rng.below(3) {
            let at = rng.below(mutated.len() as u32) as usize;
            mutated[at] = rng.next_u64() as u8;
        }
        if let Ok(mut other) = Maze::load(&mutated) {
            accepted += 1;
            assert_eq!(other.save(), mutated);
            (0..20).for_each(|_| drop(other.step(&[])));
        }
    }
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn each_match_ends_at_its_own_time_limit() {
    let mut maze = Maze::new(5).with_limit(20);
    let frames = 20 * u64::from(RATE);
    let mut ends = Vec::new();
    for _ in 0..3 * frames {
        if maze.step(&[]).iter().any(|event| matches!(event, MazeEvent::MatchOver(_))) {
            ends.push(maze.steps());
        }
        assert_eq!(Maze::load(&maze.save()), Ok(maze.clone()));
    }
    let pause = 8 * u64::from(RATE);
    assert_eq!(ends, [frames, 2 * frames + pause]);
}
