//! The star: members have links to the host, and to its backups so that these can take over; what members say to each
//! other goes through the host (PROTOCOL §4.11).

mod former;
mod nameless;
mod passing;

use std::sync::Arc;

use samovar_link::SendError;
use samovar_objects::Objects;
use samovar_roster::{Roster, View};
use samovar_wire::call::{Call, Reply};
use samovar_wire::control::{PeerControl, Vote};
use samovar_wire::limits::APP_MESSAGE_MAX;
use samovar_wire::object::MessageKind;
use samovar_wire::via::{Passed, Via, Way};
use samovar_wire::{
    CloseCode, DecodeError, Duration, Lane, PeerId, Reader, SortedMap, Term, Time, Warrant, Writer,
};

use super::{EndReason, Phase, Session, SessionConfig, Target};
use former::Former;
use nameless::Nameless;
use passing::{Acceptance, Full, Outbox, Passages, Passing, Posted};

/// Who has a link to whom. Whether a link is direct or relayed is another matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Topology {
    /// Everybody to everybody: the shortest ways, and as many links at each member as there are others.
    #[default]
    Mesh,
    /// Everybody to the host and its backups. The host tells each member of everything: one link costs a member about
    /// what it shows, the host as much as that for each member. What a member does reaches others by two ways instead
    /// of one. A host sees everything, whatever its focus.
    Star,
}

/// A link that has no purpose any more is given up when it is this old: views reach members one after another.
const PRUNED_AFTER: Duration = Duration::from_millis(3_000);
/// Senders that are remembered after they left; of who left before, what it says counts as new.
const UNSEEN_MAX: usize = 64;

/// What a member of a star knows of messages on their way.
#[derive(Debug, Default)]
pub(super) struct Star {
    outbox: Outbox,
    passages: Passages,
    /// The newest term that each peer said by its present link that it lives under.
    under: SortedMap<PeerId, Term>,
    /// The newest message that was delivered here, by sender and lane.
    heard: SortedMap<(PeerId, Lane), u64>,
    /// Senders of those who are no members, as far as this peer knows, who left longest ago first.
    unseen: Vec<PeerId>,
    nameless: Nameless,
    former: Former,
    /// The host and all backups are missed: whoever is left looks for the others.
    is_adrift: bool,
}

impl Star {
    /// Who is not in the view may be in the next one again, under the same name and with the numbers that it had: a host
    /// that comes after may never have heard that it was gone.
    fn forget_unseen(&mut self, view: &View) {
        self.unseen.retain(|&peer| !view.has(peer));
        for &(from, _) in self.heard.keys() {
            if !view.has(from) && !self.unseen.contains(&from) {
                self.unseen.push(from);
            }
        }
        while self.unseen.len() > UNSEEN_MAX {
            let oldest = self.unseen.remove(0);
            self.heard.retain(|&(from, _), _| from != oldest);
        }
    }
}

/// The objects of a session of this topology.
pub(super) fn objects_of(config: &SessionConfig, roster: &Roster) -> Objects {
    let objects = Objects::new(config.me, roster.host(), roster.term(), config.schemas.clone());
    if config.rules.topology == Topology::Star { objects.in_star() } else { objects }
}

const fn is_counted(lane: Lane) -> bool {
    !matches!(lane, Lane::Unreliable)
}

const fn is_reliable(lane: Lane) -> bool {
    matches!(lane, Lane::Reliable(_) | Lane::Bulk)
}

/// The lane that carries a message of this one: sequenced ones of several senders must not displace each other.
const fn carrying(lane: Lane) -> Lane {
    if is_reliable(lane) { lane } else { Lane::Unreliable }
}

fn framed(via: Via<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(via.message.len() + 16);
    bytes.push(MessageKind::Via as u8);
    via.encode(&mut Writer::new(&mut bytes));
    bytes
}

/// Whose word it is that a backup passes on.
fn teller(via: &Via<'_>) -> Option<PeerId> {
    match (via.way, via.lane, via.number) {
        (Way::From(sender), Lane::SESSION, 0) => Some(sender),
        _ => None,
    }
}

