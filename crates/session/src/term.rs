//! A new term: how the session goes on under it (PROTOCOL §4.10).

use samovar_roster::Act;
use samovar_wire::control::PeerControl;
use samovar_wire::{CloseCode, PeerId, Time};

use crate::clock::SessionClock;
use crate::context::Context;
use crate::core::{Core, Phase};
use crate::divergence::unreached_since;
use crate::handover::HURRY;
use crate::{Cause, Migration, Session};

/// The reign that ends now, as this peer knew it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Former {
    host: PeerId,
    missed_since: Option<Time>,
    is_handed_over: bool,
}

impl Former {
    /// The present reign, before it ends.
    pub(crate) fn of(core: &Core) -> Self {
        let roster = &core.roster;
        Self {
            host: roster.host(),
            missed_since: roster.missed_since(),
            is_handed_over: roster.heir().is_some(),
        }
    }

    fn cause_of_end(self, core: &Core) -> Cause {
        if core.net.link(self.host).is_some_and(|link| link.left) {
            Cause::Left
        } else if self.is_handed_over {
            Cause::HandedOver
        } else {
            Cause::Lost
        }
    }
}

impl Session {
    /// Carries out the acts of the roster.
    pub(crate) fn act(&mut self, now: Time) {
        while let Some(act) = self.core.roster.poll_act() {
            match act {
                Act::Tell(opinion) => {
                    self.core.note_missed_host(opinion.missed);
                    self.core.tell_all(&PeerControl::Opinion(opinion));
                }
                Act::Appoint(heir, opinion) => {
                    let receipt = self.core.send_control(heir, &PeerControl::Opinion(opinion));
                    self.desk.appointment = receipt.map(|receipt| (heir, receipt));
                }
                Act::Claim(term, candidate) => self.core.out.claim = Some((term, candidate)),
                Act::Yield => self.end_removed(),
            }
        }
        self.settle_accused(now);
    }

    pub(crate) fn begin_term(&mut self, now: Time, former: Former) {
        let (host, term) = (self.host(), self.term());
        let missed_since = former.missed_since.unwrap_or(now);
        let cause = former.cause_of_end(&self.core);
        let detected = self.core.time(missed_since);
        let former = former.host;
        (self.core.out.claim, self.desk.appointment) = (None, None);
        self.core.watch.says_missed = false;
        self.objects.set_host(host, term);
        self.core.set_paces();
        if host != former {
            if self.core.phase == Phase::Member || self.core.roster.is_host() {
                self.core.clock.on_host_changed(now);
            } else {
                // The new host may begin the session anew, with another session time.
                self.core.clock = SessionClock::unknown(now);
            }
        }
        if self.core.phase == Phase::Joining {
            return self.ask_to_join_under(now, former);
        }
        if host != former {
            self.desk.clear(&mut self.core);
            if former == self.me() {
                // A member that this peer was about to drop may be in the successor's view, so it may be linked
                // again.
                let members = &self.core.members.members;
                self.core.net.reopen_to(|peer| members.contains_key(&peer));
            }
            let resumed = detected;
            self.core.out.migration =
                Some(Migration { term, from: former, to: host, cause, detected, resumed });
        }
        // The warrant goes before any message under its term, so that no member sees a stamp of a term that it cannot
        // know (PROTOCOL §4.3).
        if term.is_witnessed() {
            let warrant = *self.warrant();
            self.core.tell_all(&PeerControl::Warrant(warrant));
        } else {
            self.act(now);
            if self.core.phase == Phase::Over {
                return;
            }
            // The former host may still go on. The split began when this peer's messages no longer reached all
            // members, even if this peer has not missed that host.
            let unreached = unreached_since(&self.core, now);
            self.divergence.note_split(&self.core, missed_since.min(unreached));
        }
        self.inputs.begin_term(&self.core, now, former);
        if self.live_under(now, former, cause) {
            self.release_held(now);
        }
    }

    /// While this peer is joining: asks the host of the new term for a seat, or founds the session anew if this peer is
    /// that host.
    fn ask_to_join_under(&mut self, now: Time, former: PeerId) {
        let host = self.host();
        if host == self.me() {
            // No member was left to claim the term, and the session's state is gone with the members.
            self.drop_link(former, CloseCode::NotAMember);
            self.objects = crate::objects_of(&self.core);
            return self.found(now);
        }
        // A seat from the former host may be lost with it, so this peer asks the new host. The former host gets no
        // CLOSE, since it may be a member, and this peer may soon be one, too.
        if host != former {
            self.remove_link(former);
            self.objects.remove_peer(former);
            self.ask_to_join(now);
        }
        self.release_held(now);
    }

    /// Does this peer's part under the new host; `false` when this peer's session ends instead.
    fn live_under(&mut self, now: Time, former: PeerId, cause: Cause) -> bool {
        let (host, term) = (self.host(), self.term());
        if host == self.me() {
            self.become_host(now, former, cause);
            self.renew_wishes(now);
        } else if self.core.takes_part(host) {
            self.renew_wishes(now);
        } else if term.is_witnessed() && self.core.config.rules.migrates {
            // The new host is no member here: this peer's host has removed it, or this peer has never met it. If the
            // new host lives, the others went on with it; the relay knows (PROTOCOL §4.10 rule 16).
            self.core.roster.exclude();
            self.core.watch.soon();
        } else if self.core.view().has(host) && self.core.roster.is_gone(now, host) {
            // The elected host left during the vote, so it is missed at once, like any host that leaves.
            self.core.watch.soon();
        } else {
            self.end_removed();
            return false;
        }
        true
    }

    fn renew_wishes(&mut self, now: Time) {
        let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
        let news = self.ownership.renew_wishes(&mut ctx);
        self.settle(now, news);
    }

    /// Takes over the session object, and all that the former host has left.
    fn become_host(&mut self, now: Time, former: PeerId, cause: Cause) {
        self.objects.take_session();
        self.core.net.hurries_until = now + HURRY;
        let (me, time) = (self.me(), self.core.known_time(now));
        // A former host that lives after all finds out at once that it was removed, and comes back by its ticket.
        if former != me && cause != Cause::HandedOver {
            self.core.members.view.vacate(time, former);
        }
        self.core.shape_view();
        if self.core.members.view.dismiss_backup(me) {
            self.desk.last_backup = self.seat();
        }
        if self.term().is_witnessed() {
            let (missed, _) = self.core.lives(now);
            self.core.members.view.begin_electorate(|peer| !missed.contains(&peer));
        }
        if self.core.members.tickets.good().is_none() {
            self.core.members.tickets.draw(&mut self.desk.entropy);
            let hello = self.core.hello();
            let admitted = self.admit(now, me, &hello);
            debug_assert!(admitted.is_ok(), "a host is a member");
        }
        self.publish_view(now);
        self.core.on_resumed(now);
    }
}
