//! The arguments that a service gets for one call.

use samovar_objects::Objects;
use samovar_wire::object::MessageKind;
use samovar_wire::{Lane, PeerId, Time};

use crate::core::Core;

/// The parts of the session that a service may use during one call.
pub(crate) struct Context<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) objects: &'a mut Objects,
    #[cfg_attr(not(feature = "ownership"), expect(dead_code, reason = "no other service asks"))]
    pub(crate) now: Time,
}

/// A message or datagram that came by a link.
#[derive(Clone, Copy)]
pub(crate) struct Incoming<'a> {
    pub(crate) from: PeerId,
    /// [`Lane::Unreliable`] for a datagram.
    #[cfg_attr(not(feature = "extras"), expect(dead_code, reason = "no other service asks"))]
    pub(crate) lane: Lane,
    pub(crate) kind: MessageKind,
    /// The bytes after the kind.
    pub(crate) body: &'a [u8],
}
