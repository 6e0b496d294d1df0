//! The trait that a game implements, and what it agrees on with the other members.

use samovar_session::Rules;
use samovar_session::objects::{Pack, Replicate, Schemas, Shape};
use samovar_wire::digest;
use samovar_wire::limits::FIELD_MAX;

use crate::dynamic::Context;
use crate::listing::Listing;
use crate::member::{Change, Member};
use crate::order::{self, Order};
use crate::raw;
use crate::room::{Hosting, Room, unpack};
use crate::stepping::Steps;
use crate::world::{self, World};

/// Natively a game moves to a task of its own, so it must be `Send`. In a page every type is fine.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send> MaybeSend for T {}

/// Natively a game moves to a task of its own, so it must be `Send`. In a page every type is fine.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T> MaybeSend for T {}

/// A message between the members of a game, or a member's request to the host. Derive it with `#[derive(Message)]`.
pub trait Message: Pack {}

impl Message for () {}

/// The agreement between the members of a game. [`game!`](crate::game) implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say what its members share",
    label = "it has no `samovar::game!`",
    note = "write `samovar::game! {{ {Self}: name = \"…\", version = 1, … }}`"
)]
pub trait Agreed: Sized + 'static {
    /// The game's name. Programs of another name are refused.
    const NAME: &'static str;
    /// The version of the game's rules. Programs of another version are refused.
    const VERSION: u32;
    /// The orders of messages that it uses: see [`Room::tell_in`].
    const ORDERS: &'static [Order] = &[];
    /// The most spectators: see [`Entry::watch`](crate::Entry::watch).
    const SPECTATORS: u8 = 0;
    /// Whether it uses the session itself: see [`raw`](crate::raw).
    const IS_RAW: bool = false;
    /// Whether its types are known at run time only: see [`dynamic`](crate::dynamic).
    const IS_DYNAMIC: bool = false;
    /// The state that the host keeps for all: see [`Room::state`].
    type State: Replicate + Pack + Default + Clone + MaybeSend;
    /// A message between members: see [`Room::tell`].
    type Message: Message + MaybeSend;
    /// A member's request to the host: see [`Room::ask`].
    type Ask: Message + MaybeSend;
    /// A world that all members step alike; `()` for a game without one.
    type World: World;

    /// The schemas of the game's objects, and how they are shared.
    fn schemas() -> Schemas;

    /// The shapes of the game's objects.
    fn shapes(shape: &mut Shape);

    /// The message in these bytes; `None` if no program of this game writes them. Only a dynamic game has an encoding of
    /// its own: see [`dynamic`](crate::dynamic).
    #[must_use]
    fn message_from(bytes: &[u8]) -> Option<Self::Message> {
        unpack(bytes)
    }

    /// The world of a dynamic game, if it has one: see [`dynamic::Steps`](crate::dynamic::Steps).
    #[must_use]
    fn foreign_world(context: &Context, seed: u64) -> Option<Box<dyn Steps>> {
        let _ = (context, seed);
        None
    }

    /// How the session is kept alive.
    #[must_use]
    fn rules() -> Rules {
        Rules::default()
    }
}

/// A game. The same implementation runs natively and in a page.
///
/// The calls come from one task, and must not block: during a call this program sends nothing, and the others soon take
/// it for lost.
pub trait Game: Agreed + MaybeSend {
    /// Frames a second in a native program. A page has those of its browser.
    const FRAMES_PER_SECOND: f64 = 30.0;

    /// A frame. `time` is the session's time in seconds: nearly the same at all members, and it goes on under each
    /// new host. A program with a loop of its own plays its frames in [`Running::with`](crate::Running::with), and
    /// leaves this out.
    fn frame(&mut self, room: &mut Room<'_, Self>, time: f64) {
        let _ = (room, time);
    }

    /// The host carries out what a member asked for by [`Room::ask`]. It changes [`Hosting::state`], and that change
    /// happens exactly once for each ask, whatever host is lost meanwhile. Its other effects (messages, objects) may
    /// happen twice or be lost in a change of host.
    fn decide(host: &mut Hosting<'_, '_, Self>, from: &Member, ask: Self::Ask) {
        let _ = (host, from, ask);
    }

