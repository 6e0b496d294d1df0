//! Timers: losses, deaths, elections, and the host's housework.

use samovar_link::LinkEvent;
use samovar_roster::Lives;
use samovar_wire::{Duration, Time};

use crate::context::Context;
use crate::core::Phase;
use crate::ownership::OwnershipState;
use crate::settle::News;
use crate::term::Former;
use crate::{EndReason, Session};

/// A peer whose driver has not called it for this long has slept, and may have been replaced (PROTOCOL §4.10 rule
/// 11).
const SLEPT: Duration = Duration::from_millis(2_000);
/// Where the rules allow no successor, the session ends when the host has been missed for this long.
const ENDS_AFTER: Duration = Duration::from_millis(5_000);

impl Session {
    /// Tells the session the time, so that it does what is due. A driver hands over all packets that have arrived
    /// before it calls this.
    pub fn handle_timeout(&mut self, now: Time) {
        self.pass(now);
        if self.core.phase == Phase::Over {
            return;
        }
        // A link has no timer for measuring what its path can take. So each check of the members calls all links.
        let looks = self.core.watch_at() <= now;
        for (peer, link) in self.core.net.links_mut() {
            if !looks && link.idle.is_some_and(|idle| idle.due > now) {
                continue;
            }
            if link.transport.handle_timeout(now) {
                link.idle = None;
            }
            // While a peer is stalled, its messages wait in the link, and the events of its timers wait behind them.
            while !self.core.out.events.is_stalled(peer)
                && let Some(event) = link.transport.poll_event()
            {
                if let LinkEvent::Fate(packet, fate) = event {
                    self.objects.on_fate(peer, packet, fate == samovar_link::Fate::Delivered);
                }
            }
        }
        let news = self.calls.expire(&mut self.core, now) | self.orders.run(&mut self.core, now);
        self.settle(now, news);
        if self.core.watch_at() <= now {
            self.core.stir();
            self.core.watch.begin(now);
            self.watch(now);
            self.close_to_overdue(now);
            if self.is_host() {
                self.do_housework(now);
            }
            self.review(now);
        }
    }

    /// When [`Session::handle_timeout`] or [`Session::poll_transmit`] will have something to do, if nothing else
    /// happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.core.phase == Phase::Over {
            return None;
        }
        let net = &self.core.net;
        let links = net
            .links()
            .map(|(peer, link)| link.idle.unwrap_or_else(|| net.idle_to(peer, link, &self.objects)).due);
        Some(
            links
                .min()
                .unwrap_or(Time::FAR)
                .min(self.core.watch_at())
                .min(self.calls.deadline())
                .min(self.orders.due(&self.core)),
        )
    }

    /// Notes how much time passed since the last call: this peer may have slept.
    #[inline(never)]
    pub(crate) fn pass(&mut self, now: Time) {
        let core = &mut self.core;
        let (last, gap) = (core.now, now.since(core.now));
        core.now = last.max(now);
        self.steps.pass(gap);
        if gap >= SLEPT && core.phase == Phase::Member {
            core.stir();
            core.roster.handle_wake(now);
        }
        core.watch.pass(now, last, gap);
    }

    /// Reviews what is open between this peer and others: calls, ownership requests, inputs, and untold news.
    fn review(&mut self, now: Time) {
        self.calls.forget_callers(&mut self.core);
        if self.core.phase != Phase::Member {
            return;
        }
        self.forget_strangers(now);
        let news = self.with_context(now, OwnershipState::review_wishes);
        self.settle(now, news);
        self.inputs.review(&mut self.core, now);
        let news = self.with_context(now, OwnershipState::arbitrate);
        self.settle(now, news);
        let news = self.with_context(now, OwnershipState::even_out);
        self.settle(now, news);
        self.interest.tell(&mut self.core);
        self.review_steps(now);
    }

    fn with_context(&mut self, now: Time, act: fn(&mut OwnershipState, &mut Context<'_>) -> News) -> News {
        let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
        act(&mut self.ownership, &mut ctx)
    }

    /// Checks which members live. Right after this peer was away, the check waits until silence counts.
    pub(crate) fn watch(&mut self, now: Time) {
        if self.core.watch.judges(now) {
            self.look(now);
        } else {
            self.core.watch.soon();
            self.act(now);
        }
    }

    /// Checks which members live, and does what follows for the host of the session.
    pub(crate) fn look(&mut self, now: Time) {
        self.core.drop_hints();
        if self.core.phase != Phase::Member {
            self.core.claim_if_abandoned(now);
            return;
        }
        self.core.review_reach(now);
        self.core.doubt_host(now);
        let (missed, doubted) = self.core.lives(now);
        self.orders.give_up_on(now, &missed);
        if self.desk.takes_appointment(&self.core) {
            self.core.stir();
            self.core.roster.handle_heir_knows(now);
        }
        let former = Former::of(&self.core);
        let lives = Lives { missed: &missed, doubted: &doubted };
        let won = self.core.roster.watch(now, &self.core.members.view, lives);
        self.divergence.review(&self.core, now);
        if won.is_some() {
            self.begin_term(now, former);
        }
        self.act(now);
        let is_lost = self.core.roster.missed_since().is_some_and(|since| since + ENDS_AFTER <= now);
        let is_gone = self.core.net.link(self.host()).is_some_and(|host| host.left);
        if !self.core.config.rules.migrates && !self.core.roster.is_host() && (is_lost || is_gone) {
            self.end(EndReason::HostLost);
        }
        self.yield_seat();
    }
}
