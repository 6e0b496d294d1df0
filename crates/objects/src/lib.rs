//! Replicated objects whose owner can change: the first seed's protocol with stamps (PROTOCOL §4).
//!
//! An owner announces an object reliably (CREATE, or MIGRATE when it took it over), and once the announcement is known
//! to have arrived sends, in frames, how its state differs from what that peer is known to have, until that peer has
//! it all. Every receiver keeps the newest stamp it has seen and ignores what is older; a MIGRATE for an object that
//! does not exist creates it; a destroyed object is remembered by stamp. So no order of arrival matters.
//!
//! Nothing is queued per peer: what a peer lacks is computed when there is room to send it. Memory is bounded by
//! live objects and members.
//!
//! This crate is told who hosts and in which term, and takes the answer as given.

mod coder;
mod interest;
mod object;
mod objects;
pub mod pack;
mod past;
mod predict;
pub mod quantise;
mod replica;
mod replicate;
pub mod schema;
mod slots;
mod state;
mod tombs;

pub use object::Object;
pub use objects::{CreateError, ObjectError, ObjectEvent, Objects, Pending, Place};
pub use pack::Pack;
pub use replicate::{Kinded, Replicate};
pub use samovar_derive::Replicate;
pub use samovar_wire::Kind;
pub use samovar_wire::sight::Focus;
pub use schema::{Coding, Field, Motion, NUMBERS_MAX, Schema, SchemaBuilder, Schemas};
pub use state::{State, StateError, StateReader};
