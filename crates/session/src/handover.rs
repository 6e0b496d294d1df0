//! A host that goes, or does worse than another would, hands over; and what the host knows of everybody's fitness for that.

use samovar_roster::View;
use samovar_wire::control::{PeerControl, Standing};
use samovar_wire::{Duration, PeerId, Time};

use crate::Session;

/// For so long a new host sends updates four times as often, since everybody waits for the first that arrives; and twice as
/// long a host that hands over, so that hardly any is lost before.
pub(crate) const HURRY: Duration = Duration::from_millis(120);

impl Session {
    /// This host wants somebody else to go on: it will be closed, hidden, or powerless soon. Its first backup takes over,
    /// or else whoever is next; this peer is host until then, and a member afterwards. `false` when it is not the
    /// host, or nobody is there to go on.
    pub fn hand_over(&mut self, now: Time) -> bool {
        self.hand_over_to(now, |_, _| true)
    }

    /// The same for a host that need not go: only to a member whose game makes steps.
    pub fn hand_over_to_player(&mut self, now: Time) -> bool {
        self.hand_over_to(now, |view, peer| !view.is_still(peer))
    }

    fn hand_over_to(&mut self, now: Time, fits: impl Fn(&View, PeerId) -> bool) -> bool {
        self.pass(now);
        if !self.is_host() || !self.core.config.rules.migrates {
            return false;
        }
        let (core, view) = (&self.core, self.core.view());
        let (_, doubted) = core.lives(now);
        let line = view.succession(core.me());
        let is_there = |peer: &&PeerId| !doubted.contains(peer) && fits(view, **peer);
        // The relay makes nobody host that it does not reach.
        let reached = line.iter().find(|peer| is_there(peer) && !core.roster.is_gone(now, **peer));
        let Some(&heir) = reached.or_else(|| line.iter().find(is_there)) else { return false };
        self.core.stir();
        self.core.net.hurries_until = now + HURRY.times(2);
        self.core.roster.resign(now, heir);
        // The page may be closed in the next moment.
        self.look(now);
        true
    }

    /// Whether somebody else hosts, and has taken all that goes with the host. Until then a former host that is still here
    /// owns it, and may go on moving it.
    #[must_use]
    pub fn is_succeeded(&self) -> bool {
        let is_left =
            |object: &samovar_objects::Object| object.owner() == self.me() && object.traits().with_host;
        self.host() != self.me() && !self.objects.iter().any(is_left)
    }

    /// Says that the game makes a step. It does so with every frame or tick, whether it is host or not, and from the first
    /// one on its steps are waited for: see [`crate::Rules::steps_within`]. [`Session::lockstep`] says so as well.
    pub fn stepped(&mut self, now: Time) {
        if self.steps.step() {
            self.core.stir();
            self.tell_standing(now);
        }
    }

    /// Whether the game of this peer has made no step for three quarters of what the rules say.
    #[must_use]
    pub const fn stands_still(&self) -> bool {
        self.steps.is_still()
    }

    /// Tells the session how fit this peer is to host: whether its page is visible, and how many members it reaches
    /// directly. The host publishes it, and everybody ranks by it. Whether its game makes steps the session knows itself.
    pub fn set_standing(&mut self, now: Time, standing: Standing) {
        let is_other_presence = self.steps.set(standing);
        self.tell_standing(now);
        if is_other_presence {
            // The browser may stop a hidden page in the next moment.
            self.review_steps(now);
        }
    }

    fn tell_standing(&mut self, now: Time) {
        let Some(standing) = self.steps.news(self.term()) else { return };
        self.core.stir();
        if self.is_host() {
            self.note_standing(now, self.me(), standing);
        } else {
            self.core.send_control(self.host(), &PeerControl::Standing(standing));
            self.settle_accused(now);
        }
    }

    /// Says so when the game stands still. A host that does worse than another would hands over as soon as that one is
    /// there: one whose game stands still to anybody who plays, one that nobody sees to anybody who is seen.
    pub(crate) fn review_steps(&mut self, now: Time) {
        let within = self.core.config.rules.steps_within;
        let is_over = within.is_some_and(|within| self.steps.stands(within));
        if self.steps.review(within) {
            self.core.stir();
            self.tell_standing(now);
        }
        if !self.is_host() || self.core.roster.heir().is_some() {
            return;
        }
        if is_over {
            self.hand_over_to_player(now);
        } else if self.steps.is_hidden() {
            self.hand_over_to(now, |view, peer| view.is_visible(peer));
        }
    }
}
