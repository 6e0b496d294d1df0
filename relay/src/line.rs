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
    /// The connection's place at its address; `None` if no limits of an address apply.
    pub(crate) place: Option<AddressPlace>,
    /// Whether the opener is the relay's own referee.
    pub(crate) is_own: bool,
}

/// The shared state of one member, beside its WebSocket.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) conn: ConnId,
    pub(crate) outbox: Outbox,
    pub(crate) channels: Channels,
    /// The budget of the data channels' datagrams.
    datagrams: Bucket,
    /// The shard of the metrics that count this member's events.
    pub(crate) shard: ShardId,
    purse: Purse,
    /// The budget within which the member's messages pass even when others have emptied the shared budgets.
    share: Purse,
    /// The budget of packets that the relay reads and drops because others have emptied a shared budget.
    pace: Bucket,
    visitor: Visitor,
    /// The budget of the member's game, once it is in one. A member never changes its game.
    game: OnceLock<Arc<GamePurse>>,
    /// Whether the peer was a stranger in its game when the relay last handled a message from it.
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

    /// Notes that the connection enters the game with this budget.
    pub(crate) fn enter(&self, game: Arc<GamePurse>) {
        self.game.get_or_init(|| game);
    }

    pub(crate) const fn place(&self) -> Option<&AddressPlace> {
        self.visitor.place.as_ref()
    }

    /// Whether the connection belongs to the relay's own referee.
    pub(crate) const fn is_own(&self) -> bool {
        self.visitor.is_own
    }

    /// Whether to read a datagram of the member's data channels, at `rate` a second; 0 means no limit.
    pub(crate) fn takes_datagram(&self, now: u64, rate: u64) -> bool {
        let takes = rate == 0 || self.datagrams.wait(now) == 0;
        if takes {
            self.datagrams.take(now, 1, rate);
        }
        takes
    }

    /// Whether the relay goes on reading from this connection after it dropped a packet because others have emptied a
    /// shared budget. From a stranger it does not.
    pub(crate) fn keeps_pace(&self, now: u64, rate: u64) -> bool {
        let keeps = !self.is_stranger.load(Ordering::Relaxed) && rate > 0 && self.pace.wait(now) == 0;
        if keeps {
            self.pace.take(now, 1, rate);
        }
        keeps
    }

    /// The budgets that this member's messages count against.
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
