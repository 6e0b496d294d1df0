//! Lockstep: a world that all members compute by themselves, step by step, from the same inputs (docs/sources.md,
//! "Pacman").

use samovar_session::Session;
use samovar_session::lockstep::LockstepConfig;
use samovar_session::objects::pack::BitReader;
use samovar_session::objects::{Coding, Field, Pack, Replicate, SchemaBuilder, State};
use samovar_wire::limits::LOCKSTEP_INPUT_MAX;
use samovar_wire::{Duration, SeatId, Time};

use crate::game::{Agreed, MaybeSend, Message};
use crate::room::{Room, pack};
use crate::stepping::{Stepping, Steps};

/// A world that all members compute alike: each steps its own copy by the same inputs, so that only inputs are sent. Name
/// it in [`game!`](crate::game) as `world = …`.
///
/// The members stay alike if a step depends on the world and the [`Turn`] alone: on no clock, no randomness from outside
/// and no floats whose results differ between machines. Numbers are rounded to their fields' precision after each step, at
/// all members. If the world of a member differs all the same, it takes over the host's.
///
/// A newcomer gets the present world from another member: at most 61,440 bytes, or the program fails at its start. If
/// the host is lost, the world stands still until another member hosts, and no input is lost that any member has seen
/// take effect.
pub trait World: Replicate + Pack + Clone + MaybeSend {
    /// A player's input to one step: at most 64 bytes. The default stands for a player who does nothing.
    type Input: Message + Default + Clone + PartialEq + MaybeSend;
    /// Steps a second, 1 to 200. Zero says that there is no world.
    const STEPS_PER_SECOND: u32 = 30;

    /// The world before its first step. Each program calls it; the world of the member that makes the game counts, and the
    /// others get it from that member. `seed` is a random number.
    fn begin(seed: u64) -> Self;

    /// One step.
    fn step(&mut self, turn: &Turn<Self::Input>);
}

/// The inputs to one step of a [`World`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Turn<I> {
    /// Its number; the first has 1.
    pub number: u64,
    /// The input of each player, in the order of their seats. A player whose input is late repeats the former one.
    pub inputs: Vec<(SeatId, I)>,
    /// The players that play from this step on.
    pub joined: Vec<SeatId>,
    /// The players that play no longer.
    pub left: Vec<SeatId>,
}

/// A game without a world.
impl World for () {
    type Input = ();
    const STEPS_PER_SECOND: u32 = 0;

    fn begin(_: u64) -> Self {}

    fn step(&mut self, _: &Turn<()>) {}
}

/// The configuration of lockstep for a game; `None` without a world.
pub(crate) fn config<W: World>() -> Option<LockstepConfig> {
    const {
        let bytes = <W::Input as Pack>::BITS_MAX.div_ceil(8);
        assert!(bytes <= LOCKSTEP_INPUT_MAX, "an input takes at most 64 bytes: lower its bounds");
    }
    let tick = 1_000_000_u64.checked_div(W::STEPS_PER_SECOND.into())?;
    Some(LockstepConfig::new(input_size::<W>()).with_tick(Duration::from_micros(tick)))
}

/// All inputs take as many bytes as the longest.
const fn input_size<W: World>() -> usize {
    let bytes = <W::Input as Pack>::BITS_MAX.div_ceil(8);
    if bytes == 0 { 1 } else { bytes }
}

/// A member's copy of the world.
#[derive(Debug)]
struct Copy<W: World> {
    world: W,
    /// The world before the last step.
    before: W,
    input: W::Input,
}

/// A member's copy of the world, and its progress.
pub(crate) struct Stepper<W: World> {
    copy: Copy<W>,
    /// The world of a dynamic game, in place of the copy.
    foreign: Option<Box<dyn Steps>>,
    stepping: Stepping,
}

impl<W: World> Copy<W> {
    fn new(seed: u64) -> Self {
        let world = rounded(W::begin(seed)).0;
        Self { before: world.clone(), world, input: W::Input::default() }
    }
}

impl<W: World> Steps for Copy<W> {
    fn input(&self) -> Vec<u8> {
        bytes_of::<W>(&self.input)
    }

    fn step(&mut self, turn: Turn<Vec<u8>>) {
        let Turn { number, inputs, joined, left } = turn;
        let inputs = inputs.into_iter().map(|(seat, bytes)| (seat, input_of::<W>(&bytes))).collect();
        self.before.clone_from(&self.world);
        self.world.step(&Turn { number, inputs, joined, left });
        self.world = rounded(self.world.clone()).0;
    }

    fn save(&self) -> Vec<u8> {
        save(&rounded(self.world.clone()).1)
    }