/// Whether a VIA is of a later term: in a lane of its own it may overtake its sender's word that there is one.
pub(super) fn is_early(body: &[u8], term: Term) -> bool {
    let via = Via::decode(&mut Reader::new(body));
    via.is_ok_and(|via| via.term > term && teller(&via).is_none())
}

/// Whether it is what members decide by who takes over.
const fn is_about_the_host(news: &PeerControl) -> bool {
    matches!(news, PeerControl::Missing(_) | PeerControl::Vote(_) | PeerControl::Reign(_))
}

/// Whether a message is one that the game of a member could have sent to another.
fn check(message: &[u8]) -> Result<(), CloseCode> {
    let mut reader = Reader::new(message);
    let result = match MessageKind::decode(&mut reader) {
        Ok(MessageKind::App) if reader.rest().len() > APP_MESSAGE_MAX => Err(DecodeError::TooLarge),
        Ok(MessageKind::App) => Ok(()),
        Ok(MessageKind::Call) => Call::decode(&mut reader).map(|_| ()),
        Ok(MessageKind::Reply) => Reply::decode(&mut reader).map(|_| ()),
        Ok(MessageKind::Cancel) => reader.varint().and_then(|_| reader.end()),
        Ok(_) => return Err(CloseCode::Unexpected),
        Err(error) => Err(error),
    };
    result.map_err(|error| match error {
        DecodeError::TooLarge => CloseCode::TooLarge,
        _ => CloseCode::Malformed,
    })
}

impl Session {
    /// Who has a link to whom.
    #[must_use]
    pub const fn topology(&self) -> Topology {
        self.config.rules.topology
    }

    pub(super) fn is_star(&self) -> bool {
        self.config.rules.topology == Topology::Star
    }

    /// Whether this peer hosts a star.
    fn is_center(&self) -> bool {
        self.is_star() && self.roster.is_host()
    }

    /// Whether there shall be a link to a member.
    pub(super) fn wants_link(&self, peer: PeerId) -> bool {
        let backups = self.view.backups();
        let is_central = |peer: PeerId| peer == self.host() || backups.contains(&peer);
        !self.is_star() || self.star.is_adrift || is_central(self.config.me) || is_central(peer)
    }

    /// Whether this peer tells another what it wants to see.
    pub(super) fn shows_focus_to(&self, peer: PeerId) -> bool {
        !self.is_star() || (peer == self.host() && !self.roster.is_host())
    }

    /// The objects are told that a link is gone; in a star it is members that count.
    pub(super) fn part_from(&mut self, peer: PeerId) {
        if !self.is_star() || self.roster.is_host() || !self.view.has(peer) {
            self.objects.remove_peer(peer);
        }
    }

    /// A star has another term: everybody reaches out to its host. Even if that is the same as before it may have been
    /// another one in between.
    pub(super) fn turn_to_host(&mut self, now: Time, former: PeerId) {
        let host = self.host();
        if !self.is_star() {
            return;
        }
        self.star.passages = Passages::default();
        if host != former {
            self.star.former.note(now, former);
        }
        self.focus_untold.clear();
        if self.roster.is_host() {
            self.link_all_members(now);
        } else if self.view.has(host) && self.closed_to(host).is_none() && !self.links.contains_key(&host) {
            self.link_member(now, host);
        } else {
            self.tell_focus_to(host);
        }
    }

    /// The view is another one: whoever is in it is a member, linked or not.
    pub(super) fn meet_members(&mut self) {
        if !self.is_star() {
            return;
        }
        let members: Vec<_> = self.view.members().map(|member| member.peer).collect();
        members.iter().filter(|&&peer| peer != self.config.me).for_each(|&peer| self.objects.add_peer(peer));
        let view = &self.view;
        self.star.passages.retain(|peer| view.has(peer));
        self.star.forget_unseen(view);
        // Whoever comes back under the same name begins anew.
        self.star.outbox.forget(|posted| matches!(posted.way, Way::To(to) if !view.has(to)));
        for (from, lane, number, message) in self.star.nameless.take() {
            self.receive(from, lane, number, &message);
        }
    }

