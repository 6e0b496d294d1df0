//! Control messages between peers, and the one bounded decoder for all bincode messages.

use bincode::{Decode, Encode};

use crate::limits::{CONTROL_MAX, MEMBERS_MAX, RELAY_MESSAGE_MAX, RESUME_MAX};
use crate::{DecodeError, PeerId, ShownTicket, Term, TicketHash, Voucher, Warrant};

/// The types that bincode may encode: message types of this crate, never another crate's struct.
///
/// None of them may hold a collection of zero-sized elements: bincode's limit does not count those, and nine bytes
/// would ask for 2^64 of them.
pub trait Message: Encode + Decode<()> {
    /// Checks what the type cannot express: ranges, lengths, agreement between fields.
    ///
    /// # Errors
    /// `Invalid` or `TooLarge`.
    fn check(&self) -> Result<(), DecodeError>;
}

/// Decodes one message of at most `LIMIT` bytes. Every byte must be used.
///
/// # Errors
/// `TooLarge` beyond the limit, `Trailing` when bytes are left, otherwise `Invalid`.
pub fn decode<T: Message, const LIMIT: usize>(bytes: &[u8]) -> Result<T, DecodeError> {
    const { assert!(LIMIT <= RELAY_MESSAGE_MAX) };
    if bytes.len() > LIMIT {
        return Err(DecodeError::TooLarge);
    }
    // The limit in memory is the same for all messages: with one of their own, a page would have the decoder of each
    // type several times.
    let config = bincode::config::standard().with_limit::<RELAY_MESSAGE_MAX>();
    let (message, used) = bincode::decode_from_slice::<T, _>(bytes, config).map_err(|e| match e {
        bincode::error::DecodeError::LimitExceeded => DecodeError::TooLarge,
        bincode::error::DecodeError::UnexpectedEnd { .. } => DecodeError::Truncated,
        _ => DecodeError::Invalid,
    })?;
    if used != bytes.len() {
        return Err(DecodeError::Trailing);
    }
    message.check()?;
    Ok(message)
}

/// Appends one message.
pub fn encode<T: Message>(message: &T, out: &mut Vec<u8>) {
    // The error is dropped, because the code that formats it would add kilobytes to a page.
    let bytes = bincode::encode_to_vec(message, bincode::config::standard()).ok();
    let bytes = bytes.expect("messages hold no type whose encoding can fail, and a Vec takes them all");
    out.extend_from_slice(&bytes);
}

/// Session control between two peers, on the reliable lane (PROTOCOL §4).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub enum PeerControl {
    /// The first message of a peer that wants to be a member, to the host.
    Hello(Hello),
    /// From the host: the ticket with this hash, which the receiver drew, opens its seat from now on. All backups
    /// know the hash.
    Welcome(TicketHash),
    /// To all: a warrant that the sender has adopted. The sender passes it on over each of its links, before any
    /// message under its term.
    Warrant(Warrant),
    /// To the host: the sender's fitness to host.
    Standing(Standing),
    /// To all: the sender's opinion of its host, in place of its previous one (PROTOCOL §4.10).
    Opinion(Opinion),
}

/// Asks for admission.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Hello {
    /// [`crate::PROTOCOL_VERSION`] of the sender.
    pub version: u16,
    /// Hash of the agreed parameters, the game's name and version among them.
    pub params: u64,
    /// The member's name.
    pub name: String,
    /// The game's own bits, such as a colour or whether the member is a robot.
    pub attributes: u32,
    /// The hash of the ticket that the sender has drawn for its seat.
    pub ticket: TicketHash,
    /// Tickets, one of which may open the sender's previous seat.
    pub resume: [Option<ShownTicket>; RESUME_MAX],
    /// The relay's word about the sender, if there is one.
    pub voucher: Option<Box<Voucher>>,
}

/// A member's fitness to host. The host publishes it, and all members rank candidates by it (PROTOCOL §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Standing {
    /// Whether the member is there to play.
    pub presence: Presence,
    /// The number of members that the member reaches directly, at most 31.
    pub reach: u8,
}

