//! Replicated objects whose owner can change: the Bitsquid engine's protocol with stamps (PROTOCOL §4,
//! docs/sources.md).
//!
//! An owner announces an object reliably: by CREATE, or by MIGRATE when it took the object over. It sends frames once
//! it knows that the announcement has arrived; a new owner may send them earlier. A frame carries how the state
//! differs from a state that the peer is known to have; frames go on until the peer has the newest state. Every
//! receiver keeps the newest stamp it has seen and ignores older ones. A MIGRATE for an unknown object creates it,
//! and a destroyed object is remembered by its stamp. So messages may arrive in any order.
//!
//! No update is queued for a peer: the owner computes what the peer lacks when there is room to send it. Memory is
//! bounded by the numbers of live objects and members.
//!
//! The caller tells this crate which peer hosts, and in which term; this crate does not check it.
//!
//! This crate can be used alone, over any transport that delivers some messages reliably and in order, loses others,
//! and reports the fate of both:
//!
//! ```
//! use samovar_objects::{Kinded, Objects, Place, Replicate, Schemas, State};
//! use samovar_wire::object::{MessageKind, Traits};
//! use samovar_wire::{PeerId, Reader, Receipt, Term, Time};
//!
//! #[derive(Replicate, Debug, PartialEq)]
//! #[replicate(kind = 1)]
//! struct Boat {
//!     #[replicate(range = 64.0, precision = 0.25, rate = velocity)]
//!     position: [f32; 2],
//!     #[replicate(range = 16.0, precision = 0.5)]
//!     velocity: [f32; 2],
//!     #[replicate(bound = 20)]
//!     name: String,
//! }
//!
//! let schemas = || Schemas::new().with(Boat::schema());
//! let (ann, bob) = (PeerId(1), PeerId(2));
//! let mut at_ann = Objects::new(ann, ann, Term::FIRST, schemas()); // Ann hosts.
//! let mut at_bob = Objects::new(bob, ann, Term::FIRST, schemas());
//! at_ann.add_peer(bob);
//! at_bob.add_peer(ann);
//!
//! // Ann creates a boat; Bob is told reliably.
//! let (mut state, mut bytes) = (State::default(), Vec::new());
//! let boat = Boat { position: [1.0, 2.0], velocity: [0.5, 0.0], name: "Swan".to_owned() };
//! boat.write(&mut state);
//! let traits = Traits::of(Boat::KIND);
//! let id = at_ann.create_state(Time::ZERO, traits, &state)?;
//! let pending = at_ann.poll_message(Time::ZERO, bob, &mut bytes).ok_or("nothing to say")?;
//! at_ann.on_sent(bob, pending, Receipt::Lane(0));
//! let kind = MessageKind::decode(&mut Reader::new(&bytes))?;
//! at_bob.handle_message(ann, kind, &bytes[1..]).map_err(|code| code.to_string())?;
//!
//! // The boat moves. The update goes into the next packet and takes a few bytes.
//! state.clear();
//! Boat { position: [1.25, 2.0], ..boat }.write(&mut state);
//! at_ann.set_state(Time::from_micros(500_000), id, &state)?;
//! bytes.clear();
//! let place = Place { now: Time::from_micros(500_000), peer: bob, packet: 0, room: 1_000 };
//! at_ann.write_datagram(place, &|_announcement| true, &mut bytes);
//! at_bob.handle_datagram(ann, &bytes[1..]).map_err(|code| code.to_string())?;
//! at_ann.on_fate(bob, 0, true);
//!
//! let seen = Boat::read(&mut at_bob.get(id).ok_or("no boat")?.reader())?;
//! assert_eq!(seen.position, [1.25, 2.0]);
//! assert!(!at_ann.wants_datagram(bob), "an object at rest costs nothing");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arrival;
mod baselines;
mod bits;
mod claims;
mod coder;
mod confirm;
mod confirmations;
mod ends;
mod fields;
mod frames;
mod interest;
mod object;
mod objects;
mod ownership;
pub mod pack;
mod past;
mod popularity;
mod predict;
pub mod quantise;
mod receive;
mod replica;
mod replicate;
pub mod schema;
mod scratch;
mod send;
mod shape;
mod sight;
mod slots;
mod state;
mod text;
mod tombstones;
mod typed;
pub mod warp;

pub use arrival::Arrival;
pub use frames::Place;
pub use object::Object;
pub use objects::{CreateError, ObjectError, ObjectEvent, Objects};
pub use pack::{Pack, Packer};
pub use replicate::{Kinded, Replicate};
pub use samovar_derive::Replicate;
pub use samovar_wire::Kind;
pub use samovar_wire::sight::Focus;
pub use schema::{Coding, Field, Motion, NUMBERS_MAX, Schema, SchemaBuilder, Schemas};
pub use send::Pending;
pub use shape::Shape;
pub use state::{State, StateError, StateReader};
