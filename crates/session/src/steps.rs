//! Whether the game of this peer makes steps (docs/recovery.md, promise 12). Its steps count, not its packets.
//!
//! A page whose frames the browser withholds, or whose game waits for something, still answers the other members, so
//! no member misses it. But if such a page hosts, everything that only a host decides stands still. So its session
//! counts the time since the game's last step, as far as the driver ran meanwhile. A process that does not run at all
//! is silent, and is missed for its silence.

use samovar_wire::control::{Presence, Standing};
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, Term};

use crate::core::watch::AWAY;

/// The steps of this peer's game, and this peer's fitness to host.
#[derive(Debug)]
pub(crate) struct Steps {
    /// For how long the driver has run since the last step; `None` before the first.
    since: Option<Duration>,
    is_still: bool,
    /// The standing that the driver gave last.
    standing: Standing,
    /// The term and the standing that a host was told last.
    told: Option<(Term, Standing)>,
}

impl Default for Steps {
    fn default() -> Self {
        let standing = Standing { presence: Presence::Visible, reach: 0 };
        Self { since: None, is_still: false, standing, told: None }
    }
}

impl Steps {
    /// Notes that time passed. A driver that runs never waits for longer than [`AWAY`], so only that much of a longer
    /// time counts.
    pub(crate) fn pass(&mut self, time: Duration) {
        if let Some(since) = &mut self.since {
            *since = *since + time.min(AWAY);
        }
    }

    /// Notes a step of the game. Returns whether the game had stood still.
    pub(crate) fn step(&mut self) -> bool {
        self.since = Some(Duration::ZERO);
        core::mem::take(&mut self.is_still)
    }

    pub(crate) const fn is_still(&self) -> bool {
        self.is_still
    }

    /// Whether this peer's page is hidden.
    pub(crate) fn is_hidden(&self) -> bool {
        self.standing.presence == Presence::Hidden
    }

    /// Takes the driver's word on how fit this peer is to host. Returns whether its page was shown or hidden since
    /// the last call.
    pub(crate) fn set(&mut self, standing: Standing) -> bool {
        let reach = standing.reach.min(MEMBERS_MAX as u8 - 1);
        let former = core::mem::replace(&mut self.standing, Standing { reach, ..standing });
        former.presence != standing.presence
    }

    /// The standing to tell the host; `None` if the host was told it in this term.
    pub(crate) fn news(&mut self, term: Term) -> Option<Standing> {
        let presence = if self.is_still { Presence::Still } else { self.standing.presence };
        let standing = Standing { presence, ..self.standing };
        (self.told.replace((term, standing)) != Some((term, standing))).then_some(standing)
    }

    /// Checks how long ago the last step was. Returns whether the game has just begun to stand still.
    pub(crate) fn review(&mut self, within: Option<Duration>) -> bool {
        let is_still = within.is_some_and(|within| self.stands(within.times(3).half().half()));
        is_still && !core::mem::replace(&mut self.is_still, true)
    }

    /// Whether the game has made no step within this time.
    pub(crate) fn stands(&self, within: Duration) -> bool {
        self.since.is_some_and(|since| since >= within)
    }
}
