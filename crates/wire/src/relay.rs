//! The messages between a peer and the relay on the WebSocket (PROTOCOL §5).

mod addressed;
mod refusal;

use bincode::{Decode, Encode};

pub use addressed::{ADDRESS_HEADER, Addressed};
pub use refusal::{Refusal, TokenFault};

use crate::control::{Message, decode, encode};
use crate::limits::{
    BULK_CHUNK_MAX, DESCRIPTION_MAX, MEMBERS_MAX, PACKET_MAX, RELAY_MESSAGE_MAX, TOKEN_MAX, TOLD_MAX,
};
use crate::{DecodeError, GameCode, JoinToken, Mode, PeerId, PeerPass, SessionId, Term, Voucher, Warrant};

/// Bytes in front of a forwarded payload: kind, peer, mode.
pub const FORWARD_HEADER: usize = 6;

const CONTROL: u8 = 0;
const FORWARD: u8 = 1;

/// One WebSocket message in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelayFrame<'a> {
    /// A [`ToRelay`] or [`FromRelay`].
    Control(&'a [u8]),
    /// A packet or bulk chunk that the relay forwards.
    Forward {
        /// The receiver on the way to the relay, the sender on the way from it.
        peer: PeerId,
        /// Whether the payload is a packet or a chunk.
        mode: Mode,
        /// The packet or chunk.
        payload: &'a [u8],
    },
}

impl<'a> RelayFrame<'a> {
    /// Reads one WebSocket message.
    ///
    /// # Errors
    /// `TooLarge` beyond the limit of its kind, `Invalid` for an unknown kind or mode, `Truncated`.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match bytes.split_first().ok_or(DecodeError::Truncated)? {
            (&CONTROL, body) if body.len() <= RELAY_MESSAGE_MAX => Ok(Self::Control(body)),
            (&CONTROL, _) => Err(DecodeError::TooLarge),
            (&FORWARD, body) => {
                let (peer, body) = body.split_first_chunk().ok_or(DecodeError::Truncated)?;
                let (&mode, payload) = body.split_first().ok_or(DecodeError::Truncated)?;
                let (mode, max) = match mode {
                    0 => (Mode::Unreliable, PACKET_MAX),
                    1 => (Mode::Reliable, BULK_CHUNK_MAX),
                    _ => return Err(DecodeError::Invalid),
                };
                if payload.len() > max {
                    return Err(DecodeError::TooLarge);
                }
                Ok(Self::Forward { peer: PeerId(u32::from_le_bytes(*peer)), mode, payload })
            }
            _ => Err(DecodeError::Invalid),
        }
    }

    /// A forwarded payload with its header.
    #[must_use]
    pub fn forward(peer: PeerId, mode: Mode, payload: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FORWARD_HEADER + payload.len());
        bytes.push(FORWARD);
        bytes.extend_from_slice(&peer.0.to_le_bytes());
        bytes.push(u8::from(mode == Mode::Reliable));
        bytes.extend_from_slice(payload);
        bytes
    }

    /// Turns a message that `from` sent into the one that its receiver gets, in place. Only the peer's id changes.
    pub fn readdress(bytes: &mut [u8], from: PeerId) {
        if let Some(peer) = bytes.get_mut(1..5) {
            peer.copy_from_slice(&from.0.to_le_bytes());
        }
    }

    /// A control message with its kind byte.
    #[must_use]
    pub fn control<T: Message>(message: &T) -> Vec<u8> {
        let mut bytes = vec![CONTROL];
        encode(message, &mut bytes);
        bytes
    }
}

/// From a peer to the relay.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ToRelay {
    /// The first message: the sender's purpose.
    Enter(Enter),
    /// Claims the next witnessed term for a member: the claimant misses the host, or is the host and renews its term
    /// or hands over (PROTOCOL §5.5).
    Claim(Term, PeerId),
    /// A step in opening data channels to the sender. It is for another member, or for the relay itself with
    /// [`PeerId::RELAY`].
    Signal(PeerId, Signal),
    /// Answers the probe with this number.
    Alive(u64),
    /// From the host: the game's entry in the list of games.
    Listing(Listing),
    /// The sender leaves for good.
    Leave,
    /// From the host: the members, itself first and the others in the order of succession. Only they count when the
    /// relay decides claims. The number says how many of them, the last ones, may not have the session's state yet: the
    /// relay reserves no term for these.
    Members(Vec<PeerId>, u8),
    /// Asks the relay to probe the host now, because the host is silent for longer than usual. It also withdraws an
    /// earlier claim of the sender: a member that claimed and now only doubts the host has heard it again.
    Doubt,
    /// The sender goes and may come back as a new peer, for example because its page is unloaded. Otherwise like
    /// [`ToRelay::Leave`].
    Away,
    /// From the host: this peer shall not come back to the game, and no newcomer from its address shall enter.
    Bar(PeerId),
    /// Before [`ToRelay::Enter`]: a token of the game's own server, which says that the sender may enter (PROTOCOL
    /// §5.8).
    Token(JoinToken),
}

