//! A relay that is about to stop: it tells its members, and founds no more games (PROTOCOL §5.6).

use samovar_wire::relay::FromRelay;
use samovar_wire::{Duration, Time};

use super::connection::Phase;
use super::{ConnId, Directory};

impl Directory {
    /// The relay will stop within this time. From now on it founds no game. Live games go on, and take newcomers and
    /// returning members. The relay tells every member. A second call has no effect.
    pub fn handle_draining(&mut self, now: Time, within: Duration) {
        if self.closes_at.is_some() {
            return;
        }
        self.closes_at = Some(now + within);
        let entered = |connection: &super::Connection| matches!(connection.phase, Phase::Entered(..));
        let members: Vec<_> =
            self.connections.iter().filter(|(_, c)| entered(c)).map(|(&conn, _)| conn).collect();
        for conn in members {
            self.tell_draining(now, conn);
        }
    }

    /// Whether the relay is about to stop.
    #[must_use]
    pub const fn is_draining(&self) -> bool {
        self.closes_at.is_some()
    }

    /// Tells a member how long the relay stays, if it is about to stop.
    pub(super) fn tell_draining(&mut self, now: Time, conn: ConnId) {
        let Some(closes_at) = self.closes_at else { return };
        let seconds = closes_at.since(now).as_micros().div_ceil(1_000_000);
        self.send(conn, &FromRelay::Draining(u16::try_from(seconds).unwrap_or(u16::MAX)));
    }
}
