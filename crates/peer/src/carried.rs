//! Carried packets: the bundles in which they go out, the carriers that take them, and how much this peer carries for
//! each member.

use samovar_wire::carried::{Entry, Leg};
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{PeerId, SortedMap, Time};

/// The most bytes of a bundle. A packet that does not fit begins the next bundle.
const BUNDLE_MAX: usize = 1_100;
/// Bytes per second that a carrier carries for one member.
const RATE: u64 = 1_000_000;
/// Bytes that a carrier carries for one member at once.
const BURST: u64 = 256 * 1_024;

/// The receiver of a bundle, and its leg: up to a carrier, or down from a carrier to the member.
pub(crate) type BundleKey = (PeerId, Leg);

/// The state of carried packets at a peer. The peer may send packets by carriers, and may carry those of others.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// The bundles that wait, by receiver.
    bundles: SortedMap<BundleKey, Bundle>,
    /// How much more this peer carries for each member.
    allowances: SortedMap<PeerId, Allowance>,
    /// The carrier that takes this peer's packets to each member at present.
    carriers: SortedMap<PeerId, PeerId>,
}

#[derive(Debug)]
struct Bundle {
    bytes: Vec<u8>,
    due: Time,
}

/// The remaining allowance of one member.
#[derive(Debug)]
pub(crate) struct Allowance {
    bytes: u64,
    since: Time,
}

impl Allowance {
    /// Whether `bytes` may be carried; if so, they are counted.
    pub(crate) fn take(&mut self, now: Time, bytes: usize) -> bool {
        let earned = now.since(self.since).as_micros().min(1_000_000) * RATE / 1_000_000;
        (self.bytes, self.since) = ((self.bytes + earned).min(BURST), now);
        let left = self.bytes.checked_sub(bytes as u64);
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }
}

impl Carried {
    /// When the next bundle is due.
    pub(crate) fn due(&self) -> Time {
        self.bundles.values().map(|bundle| bundle.due).min().unwrap_or(Time::FAR)
    }

    /// The carrier that takes this peer's packets to a member at present.
    pub(crate) fn carrier(&self, to: PeerId) -> Option<PeerId> {
        self.carriers.get(&to).copied()
    }

    /// Whether `peer` is the carrier of any packets of this peer.
    pub(crate) fn is_carrier(&self, peer: PeerId) -> bool {
        self.carriers.values().any(|&carrier| carrier == peer)
    }

    /// Whether this peer sends any packets by a carrier.
    pub(crate) fn has_carriers(&self) -> bool {
        !self.carriers.is_empty()
    }

    /// Sets the carrier of packets to each member from now on.
    pub(crate) fn set_carriers(&mut self, carriers: SortedMap<PeerId, PeerId>) {
        self.carriers = carriers;
    }

    /// Whether a bundle for this receiver and leg waits.
    pub(crate) fn waits(&self, key: BundleKey) -> bool {
        self.bundles.contains_key(&key)
    }

    /// Whether a packet fits into the waiting bundle for its receiver, or no bundle waits.
    pub(crate) fn has_room(&self, key: BundleKey, payload: &[u8]) -> bool {
        let room = Entry::room(payload);
        self.bundles.get(&key).is_none_or(|bundle| bundle.bytes.len() + room <= BUNDLE_MAX)
    }

    /// Adds a packet to the bundle for its receiver; the whole bundle goes by `due`.
    pub(crate) fn add(&mut self, key: BundleKey, due: Time, entry: Entry<'_>) {
        let bundle = self.bundles.entry(key).or_insert_with(|| Bundle { bytes: Vec::new(), due });
        bundle.due = bundle.due.min(due);
        entry.encode(key.1, &mut bundle.bytes);
    }

    /// The receivers whose bundles are due.
    pub(crate) fn due_now(&self, now: Time) -> Vec<BundleKey> {
        self.bundles.iter().filter(|(_, bundle)| bundle.due <= now).map(|(&key, _)| key).collect()
    }

    /// Takes the bundle for a receiver.
    pub(crate) fn take(&mut self, key: BundleKey) -> Option<Vec<u8>> {
        self.bundles.remove(&key).map(|bundle| bundle.bytes)
    }

    /// The allowance of a member. Peers that are no members are forgotten when there are more than `MEMBERS_MAX`
    /// entries.
    pub(crate) fn allowance(
        &mut self,
        now: Time,
        from: PeerId,
        is_member: impl Fn(PeerId) -> bool,
    ) -> &mut Allowance {
        if self.allowances.len() > MEMBERS_MAX {
            self.allowances.retain(|&peer, _| is_member(peer));
        }
        self.allowances.entry(from).or_insert(Allowance { bytes: BURST, since: now })
    }
}
