//! The host's housework: admission, removal, the backup, the session object.

use samovar_roster::{GRACE, VIEW_FIELDS, View};
use samovar_wire::control::{Hello, PeerControl, Welcome};
use samovar_wire::{CloseCode, Duration, ObjectId, PROTOCOL_VERSION, PeerId, Time};

use super::{Event, Phase, Session};

/// A member that has been silent for so long is removed; its seat waits for it.
const REMOVED_AFTER: Duration = Duration::from_millis(5_000);
/// The same when the relay says that its connection closed.
const REMOVED_AFTER_HINT: Duration = Duration::from_millis(1_000);
/// A stranger that has not said hello for so long is forgotten.
const HELLO_WITHIN: Duration = Duration::from_millis(5_000);
/// A backup that has been silent for so long is replaced, though it stays a member.
const BACKUP_MISSED_AFTER: Duration = Duration::from_millis(1_500);

impl Session {
    /// Founds the session: this peer takes the first seat and creates the session object.
    pub(super) fn found(&mut self, now: Time) {
        let hello = Hello {
            version: PROTOCOL_VERSION,
            params: self.config.params,
            name: self.config.name.clone(),
            attributes: self.config.attributes,
            resume: None,
        };
        let admission = self.view.admit(Time::ZERO, self.config.me, &hello, &mut self.entropy);
        let admission = admission.expect("the first seat of a new session is free");
        self.seat = Some((admission.seat, admission.ticket));
        let fields = self.view.to_fields();
        let fields: Vec<_> = fields.iter().map(|f| &f[..]).collect();
        debug_assert_eq!(fields.len(), VIEW_FIELDS);
        let created = self.objects.create_session(self.clock.time(now), &fields);
        created.expect("a view of one member is within the limits of an object");
        self.phase = Phase::Member;
        self.note_view();
        self.push_event(Event::Joined);
    }

    pub(super) fn on_hello(&mut self, now: Time, from: PeerId, hello: &Hello) -> Result<(), CloseCode> {
        // A newcomer that a former host admitted, and died before it heard of it, asks the next host again.
        let greeted = self.links.get_mut(&from).is_some_and(|p| core::mem::replace(&mut p.greeted, true));
        if !self.is_host() || (greeted && self.view.has(from)) {
            return Err(CloseCode::Unexpected);
        }
        if hello.version != PROTOCOL_VERSION {
            return Err(CloseCode::VersionMismatch);
        }
        if hello.params != self.config.params {
            return Err(CloseCode::ParameterMismatch);
        }
        let admission = self.view.admit(self.clock.time(now), from, hello, &mut self.entropy)?;
        if let Some(yields) = admission.yields {
            self.drop_link(yields, CloseCode::SeatTaken);
            self.close_to(yields);
        }
        let session = self.roster.session();
        let welcome = Welcome { session, seat: admission.seat, ticket: admission.ticket };
        self.send_control(now, from, &PeerControl::Warrant(*self.roster.warrant()));
        self.send_control(now, from, &PeerControl::Welcome(welcome));
        self.publish_view(now);
        Ok(())
    }

    /// A member is gone: its seat waits, its objects are the host's.
    pub(super) fn remove_member(&mut self, now: Time, peer: PeerId) {
        if self.view.vacate(self.clock.time(now), peer) {
            self.publish_view(now);
        }
    }

    /// The view changed by this peer's hand: writes it to the session object and lives by it.
    pub(super) fn publish_view(&mut self, now: Time) {
        self.name_backup(now);
        let time = self.clock.time(now);
        for (index, field) in self.view.to_fields().iter().enumerate() {
            let written = self.objects.set(time, ObjectId::SESSION, index, field);
            written.expect("the host owns the session object, and a view is within its limits");
        }
        self.note_view();
        self.live_by_view(now);
        let view = &self.view;
        self.objects.adopt(|peer| !view.has(peer));
        self.after_objects(now);
    }

    fn name_backup(&mut self, now: Time) {
        let links = &self.links;
        let answers = |peer: PeerId| {
            links.get(&peer).is_none_or(|peering| peering.link.silence(now) < BACKUP_MISSED_AFTER)
        };
        let silent = self.view.backup().filter(|&backup| !answers(backup));
        let alternatives = self.view.members().any(|m| m.peer != self.config.me && answers(m.peer));
        if silent.is_some() && alternatives {
            self.last_backup = self.view.dismiss_backup();
        }
        if self.view.name_backup(self.config.me, self.last_backup, answers) {
            self.last_backup = self.view.backup();
        }
    }

    /// Removes who is gone, replaces a silent backup, and gives up old seats.
    pub(super) fn do_housework(&mut self, now: Time) {
        let mut gone = Vec::new();
        let mut strangers = Vec::new();
        for (&peer, peering) in &self.links {
            let patience = if peering.hint.is_some() { REMOVED_AFTER_HINT } else { REMOVED_AFTER };
            if peering.admitted && (peering.left || peering.link.silence(now) >= patience) {
                gone.push(peer);
            } else if !peering.admitted && peering.opened + HELLO_WITHIN <= now {
                strangers.push(peer);
            }
        }
        strangers.into_iter().for_each(|peer| self.drop_link(peer, CloseCode::Silent));
        // A former host may have missed the farewell of a member that closed its link to this peer.
        let unlinked = self.view.members().map(|m| m.peer).filter(|peer| !self.links.contains_key(peer));
        gone.extend(unlinked.filter(|&peer| peer != self.config.me));
        let time = self.clock.time(now);
        let mut changed = false;
        for peer in gone {
            changed |= self.view.vacate(time, peer);
        }
        changed |= self.view.expire(time);
        let before = self.view.number();
        self.name_backup(now);
        if changed || self.view.number() != before {
            self.publish_view(now);
        }
    }

    /// How long a seat waits for its member.
    #[must_use]
    pub const fn seat_grace() -> Duration {
        GRACE
    }

    /// The view of a session object that is no longer there cannot be; a broken one is the host's fault.
    pub(super) fn decode_view(&self) -> Option<Result<View, CloseCode>> {
        let object = self.objects.get(ObjectId::SESSION)?;
        let fields = (0..object.field_count()).map(|i| object.field(i));
        Some(View::from_fields(fields).map_err(|_| CloseCode::Malformed))
    }
}
