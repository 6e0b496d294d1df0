//! Newtypes for everything that is counted or named.

use core::fmt;

use bincode::{Decode, Encode};

/// One process in a session, such as a browser tab or a native program. The relay draws the id at random, so that no
/// peer can choose one that makes it the next host. An id is never used again: a player's new process is a new peer,
/// also when it takes the old seat back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct PeerId(pub u32);

impl PeerId {
    /// The relay, in messages where the other end may be a peer or the relay. No peer has this id: the relay never
    /// draws zero.
    pub const RELAY: Self = Self(0);
    /// Ids from this one on belong to the relay's own peers; the relay draws none of them for others.
    pub const OWN_FROM: Self = Self(0xffff_0000);

    /// Whether this is one of the relay's own peers. No peer can pretend to be one: the relay draws all ids.
    #[must_use]
    pub const fn is_relays_own(self) -> bool {
        self.0 >= Self::OWN_FROM.0
    }
}

impl fmt::Display for PeerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// A member's place in the session: it outlives the peer that sits on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct SeatId(pub u16);

/// One session, from its founding to its end. The relay draws the id. A game code can be used again, a session's id
/// cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct SessionId(pub u64);

/// The number of a host's term; it grows at each host change (PROTOCOL §4.10).
///
/// The relay gives out *witnessed* terms: the multiples of 256, of which the founder's is 256. Members that cannot
/// reach the relay vote for the terms between these. So a witnessed term is above every term that was voted before
/// it. Two sides of a partition that know different witnessed terms never vote in the same term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Term(pub u64);

impl Term {
    /// The founder's term.
    pub const FIRST: Self = Self(256);

    /// The next term that the relay can give out.
    #[must_use]
    pub const fn next_witnessed(self) -> Self {
        Self((self.0 | 255).saturating_add(1))
    }

    /// The next term that members can vote for; `None` after 255 voted terms in a row.
    #[must_use]
    pub const fn next_voted(self) -> Option<Self> {
        if self.0 & 255 == 255 { None } else { Some(Self(self.0 + 1)) }
    }

    /// Whether the relay gives out this term.
    #[must_use]
    pub const fn is_witnessed(self) -> bool {
        self.0 & 255 == 0
    }

    /// The highest witnessed term that is not above this one. A witnessed term is its own base.
    #[must_use]
    pub const fn base(self) -> Self {
        Self(self.0 & !255)
    }
}

impl fmt::Display for Term {
    /// `3` for the third witnessed term, `3.1` for the first vote after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 >> 8, self.0 & 255) {
            (witnessed, 0) => write!(f, "{witnessed}"),
            (witnessed, voted) => write!(f, "{witnessed}.{voted}"),
        }
    }
}

/// A replicated object: its creator, and its number among that peer's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// The peer that created it; zero for the session object.
    pub creator: PeerId,
    /// The number of the object among those of its creator, from 1.
    pub number: u32,
}

impl ObjectId {
    /// The session object, whose owner is the host (ARCHITECTURE.md, "One idea").
    pub const SESSION: Self = Self { creator: PeerId(0), number: 0 };
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.creator, self.number)
    }
}

/// The kind of an object; the game's own numbering. [`Kind::SESSION`] is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub u8);

impl Kind {
    /// The kind of the session object.
    pub const SESSION: Self = Self(0);
}

/// The secret by which a member takes its seat back, once. The member draws the ticket, and shows it only to a host
/// that shall seat it again.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The session that the seat is in.
    pub session: SessionId,
    /// Random bytes.
    pub secret: [u8; 16],
}

/// A ticket in the form in which a peer shows it to a host. The ticket is void once a host has accepted it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct ShownTicket(pub [u8; 16]);

/// The hash of a ticket in the view: any host can check a ticket by it, and no peer can make a ticket from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct TicketHash(pub [u8; 16]);

impl Ticket {
    /// The hash of this ticket, for the view.
    #[must_use]
    pub fn hash(&self) -> TicketHash {
        ShownTicket(self.secret).hash()
    }

    /// The form in which a peer shows this ticket to the host of a session. The host of the ticket's own session gets
    /// the secret. A host that founded that session anew knows only the hash of the hash, so it gets the hash. A host
    /// that lists another session under the same code thus learns nothing that opens the seat.
    #[must_use]
    pub fn shown_to(&self, session: SessionId) -> ShownTicket {
        if session == self.session { ShownTicket(self.secret) } else { ShownTicket(self.hash().0) }
    }

    /// The bytes to keep, for [`Ticket::from_bytes`].
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.session.0.to_le_bytes());
        bytes[8..].copy_from_slice(&self.secret);
        bytes
    }

    /// The ticket from kept bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 24]) -> Self {
        let (mut session, mut secret) = ([0; 8], [0; 16]);
        session.copy_from_slice(&bytes[..8]);
        secret.copy_from_slice(&bytes[8..]);
        Self { session: SessionId(u64::from_le_bytes(session)), secret }
    }
}

impl ShownTicket {
    /// The hash of this ticket, for the view.
    #[must_use]
    pub fn hash(&self) -> TicketHash {
        let mut short = [0; 16];
        short.copy_from_slice(&crate::digest(&[b"samovar ticket", &self.0])[..16]);
        TicketHash(short)
    }
}

impl TicketHash {
    /// The hash that a session holds for this ticket if the session is founded anew from kept state: the hash of this
    /// hash.
    #[must_use]
    pub fn again(&self) -> Self {
        ShownTicket(self.0).hash()
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticket(secret of {:?})", self.session)
    }
}

impl fmt::Debug for ShownTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShownTicket(secret)")
    }
}

/// The code that players pass around: 3 to 12 of `A`-`Z`, `0`-`9` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct GameCode(String);

impl GameCode {
    /// Reads a code as a person typed it: white space around it is ignored, and lower case is accepted. `None` when
    /// the text is not a code.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let fits = (3..=12).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && text.bytes().any(|b| b != b'-');
        fits.then(|| Self(text.to_ascii_uppercase()))
    }

    /// The code's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a decoded code obeys the rules of [`GameCode::parse`].
    #[must_use]
    pub fn is_valid(&self) -> bool {
        Self::parse(&self.0).as_ref() == Some(self)
    }
}

impl fmt::Display for GameCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn codes_ignore_case_and_outer_spaces_and_refuse_the_rest() {
        assert_eq!(GameCode::parse(" tea-4 ").map(|c| c.0), Some("TEA-4".to_owned()));
        for bad in ["", "AB", "ABCDEFGHIJKLM", "A B", "<b>", "ÄÖÜ", "---"] {
            assert_eq!(GameCode::parse(bad), None, "{bad}");
        }
    }
}
