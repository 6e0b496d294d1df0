//! A new view: how everybody lives by it.

use samovar_wire::{CloseCode, ObjectId, PeerId, SortedMap, Time};

use super::divergence::UNHEARD_FOR;
use super::{Departure, EndReason, Event, MemberInfo, Phase, Session};

impl Session {
    /// Lives by the session object when somebody else wrote it anew.
    pub(super) fn read_session_object(&mut self, now: Time) {
        let Some(object) = self.objects.get(ObjectId::SESSION) else { return };
        let revision = (object.stamp(), object.revision());
        // What a former host wrote last may arrive behind the next one's warrant, and name others than that one will.
        let is_former = object.stamp().term != self.term();
        if self.view_revision == Some(revision) || object.owner() == self.me() || is_former {
            return;
        }
        let owner = object.owner();
        self.heard = object.sampled();
        self.view_revision = Some(revision);
        match self.decode_view() {
            Some(Ok(view)) => self.view = view,
            Some(Err(code)) => return self.on_misbehaviour(now, owner, code),
            None => return,
        }
        self.roster.handle_view();
        self.on_resumed(now);
        self.live_by_view(now);
        // Not before: until its view is here a new host may not know yet that it is one.
        self.ask_for_ticket(now);
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
            if self.phase == Phase::Joining {
                self.phase = Phase::Member;
                self.clock.show(now);
                self.push_event(Event::Joined);
                if let Some(ticket) = self.ticket {
                    self.push_event(Event::Ticket(ticket));
                }
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
            self.close_to(member.peer, code);
            if !self.parted.contains_key(&member.peer) {
                self.note_parted(member.peer, now - UNHEARD_FOR);
            }
            self.freeze_for(member.peer, member.seat);
            let has_left = self.view.seats().any(|record| record.seat == member.seat && record.has_left());
            let departure = match (replaced, has_left) {
                (true, _) => Departure::Replaced,
                (false, true) => Departure::Left,
                (false, false) => Departure::Gone,
            };
            self.push_event(Event::MemberLeft { member, departure });
        }
        // They may have been closed to under a former host, whose admission of them the new one did not know of.
        self.closed.retain(|&(peer, _)| !came.iter().any(|member| member.peer == peer));
        self.link_all_members(now);
        for member in came {
            let resumed = self.seats.contains(&member.seat);
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
        self.seats = self.view.seats().map(|record| record.seat).collect();
        self.members = members;
        let view = &self.view;
        self.objects.report_orphans(|peer| !view.has(peer));
        if self.backup != self.view.backup() {
            self.backup = self.view.backup();
            self.push_event(Event::BackupChanged(self.backup));
        }
        self.settle_inputs(now);
        self.tell_orders(now);
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