    fn load(&mut self, saved: &[u8]) {
        if let Some(world) = load::<W>(saved) {
            self.before.clone_from(&world);
            self.world = world;
        }
    }

    fn fields(&self, saved: &[u8]) -> Vec<(String, Vec<u8>)> {
        load::<W>(saved).map(|world| fields::<W>(&rounded(world).1)).unwrap_or_default()
    }
}

impl<W: World> Stepper<W> {
    pub(crate) fn new(seed: u64) -> Self {
        Self { copy: Copy::new(seed), foreign: None, stepping: Stepping::default() }
    }

    /// Steps this world in place of one of the game's types.
    pub(crate) fn step_instead(&mut self, foreign: Box<dyn Steps>) {
        self.foreign = Some(foreign);
    }

    /// How far `now` is from the world before the last step to the one after it, 0 to 1.
    pub(crate) fn share(&self, now: Time) -> f32 {
        let steps = now.since(self.stepping.stepped()).as_micros() as f32 * W::STEPS_PER_SECOND as f32 / 1e6;
        steps.min(1.0)
    }

    /// Whether this copy is the session's world, and not this program's own beginning.
    pub(crate) fn is_known(&self) -> bool {
        (W::STEPS_PER_SECOND == 0 && self.foreign.is_none()) || self.stepping.is_known()
    }

    /// Gives this player's input, and makes the steps that are due.
    pub(crate) fn turn(&mut self, now: Time, session: &mut Session) {
        match &mut self.foreign {
            Some(foreign) => self.stepping.turn(now, session, &mut **foreign),
            None if W::STEPS_PER_SECOND == 0 => {}
            None => self.stepping.turn(now, session, &mut self.copy),
        }
    }
}

/// The world as others read it, and the numbers and texts that they read.
fn rounded<W: World>(world: W) -> (W, State) {
    let mut state = State::default();
    world.write(&mut state);
    let rounded = W::read(&mut state.reader()).unwrap_or(world);
    (rounded, state)
}

/// The bytes of an input. Those of the default are zeros, which stand for a player who has said nothing yet.
fn bytes_of<W: World>(input: &W::Input) -> Vec<u8> {
    let (mut bytes, mut rest) = (pack(input), pack(&W::Input::default()));
    bytes.resize(input_size::<W>(), 0);
    rest.resize(input_size::<W>(), 0);
    bytes.iter_mut().zip(rest).for_each(|(byte, rest)| *byte ^= rest);
    bytes
}

/// The input in these bytes; the default if they hold none. All members have the same bytes, so they read the same.
fn input_of<W: World>(bytes: &[u8]) -> W::Input {
    let mut rest = pack(&W::Input::default());
    rest.resize(bytes.len(), 0);
    let bytes: Vec<_> = bytes.iter().zip(rest).map(|(byte, rest)| byte ^ rest).collect();
    <W::Input as Pack>::unpack(&mut BitReader::new(&bytes)).unwrap_or_default()
}

/// The most bytes that a newcomer's copy of the world may take.
pub(crate) fn bytes_max<W: World>() -> usize {
    let mut schema = SchemaBuilder::default();
    W::describe(&mut schema, "world");
    let bytes = |field: &Field| match field.coding {
        Coding::Text { max } => 1 + usize::from(max),
        coding => 4 * coding.width(),
    };
    4 + schema.fields().iter().map(bytes).sum::<usize>()
}

/// The world's bytes for a newcomer.
fn save(state: &State) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((state.numbers().len() as u32).to_le_bytes());
    state.numbers().iter().for_each(|number| bytes.extend(number.to_le_bytes()));
    for text in state.texts() {
        bytes.push(text.len() as u8);
        bytes.extend(text);
    }
    bytes
}

/// The world in these bytes; `None` if [`save`] has not written them.
fn load<W: World>(bytes: &[u8]) -> Option<W> {
    let (count, mut rest) = bytes.split_first_chunk()?;
    let mut state = State::default();
    for _ in 0..u32::from_le_bytes(*count) {
        let (number, behind) = rest.split_first_chunk()?;
        state.number(i32::from_le_bytes(*number));
        rest = behind;
    }
    while let Some((&length, behind)) = rest.split_first() {
        let (text, behind) = behind.split_at_checked(length.into())?;
        state.text(text);
        rest = behind;
    }
    let mut reader = state.reader();
    let world = W::read(&mut reader).ok()?;
    // Another state than this one would be another world's.
    let (world, again) = rounded(world);
    (again == state).then_some(world)
}

