//! docs/recovery.md, promise 2: a stamp names one owner, and at every peer the stamps of an object only grow.

use std::collections::{BTreeMap, BTreeSet};

use samovar_session::Session;
use samovar_wire::{ObjectId, PeerId, SessionId, Stamp};

use crate::game::ProcessId;
use crate::promise::{Broken, Promise};

/// An object on one side of a partitioned session. The side is `None` if the rules do not let both sides play on.
type Thing = (SessionId, Option<PeerId>, ObjectId);

/// The owner of each object under each stamp that any peer ever showed.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    owners: BTreeMap<Thing, Vec<(Stamp, PeerId)>>,
    /// The newest stamp of each object at each process. Objects that were destroyed stay here, because only a newer
    /// stamp may bring them back.
    newest: BTreeMap<(ProcessId, SessionId, PeerId, ObjectId), Stamp>,
    /// The objects that each process showed last. An object that has not changed is not checked again.
    last: BTreeMap<ProcessId, Vec<Sight>>,
    /// Ownerships that lying members ([`Fault::Lie`](crate::Fault::Lie)) forged and no host granted. No member may
    /// believe one under the term in which it was forged.
    pub(crate) forged: BTreeSet<(SessionId, ObjectId, Stamp)>,
}

/// The ownership of one object, as a process shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sight {
    process: ProcessId,
    session: SessionId,
    side: Option<PeerId>,
    me: PeerId,
    id: ObjectId,
    stamp: Stamp,
    owner: PeerId,
}

impl Owners {
    /// Checks every object that a process has on its side of the session.
    pub(crate) fn look(
        &mut self,
        process: ProcessId,
        session: &Session,
        side: Option<PeerId>,
    ) -> Result<(), Broken> {
        let (id, me) = (session.warrant().session, session.me());
        let mut last = self.last.remove(&process).unwrap_or_default();
        let mut count = 0;
        for object in session.objects() {
            let (stamp, owner) = (object.stamp(), object.owner());
            let sight = Sight { process, session: id, side, me, id: object.id(), stamp, owner };
            if last.get(count) != Some(&sight) {
                if stamp.term == session.term() && self.forged.contains(&(id, sight.id, stamp)) {
                    let what =
                        format!("object {} is {owner}'s by the forged stamp {stamp:?} at {me}", sight.id);
                    return Err(Broken::new(Promise::OneOwner, what));
                }
                self.see(sight)?;
                last.truncate(count);
                last.push(sight);
            }
            count += 1;
        }
        last.truncate(count);
        self.last.insert(process, last);
        Ok(())
    }

    fn see(&mut self, sight: Sight) -> Result<(), Broken> {
        let Sight { process, session, side, me, id, stamp, owner } = sight;
        let known = self.owners.entry((session, side, id)).or_default();
        match known.binary_search_by_key(&stamp, |entry| entry.0) {
            Ok(at) if known[at].1 != owner => {
                let what =
                    format!("object {id} has the owners {} and {owner} by the stamp {stamp:?}", known[at].1);
                return Err(Broken::new(Promise::OneOwner, what));
            }
            Ok(_) => {}
            Err(at) => known.insert(at, (stamp, owner)),
        }
        let newest = self.newest.entry((process, session, me, id)).or_insert(stamp);
        if *newest > stamp {
            let what = format!("object {id} went from {newest:?} back to {stamp:?} at {me}");
            return Err(Broken::new(Promise::StampsGrow, what));
        }
        *newest = stamp;
        Ok(())
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.newest.retain(|key, _| key.0 != process);
        self.last.remove(&process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_wire::Term;
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn sight(process: ProcessId, counter: u32, owner: u32) -> Sight {
        let stamp = Stamp { term: Term(256), counter };
        let id = ObjectId { creator: PeerId(1), number: 1 };
        Sight { process, session: SessionId(1), side: None, me: PeerId(9), id, stamp, owner: PeerId(owner) }
    }

    #[test]
    fn two_owners_under_one_stamp_are_found() {
        let mut owners = Owners::default();
        assert_eq!(owners.see(sight(0, 1, 5)), Ok(()));
        assert_eq!(owners.see(sight(1, 2, 6)), Ok(()));
        assert_eq!(owners.see(sight(2, 1, 6)).unwrap_err().promise, Promise::OneOwner);
    }

    #[test]
    fn each_side_of_a_partition_has_its_own_owners() {
        let mut owners = Owners::default();
        let on = |side, process, owner| Sight { side: Some(PeerId(side)), ..sight(process, 1, owner) };
        assert_eq!(owners.see(on(1, 0, 5)), Ok(()));
        assert_eq!(owners.see(on(2, 1, 6)), Ok(()));
        assert_eq!(owners.see(on(2, 2, 5)).unwrap_err().promise, Promise::OneOwner);
    }

    #[test]
    fn stamp_that_shrinks_at_one_process_is_found() {
        let mut owners = Owners::default();
        assert_eq!(owners.see(sight(0, 2, 6)), Ok(()));
        assert_eq!(owners.see(sight(1, 1, 5)), Ok(()));
        assert_eq!(owners.see(sight(0, 1, 5)).unwrap_err().promise, Promise::StampsGrow);
        owners.forget(0);
        assert_eq!(owners.see(sight(0, 1, 5)), Ok(()));
    }
}