/// Whether a member is there to play. A member whose game stands still hosts only if no other can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub enum Presence {
    /// The member's page is hidden, and its game still makes steps.
    Hidden,
    /// The member's page is visible. A program always counts as visible.
    Visible,
    /// The member's game makes no steps, whether its page is visible or not.
    Still,
}

/// A member's whole statement in elections. The newest one replaces all earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Opinion {
    /// The sender's present term.
    pub term: Term,
    /// The host of that term.
    pub host: PeerId,
    /// Whether the sender misses that host now.
    pub missed: bool,
    /// Whether the sender reaches the relay, as far as it knows; false while it does not miss its host.
    pub relay: bool,
    /// The sender's last vote, if that was for a term above the sender's present one.
    pub vote: Option<Vote>,
    /// The heir that the sender names, if it hosts.
    pub heir: Option<PeerId>,
}

impl Opinion {
    /// The opinion of a member that does not miss its host, and has not voted.
    #[must_use]
    pub const fn content(term: Term, host: PeerId) -> Self {
        Self { term, host, missed: false, relay: false, vote: None, heir: None }
    }

    /// Whether the warrant of the sender's term implies the whole opinion, so that it need not be sent.
    #[must_use]
    pub fn is_implied(&self) -> bool {
        self.term.is_witnessed() && *self == Self::content(self.term, self.host)
    }
}

/// A vote for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Vote {
    /// The term that the candidate shall host.
    pub term: Term,
    /// The candidate.
    pub candidate: PeerId,
    /// The number of the newest electorate that the sender knows.
    pub electorate: u64,
}

impl Message for PeerControl {
    fn check(&self) -> Result<(), DecodeError> {
        match self {
            Self::Hello(hello) if !crate::name::is_valid(&hello.name) => Err(DecodeError::Invalid),
            Self::Hello(Hello { voucher: Some(voucher), .. }) => voucher.check(),
            Self::Standing(standing) if standing.reach >= MEMBERS_MAX as u8 => Err(DecodeError::Invalid),
            Self::Opinion(Opinion { term, vote: Some(vote), .. })
                if vote.term <= *term || vote.term.base() != term.base() =>
            {
                Err(DecodeError::Invalid)
            }
            _ => Ok(()),
        }
    }
}

impl PeerControl {
    /// Decodes the body of a control message.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode::<Self, CONTROL_MAX>(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn hello(name: &str) -> PeerControl {
        PeerControl::Hello(Hello {
            version: 1,
            params: 2,
            name: name.to_owned(),
            attributes: 3,
            ticket: TicketHash([3; 16]),
            resume: [None; RESUME_MAX],
            voucher: None,
        })
    }

    #[test]
    fn every_byte_of_a_control_message_must_be_used() {
        let mut bytes = Vec::new();
        encode(&hello("Ann"), &mut bytes);
        assert_eq!(PeerControl::decode(&bytes), Ok(hello("Ann")));
        bytes.push(0);
        assert_eq!(PeerControl::decode(&bytes), Err(DecodeError::Trailing));
        for n in 0..bytes.len() - 1 {
            assert!(PeerControl::decode(&bytes[..n]).is_err());
        }
    }

    #[test]
    fn an_absurd_length_is_refused_without_allocating_it() {
        // Variant 0, version, params, then a string of 2^64 - 1 bytes.
        let bytes = [0, 1, 2, 253, 255, 255, 255, 255, 255, 255, 255, 255];
        assert!(matches!(PeerControl::decode(&bytes), Err(DecodeError::TooLarge | DecodeError::Invalid)));
    }

    #[test]
    fn a_forbidden_or_overlong_name_is_refused() {
        for name in ["a\u{202e}b", &"x".repeat(81), "a\nb"] {
            let mut bytes = Vec::new();
            encode(&hello(name), &mut bytes);
            assert_eq!(PeerControl::decode(&bytes), Err(DecodeError::Invalid));
        }
    }
}
