//! News: what a service has done, and how the other services act on it.

use core::ops::{BitOr, BitOrAssign};

use samovar_objects::ObjectEvent;
use samovar_wire::{ObjectId, Time};

use crate::context::Context;
use crate::{Event, Session};

/// Notes of a service on what it has done, for other services to act on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub(crate) struct News(u8);

impl News {
    /// No news for other services.
    pub(crate) const NONE: Self = Self(0);
    /// There may be something to tell to other peers.
    pub(crate) const SAID: Self = Self(1);
    /// Objects came, went or changed owners.
    pub(crate) const OBJECTS: Self = Self(2);
    /// There is news about inputs.
    pub(crate) const INPUTS: Self = Self(4);
    /// Ordered messages may be ready for delivery.
    pub(crate) const ORDERS: Self = Self(8);

    pub(crate) const fn has(self, news: Self) -> bool {
        self.0 & news.0 != 0
    }
}

impl BitOr for News {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for News {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Session {
    /// Acts on news, always in the same order.
    pub(crate) fn settle(&mut self, now: Time, news: News) {
        if news.has(News::OBJECTS) {
            self.hear_objects(now);
        }
        if news.has(News::INPUTS) {
            self.inputs.settle(&mut self.core, now);
        }
        if news.has(News::ORDERS) {
            self.orders.deliver(&mut self.core, now);
        }
        if news.has(News::SAID) {
            self.core.stir();
        }
        self.settle_accused(now);
    }

    /// Ends the links of peers that broke the rules.
    pub(crate) fn settle_accused(&mut self, now: Time) {
        while let Some((peer, code)) = self.core.net.poll_accused() {
            if self.core.net.is_linked(peer) {
                self.expel(now, peer, code);
            }
        }
    }

    /// Tells the game about changed objects, and reads the session object when it is a newer one.
    fn hear_objects(&mut self, now: Time) {
        while let Some(event) = self.objects.poll_event() {
            let (ObjectEvent::Created(id)
            | ObjectEvent::OwnerChanged { id, .. }
            | ObjectEvent::Destroyed { id, .. }
            | ObjectEvent::Entered(id)
            | ObjectEvent::Left(id)) = event
            else {
                continue;
            };
            self.core.stir();
            if id == ObjectId::SESSION {
                continue;
            }
            let told = match event {
                ObjectEvent::Created(id) => Event::ObjectCreated(id),
                ObjectEvent::OwnerChanged { id, from, to } => Event::OwnerChanged { id, from, to },
                ObjectEvent::Destroyed { id, kind } => Event::ObjectDestroyed { id, kind },
                ObjectEvent::Entered(id) => Event::ObjectEntered(id),
                ObjectEvent::Left(id) => Event::ObjectLeft(id),
                _ => continue,
            };
            self.core.push_event(told);
            match event {
                // A former host may have created this object, which goes with the host, before it heard of its
                // successor. The successor takes it over (PROTOCOL §4.2).
                ObjectEvent::Created(id)
                    if self.objects.get(id).is_some_and(|object| object.traits().with_host) =>
                {
                    self.adopt_objects();
                }
                ObjectEvent::OwnerChanged { id, .. } | ObjectEvent::Destroyed { id, .. } => {
                    self.divergence.note_fate(&self.core, now, id);
                }
                _ => {}
            }
            let focus = self.interest.focus();
            let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
            self.ownership.on_object(&mut ctx, focus, &event);
        }
        self.read_session_object(now);
    }
}
