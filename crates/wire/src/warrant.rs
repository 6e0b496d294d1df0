//! The relay's signed statements (PROTOCOL §6).

use bincode::{Decode, Encode};

use crate::{PeerId, SessionId, Term};

/// An ed25519 signature of the relay.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Signature(pub [u8; 64]);

impl core::fmt::Debug for Signature {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Signature({:02x}{:02x}…)", self.0[0], self.0[1])
    }
}

/// The proof that a peer may be the host of a term (PROTOCOL §4.3). The relay signs it, for one peer in each term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Warrant {
    /// The session.
    pub session: SessionId,
    /// The term in which the peer may host.
    pub term: Term,
    /// The peer that may host.
    pub host: PeerId,
    /// The signature over [`Warrant::signed_bytes`].
    pub signature: Signature,
}

impl Warrant {
    /// The bytes that the relay signs.
    #[must_use]
    pub fn signed_bytes(session: SessionId, term: Term, host: PeerId) -> Vec<u8> {
        let mut bytes = b"samovar warrant 1".to_vec();
        bytes.extend_from_slice(&session.0.to_le_bytes());
        bytes.extend_from_slice(&term.0.to_le_bytes());
        bytes.extend_from_slice(&host.0.to_le_bytes());
        bytes
    }
}

/// The relay's signature on a peer's id (PROTOCOL §5.2). A peer shows its pass when it comes back, also to a relay
/// that has restarted. By [`Purpose::Resume`](crate::relay::Purpose::Resume) the peer keeps its id; by
/// [`Purpose::Rejoin`](crate::relay::Purpose::Rejoin) it gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct PeerPass {
    /// The session.
    pub session: SessionId,
    /// The peer.
    pub peer: PeerId,
    /// Whether a host has named the peer as a member. By such a pass the peer brings its game back at a relay whose
    /// disk does not know of it.
    pub is_named: bool,
    /// The signature over [`PeerPass::signed_bytes`].
    pub signature: Signature,
}

impl PeerPass {
    /// The bytes that the relay signs.
    #[must_use]
    pub fn signed_bytes(session: SessionId, peer: PeerId, is_named: bool) -> Vec<u8> {
        let mut bytes = b"samovar peer pass 2".to_vec();
        bytes.extend_from_slice(&session.0.to_le_bytes());
        bytes.extend_from_slice(&peer.0.to_le_bytes());
        bytes.push(is_named.into());
        bytes
    }
}
