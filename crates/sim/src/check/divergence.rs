//! docs/recovery.md, "In short": who was on the side that did not go on is told what it did alone.
//!
//! A process knows only what others have said that they received; the world knows what they have seen.

use std::collections::{BTreeMap, BTreeSet};

use samovar_session::{Object, Session};
use samovar_wire::object::SAMPLE_UNIT;
use samovar_wire::{Duration, ObjectId, PeerId, SessionId, Time};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// What a process has had since it became a member.
#[derive(Debug)]
struct Life {
    member: (SessionId, PeerId),
    /// Whom it lived under last.
    host: PeerId,
    /// Who was a member under the same host as it.
    met: BTreeSet<ProcessId>,
    /// Since when it has had what it has, and whether that is its own.
    has: BTreeMap<ObjectId, (Time, bool)>,
    /// When what was its own went.
    went: BTreeMap<ObjectId, Time>,
    /// What it was told that others did not see.
    told: BTreeSet<ObjectId>,
}

impl Life {
    /// Looks at everything that is there; which of what was its own went.
    fn look(&mut self, now: Time, session: &Session) -> Vec<ObjectId> {
        let there: BTreeMap<_, _> =
            session.objects().map(|object| (object.id(), object.owner() == session.me())).collect();
        let went = self.has.extract_if(.., |id, _| !there.contains_key(id));
        // Whether others have heard how another's object ended its owner knows.
        let went: Vec<_> = went.filter(|(_, (_, is_own))| *is_own).map(|(id, _)| id).collect();
        self.went.extend(went.iter().map(|&id| (id, now)));
        for (id, is_own) in there {
            self.has.entry(id).or_insert((now, is_own)).1 = is_own;
            self.went.remove(&id);
        }
        went
    }
}

/// Who has seen what.
#[derive(Debug, Default)]
pub(crate) struct Divergence {
    lives: BTreeMap<ProcessId, Life>,
    /// Whom those lived under last whose session is over.
    gone: BTreeMap<ProcessId, PeerId>,
    /// When the newest value of each owner was sampled that somebody else has seen. By owner and not by stamp: a host may
    /// give its own object a newer stamp, and nothing of it changes.
    seen: BTreeMap<(SessionId, ObjectId, PeerId), BTreeMap<ProcessId, Time>>,
    /// Whose own an object was when it went. Who gave it away, and heard of its end before it heard that it had, did not end it.
    ended: BTreeMap<(SessionId, ObjectId), BTreeSet<ProcessId>>,
}

impl Divergence {
    /// Looks at everything that a member has.
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
        // Whose view it lives by: one that only has a warrant of another host is about to be told that it is out.
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

    /// Looks at one object of a member.
    pub(crate) fn see(&mut self, process: ProcessId, session: &Session, object: &Object) {
        if object.owner() != session.me() {
            self.see_of(object.owner(), process, session, object);
        }
    }

    /// A member has what an owner said of an object.
    pub(crate) fn see_of(&mut self, owner: PeerId, process: ProcessId, session: &Session, object: &Object) {
        let thing = (session.warrant().session, object.id(), owner);
        self.seen.entry(thing).or_default().insert(process, object.sampled());
    }

    /// An object has another owner at a process: it may end before all is looked at again.
    pub(crate) fn note_owner(&mut self, process: ProcessId, id: ObjectId, is_own: bool) {
        if let Some(has) = self.lives.get_mut(&process).and_then(|life| life.has.get_mut(&id)) {
            has.1 = is_own;
        }
    }

    /// A process was told what others did not see.
    pub(crate) fn tell(&mut self, process: ProcessId, objects: &[ObjectId]) {
        if let Some(life) = self.lives.get_mut(&process) {
            life.told.extend(objects);
        }
    }

    /// A process is no member any more since others went on under another host.
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
        // Who began the session anew goes on with nothing, and who has not heard of this one's term has been left behind itself.
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
        // Whoever lives under another host by now, or did so last.
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
