use super::*;
use crate::arena::{SPAWN_POINTS, TEA_TABLE};
use crate::cube::{Cooldown, Launch};
use crate::hits::{Struck, Sweep, Target};
use crate::scores::Scoreboard;
use crate::teapot::{Surroundings, Teapot};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const START: u64 = 50_000_000;

/// The source of a teapot's controls in a test.
enum Driver {
    Robot(Box<Robot>),
    /// A function of the time alone, in seconds since the start.
    Scripted(fn(f32) -> Controls),
}

struct Contestant {
    player: PlayerKey,
    driver: Driver,
    teapot: Teapot,
    cooldown: Cooldown,
    was_on_table: bool,
    shots: u32,
    /// The time that the teapot has stayed near `stood_at`, in seconds.
    stood: f32,
    stood_at: Vec2,
}

/// A duel by all the rules, without a network.
struct Duel {
    now: u64,
    contestants: Vec<Contestant>,
    cubes: Vec<Launch>,
    board: Scoreboard,
    /// Whether robots treat a teapot that follows a script as a person's.
    knows_people: bool,
    longest_stand: f32,
    distances: Vec<f32>,
}

impl Duel {
    fn new(drivers: Vec<Driver>) -> Self {
        let mut board = Scoreboard::default();
        let contestants = drivers.into_iter().enumerate().map(|(index, driver)| {
            let player = PlayerKey::Robot(index as u8);
            board.join(player, robot_name(index as u8), Default::default()).unwrap();
            let spawn = TEA_TABLE.spawn(index * SPAWN_POINTS / 4 + index / 4);
            Contestant {
                player,
                driver,
                teapot: Teapot::new(spawn),
                cooldown: Cooldown::default(),
                was_on_table: true,
                shots: 0,
                stood: 0.0,
                stood_at: spawn.position,
            }
        });
        let contestants = contestants.collect();
        Self {
            now: START,
            contestants,
            cubes: vec![],
            board,
            knows_people: true,
            longest_stand: 0.0,
            distances: vec![],
        }
    }

    fn robots(count: u64, seed: u64) -> Self {
        let robot = |index| Driver::Robot(Box::new(Robot::new(seed * 1_000 + index)));
        Self::new((0..count).map(robot).collect())
    }

    /// The teapots on the table, without that of the player `but`.
    fn rivals(&self, but: PlayerKey) -> Vec<Rival> {
        let others = self.contestants.iter().filter(|each| each.player != but);
        let points = |player| self.board.row(player).map_or(0, |row| row.score);
        others
            .filter_map(|each| {
                let behind = match each.driver {
                    Driver::Robot(_) => 0,
                    Driver::Scripted(_) if !self.knows_people => 0,
                    Driver::Scripted(_) => points(but).saturating_sub(points(each.player)),
                };
                let phase = self.board.phase(each.player, self.now);
                let is_vulnerable = phase.is_vulnerable();
                let motion = each.teapot.motion();
                phase.is_on_table().then_some(Rival { player: each.player, motion, is_vulnerable, behind })
            })
            .collect()
    }

    fn run(&mut self, seconds: u64, frame: u64) {
        let end = self.now + seconds * 1_000_000;
        while self.now < end {
            let before = self.now;
            self.now += frame;
            for index in 0..self.contestants.len() {
                self.drive(index, frame);
            }
            self.decide_hits(before);
            self.watch();
        }
    }

    fn drive(&mut self, index: usize, frame: u64) {
        let rivals = self.rivals(self.contestants[index].player);
        let places: Vec<Vec2> = rivals.iter().map(|rival| rival.motion.position).collect();
        let (now, board) = (self.now, &self.board);
        let each = &mut self.contestants[index];
        let is_on_table = board.phase(each.player, now).is_on_table();
        if is_on_table && !each.was_on_table {
            each.teapot = Teapot::new(TEA_TABLE.farthest_spawn(each.player.preference(), &places));
        }
        each.was_on_table = is_on_table;
        if !is_on_table {
            return;
        }
        let own = each.teapot.motion();
        let controls = match &mut each.driver {
            Driver::Robot(robot) => {
                robot.drive(&Sight { now, own, rivals: &rivals, treat: None, arena: &TEA_TABLE })
            }
            Driver::Scripted(script) => script((now - START) as f32 * 1e-6),
        };
        assert_eq!(controls, controls.sanitised(), "robots ask for what a handle can do");
        each.teapot.step(frame, controls, &Surroundings { arena: &TEA_TABLE, others: &places });
        if controls.fire {
            assert!(each.cooldown.try_fire(now), "robots wait until the spout is ready");
            each.shots += 1;
            self.cubes.push(Launch::from_spout(each.player, &each.teapot.motion(), now));
        }
    }

