//! A message for a directory, read and with its signatures verified. Neither step needs the directory, and both cost
//! more than the directory's own work. So a driver whose directory is behind a lock reads a message before it takes
//! the lock.

use samovar_roster::RelayKey;
use samovar_wire::PeerId;
use samovar_wire::relay::{Enter, Purpose, RelayFrame, ToRelay};

/// A message that was read.
#[derive(Clone, Debug)]
pub struct Incoming<'a>(pub(super) Read<'a>);

#[derive(Clone, Debug)]
pub(super) enum Read<'a> {
    /// A packet for a peer, and the whole frame that holds it.
    Forward(PeerId, &'a [u8]),
    /// A message to the relay, and whether the relay has signed the passes and warrants in it.
    Control(ToRelay, bool),
    /// No message of the protocol.
    Garbage,
}

impl<'a> Incoming<'a> {
    /// Reads a whole WebSocket message; a text message is handed over as empty bytes. `key` is [`Directory::key`].
    ///
    /// [`Directory::key`]: super::Directory::key
    #[must_use]
    pub fn read(key: &RelayKey, bytes: &'a [u8]) -> Self {
        let read = match RelayFrame::decode(bytes) {
            Ok(RelayFrame::Forward { peer, .. }) => Read::Forward(peer, bytes),
            Ok(RelayFrame::Control(body)) => match ToRelay::decode(body) {
                Ok(message) => {
                    let is_genuine = is_genuine(key, &message);
                    Read::Control(message, is_genuine)
                }
                Err(_) => Read::Garbage,
            },
            Err(_) => Read::Garbage,
        };
        Self(read)
    }

    /// Whether the relay has signed the passes and warrants of the message.
    #[must_use]
    pub const fn is_genuine(&self) -> bool {
        matches!(self.0, Read::Control(_, true))
    }
}

/// Whether the relay has signed the passes and warrants of a message.
fn is_genuine(key: &RelayKey, message: &ToRelay) -> bool {
    match message {
        ToRelay::Enter(Enter { purpose: Purpose::Resume(_, pass, warrant), .. }) => {
            pass.session == warrant.session && key.verifies_pass(pass) && key.verifies_warrant(warrant)
        }
        ToRelay::Enter(Enter { purpose: Purpose::Rejoin(_, pass), .. }) => key.verifies_pass(pass),
        _ => true,
    }
}
