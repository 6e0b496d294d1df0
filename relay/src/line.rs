//! One connection, as seen by all tasks.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::Guard;
use samovar_directory::{Class, ConnId, Connected};
use samovar_wire::PeerId;

use crate::channels::Channels;
use crate::door::AddressPlace;
use crate::game::{Game, Peers};
use crate::limits::{Bucket, Payers, Purse};
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
    /// The opener's address, for the operator; `None` if a proxy names none.
    pub(crate) address: Option<IpAddr>,
    /// The number of the request by which the connection came.
    pub(crate) request: String,
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
    /// The game, and the peer in it, once the connection has entered one. It never changes its game.
    seat: OnceLock<(Arc<Game<Self>>, PeerId)>,
    /// Whether the peer is a stranger in its game.
    pub(crate) is_stranger: AtomicBool,
}

/// The routes of one peer's messages, at this moment.
pub(crate) struct Routes {
    pub(crate) from: PeerId,
    /// The class of the peer's messages.
    pub(crate) class: Class,
    peers: Guard<Arc<Peers<Line>>>,
}

impl Routes {
    /// The line of a peer of the same game, if it is connected.
    pub(crate) fn to(&self, peer: PeerId) -> Option<&Arc<Line>> {
        self.peers.get(peer)
    }
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
            seat: OnceLock::new(),
            is_stranger: AtomicBool::new(false),
        }
    }

    /// The line as its game knows it.
    pub(crate) fn as_connected(&self, peer: PeerId) -> Connected {
        Connected { peer, conn: self.conn, is_stranger: self.is_stranger.load(Ordering::Relaxed) }
    }

    /// Notes that the connection is this peer of this game.
    pub(crate) fn enter(&self, game: &Arc<Game<Self>>, peer: PeerId) {
        self.seat.get_or_init(|| (Arc::clone(game), peer));
    }

    /// The routes of the peer's messages; `None` before the connection has entered a game, and after it has left.
    pub(crate) fn routes(&self) -> Option<Routes> {
        let (game, from) = self.seat.get()?;
        let peers = game.peers();
        peers.get(*from).filter(|own| std::ptr::eq(Arc::as_ptr(own), self))?;
        let is_stranger = self.is_stranger.load(Ordering::Relaxed);
        let class = if is_stranger { Class::Stranger(self.conn) } else { Class::Member };
        Some(Routes { from: *from, class, peers })
    }

    pub(crate) const fn place(&self) -> Option<&AddressPlace> {
        self.visitor.place.as_ref()
    }

    /// The number of the request by which the connection came.
    pub(crate) fn request(&self) -> &str {
        &self.visitor.request
    }

    /// The opener's address, if it is known.
    pub(crate) const fn address(&self) -> Option<IpAddr> {
        self.visitor.address
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
        let game = self.seat.get().map(|(game, _)| game);
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
