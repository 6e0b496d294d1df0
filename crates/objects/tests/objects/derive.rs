//! The schemas and states that `#[derive(Replicate)]` makes of a game's types.

use core::f32::consts::PI;
use core::f64::consts::TAU;
use core::fmt::Debug;

use samovar_objects::{Coding, Kind, Kinded, Motion, Replicate, Schemas, State, StateError};
use samovar_wire::{ObjectId, PeerId, Rng, SeatId, Time};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const ARENA: f32 = 64.0;

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Body {
    #[replicate(range = ARENA, precision = 0.001, rate = velocity)]
    place: [f32; 3],
    #[replicate(range = 20, precision = 0.01)]
    velocity: [f32; 3],
    #[replicate(rotation, precision = 0.0087, rate = spin)]
    attitude: [f32; 4],
    #[replicate(range = 20.0, precision = 0.05, held)]
    spin: [f32; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Replicate)]
enum Spout {
    Cold,
    Warm,
    Hot,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
enum Order {
    Wait,
    Follow(PeerId),
    Go {
        #[replicate(range = 64.0, precision = 0.5)]
        to: [f32; 2],
        #[replicate(max = 3, min = 0)]
        gear: u8,
    },
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Sip {
    by: SeatId,
    #[replicate(min = 0.0, max = 1.0, precision = 0.1)]
    much: f32,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(kind = 3)]
struct Teapot {
    #[replicate(bound = 20)]
    name: String,
    body: Body,
    #[replicate(angle, precision = 0.001, rate = turning)]
    lid: f32,
    #[replicate(range = 10, precision = 0.01)]
    turning: f32,
    spout: Spout,
    tea: u8,
    #[replicate(range = 100, smooth)]
    tilt: i32,
    seed: u64,
    #[replicate(exact)]
    exact: [f32; 2],
    is_full: bool,
    holder: Option<PeerId>,
    order: Order,
    #[replicate(bound = 4)]
    sips: Vec<Sip>,
    #[replicate(bound = 3, bound = 8)]
    titles: Vec<String>,
    #[replicate(range = 1.0, precision = 0.01)]
    aim: Option<[f32; 2]>,
    #[replicate(packed)]
    flags: [bool; 5],
    best: (u16, ObjectId),
    at: Time,
}

/// Random values, with edge cases among them.
struct Random(Rng);

impl Random {
    fn next(&mut self) -> u64 {
        self.0.number()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0.roll(bound)
    }

    fn float(&mut self) -> f32 {
        match self.below(8) {
            0 => f32::from_bits(self.next() as u32),
            1 => [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -0.0, 1e-45][self.below(6) as usize],
            _ => self.within(100.0),
        }
    }

    fn within(&mut self, range: f32) -> f32 {
        (self.below(2_000_001) as f32 / 1_000_000.0 - 1.0) * range
    }

    fn floats<const N: usize>(&mut self) -> [f32; N] {
        core::array::from_fn(|_| self.float())
    }

    fn text(&mut self) -> String {
        (0..self.below(30)).map(|_| ['a', 'ß', '茶', '🫖'][self.below(4) as usize]).collect()
    }

    fn body(&mut self) -> Body {
        Body { place: self.floats(), velocity: self.floats(), attitude: self.floats(), spin: self.floats() }
    }

    fn order(&mut self) -> Order {
        match self.below(3) {
            0 => Order::Wait,
            1 => Order::Follow(PeerId(self.next() as u32)),
            _ => Order::Go { to: self.floats(), gear: self.next() as u8 },
        }
    }

