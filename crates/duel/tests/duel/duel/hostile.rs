//! Members that make false claims, and random bytes.

use samovar_duel::cube::{COOLDOWN, Launch};
use samovar_duel::game::{CUBE, SCOREBOARD, TEAPOT, THING, kinematics, schemas};
use samovar_duel::motion::Motion;
use samovar_duel::phase::Phase;
use samovar_duel::plane::distance;
use samovar_duel::player::{Glaze, PlayerKey, PlayerName};
use samovar_duel::rng::Rng;
use samovar_duel::scores::Scoreboard;
use samovar_duel::state::{IDENTITY, Identity, PHASE, TeapotState};
use samovar_session::objects::{Coding, SchemaBuilder};
use samovar_session::{CreateError, ObjectError, Schemas, State};
use samovar_wire::object::{Orphan, Traits};
use samovar_wire::{CloseCode, Duration, Kind, ObjectId, PeerId};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::duel::world::{Hands, World};

fn traits(kind: Kind) -> Traits {
    let orphan = if kind == CUBE { Orphan::Destroy } else { Orphan::ToHost };
    Traits { reliable: kind == SCOREBOARD, orphan, ..Traits::of(kind) }
}

pub(crate) fn create(world: &mut World, owner: PeerId, kind: Kind, fields: &[Vec<u8>]) {
    let now = world.now;
    let fields: Vec<_> = fields.iter().map(|field| &field[..]).collect();
    world.peer(owner).session.edit(now).create(traits(kind), &fields).unwrap();
}

fn identity(driver: PlayerKey) -> Identity {
    Identity { driver, glaze: Glaze::default(), name: PlayerName::new("Mallory") }
}

pub(crate) fn create_teapot(
    world: &mut World,
    owner: PeerId,
    driver: PlayerKey,
    motion: Motion,
) -> Result<ObjectId, CreateError> {
    let mut state = State::default();
    TeapotState { identity: identity(driver), motion, phase: Phase::Alive }.write(&mut state);
    create_state(world, owner, &state)
}

fn create_state(world: &mut World, owner: PeerId, state: &State) -> Result<ObjectId, CreateError> {
    let now = world.now;
    world.peer(owner).session.edit(now).create_state(traits(TEAPOT), state)
}

/// The state of a teapot with these numbers and texts, which may break the rules.
fn forged(numbers: &[i32], identity: &[u8], phase: &[u8]) -> State {
    let mut state = State::default();
    numbers.iter().for_each(|&number| state.number(number));
    state.text(identity);
    state.text(phase);
    state
}

#[test]
fn random_bytes_in_objects_leave_all_members_in_the_session() {
    let mut rng = Rng::new(60);
    for seed in 60..64 {
        let mut world = World::new(seed, 3, 1);
        let (a, _) = (world.join(), world.join());
        world.run(2_000);
        world.all_play();
        for _ in 0..150 {
            let kind = [CUBE, SCOREBOARD, Kind(5)][rng.below(3) as usize];
            let mut fields = match rng.below(4) {
                0 => vec![identity(PlayerKey::Seat(rng.below(4) as u16)).encode()],
                1 => {
                    vec![Launch::from_spout(PlayerKey::Seat(2), &Motion::default(), rng.next_u64()).encode()]
                }
                2 => Scoreboard::default().to_fields(),
                _ => (0..rng.below(40)).map(|_| vec![0; rng.below(60) as usize]).collect(),
            };
            for field in &mut fields {
                spoil(&mut rng, field);
            }
            create(&mut world, a, kind, &fields);
            let (numbers, [identity, phase]) = random_teapot(&mut rng);
            create_state(&mut world, a, &forged(&numbers, &identity, &phase)).unwrap();
            // A thing without a name, and one with a name that is moved anywhere.
            let now = world.now;
            let mut anywhere = State::default();
            numbers.iter().for_each(|&number| anywhere.number(number));
            world.peer(a).session.edit(now).create_state(traits(THING), &anywhere).unwrap();
            let named = world.players[&a].duel.scoreboard().things.get(rng.below(5) as u8).unwrap();
            let _ = world.peer(a).session.ownership(now).touch(named);
            let _ = world.peer(a).session.edit(now).set_state(named, &anywhere);
            world.run(16);
            // Random bytes also replace fields that were readable.
            let now = world.now;
            let own = world.peer(a).session.objects().filter(|object| object.owner() == a);
            let ids: Vec<_> = own.map(samovar_session::Object::id).collect();
            let id = ids[rng.below(ids.len() as u32) as usize];
            let bytes: Vec<u8> = (0..rng.below(30)).map(|_| rng.next_u64() as u8).collect();
            let _ = world.peer(a).session.edit(now).set(id, rng.below(4) as usize, &bytes);
            let (numbers, [identity, phase]) = random_teapot(&mut rng);
            let _ = world.peer(a).session.edit(now).set_state(id, &forged(&numbers, &identity, &phase));
        }
        world.run(3_000);
        let host = world.warrant.host;
        world.kill(host);
        world.run(5_000);
        assert_eq!(world.players.len(), 2);
        assert!(world.players.values().all(|player| player.session.is_member()));
    }
}

