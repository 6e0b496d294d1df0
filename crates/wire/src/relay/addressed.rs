//! The messages between a peer and the relay on data channels (PROTOCOL §5.7).

use crate::limits::{BULK_CHUNK_MAX, PACKET_MAX};
use crate::{DecodeError, Mode, PeerId};

/// Bytes in front of a payload on a channel to or from the relay: the peer.
pub const ADDRESS_HEADER: usize = 4;

/// One message on a data channel between a peer and the relay; the channel tells whether the payload is a packet or a
/// chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed<'a> {
    /// The receiver on the way to the relay, the sender on the way from it.
    pub peer: PeerId,
    /// The packet or chunk.
    pub payload: &'a [u8],
}

impl<'a> Addressed<'a> {
    /// Reads a message that came on the channel of this mode. The caller has already dropped empty messages.
    ///
    /// # Errors
    /// `Truncated` without a whole peer, `TooLarge` when the payload is beyond the limit of its mode.
    pub fn decode(mode: Mode, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let (peer, payload) = bytes.split_first_chunk().ok_or(DecodeError::Truncated)?;
        let max = if mode == Mode::Unreliable { PACKET_MAX } else { BULK_CHUNK_MAX };
        if payload.len() > max {
            return Err(DecodeError::TooLarge);
        }
        Ok(Self { peer: PeerId(u32::from_le_bytes(*peer)), payload })
    }

    /// The encoded message.
    #[must_use]
    pub fn encode(self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(ADDRESS_HEADER + self.payload.len());
        bytes.extend_from_slice(&self.peer.0.to_le_bytes());
        bytes.extend_from_slice(self.payload);
        bytes
    }

    /// Turns a message that `from` sent into the one that its receiver gets, in place. Only the peer's id changes.
    pub fn readdress(bytes: &mut [u8], from: PeerId) {
        if let Some(peer) = bytes.first_chunk_mut::<ADDRESS_HEADER>() {
            *peer = from.0.to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn readdressing_changes_only_the_peer_of_a_message() {
        let mut bytes = Addressed { peer: PeerId(7), payload: b"abc" }.encode();
        Addressed::readdress(&mut bytes, PeerId(9));
        let expected = Addressed { peer: PeerId(9), payload: b"abc" };
        assert_eq!(Addressed::decode(Mode::Unreliable, &bytes), Ok(expected));
        assert_eq!(bytes.len(), ADDRESS_HEADER + 3);
    }

    #[test]
    fn a_message_without_a_peer_or_too_large_is_refused() {
        assert_eq!(Addressed::decode(Mode::Reliable, &[1, 0, 0]), Err(DecodeError::Truncated));
        for (mode, max) in [(Mode::Unreliable, PACKET_MAX), (Mode::Reliable, BULK_CHUNK_MAX)] {
            let bytes = vec![0; ADDRESS_HEADER + max + 1];
            assert_eq!(Addressed::decode(mode, &bytes), Err(DecodeError::TooLarge));
            assert!(Addressed::decode(mode, &bytes[1..]).is_ok());
        }
        Addressed::readdress(&mut [1, 2], PeerId(3));
    }
}