    /// The entry of a public game with this state in the relay's list, for those who look for a game. Each host calls it
    /// when the state has changed.
    #[must_use]
    fn listing(state: &Self::State) -> Listing {
        let _ = state;
        Listing::default()
    }

    /// A message from another member, or from this program to itself.
    fn message(&mut self, room: &mut Room<'_, Self>, from: &Member, message: Self::Message) {
        let _ = (room, from, message);
    }

    /// A message in the order of time that came too late for its place: this program has heard of later things. `time` is
    /// the session time of the event, in seconds. Unless the game implements this, it hears it as any other message.
    fn late(&mut self, room: &mut Room<'_, Self>, from: &Member, message: Self::Message, time: f64) {
        let _ = time;
        self.message(room, from, message);
    }

    /// Something happened in the session below: only a raw game hears of it. See [`raw`](crate::raw).
    fn event(&mut self, room: &mut Room<'_, Self>, event: &raw::Event) {
        let _ = (room, event);
    }

    /// The data with which a raw game is made anew, if all players go at once: see [`raw`](crate::raw).
    #[must_use]
    fn kept(&self) -> Option<Vec<u8>> {
        None
    }

    /// Something happened to a member: see [`Change`].
    fn member(&mut self, room: &mut Room<'_, Self>, member: &Member, change: Change) {
        let _ = (room, member, change);
    }
}

/// The rules of a game's session, with the orders that it uses, and lockstep if it has a world.
pub(crate) fn rules<G: Agreed>() -> Rules {
    let mut rules = G::rules();
    order::add(&mut rules, G::ORDERS);
    rules.spectators = rules.spectators.max(G::SPECTATORS);
    rules.orders.lockstep = world::config::<G::World>().or(rules.orders.lockstep);
    rules
}

/// The hash of all that members must agree on, by which programs that differ refuse each other.
pub(crate) fn params<G: Agreed>(schemas: &Schemas) -> u64 {
    let mut shape = Shape::default();
    G::shapes(&mut shape);
    G::State::shape(&mut shape);
    G::Message::shape(&mut shape);
    G::Ask::shape(&mut shape);
    G::World::shape(&mut shape);
    <G::World as World>::Input::shape(&mut shape);
    shape.number(G::World::STEPS_PER_SECOND);
    params_of((G::NAME, G::VERSION), [schemas.hash(), shape.hash()], rules::<G>())
}

