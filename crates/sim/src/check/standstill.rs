//! How long what the host moves stands still at others while paths come and go.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{Duration, Kind, Time};

use crate::game::ProcessId;

/// Something that moves, as one member sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Motion {
    numbers: Vec<i32>,
    moved: Option<Time>,
    longest: Duration,
}

impl Motion {
    /// It is this now; whether that is news.
    pub(crate) fn look(&mut self, now: Time, numbers: &[i32]) -> bool {
        let is_news = self.numbers != numbers;
        if is_news {
            self.longest = self.longest.max(self.moved.map_or(Duration::ZERO, |moved| now.since(moved)));
            self.moved = Some(now);
            self.numbers = numbers.to_vec();
        }
        is_news
    }

    /// What was is forgotten; for how long it has stood still now is not.
    const fn restart(&mut self) {
        self.longest = Duration::ZERO;
    }

    /// The longest time for which it stood still.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }

    /// The same, as it stands still now counted in.
    fn longest_until(&self, now: Time) -> Duration {
        self.longest.max(self.moved.map_or(Duration::ZERO, |moved| now.since(moved)))
    }
}

/// How long what a step up the ladder causes is watched.
const RISE_LASTS: Duration = Duration::from_millis(500);

/// What members see of the beacon that is not their own.
#[derive(Debug, Default)]
pub(crate) struct Standstills {
    motions: BTreeMap<ProcessId, Motion>,
    /// Whose path got direct, and until when that is watched.
    rising: BTreeMap<ProcessId, Time>,
    at_rises: Vec<Duration>,
}

impl Standstills {
    /// Something happened at a process.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session, beacon: Kind) {
        if let Some(object) = session.objects().find(|object| object.traits().kind == beacon) {
            if object.owner() == session.me() {
                // It does not come by any path.
                self.motions.entry(process).and_modify(|motion| motion.moved = None);
                return;
            }
            let motion = self.motions.entry(process).or_default();
            motion.look(now, object.numbers());
            if self.rising.get(&process).is_some_and(|&until| until <= now) {
                self.rising.remove(&process);
                self.at_rises.push(motion.longest_until(now));
            }
        }
    }

    /// A process's path to the host gets direct.
    pub(crate) fn rise(&mut self, now: Time, process: ProcessId) {
        if let Some(motion) = self.motions.get_mut(&process)
            && !self.rising.contains_key(&process)
        {
            motion.restart();
            self.rising.insert(process, now + RISE_LASTS);
        }
    }

    /// Nothing is watched from now on: what stands still does so until now.
    pub(crate) fn end(&mut self, now: Time) {
        for (process, motion) in &mut self.motions {
            motion.longest = motion.longest_until(now);
            if self.rising.remove(process).is_some() {
                self.at_rises.push(motion.longest);
            }
        }
    }

    /// The longest of each, or of each time that its path got direct.
    pub(crate) fn longest(&self, at_rises: bool) -> Vec<Duration> {
        if at_rises { self.at_rises.clone() } else { self.motions.values().map(Motion::longest).collect() }
    }
}
