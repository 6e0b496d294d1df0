//! The settings of a native peer's sockets.

#[cfg(feature = "direct")]
use std::net::{IpAddr, Ipv4Addr};
#[cfg(feature = "direct")]
use std::time::Duration;

use crate::trust::Trust;

/// The settings of a native peer's sockets. Those of direct paths need the feature `direct`.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "direct"), derive(Default))]
pub struct NativeConfig {
    /// Local addresses to bind, a fresh port each. `0.0.0.0` stands for every interface except loopback. Default:
    /// `127.0.0.1`, which reaches only this machine.
    #[cfg(feature = "direct")]
    pub bind: Vec<IpAddr>,
    /// STUN and TURN servers besides the relay, whose own port is a STUN server (PROTOCOL §5.7). Default: none, so that
    /// no third party hears of a game.
    #[cfg(feature = "direct")]
    pub ice_servers: Vec<samovar_peer::IceServer>,
    /// Time within which an attempt must open, or it is closed. Default: 10 s.
    #[cfg(feature = "direct")]
    pub open_within: Duration,
    /// The authorities whose certificates this peer accepts from a relay that speaks TLS. Default: those of the
    /// platform.
    pub trust: Trust,
}

#[cfg(feature = "direct")]
impl Default for NativeConfig {
    fn default() -> Self {
        Self {
            bind: vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            ice_servers: Vec::new(),
            open_within: Duration::from_secs(10),
            trust: Trust::default(),
        }
    }
}
