//! The host's housework: admission, removal, the backup, the session object.

use samovar_roster::{VIEW_FIELDS, View};
use samovar_wire::control::{Hello, PeerControl, Standing};
use samovar_wire::{CloseCode, Duration, ObjectId, PROTOCOL_VERSION, PeerId, SortedSet, Ticket, Time};

use super::{EndReason, Event, Peering, Phase, Session};
use crate::Kept;

/// A member that has been silent for so long is removed; its seat waits for it.
pub(super) const REMOVED_AFTER: Duration = Duration::from_millis(5_000);
/// The same when the relay says that its connection closed.
const REMOVED_AFTER_HINT: Duration = Duration::from_millis(1_000);
/// A stranger that has not said hello for so long is forgotten.
const HELLO_WITHIN: Duration = Duration::from_millis(5_000);
/// How long a host that does not know session time waits for a member that does.
const TIME_WITHIN: Duration = Duration::from_millis(1_000);
/// Why writing a view cannot fail.
const FITS: &str = "the host owns the session object, and a view is within its limits";
/// How long a view waits at most until everybody who answers has it.
const SETTLES_WITHIN: Duration = Duration::from_millis(250);
/// And at most until a backup has it that somebody's ticket waits for.
const BACKED_UP_WITHIN: Duration = Duration::from_millis(1_000);

impl Session {
    /// Founds the session, or begins it anew: this peer takes the first seat and creates the session object.
    pub(super) fn found(&mut self, now: Time) {
        match self.kept.take() {
            Some(Kept { view, time }) => {
                self.view = view.founded_anew(time, self.config.capacity);
                self.clock.begin_at(now, time);
            }
            None => {
                self.view = View::founding(self.config.capacity);
                self.clock.begin(now);
            }
        }
        let admission = self.view.admit(Time::ZERO, self.config.me, &self.hello(), &mut self.entropy);
        let admission = admission.expect("the first seat of a new session is free");
        self.view.begin_electorate(|_| true);
        self.shape_view();
        let fields = self.view.to_fields();
        let fields: Vec<_> = fields.iter().map(|f| &f[..]).collect();
        debug_assert_eq!(fields.len(), VIEW_FIELDS);
        let created = self.objects.create_session(self.clock.time(now), &fields);
        created.expect(FITS);
        self.phase = Phase::Member;
        self.note_view();
        self.push_event(Event::Joined);
        self.take_ticket(admission.ticket);
        self.orders = super::orders::Machines::new(&self.config, true);
        self.tell_orders(now);
    }

    pub(super) fn on_hello(&mut self, now: Time, from: PeerId, hello: &Hello) -> Result<(), CloseCode> {
        if let Some(peering) = self.links.get_mut(&from) {
            peering.greeted = true;
            // It asked in another term while its ticket was on the way.
            if peering.welcomed {
                return Ok(());
            }
        }
        if !self.roster.is_host() || self.phase != Phase::Member {
            // It was meant for the host that this peer was when it was sent.
            return Ok(());
        }
        if hello.version != PROTOCOL_VERSION {
            return Err(CloseCode::VersionMismatch);
        }
        if hello.params != self.config.params {
            return Err(CloseCode::ParameterMismatch);
        }
        if !self.knocks.iter().any(|(peer, _)| *peer == from) {
            self.knocks.push_back((from, hello.clone()));
        }
        if self.is_host() && self.is_settled(now) {
            self.next_view(now);
        }
        Ok(())
    }

    /// Whether everybody who answers has the view as it is. Views come one after another: the next begins when the
    /// one before is settled (DESIGN §4), or when somebody has taken too long: a backup for which tickets wait has longer.
    fn is_settled(&self, now: Time) -> bool {
        let within = if self.tickets.is_empty() { SETTLES_WITHIN } else { BACKED_UP_WITHIN };
        if self.published + within <= now {
            return true;
        }
        let (_, doubted) = self.lives(now);
        let mut answering = self.view.members().map(|m| m.peer).filter(|peer| !doubted.contains(peer));
        answering.all(|peer| self.holds_view(peer))
    }

    pub(super) fn admit(&mut self, now: Time, from: PeerId, hello: &Hello) -> Result<(), CloseCode> {
        let admission = self.view.admit(self.known_time(now), from, hello, &mut self.entropy)?;
        if let Some(yields) = admission.yields {
            self.drop_link(yields, CloseCode::SeatTaken);
            self.close_to(yields, CloseCode::SeatTaken);
        }
        self.greet(now, from);
        if let Some(peering) = self.links.get_mut(&from) {
            peering.welcomed = true;
        }
        self.tickets.retain(|&(peer, _)| peer != from);
        self.tickets.push((from, admission.ticket));
        Ok(())
    }

