//! The paths that a packet takes, and the choice among them.

use samovar_wire::{PeerId, Time};

use crate::path::PathState;

/// The paths that a packet takes: the one on the rung in use, and the next rung's as well while the first is in
/// doubt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) direct: bool,
    /// The carriers that the packet goes to.
    pub(crate) carriers: [Option<PeerId>; 2],
    /// The connection to the relay that the packet takes.
    pub(crate) relay_path: Option<u32>,
    pub(crate) socket: bool,
}

impl Ways {
    pub(crate) const NONE: Self =
        Self { direct: false, carriers: [None; 2], relay_path: None, socket: false };
    /// The direct connection and no other path.
    pub(crate) const DIRECT: Self = Self { direct: true, ..Self::NONE };
    /// The relay's WebSocket and no other path.
    pub(crate) const SOCKET: Self = Self { socket: true, ..Self::NONE };

    /// Whether the packet goes through the relay alone.
    pub(crate) fn is_relayed(&self) -> bool {
        (self.socket || self.relay_path.is_some()) && !self.direct && self.carriers == [None; 2]
    }
}

/// The paths over the relay, the same for every receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByRelay {
    /// Whether the relay's data channels carry packets. Then packets take these channels as soon as a direct path is
    /// late.
    pub(crate) is_quick: bool,
    /// The paths to take beside a direct path that is not enough; `None` while the relay forwards nothing.
    pub(crate) ways: Option<Ways>,
}

/// A carrier, as this peer reaches it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    pub(crate) peer: PeerId,
    /// Whether there is a direct path to the carrier, or one was tried in vain and the relay forwards.
    is_usable: bool,
    /// Whether the path to the carrier is so good that packets need no other.
    is_sure: bool,
}

impl Carrier {
    /// Judges a carrier by the path to it. `may_relay` tells whether the relay forwards.
    pub(crate) fn new(now: Time, peer: PeerId, path: Option<&PathState>, may_relay: bool) -> Self {
        let is_direct = path.is_some_and(|path| path.is_up(now));
        let is_sure =
            if is_direct { is_enough(now, path, true) } else { path.is_some_and(|path| path.is_heard(now)) };
        let is_usable = is_direct || may_relay && path.is_some_and(PathState::has_failed);
        Self { peer, is_usable, is_sure }
    }
}

/// The paths that there are now, for any receiver.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable {
    pub(crate) by_relay: ByRelay,
    /// The carriers, the best first.
    pub(crate) carriers: Vec<Carrier>,
    /// The members that the carriers carry for.
    pub(crate) members: Vec<PeerId>,
}

impl RouteTable {
    /// The usable carriers of packets to a member: for a backup those that rank before it, for the host none.
    fn carriers_to(&self, to: PeerId) -> impl Iterator<Item = Carrier> {
        let is_member = self.members.contains(&to);
        let before = self.carriers.iter().take_while(move |carrier| is_member && carrier.peer != to);
        before.filter(|carrier| carrier.is_usable).copied()
    }

    /// The first carrier for packets to a member without a direct path.
    pub(crate) fn carrier_of(&self, now: Time, to: PeerId, path: Option<&PathState>) -> Option<PeerId> {
        if path.is_some_and(|path| path.is_up(now)) {
            None
        } else {
            self.carriers_to(to).next().map(|by| by.peer)
        }
    }

    pub(crate) fn ways(&self, now: Time, to: PeerId, path: Option<&PathState>) -> Ways {
        let ways = self.own_ways(now, path);
        let mut carriers = self.carriers_to(to);
        let Some(first) = carriers.next().filter(|_| !is_enough(now, path, true)) else { return ways };
        if first.is_sure {
            return Ways { direct: ways.direct, carriers: [Some(first.peer), None], ..Ways::NONE };
        }
        Ways { carriers: [Some(first.peer), carriers.next().map(|next| next.peer)], ..ways }
    }

    /// The paths of a packet, without carriers.
    pub(crate) fn own_ways(&self, now: Time, path: Option<&PathState>) -> Ways {
        let direct = path.is_some_and(|path| path.carriers().next().is_some());
        let ways = self.by_relay.ways.filter(|_| !is_enough(now, path, self.by_relay.is_quick));
        let Some(ways) = ways else { return Ways { direct, ..Ways::NONE } };
        let is_called = path.is_some_and(|path| path.is_called(now));
        Ways { direct, relay_path: ways.relay_path, socket: is_called || ways.socket, ..Ways::NONE }
    }
}

/// Whether a path needs no other beside it. With `is_quick` a path needs another already when it is late.
fn is_enough(now: Time, path: Option<&PathState>, is_quick: bool) -> bool {
    path.is_some_and(|path| path.is_enough(now, is_quick) && !(is_quick && path.is_late(now)))
}
