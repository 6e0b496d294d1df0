//! Measures how long the beacon stands still at members that do not own it while paths come and go.

use std::collections::BTreeMap;

use samovar_session::Session;
use samovar_wire::{Duration, Kind, Time};

use crate::game::ProcessId;

/// The beacon's motion, as one member sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Motion {
    numbers: Vec<i32>,
    moved: Option<Time>,
    longest: Duration,
}

impl Motion {
    /// Takes the beacon's present numbers. Returns whether they are new.
    pub(crate) fn look(&mut self, now: Time, numbers: &[i32]) -> bool {
        let is_news = self.numbers != numbers;
        if is_news {
            self.longest = self.longest.max(self.moved.map_or(Duration::ZERO, |moved| now.since(moved)));
            self.moved = Some(now);
            self.numbers = numbers.to_vec();
        }
        is_news
    }

    /// Forgets former standstills, but not the present one.
    const fn restart(&mut self) {
        self.longest = Duration::ZERO;
    }

    /// The longest former standstill.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }

    /// The longest standstill, the present one included.
    fn longest_until(&self, now: Time) -> Duration {
        self.longest.max(self.moved.map_or(Duration::ZERO, |moved| now.since(moved)))
    }
}

/// The time for which a member is watched after its path to the host became direct.
const RISE_LASTS: Duration = Duration::from_millis(500);

/// The beacon's motion at members that do not own it.
#[derive(Debug, Default)]
pub(crate) struct Standstills {
    motions: BTreeMap<ProcessId, Motion>,
    /// Members whose path to the host became direct, and the times until which they are watched.
    rising: BTreeMap<ProcessId, Time>,
    at_rises: Vec<Duration>,
}

impl Standstills {
    /// Looks at the beacon at a process, each time that its driver has run.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session, beacon: Kind) {
        if let Some(object) = session.objects().find(|object| object.traits().kind == beacon) {
            if object.owner() == session.me() {
                // No path carries a member's own beacon, so it does not count.
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

    /// Notes that a process's path to the host became direct.
    pub(crate) fn rise(&mut self, now: Time, process: ProcessId) {
        if let Some(motion) = self.motions.get_mut(&process)
            && !self.rising.contains_key(&process)
        {
            motion.restart();
            self.rising.insert(process, now + RISE_LASTS);
        }
    }

    /// Ends the measurement. A standstill that goes on counts up to now.
    pub(crate) fn end(&mut self, now: Time) {
        for (process, motion) in &mut self.motions {
            motion.longest = motion.longest_until(now);
            if self.rising.remove(process).is_some() {
                self.at_rises.push(motion.longest);
            }
        }
    }

    /// Returns the longest standstill of each member. With `at_rises`, returns one for each time that a member's path
    /// became direct.
    pub(crate) fn longest(&self, at_rises: bool) -> Vec<Duration> {
        if at_rises { self.at_rises.clone() } else { self.motions.values().map(Motion::longest).collect() }
    }
}
