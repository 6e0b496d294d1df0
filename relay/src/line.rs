//! One connection, as all tasks see it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use samovar_directory::ConnId;

use crate::channels::Channels;
use crate::door::AddressPlace;
use crate::limits::{Bucket, GamePurse, Payers, Purse};
use crate::metrics::ShardId;
use crate::outbox::Outbox;
use crate::room::Room;

/// Who opened a connection, as far as the door knows.
#[derive(Debug, Default)]
pub(crate) struct Visitor {
    /// `None` when it has no limits of an address.
    pub(crate) place: Option<AddressPlace>,
    /// It is the relay's own referee.
    pub(crate) is_own: bool,
}

/// What there is of one member beside its WebSocket itself.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) conn: ConnId,
    pub(crate) outbox: Outbox,
    pub(crate) channels: Channels,
    /// Datagrams, whatever is in them.
    datagrams: Bucket,
    /// Where it counts.
    pub(crate) shard: ShardId,
    purse: Purse,
    /// What it sends whatever others have spent.
    share: Purse,
    /// Packets that were dropped because others have spent too much, and for which it is read on all the same.
    pace: Bucket,
    visitor: Visitor,
    /// Its game's, from the moment on at which it is in one; it never changes its game.
    game: OnceLock<Arc<GamePurse>>,
    /// Whether it is a stranger in its game, as was known when its last message was passed on.
    pub(crate) is_stranger: AtomicBool,
}

impl Line {
    pub(crate) fn new(conn: ConnId, visitor: Visitor, room: &Arc<Room>) -> Self {
        Self {
            conn,
            outbox: Outbox::new(Arc::clone(room)),
            channels: Channels::new(Arc::clone(room)),
            datagrams: Bucket::default(),
            shard: ShardId::of(conn.0),
            purse: Purse::default(),
            share: Purse::default(),
            pace: Bucket::default(),
            visitor,
            game: OnceLock::new(),
            is_stranger: AtomicBool::new(false),
        }
    }

    /// It is in the game with this purse.
    pub(crate) fn enter(&self, game: Arc<GamePurse>) {
        self.game.get_or_init(|| game);
    }

    pub(crate) const fn place(&self) -> Option<&AddressPlace> {
        self.visitor.place.as_ref()
    }

    /// Whether it is the relay's own referee's.
    pub(crate) const fn is_own(&self) -> bool {
        self.visitor.is_own
    }

    /// Whether a datagram of its data channels is looked at, of so many in a second; 0 is without limit.
    pub(crate) fn takes_datagram(&self, now: u64, rate: u64) -> bool {
        let takes = rate == 0 || self.datagrams.wait(now) == 0;
        if takes {
            self.datagrams.take(now, 1, rate);
        }
        takes
    }

    /// Whether it is read on although a packet of it was dropped, for what others have spent: not a stranger.
    pub(crate) fn keeps_pace(&self, now: u64, rate: u64) -> bool {
        let keeps = !self.is_stranger.load(Ordering::Relaxed) && rate > 0 && self.pace.wait(now) == 0;
        if keeps {
            self.pace.take(now, 1, rate);
        }
        keeps
    }

    /// Who pays for its messages.
    pub(crate) fn payers(&self) -> Payers<'_> {
        let game = self.game.get();
        let is_stranger = self.is_stranger.load(Ordering::Relaxed);
        Payers {
            member: &self.purse,
            share: &self.share,
            networks: self.place().map_or(&[], AddressPlace::networks),
            strangers: game.filter(|_| is_stranger).map(|game| &game.strangers),
            game: game.map(|game| &game.all),
        }
    }
}
