//! How an object ends by the message of any peer, and how the host collects ends (PROTOCOL §4.2, rules 10 to 12).

use samovar_wire::object::{Deaths, Destroy};
use samovar_wire::{CloseCode, ObjectId, PeerId, Reader, Stamp};

use crate::objects::{ObjectError, ObjectEvent, Objects};
use crate::receive::malformed;

/// An end is believed up to this many numbers above the creator's newest object that this peer knows.
const BURIED_AHEAD_MAX: u32 = 256;
/// The most ends that wait for one peer as single messages; further ones are told by DEATHS.
const PASSED_ON_MAX: usize = 1_024;
/// How far above the highest known counter a reported stamp may be. A lying peer may have told members of a stamp
/// that the host never drew.
const LEAP_MAX: u32 = 1_024;
/// Ends of creators unknown to this peer are noted only while fewer creators than this have tombstones.
const STRANGE_CREATORS_MAX: usize = 256;

impl Objects {
    /// Whether `from`, which is not the creator, can know of the end of an object that this peer has not seen. Such
    /// an end is remembered, or a late CREATE would bring the object back. But no peer may end an object before it is
    /// created, so its number must not be far above the known ones.
    pub(crate) fn may_bury(&self, from: PeerId, id: ObjectId, stamp: Stamp) -> bool {
        let newest = self.slots.of_creator(id.creator).next_back().map_or(0, |object| object.id.number);
        let newest = newest.max(self.tombstones.newest(id.creator));
        let is_near = id.number <= newest.saturating_add(BURIED_AHEAD_MAX);
        self.is_known(id.creator) && is_near && self.check_granted(from, id, stamp).is_ok()
    }

    pub(crate) fn handle_destroy(&mut self, from: PeerId, destroy: Destroy) -> Result<(), CloseCode> {
        let Destroy { id, stamp } = destroy;
        self.check_term(stamp)?;
        if id == ObjectId::SESSION {
            return Err(CloseCode::NotYours);
        }
        if self.is_unconfirmed(from, id, stamp) {
            self.hold_end(from, id, stamp);
            return Ok(());
        }
        match self.slots.get(id) {
            Some(object) if stamp < object.stamp => return Ok(()),
            // The host may end an object under an equal stamp, because a counter at its maximum cannot grow.
            Some(object) if stamp == object.stamp && object.owner != from && from != self.host => {
                // The sender may be a former host that passes an end on. The present host will pass it on again.
                return if stamp.term < self.term { Ok(()) } else { Err(CloseCode::NotYours) };
            }
            Some(object) if stamp > object.stamp => self.check_granted(from, id, stamp)?,
            Some(_) => {}
            None if from != id.creator && from != self.host && !self.may_bury(from, id, stamp) => {
                return Ok(());
            }
            None => {}
        }
        self.end_by(from, id, stamp);
        Ok(())
    }

    /// Ends an object by another peer's word. The host passes the end on, because that peer may leave before it has
    /// told all members, or may not know all of them.
    pub(crate) fn end_by(&mut self, from: PeerId, id: ObjectId, stamp: Stamp) {
        let is_news = self.tombstones.stamp(id).is_none_or(|known| known < stamp);
        let kind = self.slots.get(id).map(|object| object.traits.kind);
        self.end(id, stamp);
        if let Some(kind) = kind {
            self.events.push_back(ObjectEvent::Destroyed { id, kind });
        }
        if self.is_host() && is_news {
            self.pass_on_end(id, stamp, Some(from));
        }
    }

    /// Queues an end for all peers except `but`. Only the host does this.
    pub(crate) fn pass_on_end(&mut self, id: ObjectId, stamp: Stamp, but: Option<PeerId>) {
        for (_, replica) in self.replicas.iter_mut().filter(|(peer, _)| Some(**peer) != but) {
            // Further ends are told in runs, by DEATHS. A receiver must not seem slow because one peer ends many
            // objects.
            if replica.destroys.len() < PASSED_ON_MAX {
                replica.tell_end(id, stamp);
            } else {
                replica.deaths_due = true;
            }
        }
    }

    pub(crate) fn handle_deaths(&mut self, from: PeerId, reader: &mut Reader<'_>) -> Result<(), CloseCode> {
        let is_report = self.is_host()
            && self.replicas.get_mut(&from).is_some_and(|replica| {
                let is_due = replica.reports > 0;
                replica.reports = replica.reports.saturating_sub(1);
                is_due
            });
        while !reader.is_empty() {
            let run = Deaths::decode(reader).map_err(malformed)?;
            self.check_term(run.stamp)?;
            if from == self.host {
                self.believe(from, &run);
            } else if is_report {
                self.weigh(from, &run);
            }
        }
        self.settle_ends();
        Ok(())
    }

    /// The existing objects of a run whose stamps are not above the run's: those that the run ends.
    fn doomed(&self, run: &Deaths) -> Vec<(ObjectId, PeerId)> {
        let objects = self.slots.between(run.creator, run.first, run.last);
        objects.filter(|o| o.stamp <= run.stamp).map(|o| (o.id, o.owner)).collect()
    }

