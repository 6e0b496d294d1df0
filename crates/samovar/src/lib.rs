//! Multiplayer games that survive the loss of anybody: a player who reloads, the host, its backup, the relay.
//!
//! A game implements [`Game`] and names what its members share in [`game!`]. [`join_or_create`] enters a game. Five
//! sorts of things are shared:
//!
//! | what | how | what happens when somebody is lost |
//! |---|---|---|
//! | an *object*: one member owns and changes it, all see it | [`Room::create`], [`Room::edit`], [`Room::all`] | its type says: it waits for its player, goes to the host, or ends ([`macro@Object`]) |
//! | the *state*: the host keeps it for all | [`Room::state`], changed in [`Game::decide`] | the next host has it |
//! | an *ask*: a member wants the host to change the state | [`Room::ask`], carried out in [`Game::decide`] | it is carried out exactly once, by whichever host |
//! | a *message* | [`Room::tell`], heard in [`Game::message`] | messages under way are lost with their sender |
//! | a *world*: all members compute it alike from their inputs | [`Room::set_input`], stepped in [`World::step`] | it stands still until another member hosts |
//!
//! [`guide`] goes from a first room to a game that is live.
//!
//! Data that all players change together, such as a score or the ball's owner, are part of the state. A thing that one
//! player moves is an object.
//!
//! In a page the same game runs with the browser's frames. `page::relay()` is then the address of the relay that serves
//! the page, `page::code()` the code in the page's link, and the future of [`Entry::run`] goes to
//! `wasm_bindgen_futures::spawn_local`. The example `whiteboard` is such a page.
//!
//! A program that has a loop of its own, for example an engine's, calls [`Entry::start`] and plays the frames itself by
//! [`Running::with`].
//!
//! With the feature `sim` a game is played in virtual time, while the simulator kills hosts and cuts networks.
//!
//! ```no_run
//! use samovar::prelude::*;
//!
//! #[derive(Object)]
//! struct Cursor {
//!     #[field(range = 100.0, precision = 0.01, smooth)]
//!     position: [f32; 2],
//! }
//!
//! struct Cursors {
//!     mine: Id<Cursor>,
//! }
//!
//! samovar::game! { Cursors: name = "cursors", version = 1, objects = (Cursor) }
//!
//! impl Game for Cursors {
//!     fn frame(&mut self, room: &mut Room<Self>, time: f64) {
//!         let (sin, cos) = (time as f32).sin_cos();
//!         room.edit(self.mine, |cursor| cursor.position = [50.0 * cos, 50.0 * sin]).or_log();
//!         for cursor in room.all::<Cursor>() {
//!             println!("{} is at {:?}", cursor.owner.name, cursor.position);
//!         }
//!     }
//! }
//!
//! # #[cfg(not(target_arch = "wasm32"))]
//! #[tokio::main]
//! async fn main() -> Result<(), samovar::Error> {
//!     samovar::join_or_create("ws://127.0.0.1:8080/ws", "TEA-4", "Ann")
//!         .run(|room| Cursors { mine: room.own_or(|_| Cursor { position: [0.0; 2] }) })
//!         .await
//! }
//! # #[cfg(target_arch = "wasm32")]
//! # fn main() {}
//! ```

pub mod dynamic;
mod entry;
mod error;
#[cfg(target_arch = "wasm32")]
mod farewell;
mod game;
#[cfg(any(doc, doctest))]
pub mod guide;
mod hosted;
mod inner;
mod keeper;
mod listing;
mod member;
mod memory;
#[cfg(not(target_arch = "wasm32"))]
mod native;
mod object;
mod order;
#[cfg(target_arch = "wasm32")]
pub mod page;
pub mod raw;
mod room;
mod running;
mod secret;
#[cfg(any(test, feature = "sim"))]
pub mod sim;
mod smooth;
mod stats;
mod status;
mod stepping;
mod waiting;
#[cfg(target_arch = "wasm32")]
mod web;
mod world;

pub use entry::{Entry, create, create_private, join, join_or_create, quick_match};
pub use error::{Error, OrLog, RoomError};
pub use game::{Agreed, Game, MaybeSend, Message, assert_fits};
pub use listing::Listing;
pub use member::{Change, Member};
#[cfg(not(target_arch = "wasm32"))]
pub use native::args;
pub use object::{Id, Object, ObjectOf, Orphaned, Seen, Sharing, schema_of, traits_of};
pub use order::Order;
pub use room::{Hosting, Room, To};
pub use running::Running;
pub use samovar_derive::{Message, Object, Value};
pub use samovar_peer::PathPolicy;
pub use samovar_session::objects::{self, Schemas};
pub use samovar_session::{Access, Rules};
pub use samovar_wire::SeatId;
pub use stats::{AgeStages, AgeSummary, HostTerm, MemberStats, RoomStats, Route};
pub use status::Status;
pub use world::{Turn, World};

/// All that most games need: `use samovar::prelude::*`.
pub mod prelude {
    pub use crate::{
        Change, Error, Game, Hosting, Id, Listing, Member, Message, Object, OrLog, Order, Room, RoomError,
        Running, SeatId, Seen, Status, To, Turn, Value, World,
    };
}

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use samovar_peer_native::entropy;
#[cfg(target_arch = "wasm32")]
pub(crate) use samovar_peer_web::entropy;

/// A random number.
pub(crate) fn seed() -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = entropy();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Prints a line to the terminal, or to the browser's console.
pub(crate) fn log(text: &str) {
    #[cfg(not(target_arch = "wasm32"))]
    eprintln!("{text}");
    #[cfg(target_arch = "wasm32")]
    web_sys::console::log_1(&text.into());
}