    fn teapot(&mut self) -> Teapot {
        Teapot {
            name: self.text(),
            body: self.body(),
            lid: self.float(),
            turning: self.float(),
            spout: [Spout::Cold, Spout::Warm, Spout::Hot][self.below(3) as usize],
            tea: self.next() as u8,
            tilt: self.next() as i32,
            seed: self.next(),
            exact: self.floats(),
            is_full: self.below(2) == 0,
            holder: (self.below(2) == 0).then(|| PeerId(self.next() as u32)),
            order: self.order(),
            sips: (0..self.below(7)).map(|i| Sip { by: SeatId(i as u16), much: self.float() }).collect(),
            titles: (0..self.below(5)).map(|_| self.text()).collect(),
            aim: (self.below(2) == 0).then(|| self.floats()),
            flags: core::array::from_fn(|_| self.below(2) == 0),
            best: (self.next() as u16, ObjectId { creator: PeerId(self.next() as u32), number: 5 }),
            at: Time::from_micros(self.next()),
        }
    }
}

fn written<T: Replicate>(value: &T) -> State {
    let mut state = State::default();
    value.write(&mut state);
    state
}

fn read<T: Replicate>(state: &State) -> Result<T, StateError> {
    T::read(&mut state.reader())
}

/// The value that arrives. An arrived value must not change when it is sent on.
fn sent<T: Replicate + Debug>(value: &T) -> T {
    let state = written(value);
    let arrived = read::<T>(&state).unwrap();
    assert_eq!(written(&arrived), state, "{value:?} arrived as {arrived:?}");
    arrived
}

/// A state of these numbers and texts.
fn state(numbers: impl IntoIterator<Item = i32>, texts: &[&[u8]]) -> State {
    let mut state = State::default();
    numbers.into_iter().for_each(|number| state.number(number));
    texts.iter().for_each(|text| state.text(text));
    state
}

#[test]
fn the_schema_follows_the_attributes() {
    let schema = Teapot::schema();
    let grid =
        |width, limit: i32, step, motion| Coding::Grid { width, min: -limit, max: limit, step, motion };
    let text = |max| Coding::Text { max };
    let whole = |max| Coding::Grid { width: 1, min: 0, max, step: 1.0, motion: Motion::Held };
    let wanted = [
        ("name", text(20), 0),
        ("place", grid(3, 64_000, 0.001, Motion::Rated(2)), 0),
        ("velocity", grid(3, 2_000, 0.01, Motion::Smooth), 3),
        ("attitude", Coding::Rotation { limit: 163, motion: Motion::Rated(4) }, 6),
        ("spin", grid(3, 400, 0.05, Motion::Held), 10),
        ("lid", Coding::Angle { turn: 6_283, motion: Motion::Rated(6) }, 13),
        ("turning", grid(1, 1_000, 0.01, Motion::Smooth), 14),
        ("spout", Coding::Choice { count: 3 }, 15),
        ("tea", whole(255), 16),
        ("tilt", grid(1, 100, 1.0, Motion::Smooth), 17),
        ("seed", Coding::Exact { width: 2 }, 18),
        ("exact", Coding::Exact { width: 2 }, 20),
        ("is_full", Coding::Choice { count: 2 }, 22),
        ("holder", text(5), 1),
        ("order", text(5), 2),
        ("sips", text(11), 3),
        ("titles", text(26), 4),
        ("aim", text(3), 5),
        ("flags", text(1), 6),
        ("best", whole(65_535), 23),
        ("best", Coding::Exact { width: 2 }, 24),
        ("at", Coding::Exact { width: 2 }, 26),
    ];
    let found: Vec<_> = schema.fields().iter().map(|field| (field.name, field.coding, field.at)).collect();
    assert_eq!(found, wanted);
    assert_eq!((schema.kind(), Teapot::FIELDS), (Kind(3), wanted.len()));
    assert_eq!((schema.numbers(), schema.texts()), (28, 7));
}

#[test]
fn rates_in_nested_structs_get_the_index_of_their_field() {
    #[derive(Replicate)]
    #[replicate(kind = 9)]
    struct Fleet {
        flag: bool,
        bodies: [Body; 2],
        #[replicate(angle, precision = 0.1, rate = turning)]
        heading: f32,
        pair: (Body, u8),
        #[replicate(range = 1, precision = 0.1)]
        turning: f32,
    }
    let schema = Fleet::schema();
    let rates: Vec<_> = schema
        .fields()
        .iter()
        .enumerate()
        .filter_map(|(index, field)| match field.coding.motion() {
            Motion::Rated(rate) => Some((index, rate)),
            Motion::Held | Motion::Smooth => None,
        })
        .collect();
    assert_eq!(rates, [(1, 2), (3, 4), (5, 6), (7, 8), (9, 15), (10, 11), (12, 13)]);
}

#[test]
fn derived_schema_hash_differs_for_another_precision() {
    #[derive(Replicate)]
    #[replicate(kind = 1)]
    struct Fine {
        #[replicate(range = 1.0, precision = 0.001)]
        _x: f32,
    }
    #[derive(Replicate)]
    #[replicate(kind = 1)]
    struct Coarse {
        #[replicate(range = 1.0, precision = 0.0011)]
        _x: f32,
    }
    let hash = |schema| Schemas::new().with(schema).hash();
    assert_eq!(hash(Fine::schema()), hash(Fine::schema()));
    assert_ne!(hash(Fine::schema()), hash(Coarse::schema()));
}

#[test]
fn a_value_has_the_same_numbers_and_bytes_on_every_machine() {
    let teapot = Teapot {
        name: "Brown Betty".to_owned(),
        body: Body {
            place: [1.0, -2.5, 63.9996],
            velocity: [0.126, 0.0, f32::NAN],
            attitude: [0.2, -0.4, 0.4, 0.8],
            spin: [1.0, -1.0, 1e9],
        },
        lid: -1.0,
        turning: 0.5,
        spout: Spout::Hot,
        tea: 200,
        tilt: -500,
        seed: 0x0123_4567_89ab_cdef,
        exact: [1.0, -0.0],
        is_full: true,
        holder: Some(PeerId(0x8000_0001)),
        order: Order::Go { to: [-64.0, 3.0], gear: 9 },
        sips: vec![Sip { by: SeatId(5), much: 0.5 }, Sip { by: SeatId(6), much: 1.0 }],
        titles: vec!["Sir".to_owned(), "茶茶茶".to_owned()],
        aim: Some([0.25, -1.0]),
        flags: [true, false, false, true, true],
        best: (7, ObjectId { creator: PeerId(1), number: 2 }),
        at: Time::from_micros(1 << 32),
    };
    let state = written(&teapot);
    let body = [1_000, -2_500, 64_000, 13, 0, 0, 3, 46, -92, 92, 20, -20, 400];
    let rest = [5_283, 50, 2, 200, -100, 0x89ab_cdef_u32 as i32, 0x0123_4567, 0x3f80_0000, i32::MIN, 1];
    let tail = [7, 1, 2, 0, 1];
    assert_eq!(state.numbers(), [&body[..], &rest, &tail].concat());
    let texts: Vec<_> = state.texts().collect();
    let wanted: [&[u8]; 7] = [
        b"Brown Betty",
        &[3, 0, 0, 0, 0],
        &[2, 48, 52],
        &[42, 0, 40, 3, 0, 5],
        &[206, 84, 154, 156, 161, 51, 218, 162, 51, 218, 2],
        &[251, 0, 0],
        &[25],
    ];
    assert_eq!(texts, wanted);
}

#[test]
fn any_value_arrives_valid_and_can_be_sent_on_unchanged() {
    let mut random = Random(Rng::new(1));
    for _ in 0..5_000 {
        let teapot = random.teapot();
        let arrived = sent(&teapot);
        assert!(teapot.name.starts_with(&arrived.name) && arrived.name.len() <= 20);
        assert!(arrived.name.len() > 16 || arrived.name == teapot.name);
        assert_eq!(arrived.exact.map(f32::to_bits), teapot.exact.map(f32::to_bits));
        assert_eq!(
            (arrived.seed, arrived.holder, arrived.flags, arrived.best, arrived.at, arrived.spout),
            (teapot.seed, teapot.holder, teapot.flags, teapot.best, teapot.at, teapot.spout)
        );
        assert_eq!(
            (arrived.tilt, arrived.sips.len()),
            (teapot.tilt.clamp(-100, 100), teapot.sips.len().min(4))
        );
        assert!(arrived.body.place.iter().all(|c| c.abs() <= ARENA));
        assert!(arrived.lid > -PI && arrived.lid <= PI);
    }
}

#[test]
fn packed_field_takes_one_text_of_the_fewest_bits() {
    #[derive(Debug, PartialEq, Replicate)]
    #[replicate(kind = 4)]
    struct Parcel {
        #[replicate(packed)]
        body: Body,
        #[replicate(packed, bound = 20)]
        name: String,
        #[replicate(packed, exact)]
        odd: f32,
    }
    let coding: Vec<_> = Parcel::schema().fields().iter().map(|field| field.coding).collect();
    assert_eq!(coding, [Coding::Text { max: 19 }, Coding::Text { max: 21 }, Coding::Text { max: 4 }]);
    let mut random = Random(Rng::new(5));
    for _ in 0..1_000 {
        let parcel = Parcel { body: random.body(), name: random.text(), odd: random.float() };
        let (arrived, alone) = (sent(&parcel), sent(&parcel.body));
        assert_eq!((arrived.body, arrived.odd.to_bits()), (alone, parcel.odd.to_bits()));
        assert!(parcel.name.starts_with(&arrived.name));
    }
}

#[test]
fn a_value_in_range_arrives_within_half_a_step() {
    let mut random = Random(Rng::new(2));
    for _ in 0..5_000 {
        let mut teapot = random.teapot();
        teapot.body.place = core::array::from_fn(|_| random.within(ARENA));
        teapot.body.velocity = core::array::from_fn(|_| random.within(20.0));
        teapot.lid = random.within(PI);
        teapot.aim = Some([random.within(1.0), random.within(1.0)]);
        teapot.order = Order::Go { to: [random.within(64.0), random.within(64.0)], gear: 3 };
        let arrived = sent(&teapot);
        let near = |a: f32, b: f32, step: f32| assert!((a - b).abs() <= 0.501 * step + 4e-6, "{a} {b}");
        (0..3).for_each(|i| near(arrived.body.place[i], teapot.body.place[i], 0.001));
        (0..3).for_each(|i| near(arrived.body.velocity[i], teapot.body.velocity[i], 0.01));
        let (lid, sent) = (f64::from(arrived.lid), f64::from(teapot.lid));
        let off = (lid - sent).abs();
        near(off.min(TAU - off) as f32, 0.0, 0.001);
        let (aimed, aim) = (arrived.aim.unwrap(), teapot.aim.unwrap());
        (0..2).for_each(|i| near(aimed[i], aim[i], 0.01));
        let (Order::Go { to: went, gear: 3 }, Order::Go { to, .. }) = (arrived.order, teapot.order) else {
            panic!("the order differs");
        };
        (0..2).for_each(|i| near(went[i], to[i], 0.5));
    }
}

#[test]
fn numbers_out_of_range_and_missing_ones_are_refused() {
    assert_eq!(read::<Spout>(&state([2], &[])), Ok(Spout::Hot));
    for number in [3, -1, i32::MAX, i32::MIN] {
        assert_eq!(read::<Spout>(&state([number], &[])), Err(StateError::Invalid));
        assert_eq!(read::<bool>(&state([number], &[])), Err(StateError::Invalid));
    }
    assert_eq!(read::<u8>(&state([256], &[])), Err(StateError::Invalid));
    let good = [0, 0, 64_000, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0];
    assert!(read::<Body>(&state(good, &[])).is_ok());
    for (place, number) in [(0, 64_001), (1, -64_001), (5, 2_001), (6, 4), (6, -1), (7, 164), (12, i32::MIN)]
    {
        let mut bad = good;
        bad[place] = number;
        assert_eq!(read::<Body>(&state(bad, &[])), Err(StateError::Invalid), "{place} {number}");
    }
    for count in 0..good.len() {
        assert_eq!(read::<Body>(&state(good.into_iter().take(count), &[])), Err(StateError::Missing));
    }
}

#[test]
fn texts_that_no_writer_writes_are_refused() {
    #[derive(Debug, PartialEq, Replicate)]
    struct Bag {
        #[replicate(bound = 5)]
        items: Vec<u8>,
    }
    #[derive(Debug, PartialEq, Replicate)]
    struct Name {
        #[replicate(bound = 5)]
        name: String,
    }
    let bag = |bytes: &[u8]| read::<Bag>(&state([], &[bytes])).map(|bag| bag.items);
    assert_eq!(bag(&[10, 8, 0]), Ok(vec![1, 1]));
    assert_eq!(bag(&[0]), Ok(vec![]));
    let bad: [&[u8]; 7] = [&[], &[0, 0], &[6; 8], &[7; 8], &[5], &[0b1000], &[2, 0, 0b1000]];
    for bytes in bad {
        assert_eq!(bag(bytes), Err(StateError::Invalid), "{bytes:?}");
    }
    let name = |bytes: &[u8]| read::<Name>(&state([], &[bytes])).map(|name| name.name);
    assert_eq!(name("süß".as_bytes()), Ok("süß".to_owned()));
    assert_eq!(name(b"longer"), Err(StateError::Invalid));
    assert_eq!(name(&[0xff]), Err(StateError::Invalid));
    assert_eq!(read::<Bag>(&state([1, 2, 3], &[])), Err(StateError::Missing));
    let order = |bytes: &[u8]| read::<Order>(&state([], &[bytes]));
    assert_eq!(order(&[0]), Ok(Order::Wait));
    assert_eq!(order(&[3, 0, 0]), Err(StateError::Invalid));
    assert_eq!(order(&[4]), Err(StateError::Invalid));
    // Bits that stand for a place outside the arena.
    assert_eq!(order(&[0b1111_1110, 0b111, 0]), Err(StateError::Invalid));
}

#[test]
fn each_value_has_only_one_accepted_text() {
    let mut random = Random(Rng::new(3));
    let mut accepted = [0; 3];
    for _ in 0..200_000 {
        let bytes: Vec<u8> =
            (0..random.below(7)).map(|_| (random.next() & random.next() & random.next()) as u8).collect();
        let hostile = state([], &[&bytes]);
        if let Ok(order) = read::<Order>(&hostile) {
            assert_eq!(written(&order), hostile);
            accepted[0] += 1;
        }
        if let Ok(holder) = read::<Option<PeerId>>(&hostile) {
            assert_eq!(written(&holder), hostile);
            accepted[1] += 1;
        }
        #[derive(Replicate)]
        struct Sips {
            #[replicate(bound = 4)]
            sips: Vec<Sip>,
        }
        if let Ok(sips) = read::<Sips>(&hostile) {
            assert_eq!(written(&sips), hostile);
            accepted[2] += 1;
        }
    }
    assert!(accepted.iter().all(|&count| count > 1_000), "{accepted:?}");
}

#[test]
fn random_numbers_are_refused_or_arrive_unchanged() {
    let mut random = Random(Rng::new(4));
    let mut accepted = 0;
    for _ in 0..20_000 {
        let ranges = [64_000, 64_000, 64_000, 2_000, 2_000, 2_000, 0, 163, 163, 163, 400, 400, 400];
        let mut numbers =
            ranges.map(|limit| (random.below(2 * (limit as u64) + 2) as i64 - i64::from(limit)) as i32);
        numbers[6] = random.below(4) as i32;
        let state = state(numbers, &[]);
        if let Ok(body) = read::<Body>(&state) {
            assert_eq!(written(&body), state);
            accepted += 1;
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}

#[test]
fn derive_supports_tuple_and_unit_structs_and_a_crate_path() {
    mod elsewhere {
        pub(crate) use samovar_objects as objects;
    }
    #[derive(Debug, PartialEq, Replicate)]
    struct Nothing;
    #[derive(Debug, PartialEq, Replicate)]
    enum Raw {
        None,
        Some { r#type: u8 },
    }
    #[derive(Debug, PartialEq, Replicate)]
    #[replicate(kind = 200, crate = elsewhere::objects)]
    struct Slide(
        #[replicate(range = 1.0, precision = 0.25, rate = 1)] f64,
        #[replicate(range = 1.0, precision = 0.25)] f64,
        Nothing,
    );
    assert_eq!(sent(&Slide(0.3, 5.0, Nothing)), Slide(0.25, 1.0, Nothing));
    assert_eq!(Slide::schema().fields()[0].coding.motion(), Motion::Rated(1));
    assert_eq!(sent(&Raw::Some { r#type: 7 }), Raw::Some { r#type: 7 });
    assert_eq!(sent(&Raw::None), Raw::None);
    assert_eq!((Slide::FIELDS, Nothing::FIELDS), (2, 0));
}

#[test]
fn place_attribute_sets_the_place_and_changes_the_hash() {
    #[derive(Replicate)]
    #[replicate(kind = 9)]
    struct Somewhere {
        name: u8,
        #[replicate(range = 64.0, precision = 0.5, place)]
        at: [f32; 2],
    }
    #[derive(Replicate)]
    #[replicate(kind = 9)]
    struct Anywhere {
        name: u8,
        #[replicate(range = 64.0, precision = 0.5)]
        at: [f32; 2],
    }
    let mut state = State::default();
    Somewhere { name: 1, at: [3.5, -8.0] }.write(&mut state);
    assert_eq!(Somewhere::schema().place_of(state.numbers()), Some([3.5, -8.0, 0.0]));
    assert_eq!(Anywhere::schema().place_of(state.numbers()), None);
    let hash = |schema| Schemas::new().with(schema).hash();
    assert_ne!(hash(Somewhere::schema()), hash(Anywhere::schema()));
}