    /// Session time, as far as this peer knows it: a host that has had no answer knows it from the last view.
    pub(super) fn known_time(&self, now: Time) -> Time {
        self.clock.time(now).max(self.heard)
    }

    /// Gives those tickets away that all backups know of: what opens a seat, and what no longer does, is the same
    /// under the next host (PROTOCOL §4.1).
    pub(super) fn hand_out_tickets(&mut self, now: Time) {
        if self.tickets.is_empty() || !self.is_host() {
            return;
        }
        let view = &self.view;
        self.tickets.retain(|&(peer, _)| view.has(peer));
        let backups = self.view.backups().iter().copied();
        let lacking: Vec<_> = backups.filter(|&backup| !self.holds_view(backup)).collect();
        let is_ready = |&(peer, _): &(PeerId, Ticket)| lacking.iter().all(|&backup| backup == peer);
        while let Some(place) = self.tickets.iter().position(is_ready) {
            let (peer, ticket) = self.tickets.remove(place);
            self.stir();
            if peer == self.me() {
                self.take_ticket(ticket);
            } else {
                self.send_control(now, peer, &PeerControl::Welcome(ticket));
            }
        }
    }

    /// A member is more or less fit to host than the view says. What changes again before the view settles is published
    /// once.
    pub(super) fn note_standing(&mut self, now: Time, peer: PeerId, standing: Standing) {
        if self.view.set_standing(peer, standing) && self.is_settled(now) {
            self.next_view(now);
        }
    }

    /// The view says what this peer wants of paths as its host.
    pub(super) fn shape_view(&mut self) {
        if self.config.rules.by_host {
            self.view.set_by_host();
        }
    }

    /// A member is gone: its seat waits, its objects are the host's.
    pub(super) fn remove_member(&mut self, now: Time, peer: PeerId) {
        // Otherwise the next view will be without it, since it has no link.
        if self.is_settled(now) && self.view.vacate(self.known_time(now), peer) {
            self.publish_view(now);
        }
    }

    /// The view changed by this peer's hand: writes it to the session object and lives by it.
    pub(super) fn publish_view(&mut self, now: Time) {
        self.name_backups(now);
        (self.published, self.published_number) = (now, self.view.number());
        let time = self.clock.time(now);
        for (index, field) in self.view.to_fields().iter().enumerate() {
            let written = self.objects.set(time, ObjectId::SESSION, index, field);
            written.expect(FITS);
        }
        self.note_view();
        self.live_by_view(now);
        self.adopt_objects();
        self.after_objects(now);
        self.hand_out_tickets(now);
    }

    /// The host takes what those have left who are gone, and what goes with the host.
    pub(super) fn adopt_objects(&mut self) {
        let view = &self.view;
        self.objects.adopt(|peer| !view.has(peer));
    }

    /// As many backups as the rules want, of those who answer.
    fn name_backups(&mut self, now: Time) {
        let (missed, doubted) = self.lives(now);
        let backups = self.view.backups();
        let is_fit = |peer: PeerId| {
            peer != self.config.me
                && !backups.contains(&peer)
                && !doubted.contains(&peer)
                && !self.view.is_still(peer)
        };
        let is_better = self.view.members().any(|m| is_fit(m.peer));
        let is_unfit = |peer: &PeerId| missed.contains(peer) || is_better && self.view.is_still(*peer);
        let unfit: Vec<_> = backups.iter().copied().filter(is_unfit).collect();
        for backup in unfit {
            self.view.dismiss_backup(backup);
        }
        while self.view.backups().len() < usize::from(self.config.rules.backups) {
            let answers = |peer: PeerId| !doubted.contains(&peer);
            let Some(backup) = self.view.name_backup(self.config.me, self.last_backup, answers) else {
                break;
            };
            self.last_backup = self.seat_of(backup).map(|record| record.seat);
        }
    }

    /// The electorate follows the members, one at a time, until this host resigns: who votes listens to it on.
    fn step_electorate(&mut self) -> bool {
        if self.roster.heir().is_some() {
            return false;
        }
        let holding: SortedSet<_> = {
            let voters = self.view.electorate().peers.iter().copied();
            let everybody = voters.chain(self.view.members().map(|m| m.peer));
            everybody.filter(|&peer| self.holds_view(peer) || self.leavers.contains(&peer)).collect()
        };
        let has_changed = self.view.step_electorate(|peer| holding.contains(&peer));
        let voters = self.view.electorate();
        self.leavers.retain(|peer| voters.peers.contains(peer));
        has_changed
    }