    /// The link to a peer is another one.
    pub(super) fn send_again_to(&mut self, peer: PeerId) {
        self.star.under.remove(&peer);
        self.star.passages.forget_receipts(peer);
        if peer == self.host() {
            self.star.outbox.posted.iter_mut().for_each(|posted| posted.carrier = None);
        }
    }

    /// Gives up links that have no purpose any more, and tells members what of theirs has arrived.
    pub(super) fn tend_star(&mut self, now: Time) {
        if !self.is_star() {
            return;
        }
        self.look_for_others(now);
        if self.roster.missed_since().is_none() {
            let is_old = |peer| self.associations.get(peer).is_none_or(|&(_, at)| at + PRUNED_AFTER <= now);
            let useless = self.links.iter().filter(|&(peer, peering)| {
                let is_idle = peering.link.stats().unacked == 0;
                peering.admitted && !self.wants_link(*peer) && is_old(peer) && is_idle
            });
            for peer in useless.map(|(&peer, _)| peer).collect::<Vec<_>>() {
                // Nobody is told: who wants the link after all, by another view, opens it again.
                self.links.remove(&peer);
                if let Some((_, at)) = self.associations.get_mut(&peer) {
                    *at = now;
                }
            }
        }
        self.confirm_passed();
    }

    /// Who misses the host and all who could take over at once opens links to everybody, to find out who is left.
    fn look_for_others(&mut self, now: Time) {
        let is_missed = self.roster.missed_since().is_some();
        let (missed, _) = if is_missed { self.lives(now) } else { Default::default() };
        let me = self.config.me;
        self.star.is_adrift =
            is_missed && self.view.backups().iter().all(|backup| *backup != me && missed.contains(backup));
        if self.star.is_adrift {
            self.link_all_members(now);
        }
    }

    /// A peer says what term it lives under.
    pub(super) fn note_term(&mut self, peer: PeerId, news: &PeerControl) {
        if let PeerControl::Warrant(Warrant { term, .. }) | PeerControl::Reign(Vote { term, .. }) = *news
            && self.is_star()
        {
            self.star.under.insert(peer, term);
        }
    }

    /// Whether what a peer says about objects counts. In a star everybody says everything anew under each term, and
    /// what was said under another one may be older than what others have told since.
    pub(super) fn heeds(&self, peer: PeerId) -> bool {
        !self.is_star() || self.star.under.get(&peer) == Some(&self.term())
    }

    fn confirm_passed(&mut self) {
        let (links, view, me, term) = (&self.links, &self.view, self.config.me, self.term());
        let under = &self.star.under;
        // Whoever hosts next knows then that those are gone who are.
        let is_held = view.backups().iter().all(|&backup| self.holds_view(backup));
        let news = self.star.passages.settle(|peer, receipt| {
            let link = links.get(&peer).map(|peering| &peering.link);
            let is_delivered = link.zip(receipt).is_some_and(|(link, receipt)| link.is_delivered(receipt));
            // Who lives under an earlier term has it, and waits: it may never come to hear it. Who lives under a later one may
            // have ignored it: its sender says it again under that.
            if view.has(peer) { is_delivered && under.get(&peer) == Some(&term) } else { is_held }
        });
        for (from, lane, number) in news {
            if from == me {
                self.star.outbox.confirm(lane, number);
                continue;
            }
            let passed = Passed { lane, number };
            if !self.send_about(from, MessageKind::Passed, |out| passed.encode(out)) {
                self.star.passages.tell_again(from, lane);
            }
        }
    }

    /// Sends a message of this peer's game, which begins with its kind. For who is no member it goes nowhere.
    pub(super) fn send_by_host(
        &mut self,
        target: Target,
        lane: Lane,
        message: Vec<u8>,
    ) -> Result<(), SendError> {
        let Some(to) = self.receiver(target) else {
            return if target == Target::All { self.send_in_star(Way::ToAll, lane, message) } else { Ok(()) };
        };
        if to == self.config.me || !self.view.has(to) {
            return Ok(());
        }
        self.send_in_star(Way::To(to), lane, message)
    }

