//! docs/recovery.md, "In short": a member on the losing side of a partition is told what it did alone.
//!
//! A process knows which of its changes others have acked. The checker knows more: it sees which values the others
//! have. So it can check the report.

use std::collections::{BTreeMap, BTreeSet};

use samovar_session::{Object, Session};
use samovar_wire::object::SAMPLE_UNIT;
use samovar_wire::{Duration, ObjectId, PeerId, SessionId, Time};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// The record of a process since it became a member: the processes that it met, and its objects.
#[derive(Debug)]
struct Life {
    member: (SessionId, PeerId),
    /// The process's last host.
    host: PeerId,
    /// The processes that were members under the same host at the same time.
    met: BTreeSet<ProcessId>,
    /// The objects that the process has: the time since which it has each object, and whether it owns the object.
    has: BTreeMap<ObjectId, (Time, bool)>,
    /// The objects that the process owned when they ended, with the times of their ends.
    went: BTreeMap<ObjectId, Time>,
    /// The objects whose changes the process's session reported as not seen by others.
    told: BTreeSet<ObjectId>,
}

impl Life {
    /// Records all objects of the process. Returns those of its own that ended since the last call.
    fn look(&mut self, now: Time, session: &Session) -> Vec<ObjectId> {
        let there: BTreeMap<_, _> =
            session.objects().map(|object| (object.id(), object.owner() == session.me())).collect();
        let went = self.has.extract_if(.., |id, _| !there.contains_key(id));
        // Only an object's owner knows whether others heard of its end, so only ends of own objects count.
        let went: Vec<_> = went.filter(|(_, (_, is_own))| *is_own).map(|(id, _)| id).collect();
        self.went.extend(went.iter().map(|&id| (id, now)));
        for (id, is_own) in there {
            self.has.entry(id).or_insert((now, is_own)).1 = is_own;
            self.went.remove(&id);
        }
        went
    }
}

/// The checker of divergence. It records what each process has seen.
#[derive(Debug, Default)]
pub(crate) struct Divergence {
    lives: BTreeMap<ProcessId, Life>,
    /// The last host of each process whose session is over.
    gone: BTreeMap<ProcessId, PeerId>,
    /// For each object under each owner, the processes that have seen it, and when the newest value that each has
    /// seen was sampled. The key has the owner and not the stamp, because a host may give its own object a newer
    /// stamp without a change of value.
    seen: BTreeMap<(SessionId, ObjectId, PeerId), BTreeMap<ProcessId, Time>>,
    /// The processes that owned an object at the moment when they saw it end. Not all of them ended it: a process
    /// that gave the object away may hear of the end before it hears of the new owner.
    ended: BTreeMap<(SessionId, ObjectId), BTreeSet<ProcessId>>,
}

