//! What a peer is told when it begins.

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
    /// Client-server: direct with the host and its backups only, which carry what other members say to each other; relayed
    /// where that does not reach. A host with this makes it the way of all members that have [`PathPolicy::Auto`].
    ByHost,
}

/// What a peer wants and who it is.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Seed of all secrets that this peer draws; from the system's randomness.
    pub entropy: [u8; 32],
    /// To create a game or to join one.
    pub purpose: Purpose,
    /// Takes a seat back.
    pub ticket: Option<Ticket>,
    /// What the session begins with, should this peer found it: what it kept of the former one.
    pub kept: Option<Kept>,
    /// The member's name; one that may not travel ([`samovar_wire::name::is_valid`]) counts as none. Drivers make what was typed fit.
    pub name: String,
    /// The application's own bits, shown to every member.
    pub attributes: u32,
    /// Agreed: hash of the game's name, version and parameters.
    pub params: u64,
    /// Agreed: what the game's objects are made of. Its hash belongs into `params`.
    pub schemas: Schemas,
    /// Which paths to use.
    pub paths: PathPolicy,
    /// For a founder: members at most.
    pub capacity: u8,
    /// Agreed: how the session is kept alive. They belong into `params`, but for [`Rules::by_host`].
    pub rules: Rules,
}

impl PeerConfig {
    /// What the relay's client is told.
    pub(crate) fn client_config(&self, entropy: &mut Entropy) -> ClientConfig {
        ClientConfig {
            version: PROTOCOL_VERSION,
            params: self.params,
            purpose: self.purpose.clone(),
            entropy: entropy.bytes(),
        }
    }
}
