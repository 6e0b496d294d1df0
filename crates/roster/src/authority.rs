//! The relay's signatures and their verification (PROTOCOL §6).

#[cfg(feature = "memory")]
mod memory;

use ed25519_dalek::{Signature as Ed25519Signature, Signer as _, SigningKey, VerifyingKey};
use samovar_wire::{PeerId, PeerPass, SessionId, Signature, Term, Vouched, Voucher, Warrant};

/// The key that verifies the relay's signatures. A peer gets it from the relay through which it enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RelayKey(VerifyingKey);

impl RelayKey {
    /// Reads a key; `None` when the bytes are no point of the curve, or a weak one.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 32]) -> Option<Self> {
        VerifyingKey::from_bytes(bytes).ok().filter(|key| !key.is_weak()).map(Self)
    }

    /// The key's bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 32] {
        self.0.to_bytes()
    }

    /// Whether the relay issued this warrant.
    #[must_use]
    pub fn verifies_warrant(&self, warrant: &Warrant) -> bool {
        let bytes = Warrant::signed_bytes(warrant.session, warrant.term, warrant.host);
        self.verifies(&bytes, &warrant.signature)
    }

    /// Whether the relay issued this pass.
    #[must_use]
    pub fn verifies_pass(&self, pass: &PeerPass) -> bool {
        self.verifies(&PeerPass::signed_bytes(pass.session, pass.peer, pass.is_named), &pass.signature)
    }

    /// Whether the relay issued this voucher.
    #[must_use]
    pub fn verifies_voucher(&self, voucher: &Voucher) -> bool {
        let Voucher { session, peer, vouched, signature } = voucher;
        self.verifies(&Voucher::signed_bytes(*session, *peer, vouched), signature)
    }

    fn verifies(&self, bytes: &[u8], signature: &Signature) -> bool {
        let verify = || self.0.verify_strict(bytes, &Ed25519Signature::from_bytes(&signature.0)).is_ok();
        #[cfg(feature = "memory")]
        let verify = || memory::recall(&memory::VERIFIED, &[self.0.as_bytes(), &signature.0, bytes], verify);
        verify()
    }
}

/// The relay's secret key, which signs warrants and passes. Signatures are deterministic: after a restart, the same
/// warrant gets the same signature.
#[derive(Clone, PartialEq, Eq)]
pub struct Signatory(SigningKey);

/// The public half determines the key, so hashing it suffices.
impl core::hash::Hash for Signatory {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl core::fmt::Debug for Signatory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Signatory(secret)")
    }
}

impl Signatory {
    /// The signatory of a secret key.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(secret))
    }

    /// The key that verifies this signatory's signatures.
    #[must_use]
    pub fn key(&self) -> RelayKey {
        RelayKey(self.0.verifying_key())
    }

    /// Entitles `host` to host `term`.
    #[must_use]
    pub fn warrant(&self, session: SessionId, term: Term, host: PeerId) -> Warrant {
        let signature = self.sign(&Warrant::signed_bytes(session, term, host));
        Warrant { session, term, host, signature }
    }

    /// Vouches for a peer's identity, and for whether a host has named it.
    #[must_use]
    pub fn pass(&self, session: SessionId, peer: PeerId, is_named: bool) -> PeerPass {
        let signature = self.sign(&PeerPass::signed_bytes(session, peer, is_named));
        PeerPass { session, peer, is_named, signature }
    }

    /// Vouches for what the game's own server says about a peer.
    #[must_use]
    pub fn voucher(&self, session: SessionId, peer: PeerId, vouched: Vouched) -> Voucher {
        let signature = self.sign(&Voucher::signed_bytes(session, peer, &vouched));
        Voucher { session, peer, vouched, signature }
    }

    fn sign(&self, bytes: &[u8]) -> Signature {
        let sign = || self.0.sign(bytes).to_bytes();
        #[cfg(feature = "memory")]
        let sign = || memory::recall(&memory::SIGNED, &[&self.key().to_bytes(), bytes], sign);
        Signature(sign())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn warrant_verifies_only_unchanged_and_by_its_own_key() {
        let relay = Signatory::new(&[7; 32]);
        let key = RelayKey::from_bytes(&relay.key().to_bytes()).unwrap();
        let warrant = relay.warrant(SessionId(1), Term(2), PeerId(3));
        assert!(key.verifies_warrant(&warrant));
        assert!(!key.verifies_warrant(&Warrant { term: Term(3), ..warrant }));
        assert!(!key.verifies_warrant(&Warrant { host: PeerId(4), ..warrant }));
        assert!(!key.verifies_warrant(&Warrant { session: SessionId(2), ..warrant }));
        assert!(!Signatory::new(&[8; 32]).key().verifies_warrant(&warrant));
    }

    #[test]
    fn pass_does_not_verify_as_a_warrant() {
        let relay = Signatory::new(&[7; 32]);
        let pass = relay.pass(SessionId(1), PeerId(3), false);
        assert!(relay.key().verifies_pass(&pass));
        assert!(!relay.key().verifies_pass(&PeerPass { is_named: true, ..pass }), "nobody names itself");
        let forged =
            Warrant { session: SessionId(1), term: Term(3), host: PeerId(3), signature: pass.signature };
        assert!(!relay.key().verifies_warrant(&forged));
    }
}
