//! DESIGN §5.2: a stamp names one owner; at every peer the stamps of an object only grow.

use std::collections::BTreeMap;

use samovar_session::{Object, Session};
use samovar_wire::{ObjectId, PeerId, SessionId, Stamp};

use super::{Broken, Promise};
use crate::game::ProcessId;

/// Who owned what by which stamp, as any peer ever saw it.
#[derive(Debug, Default)]
pub(crate) struct Owners {
    owners: BTreeMap<(SessionId, ObjectId), Vec<(Stamp, PeerId)>>,
    /// The newest stamp that each process has shown of each object. Destroyed ones stay: they may be brought back only
    /// by newer ones.
    newest: BTreeMap<(ProcessId, SessionId, PeerId, ObjectId), Stamp>,
}

impl Owners {
    /// Looks at every object that a process has.
    pub(crate) fn look(&mut self, process: ProcessId, session: &Session) -> Result<(), Broken> {
        session.objects().try_for_each(|object| self.see(process, session, object))
    }

    fn see(&mut self, process: ProcessId, session: &Session, object: &Object) -> Result<(), Broken> {
        let (id, stamp, owner) = (object.id(), object.stamp(), object.owner());
        let known = self.owners.entry((session.warrant().session, id)).or_default();
        match known.binary_search_by_key(&stamp, |entry| entry.0) {
            Ok(at) if known[at].1 != owner => {
                let what =
                    format!("object {id} has the owners {} and {owner} by the stamp {stamp:?}", known[at].1);
                return Err(Broken::new(Promise::OneOwner, what));
            }
            Ok(_) => {}
            Err(at) => known.insert(at, (stamp, owner)),
        }
        let key = (process, session.warrant().session, session.me(), id);
        let newest = self.newest.entry(key).or_insert(stamp);
        if *newest > stamp {
            let what = format!("object {id} went from {newest:?} back to {stamp:?} at {}", session.me());
            return Err(Broken::new(Promise::StampsGrow, what));
        }
        *newest = stamp;
        Ok(())
    }

    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.newest.retain(|key, _| key.0 != process);
    }
}
