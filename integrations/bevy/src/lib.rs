//! [Samovar](https://docs.rs/samovar)'s rooms in a [Bevy](https://docs.rs/bevy) app.
//!
//! An app enters one room. Components of the types that it [shares](App::share) are the same at all members, and other
//! members' components arrive as entities. The session outlives its host: a [`RoomNews::HostIs`] is all that a game
//! sees of a change of host.
//!
//! - **Objects.** A component type that derives `Object` is shared by [`SamovarApp::share`]. An entity gets others to see
//!   its component by the marker [`Share`]; only its owner's changes count. Smooth fields of others' components are
//!   computed for each frame.
//! - **Ownership.** Each shared entity has an [`Owner`]. The marker [`Touch`] asks for an entity of another member.
//! - **The room.** The resource [`Room`] has members, host, time and the host's state, and sends messages and asks.
//!
//! ```no_run
//! use bevy_app::prelude::*;
//! use bevy_ecs::prelude::*;
//! use samovar::{Error, Game, Object};
//! use samovar_bevy::{Owner, SamovarApp as _, Share};
//!
//! #[derive(Object, Component, Clone, PartialEq)]
//! struct Boat {
//!     #[field(range = 100.0, precision = 0.01, smooth)]
//!     position: [f32; 2],
//! }
//!
//! struct Regatta;
//! samovar::game! { Regatta: name = "regatta", version = 1, objects = (Boat) }
//! impl Game for Regatta {}
//!
//! fn sail(mut boats: Query<(&mut Boat, &Owner)>) {
//!     for (mut boat, owner) in &mut boats {
//!         if owner.is_me {
//!             boat.position[0] += 0.1;
//!         }
//!     }
//! }
//!
//! fn launch(mut commands: Commands) {
//!     commands.spawn((Boat { position: [0.0, 0.0] }, Share));
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let entry = samovar::join_or_create("ws://127.0.0.1:8080/ws", "TEA-4", "Ann");
//!     App::new()
//!         .enter(entry, || Regatta)?
//!         .share::<Regatta, Boat>()
//!         .add_systems(Startup, launch)
//!         .add_systems(Update, sail)
//!         .run();
//!     Ok(())
//! }
//! ```

mod app;
mod news;
mod objects;
mod room;

pub use app::SamovarApp;
#[cfg(doc)]
use bevy_app::App;
pub use news::{Heard, Messages, RoomNews};
pub use objects::{Owner, Share, Touch};
pub use room::Room;