    /// Believes a run of ends that the host tells.
    fn believe(&mut self, from: PeerId, run: &Deaths) {
        for (id, _) in self.doomed(run).into_iter().filter(|(id, _)| *id != ObjectId::SESSION) {
            self.end_by(from, id, run.stamp);
        }
        self.tombstones.bury_run(run);
    }

    /// Whether an existing object can have had this stamp. This host drew the stamps of its own term. A lying peer
    /// that is gone may have told members of somewhat higher stamps. A stamp that would use up the counter is not
    /// accepted.
    pub(crate) fn is_credible(&self, id: ObjectId, stamp: Stamp) -> bool {
        stamp.term < self.term || self.is_near(id, stamp)
    }

    /// Whether this stamp is so near the highest known one that a stamp above it does not use up the counter.
    pub(crate) fn is_near(&self, id: ObjectId, stamp: Stamp) -> bool {
        let highest = self.highest_stamp(id).map_or(0, |highest| highest.counter);
        stamp.counter <= highest.saturating_add(LEAP_MAX)
    }

    /// Grants the object anew, under a stamp above `stamp`, which some member has seen: to the receiver of the
    /// present grant, or else to `owner`. Does nothing while the present grant's receiver may still announce itself.
    pub(crate) fn outbid(&mut self, id: ObjectId, owner: PeerId, stamp: Stamp) {
        if self.granted_to(id).is_some() && !self.is_passed_over(id, stamp) {
            return;
        }
        let owner = self.granted_to(id).unwrap_or(owner);
        self.tombstones.bury(id, stamp);
        let granted = self.grant(id, owner);
        debug_assert!(
            matches!(granted, Ok(()) | Err(ObjectError::NotAMember)) || id == ObjectId::SESSION,
            "its owner is here, or about to be orphaned"
        );
        self.tombstones.exhume(id);
    }

    /// Judges a run of ends that a member reports after a peer left. The member is believed about its own objects and
    /// about those of peers that are gone. An object of another peer lives on. A new stamp restores it at members
    /// that took it for ended.
    fn weigh(&mut self, from: PeerId, run: &Deaths) {
        self.note_report(from, run);
        for (id, owner) in self.doomed(run) {
            if owner == from || (owner != self.me && !self.replicas.contains_key(&owner)) {
                self.end_by(from, id, run.stamp);
            } else if self.is_credible(id, run.stamp) {
                // An equal stamp counts, too: a former host may have ended the object as an orphan, although its
                // owner is linked here.
                self.outbid(id, owner, run.stamp);
            }
        }
    }

    /// Notes reported ends of objects that the host does not know, because a former host may have told only others of
    /// them. An owner may still announce such an object, and the host then defends it. An end that the creator itself
    /// reports counts at once. The host tells the others of such an end, because they may know no owner but the
    /// creator.
    pub(crate) fn note_report(&mut self, from: PeerId, run: &Deaths) {
        // The host knows all ends of its own term. No peer may end objects before they are created.
        let is_credible = self.is_known(run.creator) || self.tombstones.creators() < STRANGE_CREATORS_MAX;
        if run.stamp.term >= self.term || !is_credible {
            return;
        }
        let living = self.slots.between(run.creator, run.first, run.last);
        let living: Vec<_> = living.map(|object| Some(object.id.number)).chain([None]).collect();
        let mut first = Some(run.first);
        let mut is_news = false;
        for next in living {
            let Some(start) = first.filter(|&start| start <= run.last) else { break };
            let last = next.map_or(Some(run.last), |next| next.checked_sub(1));
            if let Some(last) = last.filter(|&last| last >= start) {
                let part = Deaths { first: start, last, ..*run };
                if !self.tombstones.holds(&part) {
                    self.reported.bury_run(&part);
                    if from == run.creator {
                        self.tombstones.bury_run(&part);
                        is_news = true;
                    }
                }
            }
            first = next.and_then(|next| next.checked_add(1));
        }
        if is_news {
            let others = self.replicas.iter_mut().filter(|(peer, _)| **peer != from);
            others.for_each(|(_, replica)| replica.deaths_due = true);
        }
    }

    /// The stamp of the reported end of an object whose owner is linked and does not know of that end.
    pub(crate) fn contested(&self, id: ObjectId, stamp: Stamp, owner: PeerId) -> Option<Stamp> {
        let end = self.reported.stamp(id).filter(|&end| end >= stamp)?;
        (self.is_host() && self.replicas.contains_key(&owner)).then_some(end)
    }

    /// Grants the object to its owner under a stamp above that of the reported end, as if the host had known the
    /// object when the end was reported (PROTOCOL §4.2, rule 12).
    pub(crate) fn defend(&mut self, id: ObjectId, owner: PeerId, end: Stamp) {
        self.reported.exhume(id);
        self.outbid(id, owner, end);
    }
}
