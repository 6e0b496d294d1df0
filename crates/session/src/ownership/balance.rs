//! Load balancing: the host spreads free objects, so that each member manages about as many.
//!
//! An object is free if its traits say *balanced* and no member may ask for it, or the host owns it without having asked
//! for it, or balancing has moved it. One object moves at a time, from the member with the most to the member with the fewest. It moves
//! only if the one has at least two more than the other. Each move brings the numbers closer together, so moves come
//! to an end and none is taken back. A member whose page is hidden makes few steps or none: it is given nothing, and
//! what it has moves to the others first.

use samovar_objects::Object;
use samovar_wire::object::Access;
use samovar_wire::{Duration, ObjectId, PeerId, SortedMap, SortedSet, Time};

use super::OwnershipState;
use crate::context::Context;
use crate::settle::News;

/// The time between two moves.
const INTERVAL: Duration = Duration::from_millis(250);
/// A member that was silent for this long is given nothing.
const ANSWERS_WITHIN: Duration = Duration::from_millis(1_000);

#[derive(Clone, Debug, Default)]
pub(super) struct Balance {
    pub(super) is_on: bool,
    next: Time,
    /// Objects that balancing gave to other members.
    pub(super) pool: SortedSet<ObjectId>,
}

impl OwnershipState {
    /// Moves one object, if that makes the load more even.
    pub(crate) fn even_out(&mut self, ctx: &mut Context<'_>) -> News {
        if !self.balance.is_on || !ctx.core.is_host() || self.balance.next > ctx.now {
            return News::NONE;
        }
        self.balance.next = ctx.now + INTERVAL;
        let Some((id, to)) = self.next_move(ctx) else { return News::NONE };
        let given = self.give(ctx, id, to);
        if given.is_ok() && to != ctx.core.me() {
            self.balance.pool.insert(id);
        }
        given.unwrap_or(News::NONE)
    }

    fn next_move(&self, ctx: &Context<'_>) -> Option<(ObjectId, PeerId)> {
        let me = ctx.core.me();
        let answers = |peer: PeerId| {
            let link = ctx.core.net.link(peer).filter(|link| link.admitted);
            peer == me || link.is_some_and(|link| link.transport.silence(ctx.now) < ANSWERS_WITHIN)
        };
        let view = ctx.core.view();
        let members = view.members().map(|member| member.peer);
        let mut counts: SortedMap<PeerId, usize> =
            members.filter(|&peer| answers(peer)).map(|peer| (peer, 0)).collect();
        let mut movable: SortedMap<PeerId, ObjectId> = SortedMap::new();
        for object in ctx.objects.iter().filter(|object| object.traits().balanced) {
            let id = object.id();
            let promised = ctx.objects.granted_to(id);
            let holder = promised.unwrap_or(object.owner());
            let Some(count) = counts.get_mut(&holder) else { continue };
            *count += 1;
            if promised.is_none() && self.is_nobodys(ctx, object) {
                movable.entry(holder).or_insert(id);
            }
        }
        let able = counts.iter().filter(|&(&peer, _)| view.is_visible(peer));
        let (&to, &fewest) = able.min_by_key(|&(&peer, &count)| (count, peer))?;
        let load = |peer: PeerId, count| if view.is_visible(peer) { count } else { usize::MAX };
        let most =
            counts.iter().filter_map(|(&peer, &count)| Some((load(peer, count), *movable.get(&peer)?)));
        let (count, id) = most.max_by_key(|&(count, id)| (count, core::cmp::Reverse(id)))?;
        (count >= fewest + 2).then_some((id, to))
    }

    /// Whether an object may be spread now.
    fn is_nobodys(&self, ctx: &Context<'_>, object: &Object) -> bool {
        let (id, arbiter) = (object.id(), &self.arbiter);
        // A new host does not know what its predecessor has moved.
        let is_nobodys_choice = object.traits().access == Access::Exclusive;
        let is_free = is_nobodys_choice || object.owner() == ctx.core.me() || self.balance.pool.contains(&id);
        is_free
            && !arbiter.kept.contains(&id)
            && !arbiter.frozen.contains_key(&id)
            && !arbiter.moved.contains_key(&id)
    }
}
