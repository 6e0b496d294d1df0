//! The host's work on the view: it founds the session, admits and removes members, and publishes one view after
//! another.

use samovar_roster::{VIEW_FIELDS, View};
use samovar_wire::control::{Hello, Standing};
use samovar_wire::{CloseCode, Duration, ObjectId, PROTOCOL_VERSION, PeerId, Time};

use crate::core::Phase;
use crate::core::peer_link::PeerLink;
use crate::desk::Desk;
use crate::settle::News;
use crate::{EndReason, Event, Kept, Rules, Session};

/// A host ends a stranger's link if it has not admitted the stranger within this time.
const HELLO_WITHIN: Duration = Duration::from_millis(5_000);
/// How long a host that does not know session time waits for a member that does.
const TIME_WITHIN: Duration = Duration::from_millis(1_000);
/// Why writing a view cannot fail.
const FITS: &str = "the host owns the session object, and a view is within its limits";

impl Session {
    /// Founds the session, or begins it anew: this peer takes a seat and creates the session object.
    pub(crate) fn found(&mut self, now: Time) {
        let core = &mut self.core;
        let members = &mut core.members;
        match members.kept.take() {
            Some(Kept { session, view, time }) => {
                let has_same_id = session == core.roster.warrant().session;
                members.view = view.founded_anew(time, core.config.capacity, has_same_id);
                core.clock.begin_at(now, time);
                core.learn_survival();
            }
            None => {
                let Rules { migrates, forks, .. } = core.config.rules;
                let view = View::founding(core.config.capacity);
                members.view = view.with_survival(migrates, forks);
                core.clock.begin(now);
            }
        }
        let (me, hello) = (core.me(), core.hello());
        // The relay's word about this peer was verified with the relay's answer.
        let hello = core.vouched(me, hello.clone()).unwrap_or(hello);
        let admission = core.members.view.admit(Time::ZERO, me, &hello);
        admission.expect("the first seat of a new session is free");
        core.members.view.begin_electorate(|_| true);
        self.core.shape_view();
        let core = &mut self.core;
        let fields = core.view().to_fields();
        let fields: Vec<_> = fields.iter().map(|f| &f[..]).collect();
        debug_assert_eq!(fields.len(), VIEW_FIELDS);
        let created = self.objects.create_session(core.time(now), &fields);
        created.expect(FITS);
        core.phase = Phase::Member;
        core.members.note_view(&self.objects);
        core.push_event(Event::Joined);
        core.take_ticket(hello.ticket);
        self.orders = crate::orders::Machines::new(&core.config, true);
        self.orders.tell(core, now);
        self.orders.deliver(core, now);
    }

    pub(crate) fn on_hello(&mut self, now: Time, from: PeerId, hello: &Hello) -> Result<(), CloseCode> {
        if let Some(link) = self.core.net.link_mut(from) {
            link.greeted = true;
            // A repeated HELLO: this host has welcomed the member on this link, and the member asked again under a
            // new term.
            if link.welcomed {
                return Ok(());
            }
        }
        if !self.core.roster.is_host() || self.core.phase != Phase::Member {
            // The sender takes this peer for the host, but this peer is no longer the host, or not yet a member.
            return Ok(());
        }
        if hello.version != PROTOCOL_VERSION {
            return Err(CloseCode::VersionMismatch);
        }
        if hello.params != self.core.config.params {
            return Err(CloseCode::ParameterMismatch);
        }
        let hello = self.core.vouched(from, hello.clone())?;
        let requests = &mut self.desk.join_requests;
        match requests.iter_mut().find(|(peer, _)| *peer == from) {
            Some((_, former)) => *former = hello,
            None => requests.push_back((from, hello)),
        }
        if self.core.is_host() && self.desk.is_settled(&self.core, &self.objects, now) {
            self.next_view(now);
        }
        Ok(())
    }

    pub(crate) fn admit(&mut self, now: Time, from: PeerId, hello: &Hello) -> Result<(), CloseCode> {
        let time = self.core.known_time(now);
        let spectators = self.core.config.rules.spectators;
        // A member that begins the session anew admits itself.
        if from != self.me() && self.core.members.view.refuses_spectator(from, hello, spectators) {
            return Err(CloseCode::Full);
        }
        let admission = self.core.members.view.admit(time, from, hello)?;
        if let Some(yields) = admission.yields {
            self.drop_link(yields, CloseCode::SeatTaken);
            self.core.net.close_to(yields, CloseCode::SeatTaken);
        }
        self.core.greet(from);
        if let Some(link) = self.core.net.link_mut(from) {
            link.welcomed = true;
        }
        self.desk.welcomes.retain(|&peer| peer != from);
        self.desk.welcomes.push(from);
        Ok(())
    }

    /// Notes a member's own report of how fit it is to host. Changes that come while a view settles are published
    /// together in the next view.
    pub(crate) fn note_standing(&mut self, now: Time, peer: PeerId, standing: Standing) {
        if self.core.members.view.set_standing(peer, standing)
            && self.desk.is_settled(&self.core, &self.objects, now)
        {
            self.next_view(now);
        }
    }

