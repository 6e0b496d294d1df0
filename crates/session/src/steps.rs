//! Whether the game of this peer goes on (docs/recovery.md, promise 12): its steps are counted, not its packets.
//!
//! A page whose frames are withheld, or whose game waits for something, answers the others as ever. Nobody misses it, and
//! what only a host decides stands still for all. So its session counts the time since the game's last step, as far as the
//! driver ran meanwhile: a process that does not run at all says so by its silence.

use samovar_wire::control::{Presence, Standing};
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, Term};

use crate::core::watch::AWAY;

/// What is known of this peer's game, and of its fitness to host.
#[derive(Debug)]
pub(crate) struct Steps {
    /// For how long the driver has run since the last step; `None` before the first.
    since: Option<Duration>,
    is_still: bool,
    /// What the driver said last.
    standing: Standing,
    /// What the host of which term was told.
    told: Option<(Term, Standing)>,
}

impl Default for Steps {
    fn default() -> Self {
        let standing = Standing { presence: Presence::Visible, reach: 0 };
        Self { since: None, is_still: false, standing, told: None }
    }
}

impl Steps {
    /// So much time passed here. What is longer than a driver that runs ever waits, it did not run.
    pub(crate) fn pass(&mut self, time: Duration) {
        if let Some(since) = &mut self.since {
            *since = *since + time.min(AWAY);
        }
    }

    /// The game made a step; whether it had stood still.
    pub(crate) fn step(&mut self) -> bool {
        self.since = Some(Duration::ZERO);
        core::mem::take(&mut self.is_still)
    }

    pub(crate) const fn is_still(&self) -> bool {
        self.is_still
    }

    /// Whether nobody sees this peer's page.
    pub(crate) fn is_hidden(&self) -> bool {
        self.standing.presence == Presence::Hidden
    }

    /// The driver says how fit this peer is to host; whether its page was shown or hidden.
    pub(crate) fn set(&mut self, standing: Standing) -> bool {
        let reach = standing.reach.min(MEMBERS_MAX as u8 - 1);
        let former = core::mem::replace(&mut self.standing, Standing { reach, ..standing });
        former.presence != standing.presence
    }

    /// What the host is to be told, if it was not.
    pub(crate) fn news(&mut self, term: Term) -> Option<Standing> {
        let presence = if self.is_still { Presence::Still } else { self.standing.presence };
        let standing = Standing { presence, ..self.standing };
        (self.told.replace((term, standing)) != Some((term, standing))).then_some(standing)
    }

    /// Looks at how long ago the last step was; whether the game has begun to stand still.
    pub(crate) fn review(&mut self, within: Option<Duration>) -> bool {
        let is_still = within.is_some_and(|within| self.stands(within.times(3).half().half()));
        is_still && !core::mem::replace(&mut self.is_still, true)
    }

    /// Whether the game has made no step for so long.
    pub(crate) fn stands(&self, within: Duration) -> bool {
        self.since.is_some_and(|since| since >= within)
    }
}
