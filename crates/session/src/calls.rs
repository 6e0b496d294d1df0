//! Calls: questions to another peer's game, with an answer, a refusal, or a reason why there is none (PROTOCOL §4.8).
//!
//! A call travels by any lane, and its answer by the same lane. But a call on a sequenced lane is answered by
//! [`Lane::Unreliable`], since newer messages displace older ones in a sequenced lane. On a lane that loses messages
//! a call is carried out at most once, and ends by its time-out when the call or its answer is lost.

use samovar_objects::StateError;
use samovar_objects::pack::{BitReader, BitWriter, Pack};
use samovar_wire::call::{Call as CallBody, Reply as ReplyBody};
use samovar_wire::limits::APP_MESSAGE_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::{CloseCode, Duration, Lane, PeerId, Reader, SortedMap, SortedSet, Time, Writer};

use crate::context::Incoming;
use crate::core::{Core, Phase};
use crate::settle::News;
use crate::{CallId, CallOutcome, Event, SendError, Target};

/// Calls of this peer that may be open at a time.
pub const CALLS_MAX: usize = 256;
/// Calls of one other peer that may wait for this peer's answer; more are answered with `Busy`.
pub const CALLS_PER_PEER_MAX: usize = 64;

/// A call to another peer's game.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The peer to call: one member, the host, or the owner of an object.
    pub target: Target,
    /// The lane that the call travels by.
    pub lane: Lane,
    /// The method to call, by the game's own numbering.
    pub method: u16,
    /// The arguments, in the game's own encoding: at most `APP_MESSAGE_MAX` bytes, and no more than fits a packet when
    /// the lane is not reliable.
    pub bytes: &'a [u8],
    /// How long to wait for an answer.
    pub timeout: Duration,
}

/// A call of another peer, to be answered by [`crate::Calls::reply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingCall {
    /// The caller, and the number of this call among the caller's.
    pub key: CallKey,
    /// The method that is called.
    pub method: u16,
    /// The arguments, in the game's own encoding.
    pub bytes: Vec<u8>,
}

/// Names a call of another peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    /// The caller.
    pub from: PeerId,
    number: u64,
}

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply<'a> {
    /// The call was carried out; this is its result.
    Done(&'a [u8]),
    /// The game refuses, for a reason of its own.
    Refused(u16),
    /// There is no such method.
    NoSuchMethod,
}

impl CallOutcome {
    /// Reads the answer to a [`Procedure`]; `None` when there is no answer.
    ///
    /// # Errors
    /// `Invalid` when the answer is not a reply of this procedure.
    pub fn read<P: Procedure>(&self) -> Option<Result<P::Reply, StateError>> {
        if let Self::Answered(bytes) = self { Some(unpacked(bytes)) } else { None }
    }
}

impl IncomingCall {
    /// Reads the request of a [`Procedure`].
    ///
    /// # Errors
    /// `Invalid` when the call is not a request of this procedure.
    pub fn read<P: Procedure>(&self) -> Result<P::Request, StateError> {
        unpacked(&self.bytes)
    }
}

/// A method with a typed request and reply, each packed into at most 255 bytes.
pub trait Procedure {
    /// The method's number.
    const METHOD: u16;
    /// The arguments of the method.
    type Request: Pack;
    /// The result of the method.
    type Reply: Pack;
}

pub(crate) fn packed<T: Pack>(value: &T) -> BitWriter {
    const { assert!(T::BITS_MAX.div_ceil(8) <= 255, "what a procedure asks or answers takes at most 255 bytes") };
    let mut bits = BitWriter::default();
    value.pack(&mut bits);
    bits
}

fn unpacked<T: Pack>(bytes: &[u8]) -> Result<T, StateError> {
    let mut bits = BitReader::new(bytes);
    let value = T::unpack(&mut bits)?;
    bits.finish()?;
    Ok(value)
}

/// Why a call was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// There is no link to such a member; this peer itself and [`Target::All`] cannot be called.
    NoSuchPeer,
    /// [`CALLS_MAX`] calls are open.
    TooMany,
    /// The link did not take the call.
    Send(SendError),
}