impl Divergence {
    /// Records all objects of a member.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session) {
        let (id, me) = (session.warrant().session, session.me());
        let fresh = || Life {
            member: (id, me),
            host: session.host(),
            met: BTreeSet::new(),
            has: BTreeMap::new(),
            went: BTreeMap::new(),
            told: BTreeSet::new(),
        };
        // The host whose view the member has. A member that has only the warrant of another host is about to hear
        // that it is no member any more.
        let host = session.object(ObjectId::SESSION).map_or(session.host(), Object::owner);
        let together = self.lives.iter().filter(|(_, other)| (other.member.0, other.host) == (id, host));
        let together: Vec<_> = together.map(|(&other, _)| other).collect();
        let life = self.lives.entry(process).or_insert_with(fresh);
        if life.member != (id, me) {
            *life = fresh();
        }
        life.host = host;
        life.met.extend(together);
        let went = life.look(now, session);
        self.note_ends(id, process, &went);
        session.objects().for_each(|object| self.see(process, session, object));
    }

    fn note_ends(&mut self, session: SessionId, process: ProcessId, went: &[ObjectId]) {
        for &id in went {
            self.ended.entry((session, id)).or_default().insert(process);
        }
    }

    /// Notes that a member has seen an object, unless it owns the object.
    pub(crate) fn see(&mut self, process: ProcessId, session: &Session, object: &Object) {
        if object.owner() != session.me() {
            self.see_of(object.owner(), process, session, object);
        }
    }

    /// Notes that a member has a value of an object from this owner.
    pub(crate) fn see_of(&mut self, owner: PeerId, process: ProcessId, session: &Session, object: &Object) {
        let thing = (session.warrant().session, object.id(), owner);
        self.seen.entry(thing).or_default().insert(process, object.sampled());
    }

    /// Notes a new owner of an object at a process at once, because the object may end before the next look.
    pub(crate) fn note_owner(&mut self, process: ProcessId, id: ObjectId, is_own: bool) {
        if let Some(has) = self.lives.get_mut(&process).and_then(|life| life.has.get_mut(&id)) {
            has.1 = is_own;
        }
    }

    /// Notes the objects whose changes a process's session reported as not seen by others.
    pub(crate) fn tell(&mut self, process: ProcessId, objects: &[ObjectId]) {
        if let Some(life) = self.lives.get_mut(&process) {
            life.told.extend(objects);
        }
    }

    /// Checks the divergence report to a process that others removed because they went on under another host.
    pub(crate) fn judge(
        &mut self,
        now: Time,
        process: ProcessId,
        session: &Session,
        others: &[(ProcessId, &Session)],
    ) -> Result<(), Broken> {
        let Some(mut life) = self.lives.remove(&process) else { return Ok(()) };
        others.iter().for_each(|(other, session)| self.look(now, *other, session));
        let (id, me) = life.member;
        // The others went on if a process that this one met now hosts the same session. A host that began the session
        // anew does not count. A host of a lower term does not count either, because it was itself replaced.
        let went_on = |(process, other): &&(ProcessId, &Session)| {
            let is_host = other.is_host() && other.host() != life.host && other.term() >= session.term();
            other.warrant().session == id && is_host && life.met.contains(process)
        };
        let heir = others.iter().filter(went_on).max_by_key(|(_, other)| other.term());
        let Some(&(heir, theirs)) = heir.filter(|_| (session.warrant().session, session.me()) == (id, me))
        else {
            return Ok(());
        };
        self.gone.insert(process, life.host);
        let went = life.look(now, session);
        self.note_ends(id, process, &went);
        let broken = |id: ObjectId, what: &str| {
            let what = format!("process {process} was not told that only it had {what} object {id}");
            Err(Broken::new(Promise::Divergence, what))
        };
        // Processes whose last host is also the last host of the judged process do not count: they were on its side.
        let (lives, gone) = (&self.lives, &self.gone);
        let counts = |other: ProcessId| {
            let host = lives.get(&other).map(|theirs| theirs.host).or(gone.get(&other).copied());
            host.is_none_or(|host| host != life.host)
        };
        let own = session.objects().filter(|object| object.owner() == me && object.id() != ObjectId::SESSION);
        for object in own.filter(|object| !life.told.contains(&object.id())) {
            let Some(seen) = self.seen.get(&(id, object.id(), me)) else {
                return broken(object.id(), "taken or created");
            };
            let unit = Duration::from_micros(SAMPLE_UNIT);
            let is_seen = |(&other, &at): (&ProcessId, &Time)| counts(other) && at + unit > object.sampled();
            if !seen.iter().any(is_seen) {
                let what =
                    format!("changed at {:?}, seen up to {:?},", object.sampled(), seen.values().max());
                return broken(object.id(), &what);
            }
        }
        let has = lives.get(&heir).map(|life| &life.has);
        let is_anothers = |object| {
            let enders = self.ended.get(&(id, object));
            enders.is_some_and(|enders| enders.iter().any(|&ender| ender != process))
        };
        for (&id, &at) in life.went.iter().filter(|(id, _)| !life.told.contains(id)) {
            let was_there = has.and_then(|has| has.get(&id)).is_some_and(|&(since, _)| since <= at);
            if theirs.object(id).is_some() && was_there && !is_anothers(id) {
                return broken(id, &format!("ended at {at:?}"));
            }
        }
        Ok(())
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        if let Some(life) = self.lives.remove(&process) {
            self.gone.insert(process, life.host);
        }
    }
}
