//! What a session tells, and what it is asked.

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

/// Whom a message of the game is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One member.
    Peer(PeerId),
    /// Whoever hosts; nobody when this peer does.
    Host,
    /// Whoever owns an object now, as far as this peer knows; nobody when it is this peer, or there is no such object.
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

/// Why a member is one no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It is away, with or without a word, and may come back.
    Gone,
    /// It left for good, of its own will.
    Left,
    /// The host put it out, see [`Session::put_out`](crate::Session::put_out).
    PutOut,
    /// A newer peer sits on its seat.
    Replaced,
}

/// Why the host changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was lost.
    Lost,
    /// It left of its own will.
    Left,
    /// It handed over, and may have stayed.
    HandedOver,
}

/// A change of host as this peer saw it. Times are session time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The new term.
    pub term: Term,
    /// The former host.
    pub from: PeerId,
    /// The new one.
    pub to: PeerId,
    /// Why.
    pub cause: Cause,
    /// When this peer first missed the former host, or heard of the new one.
    pub detected: Time,
    /// When the new host's session object was here.
    pub resumed: Time,
}

/// Why this peer's session is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The host did not admit this peer.
    Refused(CloseCode),
    /// The others went on without this peer; its ticket takes the seat back.
    Removed,
    /// Another peer took the seat with the ticket: a reload, another tab.
    SeatTaken,
    /// The host broke the rules, or says that this peer did.
    Misbehaviour(CloseCode),
    /// The host is lost, and the rules of this session let nobody succeed it.
    HostLost,
}

/// A call of this peer; never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u64);

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It was answered.
    Answered(Vec<u8>),
    /// The other game refused, for a reason of its own.
    Refused(u16),
    /// The other game has no such method.
    NoSuchMethod,
    /// Too many calls of this peer wait for the other game's answer.
    Busy,
    /// No answer came in time. It may have been carried out.
    TimedOut,
    /// This peer cancelled it. It may have been carried out.
    Cancelled,
    /// The other peer is gone. It may have been carried out.
    PeerGone,
}

/// What became of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The object is this peer's, and so is what it did to it.
    Granted,
    /// The object that was given away has another owner.
    Moved(PeerId),
    /// It was not granted.
    Denied(Denial),
    /// Another member was faster.
    LostTo(PeerId),
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// This peer is a member.
    Joined,
    /// What takes this peer's seat back, once; no former ticket does any more. It comes a round trip or so behind
    /// [`Event::Joined`], when the backup knows of it as well.
    Ticket(Ticket),
    /// Somebody else is.
    MemberJoined {
        /// Who.
        member: MemberInfo,
        /// Whether it came back to a seat that it had.
        resumed: bool,
    },
    /// Somebody is a member no longer; its seat may wait for it.
    MemberLeft {
        /// Who.
        member: MemberInfo,
        /// Why.
        departure: Departure,
    },
    /// The host changed, and the session goes on.
    HostChanged(Migration),
    /// The view names another backup.
    BackupChanged(Option<PeerId>),
    /// An object of another peer is here.
    ObjectCreated(ObjectId),
    /// An object has another owner.
    OwnerChanged {
        /// Which.
        id: ObjectId,
        /// The owner before.
        from: PeerId,
        /// The owner now.
        to: PeerId,
    },
    /// An object of another peer is gone.
    ObjectDestroyed {
        /// Which.
        id: ObjectId,
        /// What it was.
        kind: Kind,
    },
    /// What this peer wished for an object came to an end.
    Ownership {
        /// The object.
        id: ObjectId,
        /// What this peer wished.
        wish: Wish,
        /// What became of it.
        outcome: Outcome,
        /// When it was in vain: the object as this peer had changed it, if it had. What [`crate::Session::object`] shows
        /// now is the owner's; a game leads from the one to the other instead of jumping.
        last: Option<Box<Object>>,
    },
    /// An object is within what this peer wants to see: its owner tells of changes from now on.
    ObjectEntered(ObjectId),
    /// An object is not within what this peer wants to see any more: it stays as it was.
    ObjectLeft(ObjectId),
    /// A call of this peer ended.
    Reply {
        /// Which.
        call: CallId,
        /// The peer that was called.
        from: PeerId,
        /// How.
        outcome: CallOutcome,
    },
    /// A message of the game.
    Message {
        /// From whom.
        from: PeerId,
        /// How it was delivered.
        delivery: Delivery,
        /// What.
        bytes: Vec<u8>,
    },
    /// A message in time-stamp order whose sender was late: later ones have been delivered.
    Late {
        /// From whom.
        from: PeerId,
        /// When what it tells of happened, in session time.
        time: Time,
        /// What.
        bytes: Vec<u8>,
    },
    /// Messages in time-stamp order do not wait for this member any more, which is silent or slow; or do again.
    MemberLate {
        /// Who.
        peer: PeerId,
        /// Whether it is late now.
        is_late: bool,
    },
    /// The others went on in this order without this peer, which missed messages. What follows is in order again.
    Behind(Delivery),
    /// An input of this peer is with the host and all backups: it survives the end of any of them. It may have had its
    /// effect before, or have it later.
    Accepted {
        /// Which, as [`crate::Session::submit`] said.
        number: u64,
    },
    /// This peer hosts, and its game shall do what a member, or this peer itself, submitted.
    Input {
        /// Whose. Its member may be gone.
        seat: SeatId,
        /// Which; each later one of a seat has a higher number, whoever hosts and whoever sits there.
        number: u64,
        /// What, in the game's own words.
        bytes: Vec<u8>,
    },
    /// The link to a peer that broke the rules was closed.
    LinkClosed {
        /// The peer.
        peer: PeerId,
        /// Why.
        code: CloseCode,
    },
    /// Others went on without this peer, alone or with some, while it did not hear of it: what changed here since then is
    /// not what they have. The session ends behind this event with [`EndReason::Removed`], and what counts is theirs
    /// when the ticket takes the seat back.
    Diverged {
        /// All objects that were created, changed, destroyed or given to another owner here since what this peer said last
        /// reached those who went on, and some that these know: it cannot tell who they are, or what arrived last. All of this
        /// peer's own, if their host is one that it has never met. Of ends and changes of owner the latest 512.
        objects: Vec<ObjectId>,
        /// The first of this peer's inputs that was accepted here since then, of the last ten seconds: those who went on may
        /// never have heard of it, nor of those behind it.
        accepted: Option<u64>,
    },
    /// This peer's session is over.
    Ended(EndReason),
}