/// Changes up to two bytes of a field.
fn spoil(rng: &mut Rng, field: &mut [u8]) {
    for _ in 0..rng.below(3) {
        let index = rng.below(field.len() as u32) as usize;
        if let Some(byte) = field.get_mut(index) {
            *byte = rng.next_u64() as u8;
        }
    }
}

/// Random numbers of the agreed ranges and texts of the agreed lengths. A session lets its game send nothing else.
fn random_teapot(rng: &mut Rng) -> (Vec<i32>, [Vec<u8>; 2]) {
    let schemas = schemas();
    let fields = schemas.of(TEAPOT).unwrap().fields();
    let mut numbers = Vec::new();
    for field in fields {
        for place in 0..field.coding.width() {
            let (min, max) = field.coding.range(place);
            let wide = min + rng.below(max.abs_diff(min) + 1) as i32;
            numbers.push([min, max, 0, wide][rng.below(4) as usize]);
        }
    }
    let mut identity = identity(PlayerKey::Seat(rng.below(4) as u16)).encode();
    let mut phase = Phase::Hit { until: rng.next_u64() }.encode();
    spoil(rng, &mut identity);
    spoil(rng, &mut phase);
    phase.truncate(rng.below(10) as usize);
    (numbers, [identity, phase])
}

#[test]
fn a_teapot_of_another_shape_is_refused_before_sending() {
    let mut world = World::new(70, 0, 0);
    let a = world.join();
    world.run(2_500);
    let driver = world.key(a);
    let (name, phase) = (identity(driver).encode(), Phase::Alive.encode());
    let refused = [
        forged(&[0; 5], &name, &phase),
        forged(&[0; 7], &name, &phase),
        forged(&[32_801, 0, 0, 0, 0, 0], &name, &phase),
        forged(&[0, 0, 0, -3_201, 0, 0], &name, &phase),
        forged(&[0, 0, 0, 0, -1, 0], &name, &phase),
        forged(&[0, 0, 0, 0, 0, i32::MAX], &name, &phase),
        forged(&[0; 6], &[0; 86], &phase),
        forged(&[0; 6], &name, &[0; 10]),
    ];
    let id = world.players[&a].teapot_object(driver).unwrap();
    let now = world.now;
    for state in refused {
        assert_eq!(create_state(&mut world, a, &state), Err(CreateError::WrongShape), "{state:?}");
        let session = &mut world.peer(a).session;
        assert_eq!(session.edit(now).set_state(id, &state), Err(ObjectError::BadField), "{state:?}");
    }
    let session = &mut world.peer(a).session;
    assert_eq!(session.edit(now).set(id, IDENTITY, &[0; 86]), Err(ObjectError::BadField));
    assert_eq!(session.edit(now).set(id, PHASE, &[0; 10]), Err(ObjectError::BadField));
    world.run(1_000);
    world.assert_agreed();
}

#[test]
fn a_teapot_beyond_the_rim_or_too_fast_stays_where_it_was() {
    let mut world = World::new(71, 0, 0);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let liar = world.key(b);
    // The page of `liar` steps no more, so only the forged states below are sent for its teapot.
    world.peer(b).frame = Duration::from_millis(1_000_000);
    world.run(100);
    let place = world.players[&a].teapot(world.now, liar).unwrap().motion;
    let id = world.players[&b].teapot_object(liar).unwrap();
    let (name, phase) = (identity(liar).encode(), Phase::Alive.encode());
    for numbers in [[32_001, 0, 0, 0, 0, 0], [-22_800, 22_800, 0, 0, 0, 0], [0, 0, 2_001, 0, 0, 0]] {
        let now = world.now;
        world.peer(b).session.edit(now).set_state(id, &forged(&numbers, &name, &phase)).unwrap();
        world.run(300);
        let object = world.players[&a].session.object(id).unwrap();
        assert_eq!(object.numbers(), numbers, "it did arrive");
        assert!(kinematics(object, world.now).is_none());
        let shown = world.players[&a].teapot(world.now, liar).unwrap().motion;
        assert!(distance(shown.position, place.position) < 0.01, "{shown:?} {place:?}");
    }
    let now = world.now;
    let possible = forged(&[800, 4_000, 0, 0, 0, 0], &name, &phase);
    world.peer(b).session.edit(now).set_state(id, &possible).unwrap();
    world.run(1_500);
    let shown = world.players[&a].teapot(world.now, liar).unwrap().motion;
    assert!(distance(shown.position, [1.0, 5.0]) < 0.1, "the truth is believed again: {shown:?}");
}

/// The schemas of a cheating member: for teapots, wider ranges of numbers and longer texts than agreed.
fn forged_schemas() -> Schemas {
    let agreed = schemas();
    let mut fields = SchemaBuilder::default();
    for field in agreed.of(TEAPOT).unwrap().fields() {
        fields.field(
            field.name,
            match field.coding {
                Coding::Grid { width, step, motion, .. } => {
                    Coding::Grid { width, min: i32::MIN / 4, max: i32::MAX / 4, step, motion }
                }
                Coding::Angle { motion, .. } => Coding::Angle { turn: 1 << 20, motion },
                Coding::Text { .. } => Coding::Text { max: 255 },
                other => other,
            },
        );
    }
    Schemas::new().with(fields.build(TEAPOT)).with(agreed.of(THING).unwrap().clone())
}