    /// Removes who is gone, replaces a silent backup, gives up old seats, admits who knocks.
    pub(super) fn do_housework(&mut self, now: Time) {
        if !self.clock.is_known() && self.published + TIME_WITHIN <= now {
            self.clock.resume(now, self.heard);
        }
        if self.is_settled(now) {
            self.next_view(now);
        }
        self.hand_out_tickets(now);
    }

    /// Gives up strangers that have not said hello, or said it to a host that is none any more.
    pub(super) fn forget_strangers(&mut self, now: Time) {
        let is_overdue = |p: &Peering| !p.admitted && p.opened + HELLO_WITHIN <= now;
        let strangers = self.links.iter().filter(|(_, peering)| is_overdue(peering));
        let strangers: Vec<_> = strangers.map(|(&peer, _)| peer).collect();
        strangers.into_iter().for_each(|peer| self.drop_link(peer, CloseCode::Silent));
    }

    /// Whether somebody wants this host's own seat. A view in which it has none would end with it, before anybody has that
    /// view. Another one hosts first, who seats the newcomer; or this host steps aside until the newcomer can host.
    fn is_own_seat(&self, hello: &Hello) -> bool {
        let hash = hello.resume.map(|ticket| ticket.hash());
        self.view.member(self.config.me).is_some_and(|own| Some(own.record.ticket) == hash)
    }

    /// A host that stepped aside hands over as soon as it can, and takes its seat back when whoever has it goes before.
    fn tend_own_seat(&mut self, now: Time) {
        let Some(seat) = self.aside else { return };
        let me = self.config.me;
        if let Some(ticket) = self.view.step_back(self.known_time(now), me, seat, &mut self.entropy) {
            self.aside = None;
            self.tickets.push((me, ticket));
        } else if self.roster.heir().is_none() {
            // Where the rules let nobody succeed it, it hosts on and watches.
            self.hand_over(now);
        }
    }

    /// A former host whose seat somebody else has ends once that one has taken all that goes with the office.
    pub(super) fn yield_seat(&mut self) {
        if self.aside.is_some() && !self.roster.is_host() && self.is_succeeded() {
            self.end(EndReason::SeatTaken);
        }
    }

    /// Changes the view by all that happened since the last.
    fn next_view(&mut self, now: Time) {
        let is_gone = |p: &Peering| {
            let patience = if p.is_hinted() { REMOVED_AFTER_HINT } else { REMOVED_AFTER };
            p.admitted && (p.left || p.judged_from <= now && p.link.silence(now) >= patience)
        };
        let mut gone: Vec<_> = self.links.iter().filter(|(_, p)| is_gone(p)).map(|(&peer, _)| peer).collect();
        // A former host may have missed the farewell of a member that closed its link to this peer.
        let unlinked = self.view.members().map(|m| m.peer).filter(|peer| !self.links.contains_key(peer));
        gone.extend(unlinked.filter(|&peer| peer != self.config.me));
        gone.extend(self.stalling(now));
        let time = self.known_time(now);
        for peer in gone {
            self.view.vacate(time, peer);
        }
        self.view.expire(time, self.config.rules.grace);
        self.tend_own_seat(now);
        for _ in 0..self.knocks.len() {
            let Some((peer, mut hello)) = self.knocks.pop_front() else { break };
            if self.is_own_seat(&hello) {
                if self.roster.heir().is_some() || self.hand_over(now) {
                    self.knocks.push_back((peer, hello));
                    continue;
                }
                // Nobody is there who could host instead: the newcomer will be.
                if self.aside.is_none() {
                    self.aside = self.view.step_aside(time, self.config.me, &mut self.entropy);
                }
                if self.aside.is_none() {
                    hello.resume = None;
                }
            }
            // Whoever knocked on a former link does so again on the present one.
            if self.links.get(&peer).is_some_and(|peering| peering.greeted)
                && let Err(code) = self.admit(now, peer, &hello)
            {
                self.drop_link(peer, code);
                self.close_to(peer, code);
                self.push_event(Event::LinkClosed { peer, code });
            }
        }
        if !self.is_host() {
            return;
        }
        self.step_electorate();
        self.name_backups(now);
        if self.view.number() != self.published_number {
            self.publish_view(now);
        }
    }

    /// The view of a session object that is no longer there cannot be; a broken one is the host's fault.
    pub(super) fn decode_view(&self) -> Option<Result<View, CloseCode>> {
        let object = self.objects.get(ObjectId::SESSION)?;
        let fields = (0..object.field_count()).map(|i| object.field(i));
        Some(View::from_fields(fields).map_err(|_| CloseCode::Malformed))
    }
}
