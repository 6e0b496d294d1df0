//! A session: links, objects and roster composed, the session clock, and the API that a game programs against.
//!
//! [`Session`] routes what links deliver to the machine it is for, carries plain values between machines that do not
//! know each other (acks to objects, silence to the roster, terms to the objects), and does the host's housework when
//! this peer hosts. It makes no decision that one of the four could make.
//!
//! The run loop of a driver, in any order and as often as it likes:
//!
//! 1. hand over what arrived with [`Session::handle_packet`], then call [`Session::handle_timeout`] when
//!    [`Session::poll_timeout`] is due;
//! 2. drain [`Witness::poll_doubt`] and [`Witness::poll_claim`] to the relay, and [`Session::poll_transmit`] to the paths;
//! 3. drain [`Session::poll_event`] to the game, which reads [`Session::objects`] and changes what it owns.
//!
//! What concerns one part of a session is said by a *handle*, which borrows the session for that:
//!
//! | handle | for |
//! |---|---|
//! | [`Session::edit`] | creating, changing, destroying and granting objects |
//! | [`Session::ownership`] | asking for objects of others, and deciding who gets them |
//! | [`Session::calls`] | questions to other games, and their answers |
//! | [`Session::interest`] | which objects of others this peer wants to see |
//! | [`Session::lockstep`] | the steps of a game in [`lockstep`] |
//! | [`Session::witness`] | a driver: what the relay says, and is told |
//! | [`Session::path`] | a driver: what it knows of the path to a peer |
//! | [`Session::link`] | reading what is measured between this peer and another |
//!
//! What a game must answer has queues of its own: [`Calls::poll`], and at a host that wants to decide
//! [`Ownership::poll_request`].
//!
//! A message names its delivery ([`Session::send`]): by a lane of its own, or in an order that the session's [`Rules`] name
//! and that survives the host: causal, total, by time stamp. A game in [`lockstep`] is stepped by [`Session::lockstep`].
//!
//! # Features
//!
//! A program pays for what it uses: each of these is on by default, and a build without it is smaller.
//!
//! | feature | has | without it |
//! |---|---|---|
//! | `orders` | causal, total and time-stamp order | [`Rules`] that name one give no session: [`ConfigError::LeftOut`] |
//! | `lockstep` | the frames of [`lockstep`] | the same |
//! | `ownership` | [`Session::ownership`], objects that are frozen or go to the nearest | [`Edit::grant`] is there; such objects are not created |
//! | `extras` | [`Session::calls`], [`Session::interest`], [`Session::submit`] | this peer sees everything, and nobody submits inputs |
//!
//! Members of one session may be built with different ones, as long as each has what the game uses. A message of a service
//! that is left out ends its link as [`CloseCode::Unexpected`](samovar_wire::CloseCode::Unexpected).
//!
//! # Inputs
//!
//! What must not be lost with any single peer goes by [`Session::submit`]: the host's game gets it as
//! [`Event::Input`], and the player is told [`Event::Accepted`] when the host is not alone in holding it.

mod admission;
#[cfg_attr(not(feature = "extras"), path = "left_out/calls.rs")]
mod calls;
mod clock;
mod config;
mod context;
mod control;
mod core;
mod desk;
mod dispatch;
mod divergence;
mod ending;
mod event;
mod handles;
mod handover;
#[cfg_attr(not(feature = "extras"), path = "left_out/inputs.rs")]
mod inputs;
#[cfg_attr(not(feature = "extras"), path = "left_out/interest.rs")]
mod interest;
mod kept;
mod links;
mod orders;
#[cfg_attr(not(feature = "ownership"), path = "left_out/ownership.rs")]
mod ownership;
mod send;
mod session;
mod settle;
mod steps;
mod term;
mod time;
mod transmit;
mod view;

#[cfg(feature = "extras")]
pub use calls::{
    CALLS_MAX, CALLS_PER_PEER_MAX, Call, CallError, CallKey, IncomingCall, Procedure, Reply, ReplyError,
};
pub use config::{ConfigError, Rules, SessionConfig};
pub use event::{
    CallId, CallOutcome, Cause, Departure, EndReason, Event, MemberInfo, Migration, Outcome, Target, Transmit,
};
#[cfg(feature = "ownership")]
pub use handles::Ownership;
#[cfg(feature = "extras")]
pub use handles::{Calls, Interest};
pub use handles::{Edit, LinkTo, PathTo, Witness};
#[cfg(feature = "extras")]
pub use inputs::SubmitError;
pub use kept::Kept;
pub use orders::{Delivery, Lockstep, Orders};
#[cfg(feature = "ownership")]
pub use ownership::{OwnershipPolicy, OwnershipRequest, WISHES_MAX, WishError};
pub use samovar_link::LinkStats;
pub use samovar_objects as objects;
pub use samovar_objects::{CreateError, Focus, Object, ObjectError, Schemas, State};
pub use samovar_order::causal::Causality;
pub use samovar_order::lockstep;
pub use samovar_order::timestamp::TimeOrderConfig;
pub use samovar_roster::{Role, Suspension, View};
pub use samovar_wire::Lane;
pub use samovar_wire::claim::{Denial, Request, Wish};
pub use samovar_wire::object::{Access, Orphan, Traits};
pub use send::SendError;
pub use session::Session;
pub(crate) use session::objects_of;