    /// Sends a message of this peer's game, which begins with its kind.
    ///
    /// # Errors
    /// See [`Session::send`].
    pub(super) fn send_in_star(&mut self, way: Way, lane: Lane, message: Vec<u8>) -> Result<(), SendError> {
        if !lane.is_valid() {
            return Err(SendError::NoSuchLane);
        }
        if is_reliable(lane) {
            let is_posted = self.star.outbox.post(lane, way, message);
            return if is_posted { Ok(()) } else { Err(SendError::WouldBlock) };
        }
        let number = if is_counted(lane) { self.star.outbox.next(lane) } else { 0 };
        let via = Via { way, term: self.term(), lane, number, message: &message };
        if self.is_center() {
            return self.pass_loose(via, self.config.me);
        }
        let host = self.host();
        let Some(peering) = self.links.get_mut(&host) else { return Ok(()) };
        peering.link.send(Lane::Unreliable, &framed(via)).map(|_| ())
    }

    /// The members that a message is for, but for its sender and this peer.
    fn receivers(&self, from: PeerId, way: Way) -> Vec<PeerId> {
        let members = self.view.members().map(|member| member.peer);
        let others = members.filter(|&peer| peer != from && peer != self.config.me);
        others.filter(|&peer| way == Way::ToAll || way == Way::To(peer)).collect()
    }

    /// The host passes on a message that may be lost.
    fn pass_loose(&mut self, via: Via<'_>, from: PeerId) -> Result<(), SendError> {
        let bytes = framed(Via { way: Way::From(from), ..via });
        let mut result = Ok(());
        for peer in self.receivers(from, via.way) {
            if let Some(peering) = self.links.get_mut(&peer).filter(|peering| peering.admitted) {
                result = result.and(peering.link.send(Lane::Unreliable, &bytes).map(|_| ()));
            }
        }
        result
    }

    /// Gives the link to a peer what is for it, as far as there is room: what it is to pass on, or what this peer
    /// passes on to it. `said` tells whether all that is to be said about objects stands before it in their lane.
    pub(super) fn carry(&mut self, to: PeerId, said: bool) {
        if !self.is_star() {
            return;
        }
        if self.roster.is_host() {
            self.pass_own();
            self.hand_on(to, said);
            return;
        }
        let term = self.term();
        // Not before this peer knows who is a member in its host's eyes: to others nothing is passed on.
        let is_in_view = self.view_revision.is_some_and(|(stamp, _)| stamp.term == term);
        let is_host = to == self.roster.host() && is_in_view;
        let Some(peering) = self.links.get_mut(&to).filter(|_| is_host) else { return };
        let mut full = Full::new(said);
        for posted in self.star.outbox.posted.iter_mut().filter(|posted| posted.carrier != Some(term)) {
            let Posted { lane, number, way, ref message, .. } = *posted;
            let bytes = framed(Via { way, term, lane, number, message });
            if full.is_open(lane) && peering.link.send(lane, &bytes).is_ok() {
                posted.carrier = Some(term);
            } else {
                full.close(posted.lane);
            }
        }
    }

    /// The host passes on what is its own as it does with that of others.
    fn pass_own(&mut self) {
        let (me, term) = (self.config.me, Some(self.term()));
        let mut own = Vec::new();
        for posted in self.star.outbox.posted.iter_mut().filter(|posted| posted.carrier != term) {
            posted.carrier = term;
            own.push((posted.way, posted.lane, posted.number, Arc::clone(&posted.message)));
        }
        for (way, lane, number, message) in own {
            // What this peer posted is within the bounds.
            self.star.passages.accept(me, lane, number, message.len());
            self.pass(way, Passing { from: me, lane, number, message, waits: Vec::new() });
        }
    }

    fn pass(&mut self, way: Way, mut passing: Passing) {
        passing.waits = self.receivers(passing.from, way).into_iter().map(|peer| (peer, None)).collect();
        self.star.passages.push(passing);
    }

