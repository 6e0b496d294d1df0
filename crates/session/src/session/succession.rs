//! A new term: how the session goes on under it (PROTOCOL §4.10).

use samovar_roster::{Act, Verdict, View};
use samovar_wire::control::{Missing, PeerControl};
use samovar_wire::relay::Denial;
use samovar_wire::{CloseCode, PeerId, Receipt, Term, Time, Warrant};

use super::transmit::HURRY;
use super::{Cause, EndReason, Event, Migration, Phase, Session};
use crate::clock::SessionClock;

impl Session {
    /// Takes a warrant from the relay or a member, and lives under it when it opens a newer term.
    pub fn handle_warrant(&mut self, now: Time, warrant: &Warrant) -> Verdict {
        self.note_time(now);
        self.stir();
        let (former, missed_since) = (self.host(), self.roster.missed_since());
        let is_handed_over = self.roster.heir().is_some();
        let before = self.term();
        let verdict = self.roster.handle_warrant(warrant);
        if self.term() != before && self.phase != Phase::Over {
            self.on_new_term(now, former, missed_since.unwrap_or(now), is_handed_over);
        }
        self.act(now);
        verdict
    }

    /// The relay has lost the host, and says by which warrant to go on should this peer miss it, too.
    pub fn handle_successor(&mut self, now: Time, warrant: Warrant) {
        self.note_time(now);
        self.stir();
        self.roster.keep_in_reserve(warrant);
        if self.roster.missed_since().is_some() {
            self.watch(now);
        }
    }

    /// The relay did not grant the term that was claimed.
    pub fn handle_denial(&mut self, now: Time, term: Term, denial: Denial) {
        self.stir();
        self.roster.handle_denial(now, term, denial);
        self.act(now);
    }

    /// Whether the relay can be reached. What it grants beats what members vote for, so it is asked while it can be.
    pub fn set_relay(&mut self, now: Time, is_reached: bool) {
        self.note_time(now);
        self.stir();
        self.roster.set_relay(now, is_reached);
        if is_reached {
            self.end_excuses(now);
        }
        self.watch(now);
    }

    /// This host wants somebody else to go on: it will be closed, hidden, or powerless soon. Its first backup takes over,
    /// or else whoever is next; this peer is host until then, and a member afterwards. `false` when it is not the
    /// host, or nobody is there to go on.
    pub fn hand_over(&mut self, now: Time) -> bool {
        self.hand_over_to(now, |_, _| true)
    }

    /// The same for a host that need not go: only to a member whose game makes steps.
    pub fn hand_over_to_player(&mut self, now: Time) -> bool {
        self.hand_over_to(now, |view, peer| !view.is_still(peer))
    }

    pub(super) fn hand_over_to(&mut self, now: Time, fits: impl Fn(&View, PeerId) -> bool) -> bool {
        self.note_time(now);
        if !self.is_host() || !self.config.rules.migrates {
            return false;
        }
        let (_, doubted) = self.lives(now);
        let line = self.view.succession(self.me());
        let is_there = |peer: &&PeerId| !doubted.contains(peer) && fits(&self.view, **peer);
        // The relay makes nobody host that it does not reach.
        let reached = line.iter().find(|peer| is_there(peer) && !self.roster.is_gone(now, **peer));
        let Some(&heir) = reached.or_else(|| line.iter().find(is_there)) else { return false };
        self.stir();
        self.hurries_until = now + HURRY.times(2);
        self.roster.resign(now, heir);
        // The page may be closed in the next moment.
        self.look(now);
        true
    }

    /// Whether somebody else hosts, and has taken all that goes with the host. Until then a former host that is still here
    /// owns it, and may go on moving it.
    #[must_use]
    pub fn is_succeeded(&self) -> bool {
        let is_left =
            |object: &samovar_objects::Object| object.owner() == self.me() && object.traits().with_host;
        self.host() != self.me() && !self.objects.iter().any(is_left)
    }

    /// Does what the roster wants done.
    pub(super) fn act(&mut self, now: Time) {
        while let Some(act) = self.roster.poll_act() {
            match act {
                Act::Tell(news) => {
                    if let PeerControl::Missing(Missing { missed, .. }) = news
                        && let Some(host) = self.links.get(&self.host())
                    {
                        let heard = host.link.heard_at();
                        if missed {
                            self.doubted = heard;
                        } else {
                            // The relay, too, shall know when the host is heard again (PROTOCOL §5.5). One that is only
                            // waited for longer, since its packets take another path, has not been.
                            self.doubt |= self.doubted != heard;
                        }
                    }
                    self.tell_all(now, &news);
                }
                Act::Appoint(heir) => {
                    let receipt = self.send_control(now, heir, &PeerControl::Resign(heir));
                    self.appointment = receipt.map(|receipt| (heir, receipt));
                }
                Act::Claim(term, candidate) => self.claim = Some((term, candidate)),
                Act::Yield => self.end_removed(),
            }
        }
    }

