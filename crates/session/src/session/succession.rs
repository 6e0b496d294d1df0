//! A new term, and a new view: how the session goes on under them.

use samovar_roster::Verdict;
use samovar_wire::control::PeerControl;
use samovar_wire::{CloseCode, ObjectId, PeerId, SortedMap, Time, Warrant};

use super::{Cause, Departure, EndReason, Event, MemberInfo, Migration, Phase, Session};

impl Session {
    /// Takes a warrant from the relay or a member, and lives under it when it opens a newer term.
    pub fn handle_warrant(&mut self, now: Time, warrant: &Warrant) -> Verdict {
        let (former, missed_since) = (self.host(), self.roster.missed_since());
        let verdict = self.roster.handle_warrant(warrant);
        if verdict == Verdict::Newer && self.phase != Phase::Over {
            self.on_new_term(now, former, missed_since.unwrap_or(now));
        }
        verdict
    }

    fn on_new_term(&mut self, now: Time, former: PeerId, missed_since: Time) {
        let (host, term) = (self.host(), self.term());
        let left = self.links.get(&former).is_some_and(|peering| peering.left);
        let detected = self.clock.time(missed_since);
        let cause = if left { Cause::Left } else { Cause::Lost };
        self.claim = None;
        self.objects.set_host(host, term);
        self.clock.on_host_changed(now);
        if self.phase == Phase::Joining {
            if host == self.me() {
                // Nobody claims for a peer that is no member.
                self.end(EndReason::Misbehaviour(CloseCode::BadWarrant));
                return;
            }
            // A seat that the former host gave may have died with it: the new one says which it is.
            self.seat = None;
            self.drop_link(former, CloseCode::Left);
            self.ask_to_join(now);
            return;
        }
        self.migration = Some(Migration { term, from: former, to: host, cause, detected, resumed: detected });
        // Passed on before anything is said under it, so that nobody sees a stamp of a term it cannot know
        // (PROTOCOL §4.3).
        let warrant = *self.roster.warrant();
        let peers: Vec<_> = self.links.iter().filter(|(_, p)| p.admitted).map(|(&peer, _)| peer).collect();
        peers.into_iter().for_each(|peer| self.send_control(now, peer, &PeerControl::Warrant(warrant)));
        if host == self.me() {
            self.become_host(now, former);
            self.renew_wishes(now);
        } else if self.links.contains_key(&host) {
            self.renew_wishes(now);
        } else {
            // This peer had given up its successor for lost while it was asleep or cut off itself: the others went
            // on, and its ticket takes the seat back.
            self.end(EndReason::Removed);
        }
    }

    /// The session object is this peer's now, and with it everything that the former host has left.
    fn become_host(&mut self, now: Time, former: PeerId) {
        self.objects.take_session();
        self.view.vacate(self.clock.time(now), former);
        if self.view.backup() == Some(self.me()) {
            self.last_backup = self.view.dismiss_backup();
        }
        self.publish_view(now);
        self.on_resumed(now);
    }

    fn on_resumed(&mut self, now: Time) {
        if let Some(mut migration) = self.migration.take() {
            migration.resumed = self.clock.time(now);
            self.push_event(Event::HostChanged(migration));
        }
    }

    /// Lives by the session object when somebody else wrote it anew.
    pub(super) fn read_session_object(&mut self, now: Time) {
        let Some(object) = self.objects.get(ObjectId::SESSION) else { return };
        let revision = (object.stamp(), object.revision());
        if self.view_revision == Some(revision) || object.owner() == self.me() {
            return;
        }
        let (owner, is_current) = (object.owner(), object.stamp().term == self.term());
        self.view_revision = Some(revision);
        match self.decode_view() {
            Some(Ok(view)) => self.view = view,
            Some(Err(code)) => return self.on_misbehaviour(now, owner, code),
            None => return,
        }
        if is_current {
            self.on_resumed(now);
        }
        self.live_by_view(now);
    }

    /// This peer wrote the session object itself.
    pub(super) fn note_view(&mut self) {
        let object = self.objects.get(ObjectId::SESSION);
        self.view_revision = object.map(|object| (object.stamp(), object.revision()));
    }

    /// Opens and ends links, and tells the game, as the view says.
    pub(super) fn live_by_view(&mut self, now: Time) {
        let me = self.me();
        if self.view.has(me) {
            if self.phase == Phase::Joining && self.seat.is_some() {
                self.phase = Phase::Member;
                self.push_event(Event::Joined);
            }
        } else if self.phase == Phase::Member {
            return self.end(EndReason::Removed);
        }
        if self.phase != Phase::Member {
            return;
        }
        let members: SortedMap<PeerId, MemberInfo> =
            self.view.members().map(|m| (m.peer, member_info(&m))).collect();
        let gone: Vec<_> =
            self.members.values().filter(|m| !members.contains_key(&m.peer)).cloned().collect();
        let came: Vec<_> =
            members.values().filter(|m| !self.members.contains_key(&m.peer)).cloned().collect();
        for member in gone {
            let replaced = members.values().any(|m| m.seat == member.seat);
            let code = if replaced { CloseCode::SeatTaken } else { CloseCode::NotAMember };
            self.drop_link(member.peer, code);
            self.close_to(member.peer);
            self.freeze_for(member.peer, member.seat);
            let departure = if replaced { Departure::Replaced } else { Departure::Gone };
            self.push_event(Event::MemberLeft { member, departure });
        }
        // They may have been closed to under a former host, whose admission of them the new one did not know of.
        self.closed.retain(|&peer| !came.iter().any(|member| member.peer == peer));
        self.link_all_members(now);
        for member in came {
            let resumed = !self.seats.insert(member.seat);
            if member.peer == me {
                continue;
            }
            let (peer, seat) = (member.peer, member.seat);
            self.push_event(Event::MemberJoined { member, resumed });
            self.unfreeze_for(now, peer, seat);
        }
        // Behind the names of those who sent them.
        while let Some(event) = self.early.pop_front() {
            self.push_event(event);
        }
        self.seats.retain(|seat| self.view.seats().any(|record| record.seat == *seat));
        self.members = members;
        let view = &self.view;
        self.objects.report_orphans(|peer| !view.has(peer));
        if self.backup != self.view.backup() {
            self.backup = self.view.backup();
            self.push_event(Event::BackupChanged(self.backup));
        }
    }
}

fn member_info(member: &samovar_roster::Member<'_>) -> MemberInfo {
    MemberInfo {
        peer: member.peer,
        seat: member.record.seat,
        name: member.record.name.clone(),
        attributes: member.record.attributes,
    }
}
