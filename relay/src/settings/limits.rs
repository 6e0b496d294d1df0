//! The settings that may change while the relay runs.

use std::time::Duration;

use super::{PerSecond, Settings, Whole, set};
use crate::limits::Limits;

impl Settings {
    /// The limits that can change while a relay runs, from settings with their defaults.
    pub(super) fn limits(self) -> Limits {
        Limits {
            handshake: Duration::from_secs(set(self.handshake).get()),
            connections: set(self.connections).count(),
            games: set(self.games).count(),
            game_connections: set(self.game_connections).count(),
            game_packets: set(self.game_packets).get(),
            game_bytes: set(self.game_bytes).get(),
            queue_bytes: set(self.queue_bytes).count(),
            member_packets: set(self.member_packets).get(),
            member_bytes: set(self.member_bytes).get(),
            address_connections: set(self.address_connections).count(),
            opens: set(self.opens).get(),
            address_opens: set(self.address_opens).get(),
            address_packets: set(self.address_packets).get(),
            address_bytes: set(self.address_bytes).get(),
            origins: set(self.origin),
            trusted_proxies: set(self.trusted_proxy),
        }
    }

    /// These limits as the text of a file of settings.
    pub(super) fn limits_text(limits: &Limits) -> String {
        Self::of_limits(limits).to_toml()
    }

    /// The settings that are limits, with these values.
    fn of_limits(limits: &Limits) -> Self {
        let rate = |number| Some(PerSecond::new(number));
        Self {
            handshake: Some(Whole::new(limits.handshake.as_secs())),
            connections: Some(Whole::new(limits.connections as u64)),
            games: Some(Whole::new(limits.games as u64)),
            game_connections: Some(Whole::new(limits.game_connections as u64)),
            game_packets: rate(limits.game_packets),
            game_bytes: rate(limits.game_bytes),
            queue_bytes: Some(Whole::new(limits.queue_bytes as u64)),
            member_packets: rate(limits.member_packets),
            member_bytes: rate(limits.member_bytes),
            address_connections: Some(Whole::new(limits.address_connections as u64)),
            opens: rate(limits.opens),
            address_opens: rate(limits.address_opens),
            address_packets: rate(limits.address_packets),
            address_bytes: rate(limits.address_bytes),
            origin: Some(limits.origins.clone()),
            trusted_proxy: Some(limits.trusted_proxies.clone()),
            ..Self::default()
        }
    }

    /// These limits with one of them changed, by its key and its value as in a file of settings.
    ///
    /// # Errors
    /// This is no limit, or it does not take the value; the text says which.
    pub(super) fn changed_limits(limits: &Limits, key: &str, value: &str) -> Result<Limits, String> {
        let is_key = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        // A text need not be quoted, as on the command line.
        let quoted = toml::Value::String(value.to_owned()).to_string();
        let is_toml = format!("v = {value}").parse::<toml::Table>().is_ok();
        let value = if is_toml { value } else { &quoted };
        let change: Result<Self, _> = toml::from_str(&format!("{key} = {value}"));
        let change = change.map_err(|error| error.message().to_owned());
        let change = if is_key { change? } else { return Err(format!("“{key}” is no setting")) };
        let known = Self::of_limits(limits);
        let new = change.or(known);
        // A key that is no limit is lost on the way through the limits.
        if Self::of_limits(&new.clone().with_defaults().limits()) != new {
            return Err(format!(
                "`{key}` cannot change while the relay runs: change the file of settings, and restart"
            ));
        }
        new.check_byte_rates().map_err(|error| error.to_string())?;
        Ok(new.with_defaults().limits())
    }
}