    fn hand_on(&mut self, to: PeerId, said: bool) {
        if !self.star.passages.unsent.remove(&to) {
            return;
        }
        let term = self.term();
        let Some(peering) = self.links.get_mut(&to).filter(|peering| peering.admitted) else { return };
        let mut full = Full::new(said);
        for passing in &mut self.star.passages.passing {
            let Some((_, receipt)) = passing.waits.iter_mut().find(|wait| wait.0 == to && wait.1.is_none())
            else {
                continue;
            };
            if full.is_open(passing.lane) {
                let &mut Passing { from, lane, number, ref message, .. } = passing;
                let bytes = framed(Via { way: Way::From(from), term, lane, number, message });
                *receipt = peering.link.send(lane, &bytes).ok();
            }
            if receipt.is_none() {
                full.close(passing.lane);
            }
        }
        if full.is_any_closed() {
            self.star.passages.unsent.insert(to);
        }
    }

    /// Takes a VIA: from a member to be passed on, or as passed on by the host.
    pub(super) fn handle_via(
        &mut self,
        now: Time,
        from: PeerId,
        carrier: Lane,
        body: &[u8],
    ) -> Result<(), CloseCode> {
        if !self.is_star() {
            return Err(CloseCode::Unexpected);
        }
        let via = Via::decode(&mut Reader::new(body)).map_err(|_| CloseCode::Malformed)?;
        if let Some(sender) = teller(&via) {
            return self.hear_of(now, from, sender, via.message);
        }
        if carrying(via.lane) != carrier || (via.number == 0) == is_counted(via.lane) {
            return Err(CloseCode::Malformed);
        }
        match via.way {
            Way::From(sender) if sender != self.config.me && self.passes_on(now, from, &via) => {
                self.receive(sender, via.lane, via.number, via.message);
                Ok(())
            }
            Way::To(_) | Way::ToAll if self.roster.is_host() && via.term == self.term() => {
                self.pass_via(from, via)
            }
            // A member of a former term finds out that there is another, and sends it again; a host of long ago is
            // not heard.
            _ => Ok(()),
        }
    }

    /// A backup passes on to the others what a member says about the host: without the relay only they decide who
    /// takes over, and have no links to each other.
    pub(super) fn pass_on_news(&mut self, from: PeerId, news: &PeerControl, body: &[u8]) {
        let is_backup = self.is_star() && self.view.backups().contains(&self.config.me);
        let is_by_member = self.takes_part(from) && self.view.has(from) && from != self.host();
        if !is_backup || self.roster.is_host() || !is_by_member || !is_about_the_host(news) {
            return;
        }
        let message = [&[MessageKind::Control as u8], body].concat();
        let (way, term) = (Way::From(from), self.term());
        let bytes = framed(Via { way, term, lane: Lane::SESSION, number: 0, message: &message });
        let (view, host) = (&self.view, self.roster.host());
        let has_link_to_sender = |peer: PeerId| peer == host || view.backups().contains(&peer);
        for (&peer, peering) in self.links.iter_mut().filter(|(_, peering)| peering.admitted) {
            if peer != from && !has_link_to_sender(peer) {
                // Who has no room even for that hears it again when the vote is repeated.
                let _ = peering.link.send_control(&bytes);
            }
        }
    }

    /// A backup tells what another member said about the host.
    fn hear_of(&mut self, now: Time, from: PeerId, sender: PeerId, message: &[u8]) -> Result<(), CloseCode> {
        let [kind, body @ ..] = message else { return Err(CloseCode::Malformed) };
        if *kind != MessageKind::Control as u8 {
            return Err(CloseCode::Unexpected);
        }
        let news = PeerControl::decode(body).map_err(|_| CloseCode::Malformed)?;
        let is_backup = self.view.backups().contains(&from);
        if !is_about_the_host(&news) {
            return Err(CloseCode::Unexpected);
        }
        if is_backup && self.view.has(sender) && sender != self.config.me && sender != self.host() {
            match news {
                PeerControl::Missing(missing) => self.roster.handle_missing(sender, missing),
                PeerControl::Vote(vote) => self.roster.handle_vote(sender, vote),
                PeerControl::Reign(vote) => self.roster.handle_reign(sender, vote),
                _ => {}
            }
            self.watch(now);
        }
        Ok(())
    }

