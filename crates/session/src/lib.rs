//! A session: links, objects and roster composed, the session clock, and the API that a game programs against.
//!
//! [`Session`] routes each message from a link to the machine that handles it. It passes plain values between
//! machines that do not know each other: acks to the objects, silence to the roster, terms to the objects. It does
//! the host's housework when this peer hosts. Every decision is left to the machine that it concerns.
//!
//! The run loop of a driver, in any order and as often as it likes:
//!
//! 1. hand over what arrived with [`Session::handle_packet`], then call [`Session::handle_timeout`] when
//!    [`Session::poll_timeout`] is due;
//! 2. drain [`Witness::poll_doubt`] and [`Witness::poll_claim`] to the relay, and [`Session::poll_transmit`] to the
//!    paths;
//! 3. drain [`Session::poll_event`] to the game, which reads [`Session::objects`] and changes what it owns.
//!
//! A *handle* borrows the session for one kind of work:
//!
//! | handle | for |
//! |---|---|
//! | [`Session::edit`] | creating, changing, destroying and granting objects |
//! | [`Session::ownership`] | asking for objects of others, and deciding who gets them |
//! | [`Session::calls`] | questions to other games, and their answers |
//! | [`Session::interest`] | which objects of others this peer wants to see |
//! | [`Session::lockstep`] | the steps of a game in [`lockstep`] |
//! | [`Session::witness`] | a driver: messages from the relay and to it |
//! | [`Session::path`] | a driver: the state of the path to a peer |
//! | [`Session::link`] | measurements of the link to another peer |
//!
//! Requests that a game must answer have queues of their own: [`Calls::poll`], and [`Ownership::poll_request`] at a
//! host whose game decides ownership requests.
//!
//! Each message names its delivery ([`Session::send`]): a lane, or an order that the session's [`Rules`] name. An order
//! (causal, total or time-stamp) survives the loss of the host. [`Session::lockstep`] steps a game in [`lockstep`].
//!
//! # Features
//!
//! All features are on by default. A build without one of them is smaller.
//!
//! | feature | has | without it |
//! |---|---|---|
//! | `orders` | causal, total and time-stamp order | [`Session::new`] refuses [`Rules`] that name one: [`ConfigError::LeftOut`] |
//! | `lockstep` | the frames of [`lockstep`] | the same |
//! | `ownership` | [`Session::ownership`]; objects that freeze or go to the nearest member when their owner ends | [`Edit::grant`] remains; such objects cannot be created |
//! | `inputs` | [`Session::submit`], [`Session::interest`] | this peer submits no inputs, and sees everything |
//! | `extras` | [`Session::calls`], and `inputs` | this peer calls no procedures |
//!
//! Members of one session may be built with different features, as long as each has those that the game uses. A message
//! for a service that this build leaves out closes the sender's link with
//! [`CloseCode::Unexpected`](samovar_wire::CloseCode::Unexpected).
//!
//! # Inputs
//!
//! [`Session::submit`] sends an input that must survive the loss of any single peer. The host's game gets it as
//! [`Event::Input`]. The player gets [`Event::Accepted`] once the host and all backups hold it.

mod admission;
mod ages;
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
#[cfg_attr(not(feature = "inputs"), path = "left_out/inputs.rs")]
mod inputs;
#[cfg_attr(not(feature = "inputs"), path = "left_out/interest.rs")]
mod interest;
mod kept;
mod links;
mod orders;
#[cfg_attr(not(feature = "ownership"), path = "left_out/ownership.rs")]
mod ownership;
mod send;
mod session;
mod settle;
mod spread;
mod steps;
mod term;
mod time;
mod transmit;
mod view;
mod vouching;

pub use ages::{DataAges, ShownAges};
#[cfg(feature = "extras")]
pub use calls::{
    CALLS_MAX, CALLS_PER_PEER_MAX, Call, CallError, CallKey, IncomingCall, Procedure, Reply, ReplyError,
};
pub use config::{ConfigError, Rules, SessionConfig};
pub use event::{
    CallId, CallOutcome, Cause, Departure, EndReason, Event, MemberInfo, Migration, Outcome, Target, Transmit,
};
#[cfg(feature = "extras")]
pub use handles::Calls;
#[cfg(feature = "inputs")]
pub use handles::Interest;
#[cfg(feature = "ownership")]
pub use handles::Ownership;
pub use handles::{Edit, LinkTo, PathTo, Witness};
#[cfg(feature = "inputs")]
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
pub use spread::{RecentSpread, Spread};
