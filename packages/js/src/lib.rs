//! The core of the package for JavaScript. Its face, in TypeScript, is in `ts/`.
//!
//! Objects are numbers and texts here, and messages, asks and the state are texts: the face turns plain objects of
//! JavaScript into them. The face's hooks only note what happens. The face handles it after `Core::step`.
#![cfg(target_arch = "wasm32")]

mod game;
mod plan;
mod values;
mod world;

use std::rc::Rc;

use js_sys::{Array, Function};
use samovar::dynamic::Context;
use samovar::dynamic::texts::TextAsk;
use samovar::{Entry, Order, RoomError, Running, SeatId, To};
use samovar_wire::{Lane, ObjectId};
use wasm_bindgen::prelude::*;

use game::JsGame;
use values::{error, id_of, object_of, room_error, state_of, words};

#[wasm_bindgen]
extern "C" {
    /// The face's ears.
    #[derive(Clone)]
    pub type Hooks;

    /// The connection stands otherwise now.
    #[wasm_bindgen(method)]
    fn status(this: &Hooks, text: &str);

    /// A message came from the member on a seat.
    #[wasm_bindgen(method)]
    fn message(this: &Hooks, seat: u16, text: &str);

    /// Something happened to a member.
    #[wasm_bindgen(method)]
    fn member(this: &Hooks, member: JsValue, change: &str);

    /// This program became a member, for the first time or again.
    #[wasm_bindgen(method)]
    fn joined(this: &Hooks);

    /// The state after this ask. An error leaves the state as it is.
    #[wasm_bindgen(method, catch)]
    fn decide(this: &Hooks, state: &str, member: JsValue, ask: &str) -> Result<String, JsValue>;

    /// The world before its first step, by a random number.
    #[wasm_bindgen(method)]
    fn begin(this: &Hooks, seed: u32);

    /// This player's input.
    #[wasm_bindgen(method)]
    fn input(this: &Hooks) -> Vec<u8>;

    /// One step of the world. `inputs` is a list of lists with a seat and its bytes.
    #[wasm_bindgen(method)]
    fn step(this: &Hooks, number: f64, inputs: Array, joined: Vec<u16>, left: Vec<u16>);

    /// The world as a text.
    #[wasm_bindgen(method)]
    fn save(this: &Hooks) -> String;

    /// Takes over a world.
    #[wasm_bindgen(method)]
    fn load(this: &Hooks, text: &str);

    /// The fields of a world: a list of lists with a name and a text.
    #[wasm_bindgen(method)]
    fn fields(this: &Hooks, text: &str) -> Array;
}

/// A room.
#[wasm_bindgen]
pub struct Core(Running<JsGame>);

#[wasm_bindgen]
impl Core {
    /// Enters a room. `way` is `join`, `create`, `createPrivate`, `joinOrCreate` or `quickMatch`. `plan` is a list: the
    /// game's name, its version, its types, its orders, the most spectators, the most players, whether to watch, its types in
    /// words, the bytes of an input and the steps a second of its world, zero without one, whether the room ends with its
    /// host, whether it forks, whether packets take the relay, and the token of the game's own server or nothing. `wake` is called when something has arrived.
    ///
    /// # Errors
    /// An `Error` with a `code` when the settings cannot work.
    #[wasm_bindgen(constructor)]
    pub fn new(
        way: &str,
        url: &str,
        code: &str,
        name: &str,
        plan: &Array,
        hooks: Hooks,
        wake: Function,
    ) -> Result<Self, JsValue> {
        let plan = plan::Plan::read(plan).map_err(|why| error("BadSchema", &why))?;
        let entry = match way {
            "join" => samovar::join(url, code, name),
            "create" if code.is_empty() => samovar::create(url, name),
            "create" => samovar::create(url, name).code(code),
            "createPrivate" => samovar::create_private(url, name),
            "quickMatch" => samovar::quick_match(url, name),
            _ => samovar::join_or_create(url, code, name),
        };
        Self::enter(entry, plan, hooks, wake)
    }