    /// Whether a peer is the host, or was a moment ago, and nothing was ignored that it passed on under a term: then there is a gap.
    fn passes_on(&mut self, now: Time, peer: PeerId, via: &Via<'_>) -> bool {
        let is_host = peer == self.host();
        let Some(peering) = self.links.get_mut(&peer) else { return false };
        let counts = is_host || self.star.former.counts(now, peer, peering.link.reached_at());
        let counts = counts && peering.ignored.is_none_or(|ignored| via.term > ignored);
        // What may be lost may also overtake the word that there is such a term.
        if !counts && is_reliable(via.lane) {
            peering.ignored = peering.ignored.max(Some(via.term));
        }
        counts
    }

    /// The host passes on what a member says.
    fn pass_via(&mut self, from: PeerId, via: Via<'_>) -> Result<(), CloseCode> {
        check(via.message)?;
        let me = self.config.me;
        if is_reliable(via.lane) {
            match self.star.passages.accept(from, via.lane, via.number, via.message.len()) {
                Acceptance::Known => return Ok(()),
                Acceptance::TooMuch => return Err(CloseCode::LimitExceeded),
                Acceptance::New => {}
            }
            let Via { lane, number, message, .. } = via;
            self.pass(via.way, Passing { from, lane, number, message: message.into(), waits: vec![] });
        } else {
            // What does not fit now is lost, as it may be.
            let _ = self.pass_loose(via, from);
        }
        if via.way == Way::ToAll || via.way == Way::To(me) {
            self.receive(from, via.lane, via.number, via.message);
        }
        Ok(())
    }

    /// A message of a member is for this peer. One of who is in no view that this peer has waits for that view.
    fn receive(&mut self, from: PeerId, lane: Lane, number: u64, message: &[u8]) {
        if !self.view.has(from) || self.phase != Phase::Member {
            if is_reliable(lane)
                && !self.star.nameless.keep((from, lane, number, message.to_vec()))
                && self.phase == Phase::Member
            {
                // The ticket leads to where this peer hears of everybody.
                self.end(EndReason::Removed);
            }
            return;
        }
        if is_counted(lane) {
            let heard = self.star.heard.entry((from, lane)).or_insert(0);
            if number <= *heard {
                return;
            }
            *heard = number;
        }
        let mut reader = Reader::new(message);
        // The host has looked at it; if it has not, that is no fault of the sender's, and harms nobody.
        let _ = match MessageKind::decode(&mut reader) {
            Ok(MessageKind::App) => self.on_app(from, lane, reader.rest()),
            Ok(kind @ (MessageKind::Call | MessageKind::Reply | MessageKind::Cancel)) => {
                self.handle_call(from, lane, kind, reader.rest())
            }
            _ => Ok(()),
        };
    }

    /// The host says that all receivers have this peer's messages.
    pub(super) fn handle_passed(&mut self, from: PeerId, body: &[u8]) -> Result<(), CloseCode> {
        let passed = Passed::decode(&mut Reader::new(body)).map_err(|_| CloseCode::Malformed)?;
        // Of what a former host passed on its receivers may have heard nothing any more. What they did they know by its number.
        if from == self.host() {
            self.star.outbox.confirm(passed.lane, passed.number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn what_was_heard_of_those_who_left_is_remembered_of_the_last_ones() {
        let (mut star, nobody) = (Star::default(), View::founding(8));
        for peer in 1..=100 {
            star.heard.insert((PeerId(peer), Lane::GAME), 7);
            star.forget_unseen(&nobody);
        }
        let known = star.heard.keys().map(|&(peer, _)| peer.0);
        assert_eq!(known.collect::<Vec<_>>(), (101 - UNSEEN_MAX as u32..=100).collect::<Vec<_>>());
    }
}