/// The first message on a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Enter {
    /// [`crate::PROTOCOL_VERSION`] of the sender.
    pub version: u16,
    /// Hash of the agreed parameters.
    pub params: u64,
    /// The sender's purpose.
    pub purpose: Purpose,
}

/// A peer's purpose in connecting.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Purpose {
    /// To found a game, under this code or one that the relay draws.
    Create(Option<GameCode>),
    /// To join a game.
    Join(GameCode),
    /// To be the same peer again, after the peer's connection or the relay was lost.
    Resume(GameCode, PeerPass, Warrant),
    /// To come back to a game as a new peer. The pass shows that the peer was a member of the session. The peer joins
    /// the game, or founds it anew if no member is left.
    Rejoin(GameCode, PeerPass),
    /// To join the fullest public game that is open and has the same parameters, or to found one.
    Match,
}

/// A step in opening data channels to a peer, or to the relay. The relay passes on signals between peers unread.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Signal {
    /// A session description that opens a connection; `attempt` pairs it with its answer.
    Offer(u32, String),
    /// The answer to the offer of that attempt.
    Answer(u32, String),
}

/// The directory's entry of a game.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Listing {
    /// The number of players now, without spectators.
    pub players: u8,
    /// The largest number of players.
    pub capacity: u8,
    /// Whether newcomers are admitted. Members that come back always are.
    pub open: bool,
    /// Whether the relay shows the game to others.
    pub public: bool,
    /// The subject of the game, for people who choose one; valid, see [`crate::name::is_valid`].
    pub title: String,
    /// The host's name.
    pub host_name: String,
}

/// From the relay to a peer.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum FromRelay {
    /// Answers [`Enter`].
    Entered(Entered),
    /// Answers [`Enter`], or a breach of the protocol. The relay then closes the connection.
    Refused(Refusal),
    /// A step in opening data channels, from another member, or from the relay itself with [`PeerId::RELAY`].
    Signal(PeerId, Signal),
    /// A term has a host. The relay sends this to the claimant and to every connected member.
    Issued(Warrant),
    /// The relay does not grant the claim of this term.
    Denied(Term, Denial),
    /// Asks whether the peer is alive; the answer repeats the number.
    Probe(u64),
    /// The connection of this member to the relay closed.
    Gone(PeerId),
    /// The relay lives. Sent every two seconds, because a page does not see a WebSocket's own pings.
    Pulse,
    /// The relay stops within this many seconds. It founds no more games.
    Draining(u16),
    /// The host's connection closed, and this warrant is in reserve. A receiver adopts it once it misses the host,
    /// too. Until then the warrant has no effect.
    Successor(Warrant),
    /// The relay answers offers to [`PeerId::RELAY`]: packets can take data channels to it. Sent once, after
    /// [`FromRelay::Entered`].
    Reachable,
    /// To the host: this member is barred, by a former host or by the relay's operator, and the host puts it out.
    PutOut(PeerId),
    /// Before [`FromRelay::Refused`]: why the game's own server does not let the peer in, in words for the player.
    Told(String),
    /// The host has named the receiver: this pass replaces the one before.
    Pass(PeerPass),
}

/// The relay has let the peer into the game; the host still has to admit it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Entered {
    /// The game's code.
    pub code: GameCode,
    /// The peer's pass.
    pub pass: PeerPass,
    /// The key that verifies warrants and passes.
    pub key: [u8; 32],
    /// The highest warrant of the session.
    pub warrant: Warrant,
    /// The session's id, also in the pass.
    pub session: SessionId,
    /// The relay's word about the peer, if it asks the game's own server about peers. The peer shows it to the host.
    pub voucher: Option<Box<Voucher>>,
}

