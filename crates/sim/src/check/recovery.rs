//! How long a session stands still when its host is gone: from the old host's last packet until the object that hosts
//! keep moving moves under a new one, at every member that is still there.

use std::collections::BTreeMap;

use samovar_session::{Object, Session};
use samovar_wire::{Duration, Kind, PeerId, Time};

use crate::game::ProcessId;

/// How far a survivor is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The beacon is the old host's.
    Waiting,
    /// It has another owner and showed this.
    Taken(Vec<i32>),
    /// It moves.
    Moving,
}

/// A host is gone and not everybody has gone on yet.
#[derive(Debug)]
pub(crate) struct Crisis {
    /// When the old host was heard of last; in a planned change, when each survivor's beacon moved last.
    pub(crate) since: Time,
    /// The hosts that are gone.
    lost: Vec<PeerId>,
    survivors: BTreeMap<ProcessId, Stage>,
    /// Whether the figure is worth keeping: nothing else was wrong.
    pub(crate) is_clean: bool,
}

/// All crises of a run.
#[derive(Debug, Default)]
pub(crate) struct Recoveries {
    pub(crate) crisis: Option<Crisis>,
    pub(crate) times: Vec<Duration>,
}

impl Recoveries {
    /// A host is gone. While nobody has succeeded an earlier one this is the same crisis, and counts from here.
    pub(crate) fn begin(&mut self, now: Time, host: PeerId, survivors: Vec<ProcessId>, is_clean: bool) {
        let mut lost = vec![host];
        if let Some(former) = self.crisis.take() {
            lost.extend(former.lost);
        }
        let survivors = survivors.into_iter().map(|process| (process, Stage::Waiting)).collect();
        self.crisis = Some(Crisis { since: now, lost, survivors, is_clean });
    }

    /// A process is gone, or does not take part.
    pub(crate) fn forget(&mut self, now: Time, process: ProcessId) {
        if let Some(crisis) = &mut self.crisis {
            crisis.survivors.remove(&process);
        }
        self.conclude(now);
    }

    /// Something happened at a process.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session, beacon: Kind) {
        let Some(crisis) = &mut self.crisis else { return };
        let Some(stage) = crisis.survivors.get_mut(&process) else { return };
        let is_alive =
            |object: &&Object| object.traits().kind == beacon && !crisis.lost.contains(&object.owner());
        let Some(object) = session.objects().find(is_alive) else { return };
        match stage {
            Stage::Waiting => *stage = Stage::Taken(object.numbers().to_vec()),
            Stage::Taken(numbers) if *numbers != object.numbers() => {
                *stage = Stage::Moving;
                self.conclude(now);
            }
            Stage::Taken(_) | Stage::Moving => {}
        }
    }

    fn conclude(&mut self, now: Time) {
        let done = |crisis: &mut Crisis| crisis.survivors.values().all(|stage| *stage == Stage::Moving);
        if let Some(crisis) = self.crisis.take_if(done)
            && crisis.is_clean
            && !crisis.survivors.is_empty()
        {
            self.times.push(now.since(crisis.since));
        }
    }
}