impl core::fmt::Display for CallError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoSuchPeer => f.write_str("there is no such member to call"),
            Self::TooMany => f.write_str("too many calls are open"),
            Self::Send(error) => core::fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for CallError {}

/// Why an answer was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyError {
    /// The call is answered or cancelled, or its caller is gone.
    NotOpen,
    /// The link did not take the answer; the call is still open.
    Send(SendError),
}

impl core::fmt::Display for ReplyError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NotOpen => f.write_str("nobody waits for this answer"),
            Self::Send(error) => core::fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for ReplyError {}

/// A call of this peer that has no answer yet.
#[derive(Clone, Copy, Debug)]
struct Made {
    to: PeerId,
    lane: Lane,
    until: Time,
}

/// All open calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallsState {
    last: u64,
    made: SortedMap<CallId, Made>,
    /// This peer's open calls, ordered by deadline.
    deadlines: SortedSet<(Time, CallId)>,
    /// Calls of other peers that wait for an answer, and the lane for the answer.
    open: SortedMap<CallKey, Lane>,
    /// The open calls that the game has not polled.
    queue: Vec<IncomingCall>,
}

impl CallsState {
    /// The earliest deadline of this peer's calls.
    pub(crate) fn deadline(&self) -> Time {
        self.deadlines.first().map_or(Time::FAR, |&(until, _)| until)
    }

    fn take(&mut self, id: CallId) -> Option<Made> {
        let made = self.made.remove(&id)?;
        self.deadlines.remove(&(made.until, id));
        Some(made)
    }

    /// The next call of another peer.
    pub(crate) fn poll(&mut self) -> Option<IncomingCall> {
        (!self.queue.is_empty()).then(|| self.queue.remove(0))
    }

    pub(crate) fn is_open(&self, key: CallKey) -> bool {
        self.open.contains_key(&key)
    }

    pub(crate) fn call(
        &mut self,
        core: &mut Core,
        now: Time,
        to: PeerId,
        call: Call<'_>,
    ) -> Result<CallId, CallError> {
        if call.bytes.len() > APP_MESSAGE_MAX {
            return Err(CallError::Send(SendError::TooLarge));
        }
        if self.made.len() >= CALLS_MAX {
            return Err(CallError::TooMany);
        }
        let id = CallId(self.last + 1);
        let body = CallBody { number: id.0, method: call.method, bytes: call.bytes };
        let sent = core.net.send(to, call.lane, MessageKind::Call, |out| body.encode(out));
        sent.map_err(|error| error.map_or(CallError::NoSuchPeer, CallError::Send))?;
        let until = now + call.timeout;
        self.last = id.0;
        self.made.insert(id, Made { to, lane: call.lane, until });
        self.deadlines.insert((until, id));
        Ok(id)
    }

    pub(crate) fn reply(
        &mut self,
        core: &mut Core,
        key: CallKey,
        reply: Reply<'_>,
    ) -> Result<(), ReplyError> {
        let lane = *self.open.get(&key).ok_or(ReplyError::NotOpen)?;
        let body = match reply {
            Reply::Done(bytes) if bytes.len() > APP_MESSAGE_MAX => {
                return Err(ReplyError::Send(SendError::TooLarge));
            }
            Reply::Done(bytes) => ReplyBody::Done(bytes),
            Reply::Refused(code) => ReplyBody::Refused(code),
            Reply::NoSuchMethod => ReplyBody::NoSuchMethod,
        };
        let sent = core.net.send(key.from, lane, MessageKind::Reply, |out| body.encode(key.number, out));
        sent.map_err(|error| error.map_or(ReplyError::NotOpen, ReplyError::Send))?;
        self.open.remove(&key);
        Ok(())
    }