    fn enter(entry: Entry, plan: plan::Plan, hooks: Hooks, wake: Function) -> Result<Self, JsValue> {
        let context: Context = Rc::new(game::Ears { hooks: hooks.clone(), has_world: plan.has_world });
        let told = hooks.clone();
        let mut entry = entry
            .capacity(plan.capacity)
            .agree::<JsGame>(&plan.agreement, context)
            .on_status(move |status| told.status(&status.to_string()))
            .on_wake(move || {
                // An error of the page's own function is the browser's to report.
                let _ = wake.call0(&JsValue::NULL);
            });
        for (is_wanted, set) in [
            (plan.watches, Entry::watch as fn(Entry) -> Entry),
            (plan.ends_with_host, Entry::ends_with_host),
            (plan.forks, Entry::forks),
            (plan.is_relayed, |entry| entry.paths(samovar::PathPolicy::Relayed)),
        ] {
            if is_wanted {
                entry = set(entry);
            }
        }
        if let Some(token) = plan.token {
            entry = entry.token(token);
        }
        let running = entry.start(move |_| {
            hooks.joined();
            JsGame::new(hooks.clone())
        });
        running.map(Self).map_err(|why| error(why.code(), &why.to_string()))
    }

    /// Handles what has arrived, and begins a frame. Returns whether this program is a member now.
    pub fn step(&mut self) -> bool {
        self.0.with(|_, _| ()).is_some()
    }

    /// How the room ended: nothing while it goes on, an empty list when this program has left, or the code and the text
    /// of the reason.
    pub fn end(&self) -> Option<Vec<String>> {
        let words = |why: samovar::Error| vec![why.code().to_owned(), why.to_string()];
        self.0.end().map(|end| end.err().map(words).unwrap_or_default())
    }

    /// The session's time in seconds; nothing while this program is away, here as in the others.
    pub fn time(&mut self) -> Option<f64> {
        self.0.between(|_, room| room.time())
    }

    /// The code by which others join.
    pub fn code(&mut self) -> Option<String> {
        self.0.between(|_, room| room.code().to_owned())
    }

    /// All members that are here.
    pub fn members(&mut self) -> Array {
        let members = self.0.between(|_, room| room.members()).unwrap_or_default();
        members.iter().map(values::member_of).collect()
    }

    /// The member on a seat, who may be away.
    pub fn member(&mut self, seat: u16) -> JsValue {
        let member = self.0.between(|_, room| room.member(SeatId(seat))).flatten();
        member.as_ref().map_or(JsValue::UNDEFINED, values::member_of)
    }

    /// The number of the host's term.
    pub fn term(&mut self) -> Option<f64> {
        self.0.between(|_, room| room.term() as f64)
    }

    /// The round trip to a member in seconds.
    #[wasm_bindgen(js_name = roundTrip)]
    pub fn round_trip(&mut self, seat: u16) -> Option<f64> {
        self.0.between(|_, room| room.round_trip(SeatId(seat))).flatten()
    }

    /// How often the worlds of members were found to differ.
    #[wasm_bindgen(js_name = worldDiffered)]
    pub fn world_differed(&mut self) -> f64 {
        self.0.between(|_, room| room.world_differed() as f64).unwrap_or_default()
    }

    /// The quality of the connections, and the ages of the others' data.
    pub fn stats(&mut self) -> JsValue {
        let stats = self.0.between(|_, room| room.stats());
        stats.as_ref().map_or(JsValue::UNDEFINED, values::stats_of)
    }

    /// The state that the host keeps, as a text.
    pub fn state(&mut self) -> Option<String> {
        self.0.between(|_, room| room.state().text())
    }

