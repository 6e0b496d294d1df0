//! The events that a session reports, and the types in them.

use samovar_objects::Object;
use samovar_wire::claim::{Denial, Wish};
use samovar_wire::{CloseCode, Kind, Mode, ObjectId, PeerId, SeatId, Term, Ticket, Time};

use crate::Delivery;

/// Bytes for the path to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The receiver.
    pub to: PeerId,
    /// How the path shall carry them.
    pub mode: Mode,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The receiver of a message of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One member.
    Peer(PeerId),
    /// The host; no peer when this peer hosts.
    Host,
    /// The present owner of an object, as far as this peer knows; no peer when this peer owns it, or there is no such
    /// object.
    Owner(ObjectId),
    /// Every other member.
    All,
}

/// A member as an event names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// The peer.
    pub peer: PeerId,
    /// Its seat.
    pub seat: SeatId,
    /// Its name.
    pub name: String,
    /// The application's own bits.
    pub attributes: u32,
}

/// Why a member is no longer in the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The member is away, with or without a CLOSE, and may come back.
    Gone,
    /// The member left for good, of its own will.
    Left,
    /// The host put it out, see [`Session::put_out`](crate::Session::put_out).
    PutOut,
    /// A newer peer sits on its seat.
    Replaced,
}

/// Why the host changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The former host was lost.
    Lost,
    /// The former host left of its own will.
    Left,
    /// The former host handed over, and may have stayed.
    HandedOver,
}

/// A change of host as this peer saw it. Times are session time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The new term.
    pub term: Term,
    /// The former host.
    pub from: PeerId,
    /// The new host.
    pub to: PeerId,
    /// The reason.
    pub cause: Cause,
    /// When this peer first missed the former host, or heard of the new one.
    pub detected: Time,
    /// When the new host's session object arrived here.
    pub resumed: Time,
}

/// Why this peer's session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The host did not admit this peer, or put it out.
    Refused(CloseCode),
    /// The other members went on without this peer; its ticket takes the seat back.
    Removed,
    /// Another peer took the seat with the ticket, for example after a reload or in another tab.
    SeatTaken,
    /// The host broke the rules, or says that this peer did.
    Misbehaviour(CloseCode),
    /// The host is lost, and the rules of this session allow no successor.
    HostLost,
}

/// The id of a call of this peer; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The other game answered.
    Answered(Vec<u8>),
    /// The other game refused, for a reason of its own.
    Refused(u16),
    /// The other game has no such method.
    NoSuchMethod,
    /// Too many calls of this peer wait for the other game's answer.
    Busy,
    /// No answer came in time. The call may have been carried out.
    TimedOut,
    /// This peer cancelled the call. It may have been carried out.
    Cancelled,
    /// The other peer is gone. The call may have been carried out.
    PeerGone,
}

/// How an ownership request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This peer owns the object, with the changes that it has made meanwhile.
    Granted,
    /// The object that this peer gave away has this new owner.
    Moved(PeerId),
    /// The host did not grant the request.
    Denied(Denial),
    /// Another member was faster.
    LostTo(PeerId),
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// This peer is a member.
    Joined,
    /// The ticket that takes this peer's seat back, once; all former tickets are void. It comes about a round trip
    /// after [`Event::Joined`], when the backup knows of it as well.
    Ticket(Ticket),
    /// Another peer is a member.
    MemberJoined {
        /// The member.
        member: MemberInfo,
        /// Whether it came back to a seat that it had.
        resumed: bool,
    },
    /// Another peer is no longer a member; its seat may be kept for it.
    MemberLeft {
        /// The member.
        member: MemberInfo,
        /// The reason.
        departure: Departure,
    },
    /// The host changed, and the session goes on.
    HostChanged(Migration),
    /// The view names another backup.
    BackupChanged(Option<PeerId>),
    /// This peer has received an object of another peer.
    ObjectCreated(ObjectId),
    /// An object has another owner.
    OwnerChanged {
        /// The object.
        id: ObjectId,
        /// The owner before.
        from: PeerId,
        /// The owner now.
        to: PeerId,
    },
    /// An object of another peer is gone.
    ObjectDestroyed {
        /// The object.
        id: ObjectId,
        /// Its kind.
        kind: Kind,
    },
    /// An ownership request of this peer ended.
    Ownership {
        /// The object.
        id: ObjectId,
        /// The request.
        wish: Wish,
        /// How it ended.
        outcome: Outcome,
        /// If the request failed: the object as this peer had changed it, if this peer had changed it.
        /// [`crate::Session::object`] now shows the owner's state. A game can move smoothly from the one to the other
        /// instead of jumping.
        last: Option<Box<Object>>,
    },
    /// An object has come within this peer's interest: its owner tells of changes from now on.
    ObjectEntered(ObjectId),
    /// An object is no longer within this peer's interest: it stays as it was.
    ObjectLeft(ObjectId),
    /// A call of this peer ended.
    Reply {
        /// The call.
        call: CallId,
        /// The peer that was called.
        from: PeerId,
        /// How it ended.
        outcome: CallOutcome,
    },
    /// A message of the game.
    Message {
        /// The sender.
        from: PeerId,
        /// How it was delivered.
        delivery: Delivery,
        /// The content.
        bytes: Vec<u8>,
    },
    /// A message in time-stamp order that came late: messages with later times have been delivered.
    Late {
        /// The sender.
        from: PeerId,
        /// The session time at which the event in the message happened.
        time: Time,
        /// The content.
        bytes: Vec<u8>,
    },
    /// Messages in time-stamp order no longer wait for a member that is silent or slow, or wait for it again.
    MemberLate {
        /// The member.
        peer: PeerId,
        /// Whether it is late now.
        is_late: bool,
    },
    /// This peer missed messages of this order, since the others went on without it. Later messages are in order
    /// again.
    Behind(Delivery),
    /// The host and all backups hold an input of this peer, so it survives the loss of any one of them. Its effect may
    /// come before this event or after it.
    Accepted {
        /// The number of the input, as [`crate::Session::submit`] returned it.
        number: u64,
    },
    /// This peer hosts, and its game is to carry out an input that a member, or this peer itself, submitted.
    Input {
        /// The seat of the member that submitted it; that member may be gone.
        seat: SeatId,
        /// The number of the input. Later inputs of a seat have higher numbers, under any host and from any member on
        /// that seat.
        number: u64,
        /// The content, in the game's own encoding.
        bytes: Vec<u8>,
    },
    /// The link to a peer that broke the rules was closed.
    LinkClosed {
        /// The peer.
        peer: PeerId,
        /// The reason.
        code: CloseCode,
    },
    /// Other members went on without this peer, and perhaps without some others, while this peer did not hear of it.
    /// The state here has since differed from theirs. The session ends after this event with [`EndReason::Removed`].
    /// When the ticket takes the seat back, this peer gets the state of the other members.
    Diverged {
        /// All objects that were created, changed, destroyed or given to another owner here since this peer's
        /// messages last reached the members that went on. These members may know some of the changes, since this
        /// peer cannot tell which members went on, or what arrived last. If this peer has never met their host, all
        /// of its own objects are listed. The latest 512 ends and changes of owner are remembered; earlier ones may
        /// be missing.
        objects: Vec<ObjectId>,
        /// The first of this peer's inputs that was accepted here since its messages last reached those members,
        /// within the last ten seconds. Those members may not have this input, nor any later one.
        accepted: Option<u64>,
    },
    /// This peer's session is over.
    Ended(EndReason),
}