    pub(crate) fn handle(
        &mut self,
        core: &mut Core,
        Incoming { from, lane, kind, body }: Incoming<'_>,
    ) -> Result<News, CloseCode> {
        let mut reader = Reader::new(body);
        let result = match kind {
            MessageKind::Call => {
                CallBody::decode(&mut reader).map(|call| self.on_call(core, from, lane, &call))
            }
            MessageKind::Reply => {
                ReplyBody::decode(&mut reader).map(|(number, reply)| self.on_reply(core, from, number, reply))
            }
            _ => reader.varint().and_then(|number| {
                reader.end()?;
                self.drop_call(CallKey { from, number });
                Ok(())
            }),
        };
        result.map(|()| News::SAID).map_err(|error| match error {
            samovar_wire::DecodeError::TooLarge => CloseCode::TooLarge,
            _ => CloseCode::Malformed,
        })
    }

    fn on_call(&mut self, core: &mut Core, from: PeerId, lane: Lane, call: &CallBody<'_>) {
        let key = CallKey { from, number: call.number };
        if self.is_open(key) || core.phase == Phase::Over {
            return;
        }
        let lane = if let Lane::Sequenced(_) = lane { Lane::Unreliable } else { lane };
        let (first, last) = (CallKey { from, number: 0 }, CallKey { from, number: u64::MAX });
        if self.open.range(&first, &last).count() >= CALLS_PER_PEER_MAX {
            // If this answer cannot be sent, the call times out at its caller.
            let encode = |out: &mut Writer<'_>| ReplyBody::Busy.encode(call.number, out);
            let _ = core.net.send(from, lane, MessageKind::Reply, encode);
            return;
        }
        self.open.insert(key, lane);
        let bytes = call.bytes.to_vec();
        self.queue.push(IncomingCall { key, method: call.method, bytes });
    }

    fn on_reply(&mut self, core: &mut Core, from: PeerId, number: u64, reply: ReplyBody<'_>) {
        let id = CallId(number);
        // Only the peer that was called can answer, and only once.
        if self.made.get(&id).is_none_or(|made| made.to != from) {
            return;
        }
        self.take(id);
        let outcome = match reply {
            ReplyBody::Done(bytes) => CallOutcome::Answered(bytes.to_vec()),
            ReplyBody::Refused(code) => CallOutcome::Refused(code),
            ReplyBody::NoSuchMethod => CallOutcome::NoSuchMethod,
            ReplyBody::Busy => CallOutcome::Busy,
        };
        core.push_event(Event::Reply { call: id, from, outcome });
    }

    /// Drops a call that its caller has cancelled.
    fn drop_call(&mut self, key: CallKey) {
        if self.open.remove(&key).is_some() {
            self.queue.retain(|call| call.key != key);
        }
    }

    /// Ends a call without an answer, and tells the other side that none is wanted.
    pub(crate) fn give_up(&mut self, core: &mut Core, id: CallId, outcome: CallOutcome) {
        let Some(Made { to, lane, .. }) = self.take(id) else { return };
        // CANCEL never goes by a lane that loses messages: if CANCEL were lost, the call would stay open at the other
        // peer until this peer is gone. By the call's own reliable lane, CANCEL arrives after the call.
        let lane = if let Lane::Reliable(_) | Lane::Bulk = lane { lane } else { Lane::SESSION };
        let _ = core.net.send(to, lane, MessageKind::Cancel, |out| out.varint(id.0));
        core.push_event(Event::Reply { call: id, from: to, outcome });
    }

    /// Ends this peer's calls whose deadlines have passed.
    pub(crate) fn expire(&mut self, core: &mut Core, now: Time) -> News {
        let mut news = News::NONE;
        while let Some(&(until, id)) = self.deadlines.first()
            && until <= now
        {
            self.give_up(core, id, CallOutcome::TimedOut);
            news = News::SAID;
        }
        news
    }

    /// Ends calls to and from peers that are gone.
    pub(crate) fn forget_callers(&mut self, core: &mut Core) {
        let is_gone = |peer: PeerId| !core.net.is_linked(peer);
        let lost: Vec<_> = self.made.iter().filter(|(_, made)| is_gone(made.to)).map(|(&id, _)| id).collect();
        self.open.retain(|key, _| !is_gone(key.from));
        self.queue.retain(|call| !is_gone(call.key.from));
        lost.into_iter().for_each(|id| self.give_up(core, id, CallOutcome::PeerGone));
    }
}
