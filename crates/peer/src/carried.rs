//! Carried packets: bundles that go out together, by members that carry, and how much each member may have carried.

use samovar_wire::carried::{Entry, Leg};
use samovar_wire::limits::MEMBERS_MAX;
use samovar_wire::{PeerId, SortedMap, Time};

/// So many bytes go to a receiver at once; what comes behind them goes in another datagram.
const BUNDLE_MAX: usize = 1_100;
/// A carrier carries so much for one member: bytes per second, and at once.
const RATE: u64 = 1_000_000;
const BURST: u64 = 256 * 1_024;

/// To whom a bundle goes, and on which leg of its way.
pub(crate) type BundleKey = (PeerId, Leg);

/// The carried packets of a peer, at either end of their way and in the middle.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// Packets that go out together, by whom they go to.
    bundles: SortedMap<BundleKey, Bundle>,
    /// How much more each member may have carried.
    allowances: SortedMap<PeerId, Allowance>,
    /// By whom packets to others go at present.
    carriers: SortedMap<PeerId, PeerId>,
}

#[derive(Debug)]
struct Bundle {
    bytes: Vec<u8>,
    due: Time,
}

/// How much more one member may have carried.
#[derive(Debug)]
pub(crate) struct Allowance {
    bytes: u64,
    since: Time,
}

impl Allowance {
    /// Whether so many bytes may be carried; they are counted then.
    pub(crate) fn take(&mut self, now: Time, bytes: usize) -> bool {
        let earned = now.since(self.since).as_micros().min(1_000_000) * RATE / 1_000_000;
        (self.bytes, self.since) = ((self.bytes + earned).min(BURST), now);
        let left = self.bytes.checked_sub(bytes as u64);
        self.bytes = left.unwrap_or(self.bytes);
        left.is_some()
    }
}

impl Carried {
    /// When something that is held is to go.
    pub(crate) fn due(&self) -> Time {
        self.bundles.values().map(|bundle| bundle.due).min().unwrap_or(Time::FAR)
    }

    /// By whom packets to a member go at present.
    pub(crate) fn carrier(&self, to: PeerId) -> Option<PeerId> {
        self.carriers.get(&to).copied()
    }

    /// Whether packets to others go by this member.
    pub(crate) fn is_carrier(&self, peer: PeerId) -> bool {
        self.carriers.values().any(|&carrier| carrier == peer)
    }

    /// Whether packets to anybody go by another.
    pub(crate) fn has_carriers(&self) -> bool {
        !self.carriers.is_empty()
    }

    /// By whom packets to each go from now on.
    pub(crate) fn set_carriers(&mut self, carriers: SortedMap<PeerId, PeerId>) {
        self.carriers = carriers;
    }

    /// Whether something waits for a receiver.
    pub(crate) fn waits(&self, key: BundleKey) -> bool {
        self.bundles.contains_key(&key)
    }

    /// Whether a packet goes with what waits for its receiver, or begins a bundle.
    pub(crate) fn has_room(&self, key: BundleKey, payload: &[u8]) -> bool {
        let room = Entry::room(payload);
        self.bundles.get(&key).is_none_or(|bundle| bundle.bytes.len() + room <= BUNDLE_MAX)
    }

    /// Puts a packet to what waits for its receiver; all of that goes by `due`.
    pub(crate) fn add(&mut self, key: BundleKey, due: Time, entry: Entry<'_>) {
        let bundle = self.bundles.entry(key).or_insert_with(|| Bundle { bytes: Vec::new(), due });
        bundle.due = bundle.due.min(due);
        entry.encode(key.1, &mut bundle.bytes);
    }

    /// Whose packets have waited for long enough.
    pub(crate) fn due_now(&self, now: Time) -> Vec<BundleKey> {
        self.bundles.iter().filter(|(_, bundle)| bundle.due <= now).map(|(&key, _)| key).collect()
    }

    /// Takes what waits for a receiver.
    pub(crate) fn take(&mut self, key: BundleKey) -> Option<Vec<u8>> {
        self.bundles.remove(&key).map(|bundle| bundle.bytes)
    }

    /// How much more a member may have carried. Those who are no members are forgotten when there are many.
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
