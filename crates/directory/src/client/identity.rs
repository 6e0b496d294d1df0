//! The identity that the relay gives this peer.

use samovar_roster::RelayKey;
use samovar_wire::relay::Entered;
use samovar_wire::{PeerPass, Voucher};

use super::{Client, Fault};

/// The relay's statements at the first entry. The relay must repeat them at every later entry.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) key: RelayKey,
    pub(super) entered: Entered,
}

impl Client {
    /// The relay sends a pass when a host has named this peer.
    pub(super) fn on_pass(&mut self, pass: PeerPass) -> Result<(), Fault> {
        let is_own = |identity: &Identity| {
            let own = identity.entered.pass;
            (own.session, own.peer) == (pass.session, pass.peer) && identity.key.verifies_pass(&pass)
        };
        if !self.identity.as_ref().is_some_and(is_own) {
            return Err(Fault::BadSignature);
        }
        self.take_pass(pass);
        Ok(())
    }

    /// Replaces the pass by one that says that a host has named this peer.
    pub(super) fn take_pass(&mut self, pass: PeerPass) {
        if let Some(identity) = self.identity.as_mut().filter(|_| pass.is_named) {
            identity.entered.pass = pass;
        }
    }
}

/// Checks that the relay signed its answer with its key, and that it agrees with earlier answers.
pub(super) fn verify(known: Option<&Identity>, entered: &Entered) -> Result<RelayKey, Fault> {
    let key = RelayKey::from_bytes(&entered.key).ok_or(Fault::KeyChanged)?;
    if let Some(Identity { key: known, entered: before }) = known {
        if *known != key {
            return Err(Fault::KeyChanged);
        }
        if before.pass.peer != entered.pass.peer
            || before.session != entered.session
            || before.code != entered.code
        {
            return Err(Fault::IdentityChanged);
        }
    }
    let of_session = entered.pass.session == entered.session && entered.warrant.session == entered.session;
    let is_vouched = |voucher: &Voucher| {
        (voucher.session, voucher.peer) == (entered.session, entered.pass.peer)
            && key.verifies_voucher(voucher)
    };
    if !of_session
        || !key.verifies_pass(&entered.pass)
        || !key.verifies_warrant(&entered.warrant)
        || !entered.voucher.as_deref().is_none_or(is_vouched)
    {
        return Err(Fault::BadSignature);
    }
    Ok(key)
}
