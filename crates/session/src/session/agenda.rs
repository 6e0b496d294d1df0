//! When which link has something to do, beside the links themselves: most packets concern one of them, and the others are
//! large and need not be looked at.

use samovar_wire::{PeerId, SortedMap, Time};

/// For how long there is nothing to send to a peer unless something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Idle {
    /// Until something wants to be sent.
    pub(super) until: Time,
    /// Until it may be sent, or time has to pass for the link.
    pub(super) due: Time,
}

/// What is known of a link.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// All that this peer has to tell the other is in the link.
    is_told: bool,
    /// The link has nothing to send for now; `None` when something has happened since that was found out.
    idle: Option<Idle>,
}

/// One entry for each link.
#[derive(Debug, Default)]
pub(super) struct Agenda(SortedMap<PeerId, Entry>);

impl Agenda {
    /// A link is opened.
    pub(super) fn open(&mut self, peer: PeerId) {
        self.0.insert(peer, Entry::default());
    }

    /// A link is gone.
    pub(super) fn close(&mut self, peer: PeerId) {
        self.0.remove(&peer);
    }

    /// Something happened that all may have to be told of.
    pub(super) fn stir(&mut self) {
        self.0.values_mut().for_each(|entry| *entry = Entry::default());
    }

    /// Something happened to a link.
    pub(super) fn touch(&mut self, peer: PeerId) {
        if let Some(entry) = self.0.get_mut(&peer) {
            entry.idle = None;
        }
    }

    /// Something happened to a link that there may be more to tell on now.
    pub(super) fn untell(&mut self, peer: PeerId) {
        if let Some(entry) = self.0.get_mut(&peer) {
            entry.is_told = false;
        }
    }

    /// Everything was told on a link, and for how long it has nothing to send, if that is known.
    pub(super) fn settle(&mut self, peer: PeerId, idle: Option<Idle>) {
        if let Some(entry) = self.0.get_mut(&peer) {
            *entry = Entry { is_told: true, idle };
        }
    }

    pub(super) fn is_told(&self, peer: PeerId) -> bool {
        self.0.get(&peer).is_some_and(|entry| entry.is_told)
    }

    /// For how long a link is known to have nothing to send.
    pub(super) fn idle(&self, peer: PeerId) -> Option<Idle> {
        self.0.get(&peer)?.idle
    }

    /// Whether a link is known to have nothing to send now.
    pub(super) fn is_idle(&self, now: Time, peer: PeerId) -> bool {
        self.idle(peer).is_some_and(|idle| idle.until > now)
    }

    /// Whether no link is known to have anything to send now.
    pub(super) fn rests(&self, now: Time) -> bool {
        self.0.values().all(|entry| entry.idle.is_some_and(|idle| idle.until > now))
    }

    /// When the first link has something to do; `unknown` says so of those of which it is not known.
    pub(super) fn due(&self, mut unknown: impl FnMut(PeerId) -> Time) -> Time {
        let due =
            |(&peer, entry): (&PeerId, &Entry)| entry.idle.map_or_else(|| unknown(peer), |idle| idle.due);
        self.0.iter().map(due).min().unwrap_or(Time::FAR)
    }
}
