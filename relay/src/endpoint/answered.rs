//! An offer that has been answered. Its connection is made when the member's first check arrives, by the thread whose
//! socket the check comes to; until then it takes little memory.

use std::sync::Arc;
use std::time::Instant;

use samovar_directory::description::{Local, Offer};
use sha2::{Digest as _, Sha256};

use super::association::Identity;
use crate::line::Line;

/// An offer, and the relay's secrets for it.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) line: Arc<Line>,
    pub(super) offer: Offer,
    /// The relay's own user name fragment, by which it recognises checks for the connection.
    pub(super) ufrag: String,
    pub(super) password: String,
    pub(super) born: Instant,
}

impl Answered {
    /// Answers an offer, by secret random bytes. Returns the answer for the member, too.
    pub(super) fn new(
        now: Instant,
        identity: &Identity,
        line: Arc<Line>,
        offer: Offer,
        secrets: &[u8; 32],
    ) -> (Self, String) {
        let (ufrag, password) = credentials(secrets);
        let fingerprint = Sha256::digest(&identity.certificate.certificate);
        let answer = offer.answer(Local {
            session: u64::from_le_bytes(*secrets.first_chunk().expect("there are thirty-two")) >> 1,
            ufrag: &ufrag,
            password: &password,
            fingerprint: &fingerprint,
            addresses: &identity.addresses,
        });
        (Self { line, offer, ufrag, password, born: now }, answer)
    }
}

/// A user name fragment and a password of ICE, of 48 and of 144 bits.
fn credentials(secrets: &[u8; 32]) -> (String, String) {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    (STANDARD.encode(&secrets[8..14]), STANDARD.encode(&secrets[14..]))
}
