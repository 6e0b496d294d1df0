//! One connection, as seen by all tasks.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use samovar_directory::ConnId;

use crate::channels::Channels;
use crate::door::AddressPlace;
use crate::limits::{Bucket, GamePurse, Payers, Purse};
use crate::metrics::ShardId;
use crate::outbox::Outbox;
use crate::room::Room;

/// The opener of a connection, as far as the door knows.
#[derive(Debug, Default)]
pub(crate) struct Visitor {
    /// `None` without limits of an address.
    pub(crate) place: Option<AddressPlace>,
    /// It is the relay's own referee.
    pub(crate) is_own: bool,
}

/// The shared state of one member, beside its WebSocket.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) conn: ConnId,
    pub(crate) outbox: Outbox,
    pub(crate) channels: Channels,
    /// Counts all datagrams.
    datagrams: Bucket,
    /// The shard of its counters.
    pub(crate) shard: ShardId,
    purse: Purse,
    /// The part that others' spending cannot hold back.
    share: Purse,
    /// Packets that were dropped because others have spent too much, while the relay reads on.
    pace: Bucket,
    visitor: Visitor,
    /// The budget of its game, once it is in one; it never changes its game.
    game: OnceLock<Arc<GamePurse>>,
    /// Whether it was a stranger in its game when its last message was forwarded.
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

    /// The connection enters the game with this budget.
    pub(crate) fn enter(&self, game: Arc<GamePurse>) {
        self.game.get_or_init(|| game);
    }

    pub(crate) const fn place(&self) -> Option<&AddressPlace> {
        self.visitor.place.as_ref()
    }

    /// Whether it belongs to the relay's own referee.
    pub(crate) const fn is_own(&self) -> bool {
        self.visitor.is_own
    }

    /// Whether to read a datagram of its data channels, at `rate` a second; 0 means no limit.
    pub(crate) fn takes_datagram(&self, now: u64, rate: u64) -> bool {
        let takes = rate == 0 || self.datagrams.wait(now) == 0;
        if takes {
            self.datagrams.take(now, 1, rate);
        }
        takes
    }

    /// Whether the relay reads on although a packet was dropped for others' spending: not for a stranger.
    pub(crate) fn keeps_pace(&self, now: u64, rate: u64) -> bool {
        let keeps = !self.is_stranger.load(Ordering::Relaxed) && rate > 0 && self.pace.wait(now) == 0;
        if keeps {
            self.pace.take(now, 1, rate);
        }
        keeps
    }

    /// The budgets that pay for its messages.
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