#[test]
fn a_state_beyond_the_schema_closes_only_its_senders_link() {
    for (seed, lie) in (72..).zip(["far", "turned", "long name", "long phase", "moved", "renamed"]) {
        // No teapot moves, since `liar` would misread the updates and leave.
        let mut world = World::new(seed, 0, 0);
        let a = world.join();
        world.run(2_500);
        let liar = world.enter_with(forged_schemas(), None, 0);
        // The page of `liar` steps no more, so `liar` sends only the forged states below.
        world.peer(liar).frame = Duration::from_millis(1_000_000);
        world.run_until("a liar", 3_000, |world| world.players[&liar].session.is_member());
        let name = identity(world.key(liar)).encode();
        let phase = Phase::Alive.encode();
        let fine = forged(&[0; 6], &name, &phase);
        let state = match lie {
            "far" => forged(&[32_801, 0, 0, 0, 0, 0], &name, &phase),
            "turned" => forged(&[0, 0, 0, 0, 3_142, 0], &name, &phase),
            "long name" => forged(&[0; 6], &[0; 86], &phase),
            "long phase" => forged(&[0; 6], &name, &[0; 10]),
            _ => fine.clone(),
        };
        let id = create_state(&mut world, liar, &state).unwrap();
        if state == fine {
            world.run(1_000);
            assert!(world.players[&a].teapot_object(world.key(liar)).is_some(), "so far it kept the rules");
        }
        let mut rng = Rng::new(seed.into());
        let end = world.now + Duration::from_millis(3_000);
        while world.now < end && world.players[&liar].ended.is_none() {
            let now = world.now;
            let state = match lie {
                // Read with the agreed ranges, these numbers can mean anything, mostly values beyond the ranges.
                "moved" => {
                    let number = |place| rng.below(if place == 4 { 1 << 20 } else { 1 << 28 }) as i32;
                    forged(&std::array::from_fn::<_, 6, _>(number), &name, &phase)
                }
                "renamed" => forged(&[0; 6], &[0; 86], &phase),
                _ => state.clone(),
            };
            let _ = world.peer(liar).session.edit(now).set_state(id, &state);
            world.run(16);
        }
        assert!(world.players[&liar].ended.is_some(), "{lie}: it still plays");
        assert_eq!(world.host().closed, [(liar, CloseCode::Malformed)], "{lie}");
        world.kill(liar);
        world.run(2_000);
        assert_eq!(world.players.len(), 2);
        assert!(world.players.values().all(|player| player.session.is_member()), "{lie}");
        assert!(world.host().session.view().has(a));
    }
}

#[test]
fn scores_outlast_a_hosts_broken_scoreboard() {
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
    session.edit(now).set(id, 0, &[0xff; 40]).unwrap();
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
fn a_members_objects_in_the_names_of_others_do_not_count() {
    let mut world = World::new(66, 0, 1);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let victim = world.key(b);
    let place = world.host().teapot(world.now, victim).unwrap().motion;
    let before = world.host().duel.scene(world.now, &world.host().session).teapots.len();
    // Member A makes teapots for the victim, for a robot, for a robot that does not exist, and for a seat that does
    // not exist. It also makes cubes in the names of others.
    let elsewhere = Motion { position: [0.0, 5.0], ..Motion::default() };
    for driver in [victim, PlayerKey::Robot(0), PlayerKey::Robot(7), PlayerKey::Seat(99)] {
        create_teapot(&mut world, a, driver, elsewhere).unwrap();
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
    assert!(distance(shown.motion.position, place.position) < 0.5, "{shown:?} {place:?}");
    // When member A is gone, its objects are removed, and each other player has one teapot.
    world.kill(a);
    world.run(9_000);
    world.assert_agreed();
}

#[test]
fn misplaced_cubes_and_too_many_cubes_do_not_count() {
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
fn a_teapot_that_claims_to_be_off_the_table_can_be_hit() {
    let mut world = World::new(68, 0, 0);
    let (a, b) = (world.join(), world.join());
    world.run(2_500);
    let (shooter, struck) = (world.key(a), world.key(b));
    // Player B cheats: its page steps no more, and its teapot claims to be off the table for ever.
    world.peer(b).frame = Duration::from_millis(1_000_000);
    world.run(100);
    let now = world.now;
    let id = world.players[&b].teapot_object(struck).unwrap();
    let hidden = Phase::Hit { until: u64::MAX }.encode();
    world.peer(b).session.edit(now).set(id, PHASE, &hidden).unwrap();
    world.run(300);
    for points in 1..=2 {
        world.peer(a).hands = Hands::OneShotAt(struck);
        world.run(12_000);
        assert_eq!(world.host().duel.score(shooter), Some(points));
    }
}

#[test]
fn a_teapot_off_the_table_cannot_fire_whatever_its_owner_says() {
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
