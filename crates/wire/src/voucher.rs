//! The word of the game's own server about a peer (PROTOCOL §5.8).

use bincode::{Decode, Encode};

use crate::{DecodeError, PeerId, SessionId, Signature};

/// The word of the game's own server about a peer, by a join token or in answer to the relay's question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Vouched {
    /// The member's name; `None` leaves the choice to the member.
    pub name: Option<String>,
    /// Whether the member only watches; `None` leaves the choice to the member.
    pub watches: Option<bool>,
}

/// The relay's signature on what it knows about a peer. The peer shows it to the host. It proves nothing about its
/// bearer: the relay takes a peer back by its [`PeerPass`](crate::PeerPass) alone, which no other peer sees.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Voucher {
    /// The session.
    pub session: SessionId,
    /// The peer.
    pub peer: PeerId,
    /// The word about the peer.
    pub vouched: Vouched,
    /// The signature over [`Voucher::signed_bytes`].
    pub signature: Signature,
}

/// A token of the game's own server. Whoever has it may enter, so it is not printed.
#[derive(Clone, PartialEq, Eq, Hash, Encode, Decode)]
pub struct JoinToken(pub String);

impl core::fmt::Debug for JoinToken {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("JoinToken(secret)")
    }
}

impl Voucher {
    /// The bytes that the relay signs.
    #[must_use]
    pub fn signed_bytes(session: SessionId, peer: PeerId, vouched: &Vouched) -> Vec<u8> {
        let Vouched { name, watches } = vouched;
        let mut bytes = b"samovar voucher 1".to_vec();
        bytes.extend_from_slice(&session.0.to_le_bytes());
        bytes.extend_from_slice(&peer.0.to_le_bytes());
        bytes.push(watches.map_or(2, u8::from));
        bytes.push(u8::from(name.is_some()));
        bytes.extend_from_slice(name.as_deref().unwrap_or_default().as_bytes());
        bytes
    }

    /// # Errors
    /// `Invalid` if the name is.
    pub(crate) fn check(&self) -> Result<(), DecodeError> {
        let name = self.vouched.name.as_ref();
        if name.is_none_or(|name| crate::name::is_valid(name)) { Ok(()) } else { Err(DecodeError::Invalid) }
    }
}
