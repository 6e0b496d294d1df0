//! The configuration of a peer.

use samovar_directory::ClientConfig;
use samovar_session::{Kept, Rules, Schemas};
use samovar_wire::relay::Purpose;
use samovar_wire::{Entropy, JoinToken, PROTOCOL_VERSION, Ticket};

/// Which paths a peer may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathPolicy {
    /// All paths: over the relay's WebSocket at once, then over data channels to the relay, and direct when possible.
    #[default]
    Auto,
    /// Direct paths only: the relay forwards no packets.
    Direct,
    /// Paths over the relay only, by data channels or the WebSocket.
    Relayed,
    /// Client-server: direct paths to the host and its backups only. The host and the backups carry packets between
    /// other members, and the relay forwards where that fails. A host with this policy sets it for all members that
    /// have [`PathPolicy::Auto`].
    ByHost,
    /// Relayed only, and only over the WebSocket. Drivers without data channels have this policy: workers of a page,
    /// and native programs that are built without the feature `direct`.
    WebSocket,
}

impl PathPolicy {
    /// Whether packets may go to other members directly.
    pub(crate) const fn has_direct(self) -> bool {
        !matches!(self, Self::Relayed | Self::WebSocket)
    }

    /// Whether packets may go through the relay.
    pub(crate) const fn has_relay(self) -> bool {
        !matches!(self, Self::Direct)
    }

    /// Whether packets to the relay may go over data channels.
    pub(crate) const fn has_channels_to_relay(self) -> bool {
        !matches!(self, Self::Direct | Self::WebSocket)
    }
}

/// A peer's purpose, identity and limits.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Seed of all secrets that this peer draws; from the system's randomness.
    pub entropy: [u8; 32],
    /// Whether to create a game or to join one.
    pub purpose: Purpose,
    /// The token of the game's own server that lets this peer in, for relays that ask for one.
    pub token: Option<JoinToken>,
    /// The ticket that takes a seat back, if there is one.
    pub ticket: Option<Ticket>,
    /// State of the previous session, which this peer restores if it founds the next one.
    pub kept: Option<Kept>,
    /// The member's name; an invalid one ([`samovar_wire::name::is_valid`]) counts as none. Drivers make typed names
    /// valid.
    pub name: String,
    /// The game's own bits, shown to every member.
    pub attributes: u32,
    /// Hash of the game's name, version and parameters, which all members have in common.
    pub params: u64,
    /// The schemas of the game's objects, which all members have in common. Their hash belongs into `params`.
    pub schemas: Schemas,
    /// The paths that this peer may use.
    pub paths: PathPolicy,
    /// The most players that the session may have, without spectators, if this peer founds it.
    pub capacity: u8,
    /// Whether the relay shows the game to others. All members have the same value.
    pub public: bool,
    /// How the session is kept alive. All members have the same rules, which belong into `params`, except
    /// [`Rules::by_host`].
    pub rules: Rules,
}

impl PeerConfig {
    /// The configuration of the relay's client.
    pub(crate) fn client_config(&self, entropy: &mut Entropy) -> ClientConfig {
        ClientConfig {
            version: PROTOCOL_VERSION,
            params: self.params,
            purpose: self.purpose.clone(),
            token: self.token.clone(),
            entropy: entropy.bytes(),
        }
    }
}
