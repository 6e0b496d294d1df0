//! Measures recovery: the time from the old host's last packet until the beacon (the object that hosts keep moving)
//! moves under a new host at every survivor. The *gap* is the longest time for which the beacon stands still at a
//! survivor.

use std::collections::BTreeMap;

use samovar_session::{Object, Session};
use samovar_wire::{Duration, Kind, PeerId, Term, Time};

use super::standstill::Motion;
use crate::game::ProcessId;

/// The progress of one survivor's recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Survivor {
    /// Whether this survivor has seen the beacon under an owner that is not lost.
    is_taken: bool,
    /// Whether the beacon has moved since then.
    is_moving: bool,
    motion: Motion,
}

impl Survivor {
    /// Takes the beacon's present numbers. `is_alive` says that its owner is not a lost host.
    fn look(&mut self, now: Time, numbers: &[i32], is_alive: bool) {
        if self.motion.look(now, numbers) {
            self.is_moving = self.is_taken && is_alive;
        }
        self.is_taken |= is_alive;
    }
}

/// The time from the loss of a host until the beacon moves again at all survivors.
#[derive(Debug)]
pub(crate) struct Crisis {
    /// When the old host sent its last packet.
    pub(crate) since: Time,
    /// The lost hosts and their terms. A host that handed over may host again, under a later term.
    lost: Vec<(PeerId, Term)>,
    survivors: BTreeMap<ProcessId, Survivor>,
    /// Whether the recovery is measured: the network was fair when the host was lost.
    pub(crate) is_clean: bool,
    /// The end of the watch, if the host stays and its beacon is only watched.
    watched_until: Option<Time>,
}

impl Crisis {
    /// The survivors at which the beacon has not moved yet.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = ProcessId> {
        self.survivors.iter().filter(|(_, survivor)| !survivor.is_moving).map(|(&process, _)| process)
    }

    fn is_over(&self, now: Time) -> bool {
        self.watched_until.map_or_else(|| self.survivors.values().all(|s| s.is_moving), |end| end <= now)
    }
}

/// The figures of one recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// From the old host's last packet until the beacon had moved under a new host at every survivor.
    pub time: Duration,
    /// The longest time for which the beacon stood still at a survivor.
    pub gap: Duration,
}

/// All crises of a run.
#[derive(Debug, Default)]
pub(crate) struct Recoveries {
    pub(crate) crisis: Option<Crisis>,
    pub(crate) times: Vec<Recovery>,
}

impl Recoveries {
    /// Begins to measure the recovery from the loss of a host. An unfinished recovery becomes a part of this one. Time
    /// counts from `now`.
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
        // If no member followed the host yet, there is no survivor to wait for, and the crisis ends at once.
        self.conclude(now);
    }

    /// Notes that the host stays. Its beacon is watched for this time as if the host were lost.
    pub(crate) fn only_watch(&mut self, lasts: Duration) {
        if let Some(crisis) = &mut self.crisis {
            crisis.watched_until = Some(crisis.since + lasts);
            crisis.lost.clear();
        }
    }

    /// Notes that a process ended or stopped, so that it is not a survivor any more.
    pub(crate) fn forget(&mut self, now: Time, process: ProcessId) {
        if let Some(crisis) = &mut self.crisis {
            crisis.survivors.remove(&process);
        }
        self.conclude(now);
    }

    /// Looks at the beacon at a process, each time that its driver has run.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session, beacon: Kind) {
        let Some(crisis) = &mut self.crisis else { return };
        let Some(survivor) = crisis.survivors.get_mut(&process) else { return };
        let hosts_again = |host, term| session.host() == host && session.term() > term;
        let lost = crisis.lost.iter().filter(|&&(host, term)| !hosts_again(host, term));
        let is_alive = |object: &Object| !lost.clone().any(|&(host, _)| object.owner() == host);
        let mut beacons = session.objects().filter(|object| object.traits().kind == beacon);
        // There may be two beacons for a moment, if a new host had not heard of the old beacon.
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
