//! What a peer brings into a session, and what its members agreed on beforehand.

use samovar_objects::Schemas;
use samovar_roster::RelayKey;
use samovar_wire::{Duration, PeerId, Ticket, Warrant};

use crate::Orders;

/// How long a game makes no step until its host hands over, unless the game says otherwise (docs/recovery.md, promise
/// 12).
const STEPS_WITHIN: Duration = Duration::from_millis(2_000);

/// How long a seat waits for its member unless the game says otherwise (PROTOCOL §4.4).
const GRACE: Duration = Duration::from_millis(10 * 60 * 1_000);

/// What a peer brings into a session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// Who this peer is, by the relay's word.
    pub me: PeerId,
    /// The relay's key, which verifies warrants.
    pub key: RelayKey,
    /// The highest warrant known. When it names this peer the session is founded, otherwise joined.
    pub warrant: Warrant,
    /// Agreed: hash of the game's name, version and parameters. Peers that differ refuse each other.
    pub params: u64,
    /// The member's name; valid, see [`samovar_wire::name::is_valid`].
    pub name: String,
    /// The application's own bits, shown to every member.
    pub attributes: u32,
    /// Of which one may take a seat back: see [`Session::tickets`](crate::Session::tickets).
    pub tickets: Vec<Ticket>,
    /// For a founder: members at most.
    pub capacity: u8,
    /// Seed of the tickets that this peer draws; secret.
    pub entropy: [u8; 32],
    /// Agreed: what the game's objects are made of. Its hash belongs into `params`.
    pub schemas: Schemas,
    /// Agreed: how the session is kept alive. They belong into `params`.
    pub rules: Rules,
}

/// Why there is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The warrant is not the relay's.
    BadWarrant,
    /// The rules name what this build leaves out: it lacks this feature of the crate.
    LeftOut(&'static str),
}

impl core::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::BadWarrant => f.write_str("the warrant is not the relay's"),
            Self::LeftOut(feature) => {
                write!(
                    f,
                    "the rules need the feature `{feature}` of samovar-session, which this build leaves out"
                )
            }
        }
    }
}

impl core::error::Error for ConfigError {}

/// How a session is kept alive; the same for all its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Whether a lost host is succeeded. If not, its loss ends the session for everybody, with that reason.
    pub migrates: bool,
    /// How many members keep what the host accepted, besides the host: 1 or 2.
    pub backups: u8,
    /// Whether this peer, when it hosts, wants members to have direct paths with host and backups only, which carry what others
    /// say to each other (PROTOCOL §2.6): client-server. Of no effect but on paths, and not agreed beforehand: the view tells.
    pub by_host: bool,
    /// Whether each side of a partition goes on by itself, until they meet again and one is kept: for games where
    /// play counts for more than its outcome, as in a duel. Whoever hears neither the relay nor a majority goes on when it has
    /// missed its host for three seconds; what it did alone is told by [`crate::Event::Diverged`] when the other side is kept, and its
    /// ticket takes its seat back. Otherwise, and unless set, the side without the relay and without a majority waits.
    pub forks: bool,
    /// How long the seat of a member that is lost waits for it, with score and objects; 10 minutes unless set. More keeps
    /// a place for who comes back late, until a newcomer needs it and no seat has waited longer; less gives its objects up sooner.
    pub grace: Duration,
    /// Within what time a game makes its next step ([`crate::Session::stepped`]); 2 seconds unless set. A host whose game makes none
    /// for so long hands over, if another can host; whose game makes none for three quarters of it hosts only when nobody
    /// else can.
    /// More lets all wait longer for a host that stands still, less takes one that is merely slow for one. `None`: nobody
    /// is judged by that.
    pub steps_within: Option<Duration>,
    /// Which orders messages may have, besides those of their lanes.
    pub orders: Orders,
}

impl Default for Rules {
    /// A host is succeeded, has one backup, paths are between all members, a partition has one side that goes on, seats wait for 10 minutes, and
    /// a game makes a step within 2 seconds.
    fn default() -> Self {
        Self {
            migrates: true,
            backups: 1,
            by_host: false,
            forks: false,
            grace: GRACE,
            steps_within: Some(STEPS_WITHIN),
            orders: Orders::default(),
        }
    }
}
