//! The ways that a packet may go, and which of them it takes.

use samovar_wire::{PeerId, Time};

use crate::path::PathState;

/// Which ways a packet goes: on the rung that is the way, and while that is in doubt on the next one, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ways {
    pub(crate) direct: bool,
    /// Members that carry it.
    pub(crate) carriers: [Option<PeerId>; 2],
    /// The connection to the relay.
    pub(crate) relay_path: Option<u32>,
    pub(crate) socket: bool,
}

impl Ways {
    pub(crate) const NONE: Self =
        Self { direct: false, carriers: [None; 2], relay_path: None, socket: false };
    /// The direct connection and no other way.
    pub(crate) const DIRECT: Self = Self { direct: true, ..Self::NONE };
    /// The relay's WebSocket and no other way.
    pub(crate) const SOCKET: Self = Self { socket: true, ..Self::NONE };

    /// Whether the relay brings it, and nobody else.
    pub(crate) fn is_relayed(&self) -> bool {
        (self.socket || self.relay_path.is_some()) && !self.direct && self.carriers == [None; 2]
    }
}

/// The ways by the relay, which are the same to everybody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByRelay {
    /// Its data channels are a way that needs no sparing.
    pub(crate) is_quick: bool,
    /// Those to take besides a direct one that is not enough; `None` while the relay forwards nothing.
    pub(crate) ways: Option<Ways>,
}

/// A member that carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carrier {
    pub(crate) peer: PeerId,
    /// There is a direct way to it, or one was tried in vain.
    is_usable: bool,
    /// The way to it is good enough that no other is needed.
    is_sure: bool,
}

impl Carrier {
    /// By the path to it, and whether the relay forwards.
    pub(crate) fn new(now: Time, peer: PeerId, path: Option<&PathState>, may_relay: bool) -> Self {
        let is_direct = path.is_some_and(|path| path.is_up(now));
        let is_sure =
            if is_direct { is_enough(now, path, true) } else { path.is_some_and(|path| path.is_heard(now)) };
        let is_usable = is_direct || may_relay && path.is_some_and(PathState::has_failed);
        Self { peer, is_usable, is_sure }
    }
}

/// The ways that there are, whoever a packet is for.
#[derive(Clone, Debug)]
pub(crate) struct RouteTable {
    pub(crate) by_relay: ByRelay,
    /// The members that carry, the best first.
    pub(crate) carriers: Vec<Carrier>,
    /// For whom they do.
    pub(crate) members: Vec<PeerId>,
}

impl RouteTable {
    /// Those that carry for this member: for a backup only who comes before it, for the host nobody.
    fn carriers_to(&self, to: PeerId) -> impl Iterator<Item = Carrier> {
        let is_member = self.members.contains(&to);
        let before = self.carriers.iter().take_while(move |carrier| is_member && carrier.peer != to);
        before.filter(|carrier| carrier.is_usable).copied()
    }

    /// The first of the carriers by which a packet goes to who has no direct path.
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

    /// The ways without members that carry.
    pub(crate) fn own_ways(&self, now: Time, path: Option<&PathState>) -> Ways {
        let direct = path.is_some_and(|path| path.carriers().next().is_some());
        let ways = self.by_relay.ways.filter(|_| !is_enough(now, path, self.by_relay.is_quick));
        let Some(ways) = ways else { return Ways { direct, ..Ways::NONE } };
        let is_called = path.is_some_and(|path| path.is_called(now));
        Ways { direct, relay_path: ways.relay_path, socket: is_called || ways.socket, ..Ways::NONE }
    }
}

/// Whether a path needs no other beside it. Where the next way `is_quick`, that is taken sooner.
fn is_enough(now: Time, path: Option<&PathState>, is_quick: bool) -> bool {
    path.is_some_and(|path| path.is_enough(now, is_quick) && !(is_quick && path.is_late(now)))
}
