//! The orders in which members of a session deliver each other's messages.
//!
//! [`causal`], [`total`], [`timestamp`] and [`lockstep`] are independent of each other. None of them sends a byte or
//! reads a clock: each is told what arrived and the time, and returns what to send and to deliver.
//!
//! # Driving a causal or total order
//!
//! Both are [`Order`]s and need no clock. A session has one of each that its game uses. For each order, the session
//!
//! 1. calls [`Order::handle_view`] for each new view, from the first one that includes this peer. A member does so
//!    when it reads the view; the host does so when it publishes the view, before it tells others;
//! 2. calls [`Order::handle_link`] when the link to a member began anew, before it sends on the new link or hands over
//!    a frame from it. Frames in flight on the old link may be lost, and the order sends them again;
//! 3. hands each message of the order's kind to [`Order::handle_frame`], and ends the link with the code of an error;
//! 4. calls [`Order::send`] for its game, and [`Order::flush`] once per tick when the order is a barrier;
//! 5. after each of these calls, passes all events of [`Order::poll_event`] to the game at once. When it sends packets
//!    anyway, it drains [`Order::poll_transmit`] into *one* reliable lane of the link to each receiver. Messages
//!    between two such drains share frames;
//! 6. at the host, checks [`Order::awaited`]: a member that stays in that set for seconds delays all others and is to
//!    be removed.
//!
//! A crash of the host needs nothing more: the next host's view ends the former epoch, and all members continue.
//! Links between the host and the others are enough for [`causal::Dispatcher`] and [`total::Total`].
//!
//! ```
//! use samovar_order::{Event, Order, Transmit, View, ViewId, total::Total};
//! use samovar_wire::{PeerId, Term};
//!
//! let (ann, bob) = (PeerId(1), PeerId(2));
//! let mut members = [Total::new(ann), Total::new(bob)];
//! let id = ViewId { term: Term::FIRST, number: 1 };
//! let view = View { id, host: ann, backups: vec![bob], members: vec![ann, bob] };
//! members.iter_mut().for_each(|member| member.handle_view(&view));
//! // Both speak at once, before either has heard the other.
//! members[0].send(b"red")?;
//! members[1].send(b"blue")?;
//! // Deliver all frames, as lanes between them would.
//! while let Some((from, Transmit { to, bytes })) =
//!     [ann, bob].iter().find_map(|&peer| Some((peer, members[peer.0 as usize - 1].poll_transmit()?)))
//! {
//!     members[to.0 as usize - 1].handle_frame(from, &bytes).expect("an honest member");
//! }
//! let seen = members.each_mut().map(|member| {
//!     let events = std::iter::from_fn(|| member.poll_event());
//!     events.filter_map(|event| if let Event::Delivered(message) = event { Some(message.from) } else { None }).collect::<Vec<_>>()
//! });
//! assert_eq!(seen[0].len(), 2);
//! assert_eq!(seen[0], seen[1], "both saw the same order");
//! # Ok::<(), samovar_order::SendError>(())
//! ```
//!
//! # Driving time stamps and lockstep
//!
//! Both are told the time, and say by `poll_timeout` when to call them next. [`timestamp`] puts a promise into each
//! packet that goes anyway and needs no host. [`lockstep`] sends datagrams, one per tick and direction, between the
//! host and each member, and asks its game to step. Their own pages describe how to drive them, with an example each.
//!
//! # Promises
//!
//! - *View synchrony*: members that go from one view to the next together deliver the same messages before the next
//!   one, whichever members are lost meanwhile, the host included. A survivor's message is delivered once; a lost
//!   member's message by all survivors or by none.
//! - *Order*: as [`causal`] and [`total`] promise, through any sequence of views.
//! - *Bounds*: see [`UNSTABLE_MAX`]. At most twice that is kept per member and epoch, for the present epoch and the
//!   one before.
//!
//! The price: between a view and the agreement on it no message is delivered. This takes a round trip to the host
//! when no member is silent.

pub mod causal;
mod group;
pub mod lockstep;
mod log;
mod order;
pub mod timestamp;
pub mod total;

pub use order::{
    Delivery, Event, Order, SendError, Transmit, UNSTABLE_BYTES_MAX, UNSTABLE_MAX, View, ViewId,
};
