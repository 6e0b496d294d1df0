//! The open connections, and the budgets of their games.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use axum::body::Bytes;
use samovar_directory::{Class, ConnId, RelayOffer};
use samovar_wire::SessionId;
use samovar_wire::relay::RelayFrame;

use crate::limits::GamePurse;
use crate::line::{Line, Visitor};
use crate::metrics::{Dropped, Kind, Metrics};
use crate::outbox::{Farewell, Waiting};
use crate::reach::Reach;
use crate::room::Room;

/// All connections, by their ids in the directory.
#[derive(Debug)]
pub(crate) struct Lines {
    open: HashMap<ConnId, Arc<Line>>,
    /// The budgets of each game, while a peer is in it.
    purses: HashMap<SessionId, Weak<GamePurse>>,
    /// The id of the last connection.
    opened: u64,
    is_stopping: bool,
    reach: Option<Arc<Reach>>,
    metrics: Arc<Metrics>,
}

impl Lines {
    pub(crate) fn new(reach: Option<Arc<Reach>>, metrics: Arc<Metrics>) -> Self {
        let (open, purses) = (HashMap::new(), HashMap::new());
        Self { open, purses, opened: 0, is_stopping: false, reach, metrics }
    }

    /// Opens another connection.
    pub(crate) fn open(&mut self, caller: Visitor, room: &Arc<Room>) -> Arc<Line> {
        self.opened += 1;
        let conn = ConnId(self.opened);
        let line = Arc::new(Line::new(conn, caller, room));
        self.open.insert(conn, Arc::clone(&line));
        if self.is_stopping {
            line.outbox.close(Farewell::STOPPING);
        }
        line
    }

    pub(crate) fn get(&self, conn: ConnId) -> Option<&Arc<Line>> {
        self.open.get(&conn)
    }

    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &Arc<Line>> {
        self.open.values()
    }

    /// Closes all connections, including those that open later.
    pub(crate) fn stop(&mut self) {
        self.is_stopping = true;
        self.all().for_each(|line| line.outbox.close(Farewell::STOPPING));
    }

    pub(crate) const fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Queues a message of the directory for a connection.
    pub(crate) fn send(&self, conn: ConnId, bytes: Bytes, class: Class, since: u64) {
        if let Some(line) = self.get(conn) {
            let kind = RelayFrame::decode(&bytes).map_or(Kind::Control, |frame| Kind::of(&frame));
            let dropped = line.outbox.push(class, Waiting { kind, bytes, since });
            self.metrics.dropped(line.shard, Dropped::QueueFull, dropped);
        }
    }

    /// Passes an offer of data channels to the endpoint.
    pub(crate) fn offer(&self, offer: RelayOffer) {
        let RelayOffer { conn, attempt, description } = offer;
        if let (Some(reach), Some(line)) = (&self.reach, self.get(conn)) {
            reach.offer(Arc::clone(line), attempt, description);
        }
    }

    /// Closes a connection after its waiting messages. Returns whether it was open.
    pub(crate) fn end(&mut self, conn: ConnId, farewell: Farewell) -> bool {
        let Some(line) = self.open.remove(&conn) else { return false };
        line.outbox.close(farewell);
        if let Some(reach) = &self.reach {
            reach.forget(conn);
        }
        true
    }

    /// Notes that a connection enters a game.
    pub(crate) fn enter(&mut self, conn: ConnId, session: SessionId) {
        let purse = self.purse(session);
        if let Some(line) = self.get(conn) {
            line.enter(purse);
        }
    }

    /// The budgets of a game. They are forgotten with the game's last connection.
    fn purse(&mut self, session: SessionId) -> Arc<GamePurse> {
        if let Some(purse) = self.purses.get(&session).and_then(Weak::upgrade) {
            return purse;
        }
        if self.purses.len() >= 2 * self.open.len() + 64 {
            self.purses.retain(|_, purse| purse.strong_count() > 0);
        }
        let purse = Arc::default();
        self.purses.insert(session, Arc::downgrade(&purse));
        purse
    }
}
