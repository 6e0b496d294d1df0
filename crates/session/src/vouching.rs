//! The relay's word about members: their names, and whether they only watch (PROTOCOL §5.8).

use samovar_wire::control::Hello;
use samovar_wire::view::SPECTATOR;
use samovar_wire::{CloseCode, PeerId, Vouched, Voucher};

use crate::core::Core;

impl Core {
    /// The HELLO of a peer with the name and the role that the relay vouches for. A host that the relay vouches for
    /// admits only peers that it vouches for, too. A member may have become one before the relay vouched for anybody.
    ///
    /// # Errors
    /// `NotVouched` if the peer shows no voucher, or one that is not its own.
    pub(crate) fn vouched(&self, from: PeerId, mut hello: Hello) -> Result<Hello, CloseCode> {
        match &hello.voucher {
            Some(voucher) if !self.is_voucher_of(from, voucher) => return Err(CloseCode::NotVouched),
            Some(voucher) => {
                let Vouched { name, watches } = &voucher.vouched;
                if let Some(name) = name {
                    hello.name.clone_from(name);
                }
                match watches {
                    Some(true) => hello.attributes |= SPECTATOR,
                    Some(false) => hello.attributes &= !SPECTATOR,
                    None => {}
                }
            }
            None if self.config.voucher.is_some() && !self.view().has(from) => {
                return Err(CloseCode::NotVouched);
            }
            None => {}
        }
        Ok(hello)
    }

    fn is_voucher_of(&self, peer: PeerId, voucher: &Voucher) -> bool {
        let session = self.config.warrant.session;
        voucher.peer == peer && voucher.session == session && self.config.key.verifies_voucher(voucher)
    }
}
