//! The identity that the relay gives this peer.

use samovar_roster::RelayKey;
use samovar_wire::Voucher;
use samovar_wire::relay::Entered;

use super::Fault;

/// The relay's statements at the first entry. The relay must repeat them at every later entry.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    pub(super) key: RelayKey,
    pub(super) entered: Entered,
}

/// Checks that the relay signed its answer with its key, and that it agrees with earlier answers.
pub(super) fn verify(known: Option<&Identity>, entered: &Entered) -> Result<RelayKey, Fault> {
    let key = RelayKey::from_bytes(&entered.key).ok_or(Fault::KeyChanged)?;
    if let Some(Identity { key: known, entered: before }) = known {
        if *known != key {
            return Err(Fault::KeyChanged);
        }
        if before.pass != entered.pass || before.session != entered.session || before.code != entered.code {
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
