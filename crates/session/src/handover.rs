//! Hand-over: a host that goes, or is less fit than another member, passes on its office. Members tell the host how fit
//! they are.

use samovar_roster::View;
use samovar_wire::control::{PeerControl, Standing};
use samovar_wire::{Duration, PeerId, Time};

use crate::Session;

/// A new host sends updates four times as often for this long, since all members wait for its first update. A host
/// that hands over does so for twice as long, so that its last updates arrive.
pub(crate) const HURRY: Duration = Duration::from_millis(120);

impl Session {
    /// Hands over, for a host that will soon be closed, hidden, or without power. The first backup takes over, or
    /// else the next in line. This peer hosts until then, and is a member afterwards. Returns `false` when this peer
    /// is not the host, the rules allow no successor, or no member can take over. If all others join yet and have no
    /// state, this peer hands over as soon as one of them has it.
    pub fn hand_over(&mut self, now: Time) -> bool {
        if self.hand_over_to(now, |_, _| true) {
            return true;
        }
        let has_newcomer = self.core.net.links().any(|(_, link)| link.is_answering(now) && !link.joined);
        let will_have_heir = has_newcomer && self.is_host() && self.core.config.rules.migrates;
        self.desk.hands_over |= will_have_heir;
        will_have_heir
    }

    /// Hands over as [`Session::hand_over`] does, but only to a member whose game makes steps. A host that need not
    /// go calls this.
    pub fn hand_over_to_player(&mut self, now: Time) -> bool {
        self.hand_over_to(now, |view, peer| !view.is_still(peer))
    }

    fn hand_over_to(&mut self, now: Time, fits: impl Fn(&View, PeerId) -> bool) -> bool {
        self.pass(now);
        if !self.is_host() || !self.core.config.rules.migrates {
            return false;
        }
        if self.core.roster.heir().is_some() {
            return true;
        }
        let (core, view) = (&self.core, self.core.view());
        let (_, doubted) = core.lives(now);
        let line = view.succession(core.me());
        let is_there = |peer: &&PeerId| !doubted.contains(peer) && fits(view, **peer);
        // The relay cannot make a peer the host while it does not reach that peer.
        let reached = line.iter().find(|peer| is_there(peer) && !core.roster.is_gone(now, **peer));
        let Some(&heir) = reached.or_else(|| line.iter().find(is_there)) else { return false };
        self.core.stir();
        self.core.net.hurries_until = now + HURRY.times(2);
        self.core.roster.resign(now, heir);
        self.desk.hands_over = false;
        // Acts at once, since the page may be closed in the next moment.
        self.look(now);
        true
    }

    /// Whether another peer hosts, and owns all objects that go with the host. Until then a former host still owns
    /// them, and may keep moving them.
    #[must_use]
    pub fn is_succeeded(&self) -> bool {
        let is_left =
            |object: &samovar_objects::Object| object.owner() == self.me() && object.traits().with_host;
        self.host() != self.me() && !self.objects.iter().any(is_left)
    }

    /// Notes a step of the game. A game calls this with every frame or tick, whether its peer hosts or not. From the
    /// first call on, steps are expected: see [`crate::Rules::steps_within`]. [`Session::lockstep`] counts as a step,
    /// too.
    pub fn stepped(&mut self, now: Time) {
        if self.steps.step() {
            self.core.stir();
            self.tell_standing(now);
        }
    }

    /// Whether the game of this peer has made no step for three quarters of the time that the rules give it.
    #[must_use]
    pub const fn stands_still(&self) -> bool {
        self.steps.is_still()
    }

    /// Tells the session how fit this peer is to host: whether its page is visible, and how many members it reaches
    /// directly. The host publishes this standing, and all members rank candidates by it. The session knows by itself
    /// whether the game makes steps.
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

    /// Tells the host when this peer's game stands still. A host whose game stands still hands over as soon as there is
    /// a member whose game does not. A host whose page is hidden hands over as soon as there is a member whose page is
    /// visible.
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
