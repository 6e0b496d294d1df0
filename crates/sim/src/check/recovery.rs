//! How long a session stands still when its host is gone: from the old host's last packet until the object that hosts
//! keep moving moves under a new one, at every member that is still there. And the *gap*: how long that object stands still
//! at a member at the most.

use std::collections::BTreeMap;

use samovar_session::{Object, Session};
use samovar_wire::{Duration, Kind, PeerId, Term, Time};

use super::standstill::Motion;
use crate::game::ProcessId;

/// How far a survivor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Survivor {
    /// It has shown the beacon under another owner.
    is_taken: bool,
    /// Since then the beacon has moved.
    is_moving: bool,
    motion: Motion,
}

impl Survivor {
    /// The beacon is this now, of an owner that lives or not.
    fn look(&mut self, now: Time, numbers: &[i32], is_alive: bool) {
        if self.motion.look(now, numbers) {
            self.is_moving = self.is_taken && is_alive;
        }
        self.is_taken |= is_alive;
    }
}

/// A host is gone and not everybody has gone on yet.
#[derive(Debug)]
pub(crate) struct Crisis {
    /// When the old host was heard of last.
    pub(crate) since: Time,
    /// The hosts that are gone, and their terms: who handed over may host again.
    lost: Vec<(PeerId, Term)>,
    survivors: BTreeMap<ProcessId, Survivor>,
    /// Whether the figure is worth keeping: nothing else was wrong.
    pub(crate) is_clean: bool,
    /// Nothing happens to the host, and until then its objects are watched.
    watched_until: Option<Time>,
}

impl Crisis {
    /// The survivors at which nothing that hosts move has moved yet.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = ProcessId> {
        self.survivors.iter().filter(|(_, survivor)| !survivor.is_moving).map(|(&process, _)| process)
    }

    fn is_over(&self, now: Time) -> bool {
        self.watched_until.map_or_else(|| self.survivors.values().all(|s| s.is_moving), |end| end <= now)
    }
}

/// How a session went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// From the old host's last packet until the beacon had moved under a new one at every survivor.
    pub time: Duration,
    /// The longest time for which it stood still at one of them.
    pub gap: Duration,
}

/// All crises of a run.
#[derive(Debug, Default)]
pub(crate) struct Recoveries {
    pub(crate) crisis: Option<Crisis>,
    pub(crate) times: Vec<Recovery>,
}

impl Recoveries {
    /// A host is gone. While nobody has succeeded an earlier one this is the same crisis, and counts from here.
    pub(crate) fn begin(
        &mut self,
        now: Time,
        host: (PeerId, Term),
        survivors: Vec<ProcessId>,
        is_clean: bool,
    ) {
        let mut lost = vec![host];
        if let Some(former) = self.crisis.take() {
            lost.extend(former.lost);
        }
        let survivors = survivors.into_iter().map(|process| (process, Survivor::default())).collect();
        self.crisis = Some(Crisis { since: now, lost, survivors, is_clean, watched_until: None });
        // Who is followed by nobody yet is waited for by nobody.
        self.conclude(now);
    }

    /// The host lives and goes on: for so long its objects are watched as if it had gone.
    pub(crate) fn only_watch(&mut self, lasts: Duration) {
        if let Some(crisis) = &mut self.crisis {
            crisis.watched_until = Some(crisis.since + lasts);
            crisis.lost.clear();
        }
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
        let Some(survivor) = crisis.survivors.get_mut(&process) else { return };
        let hosts_again = |host, term| session.host() == host && session.term() > term;
        let lost = crisis.lost.iter().filter(|&&(host, term)| !hosts_again(host, term));
        let is_alive = |object: &Object| !lost.clone().any(|&(host, _)| object.owner() == host);
        let mut beacons = session.objects().filter(|object| object.traits().kind == beacon);
        // There may be two for a moment, when a new host had not heard of the old one's.
        let Some(first) = beacons.next() else { return };
        let object = core::iter::once(first).chain(beacons).find(|object| is_alive(object)).unwrap_or(first);
        survivor.look(now, object.numbers(), is_alive(object));
        self.conclude(now);
    }

    fn conclude(&mut self, now: Time) {
        if let Some(crisis) = self.crisis.take_if(|crisis| crisis.is_over(now))
            && crisis.is_clean
            && let Some(gap) = crisis.survivors.values().map(|survivor| survivor.motion.longest()).max()
        {
            self.times.push(Recovery { time: now.since(crisis.since), gap });
        }
    }
}
