//! The configuration of a peer.

use samovar_directory::ClientConfig;
use samovar_session::{Kept, Rules, Schemas};
use samovar_wire::relay::Purpose;
use samovar_wire::{Entropy, PROTOCOL_VERSION, Ticket};

/// Which paths a peer may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathPolicy {
    /// Relayed at once, direct when it can be; relayed over data channels in between.
    #[default]
    Auto,
    /// Direct only: nothing is forwarded by the relay.
    Direct,
    /// Relayed only, over data channels or the WebSocket.
    Relayed,
    /// Client-server: direct with the host and its backups only, which carry packets between other members; relayed
    /// where that does not reach. A host with this policy sets it for all members that have [`PathPolicy::Auto`].
    ByHost,
}

/// A peer's purpose, identity and limits.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Seed of all secrets that this peer draws; from the system's randomness.
    pub entropy: [u8; 32],
    /// Whether to create a game or to join one.
    pub purpose: Purpose,
    /// Takes a seat back, if there is one.
    pub ticket: Option<Ticket>,
    /// State of the previous session, which this peer restores if it founds the next one.
    pub kept: Option<Kept>,
    /// The member's name; an invalid one ([`samovar_wire::name::is_valid`]) counts as none. Drivers make typed names
    /// fit.
    pub name: String,
    /// The game's own bits, shown to every member.
    pub attributes: u32,
    /// Agreed: hash of the game's name, version and parameters.
    pub params: u64,
    /// Agreed: the schemas of the game's objects. Their hash belongs into `params`.
    pub schemas: Schemas,
    /// The paths that this peer may use.
    pub paths: PathPolicy,
    /// For a founder: players at most, without spectators.
    pub capacity: u8,
    /// Agreed: whether the relay shows the game to others.
    pub public: bool,
    /// Agreed: how the session is kept alive. They belong into `params`, but for [`Rules::by_host`].
    pub rules: Rules,
}

impl PeerConfig {
    /// The configuration of the relay's client.
    pub(crate) fn client_config(&self, entropy: &mut Entropy) -> ClientConfig {
        ClientConfig {
            version: PROTOCOL_VERSION,
            params: self.params,
            purpose: self.purpose.clone(),
            entropy: entropy.bytes(),
        }
    }
}