    /// Whether the heir of this host has heard that it is one.
    pub(super) fn review_appointment(&mut self, now: Time) {
        let is_delivered = |&mut (heir, receipt): &mut (PeerId, Receipt)| {
            self.links.get(&heir).is_some_and(|peering| peering.link.is_delivered(receipt))
        };
        if self.appointment.take_if(is_delivered).is_some() {
            self.stir();
            self.roster.handle_heir_knows(now);
        }
    }

    fn tell_all(&mut self, now: Time, news: &PeerControl) {
        let peers: Vec<_> = self.links.iter().filter(|(_, p)| p.admitted).map(|(&peer, _)| peer).collect();
        for peer in peers {
            self.send_control(now, peer, news);
        }
    }

    pub(super) fn on_new_term(
        &mut self,
        now: Time,
        former: PeerId,
        missed_since: Time,
        is_handed_over: bool,
    ) {
        let (host, term) = (self.host(), self.term());
        let left = self.links.get(&former).is_some_and(|peering| peering.left);
        let detected = self.clock.time(missed_since);
        let cause = match (is_handed_over, left) {
            (_, true) => Cause::Left,
            (true, _) => Cause::HandedOver,
            (false, false) => Cause::Lost,
        };
        (self.claim, self.appointment) = (None, None);
        self.objects.set_host(host, term);
        self.set_paces();
        if host != former {
            if self.phase == Phase::Member || self.roster.is_host() {
                self.clock.on_host_changed(now);
            } else {
                // The new host may begin the session anew, whose time is another.
                self.clock = SessionClock::unknown(now);
            }
        }
        if self.phase == Phase::Joining {
            if host == self.me() {
                // No member was left who could have claimed, and the session's state is gone with them.
                self.drop_link(former, CloseCode::NotAMember);
                self.objects = super::objects_of(&self.config, &self.roster);
                return self.found(now);
            }
            // What the former host gave may have died with it: the new one gives another. The former one is
            // told nothing: it may be a member, and this peer soon another.
            if host != former {
                self.ticket = None;
                self.remove_link(former);
                self.objects.remove_peer(former);
                self.ask_to_join(now);
            }
            self.release_held(now);
            return;
        }
        if host != former {
            self.knocks.clear();
            self.tickets.clear();
            self.links.values_mut().for_each(|peering| peering.welcomed = false);
            if former == self.me() {
                // Whom this peer was about to drop may be a member of its successor's.
                self.closed.retain(|(peer, _)| !self.members.contains_key(peer));
            }
            self.migration =
                Some(Migration { term, from: former, to: host, cause, detected, resumed: detected });
        }
        // Passed on before anything is said under it, so that nobody sees a stamp of a term it cannot know
        // (PROTOCOL §4.3).
        if term.is_witnessed() {
            self.tell_all(now, &PeerControl::Warrant(*self.roster.warrant()));
        } else {
            self.act(now);
            if self.phase == Phase::Over {
                return;
            }
            // The former host may go on yet: from when on it did not hear this peer, who need not have missed it.
            self.note_split(missed_since.min(self.unreached_since(now)));
        }
        self.begin_inputs(now, former);
        if host == self.me() {
            self.become_host(now, former, cause);
            self.renew_wishes(now);
        } else if self.takes_part(host) {
            self.renew_wishes(now);
        } else if term.is_witnessed() && self.config.rules.migrates {
            // This peer, or all whom it is with, had given up its successor for lost, or never met it. If that lives the
            // others went on; the relay knows (PROTOCOL §4.10).
            self.roster.strand();
            self.watch_soon();
        } else if self.view.has(host) && self.roster.is_gone(now, host) {
            // It said farewell while it was voted for: as a host that leaves it is missed at once.
            self.watch_soon();
        } else {
            return self.end_removed();
        }
        self.release_held(now);
    }

    /// Others went on under a host that this peer cannot follow, and its ticket takes the seat back.
    pub(super) fn end_removed(&mut self) {
        if let Some(&at) = self.parted.get(&self.host()).filter(|_| !self.takes_part(self.host())) {
            self.note_split(at);
        }
        self.end(EndReason::Removed);
    }

    /// The session object is this peer's now, and with it everything that the former host has left.
    fn become_host(&mut self, now: Time, former: PeerId, cause: Cause) {
        self.objects.take_session();
        self.hurries_until = now + HURRY;
        // One that lives after all finds out at once, and its ticket takes the seat back.
        if former != self.me() && cause != Cause::HandedOver {
            self.view.vacate(self.known_time(now), former);
        }
        self.shape_view();
        if self.view.dismiss_backup(self.me()) {
            self.last_backup = self.seat();
        }
        if self.term().is_witnessed() {
            let (missed, _) = self.lives(now);
            self.view.begin_electorate(|peer| !missed.contains(&peer));
        }
        if self.ticket.is_none() {
            let admitted = self.admit(now, self.me(), &self.hello());
            debug_assert!(admitted.is_ok(), "who hosts is a member");
        }
        self.publish_view(now);
        self.on_resumed(now);
    }

    pub(super) fn on_resumed(&mut self, now: Time) {
        if let Some(mut migration) = self.migration.take() {
            migration.resumed = self.clock.time(now);
            self.push_event(Event::HostChanged(migration));
        }
    }
}