    fn decide_hits(&mut self, from: u64) {
        let (to, board) = (self.now, &mut self.board);
        let contestants = &self.contestants;
        self.cubes.retain(|launch| {
            let targets: Vec<Target> = contestants
                .iter()
                .filter(|each| board.phase(each.player, to).is_on_table())
                .map(|each| {
                    let Motion { position, velocity, .. } = each.teapot.motion();
                    Target { player: each.player, position, velocity }
                })
                .collect();
            let impact = Sweep { launch, from, to }.first_impact(&TEA_TABLE, &targets);
            if let Some(Struck::Teapot(struck)) = impact.map(|impact| impact.struck) {
                board.record_hit(launch.shot(), struck, to);
            }
            impact.is_none()
        });
    }

    fn watch(&mut self) {
        for each in &mut self.contestants {
            let place = each.teapot.motion().position;
            assert!(TEA_TABLE.is_free(place, BODY_RADIUS - 0.1), "{place:?}");
            if distance(place, each.stood_at) > 0.5 || !each.was_on_table {
                each.stood_at = place;
                each.stood = 0.0;
            }
            each.stood += 1.0 / 60.0;
            if matches!(each.driver, Driver::Robot(_)) {
                self.longest_stand = self.longest_stand.max(each.stood);
            }
        }
        for one in 0..self.contestants.len() {
            let rivals = self.rivals(self.contestants[one].player);
            if !self.contestants[one].was_on_table {
                continue;
            }
            let own = self.contestants[one].teapot.motion().position;
            let nearest = rivals.iter().map(|each| distance(own, each.motion.position));
            self.distances.extend(nearest.reduce(f32::min));
        }
    }

    fn score(&self, index: usize) -> u32 {
        self.board.row(self.contestants[index].player).unwrap().score.into()
    }
}

/// The distances to the nearest other robot: a tenth of them is below the first, half of them below the second.
fn tenth_and_half(mut distances: Vec<f32>) -> (f32, f32) {
    distances.sort_by(f32::total_cmp);
    (distances[distances.len() / 10], distances[distances.len() / 2])
}

#[test]
fn robots_fight_keep_moving_and_do_not_clump() {
    for (count, seed) in [(2, 0), (3, 1), (4, 2), (8, 3)] {
        let mut duel = Duel::robots(count, seed);
        duel.run(120, 16_667);
        for index in 0..count as usize {
            assert!(duel.score(index) >= 3, "robot {index} of {count} made {} points", duel.score(index));
        }
        assert!(duel.longest_stand < 4.0, "one of {count} stood for {} s", duel.longest_stand);
        let (tenth, half) = tenth_and_half(duel.distances);
        assert!(
            tenth > 3.0 && (half > 6.0 || count == 8),
            "of {count}, the nearest is at {tenth} and {half}"
        );
    }
}

#[test]
fn eight_robots_keep_apart() {
    // One duel tells little: with another seed, or the arithmetic of another platform, everything in it goes otherwise.
    // In sixteen duels, four at a time, the tenth is 3.3 to 3.5, and without the urge to keep apart 2.6 to 3.1.
    let mut distances = Vec::new();
    for seed in 0..4 {
        let mut duel = Duel::robots(8, seed);
        duel.run(120, 16_667);
        distances.append(&mut duel.distances);
    }
    let (tenth, half) = tenth_and_half(distances);
    assert!(tenth > 3.1 && half > 5.7, "the nearest is at {tenth} and {half}");
}

#[test]
fn robots_miss_often_and_miss_moving_players_more_often() {
    let circle = |_| Controls { throttle: 1.0, turn: 0.5, fire: false };
    let scripts: [fn(f32) -> Controls; 2] = [|_| Controls::default(), circle];
    let hits = scripts.map(|script| {
        let (mut shots, mut hits) = (0, 0);
        for seed in 0..6 {
            let robot = Driver::Robot(Box::new(Robot::new(seed)));
            let mut duel = Duel::new(vec![robot, Driver::Scripted(script)]);
            duel.run(60, 16_667);
            shots += duel.contestants[0].shots;
            hits += duel.score(0);
        }
        assert!((0.3..0.85).contains(&(hits as f32 / shots as f32)), "{hits} hits with {shots} shots");
        hits
    });
    assert!(hits[0] > hits[1] && hits[1] > 10, "{hits:?}");
    assert!(hits[0] < 6 * 60 / 5, "more than a hit in five seconds is no fun: {hits:?}");
}

