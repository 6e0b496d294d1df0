//! The configuration of one peer's session, and the rules that all members agreed on.

use samovar_objects::Schemas;
use samovar_roster::RelayKey;
use samovar_wire::{Duration, PeerId, Ticket, Voucher, Warrant};

use crate::Orders;

/// A host hands over when its game has made no step for this long, unless the game says otherwise (docs/recovery.md,
/// promise 12).
const STEPS_WITHIN: Duration = Duration::from_millis(2_000);

/// The grace time of a seat, unless the game says otherwise (PROTOCOL §4.4).
const GRACE: Duration = Duration::from_millis(10 * 60 * 1_000);

/// The configuration of one peer's session.
#[derive(Clone, Debug)]
pub struct SessionConfig {
    /// This peer's id, which the relay has given.
    pub me: PeerId,
    /// The relay's word about this peer, if it asks the game's own server about peers. Name and role are then those of it.
    pub voucher: Option<Box<Voucher>>,
    /// The relay's key, which verifies warrants.
    pub key: RelayKey,
    /// The highest warrant known. If it names this peer as the host, this peer founds the session; otherwise it joins.
    pub warrant: Warrant,
    /// Agreed: hash of the game's name, version and parameters. Peers that differ refuse each other.
    pub params: u64,
    /// The member's name, which must be valid: see [`samovar_wire::name::is_valid`].
    pub name: String,
    /// The application's own bits, shown to every member.
    pub attributes: u32,
    /// This player's earlier tickets, one of which may take a seat back: see
    /// [`Session::tickets`](crate::Session::tickets).
    pub tickets: Vec<Ticket>,
    /// The most members that the session may have; only a founder uses it.
    pub capacity: u8,
    /// Seed of the tickets that this peer draws; secret.
    pub entropy: [u8; 32],
    /// Agreed: the schemas of the game's objects. `params` must cover their hash.
    pub schemas: Schemas,
    /// Agreed: the rules of the session. `params` must cover them.
    pub rules: Rules,
}

/// Why a session was not created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The relay did not sign the warrant.
    BadWarrant,
    /// The rules need this feature of the crate, which the build leaves out.
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

/// The rules of a session, the same for all its members. Those of them that the view states are the founder's, whatever
/// the others bring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// Whether another member succeeds a lost host. If not, the loss ends every member's session with
    /// [`EndReason::HostLost`](crate::EndReason::HostLost). The founder decides this; a member that joins takes it over
    /// from the view.
    pub migrates: bool,
    /// How many backups hold what the host accepted, besides the host itself: 1 or 2.
    pub backups: u8,
    /// The most spectators, who take no player's place ([`samovar_wire::view::SPECTATOR`]); none unless set. They may
    /// host and vote like every member, so a game lets in fewer spectators than players. A session has at most 32
    /// members, and players come first.
    pub spectators: u8,
    /// Client-server paths: while this peer hosts, members open direct paths to the host and its backups only. These
    /// carry the packets of the other members to each other (PROTOCOL §2.6). This changes nothing but the paths.
    /// Members need not agree on it beforehand, since the view states it.
    pub by_host: bool,
    /// Whether each side of a partition plays on, until the sides meet again and the session keeps one of them. This
    /// suits games where play counts for more than its outcome, such as a duel. A member that hears neither the relay
    /// nor a majority goes on when it has missed its host for three seconds. If the session keeps the other side,
    /// [`crate::Event::Diverged`] tells what this side did alone, and the ticket takes the seat back. Without this
    /// rule, which is the default, a side that has neither the relay nor a majority waits. The founder decides this, as
    /// `migrates`.
    pub forks: bool,
    /// The grace time: how long a lost member's seat is kept for it, with score and objects; 10 minutes unless set. A
    /// longer time keeps the seat for a member that comes back late, until a newcomer needs it and no other seat has
    /// waited longer. A shorter time gives the member's objects up sooner.
    pub grace: Duration,
    /// The time within which a game makes its next step ([`crate::Session::stepped`]); 2 seconds unless set. A host
    /// whose game makes no step in this time hands over, if another member can host. A member whose game makes no
    /// step in three quarters of this time hosts only when no other member can. With a longer time, all members wait
    /// longer for a host that stands still. With a shorter time, a host that is merely slow is taken for one that
    /// stands still. With `None`, steps are not judged.
    pub steps_within: Option<Duration>,
    /// The orders that messages may have, besides the order of their lane.
    pub orders: Orders,
}

impl Default for Rules {
    /// Another member succeeds a lost host, and the host has one backup. Paths are between all members. Only one side
    /// of a partition goes on. The grace time is 10 minutes. A game makes a step within 2 seconds.
    fn default() -> Self {
        Self {
            migrates: true,
            backups: 1,
            spectators: 0,
            by_host: false,
            forks: false,
            grace: GRACE,
            steps_within: Some(STEPS_WITHIN),
            orders: Orders::default(),
        }
    }
}
