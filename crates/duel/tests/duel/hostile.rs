//! Members that lie, and bytes that mean nothing.

use samovar_duel::cube::{COOLDOWN, Launch};
use samovar_duel::game::{CUBE, SCOREBOARD, TEAPOT};
use samovar_duel::motion::Motion;
use samovar_duel::phase::Phase;
use samovar_duel::player::{Glaze, PlayerKey, PlayerName};
use samovar_duel::rng::Rng;
use samovar_duel::scores::Scoreboard;
use samovar_duel::state::{Identity, PHASE, TeapotState};
use samovar_wire::object::{Orphan, Traits};
use samovar_wire::{Duration, Kind, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::world::{Hands, World};

fn traits(kind: Kind) -> Traits {
    let orphan = if kind == CUBE { Orphan::Destroy } else { Orphan::ToHost };
    Traits { reliable: kind == SCOREBOARD, orphan, ..Traits::of(kind) }
}

fn create(world: &mut World, owner: PeerId, kind: Kind, fields: &[Vec<u8>]) {
    let now = world.now;
    let fields: Vec<_> = fields.iter().map(|field| &field[..]).collect();
    world.peer(owner).session.create(now, traits(kind), &fields).unwrap();
}

fn teapot(driver: PlayerKey, motion: Motion) -> Vec<Vec<u8>> {
    let identity = Identity { driver, glaze: Glaze::default(), name: PlayerName::new("Mallory") };
    TeapotState { identity, motion, phase: Phase::Alive }.to_fields().to_vec()
}

#[test]
fn random_bytes_in_objects_change_nothing() {
    let mut rng = Rng::new(60);
    for seed in 60..64 {
        let mut world = World::new(seed, 3, 1);
        let (a, _) = (world.join(), world.join());
        world.run(2_000);
        world.all_play();
        for _ in 0..150 {
            let kind = Kind(1 + rng.below(4) as u8);
            let mut fields = match rng.below(4) {
                0 => teapot(PlayerKey::Seat(rng.below(4) as u16), Motion::default()),
                1 => {
                    vec![Launch::from_spout(PlayerKey::Seat(2), &Motion::default(), rng.next_u64()).encode()]
                }
                2 => Scoreboard::default().to_fields(),
                _ => (0..rng.below(40)).map(|_| vec![0; rng.below(60) as usize]).collect(),
            };
            for field in &mut fields {
                for _ in 0..rng.below(3) {
                    let index = rng.below(field.len() as u32) as usize;
                    if let Some(byte) = field.get_mut(index) {
                        *byte = rng.next_u64() as u8;
                    }
                }
            }
            create(&mut world, a, kind, &fields);
            world.run(16);
            // Fields that were good turn bad, too.
            let now = world.now;
            let own = world.peer(a).session.objects().filter(|object| object.owner() == a);
            let ids: Vec<_> = own.map(samovar_session::Object::id).collect();
            let id = ids[rng.below(ids.len() as u32) as usize];
            let bytes: Vec<u8> = (0..rng.below(30)).map(|_| rng.next_u64() as u8).collect();
            let _ = world.peer(a).session.set(now, id, rng.below(4) as usize, &bytes);
        }
        world.run(3_000);
        let host = world.warrant.host;
        world.kill(host);
        world.run(5_000);
        assert_eq!(world.players.len(), 2);
        assert!(world.players.values().all(|player| player.session.is_member()));
    }
}

#[test]
fn a_host_with_a_broken_scoreboard_breaks_nobody_elses() {
    let mut world = World::new(65, 0, 2);
    let a = world.join();
    world.run(2_000);
    world.all_play();
    world.run(15_000);
    let board = world.players[&a].duel.scoreboard().clone();
    let host = world.warrant.host;
    let now = world.now;
    let session = &mut world.peer(host).session;
    let id = session.objects().find(|object| object.traits().kind == SCOREBOARD).unwrap().id();
    session.set(now, id, 0, &[0xff; 40]).unwrap();
    world.run(200);
    world.kill(host);
    world.run(9_000);
    world.all_rest();
    world.run(4_000);
    world.assert_agreed();
    for row in board.rows() {
        assert!(world.players[&a].duel.score(row.player) >= Some(row.score));
    }
}

#[test]
fn nobody_speaks_for_others() {
    let mut world = World::new(66, 0, 1);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let victim = world.key(b);
    let place = world.host().teapot(world.now, victim).unwrap().motion;
    let before = world.host().duel.scene(world.now, &world.host().session).teapots.len();
    // Another teapot for the victim, for a robot, for a seat that does not exist; cubes in others' names.
    let elsewhere = Motion { position: [0.0, 5.0], ..Motion::default() };
    for driver in [victim, PlayerKey::Robot(0), PlayerKey::Robot(7), PlayerKey::Seat(99)] {
        create(&mut world, a, TEAPOT, &teapot(driver, elsewhere));
    }
    for shooter in [victim, PlayerKey::Robot(0), PlayerKey::Seat(1)] {
        let time = world.players[&a].session.session_time(world.now).as_micros();
        create(&mut world, a, CUBE, &[Launch::from_spout(shooter, &place, time).encode()]);
    }
    world.run(200);
    let scene = world.host().duel.scene(world.now, &world.host().session);
    assert_eq!(scene.teapots.len(), before);
    assert!(scene.cubes.iter().all(|cube| matches!(cube.shooter, PlayerKey::Robot(_))), "{:?}", scene.cubes);
    let shown = scene.teapots.iter().find(|teapot| teapot.player == victim).unwrap();
    assert!(
        samovar_duel::plane::distance(shown.motion.position, place.position) < 0.5,
        "{shown:?} {place:?}"
    );
    // What the liar leaves behind is cleared away, and everybody else has one teapot.
    world.kill(a);
    world.run(9_000);
    world.assert_agreed();
}

#[test]
fn cubes_from_nowhere_and_too_many_cubes_do_not_count() {
    let mut world = World::new(67, 0, 0);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let (shooter, struck) = (world.key(a), world.key(b));
    let target = world.host().teapot(world.now, struck).unwrap().motion;
    let point_blank = Motion { position: [target.position[0] * 0.7, target.position[1] * 0.7], ..target };
    let outward = samovar_duel::plane::heading_of(target.position);
    let time = world.players[&a].session.session_time(world.now).as_micros();
    let launch = Launch::from_spout(shooter, &Motion { heading: outward, ..point_blank }, time);
    create(&mut world, a, CUBE, &[launch.encode()]);
    world.run(1_000);
    assert_eq!(world.host().duel.score(shooter), Some(0), "it began where its shooter is not");

    let own = world.players[&a].teapot(world.now, shooter).unwrap().motion;
    let time = world.players[&a].session.session_time(world.now).as_micros();
    for each in 0..60 {
        create(&mut world, a, CUBE, &[Launch::from_spout(shooter, &own, time + each * 5_000).encode()]);
    }
    world.run(100);
    let scene = world.host().duel.scene(world.now, &world.host().session);
    assert_eq!(scene.cubes.len(), 1, "no spout fires sixty cubes in {COOLDOWN} µs");
    world.run(6_000);
    world.assert_agreed();
}

#[test]
fn a_teapot_that_says_it_is_off_the_table_is_hit_all_the_same() {
    let mut world = World::new(68, 0, 0);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let (shooter, struck) = (world.key(a), world.key(b));
    // A cheat: its page steps no more, and its teapot says that it is out for ever.
    world.peer(b).frame = Duration::from_millis(1_000_000);
    world.run(100);
    let now = world.now;
    let id = world.players[&b].teapot_object(struck).unwrap();
    let hidden = Phase::Hit { until: u64::MAX }.encode();
    world.peer(b).session.set(now, id, PHASE, &hidden).unwrap();
    world.run(300);
    for points in 1..=2 {
        world.peer(a).hands = Hands::OneShotAt(struck);
        world.run(12_000);
        assert_eq!(world.host().duel.score(shooter), Some(points));
    }
}

#[test]
fn a_teapot_that_was_hit_cannot_fire_though_its_owner_says_so() {
    let mut world = World::new(69, 0, 0);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let (shooter, struck) = (world.key(a), world.key(b));
    world.peer(a).hands = Hands::OneShotAt(struck);
    world.run_until("a hit", 15_000, |world| world.host().duel.score(shooter) == Some(1));
    world.run(600);
    let own = world.host().teapot(world.now, struck).unwrap();
    assert!(!own.phase.is_on_table());
    let time = world.players[&b].session.session_time(world.now).as_micros();
    create(&mut world, b, CUBE, &[Launch::from_spout(struck, &own.motion, time).encode()]);
    world.run(100);
    assert!(world.host().duel.scene(world.now, &world.host().session).cubes.is_empty());
}