/// The bytes of each field, for the report of a difference.
fn fields<W: World>(state: &State) -> Vec<(String, Vec<u8>)> {
    let mut schema = SchemaBuilder::default();
    W::describe(&mut schema, "world");
    let field = |field: &Field| {
        let bytes = match field.coding {
            Coding::Text { .. } => state.texts().nth(field.at).map(<[u8]>::to_vec),
            coding => {
                let numbers = state.numbers().get(field.at..field.at + coding.width());
                numbers.map(|numbers| numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
            }
        };
        (field.name.to_owned(), bytes.unwrap_or_default())
    };
    schema.fields().iter().map(field).collect()
}

impl<G: Agreed> Room<'_, G> {
    /// The world after its last step: see [`World`].
    #[must_use]
    pub const fn world(&self) -> &G::World {
        &self.inner.stepper.copy.world
    }

    /// The worlds to draw between: the one before the last step, the one after it, and how far the present frame is from
    /// the first to the second, 0 to 1.
    #[must_use]
    pub fn between(&self) -> (&G::World, &G::World, f32) {
        let stepper = &self.inner.stepper;
        (&stepper.copy.before, &stepper.copy.world, stepper.share(self.now))
    }

    /// Sets this player's input to the steps of the world from now on. It takes effect after a delay of a few steps, at all
    /// members in the same step. A spectator's has none.
    pub fn set_input(&mut self, input: <G::World as World>::Input) {
        self.inner.warn_beyond(&input);
        self.inner.stepper.copy.input = input;
    }

    /// How often this program's world was found to differ from the host's; at the host, how often another member's was.
    /// Above zero a step depends on something that the members do not share.
    #[must_use]
    pub const fn world_differed(&self) -> u64 {
        self.inner.stepper.stepping.differed()
    }
}

#[cfg(test)]
mod tests {
    use samovar_derive::{Message, Value};
    use samovar_wire::limits::LOCKSTEP_FIELDS_MAX;

    use super::*;
    use crate::stepping;

    #[derive(Value, Clone, Debug, PartialEq)]
    #[object(crate = crate)]
    struct Court {
        #[field(range = 10.0, precision = 0.5)]
        ball: [f32; 2],
        #[field(bound = 9)]
        word: String,
        scores: [u16; 2],
    }

    #[derive(Message, Clone, Debug, Default, PartialEq)]
    #[object(crate = crate)]
    enum Paddle {
        To(u8),
        #[default]
        Rest,
    }

    impl World for Court {
        type Input = Paddle;

        fn begin(_: u64) -> Self {
            Self { ball: [1.3, -20.0], word: "tea".to_owned(), scores: [3, 4] }
        }

        fn step(&mut self, _: &Turn<Paddle>) {}
    }

    #[test]
    fn world_that_a_newcomer_loads_is_the_rounded_one() {
        let copy = Copy::<Court>::new(0);
        assert_eq!(copy.world.ball, [1.5, -10.0]);
        let bytes = copy.save();
        assert_eq!(load(&bytes), Some(copy.world));
        for length in 0..bytes.len() {
            assert_eq!(load::<Court>(&bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(load::<Court>(&[0xff; 64]), None);
    }

    #[test]
    fn field_that_differs_has_another_hash() {
        let hashes = |world: Court| stepping::hashes(fields::<Court>(&rounded(world).1));
        let (one, mut other) = (Court::begin(0), Court::begin(0));
        other.word = "milk".to_owned();
        let (one, other) = (hashes(one), hashes(other));
        let differing = one.iter().zip(&other).filter(|(one, other)| one.hash != other.hash);
        assert_eq!(differing.map(|(one, _)| &*one.name).collect::<Vec<_>>(), ["word"]);
    }

    #[test]
    fn large_world_has_fields_and_a_size() {
        #[derive(Value, Clone, Debug, PartialEq)]
        #[object(crate = crate)]
        struct Large {
            cells: [u8; 800],
        }
        impl World for Large {
            type Input = ();

            fn begin(_: u64) -> Self {
                Self { cells: [7; 800] }
            }

            fn step(&mut self, _: &Turn<()>) {}
        }
        let (world, state) = rounded(Large::begin(0));
        assert_eq!(stepping::hashes(fields::<Large>(&state)).len(), LOCKSTEP_FIELDS_MAX);
        assert_eq!(bytes_max::<Large>(), save(&state).len());
        assert_eq!(load(&save(&state)), Some(world));
    }

    #[test]
    fn input_of_any_bytes_is_an_input() {
        assert_eq!(input_of::<Court>(&[0, 0]), Paddle::Rest);
        let mut bytes = bytes_of::<Court>(&Paddle::To(9));
        assert_eq!(bytes.len(), input_size::<Court>());
        assert_eq!(input_of::<Court>(&bytes), Paddle::To(9));
        bytes.clear();
        assert_eq!(input_of::<Court>(&bytes), Paddle::Rest);
    }
}
