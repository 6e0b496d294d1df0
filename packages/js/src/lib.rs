//! The core of the package for JavaScript. Its face, in TypeScript, is in `ts/`.
//!
//! Objects are numbers and texts here, and messages, asks and the state are texts: the face turns plain objects of
//! JavaScript into them. The face's hooks only note what happens. The face handles it after `Core::step`.
#![cfg(target_arch = "wasm32")]

mod game;
mod plan;
mod values;

use std::rc::Rc;

use js_sys::{Array, Function};
use samovar::dynamic::Context;
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
}

/// A room.
#[wasm_bindgen]
pub struct Core(Running<JsGame>);

#[wasm_bindgen]
impl Core {
    /// Enters a room. `way` is `join`, `create`, `createPrivate`, `joinOrCreate` or `quickMatch`. `plan` is a list: the
    /// game's name, its version, its types, its orders, the most spectators, the most players, whether to watch, and its types
    /// in words. `wake` is called when something has arrived.
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
        let context: Context = Rc::new(hooks.clone());
        let told = hooks.clone();
        let mut entry = entry
            .capacity(plan.capacity)
            .agree::<JsGame>(&plan.agreement, context)
            .on_status(move |status| told.status(&status.to_string()))
            .on_wake(move || {
                // An error of the page's own function is the browser's to report.
                let _ = wake.call0(&JsValue::NULL);
            });
        if plan.watches {
            entry = entry.watch();
        }
        let running = entry.start(move |_| {
            hooks.joined();
            JsGame::new(hooks.clone())
        });
        running.map(Self).map_err(|why| error("Settings", &why.to_string()))
    }

    /// Handles what has arrived, and begins a frame. Returns whether this program is a member now.
    pub fn step(&mut self) -> bool {
        self.0.with(|_, _| ()).is_some()
    }

    /// How the room ended: nothing while it goes on, an empty text when this program has left, or the reason.
    pub fn end(&self) -> Option<String> {
        self.0.end().map(|end| end.err().map(|why| why.to_string()).unwrap_or_default())
    }

    /// The session's time in seconds.
    pub fn time(&mut self) -> f64 {
        self.0.with(|_, room| room.time()).unwrap_or_default()
    }

    /// The code by which others join.
    pub fn code(&mut self) -> String {
        self.0.with(|_, room| room.code().to_owned()).unwrap_or_default()
    }

    /// All members that are here.
    pub fn members(&mut self) -> Array {
        let members = self.0.with(|_, room| room.members()).unwrap_or_default();
        members.iter().map(values::member_of).collect()
    }

    /// The member on a seat, who may be away.
    pub fn member(&mut self, seat: u16) -> JsValue {
        let member = self.0.with(|_, room| room.member(SeatId(seat))).flatten();
        member.as_ref().map_or(JsValue::UNDEFINED, values::member_of)
    }

    /// The number of the host's term.
    pub fn term(&mut self) -> f64 {
        self.0.with(|_, room| room.term() as f64).unwrap_or_default()
    }

    /// The round trip to a member in seconds.
    #[wasm_bindgen(js_name = roundTrip)]
    pub fn round_trip(&mut self, seat: u16) -> Option<f64> {
        self.0.with(|_, room| room.round_trip(SeatId(seat))).flatten()
    }

    /// The state that the host keeps, as a text.
    pub fn state(&mut self) -> String {
        self.0.with(|_, room| room.state().text()).unwrap_or_default()
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

    /// All objects of a kind: a list of lists with the id, the owner, whether it is this program's, the seat of the maker,
    /// the numbers and the texts.
    pub fn all(&mut self, kind: u8) -> Array {
        let all = self.0.with(|_, room| room.all_states(kind)).unwrap_or_default();
        all.iter().map(object_of).collect()
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
        let ask = game::Ask::of(text);
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
        self.0.with(|_, room| room.leave()).is_some()
    }

    fn call<R>(
        &mut self,
        call: impl FnOnce(&mut samovar::Room<'_, JsGame>) -> Result<R, RoomError>,
    ) -> Result<R, JsValue> {
        let result = self.0.with(|_, room| call(room)).unwrap_or(Err(RoomError::NotJoined));
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
