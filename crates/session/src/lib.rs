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
//! What must not be lost with any single peer goes by [`Session::submit`]: the host's game gets it as
//! [`Event::Input`], and the player is told [`Event::Accepted`] when the host is not alone in holding it.

mod admission;
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
mod inputs;
mod interest;
mod kept;
mod links;
mod orders;
mod ownership;
mod send;
mod session;
mod settle;
mod steps;
mod term;
mod time;
mod transmit;
mod view;

pub use calls::{
    CALLS_MAX, CALLS_PER_PEER_MAX, Call, CallError, CallId, CallKey, CallOutcome, IncomingCall, Procedure,
    Reply, ReplyError,
};
pub use config::{Rules, SessionConfig};
pub use event::{Cause, Departure, EndReason, Event, MemberInfo, Migration, Target, Transmit};
pub use handles::{Calls, Edit, Interest, LinkTo, Ownership, PathTo, Witness};
pub use inputs::SubmitError;
pub use kept::Kept;
pub use orders::{Delivery, Lockstep, Orders};
pub use ownership::{Outcome, OwnershipPolicy, OwnershipRequest, WISHES_MAX, WishError};
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
