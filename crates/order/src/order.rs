//! What all orders that members agree on have in common: how one is driven, and what it says.

use samovar_wire::limits::APP_MESSAGE_MAX;
pub use samovar_wire::limits::{UNSTABLE_BYTES_MAX, UNSTABLE_MAX};
pub use samovar_wire::order::ViewId;
use samovar_wire::{CloseCode, PeerId, SortedSet};

/// Who is in the group, as the session's host published it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Which view; views that are not above the newest one told are ignored.
    pub id: ViewId,
    /// Who published it: the sequencer, the dispatcher, and who sees to it that all end the former view alike.
    pub host: PeerId,
    /// Who takes over when the host is lost; they hold what a stable message waits for.
    pub backups: Vec<PeerId>,
    /// All members, the host and this peer among them, in ascending order.
    pub members: Vec<PeerId>,
}

/// A message whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Who sent it.
    pub from: PeerId,
    /// What.
    pub payload: Vec<u8>,
}

/// What an order says to the game and its session, in an order that means something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message is delivered.
    Delivered(Delivery),
    /// A view begins: all who were in the former one and are in this one delivered the same before it.
    View(ViewId),
    /// The others went on without this peer, which missed messages that nobody can tell it any more, and what it said
    /// last may be lost. What follows is in order again; what it had from before may need a snapshot. Happens only to who
    /// was dropped by a view and is named by a later one.
    Behind,
    /// A peer broke the rules by something it said before it could be judged.
    Broke(PeerId, CloseCode),
}

/// Bytes for a peer, by a reliable lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// For whom.
    pub to: PeerId,
    /// One frame (PROTOCOL §4.13).
    pub bytes: Vec<u8>,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// As much as may be is under way already, see [`UNSTABLE_MAX`]. Try again later.
    WouldBlock,
    /// The message is larger than [`APP_MESSAGE_MAX`].
    TooLarge,
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::WouldBlock => "too much is under way",
            Self::TooLarge => "the message is too large",
        })
    }
}

impl core::error::Error for SendError {}

pub(crate) const fn check_size(payload: &[u8]) -> Result<(), SendError> {
    if payload.len() > APP_MESSAGE_MAX { Err(SendError::TooLarge) } else { Ok(()) }
}

/// An order of delivery. It neither sends nor waits: it is told what happened and says what to do.
///
/// Between two peers its frames must travel in one reliable lane: in order, and each once while the link lives. After
/// each call the driver drains [`Order::poll_event`] and, when it sends anyway, [`Order::poll_transmit`]; what piles up
/// in between is batched where the order can.
pub trait Order {
    /// The session has another view. The order ends the former one in agreement with all others, and says so by
    /// [`Event::View`]; until then it delivers nothing, and what is sent waits.
    fn handle_view(&mut self, view: &View);

    /// The link to a peer is a new one: what was under way on the old one may be lost.
    fn handle_link(&mut self, peer: PeerId);

    /// Takes one frame of a peer.
    ///
    /// # Errors
    /// How the peer broke the rules; what it said has no effect then.
    fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode>;

    /// Sends a message to all members.
    ///
    /// # Errors
    /// See [`SendError`].
    fn send(&mut self, payload: &[u8]) -> Result<(), SendError>;

    /// Says that what was sent since the last call belongs together and is complete. A barrier needs it to go on, once
    /// per tick or so; to others it means nothing.
    fn flush(&mut self) {}

    /// The next frame to be sent.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// What happened next.
    fn poll_event(&mut self) -> Option<Event>;

    /// At the host: whom the others wait for before a new view can begin for them. One that is among them for long holds
    /// up everybody, and should be removed; an honest one takes a few ways to the host and back, in which further views may
    /// have come.
    fn awaited(&self) -> SortedSet<PeerId>;

    /// Bytes of messages that are kept for others or wait for their turn: bounded, see [`UNSTABLE_BYTES_MAX`].
    fn stored_bytes(&self) -> usize;
}

/// Makes a type an [`Order`] that is what it wraps, but for how it takes a message.
macro_rules! order_by_inner {
    ($name:ident, |$inner:ident, $payload:ident| $send:expr $(, $flush:ident)?) => {
        impl Order for $name {
            fn handle_view(&mut self, view: &View) {
                self.0.handle_view(view);
            }

            fn handle_link(&mut self, peer: PeerId) {
                self.0.handle_link(peer);
            }

            fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode> {
                self.0.handle_frame(from, bytes)
            }

            fn send(&mut self, $payload: &[u8]) -> Result<(), SendError> {
                let $inner = &mut self.0;
                $send
            }

            $(fn flush(&mut self) {
                self.$flush();
            })?

            fn poll_transmit(&mut self) -> Option<Transmit> {
                self.0.poll_transmit()
            }

            fn poll_event(&mut self) -> Option<Event> {
                self.0.poll_event()
            }

            fn awaited(&self) -> samovar_wire::SortedSet<PeerId> {
                self.0.awaited()
            }

            fn stored_bytes(&self) -> usize {
                self.0.stored_bytes()
            }
        }
    };
}

pub(crate) use order_by_inner;