    /// Removes a member that is gone. The host keeps the member's seat for it and takes over its objects.
    pub(crate) fn remove_member(&mut self, now: Time, peer: PeerId) {
        let time = self.core.known_time(now);
        // While a view settles, the member stays. The next view removes the member, since it has no link.
        if self.desk.is_settled(&self.core, &self.objects, now) && self.core.members.view.vacate(time, peer) {
            self.publish_view(now);
        }
    }

    /// Writes the view that this host has changed to the session object, and acts on it.
    pub(crate) fn publish_view(&mut self, now: Time) {
        self.desk.name_backups(&mut self.core, now);
        let view = self.core.view();
        (self.desk.published, self.desk.published_number) = (now, view.number());
        let time = self.core.time(now);
        for (index, field) in view.to_fields().iter().enumerate() {
            let written = self.objects.set(time, ObjectId::SESSION, index, field);
            written.expect(FITS);
        }
        self.core.members.note_view(&self.objects);
        self.live_by_view(now);
        self.adopt_objects();
        self.settle(now, News::OBJECTS);
        self.desk.welcome(&mut self.core, &self.objects);
    }

    /// The host takes over the objects of peers that are no longer members, and all objects that go with the host.
    pub(crate) fn adopt_objects(&mut self) {
        let view = self.core.view();
        self.objects.adopt(|peer| !view.has(peer));
    }

    /// Removes members that are gone, replaces a silent backup, gives up old seats, and admits entrants.
    pub(crate) fn do_housework(&mut self, now: Time) {
        if !self.core.clock.is_known() && self.desk.published + TIME_WITHIN <= now {
            self.core.clock.resume(now, self.core.members.heard);
        }
        if self.desk.is_settled(&self.core, &self.objects, now) {
            self.next_view(now);
        }
        self.desk.welcome(&mut self.core, &self.objects);
    }

    /// Ends the links of strangers that sent no HELLO, or sent it when this peer was not the host.
    pub(crate) fn forget_strangers(&mut self, now: Time) {
        let is_overdue = |link: &PeerLink| !link.admitted && link.opened + HELLO_WITHIN <= now;
        let strangers = self.core.net.links().filter(|(_, link)| is_overdue(link));
        let strangers: Vec<_> = strangers.map(|(peer, _)| peer).collect();
        strangers.into_iter().for_each(|peer| self.drop_link(peer, CloseCode::Silent));
    }

    /// Ends the session of a former host that has given its seat away, once its successor owns all objects that go
    /// with the host.
    pub(crate) fn yield_seat(&mut self) {
        if self.desk.aside.is_some() && !self.core.roster.is_host() && self.is_succeeded() {
            self.end(EndReason::SeatTaken);
        }
    }

    /// Makes the next view from all that happened since the last one.
    fn next_view(&mut self, now: Time) {
        let mut gone = Desk::gone(&self.core, now);
        gone.extend(self.orders.stalling_members(&self.core, now));
        let time = self.core.known_time(now);
        for peer in core::mem::take(&mut self.desk.put_out) {
            self.core.members.view.put_out(time, peer, &mut self.desk.entropy);
        }
        for peer in gone {
            self.core.members.view.vacate(time, peer);
        }
        self.core.members.view.expire(time, self.core.config.rules.grace);
        let steps_aside = self.desk.tend_own_seat(&mut self.core, now);
        if (steps_aside || self.desk.hands_over) && self.core.roster.heir().is_none() {
            // A host that stepped aside hands over as soon as it can. Where the rules allow no successor, it keeps
            // hosting from a spectator's seat.
            self.hand_over(now);
        }
        self.admit_who_asks(now);
        if !self.core.is_host() {
            return;
        }
        self.desk.step_electorate(&mut self.core, &self.objects);
        self.desk.name_backups(&mut self.core, now);
        if self.core.view().number() != self.desk.published_number {
            self.publish_view(now);
        }
    }

    fn admit_who_asks(&mut self, now: Time) {
        let time = self.core.known_time(now);
        for _ in 0..self.desk.join_requests.len() {
            let Some((peer, mut hello)) = self.desk.join_requests.pop_front() else { break };
            if Desk::is_own_seat(&self.core, &hello) {
                if self.core.roster.heir().is_some() || self.hand_over(now) {
                    self.desk.join_requests.push_back((peer, hello));
                    continue;
                }
                // No other member can host yet. This host frees its seat for the newcomer, and hands over to the
                // newcomer later.
                if self.desk.aside.is_none() {
                    let (me, view) = (self.core.me(), &mut self.core.members.view);
                    self.desk.aside = view.step_aside(time, me, &mut self.desk.entropy);
                }
                if self.desk.aside.is_none() {
                    hello.resume = Default::default();
                }
            }
            // Skip a request that came by a former link: its entrant asks again on the present link.
            if self.core.net.link(peer).is_some_and(|link| link.greeted)
                && let Err(code) = self.admit(now, peer, &hello)
            {
                self.drop_link(peer, code);
                self.core.net.close_to(peer, code);
                self.core.push_event(Event::LinkClosed { peer, code });
            }
        }
    }
}
