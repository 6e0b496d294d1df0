//! How a peer acts on a new view.

use samovar_wire::{CloseCode, ObjectId, PeerId, SortedMap, Time};

use crate::context::Context;
use crate::core::Phase;
use crate::core::membership::{Early, decode_view};
use crate::settle::News;
use crate::{Departure, EndReason, Event, MemberInfo, Session};

impl Session {
    /// Acts on the view in the session object when another peer has written a new one.
    pub(crate) fn read_session_object(&mut self, now: Time) {
        let Some(object) = self.objects.get(ObjectId::SESSION) else { return };
        let revision = (object.stamp(), object.revision());
        // A former host's last view may arrive after the next host's warrant, and name other members than the next
        // host's view. So it is ignored.
        let is_former = object.stamp().term != self.term();
        let members = &mut self.core.members;
        if members.view_revision == Some(revision) || object.owner() == self.core.config.me || is_former {
            return;
        }
        let owner = object.owner();
        members.heard = object.sampled();
        members.view_revision = Some(revision);
        match decode_view(&self.objects) {
            Some(Ok(view)) => members.view = view,
            Some(Err(code)) => return self.expel(now, owner, code),
            None => return,
        }
        self.core.roster.handle_view();
        self.core.on_resumed(now);
        self.live_by_view(now);
        // This peer asks only now: before the first view of a new host arrives, that host may not know that it hosts.
        self.core.ask_for_ticket();
    }

    /// Opens and ends links, and tells the game, as the view says.
    pub(crate) fn live_by_view(&mut self, now: Time) {
        if self.core.view().has(self.me()) {
            self.core.become_member(now);
        } else if self.is_member() {
            return self.end(EndReason::Removed);
        }
        if self.core.phase != Phase::Member {
            return;
        }
        let members: SortedMap<PeerId, MemberInfo> =
            self.core.view().members().map(|member| (member.peer, member_info(&member))).collect();
        let former = &self.core.members.members;
        let gone: Vec<_> = former.values().filter(|m| !members.contains_key(&m.peer)).cloned().collect();
        let came: Vec<_> = members.values().filter(|m| !former.contains_key(&m.peer)).cloned().collect();
        for member in gone {
            let is_replaced = members.values().any(|m| m.seat == member.seat);
            self.on_gone(now, member, is_replaced);
        }
        // This peer may have refused links to these members, if a former host had admitted them and the next host did
        // not know of that. Now it accepts links to them.
        self.core.net.reopen_to(|peer| came.iter().any(|member| member.peer == peer));
        self.core.unlinked_members().into_iter().for_each(|peer| self.link_member(now, peer));
        let (me, mut news) = (self.me(), News::NONE);
        for member in came.into_iter().filter(|member| member.peer != me) {
            let (peer, seat) = (member.peer, member.seat);
            let resumed = self.core.members.seats.contains(&seat);
            self.core.push_event(Event::MemberJoined { member, resumed });
            let mut ctx = Context { core: &mut self.core, objects: &mut self.objects, now };
            news |= self.ownership.unfreeze_for(&mut ctx, peer, seat);
        }
        self.settle(now, news);
        // These messages come after the events that name their senders.
        for Early { from, delivery, bytes } in self.core.members.take_early() {
            let former = self.core.out.events.set_speaker(Some(from));
            self.core.push_event(Event::Message { from, delivery, bytes });
            self.core.out.events.set_speaker(former);
        }
        self.core.members.seats = self.core.view().seats().map(|record| record.seat).collect();
        self.core.members.members = members;
        let view = self.core.view();
        self.objects.report_orphans(|peer| !view.has(peer));
        let backup = view.backup();
        if self.core.members.backup != backup {
            self.core.members.backup = backup;
            self.core.push_event(Event::BackupChanged(backup));
        }
        self.inputs.settle(&mut self.core, now);
        self.orders.tell(&self.core, now);
        self.orders.deliver(&mut self.core, now);
    }

    /// Handles that a member is no longer in the view.
    fn on_gone(&mut self, now: Time, member: MemberInfo, is_replaced: bool) {
        let code = if is_replaced { CloseCode::SeatTaken } else { CloseCode::NotAMember };
        self.drop_link(member.peer, code);
        self.core.net.close_to(member.peer, code);
        self.divergence.on_removed(now, member.peer);
        self.ownership.freeze_for(&self.objects, member.peer, member.seat);
        let record = self.core.view().seats().find(|record| record.seat == member.seat);
        let departure = match record {
            _ if is_replaced => Departure::Replaced,
            Some(record) if record.was_put_out() => Departure::PutOut,
            Some(record) if record.has_left() => Departure::Left,
            _ => Departure::Gone,
        };
        self.core.push_event(Event::MemberLeft { member, departure });
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