#[test]
fn a_robot_that_leads_hits_a_person_less_often() {
    let hits = [false, true].map(|is_person| {
        let points = |seed| {
            let script: fn(f32) -> Controls = |_| Controls::default();
            let robot = Driver::Robot(Box::new(Robot::new(seed)));
            let mut duel = Duel::new(vec![robot, Driver::Scripted(script)]);
            duel.knows_people = is_person;
            duel.run(120, 16_667);
            duel.score(0)
        };
        (0..6).map(points).sum::<u32>()
    });
    assert!(hits[1] * 3 < hits[0] * 2, "{hits:?}");
}

#[test]
fn robots_play_alike_at_every_frame_rate() {
    let accuracy = [33_333, 16_667, 6_944].map(|frame| {
        let mut duel = Duel::robots(4, 5);
        duel.run(100, frame);
        let shots: u32 = duel.contestants.iter().map(|each| each.shots).sum();
        assert!((30..120).contains(&shots), "{shots} shots with frames of {frame} µs");
        (0..4).map(|index| duel.score(index)).sum::<u32>() as f32 / shots as f32
    });
    assert!(accuracy.iter().all(|share| (0.35..0.85).contains(share)), "{accuracy:?}");
}

#[test]
fn equal_seeds_and_sights_give_equal_robots() {
    let (mut one, mut other) = (Duel::robots(3, 9), Duel::robots(3, 9));
    one.run(30, 16_667);
    other.run(30, 16_667);
    assert_eq!(one.board, other.board);
    for (one, other) in one.contestants.iter().zip(&other.contestants) {
        assert_eq!(one.teapot, other.teapot);
    }
}

#[test]
fn a_robot_without_targets_wanders_and_does_not_fire() {
    let mut duel = Duel::robots(1, 4);
    let mut places = Vec::new();
    for _ in 0..60 {
        duel.run(1, 16_667);
        places.push(duel.contestants[0].teapot.motion().position);
    }
    let travelled: f32 = places.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
    assert!(travelled > 60.0 && duel.longest_stand < 4.0, "{travelled}, stood {}", duel.longest_stand);
    assert_eq!(duel.contestants[0].shots, 0);

    let shielded = Rival {
        player: PlayerKey::Seat(1),
        motion: Motion { position: [6.0, 4.0], ..Motion::default() },
        is_vulnerable: false,
        behind: 0,
    };
    let mut robot = Robot::new(1);
    for frame in 0..600 {
        let sight = Sight {
            now: START + frame * 16_667,
            own: Motion { position: [0.0, 4.0], ..Motion::default() },
            rivals: &[shielded],
            treat: None,
            arena: &TEA_TABLE,
        };
        assert!(!robot.drive(&sight).fire);
    }
}

#[test]
fn a_new_robot_roams_before_it_fires() {
    for seed in 0..20 {
        let mut duel = Duel::robots(2, seed);
        duel.run(3, 16_667);
        assert!(duel.contestants.iter().all(|each| each.shots == 0), "fires at once with seed {seed}");
        duel.run(27, 16_667);
        assert!(duel.contestants.iter().any(|each| each.shots > 0), "nobody fires with seed {seed}");
    }
}

#[test]
fn a_robot_backs_off_only_when_it_is_stuck() {
    let mut robot = Robot::new(2);
    let own = Motion::at_rest(TEA_TABLE.spawn(1));
    let mut look = |now: u64| robot.drive(&Sight { now, own, rivals: &[], treat: None, arena: &TEA_TABLE });
    for frame in 0..20 {
        assert!(look(START + frame * 16_667).throttle >= 0.0);
    }
    assert!((20..60).any(|frame| look(START + frame * 16_667).throttle == -1.0));
    // The robot did not look for seconds, as if it had been off the table.
    assert!(look(START + 9_000_000).throttle >= 0.0);
}

#[test]
fn robots_keep_playing_after_the_clock_is_set_back() {
    let mut duel = Duel::robots(2, 6);
    duel.run(20, 16_667);
    duel.now = 1_000_000;
    duel.cubes.clear();
    for each in &mut duel.contestants {
        each.shots = 0;
        duel.board.leave(each.player);
        duel.board.join(each.player, robot_name(0), Default::default()).unwrap();
    }
    duel.run(30, 16_667);
    assert!(duel.contestants.iter().all(|each| each.shots > 0) && duel.longest_stand < 4.0);
}

#[test]
fn sixteen_robots_have_sixteen_names() {
    let mut names: Vec<String> = (0..16).map(|robot| robot_name(robot).to_string()).collect();
    assert_eq!(robot_name(0), robot_name(16));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 16);
}