/// The reason why a claim was not granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Denial {
    /// The host answered the relay's probe.
    HostIsAlive,
    /// Another member has the term already, and its warrant was sent before this; or the claim was withdrawn.
    Stale,
    /// The claimant is no member, as far as the relay knows. Or the claimant is the host, and its candidate is no
    /// member or not connected.
    NotAMember,
}

fn has_twice(peers: &[PeerId]) -> bool {
    peers.iter().enumerate().any(|(place, peer)| peers[..place].contains(peer))
}

impl Message for ToRelay {
    fn check(&self) -> Result<(), DecodeError> {
        match self {
            Self::Enter(Enter { purpose: Purpose::Create(Some(code)), .. })
            | Self::Enter(Enter {
                purpose: Purpose::Join(code) | Purpose::Resume(code, ..) | Purpose::Rejoin(code, _),
                ..
            }) => check_code(code),
            Self::Signal(_, signal) => signal.check(),
            Self::Token(token) if token.0.len() > TOKEN_MAX => Err(DecodeError::TooLarge),
            Self::Listing(Listing { title, host_name, .. })
                if !crate::name::is_valid(host_name) || !crate::name::is_valid(title) =>
            {
                Err(DecodeError::Invalid)
            }
            Self::Listing(listing) if usize::from(listing.capacity) > MEMBERS_MAX => {
                Err(DecodeError::TooLarge)
            }
            Self::Members(members, _) if members.len() > MEMBERS_MAX => Err(DecodeError::TooLarge),
            Self::Members(members, joining)
                if usize::from(*joining) > members.len() || has_twice(members) =>
            {
                Err(DecodeError::Invalid)
            }
            _ => Ok(()),
        }
    }
}

impl Message for FromRelay {
    fn check(&self) -> Result<(), DecodeError> {
        match self {
            Self::Entered(entered) => check_code(&entered.code)
                .and_then(|()| entered.voucher.as_ref().map_or(Ok(()), |voucher| voucher.check())),
            Self::Told(text) if !is_readable(text) => Err(DecodeError::Invalid),
            Self::Signal(_, signal) => signal.check(),
            _ => Ok(()),
        }
    }
}

impl Signal {
    fn check(&self) -> Result<(), DecodeError> {
        let (Self::Offer(_, text) | Self::Answer(_, text)) = self;
        if text.len() > DESCRIPTION_MAX { Err(DecodeError::TooLarge) } else { Ok(()) }
    }
}

/// Whether a text for the player is short and has no control characters.
fn is_readable(text: &str) -> bool {
    text.len() <= TOLD_MAX && !text.chars().any(char::is_control)
}

fn check_code(code: &GameCode) -> Result<(), DecodeError> {
    if code.is_valid() { Ok(()) } else { Err(DecodeError::Invalid) }
}

impl ToRelay {
    /// Decodes the body of a control frame.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode::<Self, RELAY_MESSAGE_MAX>(bytes)
    }
}

impl FromRelay {
    /// Decodes the body of a control frame.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode::<Self, RELAY_MESSAGE_MAX>(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn readdressing_changes_only_the_peer_of_a_packet() {
        let mut bytes = RelayFrame::forward(PeerId(7), Mode::Reliable, b"abc");
        RelayFrame::readdress(&mut bytes, PeerId(9));
        let expected = RelayFrame::Forward { peer: PeerId(9), mode: Mode::Reliable, payload: b"abc" };
        assert_eq!(RelayFrame::decode(&bytes), Ok(expected));
        assert_eq!(bytes.len(), FORWARD_HEADER + 3);
    }

    #[test]
    fn oversized_forwards_and_descriptions_are_refused() {
        let packet = RelayFrame::forward(PeerId(1), Mode::Unreliable, &[0; PACKET_MAX + 1]);
        assert_eq!(RelayFrame::decode(&packet), Err(DecodeError::TooLarge));
        let signal = ToRelay::Signal(PeerId(1), Signal::Offer(0, "x".repeat(DESCRIPTION_MAX + 1)));
        let bytes = RelayFrame::control(&signal);
        assert_eq!(ToRelay::decode(&bytes[1..]), Err(DecodeError::TooLarge));
    }
}