/// The hash of a name and a version, the shapes of all types, and the rules.
pub(crate) fn params_of((name, version): (&str, u32), shapes: [u64; 2], rules: Rules) -> u64 {
    // The view states what is left out here.
    let Rules { migrates: _, forks: _, by_host: _, backups, grace, steps_within, orders, spectators } = rules;
    let timestamp = orders.timestamp.unwrap_or_default();
    let flags = [
        backups,
        spectators,
        orders.causal.map_or(0, |causality| 1 + causality as u8),
        u8::from(orders.total),
        u8::from(orders.timestamp.is_some()),
        u8::from(steps_within.is_some()),
    ];
    let times = [grace, steps_within.unwrap_or_default(), timestamp.lookahead, timestamp.patience];
    let times = times.map(|time| time.as_micros().to_le_bytes()).concat();
    let shapes = shapes.map(u64::to_le_bytes).concat();
    let version = version.to_le_bytes();
    let [a, b, c, d, e, f, g, h, ..] =
        digest(&[b"samovar game", name.as_bytes(), &version, &shapes, &flags, &times]);
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Says what the members of a game agree on: its name, its version, and the types that they share.
///
/// ```
/// # use samovar::prelude::*;
/// # #[derive(Object)] struct Cursor { #[field(range = 100.0, precision = 0.01)] position: [f32; 2] }
/// # #[derive(Value, Clone, Default)] struct Score { points: u32 }
/// # #[derive(Message)] struct Chat { #[field(bound = 200)] text: String }
/// # #[derive(Message)] enum Ask { Point }
/// struct Cursors;
///
/// samovar::game! {
///     Cursors: name = "cursors", version = 1,
///     objects = (Cursor), state = Score, messages = Chat, asks = Ask
/// }
/// ```
///
/// A message or an ask takes at most 255 bytes. A type that may take more does not compile:
///
/// ```compile_fail,E0080
/// # use samovar::prelude::*;
/// #[derive(Message)]
/// struct Long([u64; 32]);
/// struct Talk;
/// samovar::game! { Talk: name = "talk", version = 1, messages = Long }
/// ```
///
/// The parts stand in this order, and each part after the version may be left out. A last part `rules = …` states
/// [`Rules`](crate::Rules).
#[macro_export]
macro_rules! game {
    ($game:ty: name = $name:expr, version = $version:expr $(, objects = ($($object:ty),* $(,)?))?
        $(, state = $state:ty)? $(, messages = $message:ty)? $(, asks = $ask:ty)? $(, world = $world:ty)?
        $(, orders = ($($order:ident),* $(,)?))? $(, spectators = $spectators:expr)?
        $(, rules = $rules:expr)? $(,)?
    ) => {
        const _: () = {
            $($crate::assert_fits::<$message>();)?
            $($crate::assert_fits::<$ask>();)?
        };
        impl $crate::Agreed for $game {
            const NAME: &'static str = $name;
            const VERSION: u32 = $version;
            $(const SPECTATORS: u8 = $spectators;)?
            $(const ORDERS: &'static [$crate::Order] = &[$($crate::Order::$order),*];)?
            type State = $crate::__or_none!($($state)?);
            type Message = $crate::__or_none!($($message)?);
            type Ask = $crate::__or_none!($($ask)?);
            type World = $crate::__or_none!($($world)?);

            fn schemas() -> $crate::Schemas {
                $crate::Schemas::new()$($(
                    .with($crate::schema_of::<Self, $object>())
                    .with_traits($crate::traits_of::<Self, $object>())
                )*)?
            }

            fn shapes(shape: &mut $crate::objects::Shape) {
                let _ = &shape;
                $($(<$object as $crate::objects::Pack>::shape(shape);)*)?
            }

            $(fn rules() -> $crate::Rules {
                $rules
            })?
        }
        $($crate::__kinds!($game, 1; $($object,)*);)?
    };
}

/// Checks the size of a message.
///
/// # Panics
/// If the message may take more than 255 bytes. In a `const` that is an error of the compiler.
#[doc(hidden)]
pub const fn assert_fits<T: Message>() {
    assert!(T::BITS_MAX.div_ceil(8) <= FIELD_MAX, "a message takes at most 255 bytes: lower its bounds");
}

#[doc(hidden)]
#[macro_export]
macro_rules! __or_none {
    () => {
        ()
    };
    ($type:ty) => {
        $type
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __kinds {
    ($game:ty, $kind:expr;) => {};
    ($game:ty, $kind:expr; $first:ty, $($rest:ty,)*) => {
        impl $crate::ObjectOf<$game> for $first {
            const KIND: u8 = $kind;
        }
        $crate::__kinds!($game, $kind + 1; $($rest,)*);
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_derive::{Message, Object, Value};

    use crate::hosted;

    /// The params of a game with these parts.
    macro_rules! params_of {
        ($version:expr, ($($part:tt)*) $($item:item)*) => {{
            $($item)*
            struct It;
            crate::game! { It: name = "it", version = $version, $($part)* }
            impl Game for It {
                fn frame(&mut self, _: &mut Room<'_, Self>, _: f64) {}
            }
            params::<It>(&hosted::schemas::<It>())
        }};
    }

    const LOW: u32 = 7;
    const HIGH: u32 = 6;

    #[test]
    fn games_that_differ_in_any_part_have_different_params() {
        let all = [
            params_of!(1, ()),
            params_of!(2, ()),
            params_of!(1, (state = u32)),
            params_of!(1, (state = i32)),
            params_of!(1, (messages = A) #[derive(Message)] #[object(crate = crate)] enum A { B, C }),
            params_of!(1, (messages = A) #[derive(Message)] #[object(crate = crate)] enum A { C, B }),
            params_of!(1, (asks = A) #[derive(Message)] #[object(crate = crate)] enum A { B, C }),
            // The inside of a part, and a bound that is a constant.
            params_of!(1, (messages = A)
                #[derive(Value)] #[object(crate = crate)] struct Inside { a: u16, b: u16 }
                #[derive(Message)] #[object(crate = crate)] struct A { inside: Inside }),
            params_of!(1, (messages = A)
                #[derive(Value)] #[object(crate = crate)] struct Inside { b: u16, a: u16 }
                #[derive(Message)] #[object(crate = crate)] struct A { inside: Inside }),
            params_of!(1, (messages = A)
                #[derive(Message)] #[object(crate = crate)]
                struct A { #[field(min = 0, max = LOW)] level: u32 }),
            params_of!(1, (messages = A)
                #[derive(Message)] #[object(crate = crate)]
                struct A { #[field(min = 0, max = HIGH)] level: u32 }),
            // The inside of a text, and the sharing of an object.
            params_of!(1, (objects = (A))
                #[derive(Object)] #[object(crate = crate)] struct A { #[field(bound = 4)] list: Vec<(u8, u16)> }),
            params_of!(1, (objects = (A))
                #[derive(Object)] #[object(crate = crate)] struct A { #[field(bound = 4)] list: Vec<(u16, u8)> }),
            params_of!(1, (objects = (A))
                #[derive(Object)] #[object(crate = crate, orphan = "host")]
                struct A { #[field(bound = 4)] list: Vec<(u16, u8)> }),
            params_of!(1, (objects = (A))
                #[derive(Object)] #[object(crate = crate, orphan = "host", reliable)]
                struct A { #[field(bound = 4)] list: Vec<(u16, u8)> }),
        ];
        for (place, one) in all.iter().enumerate() {
            let same = all[..place].iter().position(|other| other == one);
            assert_eq!(same, None, "{place}");
        }
    }

    #[test]
    fn value_beyond_a_limit_is_told_with_type_field_and_limit() {
        #[derive(Value)]
        #[object(crate = crate)]
        struct Place {
            #[field(range = 10.0, precision = 0.5)]
            at: [f32; 2],
            #[field(min = 1, max = 6)]
            level: u8,
        }
        #[derive(Message)]
        #[object(crate = crate)]
        enum Say {
            Word(#[field(bound = 4)] String),
            Places {
                #[field(bound = 1)]
                list: Vec<Place>,
            },
        }
        let told = |say: &Say| {
            let mut told = Vec::new();
            Pack::tell_beyond(say, &mut |field, what| told.push((field, what)));
            told
        };
        assert_eq!(told(&Say::Word("tea!".to_owned())), []);
        let cut = "a text of 6 bytes is cut to 4".to_owned();
        assert_eq!(told(&Say::Word("coffee".to_owned())), [("Say::Word.0", cut)]);
        let place = |x, level| Place { at: [x, 0.0], level };
        assert_eq!(told(&Say::Places { list: vec![place(10.2, 6)] }), [], "it is rounded");
        let all = told(&Say::Places { list: vec![place(f32::NAN, 7), place(99.0, 1)] });
        let wanted = [
            ("Say::Places.list", "a list of 2 items is cut to 1"),
            ("Place.at", "NaN is sent as the nearest number from -10 to 10"),
            ("Place.level", "7 is sent as the nearest number from 1 to 6"),
        ];
        assert!(all.iter().map(|(field, what)| (*field, &**what)).eq(wanted), "{all:?}");
    }

    #[test]
    fn equal_games_have_equal_params() {
        assert_eq!(params_of!(1, (state = u32)), params_of!(1, (state = u32)));
    }
}
