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

    /// The longest time for which it stood still.
    pub(crate) const fn longest(&self) -> Duration {
        self.longest
    }
}

/// What members see of the beacon that is not their own.
#[derive(Debug, Default)]
pub(crate) struct Standstills(BTreeMap<ProcessId, Motion>);

impl Standstills {
    /// Something happened at a process.
    pub(crate) fn look(&mut self, now: Time, process: ProcessId, session: &Session, beacon: Kind) {
        if let Some(object) = session.objects().find(|object| object.traits().kind == beacon)
            && object.owner() != session.me()
        {
            self.0.entry(process).or_default().look(now, object.numbers());
        }
    }

    /// The longest of each.
    pub(crate) fn longest(&self) -> Vec<Duration> {
        self.0.values().map(Motion::longest).collect()
    }
}
