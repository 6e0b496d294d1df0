//! Stands in for ownership where the feature `ownership` is off. This peer asks for no objects, and ownership
//! requests from members are faults. The host's game can still grant objects.

use samovar_objects::{Focus, Object, ObjectEvent, Objects};
use samovar_wire::claim::Denial;
use samovar_wire::object::{Orphan, Traits};
use samovar_wire::{CloseCode, ObjectId, PeerId, SeatId};

use crate::context::{Context, Incoming};
use crate::core::Core;
use crate::settle::News;

/// There are no requests, so there is no state.
#[derive(Debug, Default)]
pub(crate) struct OwnershipState {}

impl OwnershipState {
    /// Whether this build can hold objects with these traits. An object that freezes, or goes to the nearest member,
    /// needs the host's arbiter.
    pub(crate) const fn has(traits: Traits) -> bool {
        !matches!(traits.orphan, Orphan::Freeze | Orphan::ToNearest)
    }

    pub(crate) fn handle(&mut self, _: &mut Context<'_>, _: Incoming<'_>) -> Result<News, CloseCode> {
        Err(CloseCode::Unexpected)
    }

    pub(crate) fn on_object(&mut self, ctx: &mut Context<'_>, _: Option<Focus>, event: &ObjectEvent) {
        if let ObjectEvent::Created(id) = *event
            && let Some(object) = ctx.objects.get(id).filter(|object| !Self::has(object.traits()))
        {
            ctx.core.net.accuse(Object::owner(object), CloseCode::Unexpected);
        }
    }

    pub(crate) fn renew_wishes(&mut self, _: &mut Context<'_>) -> News {
        News::NONE
    }

    pub(crate) fn review_wishes(&mut self, _: &mut Context<'_>) -> News {
        News::NONE
    }

    pub(crate) fn arbitrate(&mut self, _: &mut Context<'_>) -> News {
        News::NONE
    }

    pub(crate) fn even_out(&mut self, _: &mut Context<'_>) -> News {
        News::NONE
    }

    pub(crate) fn unfreeze_for(&mut self, _: &mut Context<'_>, _: PeerId, _: SeatId) -> News {
        News::NONE
    }

    pub(crate) fn freeze_for(&mut self, _: &Objects, _: PeerId, _: SeatId) {}

    pub(crate) fn forget_object(&mut self, _: ObjectId) {}

    pub(crate) fn deny_wish(&mut self, _: &mut Context<'_>, _: ObjectId, _: Denial) {}

    pub(crate) fn note_grant(&mut self, _: &Core, _: ObjectId, _: PeerId) {}
}
