//! Whether the game of this peer goes on (DESIGN §5.12): its steps are counted, not its packets.
//!
//! A page whose frames are withheld, or whose game waits for something, answers the others as ever. Nobody misses it, and
//! what only a host decides stands still for all. So its session counts the time since the game's last step, as far as the
//! driver ran meanwhile: a process that does not run at all says so by its silence.

use samovar_wire::control::{PeerControl, Presence, Standing};
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{Duration, Time};

use super::{Session, timers};

/// What is known of this peer's game, and of its fitness to host.
#[derive(Debug)]
pub(super) struct Steps {
    /// For how long the driver has run since the last step; `None` before the first.
    since: Option<Duration>,
    is_still: bool,
    /// What the driver said last.
    standing: Standing,
}

impl Default for Steps {
    fn default() -> Self {
        let standing = Standing { presence: Presence::Visible, reach: 0 };
        Self { since: None, is_still: false, standing }
    }
}

impl Steps {
    /// So much time passed here. What is longer than a driver that runs ever waits, it did not run.
    pub(super) fn pass(&mut self, time: Duration) {
        if let Some(since) = &mut self.since {
            *since = *since + time.min(timers::AWAY);
        }
    }
}

impl Session {
    /// Says that the game makes a step. It does so with every frame or tick, whether it is host or not, and from the first
    /// one on its steps are waited for: see [`super::Rules::steps_within`]. [`Session::lockstep`] says so as well.
    pub fn stepped(&mut self, now: Time) {
        self.steps.since = Some(Duration::ZERO);
        if core::mem::take(&mut self.steps.is_still) {
            self.stir();
            self.tell_standing(now);
        }
    }

    /// Whether the game of this peer has made no step for three quarters of what the rules say.
    #[must_use]
    pub const fn stands_still(&self) -> bool {
        self.steps.is_still
    }

    /// Tells the session how fit this peer is to host: whether its page is visible, and how many members it reaches
    /// directly. The host publishes it, and everybody ranks by it. Whether its game makes steps the session knows itself.
    pub fn set_standing(&mut self, now: Time, standing: Standing) {
        let reach = standing.reach.min(MEMBERS_MAX as u8 - 1);
        let former = core::mem::replace(&mut self.steps.standing, Standing { reach, ..standing });
        self.tell_standing(now);
        if former.presence != standing.presence {
            // The browser may stop a hidden page in the next moment.
            self.review_steps(now);
        }
    }

    fn tell_standing(&mut self, now: Time) {
        let presence = if self.steps.is_still { Presence::Still } else { self.steps.standing.presence };
        let standing = Standing { presence, ..self.steps.standing };
        if self.told_standing.replace((self.term(), standing)) == Some((self.term(), standing)) {
            return;
        }
        self.stir();
        if self.is_host() {
            self.note_standing(now, self.config.me, standing);
        } else {
            self.send_control(now, self.host(), &PeerControl::Standing(standing));
        }
    }

    /// Says so when the game stands still. A host that does worse than another would hands over as soon as that one is
    /// there: one whose game stands still to anybody who plays, one that nobody sees to anybody who is seen.
    pub(super) fn review_steps(&mut self, now: Time) {
        let stands = |within: Duration| self.steps.since.is_some_and(|since| since >= within);
        let within = self.config.rules.steps_within;
        let is_still = within.is_some_and(|within| stands(within.times(3).half().half()));
        let is_over = within.is_some_and(stands);
        if is_still && !core::mem::replace(&mut self.steps.is_still, true) {
            self.stir();
            self.tell_standing(now);
        }
        if !self.is_host() || self.roster.heir().is_some() {
            return;
        }
        if is_over {
            self.hand_over_to_player(now);
        } else if self.steps.standing.presence == Presence::Hidden {
            self.hand_over_to(now, |view, peer| view.is_visible(peer));
        }
    }
}
