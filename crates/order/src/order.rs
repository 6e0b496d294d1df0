//! The interface that all agreed orders share: how one is driven, and its events.

use samovar_wire::limits::APP_MESSAGE_MAX;
pub use samovar_wire::limits::{UNSTABLE_BYTES_MAX, UNSTABLE_MAX};
pub use samovar_wire::order::ViewId;
use samovar_wire::{CloseCode, PeerId, SortedSet};

/// The members of the group, as the session's host published them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The view's id; views that are not above the newest one are ignored.
    pub id: ViewId,
    /// The publisher of the view. It is the sequencer or dispatcher, and ends the former view in the same way for
    /// all.
    pub host: PeerId,
    /// The members that take over when the host is lost; a stable message waits for them.
    pub backups: Vec<PeerId>,
    /// All members, the host and this peer among them, in ascending order.
    pub members: Vec<PeerId>,
}

/// A message whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The sender.
    pub from: PeerId,
    /// The message.
    pub payload: Vec<u8>,
}

/// An event for the game and its session; the order of events counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message is delivered.
    Delivered(Delivery),
    /// A view begins. The members of both this view and the former one delivered the same messages before it.
    View(ViewId),
    /// The others went on without this peer. It missed messages that no member can send it any more, and its own last
    /// messages may be lost. Later messages are in order again; the game may need a snapshot for earlier ones. This
    /// happens only to a peer that was dropped by a view and is named by a later one.
    Behind,
    /// A peer broke the rules by a frame that could not be judged when it arrived.
    Broke(PeerId, CloseCode),
}

/// Bytes for a peer, by a reliable lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The receiver.
    pub to: PeerId,
    /// One frame (PROTOCOL §4.13).
    pub bytes: Vec<u8>,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SendError {
    /// Too many messages are unacked already, see [`UNSTABLE_MAX`]. Try again later.
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

/// An order of delivery. It neither sends nor waits: it is told events and returns what to do.
///
/// Between two peers its frames must travel in one reliable lane: in order, and each once while the link lives. After
/// each call the driver drains [`Order::poll_event`] and, when it sends anyway, [`Order::poll_transmit`]. Messages
/// between two such drains share frames where the order can do that.
pub trait Order {
    /// Takes another view of the session. The order ends the former view in agreement with all others, and reports
    /// that by [`Event::View`]. Until then it delivers nothing, and new messages wait.
    fn handle_view(&mut self, view: &View);

    /// Notes that the link to a peer is a new one: frames in flight on the old one may be lost.
    fn handle_link(&mut self, peer: PeerId);

    /// Takes one frame of a peer.
    ///
    /// # Errors
    /// The code for the rule that the peer broke; the frame has no effect then.
    fn handle_frame(&mut self, from: PeerId, bytes: &[u8]) -> Result<(), CloseCode>;

    /// Sends a message to all members.
    ///
    /// # Errors
    /// See [`SendError`].
    fn send(&mut self, payload: &[u8]) -> Result<(), SendError>;

    /// Ends this member's round in a barrier, if the round is due to end. A barrier needs this call about once per
    /// tick; other orders ignore it.
    fn flush(&mut self) {}

    /// The next frame to be sent.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// The next event.
    fn poll_event(&mut self) -> Option<Event>;

    /// At the host: the members that must act before a new view can begin for the others. A member that stays in the
    /// set delays all, and should be removed. An honest member leaves the set within a few round trips to the host.
    /// Further views may come meanwhile.
    fn awaited(&self) -> SortedSet<PeerId>;

    /// Bytes of messages that are kept for others or wait for their turn; bounded, see [`UNSTABLE_BYTES_MAX`].
    fn stored_bytes(&self) -> usize;
}

/// Implements [`Order`] by the wrapped type, except for how it takes a message.
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