    /// Makes an object of a kind.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn create(&mut self, kind: u8, numbers: &[i32], texts: &Array) -> Result<String, JsValue> {
        let state = state_of(numbers, texts);
        self.call(|room| room.create_state(kind, &state)).map(words)
    }

    /// The object of a kind that this player had before a reload, or a new one.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn own(&mut self, kind: u8, numbers: &[i32], texts: &Array) -> Result<String, JsValue> {
        let state = state_of(numbers, texts);
        self.call(|room| room.own_state(kind, &state)).map(words)
    }

    /// Changes an object.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn edit(&mut self, id: &str, numbers: &[i32], texts: &Array) -> Result<(), JsValue> {
        let (id, state) = (named(id)?, state_of(numbers, texts));
        self.call(|room| room.edit_state(id, &state))
    }

    /// Ends an object.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn destroy(&mut self, id: &str) -> Result<(), JsValue> {
        let id = named(id)?;
        self.call(|room| room.destroy_state(id))
    }

    /// Asks for an object that this player touches.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn touch(&mut self, id: &str) -> Result<(), JsValue> {
        let id = named(id)?;
        self.call(|room| room.touch_state(id))
    }

    /// Asks the host for an object.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn request(&mut self, id: &str) -> Result<(), JsValue> {
        let id = named(id)?;
        self.call(|room| room.request_state(id))
    }

    /// Gives an object to the player on a seat, or to the host.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn give(&mut self, id: &str, to: Option<u16>) -> Result<(), JsValue> {
        let id = named(id)?;
        self.call(|room| room.give_state(id, to.map(SeatId)))
    }

    /// Sets the entry of the room in the relay's list.
    #[wasm_bindgen(js_name = listAs)]
    pub fn list_as(&mut self, title: &str, is_open: bool) {
        let listing = samovar::Listing { title: title.to_owned(), is_open };
        self.0.between(|_, room| room.list_as(listing));
    }

    /// All objects of a kind: a list of lists with the id, the owner, whether it is this program's, the seat of the maker,
    /// the numbers and the texts.
    pub fn all(&mut self, kind: u8) -> Array {
        let all = self.0.between(|_, room| room.all_states(kind)).unwrap_or_default();
        all.iter().map(object_of).collect()
    }

    /// An object: a list as in `all`, or nothing when there is no such object any more.
    pub fn get(&mut self, id: &str) -> JsValue {
        let seen = id_of(id).and_then(|id| self.0.between(|_, room| room.seen_state(id)).flatten());
        seen.as_ref().map_or(JsValue::UNDEFINED, object_of)
    }

    /// Tells others something. `to` is a seat, -1 for all others or -2 for the host. `order` is `sender`, `none`, `causal`,
    /// `total`, `stable` or `time`; the last four go to all.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn send(&mut self, to: i32, order: &str, text: &str) -> Result<(), JsValue> {
        let to = match to {
            -1 => To::All,
            -2 => To::Host,
            seat => To::Seat(SeatId(u16::try_from(seat).unwrap_or(u16::MAX))),
        };
        let (lane, order) = match order {
            "none" => (Lane::Unreliable, None),
            "causal" => (Lane::GAME, Some(Order::Causal)),
            "total" => (Lane::GAME, Some(Order::Total)),
            "stable" => (Lane::GAME, Some(Order::Stable)),
            "time" => (Lane::GAME, Some(Order::Time)),
            _ => (Lane::GAME, None),
        };
        self.call(|room| match order {
            Some(order) => room.tell_bytes_in(order, text.as_bytes()),
            None => room.tell_bytes(to, lane, text.as_bytes()),
        })
    }

    /// Asks the host for something.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    pub fn ask(&mut self, text: &str) -> Result<(), JsValue> {
        let ask = TextAsk::new(text);
        self.call(|room| room.ask(ask.ok_or(RoomError::TooLarge)?))
    }

    /// As the host, puts a player out; `is_for_good` keeps the player out.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    #[wasm_bindgen(js_name = putOut)]
    pub fn put_out(&mut self, seat: u16, is_for_good: bool) -> Result<(), JsValue> {
        self.call(|room| if is_for_good { room.bar(SeatId(seat)) } else { room.put_out(SeatId(seat)) })
    }

    /// As the host, lets another member host.
    ///
    /// # Errors
    /// An `Error` with a `code`.
    #[wasm_bindgen(js_name = handOver)]
    pub fn hand_over(&mut self) -> Result<(), JsValue> {
        self.call(|room| room.hand_over())
    }

    /// Leaves for good. Returns whether it does; a program that is no member at the moment just ends.
    pub fn leave(&mut self) -> bool {
        self.0.between(|_, room| room.leave()).is_some()
    }

    fn call<R>(
        &mut self,
        call: impl FnOnce(&mut samovar::Room<'_, JsGame>) -> Result<R, RoomError>,
    ) -> Result<R, JsValue> {
        let result = self.0.between(|_, room| call(room)).unwrap_or(Err(RoomError::NotJoined));
        result.map_err(room_error)
    }
}

fn named(id: &str) -> Result<ObjectId, JsValue> {
    id_of(id).ok_or_else(|| room_error(RoomError::NoSuchObject))
}

/// The address of the relay that serves this page.
#[wasm_bindgen(js_name = relayOfThisPage)]
#[must_use]
pub fn relay() -> String {
    samovar::page::relay()
}
